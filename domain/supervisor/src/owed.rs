//! What a slot is owed, derived from its state.

use mainstay_core::{AllocationId, ServerId};

use crate::supervisor::{Clock, Entry, Process, Supervisor};
use crate::{Act, Effects, Life, Reason, Run, Rung, SessionFile, Stage};

impl Supervisor {
    pub(crate) fn owed_to(&self, entry: &Entry) -> Effects {
        let wanted = session_file(entry);
        // A run nobody has looked for since the agent began may have a holder on its way, which would read a session that
        // is over by then. Looking withdraws it, so looking comes first (found by the simulator, seed 2510).
        let unseen = matches!(entry.slot.life, Life::Up { .. }) && entry.process() == Process::Unknown;
        let write = wanted.filter(|_| entry.soft.file != wanted && !unseen);
        let act = match &entry.slot.life {
            Life::Fresh | Life::Down { .. } | Life::Resting { .. } => Act::Nothing,
            Life::Up { run, stage, .. } => self.owed_up(entry, run, *stage, write.is_none()),
            Life::Stopping { run, rung, reason, .. } => self.owed_stopping(entry, run, *rung, *reason),
        };
        Effects { write, act }
    }

    fn owed_up(&self, entry: &Entry, run: &Run, stage: Stage, file_stands: bool) -> Act {
        let (number, configuration) = (run.number, run.configuration);
        match entry.process() {
            Process::Unknown => Act::Look { run: number },
            Process::Absent if file_stands => {
                Act::Start { run: number, configuration, allocation: ordered_allocation(entry) }
            }
            Process::Absent => Act::Nothing,
            Process::Running { .. } => match stage {
                Stage::Started if self.is_queried(run) => Act::Probe { run: number, configuration },
                Stage::Started | Stage::Answered => match entry.soft.clock {
                    Clock::Due(due) => Act::Check { run: number, configuration, due },
                    Clock::First | Clock::Next(_) => Act::Nothing,
                },
            },
        }
    }

    fn owed_stopping(&self, entry: &Entry, run: &Run, rung: Rung, reason: Reason) -> Act {
        match entry.process() {
            Process::Unknown => Act::Look { run: run.number },
            Process::Absent | Process::Running { .. } if entry.delivered() >= Some(rung) => Act::Nothing,
            Process::Absent | Process::Running { .. } => match rung {
                Rung::Signal => Act::Signal {
                    run: run.number,
                    signal: match (self.spec(run.configuration), reason) {
                        (Some(spec), Reason::Misbehaved(_)) => spec.checks.signal,
                        (
                            Some(spec),
                            Reason::Ordered
                            | Reason::Replaced
                            | Reason::Silent
                            | Reason::Forgotten
                            | Reason::Parked
                            | Reason::Resumed,
                        ) => spec.stop.signal,
                        (None, _) => SIGTERM,
                    },
                },
                Rung::Kill => Act::Kill { run: run.number },
            },
        }
    }

    /// Whether the slot's process is known to have heard of an earlier session only: `server.json` was seen to stand for
    /// that, and the write of the ordered one is still owed. Where nothing was seen, the process counts as told.
    pub(crate) fn is_untold(&self, server: ServerId) -> bool {
        self.entries.get(&server).is_some_and(|entry| {
            ordered_allocation(entry).is_some()
                && entry.soft.file.is_some_and(|file| Some(file) != session_file(entry))
        })
    }

    pub(crate) fn is_queried(&self, run: &Run) -> bool {
        self.spec(run.configuration).is_some_and(|spec| spec.query.is_some())
    }
}

/// What `server.json` must say. A process that is being stopped is told nothing more: it must not take the session of
/// the process that follows it. A slot without a process has its allocation cleared (seed 002: "clearing the allocation
/// ID in the server.json file").
pub(crate) fn session_file(entry: &Entry) -> Option<SessionFile> {
    let (run, allocation) = match &entry.slot.life {
        Life::Fresh | Life::Stopping { .. } => return None,
        Life::Down { last, .. } | Life::Resting { last, .. } => (last, None),
        Life::Up { run, .. } => (run, ordered_allocation(entry)),
    };
    Some(SessionFile { run: run.number, configuration: run.configuration, allocation })
}

fn ordered_allocation(entry: &Entry) -> Option<AllocationId> {
    entry.slot.order.allocation.as_ref().map(|session| session.allocation)
}

/// The signal of a configuration that is not known; laws keep every named one known.
const SIGTERM: i32 = 15;
