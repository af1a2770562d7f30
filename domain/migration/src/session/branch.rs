//! Which of two states a session goes on from: the one whose last certified ancestor is the newer, and of one ancestor the newer by name.
//!
//! A side without a majority branches off, and its names are the higher ones. What a confirmed host wrote after that branch, and acknowledged,
//! would be lost to the side with whoever comes over. So each peer remembers where the sides that it was on went on from, for their hosts tell
//! it ([`Side::opened`](crate::message::Side)); and where somebody comes to a side who holds a later certified state, the side goes on from that one, under a
//! number of its own, as it would give way to the host that wrote it.
//!
//! Whoever says that it holds one is asked for it while the game goes on, and only a writer's seal makes the side leave its own: a claim costs a few questions and
//! five seconds in which the side is not certified. A host that lies about its branch makes its states as new as their names made them without. A branch that this peer was never told of counts by its
//! names, too.

use alloc::vec::Vec;
use mainstay_core::Timestamp;

use crate::message::Body;
use crate::session::gathering::FETCHING_MAX;
use crate::session::reign::Phase;
use crate::session::words::Output;
use crate::session::{Contact, Leadership, Session};
use crate::state::StateId;
use crate::{Guards, PeerId};

impl<G: Guards> Session<G> {
    /// The newest state of a certified host that it goes back to. `None`: it is of a side that this peer was not told the branch of.
    fn ancestor(&self, id: StateId) -> Option<StateId> {
        if id.stamp.fork == 0 { Some(id) } else { self.heads.branch_of(id.stamp) }
    }

    /// Whether a session goes on from the one rather than from the other.
    pub(super) fn outranks(&self, one: StateId, other: StateId) -> bool {
        let rank = |id: StateId| (self.ancestor(id).unwrap_or(id), id);
        rank(one) > rank(other)
    }

    /// The side that this peer is on went on from there, as its host says.
    pub(super) fn note_branch(&mut self, opened: StateId) {
        let stamp = self.stamp();
        if stamp.fork > 0
            && opened.stamp < stamp
            && let Some(ancestor) = self.ancestor(opened)
        {
            self.heads.branch_off(stamp, ancestor);
        }
    }

    /// Who obeys this host and says that it holds what outranks its own state under a lower name. The higher ones a new host asks for anyway.
    fn who_outrank(&self, now: Timestamp) -> Vec<(PeerId, StateId)> {
        let (mine, stamp) = (self.held.id(), self.stamp());
        let obeys = |contact: &Contact| contact.told == stamp && !self.is_of_other_side(contact);
        let obeying = self.contacts.iter().filter(|(_, it)| obeys(it) && !it.is_lost(now));
        obeying
            .map(|(peer, contact)| (*peer, contact.holds))
            .filter(|(_, holds)| *holds < mine && self.outranks(*holds, mine) && self.is_believable(*holds))
            .filter(|(peer, _)| self.is_member(*peer))
            .collect()
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
