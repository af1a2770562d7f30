//! A deadline has come: allocations that waited long enough fail, with the reason.

use mainstay_core::Turn;

use crate::allocation::End;
use crate::command::Answer;
use crate::event::Event;
use crate::fleet::Fleet;

pub(super) fn due(turn: &mut Turn<'_, Fleet>) -> Answer {
    while let Some(&(until, id)) = turn.state().waiting_until.first() {
        if until > turn.now() {
            break;
        }
        let region = turn.state().allocations.get(&id).map(|allocation| allocation.request.region);
        let losers = region.map(|region| turn.state().losers(region)).unwrap_or_default();
        turn.emit(Event::AllocationEnded { id, end: End::PlacementTimedOut(losers) });
    }
    Answer::Done
}
