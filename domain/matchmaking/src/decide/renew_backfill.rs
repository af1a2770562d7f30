//! A server says that its game goes on: a ticket that lives by its word is renewed.

use mainstay_core::{TicketId, Turn};

use crate::backfill::BackfillStage;
use crate::command::{Answer, Observation};
use crate::entity::Caller;
use crate::queue::Queue;
use crate::rejection::Rejection;

/// What has run out is not renewed, also where nobody has looked since.
pub(super) fn renew(
    turn: &mut Turn<'_, Queue>,
    ticket: TicketId,
    caller: &Caller,
) -> Result<Answer, Rejection> {
    let state = turn.state();
    let stage = state.backfill(ticket, caller, turn.now())?.stage;
    let ran_out =
        state.leases.as_ref().and_then(|leases| leases.end(ticket)).is_some_and(|end| end <= turn.now());
    match stage {
        BackfillStage::Searching(_) if !ran_out => {}
        BackfillStage::Searching(_) | BackfillStage::Matched { .. } | BackfillStage::Canceled { .. } => {
            return Err(Rejection::AlreadyCompleted(ticket));
        }
    }
    turn.observe(Observation::Heard(ticket));
    Ok(Answer::Done)
}
