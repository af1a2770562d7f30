//! Every start cause and stop cause of seed 002 that the plane decides is told in the event and kept with the server.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Agent, World, allocation, casual, fleet_spec, ranked};
use mainstay_core::ServerId;
use mainstay_core::slot::{Phase, Stopped};
use mainstay_fleet::{Cause, Command, Fit, FleetSpec, Growth, IdleServers, Renewal, Request};

fn world(spec: FleetSpec) -> (World, Agent, ServerId) {
    let mut world = World::new(spec);
    let agent = world.machine(1, 1);
    let server = agent.slots[0].server;
    (world, agent, server)
}

fn stopped() -> (World, Agent, ServerId) {
    world(fleet_spec(IdleServers::StartOnAllocation, Growth::Fixed))
}

fn running() -> (World, Agent, ServerId) {
    world(fleet_spec(IdleServers::StartOnProvision, Growth::Fixed))
}

fn cause(world: &World, server: ServerId) -> Cause {
    let kept = world.fleet.server(server).unwrap().cause;
    assert_eq!(world.replayed().server(server).unwrap().cause, kept, "the event tells it");
    kept
}

/// "It usually starts in response to an allocation request."
#[test]
fn an_allocation_starts_a_stopped_server() {
    let (mut world, _, server) = stopped();
    world.place(1, ranked());
    assert_eq!(cause(&world, server), Cause::Allocated(Fit::Stopped));
}

/// "[…] or when Game Server Hosting provisions a machine", "and the start on provision setting is enabled".
#[test]
fn provisioning_starts_a_server() {
    let (world, _, server) = running();
    assert_eq!(cause(&world, server), Cause::Provisioned);
}

/// "Game Server Hosting selected a server slot that isn't running the correct build executable."
#[test]
fn another_build_is_told_apart() {
    let mut spec = fleet_spec(IdleServers::StartOnProvision, Growth::Fixed);
    spec.configurations[1].build = mainstay_core::BuildId::from_number(9).unwrap();
    let (mut world, _, server) = self::world(spec);
    world.place(1, casual());
    assert_eq!(cause(&world, server), Cause::Allocated(Fit::OtherBuild));
}

/// "You created an allocation, and Game Server Hosting selects a server slot that's using the wrong build configuration."
#[test]
fn another_build_configuration_is_told_apart() {
    let (mut world, _, server) = running();
    world.place(1, casual());
    assert_eq!(cause(&world, server), Cause::Allocated(Fit::OtherConfiguration));
}

/// The slot that fits needs nothing; a caller may ask for a fresh process all the same.
#[test]
fn a_server_that_fits_is_taken_as_it_is() {
    let (mut world, _, server) = running();
    world.place(1, ranked());
    assert_eq!(cause(&world, server), Cause::Allocated(Fit::Running));
    let (mut world, _, server) = running();
    let request = Request { renewal: Renewal::Restart, ..World::request(ranked()) };
    world.must(&Command::Allocate { id: allocation(1), request });
    assert_eq!(cause(&world, server), Cause::Allocated(Fit::RestartAsked));
}

/// "You manually start a server with the API or through the Unity Cloud Dashboard", and the stops by hand.
#[test]
fn what_an_operator_does_is_by_hand() {
    let (mut world, agent, server) = stopped();
    for (command, by_hand) in [
        (Command::StartServer(server), Cause::StartedByHand),
        (Command::RestartServer(server), Cause::RestartedByHand),
        (Command::StopServer(server), Cause::StoppedByHand),
        (Command::SetConfiguration { server, configuration: casual() }, Cause::ConfigurationChanged),
    ] {
        world.must(&command);
        world.obey(&agent);
        assert_eq!(cause(&world, server), by_hand);
    }
}

/// "The build executable process intentionally exited. In this case, Game Server Hosting automatically restarts the
/// server."
#[test]
fn an_intended_exit_is_a_cause() {
    let (mut world, agent, server) = running();
    world.place(1, ranked());
    world.obey(&agent);
    world.says(&agent, server, Phase::Stopped(Stopped::Completed));
    assert_eq!(cause(&world, server), Cause::Exited);
}

/// "Server becomes idle: the game server becomes idle because it's not allocated."
#[test]
fn a_deallocation_is_a_cause() {
    let (mut world, agent, server) = running();
    world.place(1, ranked());
    world.obey(&agent);
    world.must(&Command::Deallocate { id: allocation(1) });
    assert_eq!(cause(&world, server), Cause::Deallocated);
}

/// "However, if the server continues to crash, Game Server Hosting won't keep restarting it", and lost processes.
#[test]
fn what_fails_and_what_is_lost_are_causes() {
    let backed_off = Phase::BackedOff { crashes: 2, cause: "exit code 3".into() };
    let silent = Phase::PreRecovery { cause: "no answer".into() };
    for (phase, told) in [(backed_off, Cause::Failed), (silent, Cause::Failed), (Phase::Lost, Cause::Lost)] {
        let (mut world, agent, server) = running();
        world.place(1, ranked());
        world.obey(&agent);
        world.says(&agent, server, phase);
        assert_eq!(cause(&world, server), told);
    }
}
