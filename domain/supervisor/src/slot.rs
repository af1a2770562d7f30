//! What is durable about one slot.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mainstay_core::slot::{Check, ConfigurationRef, Incident, Order};
use mainstay_core::{Generation, Strikes, Timestamp};

/// Counts the starts on this machine, over all its slots and never downwards; no two processes share one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RunNumber(u64);

impl RunNumber {
    /// Before any start.
    pub const NONE: Self = Self(0);

    /// From its number, as the journal and the slot's directory carry it.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The one after this.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Debug for RunNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run{}", self.0)
    }
}

impl fmt::Display for RunNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One start of one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Which start.
    pub number: RunNumber,
    /// What it runs.
    pub configuration: ConfigurationRef,
    /// The order that was the newest when it began. A process that an older order started may be kept by a newer one.
    pub generation: Generation,
    /// When it was decided; the process exists a little later.
    pub began: Timestamp,
}

/// The durable state of one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The newest order taken.
    pub order: Order,
    /// The life of its process.
    pub life: Life,
    /// Its recent crashes, for back-off.
    pub strikes: Strikes,
    /// Its newest processes that ended as nobody wished, oldest first; at most [`Incident::KEPT_MAX`].
    pub incidents: Vec<Incident>,
}

/// The life of a slot's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// No order has asked for a process yet.
    Fresh,
    /// No process, and none is coming without a newer order.
    Down {
        /// The run that ended last.
        last: Run,
        /// Why it has none.
        ending: Ending,
    },
    /// No process yet: an idle slot waits before it starts again, so that a game which exits at once does not spin.
    Resting {
        /// The run that ended last.
        last: Run,
        /// When it starts.
        until: Timestamp,
    },
    /// A process exists, or is owed its start.
    Up {
        /// Its run.
        run: Run,
        /// How far it has come.
        stage: Stage,
        /// The checks it has lately failed.
        failures: Failures,
    },
    /// On its way down.
    Stopping {
        /// The run being stopped.
        run: Run,
        /// When the stop began; the ladder counts from here.
        began: Timestamp,
        /// How hard it is being asked.
        rung: Rung,
        /// What the stop is for.
        reason: Reason,
    },
}

/// The recent failures of one process, check by check: a new process begins with none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failures {
    /// Of the CPU check.
    pub cpu: Strikes,
    /// Of the memory check.
    pub memory: Strikes,
    /// Of the query check.
    pub query: Strikes,
}

impl Failures {
    /// Those of one check.
    #[must_use]
    pub const fn of(&self, check: Check) -> &Strikes {
        match check {
            Check::Cpu => &self.cpu,
            Check::Memory => &self.memory,
            Check::Query => &self.query,
        }
    }

    pub(crate) const fn of_mut(&mut self, check: Check) -> &mut Strikes {
        match check {
            Check::Cpu => &mut self.cpu,
            Check::Memory => &mut self.memory,
            Check::Query => &mut self.query,
        }
    }
}

/// How far a started process has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It has not answered a query in this run.
    Started,
    /// It has answered at least one.
    Answered,
}

/// The rungs of the stop ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// The configuration's stop signal.
    Signal,
    /// SIGKILL for the whole slot.
    Kill,
}

/// What a stop is for. It decides what follows the process's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// An order said so.
    Ordered,
    /// A process of another configuration, or of a newer order, takes its place.
    Replaced,
    /// It never answered its query: our kill, but the game's crash.
    Silent,
    /// It failed this check too often (seed 001, misbehavior).
    Misbehaved(Check),
    /// The slot is no longer this machine's: its record ends with its process.
    Forgotten,
    /// The whole of `mainstay up` is stopping; the next one starts it again.
    Parked,
    /// It was being parked when the agent came back: it starts again as soon as it is down.
    Resumed,
}

/// Why a slot has no process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// An order asked for it.
    Ordered,
    /// It exited with code 0 by itself (seed 002, intentional exits).
    Completed,
    /// It crashed more often than its policy allows (seed 001, crash back-off).
    BackedOff {
        /// Crashes within the policy's window.
        crashes: u32,
        /// How the last of them ended, in words.
        cause: Arc<str>,
    },
    /// It fell silent to its query under an allocation (seed 001, allocation pre-recovery).
    PreRecovery {
        /// Which checks it failed, in words.
        cause: Arc<str>,
    },
    /// The machine lost it.
    Lost,
    /// Stopped with `mainstay up`; [`crate::Command::Resume`] starts it again.
    Parked,
}

impl Slot {
    /// The newest run, going or gone.
    #[must_use]
    pub const fn run(&self) -> Option<&Run> {
        match &self.life {
            Life::Fresh => None,
            Life::Down { last: run, .. }
            | Life::Resting { last: run, .. }
            | Life::Up { run, .. }
            | Life::Stopping { run, .. } => Some(run),
        }
    }

    /// What is known of a run that ended, or is being ended, as nobody wished.
    #[must_use]
    pub fn incident(&self, run: RunNumber) -> Option<&Incident> {
        self.incidents.iter().rev().find(|incident| incident.run == run.number())
    }

    /// The run whose process exists or is owed its start.
    #[must_use]
    pub const fn live_run(&self) -> Option<&Run> {
        match &self.life {
            Life::Up { run, .. } | Life::Stopping { run, .. } => Some(run),
            Life::Fresh | Life::Down { .. } | Life::Resting { .. } => None,
        }
    }
}
