//! What laws excuse where everything goes wrong: on whose link something was lost, late or cut, and whose process stood still, and when
//! last. Two peers with whom nothing was wrong are judged as in a world where nothing is.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_migration::{Guards, PeerId};

use super::super::World;
use super::super::peer::Alive;
use crate::agenda::Micros;

/// When something was wrong last, and with whom.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    links: BTreeMap<(PeerId, PeerId), Micros>,
    peers: BTreeMap<PeerId, Micros>,
    /// When each died, or its session ended, and what was wrong with it last before.
    went: BTreeMap<PeerId, (Micros, Option<Micros>)>,
}

impl Troubles {
    /// Something was lost or late between them, one way or the other.
    pub(super) fn between(&mut self, one: PeerId, other: PeerId, now: Micros) {
        let last = self.links.entry((one.min(other), one.max(other))).or_default();
        *last = now.max(*last);
    }

    /// It stood still until now, or died, or says what is not so.
    pub(super) fn with(&mut self, peer: PeerId, now: Micros) {
        self.peers.insert(peer, now);
    }

    /// It dies, or its session ends.
    pub(super) fn goes(&mut self, peer: PeerId, now: Micros) {
        self.went.insert(peer, (now, self.last_with(peer)));
        self.with(peer, now);
    }

    /// When it did, and when it was in trouble last before that.
    pub(super) fn went(&self, peer: PeerId) -> (Micros, Option<Micros>) {
        self.went.get(&peer).copied().unwrap_or_default()
    }

    /// When that one was in trouble last, if it ever was.
    pub(super) fn last_with(&self, peer: PeerId) -> Option<Micros> {
        self.peers.get(&peer).copied()
    }

    /// When their link was last.
    pub(super) fn last_between(&self, one: PeerId, other: PeerId) -> Option<Micros> {
        self.links.get(&(one.min(other), one.max(other))).copied()
    }
}

/// Whether both run, and nothing was wrong between them since then.
pub(super) fn reach_each_other<G: Guards>(
    world: &World<G>,
    one: PeerId,
    other: PeerId,
    since: Micros,
) -> bool {
    let is_cut = |cut: &BTreeSet<_>| cut.contains(&(one, other)) || cut.contains(&(other, one));
    let runs = |peer: PeerId| world.peers.get(&peer).is_some_and(|it| it.alive == Alive::Running);
    let troubles = &world.oracle.troubles;
    let last = [troubles.last_with(one), troubles.last_with(other), troubles.last_between(one, other)]
        .into_iter()
        .max();
    runs(one)
        && runs(other)
        && last.flatten().is_none_or(|last| last < since)
        && !world.cuts.values().any(is_cut)
}
