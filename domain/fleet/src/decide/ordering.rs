//! Orders to servers without an allocation.
//!
//! What is ordered of a server that is fenced ([`Server::is_fenced`]) stops the session that was given up there: an order to
//! run replaces its process, one to leave it as it is stops it.

use mainstay_core::slot::{ConfigurationRef, Intent};
use mainstay_core::{ServerId, Turn};

use crate::cause::Cause;
use crate::event::Event;
use crate::fleet::Fleet;
use crate::machine::Machine;
use crate::server::Server;
use crate::spec::IdleServers;

/// Gives a server its next order.
pub(super) fn order(
    turn: &mut Turn<'_, Fleet>,
    server: ServerId,
    configuration: ConfigurationRef,
    intent: Intent,
    cause: Cause,
) {
    let Some(known) = turn.state().server(server) else { return };
    let generation = known.generation.next();
    let intent = fenced(known, intent);
    turn.emit(Event::ServerOrdered { server, generation, configuration, intent, cause });
}

/// What an order has to want of a server so that no earlier session survives it.
pub(super) fn fenced(server: &Server, intent: Intent) -> Intent {
    match intent {
        Intent::Run if server.is_fenced() => Intent::Renew,
        Intent::Leave if server.is_fenced() => Intent::Stop,
        Intent::Stop | Intent::Run | Intent::Renew | Intent::Leave => intent,
    }
}

/// Has an idle server run what idle servers run.
pub(super) fn run_idle(turn: &mut Turn<'_, Fleet>, server: ServerId, cause: Cause) {
    if let Some(configuration) = turn.state().idle_configuration(server) {
        order(turn, server, configuration, Intent::Run, cause);
    }
}

/// What a server does whose process ended by its own will, or was lost, and that nobody claims now: with start on
/// provision it runs again, idle (seed 002); else it rests until an allocation or an operator starts it.
pub(super) fn after_the_end(turn: &mut Turn<'_, Fleet>, server: ServerId, cause: Cause) {
    let machine = turn.state().server(server).and_then(|server| turn.state().machine(server.machine));
    let takes = machine.is_some_and(Machine::takes);
    match turn.state().spec().map(|spec| spec.idle_servers) {
        Some(IdleServers::StartOnProvision) if takes => run_idle(turn, server, cause),
        Some(IdleServers::StartOnProvision | IdleServers::StartOnAllocation) | None => {
            rest(turn, server, cause)
        }
    }
}

/// Leaves a server's process as it is, without an allocation.
pub(super) fn rest(turn: &mut Turn<'_, Fleet>, server: ServerId, cause: Cause) {
    if let Some(configuration) = turn.state().server(server).map(|server| server.configuration) {
        order(turn, server, configuration, Intent::Leave, cause);
    }
}
