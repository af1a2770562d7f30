//! Players are taken out of the backfill ticket of a game that goes on: a server says so, or they are in another match now.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use mainstay_core::{MatchId, TicketId, Turn};

use super::backfill::has_room;
use super::{canceled, placement};
use crate::engine::Kind;
use crate::entity::Entity;
use crate::event::Event;
use crate::queue::Queue;
use crate::spec::QueueSpec;
use crate::terms::TakenOut;
use crate::ticket::{Cancellation, Seated};

/// What becomes of a ticket that a server has a player taken out of (`CancelAllServerBackfillTicketsForPlayer`).
pub(super) fn by_server(turn: &mut Turn<'_, Queue>, ticket: TicketId, player: &Entity) {
    let state = turn.state();
    let event = match state.backfills.get(&ticket).map(|known| known.terms.taken_out) {
        Some(TakenOut::GoesOn) => without(state, ticket, &BTreeSet::from([player.clone()])),
        Some(TakenOut::Ends) | None => canceled(state, ticket, Cancellation::Server),
    };
    turn.emit(event);
    placement::game_wants(turn, ticket);
}

/// Whoever is in a match plays in no other game: the tickets of those go on without them, whatever they say of servers that take a player
/// out, since nobody asked for their end.
pub(super) fn by_match(turn: &mut Turn<'_, Queue>, formed: MatchId) {
    let state = turn.state();
    if state.games.tickets == 0 {
        return;
    }
    let mut gone: BTreeMap<TicketId, BTreeSet<Entity>> = BTreeMap::new();
    for seated in state.matches.get(&formed).iter().flat_map(|formed| formed.members.iter()) {
        if let Some(game) = state.playing.of(&seated.member.entity, Kind::Backfill) {
            gone.entry(game).or_default().insert(seated.member.entity.clone());
        }
    }
    for (game, players) in gone {
        let event = without(turn.state(), game, &players);
        turn.emit(event);
        placement::game_wants(turn, game);
    }
}

/// A ticket goes on with the places that it asked for: where these are too few for a match then, it ends by that name.
fn without(state: &Queue, ticket: TicketId, gone: &BTreeSet<Entity>) -> Event {
    let known = state.backfills.get(&ticket);
    let stays = known.iter().flat_map(|known| known.members.iter());
    let members: Arc<[Seated]> =
        stays.filter(|seated| !gone.contains(&seated.member.entity)).cloned().collect();
    let places = known.and_then(|known| known.places);
    let has_room = |spec: &Arc<QueueSpec>| has_room(spec, &members, places).is_ok();
    if state.spec().is_some_and(has_room) {
        Event::BackfillChanged { ticket, members, places }
    } else {
        canceled(state, ticket, Cancellation::TicketUnmatchable)
    }
}
