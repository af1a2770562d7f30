//! The lists that a host keeps for all: who plays, with what, and who votes; and how each member comes by the newest ones.

use mainstay_core::Timestamp;

use crate::message::{Beat, Body};
use crate::session::reign::Phase;
use crate::session::words::Output;
use crate::session::{AGAIN, Leadership, Session};
use crate::view::{MEMBERS_MAX, Roster};
use crate::{ActorId, ChannelId, Guards, PeerId};

impl<G: Guards> Session<G> {
    pub(super) fn tell_roster(&mut self, now: Timestamp) {
        let roster = self.roster.clone();
        self.tell_list(now, &Body::Roster(roster));
    }

    pub(super) fn tell_list(&mut self, now: Timestamp, list: &Body) {
        // Whoever lacks it then is given it.
        if self.lists_wait(now) {
            return;
        }
        if !self.is_small() {
            self.contacts.values_mut().for_each(|contact| contact.listed = Some(now));
        }
        self.send_all(list);
    }

    /// A host begins to write down who plays: whoever did, whoever votes, and itself.
    pub(super) fn own_roster(&mut self) {
        let stamp = self.stamp();
        self.roster.stamp = stamp;
        self.roster.version = 1;
        if !matches!(self.leadership, Leadership::Reigns(_)) {
            // It has moved here, so its lobby lets it; whether it moves on its new host's process says.
            self.line.sessions_move();
        }
        self.roster.support = self.supported();
        self.roster.seat(&self.ballot.view().members);
        // Whom it lets in it numbers from one on.
        let own = ChannelId { stamp, number: 0 };
        self.roster.members.entry(self.config.me).or_insert(own);
    }

    /// A host signs its newest view.
    pub(super) fn sign_view(&mut self) {
        let words = self.view().words(self.config.session);
        self.ballot.sign_view(self.config.keys.sign(&words));
    }

    /// Whether lists wait: those of a large session are long, and its members wait for the first state of a new host, which would come behind them.
    pub(super) fn lists_wait(&self, now: Timestamp) -> bool {
        !self.is_small() && self.reigning().is_some_and(|reign| reign.is_moving(now))
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
        if !(view || roster || hints) || self.lists_wait(now) || !self.may_list(now, to) {
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
}
