//! Where other peers can be found, and who has been told of it.
//!
//! Members tell their host what they learn, and the host tells everybody: of a newcomer each member hears once, not from
//! sixty-two others. Only what is new to somebody is said, so a member that goes costs nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mainstay_migration::PeerId;
use mainstay_wire::peer::{ADDRESSES_MAX, CARDS_MAX, Card};

/// Of how many peers addresses are kept: those of four full sessions.
const KNOWN_MAX: usize = 4 * CARDS_MAX;

/// For how long somebody is remembered who is no member as far as this peer knows: its host may have told where a newcomer is
/// before the word that it is one came through, and says nothing twice. As long as a newcomer asks to be let in.
const STRANGER_FOR: Duration = Duration::from_secs(15);

/// Addresses by peer.
#[derive(Debug, Default)]
pub(crate) struct Book {
    entries: BTreeMap<PeerId, Entry>,
    /// Of whom each was told, and as of which revision.
    told: BTreeMap<PeerId, BTreeMap<PeerId, Revision>>,
    revision: Revision,
}

/// Counts whatever may be news to somebody.
pub(crate) type Revision = u64;

#[derive(Debug)]
struct Entry {
    /// The one that was heard of last stands last.
    addresses: Vec<SocketAddr>,
    /// Where it has answered: what is only told of never pushes that out.
    proven: Option<SocketAddr>,
    /// When one was added.
    revision: Revision,
    /// Since when nobody has asked for it.
    stranger: Option<Instant>,
}

impl Book {
    /// Somebody may be found there. Whether that was not known before.
    pub(crate) fn learn(&mut self, card: &Card) -> bool {
        if card.addresses.is_empty() || (!self.entries.contains_key(&card.peer) && !self.has_room()) {
            return false;
        }
        let revision = self.revision + 1;
        let new = || Entry { addresses: Vec::new(), proven: None, revision, stranger: None };
        let entry = self.entries.entry(card.peer).or_insert_with(new);
        for address in &card.addresses {
            let known = entry.addresses.len();
            entry.addresses.retain(|one| one != address);
            if entry.addresses.len() == known {
                entry.revision = revision;
                self.revision = revision;
            }
            entry.addresses.push(*address);
        }
        while entry.addresses.len() > ADDRESSES_MAX {
            let told = entry.addresses.iter().position(|address| Some(*address) != entry.proven);
            entry.addresses.remove(told.unwrap_or_default());
        }
        self.revision == revision
    }

    /// It has answered there. Whether that was not known before.
    pub(crate) fn prove(&mut self, peer: PeerId, address: SocketAddr) -> bool {
        let is_new = self.learn(&Card { peer, addresses: vec![address] });
        if let Some(entry) = self.entries.get_mut(&peer) {
            entry.proven = Some(address);
        }
        is_new
    }

    /// Makes room for one more: whoever was of no interest for longest gives way.
    fn has_room(&mut self) -> bool {
        if self.entries.len() >= KNOWN_MAX {
            let strangers = self.entries.iter().filter_map(|(peer, entry)| Some((entry.stranger?, *peer)));
            let Some((_, longest)) = strangers.min() else { return false };
            self.entries.remove(&longest);
        }
        true
    }

    /// Where that peer can be found.
    pub(crate) fn addresses(&self, peer: PeerId) -> &[SocketAddr] {
        self.entries.get(&peer).map_or(&[], |entry| &entry.addresses)
    }

    pub(crate) fn card(&self, peer: PeerId) -> Option<Card> {
        let entry = self.entries.get(&peer)?;
        Some(Card { peer, addresses: entry.addresses.clone() })
    }

    /// Changes with whatever may be news to somebody.
    pub(crate) const fn revision(&self) -> Revision {
        self.revision
    }

    /// Whoever came anew knows nothing of what it was told before, and what was on its way over a link that ended is lost.
    pub(crate) fn tell_anew(&mut self, peer: PeerId) {
        self.told.remove(&peer);
        self.revision += 1;
    }

    /// Only these are of interest now, and only those listen.
    pub(crate) fn keep(
        &mut self,
        now: Instant,
        is_meant: impl Fn(&PeerId) -> bool,
        is_linked: impl Fn(&PeerId) -> bool,
    ) {
        self.entries.retain(|peer, entry| {
            entry.stranger = match entry.stranger {
                _ if is_meant(peer) || is_linked(peer) => None,
                since => since.or(Some(now)),
            };
            entry.stranger.is_none_or(|since| now < since + STRANGER_FOR)
        });
        self.told.retain(|peer, _| is_linked(peer));
        for told in self.told.values_mut() {
            told.retain(|peer, _| self.entries.contains_key(peer));
        }
    }

    /// What `to` has not been told yet of these members. It counts as told from now on.
    pub(crate) fn news(&mut self, to: PeerId, members: &BTreeSet<PeerId>) -> Option<Vec<Card>> {
        let told = self.told.entry(to).or_default();
        let mut cards = Vec::new();
        for peer in members.iter().filter(|peer| **peer != to) {
            let Some(entry) = self.entries.get(peer) else { continue };
            if cards.len() < CARDS_MAX && told.insert(*peer, entry.revision) != Some(entry.revision) {
                cards.push(Card { peer: *peer, addresses: entry.addresses.clone() });
            }
        }
        (!cards.is_empty()).then_some(cards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(numbers: impl IntoIterator<Item = u128>) -> BTreeSet<PeerId> {
        numbers.into_iter().map(PeerId).collect()
    }

    fn card(peer: u128, last: u8) -> Card {
        Card { peer: PeerId(peer), addresses: vec![([192, 0, 2, last], 5_555).into()] }
    }

    fn told(book: &mut Book, to: u128, members: &BTreeSet<PeerId>) -> Vec<u128> {
        book.news(PeerId(to), members).unwrap_or_default().iter().map(|card| card.peer.0).collect()
    }

    #[test]
    fn everybody_is_told_once_of_everybody_else() {
        let mut book = Book::default();
        assert!((1..=4).all(|peer| book.learn(&card(peer, 1))));
        let members = peers(1..=4);
        assert_eq!(told(&mut book, 2, &members), [1, 3, 4]);
        assert_eq!(told(&mut book, 2, &members), []);
        assert_eq!(told(&mut book, 2, &peers(2..=4)), [], "who goes is no news");
        assert!(book.learn(&card(5, 1)));
        assert_eq!(told(&mut book, 2, &peers(1..=5)), [5]);
        book.tell_anew(PeerId(2));
        assert_eq!(told(&mut book, 2, &peers(1..=3)), [1, 3]);
    }

    #[test]
    fn only_a_new_address_is_news() {
        let mut book = Book::default();
        let members = peers(1..=2);
        assert!(book.learn(&card(1, 1)));
        assert_eq!(told(&mut book, 2, &members), [1]);
        let before = book.revision();
        assert!(!book.learn(&card(1, 1)));
        assert_eq!((book.revision(), told(&mut book, 2, &members)), (before, vec![]));
        assert!(book.learn(&card(1, 2)));
        assert_eq!(told(&mut book, 2, &members), [1]);
        assert!(!book.learn(&card(1, 1)));
        assert_eq!(told(&mut book, 2, &members), [], "in another order");
        assert_eq!(book.addresses(PeerId(1)).last(), card(1, 1).addresses.last());
    }

    #[test]
    fn a_book_has_an_end() {
        let mut book = Book::default();
        assert!((0..KNOWN_MAX as u128).all(|peer| book.learn(&card(peer, 1))));
        assert!(!book.learn(&card(KNOWN_MAX as u128, 1)));
        assert_eq!(book.entries.len(), KNOWN_MAX);
        for last in 0..2 * ADDRESSES_MAX {
            book.learn(&card(1, u8::try_from(last).unwrap()));
        }
        assert_eq!(book.addresses(PeerId(1)).len(), ADDRESSES_MAX);
        let door = SocketAddr::from(([198, 51, 100, 1], 5_555));
        assert!(book.prove(PeerId(1), door));
        for last in 0..2 * ADDRESSES_MAX {
            book.learn(&card(1, u8::try_from(last).unwrap()));
        }
        assert_eq!(book.addresses(PeerId(1)).len(), ADDRESSES_MAX);
        assert!(
            book.addresses(PeerId(1)).contains(&door),
            "where it answered is not forgotten for what was told"
        );
        let members = peers(0..KNOWN_MAX as u128);
        assert_eq!(told(&mut book, 9_999, &members).len(), CARDS_MAX);
        assert_eq!(told(&mut book, 9_999, &members).len(), CARDS_MAX, "the next");
        let began = Instant::now();
        let keep = |book: &mut Book, after: Duration| {
            book.keep(began + after, |peer| peer.0 < 10, |peer| peer.0 == 20);
            book.entries.len()
        };
        assert_eq!(keep(&mut book, Duration::ZERO), KNOWN_MAX);
        assert!(book.told.is_empty());
        assert!(book.learn(&card(KNOWN_MAX as u128, 1)), "a stranger gives way");
        assert_eq!(keep(&mut book, STRANGER_FOR), 12, "and who is new is waited for");
        assert_eq!(keep(&mut book, 2 * STRANGER_FOR), 11);
    }

    /// Where a newcomer is may come before the word that it is a member, which was lost and is said again.
    #[test]
    fn whoever_is_no_member_yet_is_remembered() {
        let (mut book, began) = (Book::default(), Instant::now());
        assert!(book.learn(&card(1, 1)));
        let keep = |book: &mut Book, after, is_meant: bool| {
            book.keep(began + after, |_| is_meant, |_| false);
            !book.addresses(PeerId(1)).is_empty()
        };
        let nearly = STRANGER_FOR - Duration::from_millis(1);
        assert!(keep(&mut book, Duration::ZERO, false));
        assert!(keep(&mut book, nearly, true), "it has become one");
        assert!(keep(&mut book, 2 * nearly, false));
        assert!(keep(&mut book, 3 * nearly, false));
        assert!(!keep(&mut book, 2 * nearly + STRANGER_FOR, false));
    }
}
