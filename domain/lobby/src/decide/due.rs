//! What is over by itself: members of whom nothing is heard, and seats that nobody came to.

use mainstay_core::Turn;

use super::{ends_if_over, goes};
use crate::command::Answer;
use crate::event::Event;
use crate::limits::DUE_MAX;
use crate::lobby::Lobby;
use crate::session::Gone;

pub(super) fn due(turn: &mut Turn<'_, Lobby>) -> Answer {
    let now = turn.now();
    for _ in 0..DUE_MAX {
        let silent = turn.state().pulses.most_silent().filter(|(at, ..)| *at <= now);
        let seats = turn.state().seats.first().copied().filter(|(at, _)| *at <= now);
        match (silent, seats) {
            (Some((_, session, peer)), _) => goes(turn, session, peer, Gone::Lost),
            (None, Some((_, session))) => {
                turn.emit(Event::SeatsGivenUp { session });
                ends_if_over(turn, session);
            }
            (None, None) => break,
        }
    }
    Answer::Done
}
