//! An operator starts, stops or restarts a server by hand. "If the intention is to manually Stop a currently Allocated
//! server this will not work, instead you should send a Deallocation request" (seed 002).

use mainstay_core::slot::Intent;
use mainstay_core::{ServerId, Turn};

use super::{away, grow, hold, ordering};
use crate::cause::Cause;
use crate::claim::{Claim, HoldEnd, Reservation};
use crate::command::Answer;
use crate::fleet::Fleet;
use crate::rejection::Rejection;

/// A machine that idled past its TTL is woken: nothing else would, where players choose their servers.
pub(super) fn start(turn: &mut Turn<'_, Fleet>, server: ServerId) -> Result<Answer, Rejection> {
    let known = turn.state().server(server).ok_or(Rejection::UnknownServer(server))?;
    if let Claim::Allocated(allocation) = known.claim {
        return Err(Rejection::ServerAllocated { server, allocation });
    }
    match away::asleep(turn.state(), server) {
        Some(machine) => grow::wake(turn, machine),
        None => away::serving(turn.state(), server)?,
    }
    // A session that waited may have it by now, and its order with it.
    match turn.state().server(server).map(|known| known.claim) {
        Some(Claim::Allocated(_)) | None => {}
        Some(Claim::Free | Claim::Held { .. } | Claim::Reserved(_)) => {
            order_current(turn, server, Intent::Run, Cause::StartedByHand);
        }
    }
    Ok(Answer::Done)
}

/// "The server has been manually stopped (the server transitions to the AVAILABLE state)" ends a hold (seed 003).
pub(super) fn stop(turn: &mut Turn<'_, Fleet>, server: ServerId) -> Result<Answer, Rejection> {
    unclaimed(turn, server)?;
    hold::end(turn, server, HoldEnd::StoppedByHand);
    order_current(turn, server, Intent::Stop, Cause::StoppedByHand);
    Ok(Answer::Done)
}

/// "The server has been manually restarted (the server transitions to the ONLINE state)" ends a hold (seed 003).
pub(super) fn restart(turn: &mut Turn<'_, Fleet>, server: ServerId) -> Result<Answer, Rejection> {
    unclaimed(turn, server)?;
    away::serving(turn.state(), server)?;
    hold::end(turn, server, HoldEnd::RestartedByHand);
    order_current(turn, server, Intent::Renew, Cause::RestartedByHand);
    Ok(Answer::Done)
}

/// Refuses where players are on the server.
fn unclaimed(turn: &Turn<'_, Fleet>, server: ServerId) -> Result<(), Rejection> {
    match turn.state().server(server).ok_or(Rejection::UnknownServer(server))?.claim {
        Claim::Allocated(allocation) => Err(Rejection::ServerAllocated { server, allocation }),
        Claim::Reserved(Reservation { id: reservation, .. }) => {
            Err(Rejection::ServerReserved { server, reservation })
        }
        Claim::Free | Claim::Held { .. } => Ok(()),
    }
}

fn order_current(turn: &mut Turn<'_, Fleet>, server: ServerId, intent: Intent, cause: Cause) {
    let Some(runs) = turn.state().server(server).map(|server| server.configuration) else { return };
    let configuration = turn.state().current(server, runs);
    ordering::order(turn, server, configuration, intent, cause);
}
