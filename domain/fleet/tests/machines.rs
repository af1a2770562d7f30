//! Machines: growth through a provider, draining, and loss, a test a sentence of issue 3 point 4 and of architecture.md
//! section 3.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{EUROPE, MINUTE, World, allocation, fleet_spec, ranked};
use mainstay_core::density::{Bound, Host, MachineSize};
use mainstay_core::slot::{Intent, Phase, Stopped};
use mainstay_core::{BootId, FleetId, MachineId, MachineKey, StateMachine as _};
use mainstay_fleet::{
    Absence, Answer, Cause, ClaimedBy, Command, End, Fate, Fleet, FleetSpec, Growth, Hardware, IdleServers,
    Life, MachinePolicy, MachineStatus, MachineTtl, Observation, OnLoss, Outcome, Parting, Provided,
    Rejection, ServerStatus, Stage, UsageSetting, Verb,
};

const TTL: MachineTtl =
    MachineTtl::Idle { shutdown: Duration::from_secs(600), delete: Duration::from_secs(900) };

fn provided() -> FleetSpec {
    let growth = Growth::Provided(Provided {
        slots: 4,
        machines_max: 10,
        create_timeout: 10 * MINUTE,
        retry: Duration::from_secs(1),
    });
    let mut spec = fleet_spec(IdleServers::StartOnAllocation, growth);
    spec.hosting.machines = MachinePolicy { ttl: TTL, ..MachinePolicy::default() };
    spec.placement_timeout = 20 * MINUTE;
    spec
}

fn with_min(min_available: u32, max_servers: u32) -> World {
    let mut spec = provided();
    spec.regions[0].min_available = min_available;
    spec.regions[0].max_servers = max_servers;
    let mut world = World::new(spec);
    world.pass(Duration::ZERO);
    world
}

fn joined(ttl: MachineTtl) -> World {
    let mut spec = fleet_spec(IdleServers::StartOnProvision, Growth::MachinesMayJoin);
    spec.hosting.machines = MachinePolicy { ttl, ..MachinePolicy::default() };
    World::new(spec)
}

fn requested(world: &World) -> Vec<MachineId> {
    let is = |life: Life| matches!(life, Life::Requested { .. });
    world.fleet.machines().filter(|(_, machine)| is(machine.life)).map(|(id, _)| id).collect()
}

/// Its status, as Multiplay's clients see it; nothing of one that is gone.
fn status(world: &World, machine: MachineId) -> &'static str {
    world.fleet.machine(machine).map_or("", |known| known.status().word())
}

fn boot(n: u128) -> Option<BootId> {
    Some(BootId(uuid::Uuid::from_u128(n)))
}

/// "Fleet regions with minimum available": growth in whole machines until the minimum is there or comes; `minAvailableServers`
/// of Multiplay, in `multiples of the density`.
#[test]
fn a_region_grows_to_its_minimum_in_whole_machines() {
    let mut world = with_min(5, 100);
    let machines = requested(&world);
    assert_eq!(machines.len(), 2, "4 are too few, 8 are enough");
    assert_eq!(world.fleet.pool(EUROPE).unwrap().coming, 8);
    for (machine, verb) in world.errands() {
        assert!(matches!(verb, Verb::Create { slots: 4, .. }), "{machine} {verb:?}");
        world.outcome(machine, verb, Outcome::Done);
    }
    assert_eq!(world.errands(), vec![], "what a provider has done is not asked again");
    for machine in machines {
        world.come(machine, 4);
        assert_eq!(world.life(machine), Some(Life::Serving));
    }
    world.pass(MINUTE);
    assert_eq!(world.fleet.pool(EUROPE).unwrap().available, 8);
    assert_eq!(world.fleet.machines().count(), 2);
}

/// "and maximum servers": `maxServers` bounds growth; the last machine may exceed it, to be whole.
#[test]
fn a_region_never_grows_past_its_maximum() {
    let world = with_min(50, 10);
    assert_eq!(requested(&world).len(), 3, "12 servers: 8 are below the maximum, 12 are not");
}

#[test]
fn a_provider_has_no_more_machines_than_it_may() {
    let world = with_min(90, 100);
    assert_eq!(requested(&world).len(), 10);
}

#[test]
fn an_allocation_that_waits_brings_a_machine_and_is_placed_on_it() {
    let mut world = with_min(0, 100);
    assert!(matches!(world.allocate(1, ranked()), Ok(Answer::Waiting { .. })));
    world.pass(Duration::ZERO);
    let machines = requested(&world);
    assert_eq!(machines.len(), 1);
    world.come(machines[0], 4);
    let placed = world.fleet.allocation(allocation(1), world.now).unwrap().placed();
    assert_eq!(world.fleet.server(placed.unwrap().server).unwrap().machine, machines[0]);
}

/// "Note that holding a server does not negatively influence the number of available servers - the server hold only
/// influences deprovisioning, not provisioning of new machines" (seed 003).
#[test]
fn a_hold_brings_no_machine() {
    let mut world = with_min(4, 100);
    let machine = requested(&world)[0];
    let agent = world.come(machine, 4);
    for slot in &agent.slots {
        world.hold(slot.server, MINUTE).unwrap();
    }
    world.pass(Duration::ZERO);
    assert_eq!(requested(&world), vec![]);
    assert_eq!(world.fleet.pool(EUROPE).unwrap().available, 4);
}

/// architecture.md section 3: "the machine's id is durable before the call, `create(id)` is idempotent by it".
#[test]
fn a_restart_asks_the_provider_again_for_the_same_machine() {
    let mut world = with_min(1, 100);
    let first = world.errands();
    let replayed = world.replayed();
    assert_eq!(replayed.owed(&first[0].0).errand.map(|errand| (errand.machine, errand.verb)), Some(first[0]));
    world.fleet.observe(world.now, Observation::Forgotten);
    assert_eq!(world.errands(), first);
}

#[test]
fn a_provider_that_fails_is_asked_again_each_time_later_and_then_given_up() {
    let mut world = with_min(1, 100);
    let mut tries = 0;
    let (machine, began) = (requested(&world)[0], world.now);
    while matches!(world.life(machine), Some(Life::Requested { .. })) {
        let errands = world.errands();
        if let Some((_, verb)) = errands.iter().find(|(of, _)| *of == machine) {
            tries += 1;
            world.outcome(machine, *verb, Outcome::Failed);
        }
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(tries, Provided::CREATE_TRIES_MAX);
    // 1 + 2 + 4 + … + 64 s of pauses.
    assert!(world.now.since(began) >= Duration::from_secs(127), "{:?}", world.now.since(began));
    assert!(matches!(world.life(machine), Some(Life::Removing { why: Parting::NeverCame, .. })));
    let errands = world.errands();
    assert!(errands.contains(&(machine, Verb::Delete)), "it may have been made after all: {errands:?}");
    world.outcome(machine, Verb::Delete, Outcome::Done);
    assert_eq!(world.life(machine), None);
}

/// Shows `machine statuses`. "creation timeout, then abandoned and owed a delete", and the next request waits a while.
#[test]
fn a_machine_that_never_comes_is_given_back_and_another_is_asked_for_later() {
    let mut world = with_min(1, 100);
    let machine = requested(&world)[0];
    for (machine, verb) in world.errands() {
        world.outcome(machine, verb, Outcome::Done);
    }
    world.pass(10 * MINUTE);
    assert!(matches!(world.life(machine), Some(Life::Removing { why: Parting::NeverCame, .. })));
    assert_eq!(status(&world, machine), "CANCELLATION_REQUESTED");
    assert_eq!(requested(&world), vec![], "its provider is left alone for a moment");
    world.pass(Duration::from_secs(1));
    let next = requested(&world);
    assert_eq!(next.len(), 1);
    assert_ne!(next[0], machine);
}

#[test]
fn the_id_of_a_machine_that_is_gone_is_never_given_again() {
    let mut world = with_min(1, 100);
    let machine = requested(&world)[0];
    let agent = world.come(machine, 4);
    world.pass(10 * MINUTE);
    // It is needed for the minimum, so an edit lets it go.
    let mut spec = provided();
    spec.revision = 2;
    world.must(&Command::Configure(Arc::new(spec)));
    world.pass(10 * MINUTE);
    world.obey(&agent);
    world.pass(10 * MINUTE);
    assert!(world.errands().contains(&(machine, Verb::Delete)));
    world.outcome(machine, Verb::Delete, Outcome::Done);
    assert_eq!(world.fleet.machines().count(), 0);
    assert_eq!(world.fleet.servers(None).count(), 0);
    // Nor by a plane that only has the snapshot.
    let mut retold = Fleet::new(3);
    for (at, event) in world.fleet.snapshot() {
        mainstay_core::StateMachine::apply(&mut retold, at, &event);
    }
    world.fleet = retold;
    world.allocate(1, ranked()).unwrap();
    world.pass(Duration::ZERO);
    assert_ne!(requested(&world), vec![machine]);
    let key = MachineKey::made(FleetId::LOWEST, machine);
    let back = world.run(&World::joining(key, 4, None));
    assert_eq!(back, Err(Rejection::MachineGone(machine)), "what was deleted does not join");
}

/// architecture.md section 3: "`list` finds orphans".
#[test]
fn what_a_provider_has_and_nobody_knows_is_an_orphan() {
    let mut world = with_min(1, 100);
    let machine = requested(&world)[0];
    let stranger = MachineId::of(machine.fleet(), 77);
    let machines = vec![machine, stranger];
    let listing = Command::TakeListing { region: EUROPE, asked: world.now, machines };
    assert_eq!(world.must(&listing), Answer::Orphans(vec![stranger]));
}

/// Shows `machine statuses`: five words in the order of a machine's life; the sixth, CANCELLATION_REQUESTED, is that of one
/// that never comes. "Machines idle beyond their TTLs drain, stop and are deleted"; "Stop machine: Game Server Hosting stops the machine when all
/// the game servers on the machine have been idle for longer than the time to live" (seed 002).
#[test]
fn an_idle_machine_drains_stops_and_is_deleted() {
    let mut world = with_min(0, 100);
    world.allocate(1, ranked()).unwrap();
    world.pass(Duration::ZERO);
    let machine = requested(&world)[0];
    assert_eq!(status(&world, machine), "PROVISIONING");
    let agent = world.come(machine, 4);
    let server = world.fleet.allocation(allocation(1), world.now).unwrap().placed().unwrap().server;
    assert_eq!(status(&world, machine), "ONLINE");
    world.pass(60 * MINUTE);
    assert_eq!(world.life(machine), Some(Life::Serving), "somebody plays");
    world.must(&Command::Deallocate { id: allocation(1) });
    world.obey(&agent);
    world.pass(10 * MINUTE - Duration::from_secs(1));
    assert_eq!(world.life(machine), Some(Life::Serving));
    world.pass(Duration::from_secs(1));
    assert!(matches!(world.life(machine), Some(Life::Draining { .. })));
    assert_eq!(status(&world, machine), "SHUTTING_DOWN");
    let ordered = world.fleet.server(server).unwrap();
    assert_eq!((ordered.intent, ordered.cause), (Intent::Stop, Cause::Drained));
    world.obey(&agent);
    assert!(matches!(world.life(machine), Some(Life::Emptied { .. })));
    assert_eq!(status(&world, machine), "SHUTDOWN");
    world.pass(5 * MINUTE);
    assert!(matches!(world.life(machine), Some(Life::Removing { why: Parting::Idle, .. })));
    assert_eq!(status(&world, machine), "DELETING");
    for (machine, verb) in world.errands() {
        assert_eq!(verb, Verb::Delete);
        world.outcome(machine, verb, Outcome::Failed);
    }
    assert!(world.life(machine).is_some(), "owed until the provider says it is done");
    world.pass(Duration::from_secs(1));
    assert_eq!(world.errands(), vec![(machine, Verb::Delete)]);
    world.outcome(machine, Verb::Delete, Outcome::Done);
    assert_eq!(world.life(machine), None);
}

/// "(`local` and `static` machines are emptied, never deleted)".
#[test]
fn a_machine_that_joined_by_itself_is_emptied_and_stays() {
    let mut world = joined(TTL);
    let agent = world.machine(1, 3);
    world.pass(10 * MINUTE);
    assert!(world.obey(&agent).iter().all(|order| order.intent == Intent::Stop));
    assert!(matches!(world.life(agent.machine), Some(Life::Emptied { .. })));
    world.pass(100 * 60 * MINUTE);
    assert!(matches!(world.life(agent.machine), Some(Life::Emptied { .. })));
    assert_eq!(world.errands(), vec![]);
}

/// "if the minimum available still holds without them".
#[test]
fn the_minimum_keeps_idle_machines() {
    let mut world = with_min(5, 100);
    let agents: Vec<_> = requested(&world).into_iter().map(|machine| world.come(machine, 4)).collect();
    world.pass(60 * MINUTE);
    assert!(
        agents.iter().all(|agent| world.life(agent.machine) == Some(Life::Serving)),
        "4 would be too few"
    );
    let mut spec = provided();
    spec.regions[0].min_available = 4;
    spec.revision = 2;
    world.must(&Command::Configure(Arc::new(spec)));
    world.pass(Duration::ZERO);
    let serving = agents.iter().filter(|agent| world.life(agent.machine) == Some(Life::Serving)).count();
    assert_eq!(serving, 1);
}

/// However many machines are too large to be spared, the small one among them is found; the longest idle goes first.
#[test]
fn among_a_hundred_machines_the_one_that_can_be_spared_is_emptied() {
    let mut spec = fleet_spec(IdleServers::StartOnAllocation, Growth::MachinesMayJoin);
    spec.hosting.machines = MachinePolicy { ttl: TTL, ..MachinePolicy::default() };
    (spec.regions[0].min_available, spec.regions[0].max_servers) = (400, 1_000);
    let mut world = World::new(spec);
    let large: Vec<_> = (1..=100).map(|key| world.machine(key, 4)).collect();
    let small = world.machine(101, 1);
    world.pass(60 * MINUTE);
    assert!(matches!(world.life(small.machine), Some(Life::Emptied { .. })), "400 are left without it");
    let serves = |agent: &common::Agent| world.life(agent.machine) == Some(Life::Serving);
    assert!(large.iter().all(serves), "without any of these 397 would be");
}

/// A server whose machine is not heard, before it counts as lost, is no member of the pool, and nothing is placed on it.
#[test]
fn idle_servers_of_a_silent_machine_are_unreachable_and_take_nobody() {
    let mut world = joined(MachineTtl::Off);
    let (silent, heard) = (world.machine(1, 2), world.machine(2, 1));
    let counted = |world: &World| {
        let counts = world.fleet.counts_in(EUROPE);
        let of = |status| counts.of(status);
        (of(ServerStatus::Online), of(ServerStatus::Available), of(ServerStatus::Unreachable))
    };
    world.must(&Command::StopServer(silent.slots[1].server));
    world.obey(&silent);
    assert_eq!(counted(&world), (2, 1, 0));
    world.lose(&silent);
    assert_eq!(counted(&world), (1, 0, 2));
    assert_eq!(world.status(silent.slots[0].server), "UNREACHABLE");
    let machine = world.fleet.machine(silent.machine).unwrap();
    assert_eq!((machine.status(), machine.life), (MachineStatus::Online, Life::Serving), "it may be slow");
    assert_eq!(world.place(1, ranked()), heard.slots[0].server, "the emptier machine, which is heard");
    assert!(matches!(world.allocate(2, ranked()), Ok(Answer::Waiting { .. })));
    // Multiplay's clients know six words, and AVAILABLE is not the one.
    assert_eq!(ServerStatus::Unreachable.multiplay().word(), "ONLINE");
    world.pass(world.fleet.machine_policy().lost_after);
    let machine = world.fleet.machine(silent.machine).unwrap();
    assert_eq!(machine.status(), MachineStatus::Shutdown, "it is lost now: {:?}", machine.life);
}

/// Reference 3.4: a fleet region has `deleteTTL` and `shutdownTTL` of its own, where it does not go by its fleet's.
#[test]
fn a_regions_own_ttls_are_obeyed_in_the_place_of_its_fleets() {
    let mut world = joined(TTL);
    let agent = world.machine(1, 1);
    let mut spec = FleetSpec::clone(world.fleet.spec().unwrap());
    let short = Duration::from_secs(60);
    spec.regions[0].ttl = Some(MachineTtl::Idle { shutdown: short, delete: short });
    spec.revision += 1;
    world.must(&Command::Configure(Arc::new(spec.clone())));
    world.pass(short);
    assert!(matches!(world.life(agent.machine), Some(Life::Draining { .. })));
    (spec.regions[0].ttl, spec.revision) = (Some(MachineTtl::Off), spec.revision + 1);
    world.must(&Command::Configure(Arc::new(spec)));
    world.obey(&agent);
    world.must(&Command::UndrainMachine(agent.machine));
    world.pass(100 * MINUTE);
    assert_eq!(world.life(agent.machine), Some(Life::Serving), "never, whatever the fleet says");
}

/// What a region has is counted as it changes: how many machines are how full, and what is out of reach.
#[test]
fn pools_count_how_full_machines_are_and_what_is_out_of_reach() {
    let mut world = joined(MachineTtl::Off);
    let agents = [world.machine(1, 2), world.machine(2, 3)];
    let counted = |world: &World| {
        let pool = world.fleet.pool(EUROPE).unwrap();
        (pool.busy.iter().map(|(busy, machines)| (*busy, *machines)).collect::<Vec<_>>(), pool.blocked)
    };
    assert_eq!(counted(&world), (vec![(0, 2)], 0));
    let taken = world.place(1, ranked());
    assert_eq!(counted(&world), (vec![(0, 1), (1, 1)], 0));
    let (on, other) = match agents[0].slots.iter().any(|slot| slot.server == taken) {
        true => (&agents[0], &agents[1]),
        false => (&agents[1], &agents[0]),
    };
    world.lose(on);
    assert_eq!(counted(&world), (vec![(0, 1), (1, 1)], u32::try_from(on.slots.len()).unwrap() - 1));
    world.lose(other);
    assert_eq!(counted(&world).1, 4);
}

/// Issue 3, point 3: "slots per machine from the machine's resources and the fleet's usage settings, by a written formula, with
/// the binding resource named"; an agent that said what its host has is told how many slots the fleet has room for there, with
/// every specification.
#[test]
fn a_machine_is_told_how_many_slots_its_fleet_has_room_for() {
    let mut world = joined(MachineTtl::Off);
    let size = MachineSize { cores: 4, speed_mhz: Some(3_000), memory_mib: 8_192 };
    let mut hello = World::joining(MachineKey(uuid::Uuid::from_u128(1)), 1, None);
    if let Command::Join { host, .. } = &mut hello {
        *host = Some(Host { size, processor: "p".into() });
    }
    let Answer::Joined { machine, slots } = world.must(&hello) else { panic!("it joins") };
    let agent = common::Agent { machine, stream: mainstay_fleet::StreamId(77), slots };
    world.connect(&agent);
    let told = |world: &World| world.fleet.owed(&machine).slots;
    let room = |world: &World| world.fleet.slots_on(world.fleet.machine(machine).unwrap()).unwrap();
    let mut spec = FleetSpec::clone(world.fleet.spec().unwrap());
    let mut use_of = |world: &mut World, usage: Vec<UsageSetting>| {
        (spec.hosting.usage, spec.revision) = (usage, spec.revision + 1);
        world.must(&Command::Configure(Arc::new(spec.clone())));
    };
    let metal = UsageSetting {
        hardware: Hardware::Metal,
        machine_type: None,
        per_machine: None,
        per_core: Some(3),
        speed_mhz: Some(1_000),
        memory_mib: Some(1_024),
    };
    let cloud = UsageSetting {
        hardware: Hardware::Cloud,
        machine_type: None,
        per_machine: Some(2),
        per_core: None,
        speed_mhz: None,
        memory_mib: None,
    };
    use_of(&mut world, vec![cloud.clone(), metal]);
    assert_eq!(
        (told(&world), room(&world).bound),
        (Some(8), Bound::Memory),
        "3 a core are 12, 12 GHz are 12, 8 GiB are 8"
    );
    use_of(&mut world, vec![cloud]);
    assert_eq!((told(&world), room(&world).bound), (Some(2), Bound::PerMachine));
    use_of(&mut world, vec![]);
    let limits = world.fleet.spec().unwrap().configurations[0].limits;
    assert_eq!(room(&world).count, (4_000 / limits.cpu_millis).min(8_192 / limits.memory_mib).min(100));
    assert_eq!(world.replayed().machine(machine).unwrap().host, world.fleet.machine(machine).unwrap().host);
    let other = world.machine(2, 1);
    assert_eq!(world.fleet.owed(&other.machine).slots, None, "nobody knows its host");
}

/// A claim or hold never starts on a draining machine.
#[test]
fn nothing_begins_on_a_draining_machine() {
    let mut world = joined(TTL);
    let agent = world.machine(1, 2);
    let other = world.machine(2, 2);
    world.place(1, ranked());
    let used = world
        .fleet
        .server(world.fleet.allocation(allocation(1), world.now).unwrap().placed().unwrap().server);
    let (busy, idle) = if used.unwrap().machine == agent.machine { (agent, other) } else { (other, agent) };
    world.pass(10 * MINUTE);
    let server = idle.slots[0].server;
    let process = world.process(server);
    let away = |answer: Result<Answer, Rejection>| matches!(answer, Err(Rejection::MachineAway { .. }));
    assert!(away(world.hold(server, MINUTE)));
    assert!(away(world.run(&Command::RestartServer(server))));
    assert!(matches!(world.run(&Command::ReleaseHold { server, process }), Ok(Answer::Done)));
    let placed = world.place(2, ranked());
    assert_eq!(world.fleet.server(placed).unwrap().machine, busy.machine, "capacity elsewhere comes first");
}

/// "Allocations arriving during drain may cancel it (undrain) where no other capacity exists".
#[test]
fn an_allocation_has_a_draining_machine_back_where_nothing_else_is_left() {
    let mut world = joined(TTL);
    let agent = world.machine(1, 2);
    world.pass(10 * MINUTE);
    assert!(matches!(world.life(agent.machine), Some(Life::Draining { .. })));
    let server = world.place(1, ranked());
    assert_eq!(world.life(agent.machine), Some(Life::Serving));
    let orders = world.obey(&agent);
    assert!(orders.iter().any(|order| order.server == server && order.allocation.is_some()));
}

/// Issue 3, point 3: "Every start cause", of them the manual one. In a fleet whose servers players choose nothing else wakes a
/// machine.
#[test]
fn an_operators_start_wakes_a_machine_that_idled_and_no_other() {
    let mut spec = fleet_spec(IdleServers::StartOnAllocation, Growth::MachinesMayJoin);
    spec.hosting.machines = MachinePolicy { ttl: TTL, ..MachinePolicy::default() };
    spec.hosting.claimed_by = ClaimedBy::Reservations;
    let mut world = World::new(spec);
    let agent = world.machine(1, 2);
    world.pass(10 * MINUTE);
    world.obey(&agent);
    assert!(matches!(world.life(agent.machine), Some(Life::Emptied { .. })));
    let server = agent.slots[0].server;
    assert!(matches!(world.run(&Command::RestartServer(server)), Err(Rejection::MachineAway { .. })));
    world.must(&Command::StartServer(server));
    assert_eq!(world.life(agent.machine), Some(Life::Serving));
    let orders = world.obey(&agent);
    assert!(orders.iter().any(|order| order.server == server && order.intent == Intent::Run));

    world.must(&Command::DrainMachine(agent.machine));
    world.obey(&agent);
    assert!(matches!(world.run(&Command::StartServer(server)), Err(Rejection::MachineAway { .. })));
}

/// An emptied machine is woken before a new one is made.
#[test]
fn an_emptied_machine_is_woken_before_another_is_made() {
    let mut world = with_min(0, 100);
    world.allocate(1, ranked()).unwrap();
    world.pass(Duration::ZERO);
    let machine = requested(&world)[0];
    let agent = world.come(machine, 4);
    world.must(&Command::Deallocate { id: allocation(1) });
    world.obey(&agent);
    world.pass(10 * MINUTE);
    world.obey(&agent);
    assert!(matches!(world.life(machine), Some(Life::Emptied { .. })));
    let placed = world.place(2, ranked());
    assert_eq!(world.fleet.server(placed).unwrap().machine, machine);
    world.pass(Duration::ZERO);
    assert_eq!(world.fleet.machines().count(), 1);
}

/// "a machine cut off from the network, and one that dies, are told apart from a slow one".
#[test]
fn a_slow_machine_is_never_lost() {
    let mut world = joined(MachineTtl::Off);
    let agent = world.machine(1, 2);
    world.place(1, ranked());
    world.lose(&agent);
    world.pass(MINUTE - Duration::from_secs(1));
    let agent = world.join(1, 2);
    world.connect(&agent);
    world.pass(60 * MINUTE);
    assert_eq!(world.life(agent.machine), Some(Life::Serving));
    assert_eq!(world.end(1), None);
}

/// "Silence counts from the moment this leader began to listen, never from a stored time" (architecture.md).
#[test]
fn a_new_leader_counts_silence_from_its_own_beginning() {
    let mut world = joined(MachineTtl::Off);
    let agent = world.machine(1, 2);
    world.fleet = world.replayed();
    world.now = world.now + 60 * MINUTE;
    let spec = world.fleet.spec().unwrap().clone();
    world.must(&Command::Configure(spec));
    world.pass(MINUTE - Duration::from_secs(1));
    assert_eq!(world.life(agent.machine), Some(Life::Serving));
    world.pass(Duration::from_secs(1));
    assert!(matches!(world.life(agent.machine), Some(Life::Lost { .. })));
}

/// "their allocations reported lost once and placed anew only when policy says so".
#[test]
fn a_lost_machines_allocations_fail_once() {
    let mut world = joined(MachineTtl::Off);
    let (agent, _other) = (world.machine(1, 2), world.machine(2, 2));
    let server = world.place(1, ranked());
    let lost = if world.fleet.server(server).unwrap().machine == agent.machine { agent } else { _other };
    world.lose(&lost);
    world.pass(MINUTE);
    assert_eq!(world.end(1), Some(End::MachineLost));
    assert!(world.end(1).unwrap().failed());
    let told = world.journal.iter().filter(|(_, event)| {
        matches!(event, mainstay_fleet::Event::AllocationEnded { end: End::MachineLost, .. })
    });
    assert_eq!(told.count(), 1);
    assert_eq!(world.fleet.pool(EUROPE).unwrap().available, 2, "a lost machine's servers are not there");
}

#[test]
fn a_lost_machines_allocations_are_placed_anew_where_policy_says_so() {
    let mut spec = fleet_spec(IdleServers::StartOnProvision, Growth::MachinesMayJoin);
    spec.hosting.machines.on_loss = OnLoss::PlaceAnew;
    let mut world = World::new(spec);
    let agents = [world.machine(1, 2), world.machine(2, 2)];
    let server = world.place(1, ranked());
    let (lost, other): (Vec<_>, Vec<_>) =
        agents.into_iter().partition(|agent| world.fleet.server(server).unwrap().machine == agent.machine);
    world.lose(&lost[0]);
    world.pass(MINUTE);
    let placed = world.fleet.allocation(allocation(1), world.now).unwrap().placed().unwrap();
    assert_eq!(world.fleet.server(placed.server).unwrap().machine, other[0].machine);
    world.obey(&other[0]);
    let stage = world.fleet.allocation(allocation(1), world.now).unwrap().stage.clone();
    assert!(matches!(stage, Stage::Fulfilled { .. }), "{stage:?}");
}

/// A machine may reboot before it counts as lost; then its agent says what went with it, and the same policy holds: here its
/// own server is the one that is free.
#[test]
fn a_session_that_a_reboot_took_is_placed_anew_where_policy_says_so() {
    for (on_loss, ended) in [(OnLoss::PlaceAnew, None), (OnLoss::Fail, Some(End::Lost))] {
        let mut spec = fleet_spec(IdleServers::StartOnAllocation, Growth::MachinesMayJoin);
        spec.hosting.machines.on_loss = on_loss;
        let mut world = World::new(spec);
        let agent = world.machine(1, 1);
        let server = world.place(1, ranked());
        world.obey(&agent);
        let before = world.process(server);
        world.says(&agent, server, Phase::Lost);
        assert_eq!(world.end(1), ended);
        world.obey(&agent);
        assert_eq!(world.status(server), if ended.is_none() { "ALLOCATED" } else { "AVAILABLE" });
        assert!(world.process(server) > before, "the lost run's reports mean nothing any more");
        let stage = world.fleet.allocation(allocation(1), world.now).unwrap().stage.clone();
        assert_eq!(matches!(stage, Stage::Fulfilled { .. }), ended.is_none(), "{stage:?}");
    }
}

/// "and a machine that comes back is fenced by generation".
#[test]
fn a_machine_that_comes_back_stops_its_stale_session_before_anything_begins_there() {
    let mut world = joined(MachineTtl::Off);
    let agent = world.machine(1, 1);
    let server = world.place(1, ranked());
    world.obey(&agent);
    let stale = world.process(server);
    world.lose(&agent);
    world.pass(MINUTE);
    let agent = world.join_as(MachineKey(uuid::Uuid::from_u128(1)), 1, None);
    let configuration = Some(world.fleet.server(server).unwrap().configuration);
    let still = mainstay_core::slot::Status {
        server,
        generation: stale,
        configuration,
        run: 0,
        phase: Phase::Online { pid: 4711 },
    };
    world.must(&Command::Connect { machine: agent.machine, stream: agent.stream, statuses: vec![still] });
    assert_eq!(world.life(agent.machine), Some(Life::Serving));
    assert!(matches!(world.allocate(2, ranked()), Ok(Answer::Waiting { .. })));
    let orders = world.fleet.owed(&agent.machine).orders;
    assert_eq!(orders.len(), 1);
    assert_eq!((orders[0].intent, orders[0].allocation.as_ref()), (Intent::Stop, None));
    assert!(orders[0].generation > stale);
    let hold = Command::Hold { server, process: orders[0].generation, time: MINUTE };
    assert!(matches!(world.run(&hold), Err(Rejection::MachineAway { .. })), "the stale game asks in vain");
    world.says(&agent, server, Phase::Stopping { pid: None });
    assert!(world.fleet.server(server).unwrap().is_fenced());
    world.says(&agent, server, Phase::Stopped(Stopped::Ordered));
    let next = world.fleet.server(server).unwrap();
    assert_eq!(
        (next.intent, next.allocation()),
        (Intent::Run, Some(allocation(2))),
        "now what waited has it"
    );
}

/// An operator's start does not lift the fence: what it starts is a new process.
#[test]
fn an_operators_start_of_a_fenced_server_is_refused() {
    let mut world = joined(MachineTtl::Off);
    let agent = world.machine(1, 1);
    let server = world.place(1, ranked());
    world.obey(&agent);
    world.lose(&agent);
    world.pass(MINUTE);
    let agent = world.join(1, 1);
    assert_eq!(world.life(agent.machine), Some(Life::Serving));
    assert!(matches!(world.run(&Command::StartServer(server)), Err(Rejection::MachineAway { .. })));
}

/// "Tell cut off from died": the run of the kernel says it on return, the provider's list before.
#[test]
fn a_return_tells_whether_the_machine_had_died() {
    for (before, after, absence) in [
        (boot(1), boot(1), Absence::CutOff),
        (boot(1), boot(2), Absence::Rebooted),
        (None, boot(2), Absence::Unknown),
    ] {
        let mut world = joined(MachineTtl::Off);
        let key = MachineKey(uuid::Uuid::from_u128(1));
        let agent = world.join_as(key, 1, before);
        world.connect(&agent);
        world.lose(&agent);
        world.pass(MINUTE);
        world.join_as(key, 1, after);
        let returned = world.fleet.machine(agent.machine).unwrap().returned;
        assert_eq!(returned, Some((world.now, absence)));
    }
}

#[test]
fn a_providers_list_tells_whether_a_lost_machine_died() {
    let mut world = with_min(8, 100);
    let agents: Vec<_> = requested(&world).into_iter().map(|machine| world.come(machine, 4)).collect();
    agents.iter().for_each(|agent| world.lose(agent));
    world.pass(MINUTE);
    let (listed, gone) = (agents[0].machine, agents[1].machine);
    let listing = Command::TakeListing { region: EUROPE, asked: world.now, machines: vec![listed] };
    assert_eq!(world.must(&listing), Answer::Orphans(vec![]));
    assert_eq!(world.fleet.fate(listed), Fate::CutOff);
    assert!(matches!(world.life(listed), Some(Life::Lost { .. })));
    assert!(matches!(world.life(gone), Some(Life::Removing { why: Parting::Died, .. })));
}

/// "Lost machines do not count for min_available; growth replaces them", and one that does not come back is given up.
#[test]
fn growth_replaces_a_lost_machine() {
    let mut world = with_min(4, 100);
    let machine = requested(&world)[0];
    let agent = world.come(machine, 4);
    world.lose(&agent);
    world.pass(MINUTE);
    let next = requested(&world);
    assert_eq!(next.len(), 1);
    assert_ne!(next[0], machine);
    world.pass(15 * MINUTE);
    assert!(matches!(world.life(machine), Some(Life::Removing { why: Parting::Lost, .. })));
}

/// The law: minimum available is restored in bounded time after healing.
#[test]
fn the_minimum_is_restored_once_a_provider_works_again() {
    let mut world = with_min(4, 100);
    for _ in 0..2_000 {
        for (machine, verb) in world.errands() {
            world.outcome(machine, verb, Outcome::Failed);
        }
        world.pass(Duration::from_secs(5));
    }
    assert_eq!(world.fleet.pool(EUROPE).unwrap().available, 0);
    let healed = world.now;
    while world.fleet.pool(EUROPE).unwrap().available < 4 {
        for (machine, verb) in world.errands() {
            world.outcome(machine, verb, Outcome::Done);
            if let Verb::Create { .. } = verb {
                world.come(machine, 4);
            }
        }
        world.pass(Duration::from_secs(5));
        assert!(world.now.since(healed) < 11 * MINUTE, "a pause each of errand and region, and one delete");
    }
}
