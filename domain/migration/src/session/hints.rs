//! What peers tell of themselves, and how the host keeps the list of it.
//!
//! A peer counts the links that its hands have told of, and only those to others who play: whom it has no link to it would have to
//! reach first, were it host. Links come and go by themselves, so a count that has just changed stands for a while before it changes
//! again; what the game and the console say of this peer is told with its next beat.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::hint::{CanBeHost, Hint, HintList, HintVersion};
use crate::message::Body;
use crate::session::words::Cause;
use crate::session::{Contact, Leadership, Presence, Session};
use crate::{Guards, PeerId, Support};

/// How long a count of links stands, at least: each that changes is a new list for every member. After a quiet time it is told at once;
/// a link that flaps is told of every two seconds. QUIC takes 10 s to give one up, so nobody becomes host for the 2 s more.
const COUNT_STANDS: Duration = Duration::from_secs(2);

/// How long a list of a large session stands, at least: of sixty-four somebody's hint changes with nearly each beat, and each list is two packets for
/// everybody. Three changes of a second are one then.
const LIST_STANDS: Duration = Duration::from_secs(1);

/// How many links this peer tells of, and since when.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    links: u8,
    since: Option<Timestamp>,
}

impl<G: Guards> Session<G> {
    /// The hands have links to these now, and to nobody else. Whose link broke and was made anew is here, also where it has nothing to say to
    /// this peer: else the two would expect different hosts of one list.
    pub(super) fn be_linked(&mut self, peers: BTreeSet<PeerId>) {
        for peer in peers.difference(&self.linked) {
            if let Some(contact) = self.contacts.get_mut(peer)
                && contact.presence == Presence::Gone
            {
                contact.presence = Presence::Here;
            }
        }
        for peer in self.linked.difference(&peers) {
            self.contacts.entry(*peer).and_modify(Contact::lose_link);
        }
        self.linked = peers;
    }

    /// Whether there is a link to somebody who plays or votes.
    pub(super) fn is_linked(&self, peer: PeerId) -> bool {
        let is_there = |it: &super::Contact| !it.is_gone();
        self.linked.contains(&peer)
            && !self.guests.contains(&peer)
            && self.contacts.get(&peer).is_some_and(is_there)
    }

    /// Tells of another count of links, once the one that is told has stood long enough.
    pub(super) fn count_links(&mut self, now: Timestamp) {
        let links = self.linked.iter().filter(|peer| self.is_linked(**peer)).count();
        let links = u8::try_from(links).unwrap_or(u8::MAX);
        let may_change = self.counted.since.is_none_or(|since| now >= since + COUNT_STANDS);
        if links != self.counted.links && may_change {
            self.counted = Counted { links, since: Some(now) };
        }
    }

    /// The game says so. While there is no host nobody else's list tells this peer of itself.
    pub(super) fn be_suitable(&mut self, can_be_host: CanBeHost) {
        self.hint.can_be_host = can_be_host;
        self.learn_who_can(self.me(), self.reported_hint());
    }

    /// What this peer tells of itself. Whoever would not go along is nobody's successor; where its host is not lost it would be, if it is given the session.
    pub(super) fn reported_hint(&self) -> Hint {
        let misses_host = matches!(self.leadership, Leadership::Doubts(_));
        let goes_along = self.config.support == Support::Supported
            && self.departs.is_none()
            && (!misses_host || self.goes_along(Cause::Catastrophic));
        let can_be_host = if goes_along { self.hint.can_be_host } else { CanBeHost::NotYet };
        self.settings.reported(Hint { connections: self.counted.links, can_be_host, ..self.hint })
    }

    /// What members told since the last beat, as one list: of many small ones, each for another member, no two would agree on
    /// who comes next. In a large session since the last [`LIST_STANDS`].
    pub(super) fn keep_hints(&mut self, now: Timestamp) {
        if !matches!(self.leadership, Leadership::Reigns(_)) {
            return;
        }
        let has_changed_lately = self.list_changed.is_some_and(|at| now < at + LIST_STANDS);
        if !self.is_small() && has_changed_lately {
            return;
        }
        let members = self.roster.members.clone();
        let own = (self.me(), self.reported_hint());
        let before = self.hints.version;
        for (peer, hint) in self.told_hints().into_iter().chain([own]) {
            if let Some(channel) = members.get(&peer)
                && self.hints.take(peer, *channel, hint)
            {
                self.list_changed = Some(now);
            }
        }
        // Of two lists that differ two may each be told that the other comes next: so that all have it as soon as anybody does. Of a small session
        // whoever has it tells whoever has not.
        if !self.is_small() && self.hints.version != before {
            let hints = self.hints.clone();
            self.tell_list(now, &Body::Hints(hints));
        }
    }

    /// What others told of themselves last.
    pub(super) fn told_hints(&self) -> Vec<(PeerId, Hint)> {
        let told = self.contacts.iter().map(|(peer, contact)| (*peer, contact.beat));
        told.filter_map(|(peer, beat)| Some((peer, beat?.hint))).collect()
    }

    /// The host that it obeys now keeps a list of its own, and perhaps in the same epoch: sides without a majority count on from where they
    /// parted. And while there was no host this peer has written into the one that it has.
    pub(super) const fn forget_list(&mut self) {
        self.hints.version = HintVersion::NONE;
    }

    /// This peer keeps the list from now on.
    pub(super) const fn own_list(&mut self) {
        self.list_changed = None;
        self.hints.version = HintVersion { epoch: self.ballot.epoch(), number: 0 };
    }

    pub(super) fn take_hints(&mut self, hints: HintList) {
        if hints.version > self.hints.version {
            self.hints = hints;
            // It may come after the word that its host goes, and know nothing of whoever has just come.
            self.learn_who_all_can();
        }
    }
}
