//! A hosted game says who plays and how many it wants; its backfill ticket is kept in step with that.
//!
//! What is said is a level, so it may be said again, and the last word is right. The one thing that a game cannot know is who was
//! matched since it last heard: so it says up to which match it knows, and one that is newer is told to it before anything changes.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{Tenure, TicketId, Turn};

use super::GIVE_UP_AFTER_MAX;
use super::again::asked_before;
use super::backfill::{self, NewGame};
use super::create::{Asked, give_way, giving_way, is_hopeless};
use super::pace::Pace;
use super::{placement, spec_of, tenure_over};
use crate::attribute::Facts;
use crate::backfill::{Game, ServerDetails};
use crate::command::Answer;
use crate::engine::Kind;
use crate::entity::Entity;
use crate::event::Event;
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::terms::{Lease, TakenOut, Terms};
use crate::ticket::{Cancellation, Seated};

/// A game as its server tells it.
#[derive(Debug)]
pub(super) struct Told<'a> {
    pub tenure: Tenure,
    pub members: &'a [Seated],
    pub server: &'a ServerDetails,
    /// How many players are wanted; 0 ends the search.
    pub places: u32,
    /// The ticket of it whose match the game heard of last: those that were matched since are told one after another.
    pub known: Option<TicketId>,
}

pub(super) fn keep(
    turn: &mut Turn<'_, Queue>,
    pace: &mut Pace,
    (new, form): (TicketId, u32),
    told: &Told<'_>,
) -> Result<Answer, Rejection> {
    let spec = spec_of(turn, form)?;
    let state = turn.state();
    if let Some(filled) = state.next_filled(told.tenure.session, told.known, turn.now()) {
        return Ok(Answer::Ticket(filled));
    }
    let open = of_game(state, &told.tenure);
    if told.places == 0 {
        let Some(ticket) = open else { return Ok(Answer::Cancelled(0)) };
        pace.catch_up(turn);
        turn.emit(Event::BackfillCanceled { ticket, reason: Cancellation::Server });
        return Ok(Answer::Cancelled(1));
    }
    if open.is_none()
        && let Some(before) = asked_before(turn, Kind::Backfill, new)?
    {
        // This very word came before, and what came of it is over.
        return Ok(before);
    }
    let places = Some(told.places);
    let game = NewGame { members: told.members, server: told.server, places };
    let asked = Asked { ticket: open.unwrap_or(new), give_up_after: GIVE_UP_AFTER_MAX, form };
    let outlived = tenure_over::outlived(state, &told.tenure, told.members);
    let making_way: BTreeSet<TicketId> = outlived.iter().copied().chain(open).collect();
    let members = backfill::admitted(state, &spec, &asked, &game, &making_way)?;
    let known = open.and_then(|open| state.backfills.get(&open));
    if let Some(known) = known
        && *known.members == *members
        && known.places == places
    {
        return Ok(Answer::Ticket(known.id));
    }
    let (no_match, going) = match backfill::has_room(&spec, &members, places) {
        Err(no_room) => (Some(no_room), Vec::new()),
        Ok(()) => {
            let facts = Facts::of(&spec, &Game { members: &members, server: told.server })?;
            let going = giving_way(state, &facts)?;
            if is_hopeless(state, &facts) {
                (Some(Rejection::Unmatchable), Vec::new())
            } else {
                (None, going)
            }
        }
    };
    let ends = no_match.is_some();
    if let (None, Some(refused)) = (open, no_match) {
        // No ticket is made only to end at once: the game says this again each second.
        return Err(refused);
    }
    pace.catch_up(turn);
    tenure_over::end(turn, &outlived);
    give_way(turn, going);
    let members = members.into();
    turn.emit(match open {
        Some(ticket) if ends => Event::BackfillCanceled { ticket, reason: Cancellation::TicketUnmatchable },
        Some(ticket) => Event::BackfillChanged { ticket, members, places },
        None => Event::BackfillCreated {
            ticket: new,
            owner: Some(Entity::hosted(told.tenure.server)),
            members,
            server: Arc::new(told.server.clone()),
            places,
            give_up_after: GIVE_UP_AFTER_MAX,
            terms: Terms { lease: Lease::Hosted(told.tenure), taken_out: TakenOut::GoesOn },
        },
    });
    placement::game_wants(turn, asked.ticket);
    Ok(Answer::Ticket(asked.ticket))
}

/// The open ticket that a game's words change: its own; else the one that the title made for its session.
fn of_game(state: &Queue, tenure: &Tenure) -> Option<TicketId> {
    let open = state.hosted.get(tenure)?;
    let game = Entity::hosted(tenure.server);
    let is_own = |ticket: &&TicketId| {
        state.backfills.get(*ticket).is_some_and(|ticket| ticket.owner.as_ref() == Some(&game))
    };
    open.iter().find(is_own).or_else(|| open.first()).copied()
}
