//! A game server asks for more players (seed 004).

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{TicketId, Turn};

use super::again::asked_before;
use super::create::{Asked, give_way, giving_way, is_hopeless, nobody_twice, not_elsewhere, timely};
use super::pace::Pace;
use super::{game_only, placement, spec_of, tenure_over};
use crate::attribute::Facts;
use crate::backfill::{Game, ServerDetails};
use crate::command::Answer;
use crate::engine::Kind;
use crate::entity::{Caller, Entity};
use crate::event::Event;
use crate::queue::Queue;
use crate::rejection::{Rejection, TeamFault};
use crate::spec::QueueSpec;
use crate::terms::{Lease, Terms};
use crate::ticket::{Cancellation, Seated};

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
    terms: &Terms,
) -> Result<Answer, Rejection> {
    game_only(caller)?;
    let spec = spec_of(turn, asked.form)?;
    if let Some(before) = asked_before(turn, Kind::Backfill, asked.ticket)? {
        return Ok(before);
    }
    if let Lease::Renewed { within } = terms.lease {
        Lease::renewed(within)?;
    }
    if game.server.bytes() > ServerDetails::BYTES_MAX {
        return Err(Rejection::BadRequest(
            "ServerDetails has at most 4096 bytes in its names, its address and its ports",
        ));
    }
    let outlived = match caller {
        Caller::Hosted(tenure) => tenure_over::outlived(turn.state(), tenure, game.members),
        Caller::Server(_) | Caller::Player(_) | Caller::Title => BTreeSet::new(),
    };
    let members = admitted(turn.state(), &spec, asked, game, &outlived)?;
    has_room(&spec, &members, game.places)?;
    let (owner, lease) = match caller {
        Caller::Server(server) => (Some(server.clone()), terms.lease),
        Caller::Hosted(tenure) => (Some(Entity::hosted(tenure.server)), Lease::Hosted(*tenure)),
        Caller::Player(_) | Caller::Title => (None, terms.lease),
    };
    let mut server = game.server.clone();
    if let Caller::Hosted(tenure) = caller {
        // By which the process may look at the match later.
        server.server_id = Some(alloc::format!("{}", tenure.session).into());
    }
    let facts = Facts::of(&spec, &Game { members: &members, server: &server })?;
    let going = giving_way(turn.state(), &facts)?;
    pace.catch_up(turn);
    tenure_over::end(turn, &outlived);
    let hopeless = is_hopeless(turn.state(), &facts);
    if !hopeless {
        give_way(turn, going);
    }
    turn.emit(Event::BackfillCreated {
        ticket: asked.ticket,
        owner,
        members: members.into(),
        server: Arc::new(server),
        places: game.places,
        give_up_after: asked.give_up_after,
        terms: Terms { lease, ..*terms },
    });
    if hopeless {
        turn.emit(super::canceled(turn.state(), asked.ticket, Cancellation::TicketUnmatchable));
    }
    placement::game_wants(turn, asked.ticket);
    Ok(Answer::Ticket(asked.ticket))
}

/// The players of a game, on their teams, if its ticket may be, where these others make way for it.
pub(super) fn admitted(
    state: &Queue,
    spec: &QueueSpec,
    asked: &Asked,
    game: &NewGame<'_>,
    making_way: &BTreeSet<TicketId>,
) -> Result<Vec<Seated>, Rejection> {
    timely(state, asked)?;
    if game.places == Some(0) {
        return Err(Rejection::BadRequest("a backfill ticket that wants nobody"));
    }
    let players = || game.members.iter().map(|seated| &seated.member.entity);
    nobody_twice(players())?;
    not_elsewhere(state, Kind::Backfill, players().filter(|player| !plays_in(state, making_way, player)))?;
    on_teams(spec, game.members)
}

/// Whether any match has room for a game of these, on teams of the queue.
pub(super) fn has_room(spec: &QueueSpec, members: &[Seated], places: Option<u32>) -> Result<(), Rejection> {
    let mut seated = alloc::vec![0_u32; spec.teams.len()];
    let teams = members.iter().filter_map(|member| spec.team(member.team.as_ref()?));
    teams.for_each(|team| seated[team] += 1);
    Ok(spec.has_room(u32::try_from(members.len()).unwrap_or(u32::MAX), &seated, places)?)
}

fn plays_in(state: &Queue, tickets: &BTreeSet<TicketId>, player: &Entity) -> bool {
    state.playing.of(player, Kind::Backfill).is_some_and(|open| tickets.contains(&open))
}

/// "If the backfill ticket is submitted to a queue with teams, each member may also be specified with a TeamId". Names become
/// the queue's own; no team holds more than it may; in a queue without teams there is nothing to be on.
pub(super) fn on_teams(spec: &QueueSpec, members: &[Seated]) -> Result<Vec<Seated>, Rejection> {
    let mut sizes = alloc::vec![0_u32; spec.teams.len()];
    let seat = |seated: &Seated| -> Result<Seated, Rejection> {
        let Some(name) = seated.team.as_ref().filter(|name| !name.is_empty()) else {
            return Ok(Seated { member: seated.member.clone(), team: None });
        };
        let invalid = |fault| Rejection::TeamInvalid { team: name.clone(), fault };
        let unknown = || match &spec.teams[..] {
            [] => TeamFault::NoTeams,
            teams => TeamFault::Unknown { teams: teams.iter().map(|team| team.name.clone()).collect() },
        };
        let team = spec.team(name).ok_or_else(|| invalid(unknown()))?;
        sizes[team] += 1;
        let max = spec.teams[team].max;
        if sizes[team] > max {
            return Err(invalid(TeamFault::Full { max }));
        }
        Ok(Seated { member: seated.member.clone(), team: Some(spec.teams[team].name.clone()) })
    };
    members.iter().map(seat).collect()
}
