//! The statuses of machines, regions and fleets as Multiplay's clients see them, each one table (reference multiplay.md
//! 3.4 and 3.7). A server's is [`crate::Server::status`].

use core::str::FromStr;

use mainstay_core::RegionId;

use crate::fleet::Fleet;
use crate::life::{Duty, Life, Parting};
use crate::machine::Machine;
use crate::server::ServerStatus;
use crate::spec::RegionOpening;

/// The status of a machine. Three of the words are known, so that lists can be asked for them, and never said of a machine:
/// one is wanted and asked for in the same turn (no AWAITING_SETUP), what its provider has done before its agent is heard
/// only the provider knows (no BOOTING), and one that was never made is forgotten (no CANCELLED).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MachineStatus {
    /// Wanted, and not asked for yet.
    AwaitingSetup,
    /// Being made.
    Provisioning,
    /// Made; its agent has not been heard yet.
    Booting,
    /// It serves.
    Online,
    /// Being emptied, to be taken away.
    ShuttingDown,
    /// It is emptied, or lost.
    Shutdown,
    /// Being taken away.
    Deleting,
    /// No longer wanted, while it is still being made.
    CancellationRequested,
    /// It was never made.
    Cancelled,
}

impl MachineStatus {
    /// All of them, in the order of a machine's life.
    pub const ALL: [Self; 9] = [
        Self::AwaitingSetup,
        Self::Provisioning,
        Self::Booting,
        Self::Online,
        Self::ShuttingDown,
        Self::Shutdown,
        Self::Deleting,
        Self::CancellationRequested,
        Self::Cancelled,
    ];

    /// The word on the wire.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::AwaitingSetup => "AWAITING_SETUP",
            Self::Provisioning => "PROVISIONING",
            Self::Booting => "BOOTING",
            Self::Online => "ONLINE",
            Self::ShuttingDown => "SHUTTING_DOWN",
            Self::Shutdown => "SHUTDOWN",
            Self::Deleting => "DELETING",
            Self::CancellationRequested => "CANCELLATION_REQUESTED",
            Self::Cancelled => "CANCELLED",
        }
    }
}

/// A word that is no status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such status")]
pub struct NoStatus;

impl FromStr for MachineStatus {
    type Err = NoStatus;

    /// Without regard to case.
    fn from_str(word: &str) -> Result<Self, NoStatus> {
        Self::ALL.into_iter().find(|status| status.word().eq_ignore_ascii_case(word)).ok_or(NoStatus)
    }
}

impl FromStr for ServerStatus {
    type Err = NoStatus;

    /// Without regard to case.
    fn from_str(word: &str) -> Result<Self, NoStatus> {
        Self::ALL.into_iter().find(|status| status.word().eq_ignore_ascii_case(word)).ok_or(NoStatus)
    }
}

/// The status of a fleet, and of its presence in a region. The order is that of Unity's "highest".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FleetStatus {
    /// It takes no allocations, and nobody plays.
    Offline,
    /// It takes no allocations; what is allocated or reserved plays on.
    Draining,
    /// It takes allocations.
    Online,
}

impl FleetStatus {
    /// The word on the wire.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Offline => "OFFLINE",
            Self::Draining => "DRAINING",
            Self::Online => "ONLINE",
        }
    }
}

impl Machine {
    /// The projection of what is known of a machine.
    ///
    /// | life | status |
    /// |---|---|
    /// | requested | PROVISIONING |
    /// | serving | ONLINE |
    /// | serving, and an operator drains or removes it | SHUTTING_DOWN |
    /// | draining | SHUTTING_DOWN |
    /// | emptied, lost | SHUTDOWN |
    /// | removing, never came | CANCELLATION_REQUESTED |
    /// | removing | DELETING |
    ///
    /// Whether its agent is heard is not in it: one that is not may be slow, its sessions play on, and Multiplay has no word
    /// for that. It is ONLINE until it counts as lost ([`crate::MachinePolicy::lost_after`]); [`Machine::link`] says more.
    #[must_use]
    pub const fn status(&self) -> MachineStatus {
        match self.life {
            Life::Requested { .. } => MachineStatus::Provisioning,
            Life::Serving => match self.duty {
                Duty::InService => MachineStatus::Online,
                Duty::Drained { .. } | Duty::Leaving { .. } => MachineStatus::ShuttingDown,
            },
            Life::Draining { .. } => MachineStatus::ShuttingDown,
            Life::Emptied { .. } | Life::Lost { .. } => MachineStatus::Shutdown,
            Life::Removing { why: Parting::NeverCame, .. } => MachineStatus::CancellationRequested,
            Life::Removing {
                why: Parting::Idle | Parting::Lost | Parting::Died | Parting::ByHand, ..
            } => MachineStatus::Deleting,
        }
    }
}

impl Fleet {
    /// The projection of a region's opening and of who plays in it.
    ///
    /// | takes allocations | allocated or reserved servers | status |
    /// |---|---|---|
    /// | yes | any | ONLINE |
    /// | no | some | DRAINING |
    /// | no | none | OFFLINE |
    #[must_use]
    pub fn region_status(&self, region: RegionId) -> FleetStatus {
        let opening = self.spec().and_then(|spec| spec.region(region)).map(|region| region.opening);
        match (opening, self.counts_in(region).claimed()) {
            (Some(RegionOpening::Online), _) => FleetStatus::Online,
            // A region that is gone from the configuration keeps its machines and sessions.
            (Some(RegionOpening::Offline) | None, 1..) => FleetStatus::Draining,
            (Some(RegionOpening::Offline) | None, 0) => FleetStatus::Offline,
        }
    }

    /// "Fleet status = highest status among its regions" (reference 3.4).
    #[must_use]
    pub fn status(&self) -> FleetStatus {
        let regions = self.spec().into_iter().flat_map(|spec| &spec.regions);
        regions.map(|region| self.region_status(region.id)).max().unwrap_or(FleetStatus::Offline)
    }
}
