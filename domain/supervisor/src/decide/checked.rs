//! A running process has been checked. The same check failed too often, and it misbehaves (seed 001).

use alloc::sync::Arc;

use mainstay_core::slot::{Check, Fault, Heard, Reading, Spec};
use mainstay_core::{ServerId, Timestamp, Turn};

use crate::decide::{crash, live};
use crate::{Answer, Event, Life, Observation, Run, RunNumber, Supervisor, words};

pub(super) fn decide(
    turn: &mut Turn<'_, Supervisor>,
    server: ServerId,
    run: RunNumber,
    reading: &Reading,
) -> Answer {
    let run = match live(turn, server, run) {
        Ok((_, run)) => run,
        Err(ignored) => return Answer::Ignored(ignored),
    };
    turn.observe(Observation::Checked { server, run: run.number, reading: *reading });
    let Some(spec) = turn.state().spec(run.configuration).cloned() else { return Answer::Done };
    for check in Check::ALL {
        if let Some(failure) = failed(check, reading, &spec)
            && strikes(turn, server, check, &spec)
        {
            fails(turn, server, &run, check, failure, &spec);
        }
    }
    Answer::Done
}

/// What is wrong with a reading, in words.
fn failed(check: Check, reading: &Reading, spec: &Spec) -> Option<Arc<str>> {
    match check {
        Check::Cpu => {
            let used = reading.cpu_millis?;
            let most =
                u64::from(spec.limits.cpu_millis) * (100 + u64::from(spec.checks.cpu_tolerance_percent));
            (u64::from(used) * 100 > most).then(|| words::too_much_cpu(used, spec))
        }
        Check::Memory => {
            const MIB: u64 = 1 << 20;
            let used = reading.memory_bytes?;
            let limit = u64::from(spec.limits.memory_mib) * MIB;
            let most = limit.saturating_add(spec.checks.memory_tolerance_bytes);
            (used > most).then(|| words::too_much_memory(used, spec))
        }
        Check::Query => match reading.heard {
            Heard::Silence => Some(words::no_answer(spec)),
            Heard::Unasked | Heard::Answer { .. } => None,
        },
    }
}

/// Whether a failure counts: of a process that runs, and not sooner after the last than checks are made. An agent that
/// starts again and again looks again and again; that must not count a hang faster than the clock.
fn strikes(turn: &Turn<'_, Supervisor>, server: ServerId, check: Check, spec: &Spec) -> bool {
    let now = turn.now();
    match turn.state().slot(server).map(|slot| &slot.life) {
        Some(Life::Up { failures, .. }) => {
            let last: Option<&Timestamp> = failures.of(check).moments().last();
            last.is_none_or(|&last| now.since(last) >= spec.checks.every)
        }
        Some(Life::Fresh | Life::Down { .. } | Life::Resting { .. } | Life::Stopping { .. }) | None => false,
    }
}

fn fails(
    turn: &mut Turn<'_, Supervisor>,
    server: ServerId,
    run: &Run,
    check: Check,
    reading: Arc<str>,
    spec: &Spec,
) {
    let (within, most) = (spec.checks.within, spec.checks.failures);
    turn.emit(Event::CheckFailed { server, check, reading: Arc::clone(&reading), within });
    let now = turn.now();
    let count = match turn.state().slot(server).map(|slot| &slot.life) {
        Some(Life::Up { failures, .. }) => failures.of(check).count(now, within),
        Some(Life::Fresh | Life::Down { .. } | Life::Resting { .. } | Life::Stopping { .. }) | None => 0,
    };
    if count >= most as usize {
        let cause = words::failed_too_often(check, count, within, &reading);
        crash::note(turn, server, run, Fault::Misbehaviour(check), &cause, None);
        turn.emit(Event::Misbehaved { server, check });
    }
}
