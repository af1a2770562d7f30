//! What is seen: the only change of soft state.

use mainstay_core::slot::Reading;
use mainstay_core::{ServerId, Timestamp};

use crate::supervisor::{Clock, Process, Supervisor};
use crate::{RunNumber, Rung, SessionFile};

/// What was seen. Whatever is seen of an older run is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation {
    /// The slot's directory was looked at, or its process has been started.
    Saw {
        /// The slot.
        server: ServerId,
        /// The run looked for.
        run: RunNumber,
        /// What is there of it.
        sight: Sight,
    },
    /// `server.json` now says this, and is synced.
    Wrote {
        /// The slot.
        server: ServerId,
        /// What it says.
        file: SessionFile,
    },
    /// A signal of the stop ladder reached the process.
    Delivered {
        /// The slot.
        server: ServerId,
        /// The run.
        run: RunNumber,
        /// Which.
        rung: Rung,
    },
    /// The time for a check of the process has come.
    CheckDue {
        /// The slot.
        server: ServerId,
        /// The run.
        run: RunNumber,
    },
    /// The process has been checked.
    Checked {
        /// The slot.
        server: ServerId,
        /// The run.
        run: RunNumber,
        /// What was read.
        reading: Reading,
    },
    /// Everything seen is forgotten: the agent has started, or a test shows that nothing hangs on it.
    Forgot,
}

/// What is there of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// No trace of it: it was never started.
    Absent,
    /// Its process runs.
    Running {
        /// The game's own process.
        pid: u32,
    },
}

impl Supervisor {
    pub(crate) fn see(&mut self, now: Timestamp, observation: Observation) {
        match observation {
            Observation::Saw { server, run, sight } => self.saw(now, server, run, sight),
            Observation::Wrote { server, file } => self.wrote(server, file),
            Observation::Delivered { server, run, rung } => self.delivered(server, run, rung),
            Observation::CheckDue { server, run } => {
                if self.is_live(server, run) {
                    self.soften(server, |soft| soft.clock = Clock::Due(now));
                }
            }
            Observation::Checked { server, run, reading } => self.checked(now, server, run, reading),
            Observation::Forgot => self.forget_soft(),
        }
    }

    fn saw(&mut self, now: Timestamp, server: ServerId, run: RunNumber, sight: Sight) {
        if !self.is_live(server, run) {
            return;
        }
        self.soften(server, |soft| {
            soft.process = match (soft.process, sight) {
                // Only an exit or a loss ends what was running; a start for it again would be a second one.
                (running @ Process::Running { .. }, Sight::Absent) => running,
                (Process::Running { pid, since }, Sight::Running { pid: seen }) if pid == seen => {
                    Process::Running { pid, since }
                }
                (_, Sight::Absent) => Process::Absent,
                (_, Sight::Running { pid }) => Process::Running { pid, since: now },
            };
        });
    }

    fn wrote(&mut self, server: ServerId, file: SessionFile) {
        if self.slot(server).is_some() {
            self.soften(server, |soft| soft.file = Some(file));
        }
    }

    fn delivered(&mut self, server: ServerId, run: RunNumber, rung: Rung) {
        if self.is_live(server, run) {
            self.soften(server, |soft| soft.delivered = soft.delivered.max(Some(rung)));
        }
    }

    /// The next check counts from the end of this one, so that a machine in trouble is not asked ever faster.
    fn checked(&mut self, now: Timestamp, server: ServerId, run: RunNumber, reading: Reading) {
        let every = self
            .slot(server)
            .and_then(|slot| slot.live_run())
            .filter(|live| live.number == run)
            .and_then(|live| self.spec(live.configuration))
            .map(|spec| spec.checks.every);
        if let Some(every) = every {
            self.soften(server, |soft| {
                soft.clock = Clock::Next(now + every);
                soft.reading = Some(reading);
            });
        }
    }

    fn is_live(&self, server: ServerId, run: RunNumber) -> bool {
        self.slot(server).and_then(|slot| slot.live_run()).is_some_and(|live| live.number == run)
    }
}
