//! The peer-hosted game without a socket or a clock: the world, who steers which boat of it, and all that as one state that
//! goes along when the session moves.
//!
//! A boat belongs to a peer's key, never to a name (seed 000: "making sure that reconnecting clients are given the correct
//! actor"), so a new host that goes on from a state has every boat's owner. What players did is counted, so that anybody can
//! see that nothing was lost and nothing came twice: also of whoever has gone, for a host that was frozen comes back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_peer::migration::{Kind, Part, PeerId, Stamp, Tick};

use crate::peers::lineage::Lineage;
use crate::peers::turn::{Change, Turn};
use crate::world::{BOATS_MAX, BoatId, Helm, Order, World};

/// How many are remembered who have gone.
const AWAY_MAX: usize = 64;

/// Whoever has a boat, or had one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Crew {
    /// `None` while it is away: another may have its boat then.
    boat: Option<BoatId>,
    /// How often it has moved its levers.
    deeds: u32,
    /// How often its horn was heard.
    hails: u32,
}

/// The game at one tick, with what is to happen in the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Harbour {
    world: World,
    crews: BTreeMap<PeerId, Crew>,
    lineage: Lineage,
    coming: Turn,
}

impl Harbour {
    /// Before anybody came.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            world: World::new(seed),
            crews: BTreeMap::new(),
            lineage: Lineage::default(),
            coming: Turn::default(),
        }
    }

    /// The game that goes along as these parts: `None` where they are not of this game.
    #[must_use]
    pub fn of(parts: &[Arc<Part>]) -> Option<Self> {
        let mut harbour = None;
        for part in parts {
            match part.kind {
                Kind::Snapshot => harbour = Some(Self::decode(&part.bytes)?),
                Kind::Delta => harbour.as_mut()?.repeat(Turn::decode(&part.bytes)?),
                Kind::Event => return None,
            }
        }
        harbour
    }

    /// How far it is.
    #[must_use]
    pub fn tick(&self) -> Tick {
        Tick(u64::from(self.world.tick()))
    }

    /// The world.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }

    /// Which boat a peer steers (`actor_for_channel`). `None` for whoever came when all boats were taken.
    #[must_use]
    pub fn boat_of(&self, peer: PeerId) -> Option<BoatId> {
        self.crews.get(&peer).and_then(|crew| crew.boat)
    }

    /// Whether it is known what a peer did.
    #[must_use]
    pub fn knows(&self, peer: PeerId) -> bool {
        self.crews.contains_key(&peer)
    }

    /// How many deeds of a peer the world holds.
    #[must_use]
    pub fn deeds_of(&self, peer: PeerId) -> u32 {
        self.crews.get(&peer).map_or(0, |crew| crew.deeds)
    }

    /// How often the hosts have heard a peer's horn.
    #[must_use]
    pub fn hails_of(&self, peer: PeerId) -> u32 {
        self.crews.get(&peer).map_or(0, |crew| crew.hails)
    }

    /// A peer is with its host (`client_connected`): it gets a boat, or keeps the one it had with an earlier host.
    pub fn board(&mut self, peer: PeerId) {
        self.coming.changes.push(Change::Boards(peer));
    }

    /// A peer is gone, and its boat with it. What it did is remembered.
    pub fn leave(&mut self, peer: PeerId) {
        self.coming.changes.push(Change::Leaves(peer));
    }

    /// A peer has moved its levers.
    pub fn steer(&mut self, peer: PeerId, helm: Helm) {
        self.coming.changes.push(Change::Steers(peer, helm));
    }

    /// A peer's horn is heard.
    pub fn hail(&mut self, peer: PeerId) {
        self.coming.changes.push(Change::Hails(peer));
    }

    /// One tick. Whoever has the game as it was before, and what this returns, has it as it is now.
    pub fn step(&mut self) -> Turn {
        let turn = std::mem::take(&mut self.coming);
        let orders: Vec<(BoatId, Order)> =
            turn.changes.iter().filter_map(|change| self.order(*change)).collect();
        self.world.step(&orders);
        turn
    }

    /// Another host's tick.
    pub(crate) fn repeat(&mut self, turn: Turn) {
        self.coming = turn;
        self.step();
    }

    fn order(&mut self, change: Change) -> Option<(BoatId, Order)> {
        match change {
            Change::Boards(peer) => {
                if self.boat_of(peer).is_some() {
                    return None;
                }
                let most = u8::try_from(BOATS_MAX).unwrap_or(u8::MAX);
                let is_free = |boat: &BoatId| self.crews.values().all(|crew| crew.boat != Some(*boat));
                let boat = (1..=most).map(BoatId).find(is_free)?;
                let crew = self.crews.entry(peer).or_insert(Crew { boat: None, deeds: 0, hails: 0 });
                crew.boat = Some(boat);
                Some((boat, Order::Join))
            }
            Change::Leaves(peer) => {
                let boat = self.crews.get_mut(&peer)?.boat.take()?;
                self.forget_somebody();
                Some((boat, Order::Leave))
            }
            Change::Steers(peer, helm) => {
                let crew = self.crews.get_mut(&peer)?;
                let boat = crew.boat?;
                crew.deeds = crew.deeds.saturating_add(1);
                Some((boat, Order::Steer(helm)))
            }
            Change::Hails(peer) => {
                let crew = self.crews.get_mut(&peer).filter(|crew| crew.boat.is_some())?;
                crew.hails = crew.hails.saturating_add(1);
                None
            }
        }
    }

    /// Of those who are away no more than [`AWAY_MAX`] are remembered: whoever did least is not.
    fn forget_somebody(&mut self) {
        let away = || self.crews.iter().filter(|(_, crew)| crew.boat.is_none());
        if away().count() > AWAY_MAX
            && let Some(peer) = away().min_by_key(|(_, crew)| crew.deeds).map(|(peer, _)| *peer)
        {
            self.crews.remove(&peer);
        }
    }

    /// The state in bytes: who wrote it; how many crews u8, for each its peer u128, boat u8 (0 for who is away), deeds u32 and hails u32; then the
    /// world. Big-endian.
    /// What is to happen in the next tick is not part of it, so it is taken right after [`Harbour::step`].
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.encode_with(|_| true)
    }

    /// The same of those who have a boat or are present: what members are told with every tick, and the next host has from elsewhere.
    #[must_use]
    pub fn encode_for(&self, present: &BTreeSet<PeerId>) -> Vec<u8> {
        self.encode_with(|(peer, crew)| crew.boat.is_some() || present.contains(peer))
    }

    fn encode_with(&self, is_told: impl Fn(&(&PeerId, &Crew)) -> bool) -> Vec<u8> {
        let told: Vec<(&PeerId, &Crew)> = self.crews.iter().filter(is_told).collect();
        let mut out = Vec::new();
        self.lineage.encode_to(&mut out);
        out.push(u8::try_from(told.len()).unwrap_or(u8::MAX));
        for (peer, crew) in told {
            out.extend(peer.0.to_be_bytes());
            out.push(crew.boat.map_or(0, |boat| boat.0));
            out.extend(crew.deeds.to_be_bytes());
            out.extend(crew.hails.to_be_bytes());
        }
        out.extend(self.world.encode());
        out
    }

    /// Reads [`Harbour::encode`]'s form; `None` where the bytes are not exactly that.
    #[must_use]
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let lineage = Lineage::decode_from(&mut bytes)?;
        let (count, mut rest) = bytes.split_first()?;
        let mut crews = BTreeMap::new();
        for _ in 0..*count {
            let peer = PeerId(u128::from_be_bytes(take(&mut rest)?));
            let crew = Crew {
                boat: Some(u8::from_be_bytes(take(&mut rest)?)).filter(|boat| *boat > 0).map(BoatId),
                deeds: u32::from_be_bytes(take(&mut rest)?),
                hails: u32::from_be_bytes(take(&mut rest)?),
            };
            let in_order = crews.last_key_value().is_none_or(|(last, _)| *last < peer);
            let is_free = crew.boat.is_none() || crews.values().all(|other: &Crew| other.boat != crew.boat);
            if !in_order || !is_free {
                return None;
            }
            crews.insert(peer, crew);
        }
        let world = World::decode(rest)?;
        let at_sea = crews.values().filter(|crew| crew.boat.is_some()).count();
        let fits = at_sea <= BOATS_MAX && crews.len() - at_sea <= AWAY_MAX;
        fits.then_some(Self { world, crews, lineage, coming: Turn::default() })
    }

    /// Who has written it.
    #[must_use]
    pub const fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// That host writes its next tick, and those after.
    pub fn pass_to(&mut self, host: PeerId, stamp: Stamp) {
        let next = Tick(self.tick().0 + 1);
        self.lineage.pass_to(host, stamp, next);
    }

    /// A new host goes on from a state: whoever has gone meanwhile goes in its first tick.
    pub fn take_over(&mut self, members: &BTreeSet<PeerId>) {
        let is_gone = |(peer, crew): &(&PeerId, &Crew)| crew.boat.is_some() && !members.contains(peer);
        let gone: Vec<PeerId> = self.crews.iter().filter(is_gone).map(|(peer, _)| *peer).collect();
        gone.into_iter().for_each(|peer| self.leave(peer));
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn deeds_are_counted_and_go_along() {
        let (ann, bob) = (PeerId(1), PeerId(2));
        let mut host = Harbour::new(7);
        host.board(ann);
        host.steer(ann, Helm { throttle: 100, rudder: 0 });
        host.steer(bob, Helm { throttle: 100, rudder: 0 });
        host.step();
        assert_eq!((host.deeds_of(ann), host.deeds_of(bob)), (1, 0), "bob has no boat");
        let mut heir = Harbour::decode(&host.encode()).unwrap();
        host.steer(ann, Helm { throttle: 0, rudder: 0 });
        let turn = host.step();
        heir.repeat(Turn::decode(&turn.encode()).unwrap());
        assert_eq!(heir, host);
        assert_eq!(heir.deeds_of(ann), 2);
    }

    #[test]
    fn a_boat_belongs_to_a_key_and_outlives_its_host() {
        let peers: Vec<PeerId> = (1..=4).map(PeerId).collect();
        let mut host = Harbour::new(7);
        peers.iter().for_each(|peer| host.board(*peer));
        host.step();
        let mut heir = Harbour::decode(&host.encode()).unwrap();
        heir.take_over(&peers[1..].iter().copied().collect());
        heir.step();
        assert_eq!(heir.boat_of(peers[0]), None, "the old host's boat went with it");
        for peer in &peers[1..] {
            assert_eq!(heir.boat_of(*peer), host.boat_of(*peer));
            assert!(heir.world().boats().contains_key(&heir.boat_of(*peer).unwrap()));
        }
    }

    /// A host that froze is put out before it thaws: what it was told safe of its own is there when it comes back, under whatever host.
    #[test]
    fn what_somebody_did_who_went_is_there_when_it_comes_back() {
        let (ann, bob) = (PeerId(1), PeerId(2));
        let mut host = Harbour::new(7);
        [ann, bob].into_iter().for_each(|peer| host.board(peer));
        host.steer(ann, Helm { throttle: 100, rudder: 0 });
        host.hail(ann);
        host.step();
        let mut heir = Harbour::decode(&host.encode()).unwrap();
        heir.take_over(&BTreeSet::from([bob]));
        heir.steer(ann, Helm { throttle: 0, rudder: 0 });
        heir.board(PeerId(3));
        heir.step();
        let seen = |game: &Harbour, peer| (game.boat_of(peer), game.deeds_of(peer), game.hails_of(peer));
        assert_eq!(seen(&heir, ann), (None, 1, 1), "nobody steers from away");
        assert_eq!(heir.boat_of(PeerId(3)), host.boat_of(ann), "her boat is another's");
        let mut last = Harbour::decode(&heir.encode()).unwrap();
        last.board(ann);
        last.step();
        assert_eq!(seen(&last, ann), (Some(BoatId(3)), 1, 1));
        for peer in (10..).map(PeerId).take(AWAY_MAX + 1) {
            last.board(peer);
            last.steer(peer, Helm { throttle: 1, rudder: 0 });
            last.leave(peer);
        }
        last.step();
        let away = last.crews.values().filter(|crew| crew.boat.is_none()).count();
        assert_eq!((away, Harbour::decode(&last.encode())), (AWAY_MAX, Some(last)));
    }

    /// With every tick members are told of who has a boat, and of who has come back to find none.
    #[test]
    fn members_are_told_of_who_is_there() {
        let (ann, bob) = (PeerId(1), PeerId(2));
        let mut host = Harbour::new(7);
        [ann, bob].into_iter().for_each(|peer| host.board(peer));
        host.steer(ann, Helm { throttle: 100, rudder: 0 });
        host.leave(ann);
        host.step();
        let told = |present: &[PeerId]| {
            Harbour::decode(&host.encode_for(&present.iter().copied().collect())).unwrap()
        };
        assert_eq!((told(&[]).knows(ann), told(&[]).knows(bob)), (false, true));
        assert_eq!((told(&[ann]).deeds_of(ann), told(&[ann]).world()), (1, host.world()));
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_again(bytes in prop::collection::vec(any::<u8>(), 0..200), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)) {
            let mut host = Harbour::new(3);
            host.board(PeerId(9));
            host.board(PeerId(5));
            host.board(PeerId(7));
            host.step();
            host.leave(PeerId(7));
            host.step();
            let mut changed = host.encode();
            for (at, byte) in flips {
                let at = at.index(changed.len());
                changed[at] = byte;
            }
            for bytes in [bytes, changed] {
                if let Some(read) = Harbour::decode(&bytes) {
                    prop_assert_eq!(read.encode(), bytes);
                }
            }
        }
    }
}
