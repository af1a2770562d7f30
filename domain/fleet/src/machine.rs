//! Machines: hosts, or a fleet region's share of one, that an agent answers for.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};

use mainstay_core::density::Host;
use mainstay_core::{BootId, MachineKey, RegionId, ServerId, Timestamp};

use crate::command::StreamId;
use crate::counts::Counts;
use crate::life::{Absence, Duty, Life, Origin};
use crate::placement::Candidates;
use crate::pool::Share;

/// The most slots one machine may bring. A game server needs two ports and an agent one process more for each; past
/// this a host has run out of both (the hard limit of open files on stock hosts is 20,000).
pub const SLOTS_PER_MACHINE_MAX: usize = 4096;

/// A machine of the fleet.
#[derive(Debug, Clone)]
pub struct Machine {
    /// What it called itself when it joined.
    pub key: MachineKey,
    /// Where it is.
    pub region: RegionId,
    /// Its name.
    pub name: Arc<str>,
    /// How players reach its servers.
    pub addresses: Addresses,
    /// Its servers, in the order of their slots.
    pub servers: Vec<ServerId>,
    /// How it came to be.
    pub origin: Origin,
    /// How it stands.
    pub life: Life,
    /// What an operator wants of it.
    pub duty: Duty,
    /// The run of its kernel that its agent last spoke of.
    pub boot: Option<BootId>,
    /// What its agent last said of its host; `None` where it has not.
    pub host: Option<Host>,
    /// When it last came back after it had been lost, and what its return showed.
    pub returned: Option<(Timestamp, Absence)>,
    /// When the last of its servers that had been allocated or reserved no longer was; when it joined or was woken, before
    /// the first.
    pub(crate) used: Timestamp,
    /// How they stand. How many are claimed is its fullness. Derived.
    pub(crate) counts: Counts,
    /// Its agent's stream. Soft.
    pub(crate) link: Link,
    /// Its servers that could take an allocation. Derived.
    pub(crate) candidates: Candidates,
    /// Holds of its servers by the time they run out. Derived.
    pub(crate) holds: BTreeSet<(Timestamp, ServerId)>,
    /// What it counts for in its region. Derived.
    pub(crate) share: Share,
}

impl Machine {
    /// Its agent's stream.
    #[must_use]
    pub const fn link(&self) -> Link {
        self.link
    }

    /// Whether allocations, holds and reservations may begin on it.
    #[must_use]
    pub const fn takes(&self) -> bool {
        self.life.serves() && self.duty.withdrawn().is_none()
    }

    /// How its servers stand.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Until when holds keep it: "the timeout furthest in the future" (seed 003).
    #[must_use]
    pub fn held_until(&self) -> Option<Timestamp> {
        self.holds.last().map(|(until, _)| *until)
    }
}

/// Whether a machine's agent is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// No stream since this leader began to listen, or it broke.
    Silent,
    /// Its current stream. What any other says is refused.
    Up {
        /// The stream.
        stream: StreamId,
        /// The newest configuration revision sent on it.
        specs_sent: u64,
    },
}

/// How players reach a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Addresses {
    /// Its IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
}

/// A slot's two ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ports {
    /// Where players connect.
    pub game: u16,
    /// Where queries are answered.
    pub query: u16,
}
