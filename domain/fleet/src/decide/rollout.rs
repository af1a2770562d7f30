//! What the operator changed reaches servers: one server's build configuration by an action, everybody's by an edit.

use mainstay_core::slot::Intent;
use mainstay_core::{BuildConfigurationId, ServerId, Turn};

use super::{away, hold, ordering, reserve, waiting};
use crate::allocation::End;
use crate::cause::Cause;
use crate::claim::{Claim, HoldEnd, ReservationEnd};
use crate::command::Answer;
use crate::event::Event;
use crate::fleet::Fleet;
use crate::rejection::Rejection;

/// The most servers one turn restarts; the next turn goes on. Keeps a fleet of 100,000 servers from being silent while
/// one edit reaches them.
const TURN_MAX: usize = 256;

/// A server's active build configuration becomes another. One that nobody plays on is restarted at once, "to the ONLINE
/// state" (seed 003), which ends a hold; one that is allocated or reserved changes when it next starts for nobody.
pub(super) fn set_configuration(
    turn: &mut Turn<'_, Fleet>,
    server: ServerId,
    configuration: BuildConfigurationId,
) -> Result<Answer, Rejection> {
    let state = turn.state();
    let known = state.server(server).ok_or(Rejection::UnknownServer(server))?;
    let spec = state.spec().ok_or(Rejection::NotConfigured)?;
    let wanted = spec
        .configuration(configuration)
        .ok_or(Rejection::UnknownConfiguration(configuration))?
        .configuration;
    let (claim, runs) = (known.claim, known.configuration);
    if state.assigned.get(&server) != Some(&configuration) {
        turn.emit(Event::ServerAssigned { server, configuration });
    }
    match claim {
        Claim::Allocated(_) | Claim::Reserved(_) => Ok(Answer::Deferred),
        Claim::Free | Claim::Held { .. } if away::serving(turn.state(), server).is_err() => {
            Ok(Answer::Deferred)
        }
        Claim::Free | Claim::Held { .. } => {
            hold::end(turn, server, HoldEnd::ConfigurationChanged);
            let intent = if runs == wanted { Intent::Renew } else { Intent::Run };
            ordering::order(turn, server, wanted, intent, Cause::ConfigurationChanged);
            Ok(Answer::Done)
        }
    }
}

/// Restarts what runs something the operator has replaced, as far as the pool can spare it.
pub(super) fn go_on(turn: &mut Turn<'_, Fleet>) {
    for _ in 0..TURN_MAX {
        let Some(server) = turn.state().next_outdated() else { return };
        replace(turn, server);
    }
}

fn replace(turn: &mut Turn<'_, Fleet>, server: ServerId) {
    let Some(known) = turn.state().server(server) else { return };
    let (claim, runs, machine) = (known.claim, known.configuration, known.machine);
    match claim {
        Claim::Allocated(id) => {
            turn.emit(Event::AllocationEnded { id, server: Some(server), end: End::RolledOut })
        }
        Claim::Reserved(_) => reserve::end_without_placing(turn, server, ReservationEnd::RolledOut),
        Claim::Free | Claim::Held { .. } => hold::end(turn, server, HoldEnd::ConfigurationChanged),
    }
    let configuration = turn.state().current(server, runs);
    ordering::order(turn, server, configuration, Intent::Run, Cause::RolledOut);
    if !claim.is_open()
        && let Some(region) = turn.state().machine(machine).map(|machine| machine.region)
    {
        waiting::place(turn, region);
    }
}
