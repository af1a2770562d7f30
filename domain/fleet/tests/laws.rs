//! The laws of a state machine, under random commands: replay gives the same state, a snapshot rebuilds it, and soft
//! state may vanish at any moment.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use common::{Agent, World, allocation, casual, fleet_spec, ranked};
use mainstay_core::slot::{Phase, Status, Stopped};
use mainstay_core::{BootId, StateMachine, Timestamp};
use mainstay_fleet::{
    AllocationTtl, ClaimedBy, Command, Event, Fleet, Growth, IdleServers, MachinePolicy, MachineTtl,
    Observation, OnLoss, Origin, Outcome, Parting, Provided, Wish, laws,
};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Allocate(u8, bool),
    Deallocate(u8),
    Obey(u8),
    Say(u8, u8),
    Stale(u8, u8),
    Reconnect(u8),
    Silence(u8),
    Forget,
    Operate(u8, u8),
    Ask(u8, u8, u16),
    Read(u8, u8),
    Configure(bool),
    Pass(u16),
    Provider(bool),
    Come(u8),
    List(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<u8>(), any::<bool>()).prop_map(|(n, ranked)| Step::Allocate(n % 12, ranked)),
        3 => any::<u8>().prop_map(|n| Step::Deallocate(n % 12)),
        5 => any::<u8>().prop_map(|n| Step::Obey(n % 2)),
        4 => (any::<u8>(), any::<u8>()).prop_map(|(slot, phase)| Step::Say(slot % 6, phase % 7)),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(slot, phase)| Step::Stale(slot % 6, phase % 7)),
        1 => any::<u8>().prop_map(|n| Step::Reconnect(n % 2)),
        1 => any::<u8>().prop_map(|n| Step::Silence(n % 2)),
        1 => Just(Step::Forget),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(slot, action)| Step::Operate(slot % 6, action % 7)),
        4 => (any::<u8>(), any::<u8>(), any::<u16>())
            .prop_map(|(slot, what, time)| Step::Ask(slot % 6, what % 7, time)),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(slot, players)| Step::Read(slot % 6, players % 3)),
        1 => any::<bool>().prop_map(Step::Configure),
        4 => any::<u16>().prop_map(Step::Pass),
        2 => any::<bool>().prop_map(Step::Provider),
        2 => any::<u8>().prop_map(Step::Come),
        1 => any::<u8>().prop_map(Step::List),
    ]
}

fn phase(n: u8) -> Phase {
    match n {
        0 => Phase::Stopped(Stopped::Idle),
        1 => Phase::Stopped(Stopped::Completed),
        2 => Phase::Starting { pid: None },
        3 => Phase::Online { pid: 9 },
        4 => Phase::Stopping { pid: None },
        5 => Phase::BackedOff { crashes: 2, cause: "exit code 3".into() },
        _ => Phase::Lost,
    }
}

fn take(world: &mut World, agents: &mut [Agent; 2], step: &Step) {
    match step {
        Step::Allocate(n, is_ranked) => {
            let _: Result<_, _> =
                world.allocate(u128::from(*n), if *is_ranked { ranked() } else { casual() });
        }
        Step::Deallocate(n) => {
            let _: Result<_, _> = world.run(&Command::Deallocate { id: allocation(u128::from(*n)) });
        }
        Step::Obey(n) => {
            let agent = agents[usize::from(*n)].clone();
            if world.fleet.machine(agent.machine).unwrap().link() != mainstay_fleet::Link::Silent {
                world.obey(&agent);
            }
        }
        Step::Say(slot, n) | Step::Stale(slot, n) => {
            let agent = &agents[usize::from(slot / 3)];
            let server = agent.slots[usize::from(slot % 3)].server;
            let known = world.fleet.server(server).unwrap();
            let behind = matches!(step, Step::Stale(..));
            let generation = known.generation.number().saturating_sub(u64::from(behind));
            let status = Status {
                server,
                generation: mainstay_core::Generation::from_number(generation),
                configuration: Some(known.configuration),
                run: 0,
                phase: phase(*n),
            };
            let report =
                Command::Report { machine: agent.machine, stream: agent.stream, statuses: vec![status] };
            let _: Result<_, _> = world.run(&report);
        }
        Step::Reconnect(n) => {
            let agent = world.join(u128::from(*n) + 1, 3);
            world.connect(&agent);
            agents[usize::from(*n)] = agent;
        }
        Step::Silence(n) => world.lose(&agents[usize::from(*n)].clone()),
        Step::Forget => world.fleet.observe(world.now, Observation::Forgotten),
        Step::Operate(slot, action) => {
            let server = agents[usize::from(slot / 3)].slots[usize::from(slot % 3)].server;
            let command = match action {
                0 => Command::StartServer(server),
                1 => Command::StopServer(server),
                2 => Command::Release(server),
                3 => Command::SetConfiguration { server, configuration: casual() },
                4 => Command::DrainMachine(agents[usize::from(slot / 3)].machine),
                5 => Command::UndrainMachine(agents[usize::from(slot / 3)].machine),
                _ => Command::RestartServer(server),
            };
            let _: Result<_, _> = world.run(&command);
        }
        Step::Ask(slot, what, time) => ask(world, agents, *slot, *what, *time),
        Step::Read(slot, players) => {
            let Agent { machine, stream, ref slots } = agents[usize::from(slot / 3)];
            let players = players.checked_sub(1).map(u32::from);
            let readings = vec![(slots[usize::from(slot % 3)].server, common::heard(players))];
            world.fleet.observe(world.now, Observation::Read { machine, stream, readings });
        }
        Step::Configure(on_provision) => {
            let idle =
                if *on_provision { IdleServers::StartOnProvision } else { IdleServers::StartOnAllocation };
            let provided = Growth::Provided(Provided {
                slots: 3,
                machines_max: 4,
                create_timeout: std::time::Duration::from_secs(3_000),
                retry: std::time::Duration::from_secs(10),
            });
            let grows = [Growth::MachinesMayJoin, provided][usize::from(*on_provision)];
            let mut spec = fleet_spec(idle, grows);
            spec.regions[0].min_available = if *on_provision { 5 } else { 0 };
            spec.hosting.machines = MachinePolicy {
                ttl: MachineTtl::Idle {
                    shutdown: std::time::Duration::from_secs(20_000),
                    delete: std::time::Duration::from_secs(30_000),
                },
                lost_after: std::time::Duration::from_secs(10_000),
                on_loss: if *on_provision { OnLoss::Fail } else { OnLoss::PlaceAnew },
            };
            spec.hosting.claimed_by =
                if *on_provision { ClaimedBy::Allocations } else { ClaimedBy::Reservations };
            spec.revision = world.fleet.spec().unwrap().revision + 1;
            spec.configurations[0].configuration.revision = u32::try_from(spec.revision).unwrap();
            if spec.revision.is_multiple_of(3) {
                spec.floors = vec![spec.configurations[0].configuration];
            }
            spec.hosting.allocation_ttl = if spec.revision.is_multiple_of(2) {
                AllocationTtl::Idle(std::time::Duration::from_secs(30_000))
            } else {
                AllocationTtl::Age(std::time::Duration::from_secs(60_000))
            };
            world.must(&Command::Configure(Arc::new(spec)));
        }
        Step::Provider(works) => {
            let outcome = if *works { Outcome::Done } else { Outcome::Failed };
            for (machine, verb) in world.errands() {
                world.outcome(machine, verb, outcome);
            }
        }
        Step::Come(n) => {
            let made = world.fleet.machines().filter(|(_, machine)| machine.origin == Origin::Made);
            let made: Vec<_> = made.map(|(id, machine)| (id, machine.key)).collect();
            let Some((_, key)) = made.get(usize::from(*n) % made.len().max(1)) else { return };
            // As often as not its kernel has been started again since, and it brings fewer slots or more than before.
            let (slots, boot) = (1 + u16::from(n % 4), BootId(uuid::Uuid::from_u128(u128::from(n / 128))));
            if world.run(&World::joining(*key, slots, Some(boot))).is_ok() {
                let agent = world.join_as(*key, slots, Some(boot));
                world.connect(&agent);
                world.obey(&agent);
            }
        }
        Step::List(n) => {
            let all: Vec<_> = world.fleet.machines().map(|(id, _)| id).collect();
            let machines = all.into_iter().filter(|id| id.counter() % 3 != u32::from(*n) % 3).collect();
            world.must(&Command::TakeListing { region: common::EUROPE, asked: world.now, machines });
        }
        Step::Pass(seconds) => world.pass(std::time::Duration::from_secs(u64::from(*seconds))),
    }
}

/// A game asks; the last kind of asking is a dead process's.
fn ask(world: &mut World, agents: &[Agent; 2], slot: u8, what: u8, time: u16) {
    let server = agents[usize::from(slot / 3)].slots[usize::from(slot % 3)].server;
    let process = world.process(server);
    let hold = std::time::Duration::from_secs(u64::from(time));
    let command = match what {
        0 => Command::Hold { server, process, time: hold },
        1 => Command::ReleaseHold { server, process },
        2 => Command::Reserve { server, process, reservation: common::reservation(u128::from(time)) },
        3 => Command::Unreserve { server, process },
        4 => Command::SetReady { server, process },
        5 => Command::SetUnready { server, process },
        _ => Command::Hold { server, process: process.next(), time: hold },
    };
    let _: Result<_, _> = world.run(&command);
}

fn retold(fleet: &Fleet) -> Fleet {
    let mut retold = Fleet::new(9);
    for (at, event) in fleet.snapshot() {
        retold.apply(at, &event);
    }
    retold
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn replay_snapshot_and_forgetting(steps in prop::collection::vec(step(), 1..120)) {
        let mut world = World::new(fleet_spec(IdleServers::StartOnProvision, Growth::MachinesMayJoin));
        let mut agents = [world.machine(1, 3), world.machine(2, 3)];
        let mut generations: std::collections::BTreeMap<_, _> = std::collections::BTreeMap::new();
        for step in &steps {
            take(&mut world, &mut agents, step);
            for (id, server) in world.fleet.servers(None) {
                let before = generations.insert(id, server.generation).unwrap_or_default();
                prop_assert!(before <= server.generation, "{id}'s generation fell");
            }
        }
        let story = world.fleet.snapshot();
        prop_assert_eq!(&world.replayed().snapshot(), &story);
        let retold = retold(&world.fleet);
        prop_assert_eq!(&retold.snapshot(), &story);
        prop_assert_eq!(laws::all(&retold), vec![]);
        world.fleet.observe(Timestamp::EPOCH, Observation::Forgotten);
        prop_assert_eq!(&world.fleet.snapshot(), &story);
        prop_assert_eq!(laws::all(&world.fleet), vec![]);
    }
}

/// A fleet that is too large for one turn is looked at in parts, which together are all of it.
#[test]
fn the_laws_are_looked_at_in_parts_that_are_all_of_them() {
    let mut world = World::new(fleet_spec(IdleServers::StartOnAllocation, Growth::Fixed));
    world.join(1, 5);
    let (mut seen, mut after, mut parts) = (0, None, 0);
    loop {
        let looked = laws::some(&world.fleet, after, 2);
        assert_eq!(looked.broken, vec![]);
        seen += looked.servers;
        parts += 1;
        match looked.last {
            Some(last) => after = Some(last),
            None => break,
        }
    }
    assert_eq!((seen, parts), (5, 3));
}

/// Issue 3: "Laws added: a held, reserved or allocated server's machine is never scheduled for removal". Planted: the machine is
/// sent away all the same, in each of the ways there are.
#[test]
fn the_law_of_removal_finds_a_machine_that_is_sent_away_with_somebody_on_it() {
    let leaving = |machine| {
        [
            Event::MachineDraining { machine },
            Event::MachineEmptied { machine },
            Event::MachineParting { machine, why: Parting::Idle },
        ]
    };
    for claim in 0..3 {
        let mut spec = fleet_spec(IdleServers::StartOnProvision, Growth::Fixed);
        if claim == 1 {
            spec.hosting.claimed_by = ClaimedBy::Reservations;
        }
        let mut world = World::new(spec);
        let agent = world.machine(1, 2);
        match claim {
            0 => drop(world.place(1, ranked())),
            1 => drop(world.reserve(agent.slots[0].server, 1).unwrap()),
            _ => drop(world.hold(agent.slots[0].server, common::MINUTE).unwrap()),
        }
        for event in leaving(agent.machine) {
            let mut planted = world.fleet.clone();
            planted.apply(world.now, &event);
            let broken = laws::after(&planted, &event).unwrap_err();
            assert_eq!(broken.law, laws::Law::Removal, "{event:?}: {}", broken.detail);
            assert!(laws::all(&planted).iter().any(|broken| broken.law == laws::Law::Removal));
        }
    }
}

/// Planted: an allocation and a hold begin on a machine that an operator drained.
#[test]
fn the_law_of_service_finds_what_begins_on_a_drained_machine() {
    let mut world = World::new(fleet_spec(IdleServers::StartOnProvision, Growth::Fixed));
    let agent = world.machine(1, 1);
    let (machine, server) = (agent.machine, agent.slots[0].server);
    let mut planted = world.fleet.clone();
    planted.apply(world.now, &Event::MachineDutySet { machine, wish: Wish::Drain });
    let held = Event::ServerHeld { server, until: world.now + common::MINUTE };
    planted.apply(world.now, &held);
    assert_eq!(laws::after(&planted, &held).unwrap_err().law, laws::Law::InService);
}
