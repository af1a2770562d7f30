//! A ticket that is asked for again, by the id it was made under.
//!
//! Whoever makes ids of what is asked puts who asked, and under which key, into the first half of the id, and what was asked into
//! the second. So the same again finds its ticket, and something else under the same key is told apart from it, with nothing
//! kept beside the tickets.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use mainstay_core::{TicketId, Turn};

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
pub(super) fn asked_before(
    turn: &Turn<'_, Queue>,
    kind: Kind,
    id: TicketId,
) -> Result<Option<Answer>, Rejection> {
    let (state, now) = (turn.state(), turn.now());
    let ordinary = |id: &TicketId| state.kept_ticket(id, now).is_some();
    let game = |id: &TicketId| state.kept_backfill(id, now).is_some();
    let (known, other, alike) = match kind {
        Kind::Ordinary => (ordinary(&id), game(&id), of_key(&state.tickets, id, ordinary)),
        Kind::Backfill => (game(&id), ordinary(&id), of_key(&state.backfills, id, game)),
    };
    if known {
        return Ok(Some(Answer::Ticket(id)));
    }
    if other {
        return Err(Rejection::RequestTypeMismatch(id));
    }
    alike.map_or(Ok(None), |ticket| Err(Rejection::KeyReused { ticket }))
}

/// A ticket whose id has the same first half, and that is kept.
fn of_key<T>(
    tickets: &BTreeMap<TicketId, Arc<T>>,
    id: TicketId,
    is_kept: impl Fn(&TicketId) -> bool,
) -> Option<TicketId> {
    if id.0.get_version_num() != NAMED {
        return None;
    }
    let key = |id: &TicketId| id.0.as_u128() >> SECOND_HALF;
    // They stand next to this one.
    let is_of_key = |ticket: &&TicketId| key(ticket) == key(&id);
    let before = tickets.range(..id).rev().map(|(ticket, _)| ticket).take_while(is_of_key);
    let after = tickets.range(id..).map(|(ticket, _)| ticket).take_while(is_of_key);
    before.chain(after).copied().find(is_kept)
}
