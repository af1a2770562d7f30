//! A backfill ticket is cancelled by the server it belongs to, or by the title.
//!
//! "Clients are not allowed to cancel a backfill ticket they are in. […] To prevent this, only game servers may cancel backfill
//! tickets" (seed 004).

use mainstay_core::{TicketId, Turn};

use super::pace::Pace;
use crate::backfill::BackfillStage;
use crate::command::Answer;
use crate::entity::Caller;
use crate::event::Event;
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::ticket::Cancellation;

pub(super) fn cancel(
    turn: &mut Turn<'_, Queue>,
    pace: &mut Pace,
    id: TicketId,
    caller: &Caller,
) -> Result<Answer, Rejection> {
    let ticket = turn.state().backfill(id, caller, turn.now())?;
    match ticket.stage {
        BackfillStage::Searching(_) => {}
        BackfillStage::Canceled { .. } => return Ok(Answer::Cancelled(0)),
        BackfillStage::Matched { .. } => return Err(Rejection::AlreadyCompleted(id)),
    }
    pace.catch_up(turn);
    turn.emit(Event::BackfillCanceled { ticket: id, reason: Cancellation::Server });
    Ok(Answer::Cancelled(1))
}
