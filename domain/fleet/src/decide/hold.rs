//! A game asks that its machine be kept (seed 003), and says when it no longer needs that.

use core::time::Duration;

use mainstay_core::{Generation, ServerId, Turn};

use super::asking::asked_by;
use super::away;
use crate::claim::HoldEnd;
use crate::command::Answer;
use crate::event::Event;
use crate::fleet::Fleet;
use crate::rejection::Rejection;

/// "By creating a server hold, the server in question transitions into the HELD state." A hold that exists is refreshed:
/// what counts is "the timeout specified in the latest hold request".
pub(super) fn hold(
    turn: &mut Turn<'_, Fleet>,
    server: ServerId,
    process: Generation,
    time: Duration,
) -> Result<Answer, Rejection> {
    let max = turn.state().spec().ok_or(Rejection::NotConfigured)?.hosting.hold_max;
    let known = turn.state().server(server).ok_or(Rejection::UnknownServer(server))?;
    if !known.claim.is_open() {
        return Err(Rejection::NotHoldable { server, status: known.status() });
    }
    asked_by(turn.state(), server, process)?;
    away::serving(turn.state(), server)?;
    if time.is_zero() {
        return Err(Rejection::HoldTooShort);
    }
    if time > max {
        return Err(Rejection::HoldTooLong { asked: time, max });
    }
    let until = turn.now() + time;
    if known.held_until() != Some(until) {
        turn.emit(Event::ServerHeld { server, until });
    }
    Ok(Answer::Held { until })
}

/// "A server hold can be expired manually by calling the DELETE endpoint."
pub(super) fn release(
    turn: &mut Turn<'_, Fleet>,
    server: ServerId,
    process: Generation,
) -> Result<Answer, Rejection> {
    asked_by(turn.state(), server, process)?;
    end(turn, server, HoldEnd::Released);
    Ok(Answer::Done)
}

/// Ends a server's hold, if it has one.
pub(super) fn end(turn: &mut Turn<'_, Fleet>, server: ServerId, end: HoldEnd) {
    if turn.state().server(server).is_some_and(|server| server.held_until().is_some()) {
        turn.emit(Event::HoldEnded { server, end });
    }
}
