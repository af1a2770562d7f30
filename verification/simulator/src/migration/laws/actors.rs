//! I10: one actor for each player, and each keeps its own through every host.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

use mainstay_migration::{ActorId, Guards, PeerId, Roster, Stamp};

use super::super::World;
use super::super::scenario::Faults;
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};

/// How long a host takes at most to tell everybody whose actor is which: some beats.
const TOLD_WITHIN: Micros = 1_500_000;

/// Who was given which.
#[derive(Debug, Default)]
pub(super) struct Actors {
    /// Every actor that a peer was ever given.
    given: BTreeMap<PeerId, BTreeSet<ActorId>>,
    next: u64,
    /// The newest of each who was put out by nobody since.
    bound: BTreeMap<PeerId, Bound>,
    /// Which list of players each was seen with last.
    seen: BTreeMap<PeerId, (Stamp, u32, usize)>,
}

/// A player that has its actor.
#[derive(Debug, Clone, Copy)]
struct Bound {
    by: PeerId,
    stamp: Stamp,
    at: Micros,
}

impl Actors {
    /// A host's game makes one.
    pub(super) fn make(&mut self, host: PeerId, stamp: Stamp, peer: PeerId, at: Micros) -> ActorId {
        self.next += 1;
        let actor = ActorId(self.next);
        self.given.entry(peer).or_default().insert(actor);
        self.bound.insert(peer, Bound { by: host, stamp, at });
        actor
    }

    /// A host puts somebody out: who comes again is new.
    pub(super) fn gone(&mut self, peer: PeerId) {
        self.bound.remove(&peer);
    }

    fn is_own(&self, peer: PeerId, actor: ActorId) -> bool {
        self.given.get(&peer).is_some_and(|own| own.contains(&actor))
    }
}

/// Somebody has perhaps heard anew who plays, and what.
pub(super) fn has<G: Guards>(world: &mut World<G>, id: PeerId) -> Result<(), Broken> {
    let Some(session) = world.peers[&id].session() else { return Ok(()) };
    let Roster { stamp, version, members, actors, .. } = session.roster();
    let name = (*stamp, *version, members.len());
    if world.oracle.actors.seen.insert(id, name) == Some(name) {
        return Ok(());
    }
    let known = &world.oracle.actors;
    let foreign = actors.iter().find(|(peer, actor)| !known.is_own(**peer, **actor));
    ensure(foreign.is_none(), "I10: nobody gets another's actor", || format!("{id} has {foreign:?}"))?;
    let let_in = &world.oracle.let_in;
    let stranger = members.keys().find(|peer| !let_in.contains(peer));
    ensure(!world.has_lobby() || stranger.is_none(), "nobody plays whom the lobby has not let in", || {
        format!("{id}: {stranger:?}")
    })
}

/// Somebody that a host's game knows connects.
pub(in super::super) fn plays_again<G: Guards>(
    world: &World<G>,
    peer: PeerId,
    actor: ActorId,
) -> Result<(), Broken> {
    ensure(world.oracle.actors.is_own(peer, actor), "I10: nobody gets another's actor", || {
        format!("{peer}: {actor:?} of {:?}", world.oracle.actors.given.get(&peer))
    })
}

/// Somebody without an actor connects: one that had one has lost it only with a side, or by being away.
pub(in super::super) fn is_new<G: Guards>(
    world: &World<G>,
    host: PeerId,
    peer: PeerId,
) -> Result<(), Broken> {
    let actors = &world.oracle.actors;
    let lost = actors.given.contains_key(&peer) && world.scenario.faults == Faults::Calm;
    let was_told = actors.bound.get(&peer).is_some_and(|bound| was_told(world, host, *bound));
    ensure(!lost && !was_told, "I10: whoever has an actor keeps it", || {
        format!("{peer} connects to {host} as if new: {:?}", actors.bound.get(&peer))
    })
}

/// Whether the host must know of that one: it bound it itself, or was told by the host that did.
fn was_told<G: Guards>(world: &World<G>, host: PeerId, bound: Bound) -> bool {
    let Bound { by, stamp, at } = bound;
    let Some(session) = world.peers[&host].session() else { return false };
    let is_certified = session.stamp().fork == 0 && stamp.fork == 0;
    let troubles = &world.oracle.troubles;
    // The one that did may be gone since, but not at once.
    let until = at + TOLD_WITHIN;
    let next = world.oracle.crowned_at.range((Excluded(stamp.epoch), Unbounded)).next();
    let lived_on = troubles.last_with(by).is_none_or(|last| last < at || until <= last)
        && next.is_none_or(|(_, since)| until <= *since);
    let is_quiet = |last: Option<Micros>| last.is_none_or(|last| last < at);
    let is_cut = |cut: &BTreeSet<_>| cut.contains(&(by, host)) || cut.contains(&(host, by));
    let heard = session.ballot().host_of(stamp.epoch) == Some(by)
        && until <= world.now
        && lived_on
        && is_quiet(troubles.last_with(host))
        && is_quiet(troubles.last_between(by, host))
        && !world.cuts.values().any(is_cut);
    is_certified && (by == host || heard)
}
