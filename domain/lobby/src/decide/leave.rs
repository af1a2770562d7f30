//! A member leaves.

use mainstay_core::{SessionId, Turn};

use super::{goes, session};
use crate::command::Answer;
use crate::id::PeerKey;
use crate::lobby::Lobby;
use crate::rejection::Rejection;
use crate::session::Gone;

pub(super) fn leave(turn: &mut Turn<'_, Lobby>, id: SessionId, peer: PeerKey) -> Result<Answer, Rejection> {
    if !session(turn, id)?.members.contains_key(&peer) {
        return Err(Rejection::NotMember(peer));
    }
    goes(turn, id, peer, Gone::Left);
    Ok(Answer::Done)
}
