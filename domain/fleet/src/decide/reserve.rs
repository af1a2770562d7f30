//! A game of a reservation fleet takes itself out of the pool, and puts itself back ("made and released by the server
//! itself"; players find it in a list, so Mainstay cannot choose the server for them).

use mainstay_core::{Generation, ReservationId, ServerId, Turn};

use super::asking::asked_by;
use super::{away, hold, waiting};
use crate::claim::{Claim, HoldEnd, ReservationEnd};
use crate::command::Answer;
use crate::event::Event;
use crate::fleet::Fleet;
use crate::rejection::Rejection;
use crate::spec::ClaimedBy;

pub(super) fn reserve(
    turn: &mut Turn<'_, Fleet>,
    server: ServerId,
    process: Generation,
    reservation: ReservationId,
) -> Result<Answer, Rejection> {
    let spec = turn.state().spec().ok_or(Rejection::NotConfigured)?;
    let claimed_by = spec.hosting.claimed_by;
    let known = asked_by(turn.state(), server, process)?;
    match known.claim {
        Claim::Allocated(allocation) => return Err(Rejection::ServerAllocated { server, allocation }),
        Claim::Reserved(reservation) => return Ok(Answer::Reserved(reservation)),
        Claim::Free | Claim::Held { .. } => {}
    }
    match claimed_by {
        ClaimedBy::Allocations => return Err(Rejection::NotAReservationFleet),
        ClaimedBy::Reservations => {}
    }
    away::serving(turn.state(), server)?;
    hold::end(turn, server, HoldEnd::Reserved);
    turn.emit(Event::ServerReserved { server, reservation });
    let made = turn.state().server(server).and_then(|server| server.reservation());
    Ok(made.map_or(Answer::Done, Answer::Reserved))
}

pub(super) fn unreserve(
    turn: &mut Turn<'_, Fleet>,
    server: ServerId,
    process: Generation,
) -> Result<Answer, Rejection> {
    asked_by(turn.state(), server, process)?;
    end(turn, server, ReservationEnd::Released);
    Ok(Answer::Done)
}

/// An operator ends whatever a server's game keeps it by: a hold or a reservation.
pub(super) fn release_by_hand(turn: &mut Turn<'_, Fleet>, server: ServerId) -> Result<Answer, Rejection> {
    let known = turn.state().server(server).ok_or(Rejection::UnknownServer(server))?;
    if let Claim::Allocated(allocation) = known.claim {
        return Err(Rejection::ServerAllocated { server, allocation });
    }
    hold::end(turn, server, HoldEnd::Released);
    end(turn, server, ReservationEnd::ReleasedByHand);
    Ok(Answer::Done)
}

/// Ends a server's reservation, if it has one, for an order that follows in the same turn.
pub(super) fn end_without_placing(turn: &mut Turn<'_, Fleet>, server: ServerId, end: ReservationEnd) {
    if turn.state().server(server).is_some_and(|server| server.reservation().is_some()) {
        turn.emit(Event::ReservationEnded { server, end });
    }
}

/// Ends a server's reservation, if it has one.
pub(super) fn end(turn: &mut Turn<'_, Fleet>, server: ServerId, end: ReservationEnd) {
    let Some(known) = turn.state().server(server).filter(|server| server.reservation().is_some()) else {
        return;
    };
    let region = turn.state().machine(known.machine).map(|machine| machine.region);
    turn.emit(Event::ReservationEnded { server, end });
    if let Some(region) = region {
        waiting::place(turn, region);
    }
}
