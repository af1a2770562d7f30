//! Two may each wait for the other while there is no host: it went before all had its last list, or its last view. So whoever hears that the one it waits for
//! knows less tells it, and that one finds that it is its own turn.

use mainstay_core::Timestamp;

use crate::hint::{Hint, HintList, HintVersion};
use crate::message::{Beat, Body};
use crate::session::vacancy::Advised;
use crate::session::{Leadership, Session};
use crate::view::View;
use crate::{Guards, PeerId};

impl<G: Guards> Session<G> {
    /// While there is no host: somebody's beat tells what it knows of what the host said last.
    pub(super) fn advise(&mut self, now: Timestamp, to: PeerId, beat: &Beat) {
        let is_vacant = matches!(self.leadership, Leadership::Vacant(_));
        if !is_vacant || self.contacts.get(&to).is_none_or(|contact| self.is_of_other_side(contact)) {
            return;
        }
        let (lists, views) = (self.shares_list(now, to, beat), self.shares_view(to, beat));
        if !(lists || views) || !self.may_list(now, to) {
            return;
        }
        if lists {
            let hints = self.hints.clone();
            self.send(to, Body::Hints(hints));
        }
        if views {
            let view = self.view().clone();
            self.send(to, Body::View(view));
        }
    }

    /// Of a large session those alone who may come next, for they have to agree, and whoever waits for the other.
    fn shares_list(&self, now: Timestamp, to: PeerId, beat: &Beat) -> bool {
        let is_older =
            beat.hints < self.hints.version && self.is_of_this_host(beat.hints, self.hints.version);
        is_older && (self.is_small() || self.awaited() == Some(to) || self.is_of_front(now, to))
    }

    /// Whoever came last may be better than others, and not know yet that it votes.
    fn shares_view(&self, to: PeerId, beat: &Beat) -> bool {
        beat.view < self.view().id && self.awaited() == Some(to) && !self.has_lobby()
    }

    /// Of two lists, whether the older is one of the host that wrote the newer, or none at all.
    fn is_of_this_host(&self, older: HintVersion, newer: HintVersion) -> bool {
        older.epoch == newer.epoch || older == HintVersion::NONE && newer.epoch == self.stamp().epoch
    }

    /// Whoever is waited for has a newer list of the same host, and perhaps waits itself. No host has signed that: so it is heeded once while
    /// there is none, and changes the order alone; who is in the list, and who can be host, stays as this peer knows it.
    pub(super) fn be_advised(&mut self, from: PeerId, newer: &HintList) {
        let is_newer =
            self.is_of_this_host(self.hints.version, newer.version) && newer.version > self.hints.version;
        let is_waited_for = self.awaited() == Some(from);
        let Leadership::Vacant(vacancy) = &mut self.leadership else { return };
        if !is_waited_for || !is_newer || vacancy.advised == Advised::Yes {
            return;
        }
        vacancy.advised = Advised::Yes;
        self.hints.version = newer.version;
        for (peer, entry) in &mut self.hints.entries {
            if let Some(told) = newer.entries.get(peer) {
                entry.hint = Hint { can_be_host: entry.hint.can_be_host, ..told.hint };
            }
        }
    }

    /// Whoever is waited for has a newer view, signed by the host of its epoch.
    pub(super) fn be_shown(&mut self, now: Timestamp, from: PeerId, view: &View) {
        if self.awaited() == Some(from) && !self.has_lobby() && self.ballot.learn_view(view).is_ok() {
            self.meet_members(now);
        }
    }
}
