//! Who a server is for: nobody, nobody but kept (a hold), the players it serves by its own choice (a reservation), or a
//! session somebody asked for (an allocation). Law: a claim has one holder.

use mainstay_core::{AllocationId, ReservationId, Timestamp};

/// Who a server is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Nobody.
    Free,
    /// Nobody; its game asked that its machine be kept until then (seed 003). As good as free to an allocation.
    Held {
        /// When the hold runs out.
        until: Timestamp,
    },
    /// Players its game let in (reservation fleets: the game reserves itself, and releases itself).
    Reserved(Reservation),
    /// A session.
    Allocated(AllocationId),
}

/// A reservation, made by the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// Its id.
    pub id: ReservationId,
    /// Since when.
    pub at: Timestamp,
}

/// What ended a hold: the six conditions of seed 003, and its release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoldEnd {
    /// Its game released it, or an operator did ("expired manually by calling the DELETE endpoint").
    Released,
    /// "The timeout specified in the latest hold request has been exceeded."
    TimedOut,
    /// "The server has been allocated."
    Allocated,
    /// "The server has been reserved."
    Reserved,
    /// "The server has been manually stopped."
    StoppedByHand,
    /// "The server has been manually restarted."
    RestartedByHand,
    /// "The active build configuration has been changed."
    ConfigurationChanged,
}

/// What ended a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReservationEnd {
    /// Its game released it.
    Released,
    /// An operator did.
    ReleasedByHand,
    /// Its game's process exited with code 0.
    Completed,
    /// Its game crashed more often than the restart policy allows, or was stopped for good after misbehaving.
    Failed,
    /// Its machine lost the process.
    Lost,
    /// A build version was forced onto the server.
    RolledOut,
    /// Its machine was lost.
    MachineLost,
}

impl Claim {
    /// Whether an allocation may take the server: a hold is no claim against players (seed 003, "capable of receiving an
    /// allocation").
    #[must_use]
    pub const fn is_open(&self) -> bool {
        match self {
            Self::Free | Self::Held { .. } => true,
            Self::Reserved(_) | Self::Allocated(_) => false,
        }
    }

    /// The allocation.
    #[must_use]
    pub const fn allocation(&self) -> Option<AllocationId> {
        match self {
            Self::Allocated(id) => Some(*id),
            Self::Free | Self::Held { .. } | Self::Reserved(_) => None,
        }
    }

    /// The reservation.
    #[must_use]
    pub const fn reservation(&self) -> Option<Reservation> {
        match self {
            Self::Reserved(reservation) => Some(*reservation),
            Self::Free | Self::Held { .. } | Self::Allocated(_) => None,
        }
    }

    /// Until when it is held.
    #[must_use]
    pub const fn held_until(&self) -> Option<Timestamp> {
        match self {
            Self::Held { until } => Some(*until),
            Self::Free | Self::Reserved(_) | Self::Allocated(_) => None,
        }
    }
}

impl HoldEnd {
    /// The word for it, in the API and the history.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::TimedOut => "timedOut",
            Self::Allocated => "allocated",
            Self::Reserved => "reserved",
            Self::StoppedByHand => "stoppedByHand",
            Self::RestartedByHand => "restartedByHand",
            Self::ConfigurationChanged => "configurationChanged",
        }
    }
}

impl ReservationEnd {
    /// The word for it, in the API and the history.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::ReleasedByHand => "releasedByHand",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Lost => "lost",
            Self::RolledOut => "rolledOut",
            Self::MachineLost => "machineLost",
        }
    }
}
