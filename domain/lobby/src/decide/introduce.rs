//! A member says of itself what has changed.

use alloc::sync::Arc;

use mainstay_core::{SessionId, Turn};

use super::{check_addresses, heard, session, told};
use crate::command::Answer;
use crate::event::Event;
use crate::id::PeerKey;
use crate::lobby::Lobby;
use crate::rejection::Rejection;
use crate::session::CanBeHost;

pub(super) fn introduce(
    turn: &mut Turn<'_, Lobby>,
    id: SessionId,
    peer: PeerKey,
    can_be_host: CanBeHost,
    addresses: &[Arc<str>],
) -> Result<Answer, Rejection> {
    let session = session(turn, id)?;
    check_addresses(addresses)?;
    let member = session.members.get(&peer).ok_or(Rejection::NotMember(peer))?;
    if member.can_be_host != can_be_host || member.addresses != addresses {
        turn.emit(Event::Introduced { session: id, peer, can_be_host, addresses: addresses.to_vec() });
    }
    heard(turn, id, peer);
    Ok(told(turn, id))
}
