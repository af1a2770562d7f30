//! A session that is asked for again, by the id it was made under.
//!
//! Whoever makes ids of what is asked puts who asked, and under which key, into the first half of the id, and what was asked into
//! the second. So the same again finds its session, and something else under the same key is told apart from it, with nothing
//! kept beside the sessions.

use alloc::collections::BTreeMap;

use mainstay_core::SessionId;

use crate::lobby::Lobby;

/// Ids that are made of names (RFC 9562, 5.8); all others are random, and their halves say nothing.
const NAMED: usize = 8;
/// Of an id's 128 bits, those behind its first half.
const SECOND_HALF: u32 = 64;

/// What a key has made, where it was asked for otherwise than a session that is not there: one that goes on, or ended lately.
pub(super) fn of_key(lobby: &Lobby, id: SessionId) -> Option<SessionId> {
    (id.0.get_version_num() == NAMED)
        .then(|| beside(&lobby.sessions, id).or_else(|| beside(&lobby.ended, id)))
        .flatten()
}

/// The id next to one that is not there, on either side, with the same first half.
fn beside<T>(all: &BTreeMap<SessionId, T>, id: SessionId) -> Option<SessionId> {
    let key = |id: SessionId| id.0.as_u128() >> SECOND_HALF;
    let next = [all.range(..id).next_back(), all.range(id..).next()];
    next.into_iter().flatten().map(|(other, _)| *other).find(|other| key(*other) == key(id))
}
