//! Who comes after: the first of the order asks for votes, the others wait for it a while and then for the next.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::ballot::{Accepted, Claim, Refusal};
use crate::certificate::{Certificate, Forged, Vote};
use crate::lobby::Arbiter;
use crate::message::{Body, Hears};
use crate::rhythm::Rhythm;
use crate::seal::Sealed;
use crate::session::doubt::CUT_OFF;
use crate::session::event::Begun;
use crate::session::handover::HANDOVER_MAX;
use crate::session::reign::{Mandate, Phase, Reign};
use crate::session::vacancy::{Host, Quorum};
use crate::session::words::{Acting, Cause, End, Output, WithoutMajority};
use crate::session::{AGAIN, Contact, Leadership, Presence, Session};
use crate::stages::{Failure, Role};
use crate::state::State;
use crate::view::View;
use crate::{Epoch, Guard, Guards, PeerId, Stamp};

/// How long one candidate is waited for: ten round trips of the slowest link that a game is played over.
pub(super) const CANDIDATE_PATIENCE: Duration = Duration::from_millis(1_000);
/// How long whoever does not go along stays with a new host: that asks everybody for the newest state for a second, and may have nobody else's; and whoever
/// has taken its view leaves it a majority.
const DEPARTS_AFTER: Duration = Duration::from_secs(1);
/// Who does not go along, with another host for a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Departure {
    /// With whom it stays, where that one is host again by then: it was so of another side, or was certified anew.
    from: PeerId,
    at: Timestamp,
}

/// How many epochs can be asked for in vain: one each [`AGAIN`] of a whole budget (30 s) are 150.
const EPOCHS_AHEAD: u32 = 256;

impl<G: Guards> Session<G> {
    /// While there is no host.
    pub(super) fn elect(&mut self, now: Timestamp) {
        self.watch_giver(now);
        self.watch_quorum(now);
        self.look_elsewhere(now);
        self.watch_who_hear(now);
        let Leadership::Vacant(vacancy) = &self.leadership else { return };
        if vacancy.quorum == Quorum::Missing && self.config.arbiter == Arbiter::Majority {
            self.ask_round(now);
            if self.others_miss(now).0 >= self.view().majority() {
                self.change_vacancy(|vacancy| vacancy.quorum = Quorum::Majority);
            }
        }
        if self.ends_without_majority(now) {
            return self.fail(now, Cause::Catastrophic, Failure::NoMajority);
        }
        let Some(head) = self.head(now) else {
            return self.change_vacancy(|vacancy| vacancy.waits = None);
        };
        let Leadership::Vacant(vacancy) = &mut self.leadership else { return };
        let since = match vacancy.waits {
            Some((peer, since)) if peer == head => since,
            Some(_) | None => {
                vacancy.waits = Some((head, now));
                now
            }
        };
        // Whoever gives its session away waits so long itself, and is host as long.
        let patience = match vacancy.host {
            Host::HandsOver => HANDOVER_MAX,
            Host::Gone => CANDIDATE_PATIENCE,
        };
        // Whom the lobby has not answered meanwhile knows nothing of the other's fault, and would ask in vain itself: such a word may be on its
        // way still when all play on without a lobby, and be granted when that is back.
        if now >= since + patience && !self.line.is_unanswered_since(since) {
            vacancy.passed.insert(head);
            vacancy.endorsed = None;
            vacancy.waits = None;
            self.ballot.withdraw();
            return;
        }
        match (vacancy.quorum, self.config.without_majority) {
            (Quorum::Majority, _) if head == self.me() => match self.config.arbiter {
                Arbiter::Majority => self.ask_for_votes(now),
                Arbiter::Lobby => self.claim_of_lobby(now, None),
            },
            (Quorum::Majority, _) => {}
            (Quorum::Missing, WithoutMajority::Fork) if head == self.me() => self.go_on_alone(now),
            (Quorum::Missing, WithoutMajority::Fork | WithoutMajority::Hold | WithoutMajority::End) => {}
        }
    }

    /// Whether the session ends here, for that is its setting where there is no majority. Whoever came in a moment ago has no vote, and nobody but the host that is gone may have
    /// met it: where those who vote elect another, it hears so later than they do.
    fn ends_without_majority(&self, now: Timestamp) -> bool {
        let Leadership::Vacant(vacancy) = &self.leadership else { return false };
        let is_missing =
            vacancy.quorum == Quorum::Missing && self.config.without_majority == WithoutMajority::End;
        let may_tell = self.has_lobby() || self.is_voter(self.me()) || now >= vacancy.since + CUT_OFF;
        is_missing && may_tell
    }

    fn ask_for_votes(&mut self, now: Timestamp) {
        let Leadership::Vacant(vacancy) = &mut self.leadership else { return };
        let handed = vacancy.handed.map(|handed| handed.epoch);
        if now < vacancy.ask_at {
            // Votes are under way, and count for nothing before there is a claim.
            if let Some(epoch) = handed
                && self.ballot.asks().is_none()
            {
                self.open_claim(now, epoch);
            }
            return;
        }
        vacancy.ask_at = now + AGAIN;
        self.claim(now);
    }

    /// Says the open claim again, or a new one where that one has become hopeless.
    pub(super) fn claim(&mut self, now: Timestamp) {
        let open = self.ballot.open_claim().filter(|claim| claim.epoch >= self.seen);
        if let Some(claim) = open.or_else(|| self.open_claim(now, self.next_epoch())) {
            self.send_all(&Body::Claim(claim));
        }
    }

    /// `None` where its own vote is all that it needs, or where it cannot be host.
    fn open_claim(&mut self, now: Timestamp, epoch: Epoch) -> Option<Claim> {
        let claim = self.ballot.claim(epoch)?;
        self.seen = self.seen.max(claim.epoch);
        let own = self.ballot.own_vote().map(|vote| self.sign_vote(vote));
        let early: Vec<Vote> =
            self.contacts.values_mut().filter_map(|contact| contact.early.take()).collect();
        let (session, keys) = (self.config.session, Arc::clone(&self.config.keys));
        // Nobody asked who signed them while they counted for nothing.
        let genuine = |vote: &Vote| {
            !G::stands(Guard::EarlySignatures) || Sealed::Vote(vote).is_genuine(session, keys.as_ref())
        };
        for vote in own.into_iter().chain(early.into_iter().filter(genuine)) {
            if let Some(certificate) = self.ballot.count(&vote) {
                self.crowned(now, &certificate, Cause::Catastrophic);
                return None;
            }
        }
        Some(claim)
    }

    /// One that nobody this peer knows of has voted in.
    pub(super) fn next_epoch(&self) -> Epoch {
        self.ballot.promised().max(self.seen).next()
    }

    /// A later one than this nobody can have heard of yet.
    fn last_epoch(&self) -> Epoch {
        Epoch(self.ballot.epoch().0.saturating_add(EPOCHS_AHEAD))
    }

    /// A member speaks of an epoch: one that it has promised keeps it from taking its host's views, and so from voting. What others say of one counts for nothing, and nothing
    /// that nobody can have come to: epochs are numbers, and whoever used them up would end all moves of the session.
    pub(super) fn see(&mut self, from: PeerId, epoch: Epoch) {
        if self.is_member(from) {
            self.seen = self.seen.max(epoch.min(self.last_epoch()));
        }
    }

    /// The host names its successor: that one gets this peer's vote before it can ask for it.
    pub(super) fn vote_unasked(&mut self, now: Timestamp, candidate: PeerId, epoch: Epoch) {
        if self.has_lobby() || self.fork.is_some() {
            return;
        }
        self.see(self.leader(), epoch);
        let claim = Claim { epoch, candidate, view: self.view().clone() };
        if self.objection(now, candidate, epoch).is_none()
            && let Ok(vote) = self.ballot.consider(&claim)
        {
            self.give(candidate, vote);
        }
    }

    fn give(&mut self, candidate: PeerId, vote: Vote) {
        self.as_host(|reign| reign.given = Some(vote.epoch));
        self.change_vacancy(|vacancy| vacancy.endorse(candidate));
        let vote = self.sign_vote(vote);
        self.send(candidate, Body::Vote(vote));
    }

    fn sign_vote(&self, mut vote: Vote) -> Vote {
        vote.signature = self.config.keys.sign(&vote.words(self.config.session));
        vote
    }

    /// Somebody asks for this peer's vote.
    pub(super) fn consider(&mut self, now: Timestamp, from: PeerId, claim: &Claim) {
        if claim.candidate != from {
            return;
        }
        self.see(from, claim.epoch);
        let considered = match self.objection(now, from, claim.epoch) {
            Some(why) => Err(why),
            None => self.ballot.consider(claim),
        };
        match considered {
            Ok(vote) => self.give(from, vote),
            Err(why) => {
                if matches!(why, Refusal::Promised(_)) {
                    self.give_way(claim);
                }
                self.send(from, Body::Refusal { epoch: claim.epoch, why });
            }
        }
    }

    /// Two candidates ask at once, for their lists differ: they would outbid each other for ever if they did it in step. In one
    /// epoch the one with the higher id waits for the other. Whoever asks in an earlier one waits anyway, for it votes for the later.
    fn give_way(&mut self, claim: &Claim) {
        let is_vacant = matches!(self.leadership, Leadership::Vacant(_));
        let asks_too = self.ballot.asks() == Some(claim.epoch);
        if is_vacant && asks_too && claim.candidate < self.me() {
            self.ballot.withdraw();
            self.change_vacancy(|vacancy| vacancy.endorse(claim.candidate));
        }
    }

    /// Why this peer would not have that one as its host now. None of this is needed for one host an epoch; it keeps
    /// sessions from moving without need, and to somebody who cannot be host.
    fn objection(&self, now: Timestamp, from: PeerId, epoch: Epoch) -> Option<Refusal> {
        // Whoever has heard of the last one that counts asks for later ones as long as it can go on asking.
        if epoch.0 > self.last_epoch().0.saturating_add(EPOCHS_AHEAD) {
            return Some(Refusal::Unsuitable);
        }
        if from == self.leader() {
            return None;
        }
        // Whom the host before has thrown out may be in the list yet.
        let is_kicked = self.roster.kicked.contains(&from);
        let is_able = self.can_be_host(from) || !G::stands(Guard::SuitabilityOfClaims);
        let is_lost = self.lost.contains(&from) && G::stands(Guard::ExclusionOfClaims);
        if !is_able || is_kicked || is_lost {
            return Some(Refusal::Unsuitable);
        }
        let asks = self.ballot.asks().map(|_| self.me());
        let lives = match &self.leadership {
            Leadership::Follows => {
                let lives = |host: &Contact| !host.is_doubtful(now) && !host.gives_session_to(from);
                self.contacts.get(&self.leader()).is_some_and(lives)
            }
            Leadership::Reigns(reign) => match reign.phase {
                Phase::HandingOver { to, .. } => to != from,
                Phase::Accession | Phase::Reigning => reign.mandate == Mandate::Confirmed,
            },
            Leadership::Vacant(vacancy) if vacancy.is_past(from, asks) && G::stands(Guard::TurnsOfClaims) => {
                return Some(Refusal::Unsuitable);
            }
            Leadership::Doubts(_) | Leadership::Vacant(_) => false,
            Leadership::Outside { .. } | Leadership::Over => true,
        };
        lives.then_some(Refusal::HostLives)
    }

    /// A vote came. Before this peer asks for any it is kept: the host named it to the voter, and its own word is on its way.
    pub(super) fn count(&mut self, now: Timestamp, from: PeerId, vote: Vote) {
        if vote.voter != from || vote.candidate != self.me() {
            return;
        }
        // Whoever has not told yet what it holds may hold what this side's game is given up for. It is asked for its vote again.
        let has_told = self.contacts.get(&from).is_some_and(|contact| contact.told == self.stamp());
        if self.leads_a_side() && !has_told {
            return;
        }
        if let Some(certificate) = self.ballot.count(&vote) {
            return self.crowned(now, &certificate, Cause::Catastrophic);
        }
        let is_early = self.ballot.asks().is_none() && matches!(self.leadership, Leadership::Follows);
        if let Some(contact) = self.contacts.get_mut(&from).filter(|_| is_early) {
            contact.early = Some(vote);
        }
    }

    /// No vote came.
    pub(super) fn be_refused(&mut self, now: Timestamp, from: PeerId, epoch: Epoch, why: &Refusal) {
        if self.ballot.asks() != Some(epoch) {
            return;
        }
        match why {
            Refusal::Passed(certificates) => self.be_told(now, certificates, None, Cause::Catastrophic),
            Refusal::Promised(promised) => {
                self.see(from, promised.next());
                // Where all have heard of the last one that counts, somebody may have asked for the one after it, as this peer does.
                if self.is_voter(from) && *promised >= epoch && epoch >= self.last_epoch() {
                    self.seen = self.seen.max(epoch.next());
                }
            }
            Refusal::NewerView(view) => {
                if self.ballot.learn_view(view).is_ok() {
                    self.meet_members(now);
                    // Its claim is void: it asks anew at once.
                    self.change_vacancy(|vacancy| vacancy.ask_at = now);
                }
            }
            Refusal::NotMine | Refusal::HostLives | Refusal::Unsuitable => {}
        }
    }

    /// This peer has its certificate.
    fn crowned(&mut self, now: Timestamp, certificate: &Certificate, cause: Cause) {
        // A certificate that comes late finds a peer that has thought better of it, and one that others tell of may come before
        // the word that there will be one; the session moves to it all the same.
        let is_expected = matches!(self.leadership, Leadership::Vacant(_) | Leadership::Reigns(_));
        if !is_expected && matches!(self.begin_event(now, cause), Begun::No) {
            return;
        }
        self.hold_lease(now);
        self.fork = None;
        self.seen = self.seen.max(certificate.epoch);
        self.own_list();
        let stamp = self.stamp();
        self.sign_view();
        self.own_roster();
        if let Leadership::Reigns(reign) = &mut self.leadership {
            // It was host before; only the number is new.
            if reign.confirm(now) == Mandate::Unconfirmed {
                self.outputs.push(Output::Confirmed(stamp));
            }
            self.want_state();
            self.pass_word(cause);
        } else {
            let (moved_by, handed) = match &self.leadership {
                // Only a host that has promised it to this peer stands still until it is known who is host.
                Leadership::Vacant(vacancy) => {
                    (vacancy.cause, vacancy.handed.map(|handed| handed.state).filter(|_| !self.has_lobby()))
                }
                Leadership::Follows
                | Leadership::Doubts(_)
                | Leadership::Reigns(_)
                | Leadership::Outside { .. }
                | Leadership::Over => (cause, None),
            };
            self.moved_by = moved_by;
            self.pass_word(moved_by);
            let lost = self.lost.clone();
            self.leadership = Leadership::Reigns(Reign::acceding(now, Mandate::Confirmed, lost).from(handed));
            self.elected(Role::Host);
        }
        self.announce_to_all(now);
    }

    /// Somebody says who is host.
    ///
    /// Its view is taken before anything else: whoever leaves once another is host does not leave it without a majority.
    pub(super) fn be_told(
        &mut self,
        now: Timestamp,
        certificates: &[Certificate],
        view: Option<&View>,
        cause: Cause,
    ) {
        let (host_before, stamp_before) = (self.leader(), self.stamp());
        for certificate in certificates {
            match self.take_certificate(certificate) {
                Ok(Accepted::Newer | Accepted::Known) => {}
                // Forged, or told too little: then nothing follows from it.
                Err(_) => break,
            }
        }
        let stamp = Stamp::certified(self.ballot.epoch());
        if stamp.epoch != stamp_before.epoch {
            if self.ballot.host() == self.me()
                && let Some(certificate) = self.ballot.certificates_after(stamp_before.epoch).pop()
            {
                return self.crowned(now, &certificate, cause);
            }
            self.fork = None;
            self.seen = self.seen.max(stamp.epoch);
            self.moved_by = cause;
            if self.has_lobby() && matches!(self.leadership, Leadership::Reigns(_)) {
                self.pass_on_certificate(now);
            }
            if let Some(view) = view.filter(|view| self.ballot.take_view(view)) {
                self.send(self.leader(), Body::Taken(view.id));
            }
            self.obey(now, host_before);
        }
    }

    /// Its signatures, one for each of a majority, are looked at last: whoever makes up a long story is found out by its first word.
    fn take_certificate(&mut self, certificate: &Certificate) -> Result<Accepted, Forged> {
        if self.ballot.heeds(Sealed::Certificate(certificate)) {
            self.ballot.check(certificate)?;
            if G::stands(Guard::CertificateSignatures)
                && !certificate.is_genuine(self.config.session, self.config.keys.as_ref())
            {
                return Err(Forged::Signature);
            }
        }
        self.ballot.accept(certificate)
    }

    /// Whoever did not go along has given the new host what it held.
    pub(super) fn depart(&mut self, now: Timestamp) {
        if self.departs.is_some_and(|departure| departure.at <= now) {
            self.send_all(&Body::Leave);
            self.end(now, End::HostLost);
        }
    }

    /// Another host than before, or the same in a later epoch.
    pub(super) fn obey(&mut self, now: Timestamp, before: PeerId) {
        let leader = self.leader();
        if leader == self.me() {
            return;
        }
        let stamp = self.stamp();
        let was_host = matches!(self.leadership, Leadership::Reigns(_));
        let moves = leader != before;
        let cause = match &self.leadership {
            Leadership::Reigns(Reign { phase: Phase::HandingOver { why, .. }, .. }) => Cause::of(*why),
            Leadership::Reigns(_) => Cause::Fenced,
            Leadership::Vacant(vacancy) => vacancy.cause,
            Leadership::Follows | Leadership::Doubts(_) | Leadership::Outside { .. } | Leadership::Over => {
                self.moved_by
            }
        };
        let stamp_before = self.pass_word(cause);
        if moves {
            self.come_over(now, cause);
            if was_host {
                self.set_acting(Acting::No);
                self.outputs.push(Output::HostNoMore { stamp: stamp_before, cause });
                if self.leaves_after_handover(now) {
                    return;
                }
            }
            // A vacancy is part of the migration that it began; who followed until now begins one.
            let resets = !matches!(self.leadership, Leadership::Vacant(_)) || self.event.is_none();
            let is_back = self.departs.take_if(|departure| departure.from == leader).is_some();
            let stays = self.departs.is_some() || resets && !self.goes_along(cause);
            if stays && !is_back {
                let stays_for = if G::stands(Guard::Stay) { DEPARTS_AFTER } else { Duration::ZERO };
                self.departs.get_or_insert(Departure { from: before, at: now + stays_for });
            } else if resets && !is_back && matches!(self.begin_event(now, cause), Begun::No) {
                return;
            }
        }
        self.lost.remove(&leader);
        self.names.forget_forks();
        self.forget_list();
        self.leadership = Leadership::Follows;
        if !self.hands_on() {
            self.held = State::default();
        }
        self.meet_members(now);
        let contact = self.contacts.entry(leader).or_insert_with(|| Contact::new(now, stamp));
        contact.rhythm = Rhythm::starting(now);
        contact.presence = Presence::Here;
        let helps = self.is_standby();
        for contact in self.contacts.values_mut() {
            contact.hears = None;
            // The host tells them itself, and its standbys tell whoever they hear obey another: of sixty-four that is enough.
            if !helps {
                contact.announced = Some(now);
            }
        }
        self.elected(Role::Client);
        if self.departs.is_none() {
            self.outputs.push(Output::Follow { leader, stamp });
        }
        // The new host waits for nothing but this.
        self.beat_to(now, leader);
    }

    /// The host is heard after all, and hears this peer: it goes on obeying it.
    pub(super) fn hear_host_again(&mut self, now: Timestamp, echo: Timestamp) {
        match &self.leadership {
            Leadership::Doubts(_) => self.leadership = Leadership::Follows,
            Leadership::Vacant(vacancy) if echo >= vacancy.since => {
                self.ballot.withdraw();
                self.obey(now, self.leader());
            }
            Leadership::Vacant(_)
            | Leadership::Follows
            | Leadership::Reigns(_)
            | Leadership::Outside { .. }
            | Leadership::Over => {}
        }
    }

    /// Another answers whether it hears the host.
    pub(super) fn note_answer(&mut self, now: Timestamp, from: PeerId, hears: Hears) {
        let is_of_other_side = self.contacts.get(&from).is_some_and(|contact| self.is_of_other_side(contact));
        if let Some(contact) = self.contacts.get_mut(&from).filter(|_| !is_of_other_side) {
            contact.hears = Some((now, hears));
        }
    }
}
