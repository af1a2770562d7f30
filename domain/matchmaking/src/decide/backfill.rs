//! A game server asks for more players (seed 004).

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::Turn;

use super::create::{Asked, cancel_hopeless, fits_beside_others, nobody_twice, not_elsewhere, timely};
use super::pace::Pace;
use super::{server_only, spec_of};
use crate::attribute::Facts;
use crate::backfill::{Game, ServerDetails};
use crate::command::Answer;
use crate::engine::Kind;
use crate::entity::Caller;
use crate::event::Event;
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::spec::QueueSpec;
use crate::ticket::Seated;

/// The game as it stands.
#[derive(Debug)]
pub(super) struct NewGame<'a> {
    pub members: &'a [Seated],
    pub server: &'a ServerDetails,
    pub places: Option<u32>,
}

pub(super) fn create(
    turn: &mut Turn<'_, Queue>,
    pace: &mut Pace,
    asked: &Asked,
    caller: &Caller,
    game: &NewGame<'_>,
) -> Result<Answer, Rejection> {
    server_only(caller)?;
    let spec = spec_of(turn, asked.form)?;
    if turn.state().backfills.contains_key(&asked.ticket) {
        return Ok(Answer::Ticket(asked.ticket));
    }
    timely(turn.state(), asked)?;
    let max = spec.max_match_size - 1;
    if game.members.len() > usize::try_from(max).unwrap_or(usize::MAX) {
        return Err(Rejection::NumberOfPlayersTooLarge { players: game.members.len(), max });
    }
    if game.places == Some(0) {
        return Err(Rejection::BadRequest("a backfill ticket that wants nobody"));
    }
    let players = || game.members.iter().map(|seated| &seated.member.entity);
    nobody_twice(players())?;
    not_elsewhere(turn.state(), Kind::Backfill, players())?;
    let members = on_teams(&spec, game.members)?;
    let facts = Facts::of(&spec, &Game { members: &members, server: game.server })?;
    fits_beside_others(turn.state(), &facts)?;
    pace.catch_up(turn);
    let owner = match caller {
        Caller::Server(server) => Some(server.clone()),
        Caller::Player(_) | Caller::Title => None,
    };
    turn.emit(Event::BackfillCreated {
        ticket: asked.ticket,
        owner,
        members: members.into(),
        server: Arc::new(game.server.clone()),
        places: game.places,
        give_up_after: asked.give_up_after,
    });
    cancel_hopeless(turn, asked.ticket, &facts);
    Ok(Answer::Ticket(asked.ticket))
}

/// "If the backfill ticket is submitted to a queue with teams, each member may also be specified with a TeamId". Names become
/// the queue's own; no team holds more than it may; in a queue without teams there is nothing to be on.
fn on_teams(spec: &QueueSpec, members: &[Seated]) -> Result<Vec<Seated>, Rejection> {
    let mut sizes = alloc::vec![0_u32; spec.teams.len()];
    let seat = |seated: &Seated| -> Result<Seated, Rejection> {
        let Some(name) = seated.team.as_ref().filter(|name| !name.is_empty()) else {
            return Ok(Seated { member: seated.member.clone(), team: None });
        };
        let invalid = || Rejection::TeamInvalid { team: name.clone() };
        let team = spec.team(name).ok_or_else(invalid)?;
        sizes[team] += 1;
        if sizes[team] > spec.teams[team].max {
            return Err(invalid());
        }
        Ok(Seated { member: seated.member.clone(), team: Some(spec.teams[team].name.clone()) })
    };
    members.iter().map(seat).collect()
}
