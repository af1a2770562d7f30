//! Whether a service's sessions move.

use mainstay_core::Turn;

use crate::command::Answer;
use crate::event::Event;
use crate::id::Service;
use crate::lobby::Lobby;
use crate::settings::Support;

pub(super) fn configure(turn: &mut Turn<'_, Lobby>, service: Service, migration: Support) -> Answer {
    if turn.state().support(service) != migration {
        turn.emit(Event::Configured { service, migration });
    }
    Answer::Done
}
