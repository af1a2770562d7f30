//! The fleet has answered for a group that is held, or a game wants players that such a group has.

use alloc::sync::Arc;

use mainstay_core::{MatchId, TicketId, Timestamp, Turn};

use super::pace::Pace;
use super::taken_out;
use crate::command::Answer;
use crate::event::Event;
use crate::hold::{ASKED_AGAIN_AFTER, Hold, Outcome};
use crate::queue::Queue;
use crate::ticket::{Searching, Stage};

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
        (Outcome::Refused { code, regions }, Some(hold)) => {
            let again = hold.again(turn.now(), *regions);
            if again > turn.now() && joins_a_game(state, &hold, turn.now()) {
                Event::HoldReleased { hold: hold.id }
            } else {
                Event::PlacementRefused { hold: hold.id, code: Arc::clone(code), again }
            }
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

/// Whether a group that every region has just refused is let go, so that one of it fills a game. "Backfill tickets are given priority during
/// searching" (seed 004); and where no server is to be had, games are the only places to play.
fn joins_a_game(state: &Queue, hold: &Hold, now: Timestamp) -> bool {
    state.paused.is_none() && may_go(state, hold, now) && state.fits_a_game(hold, now)
}

/// A game has come, or changed: groups that every region has refused are let go for it, before anybody who comes later fills it.
pub(super) fn game_wants(turn: &mut Turn<'_, Queue>, game: TicketId) {
    let (state, now) = (turn.state(), turn.now());
    if state.paused.is_some() {
        return;
    }
    let groups = state.at_rest(now).filter(|hold| may_go(state, hold, now));
    let fitting = state.fitting(game, groups, now);
    for hold in fitting {
        turn.emit(Event::HoldReleased { hold });
    }
}

/// Whoever finds no game after all is grouped anew at once, so a group whose tickets came back a moment ago waits first: the fleet is asked no
/// faster for it.
fn may_go(state: &Queue, hold: &Hold, now: Timestamp) -> bool {
    let came_back = |ticket: &TicketId| match state.tickets.get(ticket).map(|ticket| ticket.stage) {
        Some(Stage::Held { searching: Searching { back: Some(back), .. }, .. }) => {
            now.since(back.at) < ASKED_AGAIN_AFTER
        }
        Some(
            Stage::Held { .. }
            | Stage::Gathering
            | Stage::Searching(_)
            | Stage::Matched { .. }
            | Stage::Canceled { .. },
        )
        | None => false,
    };
    !hold.tickets.iter().any(|(ticket, _)| came_back(ticket))
}
