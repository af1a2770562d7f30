//! What the hands owe one slot. Derived from state until acknowledged, so doing any of it twice does no harm.

use mainstay_core::slot::ConfigurationRef;
use mainstay_core::{AllocationId, Timestamp};

use crate::RunNumber;

/// What is owed to one slot: at most one write and one act, to be done in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effects {
    /// What `server.json` must say. Acknowledged by [`crate::Observation::Wrote`].
    pub write: Option<SessionFile>,
    /// What must happen to the process.
    pub act: Act,
}

impl Effects {
    /// Nothing is owed.
    pub const NONE: Self = Self { write: None, act: Act::Nothing };
}

/// What a slot's `server.json` is written for. A start is owed only once the file stands for its run: what a process
/// reads first is never an older session's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionFile {
    /// The run that reads it.
    pub run: RunNumber,
    /// The configuration whose variables it carries.
    pub configuration: ConfigurationRef,
    /// `allocatedUUID`; `None` is the empty string.
    pub allocation: Option<AllocationId>,
}

/// What must happen to a slot's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Nothing.
    Nothing,
    /// Look at the slot's directory and say what is there of this run: [`crate::Observation::Saw`],
    /// [`crate::Command::Exited`] or [`crate::Command::Lost`].
    Look {
        /// The run.
        run: RunNumber,
    },
    /// Start the process. Acknowledged by [`crate::Observation::Saw`] with [`crate::Sight::Running`], or by
    /// [`crate::Command::Exited`] where it could not be started.
    Start {
        /// The run.
        run: RunNumber,
        /// What it runs.
        configuration: ConfigurationRef,
        /// The session that `server.json` must name at this moment. Where the hands have written another meanwhile, this
        /// was derived before that was seen: they start nothing, and do what is owed next (found by the simulator: a
        /// write under way while orders changed twice put an ended session before a new process).
        allocation: Option<AllocationId>,
    },
    /// Query the process, paced, until it answers: [`crate::Command::Answered`].
    Probe {
        /// The run.
        run: RunNumber,
        /// Whose query it is.
        configuration: ConfigurationRef,
    },
    /// Read what the process uses, and query it once where its configuration has a query: [`crate::Command::Checked`].
    Check {
        /// The run.
        run: RunNumber,
        /// Whose limits, query and settings count.
        configuration: ConfigurationRef,
        /// When it came due: which check this is.
        due: Timestamp,
    },
    /// Send a signal to the process. Acknowledged by [`crate::Observation::Delivered`], or by
    /// [`crate::Command::NeverRan`] where there is no trace of the run.
    Signal {
        /// The run.
        run: RunNumber,
        /// The signal's number.
        signal: i32,
    },
    /// SIGKILL everything in the slot. Acknowledged as [`Act::Signal`].
    Kill {
        /// The run.
        run: RunNumber,
    },
}
