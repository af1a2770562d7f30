//! All tickets of one kind that a player is in are cancelled: the recovery of a player whose tickets are lost.

use alloc::sync::Arc;

use mainstay_core::{TicketId, Turn};

use super::backfill::has_room;
use super::pace::Pace;
use super::{canceled, game_only, self_or_server};
use crate::command::Answer;
use crate::engine::Kind;
use crate::entity::{Caller, Entity};
use crate::event::Event;
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::spec::QueueSpec;
use crate::terms::TakenOut;
use crate::ticket::{Cancellation, Seated};

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
    let event = taken_out(turn.state(), ticket, player);
    turn.emit(event);
    Ok(Answer::Cancelled(1))
}

/// What becomes of a backfill ticket that a player is taken out of. It goes on with the places that it asked for: where these are too few
/// for a match then, it ends by that name.
fn taken_out(state: &Queue, ticket: TicketId, player: &Entity) -> Event {
    match state.backfills.get(&ticket) {
        Some(known) if known.terms.taken_out == TakenOut::GoesOn => {
            let stays = known.members.iter().filter(|seated| seated.member.entity != *player);
            let members: Arc<[Seated]> = stays.cloned().collect();
            let has_room = |spec: &Arc<QueueSpec>| has_room(spec, &members, known.places).is_ok();
            if state.spec().is_some_and(has_room) {
                Event::BackfillChanged { ticket, members, places: known.places }
            } else {
                canceled(state, ticket, Cancellation::TicketUnmatchable)
            }
        }
        Some(_) | None => canceled(state, ticket, Cancellation::Server),
    }
}
