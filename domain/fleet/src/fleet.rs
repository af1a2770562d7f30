//! The fleet: its durable state, what is soft beside it, and the indices derived from both.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::slot::{ConfigurationRef, ReadySignal, Spec};
use mainstay_core::{
    AllocationId, BuildConfigurationId, MachineId, MachineKey, RegionId, ServerId, StateMachine, Table,
    Timestamp, Turn,
};

use crate::allocation::{Allocation, Purpose};
use crate::command::{Answer, Command, Observation, Why};
use crate::counts::Counts;
use crate::decide;
use crate::errand::Progress;
use crate::event::Event;
use crate::growth::Setback;
use crate::life::Fate;
use crate::machine::Machine;
use crate::owed::Owed;
use crate::placement::Shelf;
use crate::policy::MachinePolicy;
use crate::pool::Pool;
use crate::rejection::Rejection;
use crate::rollout::Outdated;
use crate::server::{Server, ServerStatus};
use crate::spec::FleetSpec;
use crate::tally::{Tally, Telling};
use crate::tenure::Moves;

/// One fleet with all its regions.
#[derive(Debug, Clone)]
pub struct Fleet {
    // Durable.
    pub(crate) spec: Option<Arc<FleetSpec>>,
    /// Current revisions, and earlier ones that a server's order still names.
    pub(crate) specs: BTreeMap<ConfigurationRef, Spec>,
    pub(crate) machines: BTreeMap<MachineId, Machine>,
    pub(crate) servers: BTreeMap<ServerId, Server>,
    pub(crate) allocations: Table<AllocationId, Allocation>,
    /// What operators chose for single servers to run.
    pub(crate) assigned: BTreeMap<ServerId, BuildConfigurationId>,
    /// The last server and machine counters given out.
    pub(crate) server_counter: u32,
    pub(crate) machine_counter: u32,

    // Derived, each checked against a full derivation by `laws::all`.
    pub(crate) machines_by_key: BTreeMap<(RegionId, MachineKey), MachineId>,
    /// Every allocation by the time it was requested.
    pub(crate) by_request: BTreeSet<(Timestamp, AllocationId)>,
    /// Those that wait, by region, first come first.
    pub(crate) waiting: BTreeSet<(RegionId, Timestamp, AllocationId)>,
    /// Those that wait, by the time they stop waiting.
    pub(crate) waiting_until: BTreeSet<(Timestamp, AllocationId)>,
    /// Those that ended, by the time they did.
    pub(crate) ended: BTreeSet<(Timestamp, AllocationId)>,
    /// Those that go on: placed, or waiting.
    pub(crate) live: BTreeSet<(Timestamp, AllocationId)>,
    /// Of those, the operators' tests: few among many.
    pub(crate) tests: BTreeSet<(Timestamp, AllocationId)>,
    /// Holds by the time they run out.
    pub(crate) holds: BTreeSet<(Timestamp, ServerId)>,
    /// How the servers of each region stand.
    pub(crate) counts: BTreeMap<RegionId, Counts>,
    /// Servers whose newest order has neither been obeyed nor sent on the current stream.
    pub(crate) debts: BTreeMap<MachineId, BTreeSet<ServerId>>,
    pub(crate) shelf: Shelf,
    /// Servers that run what the operator has replaced, and those that are being restarted for it.
    pub(crate) outdated: BTreeSet<(Outdated, ServerId)>,
    pub(crate) rolling: BTreeSet<ServerId>,
    /// Allocated servers on which nobody is known to play, and since when. Soft.
    pub(crate) empty_since: BTreeMap<ServerId, Timestamp>,
    pub(crate) empty: BTreeSet<(Timestamp, ServerId)>,
    /// What each region has.
    pub(crate) pools: BTreeMap<RegionId, Pool>,
    /// When machines that are requested, emptied or lost are given up, and those that an operator withdrew are emptied.
    pub(crate) moments: BTreeSet<(Timestamp, MachineId)>,
    /// Whether this leader listens yet. Soft, as is everything below.
    pub(crate) listening: bool,
    /// Since when silent machines have been silent, by machine and by time.
    pub(crate) silent_since: BTreeMap<MachineId, Timestamp>,
    pub(crate) silent: BTreeSet<(Timestamp, MachineId)>,
    /// How far errands to providers are, and when those that failed are run again.
    pub(crate) errands: BTreeMap<MachineId, Progress>,
    pub(crate) resting: BTreeSet<(Timestamp, MachineId)>,
    /// Providers that failed.
    pub(crate) setbacks: BTreeMap<RegionId, Setback>,
    /// Until when a join token is open for a region: a machine may join it that nobody knows yet.
    pub(crate) invited: BTreeMap<RegionId, Timestamp>,
    /// Machines on their way to join: where to, and until when they are waited for.
    pub(crate) arriving: BTreeMap<MachineKey, (RegionId, Timestamp)>,
    /// What providers last said of lost machines.
    pub(crate) fates: BTreeMap<MachineId, Fate>,
    pub(crate) touched: BTreeSet<MachineId>,
    /// How servers came to stand as they do.
    pub(crate) tally: Tally,
    /// Whose tenures may have ended.
    pub(crate) moves: Moves,
}

impl Fleet {
    /// A fleet nobody has configured. The seed keeps callers, who choose allocation ids, from choosing collisions.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            spec: None,
            specs: BTreeMap::new(),
            machines: BTreeMap::new(),
            servers: BTreeMap::new(),
            allocations: Table::seeded(seed),
            assigned: BTreeMap::new(),
            server_counter: 0,
            machine_counter: 0,
            machines_by_key: BTreeMap::new(),
            by_request: BTreeSet::new(),
            waiting: BTreeSet::new(),
            waiting_until: BTreeSet::new(),
            ended: BTreeSet::new(),
            live: BTreeSet::new(),
            tests: BTreeSet::new(),
            holds: BTreeSet::new(),
            counts: BTreeMap::new(),
            debts: BTreeMap::new(),
            shelf: Shelf::new(),
            outdated: BTreeSet::new(),
            rolling: BTreeSet::new(),
            empty_since: BTreeMap::new(),
            empty: BTreeSet::new(),
            pools: BTreeMap::new(),
            moments: BTreeSet::new(),
            listening: false,
            silent_since: BTreeMap::new(),
            silent: BTreeSet::new(),
            errands: BTreeMap::new(),
            resting: BTreeSet::new(),
            setbacks: BTreeMap::new(),
            invited: BTreeMap::new(),
            arriving: BTreeMap::new(),
            fates: BTreeMap::new(),
            touched: BTreeSet::new(),
            tally: Tally::NONE,
            moves: Moves::new(),
        }
    }

    /// What the operator said it is.
    #[must_use]
    pub const fn spec(&self) -> Option<&Arc<FleetSpec>> {
        self.spec.as_ref()
    }

    /// A machine.
    #[must_use]
    pub fn machine(&self, id: MachineId) -> Option<&Machine> {
        self.machines.get(&id)
    }

    /// Whether a machine's id was ever given out.
    #[must_use]
    pub fn machine_was(&self, id: MachineId) -> bool {
        let here = self.spec.as_ref().is_some_and(|spec| spec.number == id.fleet());
        here && (1..=self.machine_counter).contains(&id.counter())
    }

    /// Every machine, by id.
    pub fn machines(&self) -> impl Iterator<Item = (MachineId, &Machine)> {
        self.machines.iter().map(|(id, machine)| (*id, machine))
    }

    /// A server.
    #[must_use]
    pub fn server(&self, id: ServerId) -> Option<&Server> {
        self.servers.get(&id)
    }

    /// Servers by id, from the first after `after`.
    pub fn servers(&self, after: Option<ServerId>) -> impl Iterator<Item = (ServerId, &Server)> {
        use core::ops::Bound::{Excluded, Unbounded};
        let from = after.map_or(Unbounded, Excluded);
        self.servers.range((from, Unbounded)).map(|(id, server)| (*id, server))
    }

    /// An allocation, while it lasts and for the retention time after.
    #[must_use]
    pub fn allocation(&self, id: AllocationId, now: Timestamp) -> Option<&Allocation> {
        let allocation = self.allocations.get(&id)?;
        match (allocation.end(), &self.spec) {
            (Some((ended, _)), Some(spec)) if now.since(ended) >= spec.retention => None,
            (Some(_) | None, _) => Some(allocation),
        }
    }

    /// Allocations, the newest request first.
    pub fn allocations(&self, now: Timestamp) -> impl Iterator<Item = (AllocationId, &Allocation)> {
        self.by_request.iter().rev().filter_map(move |(_, id)| Some((*id, self.allocation(*id, now)?)))
    }

    /// Allocations older than one, the newest request first: the next page of [`Fleet::allocations`].
    pub fn allocations_before(
        &self,
        requested: Timestamp,
        id: AllocationId,
        now: Timestamp,
    ) -> impl Iterator<Item = (AllocationId, &Allocation)> {
        let older = self.by_request.range(..(requested, id)).rev();
        older.filter_map(move |(_, id)| Some((*id, self.allocation(*id, now)?)))
    }

    /// The revision of a build configuration that a server runs or ran, while anything names it.
    #[must_use]
    pub fn configuration(&self, reference: ConfigurationRef) -> Option<&Spec> {
        self.specs.get(&reference)
    }

    /// Every revision of a build configuration that anything names.
    pub fn kept_specs(&self) -> impl Iterator<Item = &Spec> {
        self.specs.values()
    }

    /// Whether an allocation's players wait for its game's ready call: as the revision says that its server was ordered to run,
    /// while it has that server; before and after, as the newest says.
    #[must_use]
    pub fn ready_signal(&self, allocation: &Allocation) -> ReadySignal {
        let going_on = allocation.placed().filter(|_| allocation.end().is_none());
        let ordered = going_on
            .and_then(|placed| self.server(placed.server))
            .map(|server| server.configuration)
            .filter(|ordered| ordered.id == allocation.request.configuration)
            .and_then(|ordered| self.configuration(ordered));
        let newest = || self.spec.as_ref()?.configuration(allocation.request.configuration);
        ordered.or_else(newest).map(|spec| spec.ready_signal).unwrap_or_default()
    }

    /// How many allocations go on.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// Allocations of a purpose that go on, the newest request first. Costs nothing for those that ended.
    pub fn live_allocations(&self, purpose: Purpose) -> impl Iterator<Item = (AllocationId, &Allocation)> {
        let live = match purpose {
            Purpose::Session => &self.live,
            Purpose::Test => &self.tests,
        };
        let known = live.iter().rev().filter_map(|(_, id)| Some((*id, self.allocations.get(id)?)));
        known.filter(move |(_, allocation)| allocation.request.purpose == purpose)
    }

    /// How many servers of a region are allocated.
    #[must_use]
    pub fn allocated_in(&self, region: RegionId) -> u32 {
        self.counts_in(region).of(ServerStatus::Allocated)
    }

    /// How a region's servers stand.
    #[must_use]
    pub fn counts_in(&self, region: RegionId) -> Counts {
        self.counts.get(&region).copied().unwrap_or_default()
    }

    /// How the fleet's servers stand.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut all = Counts::default();
        self.counts.values().for_each(|counts| all += *counts);
        all
    }

    /// What its servers have gone through since this leader began to listen.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(crate) const fn telling(&self) -> Telling {
        if self.listening { Telling::Happens } else { Telling::Told }
    }

    /// How it treats its machines.
    #[must_use]
    pub fn machine_policy(&self) -> MachinePolicy {
        self.spec.as_ref().map(|spec| spec.hosting.machines).unwrap_or_default()
    }

    /// What is known of a lost machine.
    #[must_use]
    pub fn fate(&self, machine: MachineId) -> Fate {
        self.fates.get(&machine).copied().unwrap_or(Fate::Unknown)
    }

    /// How many allocations wait for a server.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

impl Fleet {
    /// The next deadline of each kind that machines have.
    fn machine_deadlines(&self) -> impl Iterator<Item = (Timestamp, Why)> + '_ {
        let lost = self.next_lost().map(|(due, id)| (due, Why::Silence(id)));
        let given_up = self.moments.first().map(|&(due, id)| (due, Why::MachineGivenUp(id)));
        let retry = self.resting.first().map(|&(due, id)| (due, Why::ProviderRetry(id)));
        let regions = self.spec.iter().flat_map(|spec| &spec.regions);
        let grows = regions.filter_map(|region| Some((self.next_growth(region)?, Why::Growth(region.id))));
        let idle = self
            .pools
            .keys()
            .filter_map(|region| self.next_idle(*region).map(|(due, id)| (due, Why::MachineIdle(id))));
        lost.into_iter().chain(given_up).chain(retry).chain(grows).chain(idle)
    }
}

impl StateMachine for Fleet {
    type Command = Command;
    type Event = Event;
    type Answer = Answer;
    type Rejection = Rejection;
    type Observation = Observation;
    type Target = MachineId;
    type Effects = Owed;
    type Why = Why;

    fn decide(turn: &mut Turn<'_, Self>, command: &Command) -> Result<Answer, Rejection> {
        decide::decide(turn, command)
    }

    fn apply(&mut self, at: Timestamp, event: &Event) {
        self.apply_event(at, event);
    }

    fn observe(&mut self, now: Timestamp, observation: Observation) {
        self.observe_soft(now, observation);
    }

    fn owed(&self, machine: &MachineId) -> Owed {
        self.owed_to(*machine)
    }

    fn take_touched(&mut self) -> Vec<MachineId> {
        core::mem::take(&mut self.touched).into_iter().collect()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Why)> {
        let placement = self.waiting_until.first().map(|&(until, id)| (until, Why::PlacementTimeout(id)));
        let hold = self.holds.first().map(|&(until, id)| (until, Why::HoldTimeout(id)));
        let ttl = self.next_expiry().map(|(due, id, _)| (due, Why::AllocationTtl(id)));
        let rollout = self.next_outdated().map(|id| (Timestamp::EPOCH, Why::Rollout(id)));
        let sessions = placement.into_iter().chain(hold).chain(ttl).chain(rollout);
        sessions.chain(self.machine_deadlines()).min_by_key(|(due, _)| *due)
    }

    fn story(&self) -> impl Iterator<Item = (Timestamp, Event)> {
        self.whole_story().into_iter()
    }
}
