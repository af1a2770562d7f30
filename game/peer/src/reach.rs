//! Which peers this one has links to, and whom to dial next.
//!
//! Every two members of a session keep a link, so that whoever becomes host has one to everybody already. The lower of two
//! ids dials; the other waits a moment and dials too, for the first may be asleep or behind a wall. If both got through,
//! both links stand, and what is sent takes the one that was heard last.
//!
//! Whom nobody reaches in a while is dialed through its lobby's relay. What is sent takes a direct way where there is one, and
//! where there is none, one is tried for again now and then. A direct way over which nothing comes back is *silent*: what is sent
//! takes a relayed one, which is dialed at once where none stands, until something comes over the direct one again. A link that was silent
//! for a while asks ever more seldom whether it is heard, and its queue is old: it is dialed anew beside it, and the network is back the moment
//! that one stands.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mainstay_migration::PeerId;
use mainstay_wire::peer::Card;

use crate::book::{Book, Revision};
use crate::hands::TEND;
use crate::link::{Link, Obstacle, Rank, Way};
use crate::standing::{Standing, look, surplus};

/// How long the higher of two ids waits for the lower to dial: two handshakes of a slow link.
const PATIENCE: Duration = Duration::from_millis(600);
/// How long after a try the next one comes: a handshake's own repeats lie within.
const AGAIN: Duration = Duration::from_millis(1_000);
/// After how long without a link a peer is dialed through a relay: by then both have dialed each other twice.
const DIRECT_FIRST: Duration = Duration::from_millis(1_500);
/// How long a direct way is tried for as if there were no relay: the other end may learn later where this one is.
const EAGERLY: Duration = Duration::from_secs(10);
/// After how long a silent way is dialed anew beside the link that stands: its probes are a second apart by then, and soon four (RFC 9002,
/// section 6.2.1, doubles them), and nothing says that whoever is there has gone.
const ANEW: Duration = Duration::from_millis(1_500);
/// How often after that: routers rarely change, and a try costs a few packets.
const AGAIN_DIRECTLY: Duration = Duration::from_secs(30);
/// How long a link stands to somebody who is in no session of this peer's and asks to be let into none: as long as a newcomer takes
/// that is sent from one member to another. Idle strangers would keep players out otherwise, for links are counted.
const STRANGER_MAX: Duration = Duration::from_secs(15);
/// How many links two peers keep: one that each dialed, and one through a relay or that a network change left behind.
const LINKS_MAX: usize = 3;

/// Links, and where to find whoever has none.
#[derive(Debug)]
pub(crate) struct Reach {
    me: PeerId,
    /// By peer; those through a relay first, and of each kind the one that was heard last stands last.
    links: BTreeMap<PeerId, Vec<Standing>>,
    missing: BTreeMap<PeerId, Missing>,
    /// Whoever is linked and in no session of this peer's, and since when.
    strangers: BTreeMap<PeerId, Instant>,
    book: Book,
    /// When links were looked at last.
    looked: Option<Instant>,
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
        let (links, missing, strangers) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { me, links, missing, strangers, book: Book::default(), looked: None }
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
                self.book.prove(peer, address);
            }
        }
        self.book.tell_anew(peer);
        let links = self.links.entry(peer).or_default();
        links.push(Standing::new(link));
        order(links);
        if links.len() > LINKS_MAX {
            links.remove(surplus(links)).link.close();
        }
    }

    pub(crate) fn down(&mut self, peer: PeerId, number: u64) -> Left {
        self.book.tell_anew(peer);
        let Some(links) = self.links.get_mut(&peer) else { return Left::None };
        links.retain(|it| it.link.number() != number);
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
            && links.last().is_some_and(|last| last.link.number() != number)
            && let Some(at) = links.iter().position(|it| it.link.number() == number)
        {
            let link = links.remove(at);
            links.push(link);
            order(links);
        }
    }

    /// Whether some link to it carries no more than a stranger's.
    pub(crate) fn is_strange(&self, peer: PeerId) -> bool {
        self.links.get(&peer).is_some_and(|links| !links.iter().all(Standing::is_admitted))
    }

    /// This peer has to do with it: its links carry all that links do.
    pub(crate) fn admit(&mut self, peer: PeerId) {
        self.links.get_mut(&peer).into_iter().flatten().for_each(Standing::admit);
    }

    /// Those whose links carry no more than strangers'.
    pub(crate) fn strangers(&self) -> Vec<PeerId> {
        self.links.keys().copied().filter(|peer| self.is_strange(*peer)).collect()
    }

    /// Closes the links of those that have been strangers for too long.
    pub(crate) fn turn_out(&mut self, now: Instant, is_stranger: impl Fn(PeerId) -> bool) {
        self.strangers.retain(|peer, _| self.links.contains_key(peer) && is_stranger(*peer));
        for (peer, links) in self.links.iter().filter(|(peer, _)| is_stranger(**peer)) {
            let since = *self.strangers.entry(*peer).or_insert(now);
            if now >= since + STRANGER_MAX {
                tracing::debug!(%peer, "a stranger goes");
                links.iter().for_each(|it| it.link.close());
                // Should it come again at once, it has as long as anybody.
                self.strangers.remove(peer);
            }
        }
    }

    /// Sends, if there is a link that takes it. What the rules say they say again.
    pub(crate) fn send(&self, to: PeerId, bytes: Bytes, way: Way, rank: Rank) -> Result<(), Obstacle> {
        let best = self.best(to).ok_or(Obstacle::NoLink)?;
        best.send(bytes, way, rank)
    }

    /// The same of what is said again anyway.
    pub(crate) fn send_or_lose(&self, to: PeerId, bytes: Bytes, way: Way, rank: Rank) {
        if let Err(obstacle) = self.send(to, bytes, way, rank) {
            tracing::trace!(%to, ?rank, %obstacle, "a packet was not sent");
        }
    }

    /// The link that is sent over: the last that is not silent.
    fn best(&self, to: PeerId) -> Option<&Standing> {
        let links = self.links.get(&to)?;
        links.iter().rfind(|it| !it.is_silent).or(links.last())
    }

    /// Looks which links are silent: every [`TEND`], and what it was late counts for nobody's silence, for what has come meanwhile
    /// may not be read yet.
    pub(crate) fn look(&mut self, now: Instant) {
        let asleep = self.looked.map_or(Duration::ZERO, |at| (now - at).saturating_sub(TEND));
        self.looked = Some(now);
        self.links.values_mut().for_each(|links| look(links, now, asleep));
    }

    pub(crate) fn is_linked(&self, peer: PeerId) -> bool {
        self.links.contains_key(&peer)
    }

    /// Whether it is heard over some link, as far as it was asked.
    pub(crate) fn is_heard(&self, peer: PeerId) -> bool {
        self.best(peer).is_some_and(|best| !best.is_silent)
    }

    /// Whether what is sent goes through a relay.
    pub(crate) fn is_relayed(&self, peer: PeerId) -> bool {
        self.best(peer).is_some_and(|best| best.link.is_relayed())
    }

    /// The mean round trip to those that there are links to, in milliseconds; `None` without any.
    pub(crate) fn round_trip_ms(&self, peers: &BTreeSet<PeerId>) -> Option<u16> {
        let trips: Vec<u128> = self
            .links
            .iter()
            .filter(|(peer, _)| peers.contains(peer))
            .filter_map(|(_, links)| links.last())
            .map(|it| it.link.round_trip().as_millis())
            .collect();
        let count = u128::try_from(trips.len()).ok().filter(|count| *count > 0)?;
        Some(u16::try_from(trips.iter().sum::<u128>() / count).unwrap_or(u16::MAX))
    }

    /// Whoever is linked from one of these addresses.
    pub(crate) fn at(&self, addresses: &[SocketAddr]) -> Vec<PeerId> {
        self.links
            .iter()
            .filter(|(_, links)| {
                let mut at = links.iter().filter_map(|it| it.link.address());
                at.any(|address| addresses.contains(&address))
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
    /// of it, and nobody else dials. `relayed` are the addresses that stand for those whom a relay can reach. Of some no address is known.
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
            if peer == self.me {
                continue;
            }
            if self.is_heard(peer) && !is_relayed {
                self.missing.remove(&peer);
                continue;
            }
            // Whoever is linked and not heard would not answer there either: the relay alone is another way, and at once.
            let is_silent = self.is_linked(peer) && !self.is_heard(peer);
            let missing = self.missing.entry(peer).or_insert(Missing { since: now, tried: None });
            let through = relayed.get(&peer).filter(|_| is_silent || now >= missing.since + DIRECT_FIRST);
            let is_anew = now >= missing.since + ANEW;
            let known = if is_silent && !is_anew { &[] } else { self.book.addresses(peer) };
            let addresses: Vec<SocketAddr> = known.iter().chain(through).copied().collect();
            let is_eager = !is_relayed || now < missing.since + EAGERLY;
            let again = if is_eager { AGAIN } else { AGAIN_DIRECTLY };
            let is_first = self.me < peer || asked.contains(&peer);
            let begins = if is_first { missing.since } else { missing.since + PATIENCE };
            let due = missing.tried.is_none_or(|tried| now >= tried + again) && now >= begins;
            if due {
                missing.tried = Some(now);
                cards.push(Card { peer, addresses });
            }
        }
        cards
    }
}

/// Direct ways last; otherwise they stay as they were.
fn order(links: &mut [Standing]) {
    links.sort_by_key(|it| !it.link.is_relayed());
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;
    use mainstay_core::SessionId;
    use mainstay_wire::relay::Seat;

    const ME: PeerId = PeerId(1);
    const OTHER: PeerId = PeerId(2);

    /// A link that keeps nothing but where it leads, and how much has come over it.
    #[derive(Debug)]
    struct To(u64, SocketAddr, AtomicU64, AtomicU64);

    impl To {
        fn new(number: u64, address: SocketAddr) -> Arc<Self> {
            Arc::new(Self(number, address, AtomicU64::new(0), AtomicU64::new(0)))
        }

        fn answers(&self) {
            self.2.fetch_add(1, Ordering::Relaxed);
        }
    }

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
        fn send(&self, _bytes: Bytes, _way: Way, _rank: Rank) -> Result<(), Obstacle> {
            Ok(())
        }
        fn received(&self) -> u64 {
            self.2.load(Ordering::Relaxed)
        }
        fn round_trip(&self) -> Duration {
            Duration::from_millis(50)
        }
        fn admit(&self) {
            self.3.fetch_add(1, Ordering::Relaxed);
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
        let relayed = if reach.is_heard(OTHER) { BTreeMap::new() } else { relayed };
        let due = reach.due(now, &wanted, &BTreeSet::new(), &relayed);
        due.into_iter().flat_map(|card| card.addresses).collect()
    }

    #[test]
    fn whoever_is_met_is_no_stranger_on_any_link_and_told_so_once() {
        let mut reach = Reach::new(ME);
        let (one, other) = (To::new(1, direct()), To::new(2, through_relay()));
        reach.up(Arc::clone(&one) as _);
        assert_eq!(reach.strangers(), [OTHER]);
        reach.admit(OTHER);
        assert!(reach.strangers().is_empty());
        reach.up(Arc::clone(&other) as _);
        assert!(reach.is_strange(OTHER), "a new link knows nothing");
        reach.admit(OTHER);
        assert_eq!([one, other].map(|link| link.3.load(Ordering::Relaxed)), [1, 1]);
    }

    #[test]
    fn a_stranger_goes_after_a_while_and_a_member_stays() {
        #[derive(Debug)]
        struct Open(AtomicBool);
        impl Link for Open {
            fn peer(&self) -> PeerId {
                OTHER
            }
            fn number(&self) -> u64 {
                1
            }
            fn address(&self) -> Option<SocketAddr> {
                None
            }
            fn is_relayed(&self) -> bool {
                false
            }
            fn send(&self, _bytes: Bytes, _way: Way, _rank: Rank) -> Result<(), Obstacle> {
                Ok(())
            }
            fn received(&self) -> u64 {
                0
            }
            fn round_trip(&self) -> Duration {
                Duration::ZERO
            }
            fn close(&self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let (mut reach, began) = (Reach::new(ME), Instant::now());
        let link = Arc::new(Open(AtomicBool::new(false)));
        let is_closed = || link.0.load(Ordering::Relaxed);
        reach.up(Arc::clone(&link) as _);
        reach.turn_out(began, |_| true);
        reach.turn_out(began + STRANGER_MAX / 2, |_| false);
        reach.turn_out(began + STRANGER_MAX, |_| true);
        assert!(!is_closed(), "it was let in meanwhile, and out again");
        reach.turn_out(began + 3 * STRANGER_MAX, |_| false);
        assert!(!is_closed(), "a member");
        reach.turn_out(began + 3 * STRANGER_MAX, |_| true);
        reach.turn_out(began + 4 * STRANGER_MAX, |peer| peer == OTHER);
        assert!(is_closed());
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
        reach.up(To::new(1, through_relay()));
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
        reach.up(To::new(1, through_relay()));
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
        reach.up(To::new(2, direct()));
        reach.heard(OTHER, 1);
        assert!(!reach.is_relayed(OTHER), "whatever was heard last");
        assert_eq!(dialed(&mut reach, began + 2 * AGAIN_DIRECTLY), []);
        assert_eq!(reach.down(OTHER, 2), Left::Some);
        assert!(reach.is_relayed(OTHER), "the relay is there still");
    }

    /// How long nothing is answered before a link of these tests counts as silent: a round trip takes 50 ms.
    const SILENT: Duration = Duration::from_millis(250);

    /// Sends as long as that, and looks after it.
    fn sends(reach: &mut Reach, from: Instant, during: Duration) -> Instant {
        let until = from + during;
        let mut now = from;
        while now < until {
            reach.send(OTHER, Bytes::new(), Way::Datagram, Rank::Rules).unwrap();
            reach.look(now);
            now += TEND;
        }
        reach.look(until);
        until
    }

    #[test]
    fn a_silent_direct_way_gives_way_to_the_relay_until_it_is_heard() {
        let (mut reach, began) = (knows_other(), Instant::now());
        let (relayed, straight) = (To::new(1, through_relay()), To::new(2, direct()));
        reach.up(relayed.clone());
        reach.up(straight.clone());
        (0..30).for_each(|times| reach.look(began + times * TEND));
        assert!(!reach.is_relayed(OTHER), "where nothing is sent nothing need be answered");
        let now = sends(&mut reach, began + 30 * TEND, SILENT - Duration::from_millis(1));
        assert!(!reach.is_relayed(OTHER), "two packets may be lost");
        let now = sends(&mut reach, now, Duration::from_millis(1));
        assert!(reach.is_relayed(OTHER) && reach.is_heard(OTHER));
        assert_eq!(dialed(&mut reach, now), [direct()], "which is tried for");
        relayed.answers();
        let now = sends(&mut reach, now, SILENT / 2);
        assert!(reach.is_relayed(OTHER), "nothing has come over the direct one");
        straight.answers();
        let now = sends(&mut reach, now, TEND);
        assert!(!reach.is_relayed(OTHER));
        assert_eq!(dialed(&mut reach, now), []);
    }

    #[test]
    fn one_packet_that_is_lost_where_little_is_said_is_no_silence() {
        let (mut reach, began) = (knows_other(), Instant::now());
        reach.up(To::new(2, direct()));
        let now = sends(&mut reach, began, TEND);
        (0..30).for_each(|times| reach.look(now + times * TEND));
        assert!(reach.is_heard(OTHER));
    }

    #[test]
    fn who_slept_takes_nobody_for_silent() {
        let (mut reach, began) = (knows_other(), Instant::now());
        reach.up(To::new(2, direct()));
        let now = sends(&mut reach, began, TEND);
        reach.look(now + 10 * SILENT);
        assert!(reach.is_heard(OTHER));
    }

    #[test]
    fn a_relay_is_dialed_at_once_where_the_only_way_is_silent() {
        let (mut reach, began) = (knows_other(), Instant::now());
        reach.up(To::new(2, direct()));
        let now = sends(&mut reach, began, SILENT);
        assert!(!reach.is_heard(OTHER) && reach.is_linked(OTHER));
        assert_eq!(dialed(&mut reach, now), [through_relay()]);
        assert_eq!(dialed(&mut reach, now + AGAIN / 2), []);
    }

    /// After a cut of seven seconds the next probe of a link was five seconds away, and its player was put out meanwhile.
    #[test]
    fn a_way_that_was_silent_for_a_while_is_dialed_anew_beside_its_link() {
        let (mut reach, began) = (knows_other(), Instant::now());
        reach.up(To::new(2, direct()));
        let now = sends(&mut reach, began, SILENT);
        assert_eq!(dialed(&mut reach, now), [through_relay()]);
        assert_eq!(dialed(&mut reach, now + AGAIN), [through_relay()]);
        assert_eq!(dialed(&mut reach, now + 2 * AGAIN), [direct(), through_relay()]);
        assert_eq!(dialed(&mut reach, now + 3 * AGAIN), [direct(), through_relay()]);
        let new = To::new(3, direct());
        new.answers();
        reach.up(new);
        let now = sends(&mut reach, now + 3 * AGAIN, TEND);
        assert!(reach.is_heard(OTHER), "the old one is silent still");
        assert_eq!(dialed(&mut reach, now + AGAIN), []);
    }

    #[test]
    fn links_over_one_way_are_silent_together_and_make_room_for_the_relay() {
        let (mut reach, began) = (knows_other(), Instant::now());
        (2..5).for_each(|number| reach.up(To::new(number, direct())));
        sends(&mut reach, began, SILENT);
        assert!(!reach.is_heard(OTHER), "the other two were not tried");
        reach.up(To::new(1, through_relay()));
        assert!(reach.is_heard(OTHER) && reach.is_relayed(OTHER), "a silent one has gone");
        reach.up(To::new(5, "198.51.100.2:5555".parse().unwrap()));
        assert!(!reach.is_relayed(OTHER), "another way");
        assert_eq!(reach.down(OTHER, 5), Left::Some);
        assert!(reach.is_relayed(OTHER), "the relay was kept");
    }
}
