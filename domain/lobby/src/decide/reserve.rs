//! A session for the players of a match, and its undo.

use alloc::collections::BTreeSet;

use mainstay_core::{SessionId, Turn};

use super::{SESSION_BYTES, check_player, room_for_session, told};
use crate::Player;
use crate::command::Answer;
use crate::event::Event;
use crate::id::Service;
use crate::limits::{PLAYER_BYTES_MAX, SEATS_KEPT};
use crate::lobby::Lobby;
use crate::rejection::Rejection;
use crate::session::Ending;
use crate::settings::{Settings, Unfit};

pub(super) fn reserve(
    turn: &mut Turn<'_, Lobby>,
    id: SessionId,
    service: Service,
    settings: &Settings,
    players: &[Player],
) -> Result<Answer, Rejection> {
    match turn.state().session(id) {
        // The id is derived from the match, so nobody else's session has it.
        Ok(_known) => return Ok(told(turn, id)),
        Err(Rejection::NotFound(_)) => {}
        Err(over) => return Err(over),
    }
    settings.check()?;
    players.iter().try_for_each(check_player)?;
    let different: BTreeSet<&Player> = players.iter().collect();
    let fits = usize::try_from(settings.size).is_ok_and(|size| players.len() <= size);
    if players.is_empty() || different.len() != players.len() || !fits {
        return Err(Unfit::Players { players: players.len(), size: settings.size }.into());
    }
    room_for_session(turn, SESSION_BYTES + settings.weight() + players.len() * (PLAYER_BYTES_MAX + 48))?;
    turn.emit(Event::Opened {
        session: id,
        service,
        settings: settings.clone(),
        seats: players.to_vec(),
        seats_until: turn.now() + SEATS_KEPT,
    });
    Ok(told(turn, id))
}

/// One that comes before what it undoes leaves word, so that what comes late is refused.
pub(super) fn withdraw(turn: &mut Turn<'_, Lobby>, id: SessionId) -> Answer {
    if !turn.state().has_ended(id) {
        turn.emit(Event::Ended { session: id, ending: Ending::Withdrawn });
    }
    Answer::Done
}
