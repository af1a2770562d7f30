//! How a process ended, in words that a person reads in a report.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;

use mainstay_core::slot::{Exit, Killer};

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
    let seconds = grace.as_millis();
    let (whole, rest) = (seconds / 1000, seconds % 1000);
    let time = if rest == 0 { format!("{whole} s") } else { format!("{seconds} ms") };
    format!("gave no answer to its query within {time} of its start").into()
}
