//! Who should have a link and has none: members, whoever is asked to let this peer in, and whom the lobby has named.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use mainstay_migration::{Input, PeerId, SessionId};
use mainstay_wire::peer::{Card, Packet};

use super::Hands;
use super::entrance::SEEK_MAX;
use super::place::{Life, Outside, Place};
use crate::book::Revision;
use crate::key::Whom;
use crate::link::{Rank, Way};
use crate::relay::{Berth, Moored};

/// How long a newcomer that the lobby named is dialed: as long as it asks to be let in. Behind routers both ends have to.
const EXPECTED_FOR: Duration = SEEK_MAX;

/// How often the mean round trip is measured.
const MEASURE_EVERY: Duration = Duration::from_secs(1);
/// How often strangers are looked for among all links: they have many times as long.
const STRANGERS_EVERY: Duration = Duration::from_secs(1);
/// How many are told at once where others are: a new host's whole book goes to everybody, beside its game.
const BOOKS_AT_ONCE: usize = 8;

/// Who has been told everything as of which revision of the book: nobody needs to be looked at again until it changes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known {
    revision: Revision,
    listeners: Vec<PeerId>,
    members: BTreeSet<PeerId>,
}

impl Outside {
    const fn moored(&self) -> Option<&Moored> {
        match self {
            Self::Lobby { moored, .. } => moored.as_ref(),
            Self::Nobody | Self::Lan(_) => None,
        }
    }
}

impl Hands {
    /// The lobby has let them in: whoever is no member yet is on its way here.
    pub(super) fn expect(&mut self, id: SessionId, cards: &[Card]) {
        let until = Instant::now() + EXPECTED_FOR;
        let Some(Place { life: Life::In(session), expected, .. }) = self.places.get_mut(&id) else { return };
        let members = &session.roster().members;
        for card in cards.iter().filter(|card| card.peer != self.me) {
            self.reach.learn(card);
            if !members.contains_key(&card.peer) {
                expected.entry(card.peer).or_insert(until);
            }
        }
        expected.retain(|peer, _| cards.iter().any(|card| card.peer == *peer));
    }

    /// Looks after links: dials whom this peer should have one to, tells the rules to whom it has one and others where members are, and measures.
    pub(super) fn tend(&mut self, now: Instant) {
        self.reach.look(now);
        self.reach.strangers().into_iter().for_each(|peer| self.admit(peer));
        let (mut wanted, mut asked) = (BTreeSet::new(), BTreeSet::new());
        let mut news = Vec::new();
        let (mut trips, mut links) = (Vec::new(), Vec::new());
        let mut relayed = BTreeMap::new();
        for (id, place) in &mut self.places {
            let mut through = |moored: Option<&Moored>, peers: &mut dyn Iterator<Item = PeerId>| {
                let Some(moored) = moored else { return };
                for peer in peers.filter(|peer| !self.reach.is_heard(*peer)) {
                    let seat = moored.seat(peer);
                    self.quic.route(seat, moored.berth().relay);
                    relayed.insert(peer, seat.address());
                }
            };
            let session = match &place.life {
                Life::Seeks { .. } => continue,
                Life::Joins(joining) => {
                    // Whoever lets it in need not be whose door it knew.
                    asked.extend(joining.asks());
                    through(place.outside.moored(), &mut joining.asks().iter().copied());
                    continue;
                }
                Life::In(session) if session.is_over() => continue,
                Life::In(session) => session,
            };
            place.expected.retain(|peer, until| now < *until && !session.roster().members.contains_key(peer));
            asked.extend(place.expected.keys());
            let mut members: BTreeSet<PeerId> = session.roster().members.keys().copied().collect();
            members.extend(session.view().members.keys());
            members.insert(session.leader());
            members.remove(&self.me);
            through(place.outside.moored(), &mut members.iter().chain(place.expected.keys()).copied());
            if place.measured.is_none_or(|at| now >= at + MEASURE_EVERY)
                && let Some(ping_ms) = self.reach.round_trip_ms(&members)
            {
                place.measured = Some(now);
                trips.push((*id, ping_ms));
            }
            let linked: BTreeSet<PeerId> =
                members.iter().copied().filter(|peer| self.reach.is_linked(*peer)).collect();
            if linked != place.linked {
                place.linked.clone_from(&linked);
                links.push((*id, linked));
            }
            let listeners: Vec<PeerId> =
                if session.is_host() { members.iter().copied().collect() } else { vec![session.leader()] };
            wanted.extend(&members);
            let known = Known { revision: self.reach.revision(), listeners, members };
            if place.known.as_ref() != Some(&known) {
                let untold = known
                    .listeners
                    .iter()
                    .filter_map(|to| Some((*to, self.reach.news(*to, &known.members)?)));
                let some: Vec<(PeerId, Vec<Card>)> = untold.take(BOOKS_AT_ONCE).collect();
                place.known = (some.len() < BOOKS_AT_ONCE).then_some(known);
                news.extend(some);
            }
        }
        // Whoever looks for a session has dialed doors, and knows nobody yet.
        let is_time = now >= self.strangers_at;
        if is_time && !self.places.values().any(|place| matches!(place.life, Life::Seeks { .. })) {
            let speaks_with = |peer| {
                let mut sessions = self.places.values();
                sessions.any(|place| matches!(&place.life, Life::In(session) if session.speaks_with(peer)))
            };
            let is_meant =
                |peer| wanted.contains(&peer) || asked.contains(&peer) || self.sought.contains_key(&peer);
            self.strangers_at = now + STRANGERS_EVERY;
            self.reach.turn_out(now, |peer| !is_meant(peer) && !speaks_with(peer));
        }
        for (to, cards) in news {
            self.reach.send_or_lose(to, Packet::Book(cards).encode().into(), Way::Stream, Rank::Rules);
        }
        for card in self.reach.due(now, &wanted, &asked, &relayed) {
            card.addresses.iter().for_each(|address| self.dial(*address, Whom::Peer(card.peer)));
            if let Some(transport) = &mut self.transport {
                transport.dial(card.peer);
            }
        }
        for (id, linked) in links {
            self.give(id, Input::Linked(linked));
        }
        let nat = self.mirror.reach().nat;
        for (id, ping_ms) in trips {
            self.give(id, Input::Reachable { nat, ping_ms });
        }
    }

    /// The lobby tells anew what carries for this peer.
    pub(super) fn moor(&mut self, id: SessionId, berth: Option<Berth>) {
        let hailer = self.quic.hailer();
        let Some(Place { outside: Outside::Lobby { moored, .. }, .. }) = self.places.get_mut(&id) else {
            return;
        };
        if moored.as_ref().map(Moored::berth) == berth {
            return;
        }
        tracing::debug!(session = %id, relay = ?berth.map(|berth| berth.relay), "has another relay");
        // The old place is left before the new one is taken: it is the session that is hailed for.
        *moored = None;
        *moored = berth.map(|berth| hailer.enter(named(id), berth));
    }
}

/// A session as its lobby and relay name it.
pub(super) const fn named(session: SessionId) -> mainstay_core::SessionId {
    mainstay_core::SessionId(uuid::Uuid::from_u128(session.0))
}
