//! How far a turn looks into what is due: expiries and searches in the order of their moments, a bounded number in each turn.
//!
//! Whether a search runs in the turn of its own moment or later, and whether the engine was rebuilt in between, must not be
//! seen in what it finds. So everything due is looked at in one order; what finds nothing leaves no trace; and where a turn
//! ends with something due still open, it says durably how far it came. Only whose time is up does not wait for searches, and what
//! a queue is far behind with is looked at as one, which is durable too.

use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::{MatchId, TicketId, Timestamp, Turn};

use super::taken_out;
use crate::command::Observation;
use crate::engine::Look;
use crate::event::Event;
use crate::queue::Queue;
use crate::ticket::{Back, Cancellation, LetGo, Searching, Stage};

/// The most tickets looked at, and the most that give up, in one turn: at 4 µs each some two milliseconds, after which others
/// run.
const LOOKS_MAX: u32 = 512;
/// The effort of one of them, some 3 µs. Where hardly any group keeps the rules a search takes a hundred times as much, and a call of that
/// queue would wait a second for a turn of 512 such.
const EFFORT_OF_ONE: u32 = 1_024;

/// How far a queue may fall behind before it looks but once at whoever had several moments meanwhile. What it does later than others would
/// is so at most a look at all who are due and this.
const BEHIND_MAX: Duration = Duration::from_secs(1);

/// What is left of a turn.
#[derive(Debug)]
pub(super) struct Pace {
    left: u32,
}

/// What comes next.
enum Next {
    GiveUp(TicketId),
    /// It was taken in, and cannot be read, or has no room.
    TurnedAway(TicketId, Cancellation),
    Search,
    Nothing,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self { left: LOOKS_MAX }
    }

    /// Looks at what came due before the command, as long as it finds nothing: the rest waits for [`Pace::work`], so that a
    /// command is judged by the state its caller could know. Called once the command is sure to be taken.
    pub(super) fn catch_up(&mut self, turn: &mut Turn<'_, Queue>) {
        while self.left > 0 && matches!(next(turn.state(), turn.now()), Next::Search) {
            turn.observe(Observation::Look);
            self.looked(turn.state());
            match turn.state().engine.as_ref().map(|live| &live.look) {
                Some(Look::Nobody(_)) => {}
                Some(Look::Match(..) | Look::Batch(..) | Look::Nothing) | None => return,
            }
        }
    }

    /// A search has run.
    fn looked(&mut self, state: &Queue) {
        let effort = state.engine.as_ref().map_or(0, |live| live.engine.effort());
        self.left = self.left.saturating_sub(1 + effort / EFFORT_OF_ONE);
    }

    /// Works off everything due.
    pub(super) fn work(mut self, turn: &mut Turn<'_, Queue>) {
        loop {
            // A configuration takes the engine away.
            if turn.state().engine.is_none() || turn.state().leases.is_none() {
                turn.observe(Observation::Open);
            }
            let next = next(turn.state(), turn.now());
            if self.left == 0 && !matches!(next, Next::Nothing) {
                end_in_time(turn);
                return;
            }
            match next {
                Next::Nothing => return,
                Next::GiveUp(ticket) => {
                    self.left = self.left.saturating_sub(1);
                    give_up(turn, ticket);
                }
                Next::TurnedAway(ticket, reason) => {
                    self.left = self.left.saturating_sub(1);
                    turn.emit(super::canceled(turn.state(), ticket, reason));
                }
                Next::Search => {
                    turn.observe(Observation::Look);
                    self.looked(turn.state());
                    let state = turn.state();
                    let (batch, found) = match state.engine.as_ref().map(|live| &live.look) {
                        Some(Look::Match(_, found)) => (None, core::slice::from_ref(found)),
                        // One decision, so one turn: a rebuilt engine never stands in the midst of it.
                        Some(Look::Batch(cursor, found)) => (Some(*cursor), &found[..]),
                        Some(Look::Nobody(_) | Look::Nothing) | None => continue,
                    };
                    let formed: Vec<Event> = found.iter().filter_map(|found| state.formed(found)).collect();
                    let ids: Vec<MatchId> = formed.iter().filter_map(match_of).collect();
                    formed.into_iter().for_each(|formed| turn.emit(formed));
                    if let Some(cursor) = batch {
                        turn.observe(Observation::BatchFormed(cursor));
                    }
                    ids.into_iter().for_each(|id| taken_out::by_match(turn, id));
                }
            }
        }
    }
}

/// Ends a turn that leaves something due. Whoever's time is up by now ends with it, also where searches of earlier moments are still
/// to come: a deadline waits for no search.
fn end_in_time(turn: &mut Turn<'_, Queue>) {
    for _ in 0..LOOKS_MAX {
        let Some((_, ticket)) = time_is_up(turn.state(), turn.now()) else { break };
        give_up(turn, ticket);
    }
    let state = turn.state();
    if !matches!(next(state, turn.now()), Next::Nothing) {
        let looked_at = state.engine.as_ref().map_or(state.looked_at.until, |live| live.looked_at);
        turn.emit(state.behind(turn.now(), BEHIND_MAX).map_or(Event::Searched(looked_at), Event::Merged));
    }
}

fn give_up(turn: &mut Turn<'_, Queue>, ticket: TicketId) {
    let reason = given_up(turn.state(), ticket);
    turn.emit(super::canceled(turn.state(), ticket, reason));
}

/// The match that an event forms, if it does.
fn match_of(event: &Event) -> Option<MatchId> {
    if let Event::MatchFormed { id, .. } = event { Some(*id) } else { None }
}

/// Why a ticket's time is up: others were found for it and no server, or nobody. All of a group that got none end for that, each at its time:
/// the first of them lets the group go, which is not why the others end.
fn given_up(state: &Queue, id: TicketId) -> Cancellation {
    match state.tickets.get(&id).map(|ticket| ticket.stage) {
        Some(
            Stage::Held { .. }
            | Stage::Searching(Searching { back: Some(Back { why: LetGo::NoServer, .. }), .. }),
        ) => Cancellation::ServerAllocationFailed,
        Some(Stage::Gathering | Stage::Searching(_) | Stage::Matched { .. } | Stage::Canceled { .. })
        | None => Cancellation::Timeout,
    }
}

/// What is due first. Who gives up at a moment is gone before that moment's searches: "Expired tickets are removed", and then
/// matches are made.
fn next(state: &Queue, now: Timestamp) -> Next {
    if let Some((ticket, reason)) = state.engine.as_ref().and_then(|live| live.turned_away.first_key_value())
    {
        return Next::TurnedAway(*ticket, *reason);
    }
    let give_up = time_is_up(state, now);
    let engine = state.engine.as_ref().filter(|_| state.paused.is_none());
    let search = engine.and_then(|live| live.engine.next()).map(|cursor| cursor.at).filter(|at| *at <= now);
    match (give_up, search) {
        (Some((at, ticket)), Some(search)) if at <= search => Next::GiveUp(ticket),
        (_, Some(_)) => Next::Search,
        (Some((_, ticket)), None) => Next::GiveUp(ticket),
        (None, None) => Next::Nothing,
    }
}

/// Who gives up, or is given up, by now: the first of them.
fn time_is_up(state: &Queue, now: Timestamp) -> Option<(Timestamp, TicketId)> {
    let lease = state.leases.as_ref().and_then(|leases| leases.next());
    state.give_ups.first().copied().into_iter().chain(lease).min().filter(|(at, _)| *at <= now)
}
