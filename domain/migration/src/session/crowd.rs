//! Who votes and who plays: how a host lets somebody in, makes a voter of it, and puts it out again.
//!
//! Whoever asks is let in to play at once, by the host's word alone; so a side without a majority can be joined, too. It gets a
//! vote once it has been heard as a member, so that nobody who failed on the way in is counted on (a session of one that had
//! counted on it could never have changed its view again). Should it fail all the same before the view with it is settled, the
//! host goes back to the one before.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::join::{Full, JOIN_MAX};
use crate::lobby::Pass;
use crate::message::{Beat, Body, Closed, Welcome};
use crate::order::OrderName;
use crate::rhythm::{BEAT, SUSPECT_MIN};
use crate::session::reign::{LEASE, Mandate, Phase, Reign};
use crate::session::vacancy::Quorum;
use crate::session::words::{Cause, End, Newcomers, Output};
use crate::session::{AGAIN, Contact, Leadership, Presence, Session};
use crate::stages::Failure;
use crate::view::{MEMBERS_MAX, Roster};
use crate::{ActorId, ChannelId, Epoch, Guards, PeerId, Stamp};

/// A member that is silent for so long is none any more.
pub(super) const MEMBER_LOST: Duration = Duration::from_secs(5);
/// A byte on a slow line: 1 Mbit/s, which is less than a line that loses one packet in a hundred carries.
const SLOW_LINE_PER_BYTE: Duration = Duration::from_micros(8);
/// How long a peer that is no member any more asks to be one again: as long as one that never was.
const OUTSIDE_MAX: Duration = JOIN_MAX;

/// How long a slow line has to carry so much.
pub(super) fn on_a_slow_line(bytes: usize) -> Duration {
    SLOW_LINE_PER_BYTE.saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX))
}

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

    /// Members vote for voters alone. A lobby certifies any member, also one that came a moment ago.
    pub(super) fn can_be_certified(&self, peer: PeerId) -> bool {
        self.has_lobby() || self.is_voter(peer)
    }

    /// Somebody wants in.
    pub(super) fn let_in(
        &mut self,
        now: Timestamp,
        from: PeerId,
        stamp: Stamp,
        (pass, order): (Option<&Pass>, OrderName),
    ) {
        let leader = self.leader();
        let is_kicked = self.roster.kicked.contains(&from);
        let refusal = self.refusal(now, from, pass);
        let is_kept_out = self.is_kept_out(from, stamp);
        let knows_order = self.config.order.is_known_to(order);
        match &mut self.leadership {
            Leadership::Reigns(_) if is_kicked => self.send(from, Body::Refused(Closed::Kicked)),
            // Whoever would not be let in is not told where the host is, either.
            Leadership::Reigns(_) | Leadership::Follows if let Some(why) = refusal => {
                self.send(from, Body::Refused(why));
            }
            Leadership::Reigns(_) if is_kept_out => self.send(from, Body::Refused(Closed::ToNewcomers)),
            Leadership::Reigns(_) if !knows_order => self.send(from, Body::Refused(Closed::OtherOrder)),
            // Its question stands until this host has gathered; it asks again anyway.
            Leadership::Reigns(reign) if reign.joining.len() < MEMBERS_MAX => {
                reign.joining.insert(from);
                self.rise_above(now, from, stamp);
            }
            Leadership::Follows => self.send(from, Body::Redirect(leader)),
            Leadership::Reigns(_)
            | Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Outside { .. }
            | Leadership::Over => {}
        }
    }

    /// Whether nobody new is let in, and it is new. A lobby says so itself of whom it lets in.
    ///
    /// Who came in on another side, or by a host that did not live to tell it, was never met here, and asks under the stamp of the
    /// host that it obeys; who is nowhere in asks under [`Stamp::NOBODY`]. Nothing proves that stamp: without a lobby a closed session
    /// asks strangers to stay away, and only whoever was kicked is kept out whatever it says.
    fn is_kept_out(&self, from: PeerId, stamp: Stamp) -> bool {
        let is_new = stamp == Stamp::NOBODY && !self.has_met(from);
        self.newcomers == Newcomers::KeptOut && !self.has_lobby() && is_new
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
        self.admit(now);
        self.keep_view(now);
    }

    fn admit(&mut self, now: Timestamp) {
        let stamp = self.stamp();
        let joining = self.as_host(|reign| core::mem::take(&mut reign.joining)).unwrap_or_default();
        let (mut come, mut welcome) = (Vec::new(), Vec::new());
        let before = self.roster.version;
        for peer in joining {
            if self.roster.kicked.contains(&peer) {
                self.send(peer, Body::Refused(Closed::Kicked));
                continue;
            }
            let is_new = !self.roster.members.contains_key(&peer);
            if is_new {
                if self.roster.members.len() >= self.config.size.min(MEMBERS_MAX) {
                    // Where somebody is just going, who asks again soon gets that seat.
                    if !self.is_anybody_going(now) {
                        self.send(peer, Body::Refused(Closed::Full));
                    }
                    continue;
                }
                let number = self.as_host(|reign| {
                    reign.next_channel += 1;
                    reign.next_channel - 1
                });
                let channel = ChannelId { stamp, number: number.unwrap_or_default() };
                self.roster.members.insert(peer, channel);
                self.roster.version += 1;
            }
            if is_new {
                come.push(peer);
            }
            welcome.push(peer);
        }
        if self.roster.version != before {
            self.meet_members(now);
            self.tell_roster(now);
        }
        // Who was here before was welcomed then, too.
        for peer in come {
            self.contacts.entry(peer).and_modify(|contact| contact.welcomed = None);
        }
        let weight = self.ballot.weight_after(Epoch::FIRST);
        welcome.retain(|peer| self.may_give(now, *peer, weight, |contact| &mut contact.welcomed));
        if welcome.is_empty() {
            return;
        }
        let (root, certificates) = self.ballot.history();
        for peer in welcome {
            let Some(channel) = self.roster.members.get(&peer).copied() else { continue };
            let welcome = Welcome {
                terms: self.config.terms(),
                root,
                certificates: certificates.clone(),
                view: self.view().clone(),
                roster: self.roster.clone(),
                hints: self.hints.clone(),
                channel,
                inputs: self.taken(peer),
            };
            self.send(peer, Body::Welcome(Box::new(welcome)));
        }
    }

    /// Whether a member is given what is large, of so many bytes, and not on its way to it already: asking for it costs a member nothing, and what is
    /// given once more comes late, with all that is said behind it. While a link stands nothing is lost on it.
    pub(super) fn may_give(
        &mut self,
        now: Timestamp,
        to: PeerId,
        bytes: usize,
        on_its_way_until: impl Fn(&mut Contact) -> &mut Option<Timestamp>,
    ) -> bool {
        let Some(until) = self.contacts.get_mut(&to).map(on_its_way_until) else { return true };
        let may = until.is_none_or(|until| now >= until);
        if may {
            *until = Some(now + on_a_slow_line(bytes).max(BEAT));
        }
        may
    }

    /// Whether a member has gone, or is missed, and is a member still.
    fn is_anybody_going(&self, now: Timestamp) -> bool {
        let members = self.roster.members.keys().filter(|peer| **peer != self.config.me);
        members.map(|peer| self.contacts.get(peer)).any(|it| it.is_none_or(|contact| contact.is_lost(now)))
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

    fn tell_roster(&mut self, now: Timestamp) {
        let roster = self.roster.clone();
        self.tell_list(now, &Body::Roster(roster));
    }

    fn tell_list(&mut self, now: Timestamp, list: &Body) {
        if !self.is_small() {
            self.contacts.values_mut().for_each(|contact| contact.listed = Some(now));
        }
        self.send_all(list);
    }

    /// A host begins to write down who plays: whoever did, and whoever votes.
    pub(super) fn own_roster(&mut self) {
        self.roster.stamp = self.stamp();
        self.roster.version = 1;
        self.roster.seat(&self.ballot.view().members);
    }

    /// A host signs its newest view.
    pub(super) fn sign_view(&mut self) {
        let words = self.view().words(self.config.session);
        self.ballot.sign_view(self.config.keys.sign(&words));
    }

    /// In a large session what a member was given a moment ago is on its way: of sixty-four who change at once, each list would go to each two and
    /// three times.
    pub(super) fn may_list(&mut self, now: Timestamp, to: PeerId) -> bool {
        if self.is_small() {
            return true;
        }
        let Some(contact) = self.contacts.get_mut(&to) else { return false };
        let may = contact.listed.is_none_or(|at| now >= at + AGAIN);
        if may {
            contact.listed = Some(now);
        }
        may
    }

    /// Gives a member the lists that it lacks.
    fn supply_lists(&mut self, now: Timestamp, to: PeerId, beat: &Beat) {
        let view = self.ballot.missing().contains(&to) || beat.view != self.view().id;
        let roster = beat.roster != self.roster.version;
        let hints = beat.hints != self.hints.version;
        if !(view || roster || hints) || !self.may_list(now, to) {
            return;
        }
        if view {
            let view = self.view().clone();
            self.send(to, Body::View(view));
        }
        if roster {
            let roster = self.roster.clone();
            self.send(to, Body::Roster(roster));
        }
        if hints {
            let hints = self.hints.clone();
            self.send(to, Body::Hints(hints));
        }
    }

    /// A member's beat: what it lacks, it is given.
    pub(super) fn supply(&mut self, now: Timestamp, from: PeerId, beat: &Beat) {
        self.supply_lists(now, from, beat);
        self.note_held(now, from, beat.holds.id());
        self.send_lacking(now, from, beat);
        let channel = self.roster.members.get(&from).copied();
        let is_new = self.as_host(|reign| {
            reign.phase == Phase::Reigning && channel.is_some() && reign.connected.insert(from)
        });
        if let (Some(true), Some(channel)) = (is_new, channel) {
            let actor = self.roster.actors.get(&from).copied();
            self.outputs.push(Output::Connected { peer: from, channel, actor });
        }
    }

    /// The host's game has given somebody its actor: whoever is host next gives it the same.
    pub(super) fn bind_actor(&mut self, now: Timestamp, peer: PeerId, actor: ActorId) {
        let is_host = matches!(self.leadership, Leadership::Reigns(_));
        let plays = self.roster.members.contains_key(&peer);
        if is_host && plays && self.roster.actors.insert(peer, actor) != Some(actor) {
            self.roster.version += 1;
            self.tell_roster(now);
        }
    }

    /// Seed 000's `SetChannelForMigratingPlayer`: "the EntityId which corresponds to the actor being assigned to that channel".
    #[must_use]
    pub fn actor_for_channel(&self, channel: ChannelId) -> Option<ActorId> {
        let (peer, _) = self.roster.members.iter().find(|(_, of)| **of == channel)?;
        self.roster.actors.get(peer).copied()
    }

    /// The host tells who plays.
    pub(super) fn take_roster(&mut self, now: Timestamp, from: PeerId, roster: Roster) {
        let is_hosts = from == self.leader() && roster.stamp == self.stamp() && from != self.me();
        let is_newer = roster.stamp != self.roster.stamp || roster.version > self.roster.version;
        if is_hosts
            && is_newer
            && roster.members.len() <= MEMBERS_MAX
            && roster.actors.len() <= MEMBERS_MAX
            && roster.kicked.len() <= MEMBERS_MAX
        {
            self.roster = roster;
            self.meet_members(now);
            self.find_oneself(now);
        }
    }

    /// A peer that does not play any more was away too long, and asks to be let in again.
    fn find_oneself(&mut self, now: Timestamp) {
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
            Leadership::Follows | Leadership::Doubts(_) if stepped_down => {
                self.leadership = Leadership::outside(now);
                self.be_guest(now, host);
                let request = self.request();
                self.send(host, request);
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
            Leadership::Outside { .. } => {
                self.be_guest(now, host);
                let request = self.request();
                self.send(host, request);
            }
            // Nobody of its own side can be host: it comes to that one's as soon as it hears it.
            Leadership::Vacant(_) if self.waits_in_vain(now) => {
                self.be_guest(now, host);
                let request = self.request();
                self.send(host, request);
            }
            // The host of another side: they have to meet.
            Leadership::Reigns(reign) if reign.mandate == Mandate::Unconfirmed => self.be_guest(now, host),
            Leadership::Reigns(_)
            | Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Over => {}
        }
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
