//! A server is two facts, process and claim; the statuses others see are one table over the two.

use mainstay_core::slot::{ConfigurationRef, Intent, Phase};
use mainstay_core::{AllocationId, Generation, MachineId};

use crate::machine::Ports;

/// A slot and its game-server process.
#[derive(Debug, Clone)]
pub struct Server {
    /// The machine it is a slot of.
    pub machine: MachineId,
    /// Its ports.
    pub ports: Ports,
    /// Who it is for.
    pub claim: Claim,
    /// The newest order given; [`Generation::NONE`] before the first.
    pub generation: Generation,
    /// What it runs, when it runs.
    pub configuration: ConfigurationRef,
    /// What that order wants of the process.
    pub intent: Intent,
    /// What its agent last said. Soft: `None` until the agent has spoken to this leader.
    pub(crate) seen: Option<Seen>,
    /// The newest order sent on the machine's current stream. Soft.
    pub(crate) sent: Generation,
}

/// Who a server is for. Law: a claim has one holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Nobody.
    Free,
    /// A session.
    Allocated(AllocationId),
}

/// What an agent last said of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The newest order it has obeyed.
    pub generation: Generation,
    /// What runs, or last ran.
    pub configuration: Option<ConfigurationRef>,
    /// The life of the process.
    pub phase: Phase,
}

/// The status of a server as Multiplay's clients see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerStatus {
    /// Has an active allocation.
    Allocated,
    /// Runs, without one.
    Online,
    /// Does not run; a member of the pool.
    Available,
}

impl ServerStatus {
    /// The word on the wire.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allocated => "ALLOCATED",
            Self::Online => "ONLINE",
            Self::Available => "AVAILABLE",
        }
    }
}

impl Server {
    /// The projection of process and claim (multiplay.md 3.8).
    ///
    /// | claim | process | status |
    /// |---|---|---|
    /// | allocated | any | ALLOCATED |
    /// | free | starting, online, stopping | ONLINE |
    /// | free | stopped, backed off, lost, not heard of | AVAILABLE |
    #[must_use]
    pub const fn status(&self) -> ServerStatus {
        match (self.claim, &self.seen) {
            (Claim::Allocated(_), _) => ServerStatus::Allocated,
            (
                Claim::Free,
                Some(Seen { phase: Phase::Starting | Phase::Online { .. } | Phase::Stopping, .. }),
            ) => ServerStatus::Online,
            (
                Claim::Free,
                None | Some(Seen { phase: Phase::Stopped(_) | Phase::BackedOff { .. } | Phase::Lost, .. }),
            ) => ServerStatus::Available,
        }
    }

    /// What its agent last said; `None` until it has spoken to this leader.
    #[must_use]
    pub const fn seen(&self) -> Option<&Seen> {
        self.seen.as_ref()
    }

    /// The allocation that claims it.
    #[must_use]
    pub const fn allocation(&self) -> Option<AllocationId> {
        match self.claim {
            Claim::Allocated(id) => Some(id),
            Claim::Free => None,
        }
    }

    /// Whether its agent has obeyed the newest order.
    #[must_use]
    pub fn obeyed(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.generation == self.generation)
    }
}
