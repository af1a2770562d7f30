//! All tickets of one kind that a player is in are cancelled: the recovery of a player whose tickets are lost.

use mainstay_core::Turn;

use super::pace::Pace;
use super::{canceled, self_or_server, server_only};
use crate::command::Answer;
use crate::entity::{Caller, Entity};
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::ticket::Cancellation;

pub(super) fn tickets(
    turn: &mut Turn<'_, Queue>,
    pace: &mut Pace,
    player: &Entity,
    caller: &Caller,
) -> Result<Answer, Rejection> {
    self_or_server(caller, player)?;
    turn.state().spec().ok_or(Rejection::QueueNotFound)?;
    let reason = match caller {
        Caller::Player(_) => Cancellation::User,
        Caller::Server(_) | Caller::Title => Cancellation::Server,
    };
    let Some(ticket) = turn.state().playing.get(player).and_then(|open| open.ticket) else {
        return Ok(Answer::Cancelled(0));
    };
    pace.catch_up(turn);
    turn.emit(canceled(turn.state(), ticket, reason));
    Ok(Answer::Cancelled(1))
}

/// "The game server can recover a user from this situation by calling CancelAllServerBackfillTicketsForPlayer, which removes
/// all backfill tickets the user is in." That ticket may be a crashed server's, so it need not be the caller's own.
pub(super) fn backfills(
    turn: &mut Turn<'_, Queue>,
    pace: &mut Pace,
    player: &Entity,
    caller: &Caller,
) -> Result<Answer, Rejection> {
    server_only(caller)?;
    turn.state().spec().ok_or(Rejection::QueueNotFound)?;
    let Some(ticket) = turn.state().playing.get(player).and_then(|open| open.backfill) else {
        return Ok(Answer::Cancelled(0));
    };
    pace.catch_up(turn);
    turn.emit(canceled(turn.state(), ticket, Cancellation::Server));
    Ok(Answer::Cancelled(1))
}
