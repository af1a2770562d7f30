//! Who was away too long and is a member no more: it asks to be let in again, wherever its host is by now. And the hosts of other sides, who are met.

use alloc::boxed::Box;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::join::{Full, JOIN_MAX};
use crate::message::{Closed, Welcome};
use crate::session::reign::Mandate;
use crate::session::vacancy::{Host, Quorum};
use crate::session::words::{Cause, End};
use crate::session::{AGAIN, Contact, Leadership, Session};
use crate::stages::Failure;
use crate::view::MEMBERS_MAX;
use crate::{Guards, PeerId, Stamp};

/// How long a peer that is no member any more asks to be one again: as long as one that never was.
const OUTSIDE_MAX: Duration = JOIN_MAX;

impl<G: Guards> Session<G> {
    /// A peer that does not play any more was away too long, and asks to be let in again.
    pub(super) fn find_oneself(&mut self, now: Timestamp) {
        // The word that it was thrown out may be lost, or late: until then it could be host.
        if self.roster.kicked.contains(&self.me()) {
            return self.end(now, End::Refused(Closed::Kicked));
        }
        let is_in = self.roster.members.contains_key(&self.me());
        match &self.leadership {
            Leadership::Follows | Leadership::Doubts(_) | Leadership::Vacant(_) if !is_in => {
                self.ballot.withdraw();
                self.leadership = Leadership::outside(now);
                self.ask_all_in();
            }
            Leadership::Outside { .. } if is_in => self.obey(now, self.leader()),
            Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Reigns(_)
            | Leadership::Outside { .. }
            | Leadership::Over => {}
        }
    }

    /// Asks to be let in again, but not for ever (I14).
    pub(super) fn ask_in(&mut self, now: Timestamp) {
        let Leadership::Outside { since, asked, .. } = &mut self.leadership else { return };
        if now >= *since + OUTSIDE_MAX {
            return self.fail(now, Cause::Fenced, Failure::CutOff);
        }
        if now >= *asked + AGAIN {
            *asked = now;
            self.ask_all_in();
        }
    }

    /// The host does not let it in. Where it has no seat for who is outside, one may become free.
    pub(super) fn be_turned_away(&mut self, now: Timestamp, from: PeerId, why: Closed) {
        if from != self.leader() {
            return;
        }
        if let (Closed::Full, Leadership::Outside { no_seat, .. }) = (why, &mut self.leadership)
            && no_seat.hear(now) == Full::Perhaps
        {
            return;
        }
        self.end(now, End::Refused(why));
    }

    /// Everybody it knew: its host may be gone, and whoever is none says who is.
    pub(super) fn ask_all_in(&mut self) {
        let request = self.request();
        self.send_all(&request);
    }

    pub(super) fn be_welcome(&mut self, now: Timestamp, from: PeerId, stamp: Stamp, welcome: Box<Welcome>) {
        if !matches!(self.leadership, Leadership::Outside { .. }) {
            return;
        }
        self.be_told(now, &welcome.certificates, Some(&welcome.view), self.moved_by);
        if stamp.fork > 0 && stamp > self.stamp() && stamp.epoch == self.stamp().epoch {
            self.follow_fork(now, from, stamp);
        }
        if from == self.leader() && stamp == self.stamp() {
            self.hints = welcome.hints;
            self.take_roster(now, from, welcome.roster);
            // It may have been in all the time.
            self.find_oneself(now);
        }
    }

    pub(super) fn be_redirected(&mut self, now: Timestamp, from: PeerId, host: PeerId) {
        let stepped_down = from == self.leader();
        if let Some(contact) = self.contacts.get_mut(&from) {
            contact.sent_on = Some(now);
        }
        match &self.leadership {
            // The host of this side obeys another now, and nobody told.
            Leadership::Follows | Leadership::Doubts(_) if stepped_down => self.ask_from_outside(now, host),
            // It gave the session away, and whoever has it now has not heard that this peer came in.
            Leadership::Vacant(vacancy) if stepped_down && vacancy.host == Host::HandsOver => {
                self.ballot.withdraw();
                self.ask_from_outside(now, host);
            }
            // Whoever goes on for this side's host has not heard that this peer came in.
            Leadership::Vacant(vacancy)
                if from == host && vacancy.quorum == Quorum::Missing && self.is_member(host) =>
            {
                self.ballot.withdraw();
                self.leadership = Leadership::outside(now);
                let request = self.request();
                self.send(host, request);
            }
            Leadership::Outside { .. } => self.ask_of(now, host),
            // Nobody of its own side can be host: it comes to that one's as soon as it hears it.
            Leadership::Vacant(_) if self.waits_in_vain(now) => self.ask_of(now, host),
            // The host of another side: they have to meet.
            Leadership::Reigns(reign) if reign.mandate == Mandate::Unconfirmed => self.be_guest(now, host),
            Leadership::Reigns(_)
            | Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Over => {}
        }
    }

    fn ask_from_outside(&mut self, now: Timestamp, host: PeerId) {
        self.leadership = Leadership::outside(now);
        self.ask_of(now, host);
    }

    /// Asks one that is host to be let in.
    fn ask_of(&mut self, now: Timestamp, host: PeerId) {
        self.be_guest(now, host);
        let request = self.request();
        self.send(host, request);
    }

    /// The hands have found somebody: a host speaks to it. Also to one that was thrown out: it may lead a side that has not heard of that.
    pub(super) fn find(&mut self, now: Timestamp, peer: PeerId) {
        let is_host = matches!(self.leadership, Leadership::Reigns(_));
        if is_host && !self.contacts.contains_key(&peer) {
            self.be_guest(now, peer);
        }
    }

    /// A host of another side is met.
    pub(super) fn be_guest(&mut self, now: Timestamp, peer: PeerId) {
        if self.guests.len() >= MEMBERS_MAX && !self.guests.contains(&peer) {
            // Of so many most were only said to be hosts: whoever was silent the longest is none.
            let silence =
                |guest: &&PeerId| self.contacts.get(guest).map(|contact| contact.rhythm.silence(now));
            if let Some(silent) = self.guests.iter().max_by_key(silence).copied() {
                self.guests.remove(&silent);
                self.meet_members(now);
            }
        }
        if peer != self.me() {
            self.guests.insert(peer);
            let stamp = Stamp::certified(self.ballot.epoch());
            self.contacts.entry(peer).or_insert_with(|| Contact::new(now, stamp));
        }
    }
}
