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
    let region = allocation.request.region;
    let server = match &allocation.stage {
        Stage::Ended { .. } => return Ok(Answer::Known),
        Stage::Waiting { .. } => None,
        Stage::Placed(placed) | Stage::Fulfilled { placed, .. } => Some(placed.server),
    };
    turn.emit(Event::AllocationEnded { id, end: End::Deallocated });
    if let Some(server) = server {
        ordering::rest(turn, server, Cause::Deallocated);
        waiting::place(turn, region);
    }
    Ok(Answer::Done)
}
