//! The peer-hosted game without a socket or a clock: the world, who steers which boat of it, and all that as one state that
//! goes along when the session moves.
//!
//! A boat belongs to a peer's key, never to a name (seed 000: "making sure that reconnecting clients are given the correct
//! actor"), so a new host that goes on from a state has every boat's owner. What a player did is counted, and each of it is
//! applied once, whichever hosts it meets.

use std::collections::BTreeMap;

use mainstay_peer::migration::{PeerId, Tick};

use crate::world::{BOATS_MAX, BoatId, Helm, Order, World};

/// What a player did, by its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deed {
    /// How many before it, and it; from 1.
    pub number: u32,
    /// Where the levers stand since.
    pub helm: Helm,
}

/// Whoever has a boat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Crew {
    boat: BoatId,
    /// The newest deed that the world holds.
    deeds: u32,
}

/// The game at one tick, with what is to happen in the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Harbour {
    world: World,
    crews: BTreeMap<PeerId, Crew>,
    orders: Vec<(BoatId, Order)>,
}

impl Harbour {
    /// Before anybody came.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { world: World::new(seed), crews: BTreeMap::new(), orders: Vec::new() }
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
        self.crews.get(&peer).map(|crew| crew.boat)
    }

    /// How many deeds of a peer the world holds.
    #[must_use]
    pub fn deeds_of(&self, peer: PeerId) -> u32 {
        self.crews.get(&peer).map_or(0, |crew| crew.deeds)
    }

    /// A peer is with its host (`client_connected`): it gets a boat, or keeps the one it had with an earlier host.
    pub fn board(&mut self, peer: PeerId) {
        if self.crews.contains_key(&peer) {
            return;
        }
        let taken: Vec<BoatId> = self.crews.values().map(|crew| crew.boat).collect();
        let most = u8::try_from(BOATS_MAX).unwrap_or(u8::MAX);
        if let Some(boat) = (1..=most).map(BoatId).find(|boat| !taken.contains(boat)) {
            self.crews.insert(peer, Crew { boat, deeds: 0 });
            self.orders.push((boat, Order::Join));
        }
    }

    /// A peer is gone, and its boat with it.
    pub fn leave(&mut self, peer: PeerId) {
        if let Some(crew) = self.crews.remove(&peer) {
            self.orders.push((crew.boat, Order::Leave));
        }
    }

    /// What a peer did: what is known already is passed over, and what comes after a gap waits until the gap is told.
    pub fn steer(&mut self, peer: PeerId, deeds: &[Deed]) {
        let Some(crew) = self.crews.get_mut(&peer) else { return };
        for deed in deeds {
            if crew.deeds.checked_add(1) == Some(deed.number) {
                crew.deeds = deed.number;
                self.orders.push((crew.boat, Order::Steer(deed.helm)));
            }
        }
    }

    /// One tick.
    pub fn step(&mut self) {
        self.world.step(&self.orders);
        self.orders.clear();
    }

    /// The state in bytes: how many crews u8, for each its peer u128, boat u8 and deeds u32; then the world. Big-endian.
    /// What is to happen in the next tick is not part of it: whoever did it tells it again.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![u8::try_from(self.crews.len()).unwrap_or(u8::MAX)];
        for (peer, crew) in &self.crews {
            out.extend(peer.0.to_be_bytes());
            out.push(crew.boat.0);
            out.extend(crew.deeds.to_be_bytes());
        }
        out.extend(self.world.encode());
        out
    }

    /// Reads [`Harbour::encode`]'s form; `None` where the bytes are not exactly that.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (count, mut rest) = bytes.split_first()?;
        let mut crews = BTreeMap::new();
        for _ in 0..*count {
            let peer = PeerId(u128::from_be_bytes(take(&mut rest)?));
            let crew = Crew {
                boat: BoatId(u8::from_be_bytes(take(&mut rest)?)),
                deeds: u32::from_be_bytes(take(&mut rest)?),
            };
            let in_order = crews.last_key_value().is_none_or(|(last, _)| *last < peer);
            let is_free = crews.values().all(|other: &Crew| other.boat != crew.boat);
            if !in_order || !is_free {
                return None;
            }
            crews.insert(peer, crew);
        }
        let world = World::decode(rest)?;
        (crews.len() <= BOATS_MAX).then_some(Self { world, crews, orders: Vec::new() })
    }

    /// A new host goes on from a state: boats that came or went in the tick that nobody holds come and go again.
    pub fn take_over(&mut self, members: &[PeerId]) {
        let gone: Vec<PeerId> = self.crews.keys().filter(|peer| !members.contains(peer)).copied().collect();
        gone.into_iter().for_each(|peer| self.leave(peer));
        let boats = self.world.boats();
        let lacking = self.crews.values().filter(|crew| !boats.contains_key(&crew.boat));
        self.orders.extend(lacking.map(|crew| (crew.boat, Order::Join)));
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

    fn deed(number: u32) -> Deed {
        Deed { number, helm: Helm { throttle: i8::try_from(number % 100).unwrap(), rudder: 0 } }
    }

    #[test]
    fn every_deed_counts_once_whichever_hosts_it_meets() {
        let (ann, bob) = (PeerId(1), PeerId(2));
        let mut host = Harbour::new(7);
        host.board(ann);
        host.board(bob);
        host.step();
        host.steer(ann, &[deed(1), deed(2)]);
        host.steer(ann, &[deed(1), deed(2), deed(3)]);
        host.step();
        assert_eq!(host.deeds_of(ann), 3);
        let mut heir = Harbour::decode(&host.encode()).unwrap();
        // The old host held more than the heir has; ann tells it again.
        host.steer(ann, &[deed(4)]);
        heir.steer(ann, &[deed(3), deed(4)]);
        heir.steer(bob, &[deed(2)]);
        assert_eq!((heir.deeds_of(ann), heir.deeds_of(bob)), (4, 0), "after a gap nothing counts");
        host.step();
        heir.step();
        assert_eq!(heir, host);
    }

    #[test]
    fn a_boat_belongs_to_a_key_and_outlives_its_host() {
        let peers: Vec<PeerId> = (1..=4).map(PeerId).collect();
        let mut host = Harbour::new(7);
        peers.iter().for_each(|peer| host.board(*peer));
        // Bob boards in the very tick that the heir's state ends with.
        let mut heir = Harbour::decode(&host.encode()).unwrap();
        heir.take_over(&peers[1..]);
        heir.step();
        assert_eq!(heir.boat_of(peers[0]), None, "the old host's boat went with it");
        for peer in &peers[1..] {
            assert_eq!(heir.boat_of(*peer), host.boat_of(*peer));
            assert!(heir.world().boats().contains_key(&heir.boat_of(*peer).unwrap()));
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_again(bytes in prop::collection::vec(any::<u8>(), 0..200), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)) {
            let mut host = Harbour::new(3);
            host.board(PeerId(9));
            host.board(PeerId(5));
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
