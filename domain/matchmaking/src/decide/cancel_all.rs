//! All tickets of one kind that a player is in are cancelled: the recovery of a player whose tickets are lost.

use mainstay_core::Turn;

use super::pace::Pace;
use super::{canceled, game_only, self_or_server, taken_out};
use crate::command::Answer;
use crate::engine::Kind;
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
        Caller::Server(_) | Caller::Hosted(_) | Caller::Title => Cancellation::Server,
    };
    let Some(ticket) = turn.state().playing.of(player, Kind::Ordinary) else {
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
    game_only(caller)?;
    turn.state().spec().ok_or(Rejection::QueueNotFound)?;
    let Some(ticket) = turn.state().playing.of(player, Kind::Backfill) else {
        return Ok(Answer::Cancelled(0));
    };
    pace.catch_up(turn);
    taken_out::by_server(turn, ticket, player);
    Ok(Answer::Cancelled(1))
}
