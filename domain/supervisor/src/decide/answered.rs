//! The first answer to a query is remembered, so that a restart of the agent asks nothing twice of a game that plays.

use mainstay_core::{ServerId, Turn};

use crate::decide::live;
use crate::{Answer, Event, Life, RunNumber, Stage, Supervisor};

pub(super) fn decide(turn: &mut Turn<'_, Supervisor>, server: ServerId, run: RunNumber) -> Answer {
    let waits = match live(turn, server, run) {
        Ok((slot, _)) => matches!(slot.life, Life::Up { stage: Stage::Started, .. }),
        Err(ignored) => return Answer::Ignored(ignored),
    };
    if waits {
        turn.emit(Event::Answered { server });
    }
    Answer::Done
}
