//! READY and `ready`: what a game says of itself, and how long that counts (reference 2.2, 3.8).

#![expect(clippy::unwrap_used, clippy::unwrap_in_result, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use common::{Agent, MINUTE, World, allocation, casual, fleet_spec, ranked};
use mainstay_core::slot::{Phase, ReadySignal};
use mainstay_core::{ServerId, Timestamp};
use mainstay_fleet::{Command, Growth, IdleServers};

fn running() -> (World, Agent, ServerId) {
    let mut world = World::new(fleet_spec(IdleServers::StartOnProvision, Growth::Fixed));
    let agent = world.machine(1, 1);
    let server = agent.slots[0].server;
    (world, agent, server)
}

fn ready(world: &mut World, server: ServerId) {
    let process = world.process(server);
    world.must(&Command::SetReady { server, process });
}

fn ready_since(world: &World, n: u128) -> Option<Timestamp> {
    world.fleet.allocation(allocation(n), world.now).unwrap().ready
}

/// PATCH `…/allocations/{id}` with `{"ready": true}`: the allocation is ready from then on; `false` takes it back.
#[test]
fn an_allocation_is_ready_when_its_game_says_so() {
    let (mut world, agent, server) = running();
    world.place(1, ranked());
    world.obey(&agent);
    assert_eq!(ready_since(&world, 1), None);
    world.pass(MINUTE);
    ready(&mut world, server);
    let since = world.now;
    world.pass(MINUTE);
    ready(&mut world, server);
    assert_eq!(ready_since(&world, 1), Some(since), "a repeat changes nothing");
    assert_eq!(world.status(server), "ALLOCATED");
    world.must(&Command::SetUnready { server, process: world.process(server) });
    assert_eq!(ready_since(&world, 1), None);
}

/// `readiness` of a build configuration: an allocation says whether players wait for the game's word, as the revision says that
/// its server was ordered to run; one that waits for a server, or is over, as the newest revision says.
#[test]
fn an_allocation_says_whether_players_wait_for_its_games_word() {
    let mut spec = fleet_spec(IdleServers::StartOnProvision, Growth::MachinesMayJoin);
    spec.configurations[0].ready_signal = ReadySignal::Awaited;
    let mut world = World::new(spec.clone());
    let signal = |world: &World, n| {
        let state = &world.fleet;
        state.ready_signal(state.allocation(allocation(n), world.now).unwrap())
    };
    world.allocate(1, ranked()).unwrap();
    assert_eq!(signal(&world, 1), ReadySignal::Awaited, "it waits for a server");
    let agent = world.machine(1, 2);
    world.obey(&agent);
    assert!(world.fleet.allocation(allocation(1), world.now).unwrap().fulfilled().is_some());
    assert_eq!(signal(&world, 1), ReadySignal::Awaited);
    world.place(2, casual());
    assert_eq!(signal(&world, 2), ReadySignal::NotAwaited, "each build configuration has its own");

    spec.revision += 1;
    spec.configurations[0].configuration.revision += 1;
    spec.configurations[0].ready_signal = ReadySignal::NotAwaited;
    world.must(&Command::Configure(Arc::new(spec)));
    assert_eq!(signal(&world, 1), ReadySignal::Awaited, "its server runs the earlier revision");
    world.must(&Command::Deallocate { id: allocation(1) });
    assert_eq!(signal(&world, 1), ReadySignal::NotAwaited, "it is over");
}

/// An unclaimed server that says it is ready shows READY.
#[test]
fn an_unclaimed_server_that_is_ready_shows_ready() {
    let (mut world, _, server) = running();
    ready(&mut world, server);
    assert_eq!(world.status(server), "READY");
    world.must(&Command::SetUnready { server, process: world.process(server) });
    assert_eq!(world.status(server), "ONLINE");
}

/// What was said for one session does not count for the next.
#[test]
fn each_session_is_ready_anew() {
    let (mut world, agent, server) = running();
    ready(&mut world, server);
    world.place(1, ranked());
    world.obey(&agent);
    assert_eq!(ready_since(&world, 1), None);
    ready(&mut world, server);
    world.must(&Command::Deallocate { id: allocation(1) });
    world.obey(&agent);
    assert_eq!(world.status(server), "ONLINE");
    assert!(ready_since(&world, 1).is_some(), "how it stood when it ended stays readable");
}

/// What a process said ends with the process: a crash, a restart, a stop, or another pid in its place.
#[test]
fn readiness_ends_with_its_process() {
    let other = Phase::Online { pid: 4712 };
    let crashed = Phase::BackedOff { crashes: 2, cause: "exit code 3".into() };
    for phase in [Phase::Starting { pid: None }, Phase::Stopping { pid: None }, crashed, Phase::Lost, other] {
        let (mut world, agent, server) = running();
        ready(&mut world, server);
        world.says(&agent, server, phase.clone());
        assert_ne!(world.status(server), "READY", "{phase:?}");
        if let Phase::Starting { .. } | Phase::Online { .. } = phase {
            world.says(&agent, server, Phase::Online { pid: 4712 });
            assert_eq!(world.status(server), "ONLINE", "{phase:?}");
        }
    }
    for command in [Command::RestartServer, Command::StopServer] {
        let (mut world, agent, server) = running();
        ready(&mut world, server);
        world.must(&command(server));
        world.obey(&agent);
        assert_ne!(world.status(server), "READY");
    }
}
