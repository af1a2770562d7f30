//! How a process ended, in words that a person reads in a report.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;

use mainstay_core::slot::{Check, Exit, Killer, Spec};

/// "exited with code 3".
pub(crate) fn ended(exit: &Exit) -> Arc<str> {
    let words: String = match exit {
        Exit::Code(code) => format!("exited with code {code}"),
        Exit::Signal { signal, killed_by: Killer::Unknown } => format!("killed by signal {signal}"),
        Exit::Signal { signal, killed_by: Killer::OutOfMemory } => {
            format!("killed by the kernel for memory above the slot's cap (signal {signal})")
        }
        Exit::NotStarted(reason) => format!("could not be started: {reason}"),
    };
    words.into()
}

/// "gave no answer to its query within 30 s of its start".
pub(crate) fn silent(grace: Duration) -> Arc<str> {
    format!("gave no answer to its query within {} of its start", time(grace)).into()
}

/// "1520 of 1000 thousandths of a core, 10 % tolerated".
pub(crate) fn too_much_cpu(used: u32, spec: &Spec) -> Arc<str> {
    let (limit, tolerance) = (spec.limits.cpu_millis, spec.checks.cpu_tolerance_percent);
    format!("{used} of {limit} thousandths of a core, {tolerance} % tolerated").into()
}

/// "900 of 512 MiB, 200 MB tolerated".
pub(crate) fn too_much_memory(used: u64, spec: &Spec) -> Arc<str> {
    let (used, limit) = (used >> 20, spec.limits.memory_mib);
    format!("{used} of {limit} MiB, {} MB tolerated", spec.checks.memory_tolerance_bytes / 1_000_000).into()
}

/// "no answer within 1 s".
pub(crate) fn no_answer(spec: &Spec) -> Arc<str> {
    let timeout = spec.query.as_ref().map(|query| query.timeout).unwrap_or_default();
    format!("no answer within {}", time(timeout)).into()
}

/// "failed its query check 3 times within 30 min: no answer within 1 s".
pub(crate) fn failed_too_often(check: Check, count: usize, within: Duration, reading: &str) -> Arc<str> {
    let times = if count == 1 { "once".into() } else { format!("{count} times") };
    format!("failed its {} check {times} within {}: {reading}", check.word(), time(within)).into()
}

/// "misbehaved: failed its ...".
pub(crate) fn misbehaviour(cause: &str) -> Arc<str> {
    format!("misbehaved: {cause}").into()
}

/// A cause in bounded length: what a system says of a failed start may be long, and travels.
pub(crate) fn short(cause: &Arc<str>) -> Arc<str> {
    const BYTES_MAX: usize = 256;
    if cause.len() <= BYTES_MAX {
        return Arc::clone(cause);
    }
    let mut end = BYTES_MAX;
    while !cause.is_char_boundary(end) {
        end -= 1;
    }
    cause[..end].into()
}

fn time(span: Duration) -> String {
    let ms = span.as_millis();
    match ms {
        ms if ms >= 60_000 && ms % 60_000 == 0 => format!("{} min", ms / 60_000),
        ms if ms % 1000 == 0 => format!("{} s", ms / 1000),
        ms => format!("{ms} ms"),
    }
}
