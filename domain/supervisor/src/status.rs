//! How a slot stands, in the words of the control plane.

use alloc::sync::Arc;

use mainstay_core::ServerId;
use mainstay_core::slot::{Phase, Status, Stopped};

use crate::owed::session_file;
use crate::supervisor::{Entry, Process, Supervisor};
use crate::{Ending, Life, Reason, Run, Stage};

impl Supervisor {
    /// How a slot stands. `None` where the slot is not known, or where its process has not been looked at yet: after a
    /// start of the agent, better no word than a wrong one.
    #[must_use]
    pub fn status(&self, server: ServerId) -> Option<Status> {
        let entry = self.entries.get(&server)?;
        Some(Status {
            server,
            generation: entry.slot.order.generation,
            configuration: entry.slot.run().map(|run| run.configuration),
            run: entry.slot.run().map_or(0, |run| run.number.number()),
            phase: self.phase(entry)?,
        })
    }

    fn phase(&self, entry: &Entry) -> Option<Phase> {
        let pid = match entry.process() {
            Process::Running { pid, .. } => Some(pid),
            Process::Unknown | Process::Absent => None,
        };
        Some(match &entry.slot.life {
            Life::Fresh => Phase::Stopped(Stopped::Idle),
            Life::Down { ending, .. } => match ending {
                Ending::Ordered => Phase::Stopped(Stopped::Ordered),
                Ending::Completed => Phase::Stopped(Stopped::Completed),
                Ending::BackedOff { crashes, cause } => {
                    Phase::BackedOff { crashes: *crashes, cause: Arc::clone(cause) }
                }
                Ending::PreRecovery { cause } => Phase::PreRecovery { cause: Arc::clone(cause) },
                Ending::Lost => Phase::Lost,
                // It will be started again; until then nothing must be concluded from its being down.
                Ending::Parked => Phase::Stopping { pid },
            },
            Life::Resting { .. } => Phase::Starting { pid },
            Life::Up { run, stage, .. } => self.phase_up(entry, run, *stage)?,
            Life::Stopping { reason, .. } => match reason {
                Reason::Ordered | Reason::Forgotten | Reason::Parked | Reason::Misbehaved(_) => {
                    Phase::Stopping { pid }
                }
                Reason::Replaced | Reason::Silent | Reason::Resumed => Phase::Starting { pid },
            },
        })
    }

    fn phase_up(&self, entry: &Entry, run: &Run, stage: Stage) -> Option<Phase> {
        let pid = match entry.process() {
            Process::Unknown => return None,
            Process::Absent => return Some(Phase::Starting { pid: None }),
            Process::Running { pid, .. } => pid,
        };
        let answered = match stage {
            Stage::Answered => true,
            Stage::Started => !self.is_queried(run),
        };
        let told = entry.soft.file == session_file(entry);
        Some(if answered && told { Phase::Online { pid } } else { Phase::Starting { pid: Some(pid) } })
    }
}
