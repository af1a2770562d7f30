//! A caller no longer needs its server. The process is not stopped by it (multi-session pattern, seed 002): the server
//! becomes idle.

use mainstay_core::{AllocationId, Turn};

use super::{ordering, waiting};
use crate::allocation::{End, Stage};
use crate::cause::Cause;
use crate::command::Answer;
use crate::event::Event;
use crate::fleet::Fleet;
use crate::rejection::Rejection;

pub(super) fn deallocate(turn: &mut Turn<'_, Fleet>, id: AllocationId) -> Result<Answer, Rejection> {
    let allocation = turn.state().allocation(id, turn.now()).ok_or(Rejection::UnknownAllocation(id))?;
    match &allocation.stage {
        Stage::Ended { .. } => Ok(Answer::Known),
        Stage::Waiting { .. } | Stage::Placed(_) | Stage::Fulfilled { .. } => {
            end(turn, id, End::Deallocated, Cause::Deallocated);
            Ok(Answer::Done)
        }
    }
}

/// Ends an allocation that goes on; its server's process stays as it is.
pub(super) fn end(turn: &mut Turn<'_, Fleet>, id: AllocationId, end: End, cause: Cause) {
    let Some(allocation) = turn.state().allocations.get(&id) else { return };
    let (region, placed) = (allocation.request.region, allocation.placed());
    turn.emit(Event::AllocationEnded { id, server: placed.map(|placed| placed.server), end });
    if let Some(placed) = placed {
        ordering::rest(turn, placed.server, cause);
        waiting::place(turn, region);
    }
}
