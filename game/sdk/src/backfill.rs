//! Keeps a session's backfill in step with its players: the game says who joined and who left, and hears who comes instead.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::daemon::Daemon;
use crate::error::Error;
use crate::roster::{BackfillSize, Roster, Stands};

/// How often the daemon is asked while players are missing, or while it gave no answer.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// How backfill is kept up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackfillPolicy {
    /// How many play when nobody is missing.
    pub size: BackfillSize,
    /// How long a player who was matched is waited for, until another is looked for.
    pub expected_for: Duration,
}

impl Default for BackfillPolicy {
    /// As many as were matched, and a minute: a client polls for its match every six seconds, and then loads a map.
    fn default() -> Self {
        Self { size: BackfillSize::AsMatched, expected_for: Duration::from_secs(60) }
    }
}

/// Keeps up the backfill of a session that a match was placed on, on a thread of its own. Dropping it ends that; an open ticket
/// ends with the session, or with this process.
#[derive(Debug)]
pub struct Backfill {
    reports: Sender<Report>,
}

#[derive(Debug)]
enum Report {
    Joined(String),
    Left(String),
}

impl Backfill {
    /// Begins. The session's payload says who plays, on which teams, and in which queue players are looked for. `tell` hears on
    /// that thread what changes, and what goes wrong, once until it goes well or wrong otherwise: that is tried again by itself, but for a payload
    /// of no match, or one in which the players' attributes had no room.
    ///
    /// # Errors
    /// [`Error::Thread`].
    pub fn start(
        daemon: Daemon,
        allocation: &str,
        policy: BackfillPolicy,
        tell: impl FnMut(Result<Stands, Error>) + Send + 'static,
    ) -> Result<Self, Error> {
        let (reports, reported) = mpsc::channel();
        let keeper =
            Keeper { daemon, allocation: allocation.to_owned(), policy, begun: Instant::now(), tell };
        let keep = move || keeper.run(&reported);
        std::thread::Builder::new()
            .name("mainstay-backfill".to_owned())
            .spawn(keep)
            .map_err(Error::Thread)?;
        Ok(Self { reports })
    }

    /// A player is in the game.
    pub fn joined(&self, player: &str) {
        self.report(Report::Joined(player.to_owned()));
    }

    /// A player has left it.
    pub fn left(&self, player: &str) {
        self.report(Report::Left(player.to_owned()));
    }

    fn report(&self, report: Report) {
        // The thread has ended, where the payload is of no match: then there is nothing to keep up.
        let _ended = self.reports.send(report);
    }
}

struct Keeper<T> {
    daemon: Daemon,
    allocation: String,
    policy: BackfillPolicy,
    begun: Instant,
    tell: T,
}

/// Whether the game is still there.
enum Waited {
    Reported,
    Nothing,
    Dropped,
}

impl<T: FnMut(Result<Stands, Error>)> Keeper<T> {
    fn run(mut self, reports: &Receiver<Report>) {
        let Some(mut roster) = self.read(reports) else { return };
        let (mut said, mut failed): (Option<Stands>, Option<String>) = (None, None);
        // An answer that is owed: nothing was said yet, or it was not heard.
        let mut behind = true;
        loop {
            roster.give_up(self.begun.elapsed(), self.policy.expected_for);
            let is_open = matches!(said, Some(Stands::Searching { .. }));
            if behind || is_open || roster.missing() > 0 {
                let answered = self.daemon.backfill(&roster.told());
                let came = answered.and_then(|answer| roster.take(&answer, self.begun.elapsed()));
                behind = !matches!(came, Ok(Stands::Searching { .. } | Stands::Closed));
                let filled = matches!(came, Ok(Stands::Filled { .. }));
                match came {
                    Ok(stands) => {
                        failed = None;
                        if said.as_ref() != Some(&stands) {
                            said = Some(stands.clone());
                            (self.tell)(Ok(stands));
                        }
                    }
                    Err(error) => {
                        // It is tried again each second, and told once.
                        let text = error.to_string();
                        if failed.as_ref() != Some(&text) {
                            failed = Some(text);
                            (self.tell)(Err(error));
                        }
                    }
                }
                if filled {
                    continue;
                }
            }
            let waits = behind || roster.missing() > 0 || roster.expects();
            match wait(reports, waits, &mut roster) {
                Waited::Reported | Waited::Nothing => {}
                Waited::Dropped => return,
            }
        }
    }

    /// The session's players by its payload; `None` where the game ends first, or where no match was placed here.
    fn read(&mut self, reports: &Receiver<Report>) -> Option<Roster> {
        let mut early = Vec::new();
        loop {
            match self.daemon.payload(&self.allocation) {
                Ok(payload) => {
                    let mut roster =
                        match Roster::of_payload(&payload, &self.policy.size, self.begun.elapsed()) {
                            Ok(roster) => roster,
                            Err(error) => {
                                (self.tell)(Err(error));
                                return None;
                            }
                        };
                    early.into_iter().for_each(|report| take(&mut roster, report));
                    return Some(roster);
                }
                Err(error) => (self.tell)(Err(error)),
            }
            match reports.recv_timeout(ASK_EVERY) {
                Ok(report) => early.push(report),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

fn take(roster: &mut Roster, report: Report) {
    match report {
        Report::Joined(player) => roster.joined(&player),
        Report::Left(player) => roster.left(&player),
    }
}

/// Waits for a report: at most [`ASK_EVERY`] where something is to be asked again.
fn wait(reports: &Receiver<Report>, asks_again: bool, roster: &mut Roster) -> Waited {
    let first = if asks_again {
        reports.recv_timeout(ASK_EVERY)
    } else {
        reports.recv().map_err(|_| RecvTimeoutError::Disconnected)
    };
    match first {
        Ok(report) => {
            take(roster, report);
            reports.try_iter().for_each(|report| take(roster, report));
            Waited::Reported
        }
        Err(RecvTimeoutError::Timeout) => Waited::Nothing,
        Err(RecvTimeoutError::Disconnected) => Waited::Dropped,
    }
}
