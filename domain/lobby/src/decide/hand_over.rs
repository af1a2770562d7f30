//! The host makes another member host of the next epoch: a controlled migration, or one in the lobby.

use mainstay_core::{SessionId, Timestamp, Turn};

use super::{fresh, may, session, told};
use crate::command::{Answer, Authority, Observation};
use crate::event::Event;
use crate::id::{Epoch, PeerKey};
use crate::lobby::Lobby;
use crate::rejection::Rejection;
use crate::session::CanBeHost;
use crate::tally::Cause;

pub(super) fn hand_over(
    turn: &mut Turn<'_, Lobby>,
    id: SessionId,
    expected: Epoch,
    (by, to): (PeerKey, PeerKey),
    as_of: Option<Timestamp>,
) -> Result<Answer, Rejection> {
    let session = session(turn, id)?;
    // It asks again, for its answer was lost.
    if session.grant.is_some_and(|grant| Some(grant.epoch) == expected.next() && grant.host == to) {
        return Ok(told(turn, id));
    }
    may(&session, Authority::Host { peer: by, epoch: expected })?;
    let next = expected.next().ok_or(Rejection::LastEpoch)?;
    fresh(turn, as_of)?;
    let member = session.members.get(&to).ok_or(Rejection::NotMember(to))?;
    if to == by {
        return Ok(told(turn, id));
    }
    if member.can_be_host == CanBeHost::NotYet {
        return Err(Rejection::Unsuitable(to));
    }
    turn.state().moves(&session)?;
    turn.observe(Observation::Moved { session: id, cause: Cause::Controlled });
    turn.emit(Event::Granted { session: id, epoch: next, host: to });
    Ok(told(turn, id))
}
