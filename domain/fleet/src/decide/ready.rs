//! A game says whether it takes players: `ready` of its allocation, READY of an unclaimed server.

use mainstay_core::{Generation, ServerId, Turn};

use super::asking::asked_by;
use crate::command::Answer;
use crate::event::Event;
use crate::fleet::Fleet;
use crate::rejection::Rejection;
use crate::server::Readiness;

pub(super) fn ready(
    turn: &mut Turn<'_, Fleet>,
    server: ServerId,
    process: Generation,
) -> Result<Answer, Rejection> {
    match asked_by(turn.state(), server, process)?.readiness {
        Readiness::Unready => turn.emit(Event::ServerReadied { server }),
        Readiness::Ready => {}
    }
    Ok(Answer::Done)
}

pub(super) fn unready(
    turn: &mut Turn<'_, Fleet>,
    server: ServerId,
    process: Generation,
) -> Result<Answer, Rejection> {
    asked_by(turn.state(), server, process)?;
    end(turn, server);
    Ok(Answer::Done)
}

/// What its game said of itself no longer holds.
pub(super) fn end(turn: &mut Turn<'_, Fleet>, server: ServerId) {
    match turn.state().server(server).map(|server| server.readiness) {
        Some(Readiness::Ready) => turn.emit(Event::ServerUnreadied { server }),
        Some(Readiness::Unready) | None => {}
    }
}
