//! A ticket is cancelled by one of its players, a server or the title.

use mainstay_core::{TicketId, Turn};

use super::pace::Pace;
use crate::command::Answer;
use crate::entity::Caller;
use crate::event::Event;
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::ticket::{Cancellation, Stage};

/// Whether the caller is of those who may: servers, the title, and players who have joined.
pub(super) fn cancel(
    turn: &mut Turn<'_, Queue>,
    pace: &mut Pace,
    id: TicketId,
    caller: &Caller,
) -> Result<Answer, Rejection> {
    let ticket = turn.state().ordinary_for(id, caller, turn.now())?;
    let reason = match caller {
        Caller::Server(_) | Caller::Title => Cancellation::Server,
        Caller::Hosted(_) => {
            return Err(Rejection::Unauthorized { who: caller.word(), why: super::HOSTED_MAY });
        }
        Caller::Player(player) if ticket.has(player) => Cancellation::User,
        Caller::Player(player) if ticket.invited().contains(player) => {
            return Err(Rejection::NotJoined(player.clone()));
        }
        Caller::Player(_) => {
            return Err(Rejection::Unauthorized { who: "a player", why: "it is not in this ticket" });
        }
    };
    match ticket.stage {
        Stage::Gathering | Stage::Searching(_) | Stage::Held { .. } => {}
        // "If the ticket is already cancelled, nothing happens."
        Stage::Canceled { .. } => return Ok(Answer::Cancelled(0)),
        Stage::Matched { .. } => return Err(Rejection::AlreadyCompleted(id)),
    }
    pace.catch_up(turn);
    turn.emit(Event::TicketCanceled { ticket: id, reason });
    Ok(Answer::Cancelled(1))
}
