//! A hosted process or its session has ended, and its backfill tickets with it: "no backfill outlives its server".

use mainstay_core::{Tenure, TicketId, Turn};

use super::pace::Pace;
use crate::command::Answer;
use crate::event::Event;
use crate::queue::Queue;
use crate::ticket::Cancellation;

/// Said again, or of one that has none, it changes nothing.
pub(super) fn over(turn: &mut Turn<'_, Queue>, pace: &mut Pace, tenure: &Tenure) -> Answer {
    let Some(open) = turn.state().hosted.get(tenure) else { return Answer::Cancelled(0) };
    let open: alloc::vec::Vec<TicketId> = open.iter().copied().collect();
    pace.catch_up(turn);
    for ticket in &open {
        turn.emit(Event::BackfillCanceled { ticket: *ticket, reason: Cancellation::Server });
    }
    Answer::Cancelled(open.len())
}
