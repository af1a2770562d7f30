//! A ticket that is asked for again, by the id it was made under.
//!
//! Whoever makes ids of what is asked puts who asked, and under which key, into the first half of the id, and what was asked into
//! the second. So the same again finds its ticket, and something else under the same key is told apart from it, with nothing
//! kept beside the tickets.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use mainstay_core::TicketId;

use crate::command::Answer;
use crate::engine::Kind;
use crate::queue::Queue;
use crate::rejection::Rejection;

/// Ids that are made of names (RFC 9562, 5.8); all others are random, and their halves say nothing.
const NAMED: usize = 8;
/// Of an id's 128 bits, those behind its first half.
const SECOND_HALF: u32 = 64;

/// The answer to whoever asked for this very ticket before; `None`: it is new.
///
/// # Errors
/// [`Rejection::RequestTypeMismatch`] where the other kind has a ticket of this id, [`Rejection::KeyReused`] where this kind has one
/// of this key that was asked for otherwise.
pub(super) fn asked_before(state: &Queue, kind: Kind, id: TicketId) -> Result<Option<Answer>, Rejection> {
    let (tickets, games) = (&state.tickets, &state.backfills);
    let (known, other, alike) = match kind {
        Kind::Ordinary => (tickets.contains_key(&id), games.contains_key(&id), of_key(tickets, id)),
        Kind::Backfill => (games.contains_key(&id), tickets.contains_key(&id), of_key(games, id)),
    };
    if known {
        return Ok(Some(Answer::Ticket(id)));
    }
    if other {
        return Err(Rejection::RequestTypeMismatch(id));
    }
    alike.map_or(Ok(None), |ticket| Err(Rejection::KeyReused { ticket }))
}

/// A ticket whose id has the same first half: it would stand next to this one.
fn of_key<T>(tickets: &BTreeMap<TicketId, Arc<T>>, id: TicketId) -> Option<TicketId> {
    if id.0.get_version_num() != NAMED {
        return None;
    }
    let key = |id: TicketId| id.0.as_u128() >> SECOND_HALF;
    let (before, after) = (tickets.range(..id).next_back(), tickets.range(id..).next());
    before.into_iter().chain(after).map(|(ticket, _)| *ticket).find(|ticket| key(*ticket) == key(id))
}
