//! An invited player joins. Once all have, the search begins.

use alloc::vec::Vec;

use mainstay_core::{TicketId, Turn};

use super::create::{emit_searching, giving_way, not_elsewhere};
use super::pace::Pace;
use super::spec_of;
use crate::attribute::Facts;
use crate::command::Answer;
use crate::engine::Kind;
use crate::entity::Caller;
use crate::event::Event;
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::ticket::{Member, Stage};

pub(super) fn join(
    turn: &mut Turn<'_, Queue>,
    pace: &mut Pace,
    id: TicketId,
    caller: &Caller,
    member: &Member,
    form: u32,
) -> Result<Answer, Rejection> {
    match caller {
        Caller::Player(player) if *player == member.entity => {}
        Caller::Player(_) | Caller::Server(_) | Caller::Hosted(_) | Caller::Title => {
            return Err(Rejection::Unauthorized { who: "the caller", why: "a player joins by itself" });
        }
    }
    let spec = spec_of(turn, form)?;
    let state = turn.state();
    let ticket = state.ordinary_for(id, caller, turn.now())?;
    if !ticket.has(&member.entity) && !ticket.invited().contains(&member.entity) {
        return Err(Rejection::Unauthorized { who: "a player", why: "it was not invited to this ticket" });
    }
    match ticket.stage {
        Stage::Matched { .. } | Stage::Canceled { .. } => return Err(Rejection::AlreadyCompleted(id)),
        Stage::Gathering | Stage::Searching(_) | Stage::Held { .. } => {}
    }
    if ticket.has(&member.entity) {
        return Err(Rejection::AlreadyJoined(member.entity.clone()));
    }
    not_elsewhere(state, Kind::Ordinary, core::iter::once(&member.entity))?;
    // Its own attributes are judged alone, so that the fault is told to the one whose it is.
    let facts = Facts::of(&spec, core::slice::from_ref(member))?;
    giving_way(state, &facts)?;
    let is_last = ticket.missing().all(|missing| *missing == member.entity);
    let whole = if is_last {
        // What its players share may be what another of them brought, who came when there was room for it.
        let members: Vec<Member> = ticket.members.iter().cloned().chain([member.clone()]).collect();
        let facts = Facts::of(&spec, &*members)?;
        let going = giving_way(state, &facts)?;
        Some((facts, going))
    } else {
        None
    };
    pace.catch_up(turn);
    if let Some(whole) = whole {
        emit_searching(turn, id, whole, Event::TicketJoined { ticket: id, member: member.clone() });
    } else {
        turn.emit(Event::TicketJoined { ticket: id, member: member.clone() });
    }
    Ok(Answer::Ticket(id))
}
