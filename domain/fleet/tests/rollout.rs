//! Changing what servers run: one server's active build configuration, and everybody's by an edit or a new version.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use common::{Agent, MINUTE, World, allocation, casual, fleet_spec, ranked, reference};
use mainstay_core::slot::{ConfigurationRef, Intent, Phase, Stopped};
use mainstay_core::{ServerId, StateMachine};
use mainstay_fleet::{
    Answer, Cause, ClaimedBy, Command, End, Event, FleetSpec, Growth, HoldEnd, IdleServers, Rejection,
    ReservationEnd, Why,
};

fn spec(idle: IdleServers) -> FleetSpec {
    fleet_spec(idle, Growth::Fixed)
}

fn running(spec: FleetSpec, slots: u16) -> (World, Agent, ServerId) {
    let mut world = World::new(spec);
    let agent = world.machine(1, slots);
    let server = agent.slots[0].server;
    (world, agent, server)
}

/// The build of the fleet's first build configuration has a new version.
fn rebuilt(world: &World) -> FleetSpec {
    let mut spec = FleetSpec::clone(world.fleet.spec().unwrap());
    spec.revision += 1;
    spec.configurations[0].configuration.revision += 1;
    spec
}

/// The fleet's first build configuration is another.
fn edited(world: &World) -> FleetSpec {
    let mut spec = rebuilt(world);
    spec.configurations[0].launch.command_line.push_str(" -more");
    spec
}

fn second() -> ConfigurationRef {
    ConfigurationRef { revision: 2, ..reference(ranked()) }
}

/// Runs deadlines that have come, once.
fn due(world: &mut World) {
    if world.fleet.next_deadline().is_some_and(|(due, _)| due <= world.now) {
        world.must(&Command::Due);
    }
}

/// "Changing a server's active build configuration […] restarts an unallocated, unreserved server at once, ending a hold,
/// to ONLINE" (seed 003: "The active build configuration has been changed (the server transitions to the ONLINE state)").
#[test]
fn a_held_server_is_restarted_with_another_configuration() {
    let (mut world, agent, server) = running(spec(IdleServers::StartOnProvision), 1);
    world.hold(server, 10 * MINUTE).unwrap();
    assert_eq!(world.must(&Command::SetConfiguration { server, configuration: casual() }), Answer::Done);
    assert_eq!(world.obey(&agent)[0].configuration, reference(casual()));
    assert_eq!(world.status(server), "ONLINE");
    let ended = Event::HoldEnded { server, end: HoldEnd::ConfigurationChanged };
    assert!(world.journal.iter().any(|(_, event)| *event == ended));
    world.pass(10 * MINUTE);
    assert_eq!(world.fleet.server(server).unwrap().configuration, reference(casual()), "it stays so");
}

/// A stopped one is started: it goes to ONLINE as well.
#[test]
fn a_stopped_server_starts_with_its_new_configuration() {
    let (mut world, agent, server) = running(spec(IdleServers::StartOnAllocation), 1);
    world.must(&Command::SetConfiguration { server, configuration: casual() });
    assert_eq!((world.obey(&agent)[0].intent, world.status(server)), (Intent::Run, "ONLINE"));
}

/// "an allocated one changes at its next allocation, never under a running session": what it then runs is what that
/// allocation asks for, and idle again it runs what it was given.
#[test]
fn an_allocated_server_changes_when_its_session_is_over() {
    let (mut world, agent, server) = running(spec(IdleServers::StartOnProvision), 1);
    world.place(1, ranked());
    world.obey(&agent);
    let change = Command::SetConfiguration { server, configuration: casual() };
    assert_eq!(world.must(&change), Answer::Deferred);
    world.pass(MINUTE);
    assert!(world.fleet.owed(&agent.machine).orders.is_empty());
    world.says(&agent, server, Phase::Stopped(Stopped::Completed));
    let orders = world.obey(&agent);
    assert_eq!((orders[0].intent, orders[0].configuration), (Intent::Run, reference(casual())));
}

#[test]
fn a_configuration_the_fleet_does_not_have_is_refused() {
    let (mut world, _, server) = running(spec(IdleServers::StartOnProvision), 1);
    let configuration = mainstay_core::BuildConfigurationId::from_number(9).unwrap();
    let refused = Err(Rejection::UnknownConfiguration(configuration));
    assert_eq!(world.run(&Command::SetConfiguration { server, configuration }), refused);
}

/// "[…] or an edit applied by an operator", and a new version of its build, which is a new revision too: what runs idle is restarted, what is held is too and is held no longer, what
/// is stopped stays stopped, and what is allocated plays on, until it is deallocated.
/// Shows `progressive rollout`.
#[test]
fn an_edit_reaches_servers_that_nobody_plays_on() {
    let (mut world, agent, _) = running(spec(IdleServers::StartOnProvision), 4);
    let [idle, held, stopped, _] = [0, 1, 2, 3].map(|slot| agent.slots[slot].server);
    let allocated = world.place(1, ranked());
    assert_eq!(allocated, idle, "the first is taken");
    let idle = agent.slots[3].server;
    world.hold(held, 10 * MINUTE).unwrap();
    world.must(&Command::StopServer(stopped));
    world.obey(&agent);
    world.must(&Command::Configure(Arc::new(edited(&world))));
    for _ in 0..3 {
        due(&mut world);
        world.obey(&agent);
    }
    let revision = |world: &World, server| world.fleet.server(server).unwrap().configuration.revision;
    assert_eq!([idle, held, stopped, allocated].map(|server| revision(&world, server)), [2, 2, 1, 1]);
    assert_eq!(
        [idle, held, stopped, allocated].map(|server| world.status(server)),
        ["ONLINE", "ONLINE", "AVAILABLE", "ALLOCATED"]
    );
    assert_eq!(world.fleet.server(idle).unwrap().cause, Cause::RolledOut);
    world.must(&Command::Deallocate { id: allocation(1) });
    world.obey(&agent);
    due(&mut world);
    assert_eq!(world.status(allocated), "ONLINE");
    let [order] = <[_; 1]>::try_from(world.obey(&agent)).unwrap();
    assert_eq!((order.server, order.intent, order.configuration), (allocated, Intent::Run, second()));
    assert_eq!(world.status(allocated), "ONLINE", "the allocated one finished first");
    assert_eq!(revision(&world, allocated), 2);
}

/// "[…] or an edit applied by an operator restarts an unallocated, unreserved server at once": all of them, however many, and
/// before what a new version of a build restarts.
#[test]
fn an_edit_restarts_all_that_nobody_plays_on_at_once() {
    let (mut world, agent, _) = running(spec(IdleServers::StartOnProvision), 8);
    world.must(&Command::Configure(Arc::new(rebuilt(&world))));
    due(&mut world);
    assert_eq!(world.obey(&agent).len(), 2, "a new version goes by quarters");
    world.must(&Command::Configure(Arc::new(edited(&world))));
    due(&mut world);
    assert_eq!(world.obey(&agent).len(), 8);
    let newest = ConfigurationRef { revision: 3, ..reference(ranked()) };
    assert!(world.fleet.servers(None).all(|(_, server)| server.configuration == newest));
}

/// "New build versions install progressively": a fleet keeps servers to give while it changes, at most a quarter of the pool is
/// on its way at a time. A version in another folder is one all the same.
#[test]
fn a_new_version_takes_a_quarter_of_the_pool_at_a_time() {
    let (mut world, agent, _) = running(spec(IdleServers::StartOnProvision), 8);
    let mut moved = rebuilt(&world);
    moved.configurations[0].launch.folder = "/builds/2".into();
    world.must(&Command::Configure(Arc::new(moved)));
    for left in [6, 4, 2, 0] {
        due(&mut world);
        assert!(world.fleet.next_deadline().is_none(), "two are on their way, the others wait for them");
        assert_eq!(world.obey(&agent).len(), 2);
        let old = world.fleet.servers(None).filter(|(_, server)| server.configuration != second()).count();
        assert_eq!(old, left);
    }
}

/// One that cannot start holds nobody up, and neither does a machine that is not heard.
#[test]
fn a_rollout_is_not_held_up_by_what_is_down() {
    let (mut world, agent, server) = running(spec(IdleServers::StartOnProvision), 2);
    let silent = world.machine(2, 2);
    world.lose(&silent);
    world.must(&Command::Configure(Arc::new(edited(&world))));
    due(&mut world);
    world.says(&agent, server, Phase::BackedOff { crashes: 2, cause: "exit code 3".into() });
    for _ in 0..3 {
        due(&mut world);
        world.obey(&agent);
    }
    assert!(world.fleet.servers(None).all(|(_, server)| server.configuration == second()));
}

/// "New build versions install progressively (allocated servers finish first) or forced": below its floor no session goes
/// on.
/// Shows `forced rollout`.
#[test]
fn a_forced_version_ends_sessions() {
    let (mut world, agent, _) = running(spec(IdleServers::StartOnProvision), 2);
    let allocated = world.place(1, ranked());
    world.obey(&agent);
    let mut forced = rebuilt(&world);
    forced.floors = vec![second()];
    world.must(&Command::Configure(Arc::new(forced)));
    assert!(matches!(world.fleet.next_deadline(), Some((_, Why::Rollout(_)))));
    for _ in 0..3 {
        due(&mut world);
        world.obey(&agent);
    }
    let end = world.fleet.allocation(allocation(1), world.now).unwrap().end().map(|(_, end)| end.clone());
    assert_eq!(end, Some(End::RolledOut));
    assert!(End::RolledOut.failed(), "nobody who played wished it");
    assert_eq!(world.fleet.server(allocated).unwrap().configuration, second());
    world.place(2, ranked());
    due(&mut world);
    assert_eq!(world.fleet.allocation(allocation(2), world.now).unwrap().end(), None);
}

/// The same for a reservation.
#[test]
fn a_forced_version_ends_reservations() {
    let mut reserving = spec(IdleServers::StartOnProvision);
    reserving.hosting.claimed_by = ClaimedBy::Reservations;
    let (mut world, agent, server) = running(reserving, 1);
    world.reserve(server, 1).unwrap();
    let mut forced = rebuilt(&world);
    world.must(&Command::Configure(Arc::new(rebuilt(&world))));
    due(&mut world);
    assert_eq!(world.status(server), "RESERVED", "a progressive one waits");
    forced.revision += 1;
    forced.floors = vec![second()];
    world.must(&Command::Configure(Arc::new(forced)));
    due(&mut world);
    let ended = Event::ReservationEnded { server, end: ReservationEnd::RolledOut };
    assert!(world.journal.iter().any(|(_, event)| *event == ended));
    assert_eq!(world.obey(&agent)[0].configuration, second());
}
