//! The rules of one very large fleet under load while its machines fail: 100,000 servers on 5,000 simulated machines,
//! allocations at a steady rate, agents that obey after a while, and machines that fall silent and come back rebooted.
//!
//! The rules alone, as the control plane calls them: no journal, no network. Time is simulated and jumps.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use mainstay_core::slot::{ConfigurationRef, Intent, Order, Phase, Status, Stopped};
use mainstay_core::{
    AllocationId, Generation, MachineId, Outcome, RegionId, ServerId, StateMachine as _, Timestamp, Turn,
};
use mainstay_fleet::{Command, Fleet, Observation, Purpose, Renewal, Request, StreamId};

use crate::memory::{self, resident_kib};
use crate::report::histogram;
use crate::{Failure, option};

/// Servers on each machine.
const PER_MACHINE: u64 = 20;
/// How long an agent takes to obey an order and say so: a warm game's time, and a slow network's.
const OBEYS_AFTER: Duration = Duration::from_millis(20);
/// How long a session lasts: with 1,000 a second, half of the servers are allocated.
const SESSION: Duration = Duration::from_secs(50);
/// How long a machine that failed takes to come back, rebooted: long enough to count as lost.
const AWAY: Duration = Duration::from_secs(150);
/// Failing machines in a thousand each minute.
const FAIL_PER_MILLE: u64 = 10;

/// What happens next in the world, after the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    /// An agent has obeyed an order.
    Obeyed(ServerId),
    /// A session is over.
    Over(AllocationId),
    /// A machine comes back.
    Back(MachineId),
}

/// The world outside the rules.
struct World {
    fleet: Fleet,
    now: Timestamp,
    /// What is to come, by its time.
    agenda: BTreeSet<(Timestamp, Next)>,
    /// What each agent has obeyed, or will have.
    told: BTreeMap<ServerId, Order>,
    /// The stream of each machine that is heard.
    heard: BTreeMap<MachineId, StreamId>,
    streams: u64,
    /// How long decisions took, in nanoseconds, by kind.
    took: BTreeMap<&'static str, Histogram<u64>>,
    events: u64,
    refused: u64,
    random: u64,
    /// What every server runs.
    configuration: ConfigurationRef,
}

/// Measures.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let machines = option(arguments, "--machines")?.unwrap_or(5_000);
    let minutes = option(arguments, "--minutes")?.unwrap_or(5);
    let rate = option(arguments, "--rate")?.unwrap_or(1_000);
    let before = resident_kib()?;
    let fleet = memory::build(machines * PER_MACHINE)?;
    let idle = resident_kib()? - before;
    let mut world = World::new(fleet, memory::reference()?);

    let began = Instant::now();
    let every = Duration::from_nanos(1_000_000_000 / rate);
    let ends = memory::START + Duration::from_secs(60 * minutes);
    let fails_every = Duration::from_millis(60_000_000 / (machines * FAIL_PER_MILLE).max(1));
    let (mut allocations, mut next_allocation) = (0_u64, memory::START);
    let mut elapsed = Duration::ZERO;
    let mut next_failure = memory::START + fails_every;
    while next_allocation < ends {
        while next_failure <= next_allocation {
            world.live_until(next_failure)?;
            world.fail();
            next_failure = next_failure + fails_every;
        }
        world.live_until(next_allocation)?;
        world.allocate(allocations);
        allocations += 1;
        elapsed += every;
        next_allocation = memory::START + elapsed;
    }
    let took = began.elapsed();

    say!(
        "{machines} machines, {} servers, {rate} allocations a second, {} % of machines fail each minute, {minutes} \
         simulated minutes:",
        machines * PER_MACHINE,
        FAIL_PER_MILLE / 10
    );
    let seconds = took.as_secs_f64();
    say!(
        "  {} events in {seconds:.1} s of one core: {:.0} a second; {allocations} allocations, {} refused",
        world.events,
        per(world.events, seconds),
        world.refused
    );
    for (what, took) in &world.took {
        say!(
            "  {what:<12} {:>9} decisions   p50 {:>6.1} us   p99 {:>6.1} us   p99.9 {:>7.1} us   max {:>8.1} us",
            took.len(),
            micros(took.value_at_quantile(0.5)),
            micros(took.value_at_quantile(0.99)),
            micros(took.value_at_quantile(0.999)),
            micros(took.max())
        );
    }
    say!("  memory: {} MiB idle, {} MiB at the end", idle >> 10, (resident_kib()? - before) >> 10);
    Ok(())
}

impl World {
    fn new(fleet: Fleet, configuration: ConfigurationRef) -> Self {
        let heard: BTreeMap<MachineId, StreamId> =
            fleet.machines().map(|(id, _)| (id, StreamId(id.number()))).collect();
        let streams = heard.values().map(|stream| stream.0).max().unwrap_or_default();
        Self {
            fleet,
            now: memory::START,
            agenda: BTreeSet::new(),
            told: BTreeMap::new(),
            heard,
            streams,
            took: BTreeMap::new(),
            events: 0,
            refused: 0,
            random: 1,
            configuration,
        }
    }

    /// Lets everything happen that is due by then.
    fn live_until(&mut self, until: Timestamp) -> Result<(), Failure> {
        loop {
            let deadline = self.fleet.next_deadline().map(|(at, _)| at);
            let planned = self.agenda.first().map(|(at, _)| *at);
            let Some(next) = [deadline, planned].into_iter().flatten().min().filter(|at| *at <= until) else {
                break;
            };
            self.now = self.now.max(next);
            if deadline.is_some_and(|at| at <= self.now) {
                self.decide("deadline", &Command::Due);
            } else if let Some((_, next)) = self.agenda.pop_first() {
                self.happen(next)?;
            }
        }
        self.now = self.now.max(until);
        Ok(())
    }

    fn happen(&mut self, next: Next) -> Result<(), Failure> {
        match next {
            Next::Over(id) => self.decide("deallocate", &Command::Deallocate { id }),
            Next::Back(machine) => self.come_back(machine),
            Next::Obeyed(server) => {
                let machine = self.fleet.server(server).ok_or("an order for no server")?.machine;
                let Some(&stream) = self.heard.get(&machine) else { return Ok(()) };
                let Some(order) = self.told.get(&server) else { return Ok(()) };
                let statuses = vec![status(order)];
                self.decide("report", &Command::Report { machine, stream, statuses });
            }
        }
        Ok(())
    }

    fn allocate(&mut self, number: u64) {
        let id = AllocationId(memory::uuid(number));
        let request = Request {
            configuration: self.configuration.id,
            region: RegionId(memory::uuid(0)),
            payload: None,
            renewal: Renewal::Keep,
            purpose: Purpose::Session,
        };
        self.agenda.insert((self.now + SESSION, Next::Over(id)));
        self.decide("allocate", &Command::Allocate { id, request });
    }

    /// A machine falls silent; which one is chance, but the same each time.
    fn fail(&mut self) {
        // An odd multiplier modulo 2^64 (Knuth's MMIX): as good as any for picking machines.
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let Some(at) =
            usize::try_from(self.random >> 33).ok().and_then(|random| random.checked_rem(self.heard.len()))
        else {
            return;
        };
        let Some((&machine, &stream)) = self.heard.iter().nth(at) else { return };
        self.heard.remove(&machine);
        self.fleet.observe(self.now, Observation::Disconnected { machine, stream });
        self.agenda.insert((self.now + AWAY, Next::Back(machine)));
    }

    /// It comes back rebooted: its agent knows what it had obeyed, and every process is lost.
    fn come_back(&mut self, machine: MachineId) {
        self.streams += 1;
        let stream = StreamId(self.streams);
        let servers = self.fleet.machine(machine).map(|machine| machine.servers.clone()).unwrap_or_default();
        let statuses = servers
            .into_iter()
            .map(|server| {
                let told = self.told.get(&server);
                Status {
                    server,
                    generation: told.map_or(Generation::from_number(1), |order| order.generation),
                    configuration: Some(self.configuration),
                    run: 0,
                    phase: Phase::Lost,
                }
            })
            .collect();
        self.heard.insert(machine, stream);
        self.decide("come back", &Command::Connect { machine, stream, statuses });
    }

    /// A decision, its time, and what it owes put on the agents' streams.
    fn decide(&mut self, what: &'static str, command: &Command) {
        let began = Instant::now();
        let Outcome { answer, events } = Turn::run(self.now, &mut self.fleet, command);
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let histogram =
            self.took.entry(what).or_insert_with(|| histogram().expect("bounds that are constant"));
        histogram.saturating_record(took.max(1));
        self.events += u64::try_from(events.len()).unwrap_or(u64::MAX);
        self.refused += u64::from(answer.is_err());
        for machine in self.fleet.take_touched() {
            self.send(machine);
        }
    }

    fn send(&mut self, machine: MachineId) {
        let Some(&stream) = self.heard.get(&machine) else { return };
        let owed = self.fleet.owed(&machine);
        if owed.is_empty() {
            return;
        }
        let sent = owed.orders.iter().map(|order| (order.server, order.generation)).collect();
        let specs = owed.specs.map(|(revision, _)| revision);
        self.fleet.observe(self.now, Observation::Sent { machine, stream, specs, orders: sent });
        for order in owed.orders {
            self.agenda.insert((self.now + OBEYS_AFTER, Next::Obeyed(order.server)));
            self.told.insert(order.server, order);
        }
    }
}

/// How an obedient agent says that it has obeyed.
fn status(order: &Order) -> Status {
    let phase = match order.intent {
        Intent::Stop => Phase::Stopped(Stopped::Ordered),
        Intent::Run | Intent::Renew | Intent::Leave => Phase::Online { pid: 1000 },
    };
    Status {
        server: order.server,
        generation: order.generation,
        configuration: Some(order.configuration),
        run: 0,
        phase,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a benchmark are far below 2^52")]
fn per(count: u64, of: f64) -> f64 {
    count as f64 / of
}

fn micros(nanoseconds: u64) -> f64 {
    per(nanoseconds, 1000.0)
}
