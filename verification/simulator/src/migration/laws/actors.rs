//! I10: one actor for each player, and each keeps its own through every host.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included};

use mainstay_migration::{ActorId, ChannelId, Epoch, Guards, PeerId, Roster, Stamp};

use super::super::World;
use super::super::peer::Alive;
use super::super::scenario::Faults;
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};

/// Who was given which.
#[derive(Debug, Default)]
pub(super) struct Actors {
    /// Every actor that a peer was ever given.
    given: BTreeMap<PeerId, BTreeSet<ActorId>>,
    next: u64,
    /// The newest of each who was put out by nobody since.
    bound: BTreeMap<PeerId, Bound>,
    /// Which list of players each was seen with last.
    seen: BTreeMap<PeerId, Roster>,
    /// When each was on a side without a majority last.
    parted: BTreeMap<PeerId, Micros>,
    /// Whom each obeys, and since when.
    obeys: BTreeMap<PeerId, (PeerId, Micros)>,
}

/// How long it takes at most until everybody who hears the host knows of an actor.
const TOLD_WITHIN: Micros = 1_000_000;

/// A player that has its actor.
#[derive(Debug, Clone, Copy)]
struct Bound {
    by: PeerId,
    stamp: Stamp,
    at: Micros,
}

impl Actors {
    /// A host's game makes one.
    pub(super) fn make(&mut self, peer: PeerId) -> ActorId {
        self.next += 1;
        let actor = ActorId(self.next);
        self.given.entry(peer).or_default().insert(actor);
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
    let leader = session.leader();
    let before = world.oracle.actors.obeys.get(&id).copied();
    if let Some((host, since)) = before.filter(|(host, _)| *host != leader) {
        was_told(world, id, host, since)?;
    }
    if before.is_none_or(|(host, _)| host != leader) {
        world.oracle.actors.obeys.insert(id, (leader, world.now));
    }
    let Some(session) = world.peers[&id].session() else { return Ok(()) };
    if session.stamp().fork > 0 {
        world.oracle.actors.parted.insert(id, world.now);
    }
    let roster = session.roster();
    let name = |it: &Roster| (it.stamp, it.version, it.members.len());
    if world.oracle.actors.seen.get(&id).map(name) == Some(name(roster)) {
        return Ok(());
    }
    let roster = roster.clone();
    let known = &world.oracle.actors;
    let foreign = roster.actors.iter().find(|(peer, actor)| !known.is_own(**peer, **actor));
    ensure(foreign.is_none(), "I10: nobody gets another's actor", || format!("{id} has {foreign:?}"))?;
    let let_in = &world.oracle.let_in;
    let stranger = roster.members.keys().find(|peer| !let_in.contains(peer));
    ensure(!world.has_lobby() || stranger.is_none(), "nobody plays whom the lobby has not let in", || {
        format!("{id}: {stranger:?}")
    })?;
    let channels: BTreeSet<ChannelId> = roster.members.values().copied().collect();
    ensure(channels.len() == roster.members.len(), "I10: no two play on one channel", || {
        format!("{id}: {:?}", roster.members)
    })?;
    world.oracle.actors.seen.insert(id, roster);
    Ok(())
}

/// Somebody that a host's game knows connects, or was just given its actor.
pub(in super::super) fn plays_again<G: Guards>(
    world: &mut World<G>,
    host: PeerId,
    peer: PeerId,
    actor: ActorId,
) -> Result<(), Broken> {
    if let Some(session) = world.peers[&host].session() {
        let bound = Bound { by: host, stamp: session.stamp(), at: world.now };
        world.oracle.actors.bound.insert(peer, bound);
    }
    let actors = &world.oracle.actors;
    ensure(actors.is_own(peer, actor), "I10: nobody gets another's actor", || {
        format!("{peer}: {actor:?} of {:?}", actors.given.get(&peer))
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
    let is_known = actors.bound.get(&peer).is_some_and(|bound| knew(world, host, *bound));
    ensure(!lost && !is_known, "I10: whoever has an actor keeps it", || {
        format!("{peer} connects to {host} as if new: {:?}", actors.bound.get(&peer))
    })
}

/// A member obeys another host, or none, from now on: it was told of every actor by the one before.
fn was_told<G: Guards>(world: &World<G>, id: PeerId, host: PeerId, since: Micros) -> Result<(), Broken> {
    // What it has by now may be of the next one.
    let Some(Roster { members, actors: told, .. }) = world.oracle.actors.seen.get(&id).filter(|_| host != id)
    else {
        return Ok(());
    };
    let actors = &world.oracle.actors;
    let parted = actors.parted.get(&id).copied().unwrap_or_default();
    let must_know = |(player, bound): &(&PeerId, &Bound)| {
        let has_followed = since <= bound.at && parted < bound.at && bound.stamp.fork == 0;
        bound.by == host
            && has_followed
            && members.contains_key(player)
            && heard_host(world, id, host, bound.at, bound.at + TOLD_WITHIN)
    };
    let untold = actors.bound.iter().filter(must_know).find(|(player, _)| !told.contains_key(player));
    ensure(untold.is_none(), "I10: every member was told of every actor by the host before", || {
        format!("{id} of {host}: {untold:?}")
    })
}

/// Whether the link between the two carried everything all that time and until the host went.
fn heard_host<G: Guards>(world: &World<G>, id: PeerId, host: PeerId, from: Micros, until: Micros) -> bool {
    let troubles = &world.oracle.troubles;
    let peer = &world.peers[&host];
    let (went, last) = match peer.alive {
        Alive::Running if peer.session().is_some() => (world.now, troubles.last_with(host)),
        Alive::Running | Alive::Dead => troubles.went(host),
        Alive::Frozen => return false,
    };
    let is_cut = |cut: &BTreeSet<_>| cut.contains(&(id, host)) || cut.contains(&(host, id));
    let last = [last, troubles.last_with(id), troubles.last_between(id, host)].into_iter().max().flatten();
    until <= went && last.is_none_or(|last| last < from) && !world.cuts.values().any(is_cut)
}

/// Whether the host must know of that one: it knew it as host, and nobody else was host since, neither certified nor of a side without a
/// majority.
fn knew<G: Guards>(world: &World<G>, host: PeerId, bound: Bound) -> bool {
    let Bound { by, stamp, at } = bound;
    let own = world.peers[&host].session().map_or(Stamp::NOBODY, mainstay_migration::Session::stamp);
    let never_parted = own.fork == 0 && stamp.fork == 0 && world.oracle.actors.parted.get(&host) < Some(&at);
    let is_its_own = |(_, crowned): (&Epoch, &PeerId)| *crowned == host;
    by == host
        && never_parted
        && stamp <= own
        && world.oracle.crowned.range((Excluded(stamp.epoch), Included(own.epoch))).all(is_its_own)
}
