//! A deadline has come: allocations that waited long enough fail, with the reason; holds that ran out end; allocations that
//! have lived long enough end; servers that run what the operator replaced are restarted; machines come, go and are lost.

use mainstay_core::Turn;

use super::{deallocate, drain, grow, hold, lose, provider, rollout};
use crate::allocation::End;
use crate::cause::Cause;
use crate::claim::HoldEnd;
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
        turn.emit(Event::AllocationEnded { id, server: None, end: End::PlacementTimedOut(losers) });
    }
    while let Some(&(until, server)) = turn.state().holds.first() {
        if until > turn.now() {
            break;
        }
        hold::end(turn, server, HoldEnd::TimedOut);
    }
    while let Some((due, id, end)) = turn.state().next_expiry() {
        if due > turn.now() {
            break;
        }
        deallocate::end(turn, id, end, Cause::TimedToLive);
    }
    rollout::go_on(turn);
    lose::lose_silent(turn);
    drain::give_up(turn);
    provider::retry(turn);
    grow::grow(turn);
    drain::empty_idle(turn);
    Answer::Done
}
