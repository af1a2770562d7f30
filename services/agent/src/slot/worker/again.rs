//! The second SIGSEGV. Programs whose runtime handles it to tell a stack overflow (every one in Rust) survive the first that
//! is sent from outside, and put the default back for the next. Two that wait at once count as one, so the second follows
//! when the first has been taken, however long a starved process takes for that; until then SIGKILL is on its way. A handler
//! that writes a crash report is not disturbed: SIGSEGV is blocked until it returns.

use std::pin::Pin;
use std::time::Duration;

use procfs::process::Process;
use tokio::time::sleep;

use super::Worker;

/// SIGSEGV, by its number on every Linux.
pub(super) const SIGSEGV: i32 = 11;

/// How often it is looked whether the first has been taken: far below what a human or a stop timeout notices.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Where the second stands.
pub(super) enum Again {
    /// The holder has not said yet that it sent the first.
    Asked,
    /// It has been sent; this waits until it is taken.
    Sent(Pin<Box<dyn Future<Output = ()> + Send>>),
}

impl Again {
    /// Waits until the second is due.
    pub(super) async fn due(&mut self) {
        match self {
            Self::Asked => std::future::pending().await,
            Self::Sent(taken) => taken.await,
        }
    }
}

impl Worker {
    /// The holder has sent a signal.
    pub(super) fn signal_sent(&mut self) {
        if let (Some(again @ Again::Asked), Some(holding)) = (&mut self.again, &self.holding) {
            let pid = holding.pid;
            *again = Again::Sent(Box::pin(async move {
                while waits(pid) {
                    sleep(LOOK_EVERY).await;
                }
            }));
        }
    }

    /// The first has been taken.
    pub(super) async fn signal_again(&mut self) {
        self.again = None;
        if let Some(holding) = &mut self.holding {
            // A holder that is gone by now has told of its game's end: that is heard next.
            let _heard_next = holding.signal(SIGSEGV).await;
        }
    }
}

/// Whether SIGSEGV was sent to a process that has not taken it yet. One that cannot be looked at is gone, or not ours to see.
fn waits(pid: u32) -> bool {
    let bit = 1 << (SIGSEGV - 1);
    let Ok(pid) = i32::try_from(pid) else { return false };
    Process::new(pid).and_then(|process| process.status()).is_ok_and(|status| status.shdpnd & bit != 0)
}
