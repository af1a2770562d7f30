//! A queue is configured, configured anew, or removed.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{MatchId, TicketId, Turn};

use super::backfill::{has_room, on_teams};
use super::pace::Pace;
use crate::attribute::Facts;
use crate::backfill::BackfillTicket;
use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::spec::QueueSpec;
use crate::ticket::{Cancellation, Stage, Ticket};

/// Tickets stay where the new rules read what was read for the old ones, and are looked at again. Otherwise they end with
/// `RetryRequired`, PlayFab's word for "submit it again", as do tickets and games that are too large now, or name no region any more.
/// Whom the new rules could never match is told so.
pub(super) fn configure(
    turn: &mut Turn<'_, Queue>,
    pace: &mut Pace,
    spec: &Arc<QueueSpec>,
) -> Result<Answer, Rejection> {
    let known = turn.state().spec().cloned();
    if known.as_ref() == Some(spec) {
        return Ok(Answer::Done);
    }
    pace.catch_up(turn);
    let reads_alike = known.is_some_and(|known| spec.reads_as(&known));
    let form = turn.state().form() + u32::from(!reads_alike);
    let change = if reads_alike {
        Change::Limits(spec, Box::new(Engine::new(spec, turn.now(), turn.state().seed)))
    } else {
        Change::Form
    };
    cancel_open(turn, &change);
    // A match keeps the rules of its queue at the moment it is formed, so what was found by the old ones is looked for anew.
    let held: Vec<MatchId> = turn.state().holds.keys().copied().collect();
    for hold in held {
        turn.emit(Event::HoldReleased { hold });
    }
    turn.emit(Event::Configured { spec: spec.clone(), form });
    Ok(Answer::Done)
}

/// "all open tickets of the queue are cancelled".
pub(super) fn close(turn: &mut Turn<'_, Queue>, pace: &mut Pace) -> Result<Answer, Rejection> {
    turn.state().spec().ok_or(Rejection::QueueNotFound)?;
    pace.catch_up(turn);
    cancel_open(turn, &Change::Removal);
    turn.emit(Event::Closed);
    Ok(Answer::Done)
}

/// What tickets may not outlive.
enum Change<'a> {
    /// Of what the rules ask, not of what they read; with an engine that judges by it.
    Limits(&'a QueueSpec, Box<Engine>),
    /// Of what the rules read.
    Form,
    /// There is no queue any more.
    Removal,
}

impl Change<'_> {
    /// Why an open ticket ends by it; `None` where it waits on.
    fn ends(&self, state: &Queue, id: &TicketId) -> Option<Cancellation> {
        let (spec, engine) = match self {
            Self::Limits(spec, engine) => (*spec, engine),
            Self::Form => return Some(Cancellation::RetryRequired),
            Self::Removal => return Some(Cancellation::Server),
        };
        let read = match (state.tickets.get(id), state.backfills.get(id)) {
            (Some(ticket), _) => read_ticket(spec, ticket),
            (None, Some(game)) => read_game(spec, game),
            (None, None) => return None,
        };
        match read {
            Err(_) => Some(Cancellation::RetryRequired),
            Ok(facts) => {
                facts.filter(|facts| engine.is_hopeless(facts)).map(|_| Cancellation::TicketUnmatchable)
            }
        }
    }
}

/// What rules see of a ticket; `None` while not all have joined, who are judged once they have.
fn read_ticket(spec: &QueueSpec, ticket: &Ticket) -> Result<Option<Facts>, Rejection> {
    let (players, max) = (ticket.members.len() + ticket.missing().count(), spec.ticket_size_max());
    if players > usize::try_from(max).unwrap_or(usize::MAX) {
        return Err(Rejection::NumberOfPlayersTooLarge { players, max });
    }
    let facts = Facts::of(spec, &*ticket.members)?;
    Ok(match ticket.stage {
        Stage::Gathering => None,
        Stage::Searching(_) | Stage::Held { .. } | Stage::Matched { .. } | Stage::Canceled { .. } => {
            Some(facts)
        }
    })
}

fn read_game(spec: &QueueSpec, game: &BackfillTicket) -> Result<Option<Facts>, Rejection> {
    let members = on_teams(spec, &game.members)?;
    has_room(spec, &members, game.places)?;
    Ok(Some(Facts::of(spec, &game.party())?))
}

fn cancel_open(turn: &mut Turn<'_, Queue>, change: &Change<'_>) {
    let state = turn.state();
    let open = state.give_ups.iter().map(|(_, id)| *id);
    let going: Vec<_> = open.filter_map(|id| change.ends(state, &id).map(|reason| (id, reason))).collect();
    for (ticket, reason) in going {
        turn.emit(super::canceled(turn.state(), ticket, reason));
    }
}
