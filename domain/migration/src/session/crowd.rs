//! Who votes and who plays: how a host makes a voter of whom it let in, and puts it out again.
//!
//! Who was let in gets a vote once it has been heard as a member, so that nobody who failed on the way in is counted on (a session of one that had
//! counted on it could never have changed its view again). Should it fail all the same before the view with it is settled, the
//! host goes back to the one before.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::hint::CanBeHost;
use crate::message::{Body, Closed};
use crate::rhythm::SUSPECT_MIN;
use crate::session::reign::{LEASE, Mandate, Reign};
use crate::session::words::Output;
use crate::session::{Contact, Leadership, Presence, Session};
use crate::view::MEMBERS_MAX;
use crate::{ChannelId, Guards, PeerId, Stamp};

/// A member that is silent for so long is none any more.
pub(super) const MEMBER_LOST: Duration = Duration::from_secs(5);

impl<G: Guards> Session<G> {
    /// Who could be host, the best first. Whoever can be certified comes before whoever only plays.
    ///
    /// Each is looked for when it is asked for: a session of 64 asks for one or two, some dozen times a second.
    pub(super) fn candidates(&self, is_out: impl Fn(PeerId) -> bool) -> impl Iterator<Item = PeerId> {
        let mut named: Vec<PeerId> = Vec::new();
        core::iter::from_fn(move || {
            let could = |peer: PeerId| {
                let plays = self.roster.members.contains_key(&peer) && !self.roster.kicked.contains(&peer);
                plays && !named.contains(&peer) && !is_out(peer)
            };
            let order = self.config.order;
            let next = order
                .first(&self.hints, |peer| self.can_be_certified(peer) && could(peer))
                .or_else(|| order.first(&self.hints, could))?;
            named.push(next);
            Some(next)
        })
    }

    pub(super) fn is_voter(&self, peer: PeerId) -> bool {
        self.view().members.contains_key(&peer)
    }

    /// Whether a member's game has said that it may be host, as far as this peer was told.
    pub(super) fn can_be_host(&self, peer: PeerId) -> bool {
        self.hints.entries.get(&peer).is_some_and(|entry| entry.hint.can_be_host == CanBeHost::Yes)
    }

    /// Members vote for voters alone. A lobby certifies any member, also one that came a moment ago.
    pub(super) fn can_be_certified(&self, peer: PeerId) -> bool {
        self.has_lobby() || self.is_voter(peer)
    }

    /// The host throws somebody out.
    pub(super) fn kick(&mut self, now: Timestamp, peer: PeerId) {
        let is_host = matches!(self.leadership, Leadership::Reigns(_)) && peer != self.config.me;
        if is_host && !self.roster.kicked.contains(&peer) {
            // Then nobody new is let in any more, whoever is forgotten.
            if self.roster.kicked.len() >= MEMBERS_MAX {
                self.roster.kicked.pop_first();
            }
            self.roster.kicked.insert(peer);
            self.roster.version += 1;
            self.send(peer, Body::Refused(Closed::Kicked));
            self.tell_roster(now);
        }
    }

    /// A member goes by itself.
    pub(super) fn let_go(&mut self, now: Timestamp, from: PeerId, stamp: Stamp) {
        if let Some(contact) = self.contacts.get_mut(&from) {
            contact.presence = Presence::Left(now);
        }
        if self.roster.members.contains_key(&from) {
            self.as_host(|reign| reign.remove.insert(from));
        }
        let follows = matches!(self.leadership, Leadership::Follows | Leadership::Doubts(_));
        // What it said as host of an earlier epoch has come late.
        if follows && from == self.leader() && stamp == self.stamp() {
            self.be_left(now);
        }
    }

    /// First whoever comes plays, then one change of the view: who is gone, or who has come.
    pub(super) fn keep_crowd(&mut self, now: Timestamp) {
        self.take_back(now);
        self.admit(now);
        self.keep_view(now);
    }

    /// Whoever was given up, and obeys this host now, plays on as all do: it holds states, and may be host next. A host that stood still comes back so.
    fn take_back(&mut self, now: Timestamp) {
        let Leadership::Reigns(reign) = &self.leadership else { return };
        if !reign.remove.is_empty() {
            let present = self.present(now);
            self.as_host(|reign| reign.remove.retain(|peer| !present.contains(peer)));
        }
    }

    /// Whether somebody may not be a member any more, whatever it says.
    fn is_put_out(&self, peer: PeerId) -> bool {
        self.roster.kicked.contains(&peer) || self.replaced.contains(&peer)
    }

    /// Whether somebody is no member any more, as its host sees it.
    fn is_gone(&self, now: Timestamp, reign: &Reign, peer: PeerId) -> bool {
        let contact = self.contacts.get(&peer);
        let silent =
            |patience: Duration| contact.is_none_or(|contact| contact.rhythm.silence(now) >= patience);
        // Whoever has said that it goes is not waited for; a link that broke may be dialed again.
        let has_left = contact.is_some_and(Contact::has_left);
        let is_missed = reign.remove.contains(&peer) || contact.is_some_and(Contact::is_gone);
        let patience = if reign.mandate == Mandate::Confirmed { MEMBER_LOST } else { LEASE };
        self.is_put_out(peer) || has_left || (is_missed && silent(SUSPECT_MIN)) || silent(patience)
    }

    fn keep_view(&mut self, now: Timestamp) {
        let Leadership::Reigns(reign) = &self.leadership else { return };
        let others = self.roster.members.keys().filter(|peer| **peer != self.config.me);
        let (leaving, staying): (Vec<PeerId>, Vec<PeerId>) =
            others.partition(|peer| self.is_gone(now, reign, **peer));
        let (mandate, written) = (reign.mandate, reign.written);
        // Whoever only plays goes without being asked about.
        for peer in leaving.iter().filter(|peer| !self.is_voter(**peer)).copied().collect::<Vec<_>>() {
            self.put_out(now, peer);
        }
        if self.has_lobby() {
            return self.keep_all_in_view(now, &leaving);
        }
        if !self.ballot.is_settled() {
            return self.go_back(now, written);
        }
        let members = &self.view().members;
        // With half of the members behind it, nobody else can have a majority, and the smaller view has one.
        let half = self.count_present(now, |peer| members.contains_key(peer)) * 2 == members.len()
            && self.fork.is_none();
        let next_out = leaving.into_iter().find(|peer| members.contains_key(peer));
        let present = self.present(now);
        let id = self.view().id;
        let has_caught_up = |peer: &PeerId| {
            let beat = self.contacts.get(peer).and_then(|contact| contact.beat);
            present.contains(peer) && beat.is_some_and(|beat| beat.view == id)
        };
        let next_in = staying.into_iter().find(|peer| !members.contains_key(peer) && has_caught_up(peer));
        let mut members = members.clone();
        match (next_out, next_in) {
            (Some(out), _) if mandate == Mandate::Confirmed || half => {
                members.remove(&out);
                self.write_view(now, members);
                self.put_out(now, out);
            }
            (None, Some(peer)) if mandate == Mandate::Confirmed => {
                let Some(channel) = self.roster.members.get(&peer).copied() else { return };
                members.insert(peer, channel);
                self.write_view(now, members);
            }
            (Some(_) | None, _) => {}
        }
    }

    /// Where nobody votes, whoever plays is in the view.
    fn keep_all_in_view(&mut self, now: Timestamp, leaving: &[PeerId]) {
        let mut members = self.roster.members.clone();
        members.retain(|peer, _| !leaving.contains(peer));
        if members != self.view().members {
            // Who has just come, or has not told yet that it obeys this host, is silent to nobody.
            let is_heard = |peer: &PeerId| {
                let contact = self.contacts.get(peer);
                *peer == self.me() || contact.is_some_and(|contact| contact.rhythm.silence(now) < LEASE)
            };
            let voters = self.view().members.keys();
            let (all, heard) = (voters.len(), voters.filter(|peer| is_heard(peer)).count());
            if !leaving.is_empty() && 2 * heard < all {
                self.line.parted = Some(now);
            }
            self.write_view(now, members);
        }
        leaving.iter().for_each(|peer| self.put_out(now, *peer));
    }

    /// The newest view is not settled: if the members of the one before are there and those of this one are not, then it is
    /// taken back.
    fn go_back(&mut self, now: Timestamp, written: Timestamp) {
        let Some(settled) = self.ballot.last_settled().cloned() else { return };
        let majority = settled.len() / 2 + 1;
        if now >= written + LEASE && self.count_present(now, |peer| settled.contains_key(peer)) >= majority {
            self.write_view(now, settled);
        }
    }

    fn write_view(&mut self, now: Timestamp, members: BTreeMap<PeerId, ChannelId>) {
        if !self.ballot.write_view(members) {
            return;
        }
        self.sign_view();
        self.as_host(|reign| reign.written = now);
        if self.roster.seat(&self.ballot.view().members) {
            self.roster.version += 1;
        }
        self.meet_members(now);
        let view = self.view().clone();
        self.tell_list(now, &Body::View(view));
    }

    /// Somebody does not play any more.
    fn put_out(&mut self, now: Timestamp, peer: PeerId) {
        if self.is_voter(peer) || self.roster.members.remove(&peer).is_none() {
            return;
        }
        self.roster.version += 1;
        // On a side without a majority whoever is silent may be on another, and they have to meet.
        let left = self.contacts.get(&peer).is_none_or(Contact::is_gone);
        if self.fork.is_some() && !left && !self.is_put_out(peer) {
            self.be_guest(now, peer);
        }
        self.as_host(|reign| {
            reign.remove.remove(&peer);
            reign.joining.remove(&peer);
            reign.connected.remove(&peer);
        });
        self.roster.actors.remove(&peer);
        self.hints.keep(&self.roster.members);
        self.meet_members(now);
        self.tell_roster(now);
        self.outputs.push(Output::Gone(peer));
    }

    /// Contacts are the others who play or vote.
    pub(super) fn meet_members(&mut self, now: Timestamp) {
        let me = self.config.me;
        let (roster, voters) = (&self.roster.members, &self.ballot.view().members);
        let is_met = |peer: &PeerId| roster.contains_key(peer) || voters.contains_key(peer);
        self.guests.retain(|peer| !is_met(peer));
        self.contacts.retain(|peer, _| {
            let stays = is_met(peer) || self.guests.contains(peer);
            if !stays {
                self.former.remember(*peer);
            }
            stays
        });
        let stamp = Stamp::certified(self.ballot.view().id.epoch);
        for peer in roster.keys().chain(voters.keys()).filter(|peer| **peer != me) {
            self.contacts.entry(*peer).or_insert_with(|| Contact::new(now, stamp));
        }
    }
}
