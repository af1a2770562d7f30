//! A queue is configured, configured anew, or removed.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{MatchId, TicketId, Turn};

use super::backfill::{has_room, on_teams};
use super::pace::Pace;
use crate::attribute::Facts;
use crate::backfill::{BackfillStage, BackfillTicket};
use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::spec::QueueSpec;
use crate::ticket::{Cancellation, Stage, Ticket};

/// Tickets stay where the new rules read what was read for the old ones, and are looked at again. Otherwise they end with
/// `RetryRequired`, PlayFab's word for "submit it again", as do tickets and games that are too large now, name no region any more, or name
/// regions and list values that there is no room for beside those of who came before.
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
    let mut change = if reads_alike {
        Change::Limits(spec, Box::new(Engine::new(spec, turn.now(), turn.state().seed)))
    } else {
        Change::Form
    };
    cancel_open(turn, &mut change);
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
    cancel_open(turn, &mut Change::Removal);
    turn.emit(Event::Closed);
    Ok(Answer::Done)
}

/// What tickets may not outlive.
enum Change<'a> {
    /// Of what the rules ask, not of what they read; with an engine that judges by it, and keeps the names of all that stay.
    Limits(&'a QueueSpec, Box<Engine>),
    /// Of what the rules read.
    Form,
    /// There is no queue any more.
    Removal,
}

impl Change<'_> {
    /// Why an open ticket ends by it; `None` where it waits on. Asked in the order in which tickets came: who came first has the room.
    fn ends(&mut self, state: &Queue, id: &TicketId) -> Option<Cancellation> {
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
            Ok(None) => None,
            Ok(Some(facts)) if engine.is_hopeless(&facts) => Some(Cancellation::TicketUnmatchable),
            Ok(Some(facts)) if engine.has_room(&facts) => {
                // For as long as the engine judges: nobody comes back from that.
                let _stays = engine.keep(&facts);
                None
            }
            Ok(Some(_)) => Some(Cancellation::RetryRequired),
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

/// Where a ticket is in the order of all that search, or would; `None` of one whose players have not all joined.
fn arrival(state: &Queue, id: &TicketId) -> Option<u64> {
    let of_ticket = |stage| match stage {
        Stage::Searching(searching) | Stage::Held { searching, .. } => Some(searching.arrival),
        Stage::Gathering | Stage::Matched { .. } | Stage::Canceled { .. } => None,
    };
    let of_game = |stage| match stage {
        BackfillStage::Searching(searching) => Some(searching.arrival),
        BackfillStage::Matched { .. } | BackfillStage::Canceled { .. } => None,
    };
    let ticket = state.tickets.get(id).and_then(|ticket| of_ticket(ticket.stage));
    ticket.or_else(|| state.backfills.get(id).and_then(|game| of_game(game.stage)))
}

fn read_game(spec: &QueueSpec, game: &BackfillTicket) -> Result<Option<Facts>, Rejection> {
    let members = on_teams(spec, &game.members)?;
    has_room(spec, &members, game.places)?;
    Ok(Some(Facts::of(spec, &game.party())?))
}

fn cancel_open(turn: &mut Turn<'_, Queue>, change: &mut Change<'_>) {
    let state = turn.state();
    let mut open: Vec<_> = state.give_ups.iter().map(|(_, id)| (arrival(state, id), *id)).collect();
    open.sort_unstable();
    let ends = |(_, id)| change.ends(state, &id).map(|reason| (id, reason));
    let going: Vec<_> = open.into_iter().filter_map(ends).collect();
    for (ticket, reason) in going {
        turn.emit(super::canceled(turn.state(), ticket, reason));
    }
}
