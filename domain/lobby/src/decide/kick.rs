//! A member is thrown out, and never comes back; nor does one that has gone meanwhile.

use mainstay_core::{SessionId, Turn};

use super::{goes, may, session};
use crate::command::{Answer, Authority};
use crate::id::PeerKey;
use crate::lobby::Lobby;
use crate::rejection::Rejection;
use crate::session::Gone;

/// One that comes twice changes nothing more.
pub(super) fn kick(
    turn: &mut Turn<'_, Lobby>,
    id: SessionId,
    peer: PeerKey,
    by: Authority,
) -> Result<Answer, Rejection> {
    let session = session(turn, id)?;
    may(&session, by)?;
    if session.kicked_peers.contains(&peer) {
        return Ok(Answer::Done);
    }
    if session.player_of(&peer).is_none() {
        return Err(Rejection::NotMember(peer));
    }
    goes(turn, id, peer, Gone::Kicked);
    Ok(Answer::Done)
}
