//! What is asked of a [`crate::Supervisor`], and what it says.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::slot::{ConfigurationRef, Exit, Order, Reading, Scene, Spec};
use mainstay_core::{Generation, ServerId};

use crate::RunNumber;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Configurations that orders to come will name. One already known is left as it is: a revision never changes.
    TakeSpecs {
        /// In any order.
        specs: Vec<Arc<Spec>>,
    },
    /// What the control plane wants of some slots. Each is judged by itself; the answer is [`Answer::Orders`].
    TakeOrders {
        /// At most one a slot has effect: the one with the highest generation.
        orders: Vec<Order>,
    },
    /// The process of a run ended and its holder knows how.
    Exited {
        /// The slot.
        server: ServerId,
        /// Its run.
        run: RunNumber,
        /// How.
        exit: Exit,
        /// What was found there.
        scene: Scene,
    },
    /// The process of a run is gone and nobody knows how: the boot id changed, or its holder died without a record.
    Lost {
        /// The slot.
        server: ServerId,
        /// Its run.
        run: RunNumber,
    },
    /// A run that was to be stopped has left no trace: its process was never started, and now never will be.
    NeverRan {
        /// The slot.
        server: ServerId,
        /// Its run.
        run: RunNumber,
    },
    /// The process of a run answered a query.
    Answered {
        /// The slot.
        server: ServerId,
        /// Its run.
        run: RunNumber,
    },
    /// The process of a run has been checked.
    Checked {
        /// The slot.
        server: ServerId,
        /// Its run.
        run: RunNumber,
        /// What was read.
        reading: Reading,
    },
    /// The time of [`crate::Supervisor`]'s next deadline has come: everything that is due by now happens.
    Due,
    /// Slots that are no longer this machine's. Their processes are stopped, then their records end.
    ForgetSlots {
        /// Those not known are passed over.
        servers: Vec<ServerId>,
    },
    /// `mainstay up` is stopping: every process is stopped, as a thing to be started again by [`Command::Resume`].
    Park,
    /// The agent has started: what was parked starts again, with the allocation it had.
    Resume,
}

/// What the caller is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is so now, or was so already.
    Done,
    /// Nothing changed, for this reason.
    Ignored(Ignored),
    /// One verdict for each order, in the order given.
    Orders(Vec<Verdict>),
}

/// Why something changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// No such slot here.
    UnknownSlot,
    /// It speaks of a run that is over, or of one that has not begun.
    OtherRun {
        /// The slot's newest run; [`RunNumber::NONE`] where it had none.
        newest: RunNumber,
    },
    /// A run that was never stopped cannot have been stopped before it ran.
    NotStopping,
}

/// What became of one order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Taken: it is the newest now.
    Taken,
    /// Already the newest; nothing changed.
    Same,
    /// Older than the newest; ignored.
    Older {
        /// The newest.
        newest: Generation,
    },
    /// It asks for a process of a configuration that is not known here: send the configuration, then the order again.
    UnknownConfiguration(ConfigurationRef),
}

/// Why a whole command was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// More slots than one agent keeps.
    #[error(
        "MS-S301: {asked} new slots on top of {slots} exceed the {limit} that one agent keeps; \
         spread the fleet over more machines"
    )]
    SlotsFull {
        /// Slots known.
        slots: usize,
        /// New ones asked for.
        asked: usize,
        /// [`crate::SLOTS_MAX`].
        limit: usize,
    },
    /// More configurations than one agent keeps.
    #[error(
        "MS-S302: {asked} new build configurations on top of {specs} exceed the {limit} that one agent keeps; \
         delete those that no fleet uses"
    )]
    SpecsFull {
        /// Configurations known.
        specs: usize,
        /// New ones asked for.
        asked: usize,
        /// [`crate::SPECS_MAX`].
        limit: usize,
    },
}
