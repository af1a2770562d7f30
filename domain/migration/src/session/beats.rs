//! What is said ten times a second, what is read from it, and the fence: whatever obeys an older host is told of the
//! present one, and nothing else is made of it.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use mainstay_core::Timestamp;

use crate::message::{Announcement, Beat, Body, Leads, Message};
use crate::seal::Sealed;
use crate::session::admission::on_a_slow_line;
use crate::session::elect::CANDIDATE_PATIENCE;
use crate::session::former::Wish;
use crate::session::intake::Deed;
use crate::session::reign::Phase;
use crate::session::words::Cause;
use crate::session::{AGAIN, BEAT_MOVING, Leadership, Session};
use crate::view::View;
use crate::{Epoch, Guard, Guards, PeerId, Stamp};

impl<G: Guards> Session<G> {
    /// Takes a message.
    pub(super) fn receive(&mut self, now: Timestamp, from: PeerId, message: Message) {
        let is_foreign = message.session != self.config.session && G::stands(Guard::Session);
        if is_foreign || from == self.me() {
            return;
        }
        if G::stands(Guard::Strangers) && !self.is_heard(from, &message.body) {
            return self.turn_away(now, from, &message.body);
        }
        if G::stands(Guard::Signatures) && !self.is_genuine(&message) {
            return;
        }
        if let Some(contact) = self.contacts.get_mut(&from) {
            contact.hear(now, &message);
        }
        let Message { stamp, body, .. } = message;
        self.outrank_side(now, from, stamp);
        match body {
            // Said too often.
            Body::Join { .. } | Body::Present { .. } if !self.may_ask(now, from, Wish::Enters) => {}
            Body::Pull(_)
                if !self.may_give(now, from, self.held.bytes(), |contact| &mut contact.supplied) => {}
            // These prove themselves, or ask for nothing but an answer.
            Body::Announce(Announcement { certificates, view, cause }) => {
                self.be_told(now, &certificates, Some(&view), cause);
                self.hear_how(from, cause);
            }
            Body::Claim(claim) => self.consider(now, from, &claim),
            Body::Vote(vote) => self.count(now, from, vote),
            Body::Refusal { epoch, why } => self.be_refused(now, from, epoch, &why),
            Body::Join { order, .. } => self.let_in(now, from, stamp, (None, order)),
            Body::Present { pass, order } => self.let_in(now, from, stamp, (Some(&pass), order)),
            Body::Welcome(welcome) => self.be_welcome(now, from, stamp, welcome),
            Body::Leave => self.let_go(now, from, stamp),
            Body::Pull(held) => self.be_asked(from, held),
            Body::Redirect(host) => self.be_redirected(now, from, host),
            Body::Refused(why) => self.be_turned_away(now, from, why),
            // The rest is a matter between those who obey the same host.
            Body::Beat(beat) => self.hear_beat(now, from, stamp, &beat),
            Body::Ask
            | Body::Answer(_)
            | Body::View(_)
            | Body::Taken(_)
            | Body::Roster(_)
            | Body::Hints(_)
            | Body::State(_)
            | Body::Holds(_)
            | Body::Play { .. }
            | Body::Bring { .. }
            | Body::Counted(_) => self.hear(now, from, stamp, body),
        }
    }

    /// Whether whatever in it matters here is signed by whom it names. Certificates are looked at one after the other, where they
    /// are taken.
    fn is_genuine(&self, message: &Message) -> bool {
        let (session, keys) = (self.config.session, self.config.keys.as_ref());
        let mut sealed = message.sealed().into_iter().filter(|it| !matches!(it, Sealed::Certificate(_)));
        sealed.all(|it| !self.ballot.heeds(it) || it.is_genuine(session, keys))
    }

    fn hear(&mut self, now: Timestamp, from: PeerId, stamp: Stamp, body: Body) {
        let is_old = stamp < self.stamp() && G::stands(Guard::Epoch);
        if is_old {
            return self.announce_to(now, from);
        }
        match body {
            Body::Ask => self.answer_whether_heard(now, from, stamp),
            Body::Answer(hears) if stamp == self.stamp() => self.note_answer(now, from, hears),
            Body::View(view) => self.take_view(now, from, &view),
            Body::Taken(id) => self.ballot.taken(from, id),
            Body::Hints(hints) if from == self.leader() && stamp == self.stamp() => self.take_hints(hints),
            Body::Hints(hints) if stamp == self.stamp() => self.be_advised(from, &hints),
            Body::Roster(roster) => self.take_roster(now, from, roster),
            Body::State(sent) => self.take_state(now, from, stamp, &sent),
            Body::Holds(id) if stamp == self.stamp() => self.note_held(now, from, id),
            Body::Play { oldest, number, bytes } if stamp == self.stamp() => {
                self.be_played(oldest, Deed { from, number, bytes });
            }
            Body::Bring { renewal, hears } if stamp == self.stamp() && from == self.leader() => {
                self.bring(now, renewal, hears);
            }
            Body::Counted(receipt) if stamp == self.stamp() => self.be_counted(from, &receipt),
            Body::Answer(_)
            | Body::Hints(_)
            | Body::Holds(_)
            | Body::Play { .. }
            | Body::Bring { .. }
            | Body::Counted(_) => {}
            Body::Beat(_)
            | Body::Claim(_)
            | Body::Vote(_)
            | Body::Refusal { .. }
            | Body::Announce(_)
            | Body::Pull(_)
            | Body::Join { .. }
            | Body::Present { .. }
            | Body::Welcome(_)
            | Body::Redirect(_)
            | Body::Leave
            | Body::Refused(_) => {}
        }
    }

    fn hear_beat(&mut self, now: Timestamp, from: PeerId, stamp: Stamp, beat: &Beat) {
        self.see(from, beat.promised);
        let (is_host, is_of_mine) =
            (from == self.leader(), stamp == self.stamp() && beat.leads.host(from) == self.me());
        if let Some(contact) = self.contacts.get_mut(&from) {
            if is_host {
                contact.rhythm.beat_of_host(now);
            } else {
                contact.rhythm.beat(now);
            }
            contact.echo = contact.echo.max(beat.sent);
            contact.echoed = contact.echoed.max(Some(beat.echo).filter(|echo| *echo != Timestamp::EPOCH));
            if is_of_mine {
                contact.backed = contact.echoed;
            }
            contact.holds = beat.holds;
            contact.told = stamp;
            let obeys = beat.leads.host(from);
            contact.stepped_down = (is_host && obeys != from).then(|| contact.stepped_down.unwrap_or(now));
            contact.obeys = Some(obeys);
            contact.beat = Some(*beat);
            self.learn_who_can(from, beat.hint);
        }
        if self.meet(now, from, stamp, &beat.leads) {
            return;
        }
        if stamp < self.stamp() && G::stands(Guard::Epoch) {
            if stamp.epoch == self.stamp().epoch {
                self.show_side(now, from);
            }
            return self.announce_to(now, from);
        }
        if stamp > self.stamp() {
            // Who was put out may be on a side that has lost its host: it is to hear that this one lives.
            let is_beside = stamp.epoch == self.stamp().epoch && !self.contacts.contains_key(&from);
            if is_beside && matches!(self.leadership, Leadership::Reigns(_)) {
                self.be_guest(now, from);
            }
            // It knows more; it will say so once it hears what this peer knows.
            return self.beat_to(now, from);
        }
        if from == self.leader() {
            self.hear_host(now, from, beat);
        } else if matches!(self.leadership, Leadership::Reigns(_)) {
            if let Some(contact) = self.contacts.get(&from) {
                // Others' members have a host of their own.
                if !self.is_of_other_side(contact) {
                    self.supply(now, from, beat);
                }
            } else if self.may_inform(now, from) {
                // It was put out, and does not know.
                let roster = self.roster.clone();
                self.send(from, Body::Roster(roster));
            }
        } else {
            self.advise(now, from, beat);
        }
    }

    /// Somebody obeys an earlier host of this side, or one of another: it is to hear the present one.
    fn show_side(&mut self, now: Timestamp, from: PeerId) {
        match &self.leadership {
            Leadership::Reigns(_) => self.be_guest(now, from),
            Leadership::Follows => {
                let leader = self.leader();
                self.send(from, Body::Redirect(leader));
            }
            Leadership::Doubts(_) | Leadership::Vacant(_) | Leadership::Outside { .. } | Leadership::Over => {
            }
        }
    }

    fn hear_host(&mut self, now: Timestamp, from: PeerId, beat: &Beat) {
        match &beat.leads {
            Leads::Yes(side) => {
                // What it holds it knows, until it forgets it.
                self.hear_side(now, from, side, beat);
                self.forget_other_side(side.state);
                self.hear_host_again(now, beat.echo);
                if matches!(self.leadership, Leadership::Follows) {
                    self.settle();
                }
            }
            Leads::Accedes => self.hear_host_again(now, beat.echo),
            Leads::HandsOver { state, .. } => {
                self.forget_other_side(*state);
                self.be_handed_over(now, &beat.leads);
            }
            Leads::Obeys(_) => {}
        }
    }

    /// Says to whom it matters how things stand: to everybody as host or as a standby, round the circle while there is no host;
    /// else to host and standbys alone, so that sixty-four peers stay cheap.
    pub(super) fn beat(&mut self, now: Timestamp) {
        self.beat_at = now + self.beat_gap(now);
        if self.is_failing() {
            return;
        }
        if let Some(successor) = self.successor_alone(now) {
            return self.beat_to(now, successor);
        }
        let leader = self.leader();
        let standbys = self.standbys();
        let is_standby = standbys.contains(&self.me());
        let nearest =
            || standbys.iter().copied().chain([leader]).filter(|peer| self.contacts.contains_key(peer));
        let peers: BTreeSet<PeerId> = match &self.leadership {
            Leadership::Reigns(_) => self.contacts.keys().copied().collect(),
            Leadership::Follows | Leadership::Doubts(_) | Leadership::Vacant(_) if is_standby => {
                self.contacts.keys().copied().collect()
            }
            // Whoever would not go along says so to all who may be about to wait for it.
            Leadership::Doubts(doubt)
                if now < doubt.since + CANDIDATE_PATIENCE && !self.goes_along(Cause::Catastrophic) =>
            {
                self.contacts.keys().copied().collect()
            }
            Leadership::Follows | Leadership::Doubts(_) => nearest().collect(),
            Leadership::Vacant(vacancy) if vacancy.beats.is_due(now) => {
                let (circle, round) = self.circle(now, vacancy.beats);
                let peers = nearest().chain(circle).collect();
                self.change_vacancy(|vacancy| vacancy.beats = round);
                peers
            }
            Leadership::Vacant(_) => nearest().collect(),
            Leadership::Outside { .. } | Leadership::Over => return,
        };
        for peer in peers {
            self.beat_to(now, peer);
        }
        self.announce_twice(now);
    }

    pub(super) fn beat_to(&mut self, now: Timestamp, peer: PeerId) {
        let Some(echo) = self.contacts.get(&peer).map(|contact| contact.echo) else { return };
        let leads = match &self.leadership {
            Leadership::Reigns(reign) => match reign.phase {
                Phase::Accession => Leads::Accedes,
                Phase::Reigning => Leads::Yes(self.side(now)),
                Phase::HandingOver { to, why, state, epoch, .. } => {
                    Leads::HandsOver { to, why, state, epoch }
                }
            },
            Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Outside { .. }
            | Leadership::Over => Leads::Obeys(self.leader()),
        };
        let beat = Beat {
            sent: now,
            echo,
            leads,
            view: self.view().id,
            hints: self.hints.version,
            hint: self.reported_hint(),
            promised: self.ballot.promised(),
            roster: if self.roster.stamp == self.stamp() { self.roster.version } else { 0 },
            holds: self.held.descent(),
            applied: self.safe.get(&peer).copied().unwrap_or_default(),
            taken: self.taken(peer),
        };
        self.send(peer, Body::Beat(beat));
    }

    pub(super) fn announce_to_all(&mut self, now: Timestamp) {
        let others: Vec<PeerId> = self.contacts.keys().copied().collect();
        for peer in others {
            if let Some(contact) = self.contacts.get_mut(&peer) {
                contact.announced = None;
            }
            self.announce_to(now, peer);
        }
        self.beat(now);
    }

    /// Tells who is host, from the epoch on that the other stopped at.
    pub(super) fn announce_to(&mut self, now: Timestamp, peer: PeerId) {
        let mut since = Epoch::FIRST;
        let is_small = self.is_small();
        if let Some(contact) = self.contacts.get_mut(&peer) {
            // Whoever stopped long ago is told of many hosts.
            let takes = on_a_slow_line(self.ballot.weight_after(contact.stamp.epoch));
            // Whoever has heard something later and obeys another still has lost it.
            let has_lost_it = |announced| is_small && contact.echoed > Some(announced + takes);
            let is_on_its_way = |announced| now < announced + takes.max(AGAIN) && !has_lost_it(announced);
            if contact.announced.is_some_and(is_on_its_way) {
                return;
            }
            contact.announced = Some(now);
            since = contact.stamp.epoch;
        } else if !self.may_inform(now, peer) {
            return;
        }
        self.prove_host(peer, since);
    }

    fn prove_host(&mut self, peer: PeerId, since: Epoch) {
        let certificates = self.ballot.proof_for(since);
        let view = self.view().clone();
        self.send(peer, Body::Announce(Announcement { certificates, view, cause: self.moved_by }));
    }

    /// A new host says it once more to whoever it was just told, before it can know whether that was lost: then a lost word costs a
    /// beat, and not the two round trips after which it is missed.
    fn announce_twice(&mut self, now: Timestamp) {
        let is_moving = matches!(&self.leadership, Leadership::Reigns(reign) if reign.is_moving(now));
        if !is_moving || !self.is_small() {
            return;
        }
        let stamp = self.stamp();
        let is_just_told = |at: Timestamp| at < now && now < at + BEAT_MOVING * 2;
        let told =
            self.contacts.iter().filter(|(_, it)| it.stamp < stamp && it.announced.is_some_and(is_just_told));
        let told: Vec<(PeerId, Epoch)> = told.map(|(peer, contact)| (*peer, contact.stamp.epoch)).collect();
        told.into_iter().for_each(|(peer, since)| self.prove_host(peer, since));
    }

    fn take_view(&mut self, now: Timestamp, from: PeerId, view: &View) {
        if from != self.leader() {
            self.be_shown(now, from, view);
        } else if self.ballot.take_view(view) {
            self.send(from, Body::Taken(view.id));
            self.meet_members(now);
        }
    }

    /// For the hands: how a peer's link looks from here.
    #[must_use]
    pub fn is_reached(&self, now: Timestamp, peer: PeerId) -> bool {
        self.contacts.get(&peer).is_some_and(|contact| !contact.is_lost(now))
    }
}
