//! Where an allocation goes.
//!
//! A match waits on somebody's screen, so what can play soonest comes first; density saves money, so among those the
//! fullest machine does. The order (seed 002, start and stop causes; docs/decisions/0001):
//!
//! 1. runs idle with the right build configuration, and answers;
//! 2. is being started with it;
//! 3. is stopped;
//! 4. runs idle with another build configuration, and is restarted with the right one;
//! 5. backed off after crashes;
//! 6. is still stopping.
//!
//! Only servers of machines that serve and whose agent is heard take part, and none on which the process of a session may
//! still run that was given up with its machine.

use alloc::collections::{BTreeMap, BTreeSet};
use core::cmp::Reverse;
use core::fmt;

use mainstay_core::slot::{ConfigurationRef, Intent, Phase};
use mainstay_core::{BuildConfigurationId, MachineId, RegionId, ServerId};

use crate::fleet::Fleet;
use crate::machine::{Link, Machine};
use crate::server::{Server, ServerStatus};

/// What a free server would have to do to take an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Candidate {
    /// Runs this configuration, and answers.
    Online(ConfigurationRef),
    /// Is being started with it.
    Starting(ConfigurationRef),
    /// Has no process.
    Stopped,
    /// Has none after too many crashes.
    BackedOff,
    /// Its process is on its way down.
    Stopping,
}

impl Candidate {
    /// Below every other.
    pub(crate) const LOWEST: Self = Self::Online(LOWEST);
}

/// A machine's free servers, by what they would have to do.
pub(crate) type Candidates = BTreeMap<Candidate, BTreeSet<ServerId>>;

/// The machines of each region that have a candidate of a kind, the fullest first.
pub(crate) type Shelf = BTreeMap<(RegionId, Candidate), BTreeSet<(Reverse<u32>, MachineId)>>;

/// Why the servers of a region did not get an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losers {
    /// How many servers the region has.
    pub servers: u32,
    /// How many of them are allocated or reserved.
    pub allocated: u32,
    /// How many of the free ones are on machines whose agent is silent.
    pub silent: u32,
    /// How many of the free ones on heard machines have not been reported yet.
    pub unreported: u32,
}

impl fmt::Display for Losers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { servers, allocated, silent, unreported } = self;
        write!(
            f,
            "of the region's {servers} servers {allocated} are allocated, {silent} are on machines that are not \
             heard, {unreported} are not reported yet"
        )
    }
}

impl Fleet {
    /// What a server would have to do; `None` where it cannot take an allocation now.
    pub(crate) fn candidate(&self, server: &Server) -> Option<Candidate> {
        let machine = self.machines.get(&server.machine)?;
        let reachable = machine.takes() && machine.link != Link::Silent;
        if !server.claim.is_open() || !reachable || server.is_fenced() {
            return None;
        }
        let seen = server.seen.as_ref()?;
        let down_soon = server.intent == Intent::Stop;
        Some(match &seen.phase {
            Phase::Stopped(_) | Phase::Lost => Candidate::Stopped,
            Phase::BackedOff { .. } | Phase::PreRecovery { .. } => Candidate::BackedOff,
            Phase::Stopping { .. } => Candidate::Stopping,
            Phase::Starting { .. } | Phase::Online { .. } if down_soon => Candidate::Stopping,
            Phase::Starting { .. } => Candidate::Starting(seen.configuration?),
            Phase::Online { .. } => Candidate::Online(seen.configuration?),
        })
    }

    /// The best server of a region for a build configuration.
    pub(crate) fn best_server(&self, region: RegionId, wanted: ConfigurationRef) -> Option<ServerId> {
        [Candidate::Online(wanted), Candidate::Starting(wanted), Candidate::Stopped]
            .into_iter()
            .find_map(|candidate| self.fullest(region, candidate))
            .or_else(|| self.fullest_with_another(region, wanted))
            .or_else(|| self.fullest(region, Candidate::BackedOff))
            .or_else(|| self.fullest(region, Candidate::Stopping))
    }

    fn fullest(&self, region: RegionId, candidate: Candidate) -> Option<ServerId> {
        let (_, machine) = self.shelf.get(&(region, candidate))?.first()?;
        self.machines[machine].candidates.get(&candidate)?.first().copied()
    }

    /// The fullest machine with a server that runs another configuration. A region has as many kinds of these as build
    /// configurations (with their revisions in use), so looking at each kind's first is cheap.
    fn fullest_with_another(&self, region: RegionId, wanted: ConfigurationRef) -> Option<ServerId> {
        let (candidate, _) = self
            .shelf
            .range((region, Candidate::Online(LOWEST))..(region, Candidate::Stopped))
            .filter(|((_, candidate), _)| match candidate {
                Candidate::Online(runs) | Candidate::Starting(runs) => *runs != wanted,
                Candidate::Stopped | Candidate::BackedOff | Candidate::Stopping => false,
            })
            .filter_map(|((_, candidate), machines)| Some((*candidate, *machines.first()?)))
            .min_by_key(|(_, first)| *first)?;
        self.fullest(region, candidate)
    }

    /// Why none of a region's servers took an allocation.
    #[must_use]
    pub fn losers(&self, region: RegionId) -> Losers {
        let mut losers = Losers::default();
        let there = |machine: &&Machine| machine.region == region && machine.life.serves();
        for machine in self.machines.values().filter(there) {
            let servers = u32::try_from(machine.servers.len()).unwrap_or(u32::MAX);
            let ready: usize = machine.candidates.values().map(BTreeSet::len).sum();
            // The free servers of one that an operator withdrew are nobody's.
            let free = if machine.takes() { machine.counts.unclaimed() } else { 0 };
            losers.servers += if machine.takes() { servers } else { machine.counts.claimed() };
            losers.allocated += machine.counts.claimed();
            match machine.link {
                Link::Silent => losers.silent += free,
                Link::Up { .. } => losers.unreported += free - u32::try_from(ready).unwrap_or(free).min(free),
            }
        }
        losers
    }

    /// Takes a server out of the candidate index; call before anything its candidacy depends on changes.
    pub(crate) fn unshelve(&mut self, id: ServerId) {
        let Some(server) = self.servers.get(&id) else { return };
        let Some(candidate) = self.candidate(server) else { return };
        let machine_id = server.machine;
        let Some(machine) = self.machines.get_mut(&machine_id) else { return };
        let Some(servers) = machine.candidates.get_mut(&candidate) else { return };
        servers.remove(&id);
        if servers.is_empty() {
            machine.candidates.remove(&candidate);
            let key = (machine.region, candidate);
            let place = (Reverse(machine.counts.claimed()), machine_id);
            if let Some(machines) = self.shelf.get_mut(&key) {
                machines.remove(&place);
                if machines.is_empty() {
                    self.shelf.remove(&key);
                }
            }
        }
    }

    /// Puts a server back into the candidate index, as what it now is.
    pub(crate) fn shelve(&mut self, id: ServerId) {
        let Some(server) = self.servers.get(&id) else { return };
        let Some(candidate) = self.candidate(server) else { return };
        let machine_id = server.machine;
        let Some(machine) = self.machines.get_mut(&machine_id) else { return };
        machine.candidates.entry(candidate).or_default().insert(id);
        let place = (Reverse(machine.counts.claimed()), machine_id);
        self.shelf.entry((machine.region, candidate)).or_default().insert(place);
    }

    /// Counts a server that stood one way and now stands another way, and moves its machine on every shelf it stands on
    /// where that changes its fullness.
    pub(crate) fn recount(&mut self, id: MachineId, before: ServerStatus, after: ServerStatus) {
        let Some(machine) = self.machines.get_mut(&id) else { return };
        let old = machine.counts.claimed();
        machine.counts.remove(before);
        machine.counts.add(after);
        let of_region = self.counts.entry(machine.region).or_default();
        of_region.remove(before);
        of_region.add(after);
        let new = machine.counts.claimed();
        if old == new {
            return;
        }
        for candidate in machine.candidates.keys() {
            if let Some(machines) = self.shelf.get_mut(&(machine.region, *candidate)) {
                machines.remove(&(Reverse(old), id));
                machines.insert((Reverse(new), id));
            }
        }
        self.settle_machine(id);
    }
}

/// Below every real reference: ids of build configurations begin at 1.
const LOWEST: ConfigurationRef = ConfigurationRef { id: BuildConfigurationId::LOWEST, revision: 0 };
