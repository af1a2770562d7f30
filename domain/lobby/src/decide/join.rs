//! Somebody comes in, or comes again.

use mainstay_core::{SessionId, Turn};

use super::{MEMBER_BYTES_MAX, check_joiner, heard, introduce, room_for, session, told};
use crate::command::{Answer, Joiner};
use crate::event::Event;
use crate::id::PeerKey;
use crate::limits::{KICKED_MAX, RENEW_EVERY};
use crate::lobby::Lobby;
use crate::pulse::Lease;
use crate::rejection::Rejection;
use crate::session::{Gone, Session};
use crate::settings::Joining;

pub(super) fn join(turn: &mut Turn<'_, Lobby>, id: SessionId, by: &Joiner) -> Result<Answer, Rejection> {
    let session = session(turn, id)?;
    check_joiner(by)?;
    if session.kicked.contains(&by.player) || session.kicked_peers.contains(&by.peer) {
        return Err(Rejection::Kicked);
    }
    match session.members.get(&by.peer) {
        // It comes again: its answer was lost, or its token has run out.
        Some(known) if known.player == by.player => {
            return introduce::introduce(turn, id, by.peer, by.can_be_host, &by.addresses);
        }
        Some(_) => return Err(Rejection::KeyTaken),
        None if session.is_replaced(&by.peer) => return Err(Rejection::Replaced),
        None => {}
    }
    let former = session.peer_of(&by.player);
    has_room(turn.state(), &session, by, former)?;
    is_settled(turn, &session)?;
    room_for(turn, MEMBER_BYTES_MAX)?;
    if let Some(peer) = former {
        turn.emit(Event::Went { session: id, peer, gone: Gone::Replaced });
    }
    turn.emit(Event::Joined {
        session: id,
        peer: by.peer,
        player: by.player.clone(),
        can_be_host: by.can_be_host,
        addresses: by.addresses.clone(),
    });
    heard(turn, id, by.peer);
    Ok(told(turn, id))
}

fn has_room(lobby: &Lobby, session: &Session, by: &Joiner, former: Option<PeerKey>) -> Result<(), Rejection> {
    if let Some(former) = former {
        // Without its old host a session that does not move would end with this very step.
        let was_host = session.grant.is_some_and(|grant| grant.host == former);
        return if was_host { lobby.moves(session) } else { Ok(()) };
    }
    if session.seats.contains(&by.player) {
        return Ok(());
    }
    let was_here = session.was_here(&by.player);
    if session.settings.joining == Joining::Closed && !was_here {
        return Err(Rejection::Closed);
    }
    if session.kicked.len() >= KICKED_MAX && !was_here {
        return Err(Rejection::TooManyKicked);
    }
    if session.free() == 0 {
        return Err(Rejection::Full { size: session.settings.size });
    }
    Ok(())
}

/// A session on its way to another host takes nobody: who would let it in? The first of the players of a match finds nobody,
/// and comes in.
fn is_settled(turn: &Turn<'_, Lobby>, session: &Session) -> Result<(), Rejection> {
    let has_settled = match turn.state().lease(session, turn.now()) {
        Lease::Held { .. } => true,
        Lease::Vacant | Lease::Awaited { .. } | Lease::Lost => {
            session.grant.is_none() || session.members.is_empty()
        }
    };
    if has_settled {
        return Ok(());
    }
    // One that cannot have another host is on its way to none.
    turn.state().goes_on(session, turn.now())?;
    Err(Rejection::Moving { epoch: session.epoch(), again: RENEW_EVERY / 2 })
}
