//! An operator starts, stops or restarts a server by hand. "If the intention is to manually Stop a currently Allocated
//! server this will not work, instead you should send a Deallocation request" (seed 002).

use mainstay_core::slot::{ConfigurationRef, Intent};
use mainstay_core::{ServerId, Turn};

use super::ordering;
use crate::command::Answer;
use crate::fleet::Fleet;
use crate::rejection::Rejection;
use crate::server::Claim;

pub(super) fn start(turn: &mut Turn<'_, Fleet>, server: ServerId) -> Result<Answer, Rejection> {
    order_free(turn, server, Intent::Run)
}

pub(super) fn stop(turn: &mut Turn<'_, Fleet>, server: ServerId) -> Result<Answer, Rejection> {
    order_free(turn, server, Intent::Stop)
}

pub(super) fn restart(turn: &mut Turn<'_, Fleet>, server: ServerId) -> Result<Answer, Rejection> {
    order_free(turn, server, Intent::Renew)
}

fn order_free(turn: &mut Turn<'_, Fleet>, server: ServerId, intent: Intent) -> Result<Answer, Rejection> {
    let known = turn.state().server(server).ok_or(Rejection::UnknownServer(server))?;
    if let Claim::Allocated(allocation) = known.claim {
        return Err(Rejection::ServerAllocated { server, allocation });
    }
    let configuration = current_revision(turn.state(), known.configuration);
    ordering::order(turn, server, configuration, intent);
    Ok(Answer::Done)
}

/// The revision now in force of what the server runs; what idle servers run, where the fleet no longer has it.
fn current_revision(state: &Fleet, runs: ConfigurationRef) -> ConfigurationRef {
    let spec = state.spec();
    let same = spec.and_then(|spec| spec.configuration(runs.id)).map(|spec| spec.configuration);
    same.or_else(|| spec.and_then(|spec| spec.idle_configuration())).unwrap_or(runs)
}
