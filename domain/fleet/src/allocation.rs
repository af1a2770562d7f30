//! Allocations: a caller's claim to one server, from the asking to the end.

use alloc::sync::Arc;
use core::time::Duration;

use mainstay_core::{BuildConfigurationId, RegionId, ServerId, Timestamp};

use crate::placement::Losers;

/// What a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The build configuration the server must run.
    pub configuration: BuildConfigurationId,
    /// Where.
    pub region: RegionId,
    /// Handed to the game on request; at most [`Request::PAYLOAD_MAX`] bytes.
    pub payload: Option<Arc<str>>,
    /// Whether a running process will do.
    pub renewal: Renewal,
    /// Whose it is.
    pub purpose: Purpose,
}

impl Request {
    /// "payload > 30 KB → 400" (Unity's allocations-payload page).
    pub const PAYLOAD_MAX: usize = 30 * 1024;
}

/// Whether a running process of the right configuration will do (`restart` in Multiplay's API).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// It will.
    Keep,
    /// It is restarted first.
    Restart,
}

/// Whose an allocation is. The two are sets of their own: neither is listed among the other, nor ended by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Purpose {
    /// The game's: players are sent there.
    #[default]
    Session,
    /// An operator's, to try a build configuration (reference multiplay.md 1.2, test allocations).
    Test,
}

/// An allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// What was asked. The payload is dropped when it ends.
    pub request: Request,
    /// When it was asked.
    pub requested: Timestamp,
    /// Since when its game has said it takes players, where it has.
    pub ready: Option<Timestamp>,
    /// How far it is.
    pub stage: Stage,
}

/// How far an allocation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// No server is free; one may come.
    Waiting {
        /// When it stops waiting.
        until: Timestamp,
    },
    /// It has a server, whose process is not known to play for it yet.
    Placed(Placed),
    /// Its server plays.
    Fulfilled {
        /// Where.
        placed: Placed,
        /// Since when.
        at: Timestamp,
    },
    /// It is over, and readable for the fleet's retention time.
    Ended {
        /// Where it was, if it got that far.
        placed: Option<Placed>,
        /// When its server began to play, if it got that far.
        fulfilled: Option<Timestamp>,
        /// Since when.
        at: Timestamp,
        /// Why.
        end: End,
    },
}

/// Where an allocation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Its server.
    pub server: ServerId,
    /// Since when (`created` in Multiplay's API).
    pub at: Timestamp,
}

/// What ended an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Its caller.
    Deallocated,
    /// Its server's process, by exit code 0.
    Completed,
    /// No server came free in time.
    PlacementTimedOut(Losers),
    /// Its server crashed more often than the restart policy allows.
    BackedOff {
        /// Crashes within the window.
        crashes: u32,
        /// How the last ended.
        cause: Arc<str>,
    },
    /// Its machine lost the process.
    Lost,
    /// Its server fell silent to its query (seed 001, allocation pre-recovery).
    PreRecovery {
        /// Which checks it failed, in words.
        cause: Arc<str>,
    },
    /// Nobody played for the fleet's allocation TTL.
    Idle {
        /// How long that is.
        ttl: Duration,
    },
    /// It was asked for longer ago than the fleet's allocation TTL.
    Aged {
        /// How long that is.
        ttl: Duration,
    },
    /// A build version was forced onto its server.
    RolledOut,
    /// Its machine was lost: nobody knows whether it plays on.
    MachineLost,
}

impl End {
    /// Whether the session failed, rather than ended as somebody wished.
    #[must_use]
    pub const fn failed(&self) -> bool {
        match self {
            Self::Deallocated | Self::Completed | Self::Idle { .. } | Self::Aged { .. } => false,
            Self::PlacementTimedOut(_)
            | Self::BackedOff { .. }
            | Self::Lost
            | Self::PreRecovery { .. }
            | Self::RolledOut
            | Self::MachineLost => true,
        }
    }
}

impl Allocation {
    /// The server it has or had.
    #[must_use]
    pub const fn placed(&self) -> Option<Placed> {
        match &self.stage {
            Stage::Waiting { .. } => None,
            Stage::Placed(placed) | Stage::Fulfilled { placed, .. } => Some(*placed),
            Stage::Ended { placed, .. } => *placed,
        }
    }

    /// When its server began to play.
    #[must_use]
    pub const fn fulfilled(&self) -> Option<Timestamp> {
        match &self.stage {
            Stage::Waiting { .. } | Stage::Placed(_) => None,
            Stage::Fulfilled { at, .. } => Some(*at),
            Stage::Ended { fulfilled, .. } => *fulfilled,
        }
    }

    /// Why it is over; `None` while it is not.
    #[must_use]
    pub const fn end(&self) -> Option<(Timestamp, &End)> {
        match &self.stage {
            Stage::Waiting { .. } | Stage::Placed(_) | Stage::Fulfilled { .. } => None,
            Stage::Ended { at, end, .. } => Some((*at, end)),
        }
    }
}
