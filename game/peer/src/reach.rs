//! Which peers this one has links to, and whom to dial next.
//!
//! Every two members of a session keep a link, so that whoever becomes host has one to everybody already. The lower of two
//! ids dials; the other waits a moment and dials too, for the first may be asleep or behind a wall. If both got through,
//! both links stand, and what is sent takes the one that was heard last.
//!
//! Whom nobody reaches in a while is dialed through its lobby's relay. What is sent takes a direct way where there is one, and
//! where there is none, one is tried for again now and then.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mainstay_migration::PeerId;
use mainstay_wire::peer::Card;

use crate::book::{Book, Revision};
use crate::link::{Link, Way};

/// How long the higher of two ids waits for the lower to dial: two handshakes of a slow link.
const PATIENCE: Duration = Duration::from_millis(600);
/// How long after a try the next one comes: a handshake's own repeats lie within.
const AGAIN: Duration = Duration::from_millis(1_000);
/// After how long without a link a peer is dialed through a relay: by then both have dialed each other twice.
const DIRECT_FIRST: Duration = Duration::from_millis(1_500);
/// How long a direct way is tried for as if there were no relay: the other end may learn later where this one is.
const EAGERLY: Duration = Duration::from_secs(10);
/// How often after that: routers rarely change, and a try costs a few packets.
const AGAIN_DIRECTLY: Duration = Duration::from_secs(30);
/// How many links two peers keep: one that each dialed, and one that a network change left behind.
const LINKS_MAX: usize = 3;

/// Links, and where to find whoever has none.
#[derive(Debug)]
pub(crate) struct Reach {
    me: PeerId,
    /// By peer; those through a relay first, and of each kind the one that was heard last stands last.
    links: BTreeMap<PeerId, Vec<Arc<dyn Link>>>,
    missing: BTreeMap<PeerId, Missing>,
    book: Book,
}

/// A peer that should have a link and has none.
#[derive(Debug)]
struct Missing {
    since: Instant,
    tried: Option<Instant>,
}

/// Whether a link that ended was the last one to its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// Others stand.
    Some,
    /// None is left.
    None,
}

impl Reach {
    pub(crate) fn new(me: PeerId) -> Self {
        Self { me, links: BTreeMap::new(), missing: BTreeMap::new(), book: Book::default() }
    }

    /// A link stands.
    pub(crate) fn up(&mut self, link: Arc<dyn Link>) {
        let peer = link.peer();
        if peer == self.me {
            return link.close();
        }
        if !link.is_relayed() {
            self.missing.remove(&peer);
            if let Some(address) = link.address() {
                self.learn(&Card { peer, addresses: vec![address] });
            }
        }
        self.book.tell_anew(peer);
        let links = self.links.entry(peer).or_default();
        links.push(link);
        order(links);
        if links.len() > LINKS_MAX {
            links.remove(0).close();
        }
    }

    pub(crate) fn down(&mut self, peer: PeerId, number: u64) -> Left {
        self.book.tell_anew(peer);
        let Some(links) = self.links.get_mut(&peer) else { return Left::None };
        links.retain(|link| link.number() != number);
        if links.is_empty() {
            self.links.remove(&peer);
            Left::None
        } else {
            Left::Some
        }
    }

    /// Something came over that link.
    pub(crate) fn heard(&mut self, peer: PeerId, number: u64) {
        if let Some(links) = self.links.get_mut(&peer)
            && links.last().is_some_and(|last| last.number() != number)
            && let Some(at) = links.iter().position(|link| link.number() == number)
        {
            let link = links.remove(at);
            links.push(link);
            order(links);
        }
    }

    /// Sends, if there is a link.
    pub(crate) fn send(&self, to: PeerId, bytes: Bytes, way: Way) {
        match self.links.get(&to).and_then(|links| links.last()) {
            Some(link) => link.send(bytes, way),
            None => tracing::trace!(%to, "no link"),
        }
    }

    pub(crate) fn is_linked(&self, peer: PeerId) -> bool {
        self.links.contains_key(&peer)
    }

    /// Whether there are only links through a relay.
    pub(crate) fn is_relayed(&self, peer: PeerId) -> bool {
        self.links.get(&peer).and_then(|links| links.last()).is_some_and(|link| link.is_relayed())
    }

    /// The mean round trip to those that there are links to, in milliseconds; `None` without any.
    pub(crate) fn round_trip_ms(&self, peers: &BTreeSet<PeerId>) -> Option<u16> {
        let trips: Vec<u128> = self
            .links
            .iter()
            .filter(|(peer, _)| peers.contains(peer))
            .filter_map(|(_, links)| links.last())
            .map(|link| link.round_trip().as_millis())
            .collect();
        let count = u128::try_from(trips.len()).ok().filter(|count| *count > 0)?;
        Some(u16::try_from(trips.iter().sum::<u128>() / count).unwrap_or(u16::MAX))
    }

    /// Whoever is linked from one of these addresses.
    pub(crate) fn at(&self, addresses: &[SocketAddr]) -> Vec<PeerId> {
        self.links
            .iter()
            .filter(|(_, links)| {
                links.iter().any(|link| link.address().is_some_and(|address| addresses.contains(&address)))
            })
            .map(|(peer, _)| *peer)
            .collect()
    }

    /// Somebody may be found there. What is new is tried at once.
    pub(crate) fn learn(&mut self, card: &Card) {
        if card.peer != self.me
            && self.book.learn(card)
            && let Some(missing) = self.missing.get_mut(&card.peer)
        {
            missing.tried = None;
        }
    }

    /// Where that peer can be found, as far as this one knows.
    pub(crate) fn card(&self, peer: PeerId) -> Option<Card> {
        self.book.card(peer)
    }

    /// Changes with whatever may be news to somebody.
    pub(crate) const fn revision(&self) -> Revision {
        self.book.revision()
    }

    /// What `to` has not been told yet of where these peers can be found.
    pub(crate) fn news(&mut self, to: PeerId, members: &BTreeSet<PeerId>) -> Option<Vec<Card>> {
        if self.is_linked(to) { self.book.news(to, members) } else { None }
    }

    /// Whom to dial now, of those that should have a link, and of those that are asked to let this peer in: they do not know
    /// of it, and nobody else dials. `relayed` are the addresses that stand for those whom a relay can reach.
    pub(crate) fn due(
        &mut self,
        now: Instant,
        wanted: &BTreeSet<PeerId>,
        asked: &BTreeSet<PeerId>,
        relayed: &BTreeMap<PeerId, SocketAddr>,
    ) -> Vec<Card> {
        let is_meant = |peer: &PeerId| wanted.contains(peer) || asked.contains(peer);
        self.missing.retain(|peer, _| is_meant(peer));
        self.book.keep(now, is_meant, |peer| self.links.contains_key(peer));
        let mut cards = Vec::new();
        for peer in wanted.union(asked).copied() {
            let is_relayed = self.is_relayed(peer);
            if peer == self.me || (self.is_linked(peer) && !is_relayed) {
                continue;
            }
            let missing = self.missing.entry(peer).or_insert(Missing { since: now, tried: None });
            let through = relayed.get(&peer).filter(|_| now >= missing.since + DIRECT_FIRST);
            let known = self.book.addresses(peer);
            let addresses: Vec<SocketAddr> = known.iter().chain(through).copied().collect();
            let is_eager = !is_relayed || now < missing.since + EAGERLY;
            let again = if is_eager { AGAIN } else { AGAIN_DIRECTLY };
            let is_first = self.me < peer || asked.contains(&peer);
            let begins = if is_first { missing.since } else { missing.since + PATIENCE };
            let due = missing.tried.is_none_or(|tried| now >= tried + again) && now >= begins;
            if due && !addresses.is_empty() {
                missing.tried = Some(now);
                cards.push(Card { peer, addresses });
            }
        }
        cards
    }
}

/// Direct ways last; otherwise they stay as they were.
fn order(links: &mut [Arc<dyn Link>]) {
    links.sort_by_key(|link| !link.is_relayed());
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_core::SessionId;
    use mainstay_wire::relay::Seat;

    const ME: PeerId = PeerId(1);
    const OTHER: PeerId = PeerId(2);

    /// A link that keeps nothing but where it leads.
    #[derive(Debug)]
    struct To(u64, SocketAddr);

    impl Link for To {
        fn peer(&self) -> PeerId {
            OTHER
        }
        fn number(&self) -> u64 {
            self.0
        }
        fn address(&self) -> Option<SocketAddr> {
            Some(self.1)
        }
        fn is_relayed(&self) -> bool {
            Seat::at(self.1).is_some()
        }
        fn send(&self, _bytes: Bytes, _way: Way) {}
        fn round_trip(&self) -> Duration {
            Duration::ZERO
        }
        fn close(&self) {}
    }

    fn direct() -> SocketAddr {
        "192.0.2.2:5555".parse().unwrap()
    }

    fn through_relay() -> SocketAddr {
        Seat::of(SessionId::LOWEST, OTHER).address()
    }

    fn knows_other() -> Reach {
        let mut reach = Reach::new(ME);
        reach.learn(&Card { peer: OTHER, addresses: vec![direct()] });
        reach
    }

    fn dialed(reach: &mut Reach, now: Instant) -> Vec<SocketAddr> {
        let (wanted, relayed) = (BTreeSet::from([OTHER]), BTreeMap::from([(OTHER, through_relay())]));
        let linked = reach.is_linked(OTHER);
        let relayed = if linked { BTreeMap::new() } else { relayed };
        let due = reach.due(now, &wanted, &BTreeSet::new(), &relayed);
        due.into_iter().flat_map(|card| card.addresses).collect()
    }

    #[test]
    fn whom_nobody_reaches_is_dialed_through_the_relay_too() {
        let (mut reach, began) = (knows_other(), Instant::now());
        assert_eq!(dialed(&mut reach, began), [direct()]);
        assert_eq!(dialed(&mut reach, began + AGAIN), [direct()], "the other end may just be dialing");
        assert_eq!(dialed(&mut reach, began + 2 * AGAIN), [direct(), through_relay()]);
        let mut unknown = Reach::new(ME);
        assert_eq!(dialed(&mut unknown, began), []);
        assert_eq!(dialed(&mut unknown, began + DIRECT_FIRST), [through_relay()], "also without an address");
    }

    #[test]
    fn an_address_that_is_new_is_tried_at_once() {
        let (mut reach, began) = (Reach::new(ME), Instant::now());
        assert_eq!(dialed(&mut reach, began), []);
        reach.up(Arc::new(To(1, through_relay())));
        let late = began + EAGERLY;
        reach.learn(&Card { peer: OTHER, addresses: vec!["198.51.100.2:5555".parse().unwrap()] });
        assert_eq!(dialed(&mut reach, late).len(), 1);
        assert_eq!(dialed(&mut reach, late + AGAIN), [], "seldom, for it did not answer");
        reach.learn(&Card { peer: OTHER, addresses: vec![direct()] });
        assert_eq!(dialed(&mut reach, late + 2 * AGAIN).last(), Some(&direct()));
    }

    #[test]
    fn a_direct_way_wins_and_is_tried_for_until_it_stands() {
        let (mut reach, began) = (knows_other(), Instant::now());
        reach.up(Arc::new(To(1, through_relay())));
        assert!(reach.is_relayed(OTHER));
        assert_eq!(
            reach.card(OTHER).unwrap().addresses,
            [direct()],
            "nobody is told of an address for here alone"
        );
        assert_eq!(dialed(&mut reach, began), [direct()]);
        assert_eq!(dialed(&mut reach, began + EAGERLY - AGAIN), [direct()]);
        assert_eq!(dialed(&mut reach, began + EAGERLY + AGAIN), [], "and then seldom");
        assert_eq!(dialed(&mut reach, began + EAGERLY + AGAIN_DIRECTLY), [direct()]);
        reach.up(Arc::new(To(2, direct())));
        reach.heard(OTHER, 1);
        assert!(!reach.is_relayed(OTHER), "whatever was heard last");
        assert_eq!(dialed(&mut reach, began + 2 * AGAIN_DIRECTLY), []);
        assert_eq!(reach.down(OTHER, 2), Left::Some);
        assert!(reach.is_relayed(OTHER), "the relay is there still");
    }
}
