//! How servers stand, in one place for every face that counts them.

use mainstay_core::RegionId;
use mainstay_fleet::{Counts, Fleet, Machine, ServerStatus};

/// How many servers stand how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counted {
    pub(crate) allocated: u32,
    pub(crate) reserved: u32,
    pub(crate) available: u32,
    pub(crate) online: u32,
    pub(crate) ready: u32,
    pub(crate) held: u32,
    /// Nobody hears their agents.
    pub(crate) unreachable: u32,
}

impl Counted {
    /// All of a fleet.
    pub(crate) fn fleet(fleet: &Fleet) -> Self {
        Self::of(fleet.counts())
    }

    /// Those in a region.
    pub(crate) fn region(fleet: &Fleet, region: RegionId) -> Self {
        Self::of(fleet.counts_in(region))
    }

    /// Those of a machine.
    pub(crate) fn machine(machine: &Machine) -> Self {
        Self::of(machine.counts())
    }

    const fn of(counts: Counts) -> Self {
        Self {
            allocated: counts.of(ServerStatus::Allocated),
            reserved: counts.of(ServerStatus::Reserved),
            available: counts.of(ServerStatus::Available),
            online: counts.of(ServerStatus::Online),
            ready: counts.of(ServerStatus::Ready),
            held: counts.of(ServerStatus::Held),
            unreachable: counts.of(ServerStatus::Unreachable),
        }
    }

    /// Taken out of the pool.
    pub(crate) const fn claimed(&self) -> u32 {
        self.allocated + self.reserved
    }

    pub(crate) const fn total(&self) -> u32 {
        self.claimed() + self.available + self.online + self.ready + self.held + self.unreachable
    }

    /// Each with its word, as metrics have it.
    pub(crate) fn states(&self) -> [(&'static str, u32); 7] {
        ServerStatus::ALL.map(|status| (Self::word(status), self.of_status(status)))
    }

    const fn of_status(&self, status: ServerStatus) -> u32 {
        match status {
            ServerStatus::Allocated => self.allocated,
            ServerStatus::Reserved => self.reserved,
            ServerStatus::Available => self.available,
            ServerStatus::Online => self.online,
            ServerStatus::Ready => self.ready,
            ServerStatus::Held => self.held,
            ServerStatus::Unreachable => self.unreachable,
        }
    }

    /// The word for a status in metrics.
    pub(crate) const fn word(status: ServerStatus) -> &'static str {
        match status {
            ServerStatus::Allocated => "allocated",
            ServerStatus::Reserved => "reserved",
            ServerStatus::Available => "available",
            ServerStatus::Online => "online",
            ServerStatus::Ready => "ready",
            ServerStatus::Held => "held",
            ServerStatus::Unreachable => "unreachable",
        }
    }
}

impl std::ops::AddAssign for Counted {
    fn add_assign(&mut self, other: Self) {
        self.allocated += other.allocated;
        self.reserved += other.reserved;
        self.available += other.available;
        self.online += other.online;
        self.ready += other.ready;
        self.held += other.held;
        self.unreachable += other.unreachable;
    }
}
