//! I9 under a lobby: a session whose host dies goes to one who was with that host, where such a one is there, and not to a side that it had not reached
//! for long: that may never have obeyed it.
//!
//! Judged where nothing was wrong for a while: neither between that host and who was with it, nor between either and the lobby.

use mainstay_lobby::{CanBeHost, Grant};
use mainstay_migration::{Epoch, Guards, PeerId};

use super::super::World;
use super::super::lobby::{LOBBY, peer_of};
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};

/// For how long who counts was with the host, and who does not was not: the lobby was told so since, more than once.
const WITH_IT: Micros = 6_000_000;
/// How soon before its end it had reached whoever was with it.
const REACHED_WITHIN: Micros = 1_000_000;
/// How long after its end the law judges: who was with it is heard by then, without a word of its own.
const AFTER: Micros = 3_000_000;

/// The lobby makes one host who has asked for it, after that one.
pub(in super::super) fn grants<G: Guards>(
    world: &mut World<G>,
    to: PeerId,
    before: Grant,
) -> Result<(), Broken> {
    let (epoch, host) = (Epoch(before.epoch.0), peer_of(&before.host));
    let (died, trouble) = world.oracle.troubles.went(host);
    let since = died.saturating_sub(WITH_IT);
    let is_judged = died > 0 && world.now < died + AFTER && trouble.is_none_or(|last| last < since);
    if !is_judged || world.has_lobby_been_away_since(since) {
        return Ok(());
    }
    let troubles = &world.oracle.troubles;
    let was_well = |one, other| troubles.last_between(one, other).is_none_or(|last| last < since);
    let reached = |other: PeerId| world.peers.get(&host).and_then(|it| it.carried(other));
    let was_with_it = |id: &PeerId| {
        let Some(session) = world.peers[id].session() else { return false };
        let obeys = session.ballot().epoch() == epoch && session.stamp().fork == 0;
        let obeyed = world.oracle.obeyed.get(id).is_some_and(|obeyed| *obeyed < since);
        let is_well = troubles.last_with(*id).is_none_or(|last| last < since);
        let can_be = world.lobby_member(*id).is_some_and(|it| it.can_be_host == CanBeHost::Yes);
        let was_reached = reached(*id).is_some_and(|last| last + REACHED_WITHIN > died);
        obeys && obeyed && is_well && can_be && was_reached && was_well(*id, host) && was_well(*id, LOBBY)
    };
    let was_apart = |id: &PeerId| reached(*id).is_none_or(|last| last < since);
    let others: Vec<PeerId> = world.running().into_iter().filter(|id| *id != host).collect();
    let first: Vec<PeerId> = others.iter().copied().filter(was_with_it).collect();
    // Who is with fewer acknowledges nothing, and the others take over from it as fast as they can.
    let is_of_most = 2 * (first.len() + 1) > others.len() + 1;
    if !is_of_most || !was_well(host, LOBBY) || !others.iter().any(was_apart) {
        return Ok(());
    }
    let is_apart = was_apart(&to);
    world.counts.came_first += 1;
    ensure(!is_apart, "I9: who was with the last host comes before whom it had not reached", || {
        format!("{to} after {host} of {epoch}, with which {first:?} were")
    })
}
