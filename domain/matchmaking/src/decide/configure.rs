//! A queue is configured, configured anew, or removed.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{MatchId, TicketId, Turn};

use super::pace::Pace;
use crate::command::Answer;
use crate::event::Event;
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::spec::QueueSpec;
use crate::ticket::{Cancellation, Ticket};

/// Tickets stay where the new rules read what was read for the old ones, and are looked at again. Otherwise they end with
/// `RetryRequired`, PlayFab's word for "submit it again", as do tickets that are too large now.
pub(super) fn configure(
    turn: &mut Turn<'_, Queue>,
    pace: &mut Pace,
    spec: &Arc<QueueSpec>,
) -> Result<Answer, Rejection> {
    let known = turn.state().spec().cloned();
    if known.as_ref() == Some(spec) {
        return Ok(Answer::Done);
    }
    pace.catch_up(turn);
    let reads_alike = known.is_some_and(|known| spec.reads_as(&known));
    let form = turn.state().form() + u32::from(!reads_alike);
    let size_max = usize::try_from(spec.ticket_size_max()).unwrap_or(usize::MAX);
    let fits = |ticket: &Ticket| ticket.members.len() + ticket.missing().count() <= size_max;
    let keep = if reads_alike { Keep::WhatFits(&fits) } else { Keep::Nothing };
    cancel_open(turn, Cancellation::RetryRequired, &keep);
    // A match keeps the rules of its queue at the moment it is formed, so what was found by the old ones is looked for anew.
    let held: Vec<MatchId> = turn.state().holds.keys().copied().collect();
    for hold in held {
        turn.emit(Event::HoldReleased { hold });
    }
    turn.emit(Event::Configured { spec: spec.clone(), form });
    Ok(Answer::Done)
}

/// "all open tickets of the queue are cancelled".
pub(super) fn close(turn: &mut Turn<'_, Queue>, pace: &mut Pace) -> Result<Answer, Rejection> {
    turn.state().spec().ok_or(Rejection::QueueNotFound)?;
    pace.catch_up(turn);
    cancel_open(turn, Cancellation::Server, &Keep::Nothing);
    turn.emit(Event::Closed);
    Ok(Answer::Done)
}

/// Which tickets outlive a change.
enum Keep<'a> {
    /// Backfill tickets, and the ordinary ones of which this is true.
    WhatFits(&'a dyn Fn(&Ticket) -> bool),
    Nothing,
}

fn cancel_open(turn: &mut Turn<'_, Queue>, reason: Cancellation, keep: &Keep<'_>) {
    let state = turn.state();
    let open = state.give_ups.iter().map(|(_, id)| *id);
    let goes = |id: &TicketId| match keep {
        Keep::Nothing => true,
        Keep::WhatFits(fits) => state.tickets.get(id).is_some_and(|ticket| !fits(ticket)),
    };
    let going: Vec<TicketId> = open.filter(goes).collect();
    for ticket in going {
        turn.emit(super::canceled(turn.state(), ticket, reason));
    }
}
