//! A ticket is made: by a player for itself and those it names, or by a server for players.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use mainstay_core::{TicketId, Turn};

use super::again::asked_before;
use super::pace::Pace;
use super::{GIVE_UP_AFTER_MAX, server_only, spec_of};
use crate::attribute::Facts;
use crate::command::{Answer, Observation};
use crate::engine::Kind;
use crate::entity::{Caller, Entity};
use crate::event::Event;
use crate::queue::{Queue, WAITING_MAX};
use crate::rejection::Rejection;
use crate::spec::QueueSpec;
use crate::ticket::{Cancellation, Member};

/// What every new ticket says.
#[derive(Debug)]
pub(super) struct Asked {
    pub ticket: TicketId,
    pub give_up_after: u32,
    pub form: u32,
}

/// "a create with MembersToMatchWith waits until every listed player joins; matching then starts by itself".
pub(super) fn by_player(
    turn: &mut Turn<'_, Queue>,
    pace: &mut Pace,
    asked: &Asked,
    caller: &Caller,
    creator: &Member,
    invited: &[Entity],
) -> Result<Answer, Rejection> {
    let spec = spec_of(turn, asked.form)?;
    match caller {
        Caller::Player(player) if *player == creator.entity => {}
        Caller::Player(_) => {
            return Err(Rejection::Unauthorized { who: "a player", why: "the Creator is another player" });
        }
        Caller::Server(_) | Caller::Hosted(_) | Caller::Title => {
            return Err(Rejection::Unauthorized {
                who: "a server",
                why: "players make their own tickets; servers have CreateServerMatchmakingTicket",
            });
        }
    }
    if let Some(before) = asked_before(turn, Kind::Ordinary, asked.ticket)? {
        return Ok(before);
    }
    let players: Vec<&Entity> = [&creator.entity].into_iter().chain(invited).collect();
    admissible(turn.state(), &spec, asked, &players)?;
    let members = core::slice::from_ref(creator);
    not_elsewhere(turn.state(), Kind::Ordinary, members.iter().map(|member| &member.entity))?;
    let facts = Facts::of(&spec, members)?;
    let going = giving_way(turn.state(), &facts)?;
    pace.catch_up(turn);
    let created = Event::TicketCreated {
        ticket: asked.ticket,
        creator: creator.entity.clone(),
        members: members.into(),
        invited: invited.into(),
        give_up_after: asked.give_up_after,
    };
    if invited.is_empty() {
        emit_searching(turn, asked.ticket, (facts, going), created);
    } else {
        turn.emit(created);
    }
    Ok(Answer::Ticket(asked.ticket))
}

/// "Server creates list all members; no join step".
pub(super) fn by_server(
    turn: &mut Turn<'_, Queue>,
    pace: &mut Pace,
    asked: &Asked,
    caller: &Caller,
    creator: &Entity,
    members: &[Member],
) -> Result<Answer, Rejection> {
    server_only(caller)?;
    let spec = spec_of(turn, asked.form)?;
    if let Some(before) = asked_before(turn, Kind::Ordinary, asked.ticket)? {
        return Ok(before);
    }
    if members.is_empty() {
        return Err(Rejection::BadRequest("a ticket needs at least one member"));
    }
    let players: Vec<&Entity> = members.iter().map(|member| &member.entity).collect();
    admissible(turn.state(), &spec, asked, &players)?;
    not_elsewhere(turn.state(), Kind::Ordinary, players.into_iter())?;
    let facts = Facts::of(&spec, members)?;
    let going = giving_way(turn.state(), &facts)?;
    pace.catch_up(turn);
    let created = Event::TicketCreated {
        ticket: asked.ticket,
        creator: creator.clone(),
        members: members.into(),
        invited: [].into(),
        give_up_after: asked.give_up_after,
    };
    emit_searching(turn, asked.ticket, (facts, going), created);
    Ok(Answer::Ticket(asked.ticket))
}

/// A ticket of these facts searches from its first moment on, if it is not hopeless; then nobody gives way to it.
pub(super) fn emit_searching(
    turn: &mut Turn<'_, Queue>,
    ticket: TicketId,
    (facts, going): (Facts, Vec<TicketId>),
    made: Event,
) {
    if is_hopeless(turn.state(), &facts) {
        turn.emit(made);
        turn.emit(super::canceled(turn.state(), ticket, Cancellation::TicketUnmatchable));
        return;
    }
    give_way(turn, going);
    turn.observe(Observation::Read(facts));
    turn.emit(made);
}

/// Whether a ticket of these facts breaks a rule by itself for as long as it could wait.
pub(super) fn is_hopeless(state: &Queue, facts: &Facts) -> bool {
    state.engine.as_ref().is_some_and(|live| live.engine.is_hopeless(facts))
}

/// What holds for every new ticket of players: its size, its time, and nobody twice.
fn admissible(state: &Queue, spec: &QueueSpec, asked: &Asked, players: &[&Entity]) -> Result<(), Rejection> {
    timely(state, asked)?;
    let max = spec.ticket_size_max();
    if players.len() > usize::try_from(max).unwrap_or(usize::MAX) {
        return Err(Rejection::NumberOfPlayersTooLarge { players: players.len(), max });
    }
    nobody_twice(players.iter().copied())
}

/// What holds for every new ticket.
pub(super) fn timely(state: &Queue, asked: &Asked) -> Result<(), Rejection> {
    if !(1..=GIVE_UP_AFTER_MAX).contains(&asked.give_up_after) {
        return Err(Rejection::GiveUpAfterInvalid { seconds: asked.give_up_after });
    }
    if state.open() >= WAITING_MAX {
        return Err(Rejection::TooManyWaiting { waiting: state.open() });
    }
    Ok(())
}

pub(super) fn nobody_twice<'a>(players: impl Iterator<Item = &'a Entity>) -> Result<(), Rejection> {
    let mut seen = BTreeSet::new();
    for player in players {
        if !seen.insert(player) {
            return Err(Rejection::EntityInvalid {
                entity: player.clone(),
                why: "named twice in one ticket",
            });
        }
    }
    Ok(())
}

/// "One open ticket per queue".
pub(super) fn not_elsewhere<'a>(
    state: &Queue,
    kind: Kind,
    players: impl Iterator<Item = &'a Entity>,
) -> Result<(), Rejection> {
    let elsewhere = |player: &&Entity| state.playing.of(player, kind).is_some();
    let users: Vec<Entity> = players.filter(elsewhere).cloned().collect();
    if users.is_empty() { Ok(()) } else { Err(Rejection::MembershipLimitExceeded { kind, users }) }
}

/// The values and regions that tickets name are bounded in all: who gives way to a ticket of these facts.
pub(super) fn giving_way(state: &Queue, facts: &Facts) -> Result<Vec<TicketId>, Rejection> {
    let Some(live) = &state.engine else { return Ok(Vec::new()) };
    live.giving_way(facts).ok_or(Rejection::TooManyValues)
}

/// They are asked to come again. What is caught up with after it was asked who they are changes nobody's names.
pub(super) fn give_way(turn: &mut Turn<'_, Queue>, going: Vec<TicketId>) {
    for ticket in going {
        turn.emit(super::canceled(turn.state(), ticket, Cancellation::RetryRequired));
    }
}
