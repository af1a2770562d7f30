//! The fleet has answered for a group that is held.

use alloc::sync::Arc;

use mainstay_core::{MatchId, Turn};

use super::pace::Pace;
use super::taken_out;
use crate::command::Answer;
use crate::event::Event;
use crate::hold::Outcome;
use crate::queue::Queue;

/// An answer that comes twice, or for a group that is no longer held, changes nothing: what that group's allocation is owed, its
/// end, stands apart.
pub(super) fn answered(
    turn: &mut Turn<'_, Queue>,
    pace: &mut Pace,
    id: MatchId,
    outcome: &Outcome,
) -> Answer {
    let state = turn.state();
    let hold = state.asked.get(&id).and_then(|hold| state.holds.get(hold)).cloned();
    let event = match (outcome, hold) {
        (Outcome::Placed(server), Some(hold)) => {
            Event::MatchPlaced { hold: hold.id, server: Arc::clone(server) }
        }
        (Outcome::Refused { code }, Some(hold)) => {
            let again = hold.again(turn.now());
            Event::PlacementRefused { hold: hold.id, code: Arc::clone(code), again }
        }
        (Outcome::Undone, _) if state.undos.contains_key(&id) => Event::PlacementUndone { id },
        (Outcome::Placed(_) | Outcome::Refused { .. }, None) | (Outcome::Undone, _) => return Answer::Done,
    };
    pace.catch_up(turn);
    turn.emit(event);
    // Where it was placed: else there is no such match.
    taken_out::by_match(turn, id);
    Answer::Done
}
