//! Keeps a server held for as long as its capacity is needed, as seed 003 recommends: "the server hold period is
//! periodically checked by the server and refreshed if necessary", and "removed if the capacity is no longer required".

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, SystemTime};

use crate::daemon::{Daemon, Hold};
use crate::error::Error;

/// How a server is kept held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldPolicy {
    /// How long each hold lasts: the average match, or the average time until new players come (seed 003).
    pub time: Duration,
    /// How often it is checked; a third of `time` leaves two checks before it runs out.
    pub check_every: Duration,
}

impl HoldPolicy {
    /// Held for this time, checked three times within it, and no more often than once a second.
    #[must_use]
    pub fn lasting(time: Duration) -> Self {
        Self { time, check_every: (time / 3).max(Duration::from_secs(1)) }
    }
}

/// Whether the server's capacity is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Keep the machine.
    Capacity,
    /// The hold is released.
    Nothing,
}

/// Keeps a server held, on a thread of its own. Dropping it ends the checks and leaves the hold as it is: "a server hold
/// does not expire automatically" when its server exits (seed 003), and what follows may be another process of the same.
#[derive(Debug)]
pub struct KeptHeld {
    needs: Sender<Need>,
}

impl KeptHeld {
    /// Begins to keep the server held. `tell` hears what comes of each check, on the keeping thread: most of all that a
    /// hold cannot be had now (409), because the server has players; it is tried again at the next check, since a hold does
    /// not come back by itself after a session (seed 003).
    ///
    /// # Errors
    /// [`Error::Thread`].
    pub fn start(
        daemon: Daemon,
        policy: HoldPolicy,
        mut tell: impl FnMut(Result<Hold, Error>) + Send + 'static,
    ) -> Result<Self, Error> {
        let (needs, changes) = mpsc::channel();
        let keep = move || {
            let mut need = Need::Capacity;
            loop {
                tell(check(&daemon, policy, need));
                match changes.recv_timeout(policy.check_every) {
                    Ok(newer) => need = newer,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        // It ends by itself once we are dropped, after the call it is in.
        std::thread::Builder::new().name("mainstay-hold".to_owned()).spawn(keep).map_err(Error::Thread)?;
        Ok(Self { needs })
    }

    /// Says whether the capacity is needed from now on; checked at once.
    pub fn need(&self, need: Need) {
        // The thread ends with us alone.
        let _ended = self.needs.send(need);
    }
}

/// What a check does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Leave,
    Refresh,
    Release,
}

fn check(daemon: &Daemon, policy: HoldPolicy, need: Need) -> Result<Hold, Error> {
    let hold = daemon.held()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    match step(policy, need, hold, now) {
        Step::Leave => Ok(hold),
        Step::Refresh => daemon.hold(policy.time),
        Step::Release => daemon.release().map(|()| Hold::No),
    }
}

/// A hold is refreshed unless it surely outlasts the check after the next one: if one check fails, it still stands.
fn step(policy: HoldPolicy, need: Need, hold: Hold, now: Duration) -> Step {
    match (need, hold) {
        (Need::Nothing, Hold::No) => Step::Leave,
        (Need::Nothing, Hold::Until(_)) => Step::Release,
        (Need::Capacity, Hold::No) => Step::Refresh,
        (Need::Capacity, Hold::Until(until)) => {
            let left = Duration::from_secs(until).saturating_sub(now);
            if left > policy.check_every * 2 { Step::Leave } else { Step::Refresh }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seed 003: "The server hold period is periodically checked by the server and refreshed if necessary"; "The server hold
    /// is removed if the capacity is no longer required"; "the server must create a new hold".
    #[test]
    fn a_hold_is_checked_refreshed_made_anew_and_released() {
        let policy = HoldPolicy::lasting(Duration::from_secs(600));
        assert_eq!(policy.check_every, Duration::from_secs(200));
        let now = Duration::from_secs(1_000);
        let table = [
            (Need::Capacity, Hold::No, Step::Refresh),
            (Need::Capacity, Hold::Until(1_600), Step::Leave),
            (Need::Capacity, Hold::Until(1_401), Step::Leave),
            (Need::Capacity, Hold::Until(1_400), Step::Refresh),
            (Need::Capacity, Hold::Until(900), Step::Refresh),
            (Need::Nothing, Hold::Until(1_600), Step::Release),
            (Need::Nothing, Hold::No, Step::Leave),
        ];
        for (need, hold, expected) in table {
            assert_eq!(step(policy, need, hold, now), expected, "{need:?} {hold:?}");
        }
    }

    #[test]
    fn a_short_hold_is_checked_once_a_second() {
        assert_eq!(HoldPolicy::lasting(Duration::from_secs(1)).check_every, Duration::from_secs(1));
    }
}
