//! The compare-and-swap: a member would be host of the epoch after the one it knows.

use mainstay_core::{SessionId, Timestamp, Turn};

use super::{fresh, heard, newest, session, told};
use crate::command::{Answer, Observation};
use crate::event::Event;
use crate::id::{Epoch, PeerKey};
use crate::limits::LEASE;
use crate::lobby::Lobby;
use crate::pulse::{Doubt, Lease};
use crate::rejection::Rejection;
use crate::session::{CanBeHost, Session};
use crate::settings::Takeover;
use crate::tally::Cause;

pub(super) fn claim(
    turn: &mut Turn<'_, Lobby>,
    id: SessionId,
    expected: Epoch,
    by: PeerKey,
    as_of: Option<Timestamp>,
) -> Result<Answer, Rejection> {
    let session = session(turn, id)?;
    let member = session.members.get(&by).ok_or(Rejection::NotMember(by))?;
    // It asks again, for its answer was lost.
    if session.grant.is_some_and(|grant| Some(grant.epoch) == expected.next() && grant.host == by) {
        return Ok(told(turn, id));
    }
    newest(&session, expected)?;
    let next = expected.next().ok_or(Rejection::LastEpoch)?;
    fresh(turn, as_of)?;
    // Its own lease keeps nobody else out, and it moves nothing: a host that met a side without a certificate takes an epoch that outranks
    // it, whatever it thinks of being host by now.
    let is_host = session.grant.is_some_and(|grant| grant.host == by);
    if !is_host {
        if member.can_be_host == CanBeHost::NotYet {
            return Err(Rejection::Unsuitable(by));
        }
        if session.grant.is_some() {
            turn.state().moves(&session)?;
            is_free(turn, &session, by)?;
            is_next(turn, &session, by)?;
        }
    }
    if session.grant.is_some() && !is_host {
        turn.observe(Observation::Moved { session: id, cause: Cause::Catastrophic });
    }
    turn.emit(Event::Granted { session: id, epoch: next, host: by });
    heard(turn, id, by);
    Ok(told(turn, id))
}

fn is_free(turn: &Turn<'_, Lobby>, session: &Session, by: PeerKey) -> Result<(), Rejection> {
    let (state, now) = (turn.state(), turn.now());
    let until = match state.lease(session, now) {
        Lease::Vacant | Lease::Lost => return Ok(()),
        Lease::Held { until } | Lease::Awaited { until } => until,
    };
    let again = until.since(now).min(LEASE);
    match session.settings.takeover {
        Takeover::Strict => Err(Rejection::LeaseToEnd { until, again }),
        Takeover::Fast => {
            let Doubt { reports, needed } = state.pulses.doubt(session, by, now);
            if reports >= needed {
                return Ok(());
            }
            Err(Rejection::LeaseStands { until, again, reports, needed })
        }
    }
}

fn is_next(turn: &Turn<'_, Lobby>, session: &Session, by: PeerKey) -> Result<(), Rejection> {
    let (state, now) = (turn.state(), turn.now());
    match state.pulses.others_first(session, by, now) {
        Some(until) => Err(Rejection::OthersFirst { until, again: until.since(now) }),
        None => Ok(()),
    }
}
