//! What happened: the only change of durable state.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

use mainstay_core::slot::{Check, ConfigurationRef, Incident, Order, Spec};
use mainstay_core::{Generation, ServerId, Timestamp};

use crate::{Ending, Reason, RunNumber, Rung, Slot};

/// What happened. The turn's time is stored beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A configuration became known.
    SpecTaken {
        /// The configuration.
        spec: Arc<Spec>,
    },
    /// A newer order was taken; the slot comes to be with its first.
    OrderTaken {
        /// The order.
        order: Order,
    },
    /// A start was decided. Only now is it owed.
    RunBegan {
        /// The slot.
        server: ServerId,
        /// Which start.
        run: RunNumber,
        /// What it runs.
        configuration: ConfigurationRef,
        /// The newest order at this moment.
        generation: Generation,
    },
    /// The process of the newest run answered its first query.
    Answered {
        /// The slot.
        server: ServerId,
    },
    /// A stop began at a rung of the ladder.
    StopBegan {
        /// The slot.
        server: ServerId,
        /// What for.
        reason: Reason,
        /// Where on the ladder it begins.
        rung: Rung,
    },
    /// A stop under way is now for something else.
    StopTurned {
        /// The slot.
        server: ServerId,
        /// What for.
        reason: Reason,
    },
    /// The stop signal was not obeyed in time: SIGKILL follows.
    KillBegan {
        /// The slot.
        server: ServerId,
    },
    /// The process of the newest run failed a check: one strike of that check.
    CheckFailed {
        /// The slot.
        server: ServerId,
        /// Which.
        check: Check,
        /// What was read, in words.
        reading: Arc<str>,
        /// The window that judges it.
        within: Duration,
    },
    /// The process of the newest run failed a check too often: it is being ended. Only now is its signal owed.
    Misbehaved {
        /// The slot.
        server: ServerId,
        /// Which.
        check: Check,
    },
    /// What is known of a run that ended, or is being ended, as nobody wished; it takes the place of what was known of the
    /// same run before.
    IncidentNoted {
        /// All of it.
        incident: Box<Incident>,
    },
    /// The process of the newest run crashed: one strike.
    Crashed {
        /// The slot.
        server: ServerId,
        /// How, in words.
        cause: Arc<str>,
        /// The window of the policy that judges it.
        within: Duration,
    },
    /// The slot's crashes are forgiven.
    StrikesCleared {
        /// The slot.
        server: ServerId,
    },
    /// The slot has no process, and none is coming without a newer order.
    Ended {
        /// The slot.
        server: ServerId,
        /// Why.
        ending: Ending,
    },
    /// The slot starts again at a moment to come.
    RestBegan {
        /// The slot.
        server: ServerId,
        /// When.
        until: Timestamp,
    },
    /// The slot is no longer this machine's.
    SlotForgotten {
        /// The slot.
        server: ServerId,
    },
    /// A slot as it stands. Only snapshots tell it.
    SlotKept {
        /// Everything durable about it.
        slot: Box<Slot>,
    },
    /// How many runs have begun on this machine. Only snapshots tell it.
    RunsCounted {
        /// The newest of them.
        newest: RunNumber,
    },
}

impl Event {
    /// The slot it is about, where it is about one.
    #[must_use]
    pub fn server(&self) -> Option<ServerId> {
        match self {
            Self::SpecTaken { .. } | Self::RunsCounted { .. } => None,
            Self::OrderTaken { order } => Some(order.server),
            Self::SlotKept { slot } => Some(slot.order.server),
            Self::IncidentNoted { incident } => Some(incident.server),
            Self::RunBegan { server, .. }
            | Self::Answered { server }
            | Self::StopBegan { server, .. }
            | Self::StopTurned { server, .. }
            | Self::KillBegan { server }
            | Self::CheckFailed { server, .. }
            | Self::Misbehaved { server, .. }
            | Self::Crashed { server, .. }
            | Self::StrikesCleared { server }
            | Self::Ended { server, .. }
            | Self::RestBegan { server, .. }
            | Self::SlotForgotten { server } => Some(*server),
        }
    }
}
