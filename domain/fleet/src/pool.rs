//! What each region has: servers to give, machines that come, and machines that may go. Kept as machines change, so that
//! nobody walks a fleet to know whether it is short.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use mainstay_core::{MachineId, RegionId, Timestamp};

use crate::fleet::Fleet;
use crate::life::{Duty, Life, Origin};
use crate::machine::{Link, Machine};
use crate::policy::MachineTtl;

/// What a region has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pool {
    /// Unclaimed servers of machines that serve. A machine whose agent is silent counts until it is lost.
    pub available: u32,
    /// Servers there are or will be: of machines that serve, drain, are emptied or requested.
    pub servers: u32,
    /// Slots of requested machines.
    pub coming: u32,
    /// Machines that a provider made or is to make and has not deleted, but for those an operator withdrew: what is being
    /// replaced does not keep its successor from coming.
    pub made: u32,
    /// Allocations that wait for a server.
    pub waiting: u32,
    /// Machines whose agent is heard, however they stand.
    pub heard: u32,
    /// Unclaimed servers of machines that are not heard, or are on their way in or out: nobody gets one of these now.
    pub blocked: u32,
    /// Machines by how many of their servers are allocated or reserved, however they stand.
    pub busy: BTreeMap<u32, u32>,
    /// Machines, by how they stand.
    standing: [u32; Standing::ALL.len()],
    /// Machines that serve nobody, by how many servers would go with them, and by the time from which they may be emptied:
    /// whatever a region can spare, the first to go is found without a look at those that are too large.
    pub(crate) idle: BTreeMap<u32, BTreeSet<(Timestamp, MachineId)>>,
    /// Machines that can be had back at once: those that drain, and then the emptied ones; each heard.
    pub(crate) asleep: BTreeSet<(Sleep, MachineId)>,
}

/// How a machine stands, for whoever counts machines: each stands one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// A provider is to make it.
    Requested,
    /// It serves, and its agent is heard.
    Ready,
    /// It serves, and its agent is not heard.
    Away,
    /// Its servers are being stopped, or an operator withdrew it and somebody still plays there.
    Draining,
    /// None of its servers runs.
    Emptied,
    /// Its agent was silent for too long.
    Lost,
    /// Its provider is to delete it.
    Removing,
}

impl Standing {
    /// All of them, in the order of a machine's life.
    pub const ALL: [Self; 7] =
        [Self::Requested, Self::Ready, Self::Away, Self::Draining, Self::Emptied, Self::Lost, Self::Removing];

    /// The word for it, in metrics.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Ready => "ready",
            Self::Away => "away",
            Self::Draining => "draining",
            Self::Emptied => "emptied",
            Self::Lost => "lost",
            Self::Removing => "removing",
        }
    }

    /// One that an operator withdrew, and that still serves whoever is on it, drains.
    const fn of(machine: &Machine) -> Self {
        match (machine.life, machine.link) {
            (Life::Requested { .. }, _) => Self::Requested,
            (Life::Serving, Link::Silent) => Self::Away,
            (Life::Serving, Link::Up { .. }) if machine.takes() => Self::Ready,
            (Life::Serving, Link::Up { .. }) => Self::Draining,
            (Life::Draining { .. }, _) => Self::Draining,
            (Life::Emptied { .. }, _) => Self::Emptied,
            (Life::Lost { .. }, _) => Self::Lost,
            (Life::Removing { .. }, _) => Self::Removing,
        }
    }
}

impl Pool {
    /// How many machines stand so.
    #[must_use]
    pub const fn standing(&self, standing: Standing) -> u32 {
        self.standing[standing as usize]
    }

    /// All machines.
    #[must_use]
    pub fn machines(&self) -> u32 {
        self.standing.iter().sum()
    }
}

/// How deep a machine sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sleep {
    /// It drains: some of its processes may still run.
    Draining,
    /// It is emptied.
    Emptied,
}

/// What one machine counts for in its region, and when it has to be looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) available: u32,
    servers: u32,
    coming: u32,
    made: u32,
    heard: u32,
    blocked: u32,
    busy: Option<u32>,
    standing: Option<Standing>,
    pub(crate) idle: Option<Timestamp>,
    asleep: Option<Sleep>,
    /// When a machine that is requested, emptied or lost is given up, or one that an operator withdrew is emptied.
    pub(crate) moment: Option<Timestamp>,
}

/// When machines of a region go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    /// Idle ones.
    ttl: MachineTtl,
    /// Empty ones that an operator withdrew; as the idle ones where nothing is said.
    disabled: Option<Duration>,
}

impl Share {
    /// What a machine counts for.
    pub(crate) fn of(machine: &Machine, times: Times) -> Self {
        let share = Self::in_service(machine, times.ttl);
        let made = match machine.life {
            // Given back, and bought until the provider says that it is gone: a provider that fails to delete buys no more.
            Life::Removing { .. } => share.made,
            Life::Requested { .. }
            | Life::Serving
            | Life::Draining { .. }
            | Life::Emptied { .. }
            | Life::Lost { .. } => 0,
        };
        let withdrawn = |moment| Self {
            made,
            heard: share.heard,
            blocked: share.blocked,
            busy: share.busy,
            standing: share.standing,
            servers: machine.counts.claimed(),
            moment,
            ..Self::default()
        };
        match machine.duty {
            Duty::InService => share,
            // What it has is not the region's to give, and time alone neither empties nor wakes it.
            Duty::Drained { since } => withdrawn(match (machine.life, times.disabled) {
                (Life::Emptied { since: emptied }, Some(disabled)) => match machine.origin {
                    Origin::Made => Some(since.max(emptied) + disabled),
                    Origin::Joined => None,
                },
                (
                    Life::Requested { .. }
                    | Life::Serving
                    | Life::Draining { .. }
                    | Life::Emptied { .. }
                    | Life::Lost { .. }
                    | Life::Removing { .. },
                    _,
                ) => share.moment.or_else(|| Self::free_from(machine)),
            }),
            Duty::Leaving { .. } => {
                let moment = match machine.life {
                    Life::Requested { .. } | Life::Emptied { .. } | Life::Lost { .. } => {
                        Some(Timestamp::EPOCH)
                    }
                    Life::Serving | Life::Draining { .. } | Life::Removing { .. } => Self::free_from(machine),
                };
                withdrawn(moment)
            }
        }
    }

    /// When the servers of a machine that serves and that an operator withdrew may be stopped: once nobody is on it, a hold
    /// included.
    fn free_from(machine: &Machine) -> Option<Timestamp> {
        match machine.life {
            Life::Serving if machine.counts.claimed() == 0 => {
                Some(machine.held_until().unwrap_or(Timestamp::EPOCH))
            }
            Life::Serving
            | Life::Requested { .. }
            | Life::Draining { .. }
            | Life::Emptied { .. }
            | Life::Lost { .. }
            | Life::Removing { .. } => None,
        }
    }

    fn in_service(machine: &Machine, ttl: MachineTtl) -> Self {
        let servers = u32::try_from(machine.servers.len()).unwrap_or(u32::MAX);
        let heard = match machine.link {
            Link::Up { .. } => true,
            Link::Silent => false,
        };
        let made = match machine.origin {
            Origin::Made => 1,
            Origin::Joined => 0,
        };
        let standing = Standing::of(machine);
        let reachable = match standing {
            Standing::Ready => true,
            // One that an operator withdrew has servers still, and gives none of them.
            Standing::Draining | Standing::Emptied => heard,
            Standing::Requested | Standing::Away | Standing::Lost | Standing::Removing => false,
        };
        let share = Self {
            made,
            heard: u32::from(heard),
            blocked: if reachable { 0 } else { machine.counts.unclaimed() },
            busy: Some(machine.counts.claimed()),
            standing: Some(standing),
            ..Self::default()
        };
        let given_back = |since: Timestamp| match machine.origin {
            Origin::Made => ttl.delete().map(|delete| since + delete),
            Origin::Joined => None,
        };
        match machine.life {
            Life::Requested { until, slots, .. } => {
                Self { servers: slots, coming: slots, moment: Some(until), ..share }
            }
            Life::Serving => {
                let idle = (machine.counts.claimed() == 0).then(|| ttl.shutdown()).flatten();
                let free = |idle| machine.held_until().map_or(idle, |until| until.max(idle));
                let idle = idle.map(|ttl| free(machine.used + ttl));
                Self { available: machine.counts.unclaimed(), servers, idle, ..share }
            }
            Life::Draining { .. } => Self { servers, asleep: heard.then_some(Sleep::Draining), ..share },
            Life::Emptied { .. } => {
                let asleep = heard.then_some(Sleep::Emptied);
                Self { servers, asleep, moment: given_back(machine.used), ..share }
            }
            Life::Lost { at } => {
                let until = machine.held_until();
                let moment = given_back(at).map(|free| until.map_or(free, |until| until.max(free)));
                Self { moment, ..share }
            }
            Life::Removing { .. } => share,
        }
    }
}

impl Share {
    /// Adds itself to a derivation from nothing.
    pub(crate) fn add_to(
        self,
        id: MachineId,
        pool: &mut Pool,
        moments: &mut BTreeSet<(Timestamp, MachineId)>,
    ) {
        pool.available += self.available;
        pool.servers += self.servers;
        pool.coming += self.coming;
        pool.made += self.made;
        pool.heard += self.heard;
        pool.blocked += self.blocked;
        if let Some(busy) = self.busy {
            *pool.busy.entry(busy).or_default() += 1;
        }
        if let Some(standing) = self.standing {
            pool.standing[standing as usize] += 1;
        }
        if let Some(idle) = self.idle {
            pool.idle.entry(self.available).or_default().insert((idle, id));
        }
        pool.asleep.extend(self.asleep.map(|asleep| (asleep, id)));
        moments.extend(self.moment.map(|moment| (moment, id)));
    }
}

impl Fleet {
    /// What every region has that has or had machines.
    pub fn pools(&self) -> impl Iterator<Item = &Pool> {
        self.pools.values()
    }

    /// What a region has.
    #[must_use]
    pub fn pool(&self, region: RegionId) -> Option<&Pool> {
        self.pools.get(&region)
    }

    /// When machines of a region go: as the region says, else as its fleet does.
    pub(crate) fn times_in(&self, region: RegionId) -> Times {
        let policy = self.machine_policy().ttl;
        let spec = self.spec();
        let own = spec.and_then(|spec| spec.region(region)).and_then(|region| region.ttl);
        Times { ttl: own.unwrap_or(policy), disabled: spec.and_then(|spec| spec.hosting.disabled_delete) }
    }

    /// Brings what a machine counts for in line with what it is.
    pub(crate) fn settle_machine(&mut self, id: MachineId) {
        let Some(region) = self.machines.get(&id).map(|machine| machine.region) else { return };
        let times = self.times_in(region);
        let Some(machine) = self.machines.get_mut(&id) else { return };
        let (before, after) = (machine.share, Share::of(machine, times));
        if before == after {
            return;
        }
        machine.share = after;
        self.count_share(id, region, before, after);
    }

    /// A machine that is gone counts for nothing.
    pub(crate) fn uncount(&mut self, id: MachineId, machine: &Machine) {
        self.count_share(id, machine.region, machine.share, Share::default());
    }

    fn count_share(&mut self, id: MachineId, region: RegionId, before: Share, after: Share) {
        let pool = self.pools.entry(region).or_default();
        pool.available = pool.available - before.available + after.available;
        pool.servers = pool.servers - before.servers + after.servers;
        pool.coming = pool.coming - before.coming + after.coming;
        pool.made = pool.made - before.made + after.made;
        pool.heard = pool.heard - before.heard + after.heard;
        pool.blocked = pool.blocked - before.blocked + after.blocked;
        if before.busy != after.busy {
            if let Some(busy) = before.busy
                && let Some(count) = pool.busy.get_mut(&busy)
            {
                *count -= 1;
                if *count == 0 {
                    pool.busy.remove(&busy);
                }
            }
            if let Some(busy) = after.busy {
                *pool.busy.entry(busy).or_default() += 1;
            }
        }
        if let Some(before) = before.standing {
            pool.standing[before as usize] -= 1;
        }
        if let Some(after) = after.standing {
            pool.standing[after as usize] += 1;
        }
        if let Some(idle) = before.idle
            && let Some(machines) = pool.idle.get_mut(&before.available)
        {
            machines.remove(&(idle, id));
            if machines.is_empty() {
                pool.idle.remove(&before.available);
            }
        }
        if let Some(idle) = after.idle {
            pool.idle.entry(after.available).or_default().insert((idle, id));
        }
        swap(&mut pool.asleep, id, before.asleep, after.asleep);
        swap(&mut self.moments, id, before.moment, after.moment);
    }
}

fn swap<K: Ord + Copy>(
    index: &mut BTreeSet<(K, MachineId)>,
    id: MachineId,
    before: Option<K>,
    after: Option<K>,
) {
    if before == after {
        return;
    }
    if let Some(before) = before {
        index.remove(&(before, id));
    }
    if let Some(after) = after {
        index.insert((after, id));
    }
}
