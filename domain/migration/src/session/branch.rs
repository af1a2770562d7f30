//! Which of two states a session goes on from: the greater by its [`Descent`].
//!
//! A side without a majority branches off, and its names are the higher ones. What a confirmed host wrote after that branch, and acknowledged,
//! would be lost to the side with whoever comes over. So each of a side's states names the newest certified one that it goes back to, sealed by its writer, and each peer tells that with
//! what it holds: of two sides of one number no name says which wrote it. Where somebody comes to a side who holds a later certified state, the side goes on from that one, under a
//! number of its own, as it would give way to the host that wrote it.
//!
//! Whoever says that it holds one is asked for it while the game goes on, and only a writer's seal makes the side leave its own: a claim costs a few questions and
//! five seconds in which the side is not certified. A host that lies about where its side branched off ranks as high as it says.

use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::descent::Descent;
use crate::message::Body;
use crate::session::gathering::FETCHING_MAX;
use crate::session::reign::Phase;
use crate::session::words::{Cause, Output};
use crate::session::{Contact, Leadership, Session};
use crate::{Guards, PeerId};

/// For how long what a member of a side holds of another is kept for its host: as long as that one asks for it, and a second for the way.
const KEPT: Duration = FETCHING_MAX.saturating_add(Duration::from_secs(1));

impl<G: Guards> Session<G> {
    /// Whether what this member of a side holds is kept beside what the side's host sends: until that one has been given it, or is certified. Where it is of a side,
    /// too, the host may know nothing of who wrote it, and ask in vain: it is given up then, or this member would never be a standby.
    pub(super) fn keeps_what_outranks(&self, now: Timestamp) -> bool {
        self.fork.is_some() && (!self.held.id().is_of_side() || now < self.keeps_until)
    }

    /// It obeys another host from now on. Where its own side gave way to that one's nothing of its game is kept for it.
    pub(super) fn come_over(&mut self, now: Timestamp, cause: Cause) {
        self.keeps_until = match cause {
            Cause::Merge => now,
            Cause::Lobby | Cause::Controlled | Cause::Catastrophic | Cause::Fenced => now + KEPT,
        };
    }

    /// Who obeys this host and says that it holds what outranks its own state under a lower name. The higher ones a new host asks for anyway.
    fn who_outrank(&self, now: Timestamp) -> Vec<(PeerId, Descent)> {
        let (mine, stamp) = (self.held.descent(), self.stamp());
        let obeys = |contact: &Contact| contact.told == stamp && !self.is_of_other_side(contact);
        let obeying = self.contacts.iter().filter(|(_, it)| obeys(it) && !it.is_lost(now));
        obeying
            .map(|(peer, contact)| (*peer, self.offered(contact.holds)))
            .filter(|(_, holds)| holds.id() < mine.id() && *holds > mine && self.is_believable(*holds))
            .filter(|(peer, _)| self.is_member(*peer))
            .collect()
    }

    /// Who was asked sends what it said that it holds, and that goes back to something else: whatever it says it holds, it is not asked again.
    pub(super) fn find_out(&mut self, from: PeerId, sent: Descent) {
        let said = self.contacts.get(&from).map(|contact| contact.holds);
        if said.is_some_and(|said| said.id() == sent.id() && said != sent) {
            self.as_host(|reign| reign.gathering.distrust(from));
        }
    }

    /// As host: asks them. `true` while they are waited for.
    pub(super) fn seeks(&mut self, now: Timestamp) -> bool {
        let (claims, mine) = (self.who_outrank(now), self.held.id());
        let Leadership::Reigns(reign) = &mut self.leadership else { return false };
        let holders = reign.gathering.patiently(now, claims);
        let is_sought = !holders.is_empty();
        let asked = reign.gathering.ask(now, holders);
        asked.into_iter().for_each(|peer| self.send(peer, Body::Pull(mine)));
        is_sought
    }

    /// A new host takes what outranks its state, and then the newest of that.
    pub(super) fn gather(&mut self, now: Timestamp) {
        let is_late = self.as_host(|reign| now >= reign.since + FETCHING_MAX) == Some(true);
        if is_late || !self.seeks(now) {
            self.accede(now);
        }
    }

    /// Whether this host leads a side, whose game goes on.
    pub(super) fn leads_a_side(&self) -> bool {
        self.fork.is_some() && self.reigning().is_some_and(|reign| reign.phase == Phase::Reigning)
    }

    /// The side's own game is given up for the state that this host has just taken.
    pub(super) fn go_on_from_certified(&mut self, now: Timestamp) {
        self.lead_uncertified(now, self.stamp().fork.saturating_add(1));
        self.outputs.push(Output::Lead { stamp: self.stamp(), state: self.held.clone() });
        self.open();
    }
}
