//! Agents' streams: who is let in, who is current, and what becomes of those who do not read.

use std::sync::Arc;

use mainstay_core::Generation;
use mainstay_core::slot::{Phase, Status, Stopped};
use mainstay_wire::agent::{Down, Statuses, Up};
use tonic::Code;

use crate::agent::{self, Habit, PaperAgent, Slots, joining};
use crate::support::{TOKEN, World, allocation, id};

async fn refused(world: &World, first: Up) -> tonic::Status {
    match agent::open(world.plane.agents(), first).await {
        Err(status) => status,
        Ok((_up, mut down)) => agent::next(&mut down).await.unwrap_err(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hello_is_judged_by_token_fleet_and_region() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let hello = |token, fleet: &str, region: &str| {
        let mut machine = joining(7, fleet, 1);
        machine.region = region.to_owned();
        agent::hello(token, vec![machine])
    };
    for (first, code, ours) in [
        (hello("wrong", "arena", "local"), Code::Unauthenticated, "MS-A004"),
        (hello("", "arena", "local"), Code::Unauthenticated, "MS-A004"),
        (hello(TOKEN, "nope", "local"), Code::NotFound, "MS-S605"),
        (hello(TOKEN, "arena", "nope"), Code::NotFound, "MS-S606"),
        (
            Up::Report(Statuses { machine: mainstay_core::MachineId::LOWEST, statuses: vec![] }),
            Code::InvalidArgument,
            "MS-S604",
        ),
    ] {
        let status = refused(&world, first).await;
        assert_eq!(status.code(), code, "{status:?}");
        assert!(status.message().starts_with(ours), "{status:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_that_comes_back_keeps_its_ids_and_is_told_everything_again() {
    let (world, first) = World::with_agent(2, Habit::Sleeps).await;
    world.allocate(id(1)).await;
    while first.orders.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let (machine, servers) = (first.machine, first.servers.clone());
    first.vanish();
    // The order was sent, never obeyed: the next stream is owed it again.
    let again = world.agent(1, 2, Habit::Obeys).await;
    assert_eq!((again.machine, &again.servers), (machine, &servers));
    world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    assert_eq!(again.orders.lock().unwrap()[0].allocation.as_ref().unwrap().allocation.0, id(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_stream_is_closed_when_it_speaks() {
    let (world, old) = World::with_agent(1, Habit::Obeys).await;
    let new = world.agent(1, 1, Habit::Obeys).await;
    let server = old.servers[0];
    let phase = Phase::Stopped(Stopped::Idle);
    old.report(Status { server, generation: Generation::NONE, configuration: None, run: 0, phase }).await;
    let end = old.ended().await;
    assert_eq!(end.code(), Code::FailedPrecondition, "{end:?}");
    assert!(end.message().starts_with("MS-S004"), "{end:?}");
    // Its end does not silence the machine: the newer stream is the current one.
    world.allocate(id(1)).await;
    world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    assert_eq!(new.orders.lock().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_speaks_for_its_own_machines_alone() {
    let (world, mine) = World::with_agent(1, Habit::Obeys).await;
    let (up, mut down) =
        agent::open(world.plane.agents(), agent::hello(TOKEN, vec![joining(2, "arena", 1)])).await.unwrap();
    assert!(matches!(agent::next(&mut down).await, Ok(Down::Welcome(_))));
    let foreign = Up::Report(Statuses { machine: mine.machine, statuses: vec![] });
    up.send(foreign.into()).await.unwrap();
    let end = agent::next(&mut down).await.unwrap_err();
    assert!(end.message().starts_with("MS-S607"), "{end:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_that_comes_back_with_fewer_slots_is_refused_while_somebody_is_on_the_others() {
    let (world, agent) = World::with_agent(2, Habit::Obeys).await;
    for n in 1..=2 {
        world.allocate(id(n)).await;
        world.eventually(&allocation(id(n)), |it| it.get("fulfilled").is_some()).await;
    }
    let servers = agent.servers.clone();
    agent.vanish();
    let status = refused(&world, agent::hello(TOKEN, vec![joining(1, "arena", 1)])).await;
    assert!(status.message().starts_with("MS-S005"), "{status:?}");
    for n in 1..=2 {
        assert_eq!(world.delete(&allocation(id(n))).await.status, 204);
    }
    assert_eq!(world.agent(1, 1, Habit::Obeys).await.servers, servers[..1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agents_view_survives_a_restart_of_the_plane() {
    let (world, agent) = World::with_agent(1, Habit::Obeys).await;
    world.allocate(id(1)).await;
    let playing = world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    let server = agent.servers[0];
    let generation = agent.orders.lock().unwrap()[0].generation;
    let configuration = agent.orders.lock().unwrap()[0].configuration;
    let world = World::at(world.shutdown().await).await;
    let before = world.get(&format!("/v1/servers/{server}")).await.body;
    assert_eq!((&before["status"], &before["process"]), (&"ALLOCATED".into(), &"unknown".into()));
    let slots = Slots::default();
    slots.lock().unwrap().insert(
        server,
        Status {
            server,
            generation,
            configuration: Some(configuration),
            run: 0,
            phase: Phase::Online { pid: 7 },
        },
    );
    let address = world.plane.agents();
    let again =
        PaperAgent::reconnect(address, TOKEN, joining(1, "arena", 1), Habit::Obeys, Arc::clone(&slots)).await;
    let after = world.eventually(&format!("/v1/servers/{server}"), |it| it["process"] == "online").await;
    assert_eq!(after["pid"], 7);
    let still = world.get(&allocation(id(1))).await.body;
    assert_eq!(still["fulfilled"], playing["fulfilled"]);
    assert!(again.orders.lock().unwrap().is_empty(), "it had obeyed everything");
}
