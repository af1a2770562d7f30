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
    pub(crate) const fn states(&self) -> [(&'static str, u32); 7] {
        [
            ("allocated", self.allocated),
            ("reserved", self.reserved),
            ("available", self.available),
            ("online", self.online),
            ("ready", self.ready),
            ("held", self.held),
            ("unreachable", self.unreachable),
        ]
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
