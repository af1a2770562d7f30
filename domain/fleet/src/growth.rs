//! Whether a region is short of servers, what can be done about it, and whether a machine can be spared.
//!
//! A region is short by what is missing to its `minAvailable`, and to those that wait for a server. What is there counts, and
//! what comes; a hold changes nothing here ("the server hold only influences deprovisioning, not provisioning of new
//! machines", seed 003).

use core::time::Duration;

use mainstay_core::{MachineId, RegionId, Timestamp};

use crate::fleet::Fleet;
use crate::spec::{Growth, RegionOpening, RegionSpec};

/// How long a machine is waited for that a join token has let in: its agent connects at once, and where that fails, tries again
/// within half this time.
pub(crate) const ARRIVES_WITHIN: Duration = Duration::from_secs(60);

/// Why a region that is short gets no machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ungrown {
    /// It takes no allocations.
    Offline,
    /// It has no provider: it has what it has, or what joins.
    NoProvider,
    /// It has as many servers as may be allocated.
    MaxServers,
    /// Its provider has as many machines as it may.
    MaxMachines,
}

/// What a region that is short does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It has a machine back that drains or was emptied.
    Wake(MachineId),
    /// It asks its provider for a machine with so many slots.
    Request(u32),
}

impl Fleet {
    /// How many servers a region lacks.
    #[must_use]
    pub fn shortfall(&self, region: &RegionSpec) -> u32 {
        let min = match region.opening {
            RegionOpening::Online => region.min_available,
            RegionOpening::Offline => 0,
        };
        let Some(pool) = self.pool(region.id) else { return min };
        (min + pool.waiting).saturating_sub(pool.available + pool.coming)
    }

    /// What a region does about its shortfall; `None` where it has none.
    pub(crate) fn growth_step(&self, region: &RegionSpec) -> Option<Result<Step, Ungrown>> {
        if self.shortfall(region) == 0 {
            return None;
        }
        if let Some((_, machine)) = self.pool(region.id).and_then(|pool| pool.asleep.first()) {
            return Some(Ok(Step::Wake(*machine)));
        }
        Some(self.may_grow(region).map(Step::Request))
    }

    /// How many slots the region's provider would bring with one more machine; or why there is none to come.
    ///
    /// # Errors
    /// Why not.
    pub fn may_grow(&self, region: &RegionSpec) -> Result<u32, Ungrown> {
        match region.opening {
            RegionOpening::Online => {}
            RegionOpening::Offline => return Err(Ungrown::Offline),
        }
        let provided = self.provided(region.id).ok_or(Ungrown::NoProvider)?;
        let (servers, made) = self.pool(region.id).map_or((0, 0), |pool| (pool.servers, pool.made));
        if servers >= region.max_servers {
            return Err(Ungrown::MaxServers);
        }
        if made >= provided.machines_max {
            return Err(Ungrown::MaxMachines);
        }
        Ok(provided.slots.max(1))
    }

    /// Whether a machine that nobody knows yet may join a region: at any time, or since a join token for it is open, or has let
    /// one in that is on its way. Who has such a token is let in, so whoever asks for a server meanwhile waits for it.
    #[must_use]
    pub fn may_join(&self, region: &RegionSpec, now: Timestamp) -> bool {
        match region.growth {
            Growth::MachinesMayJoin => true,
            Growth::Fixed | Growth::Provided(_) => {
                let arrives = |(to, until): &(RegionId, Timestamp)| *to == region.id && now < *until;
                self.invited.get(&region.id).is_some_and(|until| now < *until)
                    || self.arriving.values().any(arrives)
            }
        }
    }

    /// When a region next grows, where it is short: now, or when its provider is tried again.
    pub(crate) fn next_growth(&self, region: &RegionSpec) -> Option<Timestamp> {
        match self.growth_step(region)? {
            Ok(Step::Wake(_)) => Some(Timestamp::EPOCH),
            Ok(Step::Request(_)) => {
                Some(self.setbacks.get(&region.id).map_or(Timestamp::EPOCH, |setback| setback.until))
            }
            Err(Ungrown::Offline | Ungrown::NoProvider | Ungrown::MaxServers | Ungrown::MaxMachines) => None,
        }
    }

    /// The machine of a region that is emptied next, and when: the one that has idled longest among those the region can
    /// spare. However many machines there are, one is looked at for each size they have.
    pub(crate) fn next_idle(&self, region: RegionId) -> Option<(Timestamp, MachineId)> {
        let pool = self.pool(region)?;
        let sizes = pool.idle.range(..=self.spare(region)?);
        sizes.filter_map(|(_, machines)| machines.first()).min().copied()
    }

    /// How many servers a region has beyond what it must keep; `None` where it has too few.
    pub(crate) fn spare(&self, region: RegionId) -> Option<u32> {
        let pool = self.pool(region)?;
        let spec = self.spec.as_ref()?.region(region);
        let min = spec.map_or(0, |region| match region.opening {
            RegionOpening::Online => region.min_available,
            RegionOpening::Offline => 0,
        });
        pool.available.checked_sub(min + pool.waiting)
    }
}

impl Fleet {
    /// How many machines in a row a region's provider was asked for that never came, since this leader began.
    #[must_use]
    pub fn never_came(&self, region: RegionId) -> u32 {
        self.setbacks.get(&region).map_or(0, |setback| setback.failures)
    }
}

/// A region's provider failed. Soft: after a restart it is tried at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setback {
    /// How many machines in a row never came.
    pub(crate) failures: u32,
    /// When it is tried again.
    pub(crate) until: Timestamp,
}
