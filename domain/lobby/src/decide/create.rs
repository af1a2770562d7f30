//! A session whose first host is whoever makes it.

use alloc::vec::Vec;

use mainstay_core::{SessionId, Turn};

use super::{MEMBER_BYTES_MAX, SESSION_BYTES, again, check_joiner, heard, room_for_session, told};
use crate::command::{Answer, Joiner, Observation, Pace, Renewal};
use crate::event::Event;
use crate::id::{Epoch, Service};
use crate::lobby::Lobby;
use crate::rejection::Rejection;
use crate::session::CanBeHost;
use crate::settings::Settings;

pub(super) fn create(
    turn: &mut Turn<'_, Lobby>,
    id: SessionId,
    service: Service,
    settings: &Settings,
    by: &Joiner,
) -> Result<Answer, Rejection> {
    match turn.state().session(id) {
        Ok(known) => {
            let is_own = known.members.get(&by.peer).is_some_and(|member| member.player == by.player);
            return if is_own { Ok(told(turn, id)) } else { Err(Rejection::Taken(id)) };
        }
        Err(Rejection::NotFound(_)) => {
            if let Some(session) = again::of_key(turn.state(), id) {
                return Err(Rejection::KeyReused(session));
            }
        }
        Err(over) => return Err(over),
    }
    settings.check()?;
    check_joiner(by)?;
    let first = Epoch::NONE.next().ok_or(Rejection::LastEpoch)?;
    room_for_session(turn, SESSION_BYTES + settings.weight() + MEMBER_BYTES_MAX)?;
    turn.emit(Event::Opened {
        session: id,
        service,
        settings: settings.clone(),
        seats: Vec::new(),
        seats_until: turn.now(),
    });
    turn.emit(Event::Joined {
        session: id,
        peer: by.peer,
        player: by.player.clone(),
        // It is the host.
        can_be_host: CanBeHost::Yes,
        addresses: by.addresses.clone(),
    });
    turn.emit(Event::Granted { session: id, epoch: first, host: by.peer });
    heard(turn, id, by.peer);
    // It is there: it asks.
    turn.observe(Observation::Renewed {
        session: id,
        epoch: first,
        host: by.peer,
        renewal: Renewal::Now(Pace::Usual),
        hears: Vec::new(),
    });
    Ok(told(turn, id))
}
