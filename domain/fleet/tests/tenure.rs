//! Whether a process's tenure stands: by what is durable, and by what its agent has said (record 0043).

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use common::{World, allocation, fleet_spec, ranked, reference};
use mainstay_core::slot::{Fault, Incident, Phase, Status, Stopped};
use mainstay_core::{ServerId, StateMachine as _, Tenure};
use mainstay_fleet::{Command, Growth, IdleServers, Observation};

/// A server that plays for allocation 1, as its agent's n-th run.
fn playing() -> (World, common::Agent, ServerId) {
    let mut world = World::new(fleet_spec(IdleServers::StartOnProvision, Growth::Fixed));
    let agent = world.machine(1, 1);
    world.place(1, ranked());
    world.obey(&agent);
    let server = agent.slots[0].server;
    (world, agent, server)
}

fn says(world: &mut World, agent: &common::Agent, server: ServerId, run: u64, phase: Phase) {
    let generation = world.fleet.server(server).unwrap().generation;
    let status = Status { server, generation, configuration: Some(reference(ranked())), run, phase };
    world.must(&Command::Report { machine: agent.machine, stream: agent.stream, statuses: vec![status] });
}

fn tenure(server: ServerId, run: u64) -> Tenure {
    Tenure { server, session: allocation(1).into(), run: Some(run) }
}

fn crashed(server: ServerId, run: u64, session: u128) -> Box<Incident> {
    Box::new(Incident {
        server,
        run,
        at: mainstay_core::Timestamp::from_unix_ms(5),
        fault: Fault::Crash,
        cause: Arc::from("signal 11"),
        exit: None,
        configuration: reference(ranked()),
        allocation: Some(allocation(session)),
        last_words: Arc::from(""),
        core: None,
    })
}

#[test]
fn a_tenure_stands_while_its_run_does_and_its_session() {
    let (mut world, agent, server) = playing();
    says(&mut world, &agent, server, 4, Phase::Online { pid: 7 });
    assert_eq!(world.fleet.tenure(server, 4), Some(tenure(server, 4)));
    assert_eq!(world.fleet.tenure_of(allocation(1)), Some(tenure(server, 4)));
    assert_eq!(world.fleet.tenure_of(allocation(2)), None);
    // An ask of the next run may overtake its first word.
    assert!(!world.fleet.is_over(&tenure(server, 5)));
    assert!(world.fleet.is_over(&tenure(server, 3)));
    says(&mut world, &agent, server, 4, Phase::Stopping { pid: Some(7) });
    assert!(!world.fleet.is_over(&tenure(server, 4)), "it is there still");
    says(&mut world, &agent, server, 5, Phase::Starting { pid: None });
    assert!(world.fleet.is_over(&tenure(server, 4)), "replaced, without a crash");
    says(&mut world, &agent, server, 5, Phase::Stopped(Stopped::Completed));
    assert!(world.fleet.is_over(&tenure(server, 5)), "exit 0 ends the session");
    assert_eq!((world.fleet.tenure(server, 5), world.fleet.tenure_of(allocation(1))), (None, None));
}

/// Whoever names an allocation is bound to the process that plays for it: not to the last one of before, which is over, nor to one that will be
/// replaced.
#[test]
fn who_plays_for_an_allocation_is_known_once_its_process_plays() {
    let (mut world, agent, server) = playing();
    let is = |world: &World| world.fleet.tenure_of(allocation(1));
    for phase in
        [Phase::Stopped(Stopped::Idle), Phase::Starting { pid: Some(6) }, Phase::Starting { pid: None }]
    {
        says(&mut world, &agent, server, 3, phase.clone());
        assert_eq!(is(&world), None, "{phase:?}");
    }
    says(&mut world, &agent, server, 4, Phase::Online { pid: 7 });
    assert_eq!(is(&world), Some(tenure(server, 4)));
    // The plane is new, and its agent has not spoken.
    let now = world.now;
    world.fleet.observe(now, Observation::Forgotten);
    assert_eq!(is(&world), None);
}

#[test]
fn a_crash_that_is_told_ends_it_whether_or_not_the_agent_has_spoken() {
    let (mut world, agent, server) = playing();
    says(&mut world, &agent, server, 4, Phase::Online { pid: 7 });
    world.fleet.apply(world.now, &mainstay_fleet::Event::IncidentTold { incident: crashed(server, 4, 1) });
    assert!(world.fleet.is_over(&tenure(server, 4)));
    let now = world.now;
    world.fleet.observe(now, Observation::Forgotten);
    assert!(world.fleet.is_over(&tenure(server, 4)), "by what is durable alone");
    assert!(!world.fleet.is_over(&tenure(server, 5)));
    // A machine that was made anew counts from 1: what was told of another session says nothing of this one.
    world.fleet.apply(now, &mainstay_fleet::Event::IncidentTold { incident: crashed(server, 9, 2) });
    assert!(!world.fleet.is_over(&tenure(server, 5)));
}

/// "agent cut off and coming back": silence ends nothing before the machine is lost.
#[test]
fn a_silent_machine_ends_nothing() {
    let (mut world, agent, server) = playing();
    says(&mut world, &agent, server, 4, Phase::Online { pid: 7 });
    let now = world.now;
    world.fleet.observe(now, Observation::Disconnected { machine: agent.machine, stream: agent.stream });
    assert!(!world.fleet.is_over(&tenure(server, 4)));
    world.must(&Command::Deallocate { id: allocation(1) });
    assert!(world.fleet.is_over(&tenure(server, 4)), "its session is another's to end");
    assert!(world.fleet.is_over(&Tenure { server: ServerId::LOWEST, ..tenure(server, 4) }));
}

/// Whoever follows what moved misses no end of a tenure: each way to end one says whose it was.
#[test]
fn whose_tenure_ends_is_told_to_whoever_follows() {
    let (mut world, agent, server) = playing();
    let (start, _) = world.fleet.moved_since(0);
    let mut mark = start;
    let mut moved = |world: &World| {
        let (next, moved) = world.fleet.moved_since(mark);
        mark = next;
        moved.unwrap().any(|moved| moved == server)
    };
    says(&mut world, &agent, server, 4, Phase::Online { pid: 7 });
    assert!(moved(&world));
    says(&mut world, &agent, server, 4, Phase::Online { pid: 7 });
    assert!(!moved(&world), "said again");
    says(&mut world, &agent, server, 5, Phase::Online { pid: 8 });
    assert!(moved(&world) && world.fleet.is_over(&tenure(server, 4)));
    world.fleet.apply(world.now, &mainstay_fleet::Event::IncidentTold { incident: crashed(server, 5, 1) });
    assert!(moved(&world) && world.fleet.is_over(&tenure(server, 5)));
    world.must(&Command::Deallocate { id: allocation(1) });
    assert!(moved(&world) && world.fleet.is_over(&tenure(server, 6)));
    // Who is too far behind, or speaks of another leader's marks, is told that anything may have moved.
    for run in 0..5_000 {
        says(&mut world, &agent, server, 6 + run, Phase::Online { pid: 8 });
    }
    assert!(world.fleet.moved_since(start).1.is_none());
    assert!(world.fleet.moved_since(u64::MAX).1.is_none());
    let (now, nothing) = world.fleet.moved_since(world.fleet.moved_since(0).0);
    assert_eq!((nothing.unwrap().count(), now), (0, world.fleet.moved_since(0).0));
}
