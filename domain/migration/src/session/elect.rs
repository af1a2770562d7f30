//! Who comes after: the first of the order asks for votes, the others wait for it a while and then for the next.

use alloc::collections::BTreeSet;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::ballot::{Accepted, Claim, Refusal};
use crate::certificate::{Certificate, Vote};
use crate::hint::CanBeHost;
use crate::lobby::Arbiter;
use crate::message::{Body, Hears};
use crate::rhythm::Rhythm;
use crate::session::doubt::QUORUM_PATIENCE;
use crate::session::event::Begun;
use crate::session::reign::{Mandate, Phase, Reign};
use crate::session::words::{Acting, Cause, Output, WithoutMajority};
use crate::session::{AGAIN, Contact, Leadership, Presence, Session};
use crate::stages::{Failure, Role};
use crate::state::StateId;
use crate::view::View;
use crate::{Epoch, Guards, PeerId, Stamp};

/// How long one candidate is waited for: ten round trips of the slowest link that a game is played over.
pub(super) const CANDIDATE_PATIENCE: Duration = Duration::from_millis(1_000);
/// How long a peer that was asked may say nothing and still be one to wait for.
const ANSWER_PATIENCE: Duration = Duration::from_millis(500);

/// There is no host.
#[derive(Debug, Clone)]
pub(super) struct Vacancy {
    pub(super) since: Timestamp,
    pub(super) cause: Cause,
    pub(super) quorum: Quorum,
    /// Whom the old host, or this peer's own vote, has named.
    pub(super) endorsed: Option<PeerId>,
    /// The last state of the host that named this peer: it goes on from there, and need not ask who holds a newer one.
    handed: Option<StateId>,
    /// Candidates that did not get there in time.
    passed: BTreeSet<PeerId>,
    waits: Option<(PeerId, Timestamp)>,
    claimed: Option<Timestamp>,
    asked: Timestamp,
    /// When this peer said to all others that it lives.
    pub(super) beaten: Timestamp,
    /// Since when too few voters live for a majority, while they do: more may have died since the host was given up.
    short: Option<Timestamp>,
}

/// Whether a majority of the members misses the host; under a lobby, whether that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quorum {
    /// It does, or the host itself goes.
    Majority,
    /// Not as far as this peer can ask.
    Missing,
}

impl Vacancy {
    pub(super) const fn beginning(
        now: Timestamp,
        cause: Cause,
        quorum: Quorum,
        endorsed: Option<PeerId>,
    ) -> Self {
        Self {
            since: now,
            cause,
            quorum,
            endorsed,
            handed: None,
            passed: BTreeSet::new(),
            waits: None,
            claimed: None,
            asked: now,
            beaten: now,
            short: None,
        }
    }

    /// The host stands still with that, until this peer goes on from there.
    pub(super) fn handing(self, state: StateId) -> Self {
        Self { handed: Some(state), ..self }
    }

    /// The old host names who is to follow it, without anybody's vote.
    pub(super) fn name(&mut self, to: PeerId) {
        self.quorum = Quorum::Missing;
        self.endorsed = Some(to);
        self.waits = None;
    }

    /// Whether the old host itself has given the session up.
    fn is_given(&self) -> bool {
        matches!(self.cause, Cause::Lobby | Cause::Controlled)
    }
}

impl<G: Guards> Session<G> {
    /// The host is given up.
    pub(super) fn vacate(&mut self, now: Timestamp, vacancy: Vacancy) {
        if let Begun::No = self.begin_event(now, vacancy.cause) {
            return;
        }
        match vacancy.cause {
            Cause::Catastrophic | Cause::Controlled => {
                self.lost.insert(self.leader());
            }
            Cause::Lobby | Cause::Fenced | Cause::Merge => {}
        }
        self.leadership = Leadership::Vacant(vacancy);
    }

    /// While there is no host.
    pub(super) fn elect(&mut self, now: Timestamp) {
        self.watch_quorum(now);
        let Leadership::Vacant(vacancy) = &mut self.leadership else { return };
        if vacancy.quorum == Quorum::Missing && self.config.arbiter == Arbiter::Majority {
            if now >= vacancy.asked + AGAIN {
                vacancy.asked = now;
                self.ask_others(now);
            }
            if self.others_miss(now).0 >= self.view().majority() {
                self.change_vacancy(|vacancy| vacancy.quorum = Quorum::Majority);
            }
        }
        let Some(head) = self.head(now) else { return };
        let Leadership::Vacant(vacancy) = &mut self.leadership else { return };
        let since = match vacancy.waits {
            Some((peer, since)) if peer == head => since,
            Some(_) | None => {
                vacancy.waits = Some((head, now));
                now
            }
        };
        if now >= since + CANDIDATE_PATIENCE {
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
            (Quorum::Missing, WithoutMajority::Fork | WithoutMajority::Hold) => {}
            (Quorum::Missing, WithoutMajority::End) => {
                self.fail(now, Cause::Catastrophic, Failure::NoMajority);
            }
        }
    }

    /// A majority that missed the host may be none any more: then the session's policy for minorities counts.
    fn watch_quorum(&mut self, now: Timestamp) {
        if self.has_lobby() {
            let (is_silent, is_forked) = (self.line.is_silent(now), self.fork.is_some());
            return self.change_vacancy(|vacancy| {
                // A side that nobody certifies is its host's to give.
                let is_missing = is_silent || is_forked && vacancy.is_given();
                let quorum = if is_missing { Quorum::Missing } else { Quorum::Majority };
                // Nobody could get there while nobody was answered: the best is the first to go on without, or with, the lobby.
                if vacancy.quorum != quorum {
                    vacancy.quorum = quorum;
                    vacancy.waits = None;
                    vacancy.passed.clear();
                }
            });
        }
        let lives = |peer: &&PeerId| {
            **peer == self.config.me || self.contacts.get(peer).is_some_and(|contact| !contact.is_lost(now))
        };
        let living = self.view().members.keys().filter(lives).count();
        let is_short = living < self.view().majority();
        let Leadership::Vacant(vacancy) = &mut self.leadership else { return };
        let since = if is_short { *vacancy.short.get_or_insert(now) } else { now };
        if !is_short {
            vacancy.short = None;
        } else if vacancy.quorum == Quorum::Majority && now >= since + QUORUM_PATIENCE {
            vacancy.quorum = Quorum::Missing;
            self.ballot.withdraw();
        }
    }

    pub(super) fn change_vacancy(&mut self, change: impl FnOnce(&mut Vacancy)) {
        if let Leadership::Vacant(vacancy) = &mut self.leadership {
            change(vacancy);
        }
    }

    /// Whom this peer waits for now; itself, if it is its turn.
    fn head(&mut self, now: Timestamp) -> Option<PeerId> {
        let Leadership::Vacant(vacancy) = &self.leadership else { return None };
        if vacancy.endorsed.is_some() {
            return vacancy.endorsed;
        }
        let (me, host) = (self.me(), self.leader());
        let excludes = G::EXCLUSION;
        let fits_me = self.reports_can_be_host();
        let is_silent = |contact: &Contact| {
            contact.rhythm.silence(now) > ANSWER_PATIENCE && now >= vacancy.since + ANSWER_PATIENCE
        };
        let is_out = |peer: PeerId| {
            if peer == me {
                return !fits_me || vacancy.passed.contains(&me);
            }
            let contact = self.contacts.get(&peer);
            excludes
                && (peer == host
                    || self.lost.contains(&peer)
                    || vacancy.passed.contains(&peer)
                    || contact.is_none_or(is_silent))
        };
        // Votes are given to voters alone.
        let of_voters = vacancy.quorum == Quorum::Majority;
        // Voters come first.
        let first = self.candidates(is_out).next().filter(|peer| !of_voters || self.is_voter(*peer));
        if first.is_none() && !vacancy.passed.is_empty() {
            self.change_vacancy(|vacancy| vacancy.passed.clear());
        }
        first
    }

    /// The others are waited for: this peer cannot be host.
    pub(super) fn pass_over_oneself(&mut self) {
        let me = self.me();
        self.change_vacancy(|vacancy| {
            vacancy.passed.insert(me);
            vacancy.endorsed = vacancy.endorsed.filter(|endorsed| *endorsed != me);
            vacancy.waits = None;
        });
    }

    fn ask_for_votes(&mut self, now: Timestamp) {
        let Leadership::Vacant(vacancy) = &mut self.leadership else { return };
        if vacancy.claimed.is_some_and(|claimed| now < claimed + AGAIN) {
            return;
        }
        vacancy.claimed = Some(now);
        self.claim(now);
    }

    /// Says the open claim again, or a new one where that one has become hopeless.
    pub(super) fn claim(&mut self, now: Timestamp) {
        let open = self.ballot.open_claim().filter(|claim| claim.epoch >= self.seen);
        let Some(claim) = open.or_else(|| self.ballot.claim(self.seen)) else { return };
        self.seen = self.seen.max(claim.epoch);
        if let Some(vote) = self.ballot.own_vote().map(|vote| self.sign_vote(vote))
            && let Some(certificate) = self.ballot.count(&vote)
        {
            return self.crowned(now, &certificate, Cause::Catastrophic);
        }
        self.send_all(&Body::Claim(claim));
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
        self.seen = self.seen.max(claim.epoch);
        let considered = match self.objection(now, from) {
            Some(why) => Err(why),
            None => self.ballot.consider(claim),
        };
        match considered {
            Ok(vote) => {
                self.as_host(|reign| reign.given = Some(vote.epoch));
                self.change_vacancy(|vacancy| {
                    if vacancy.endorsed != Some(from) {
                        vacancy.endorsed = Some(from);
                        vacancy.waits = None;
                    }
                });
                let vote = self.sign_vote(vote);
                self.send(from, Body::Vote(vote));
            }
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
        let asks_too = self.ballot.open_claim().is_some_and(|own| own.epoch == claim.epoch);
        if is_vacant && asks_too && claim.candidate < self.me() {
            self.ballot.withdraw();
            self.change_vacancy(|vacancy| {
                vacancy.endorsed = Some(claim.candidate);
                vacancy.waits = None;
            });
        }
    }

    /// Why this peer would not have that one as its host now. None of this is needed for one host an epoch; it keeps
    /// sessions from moving without need, and to somebody who cannot be host.
    fn objection(&self, now: Timestamp, from: PeerId) -> Option<Refusal> {
        if from == self.leader() {
            return None;
        }
        let entry = self.hints.entries.get(&from);
        let able = entry.is_some_and(|entry| entry.hint.can_be_host == CanBeHost::Yes);
        if !able || (self.lost.contains(&from) && G::EXCLUSION) {
            return Some(Refusal::Unsuitable);
        }
        let lives = match &self.leadership {
            Leadership::Follows => {
                self.contacts.get(&self.leader()).is_some_and(|host| !host.is_doubtful(now))
            }
            Leadership::Reigns(reign) => match reign.phase {
                Phase::HandingOver { to, .. } => to != from,
                Phase::Accession | Phase::Reigning => reign.mandate == Mandate::Confirmed,
            },
            Leadership::Doubts(_) | Leadership::Vacant(_) => false,
            Leadership::Outside { .. } | Leadership::Over => true,
        };
        lives.then_some(Refusal::HostLives)
    }

    /// A vote came.
    pub(super) fn count(&mut self, now: Timestamp, from: PeerId, vote: &Vote) {
        if vote.voter == from
            && let Some(certificate) = self.ballot.count(vote)
        {
            self.crowned(now, &certificate, Cause::Catastrophic);
        }
    }

    /// No vote came.
    pub(super) fn be_refused(&mut self, now: Timestamp, epoch: Epoch, why: &Refusal) {
        if self.ballot.open_claim().is_none_or(|claim| claim.epoch != epoch) {
            return;
        }
        match why {
            Refusal::Passed(certificates) => self.be_told(now, certificates, None, Cause::Catastrophic),
            Refusal::Promised(promised) => self.seen = self.seen.max(promised.next()),
            Refusal::NewerView(view) => {
                if self.ballot.learn_view(view).is_ok() {
                    self.meet_members(now);
                    // Its claim is void: it asks anew at once.
                    self.change_vacancy(|vacancy| vacancy.claimed = None);
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
        self.hints.version = crate::HintVersion { epoch: certificate.epoch, number: 0 };
        let stamp = self.stamp();
        self.sign_view();
        self.own_roster();
        if let Leadership::Reigns(reign) = &mut self.leadership {
            // It was host before; only the number is new.
            if reign.confirm(now) == Mandate::Unconfirmed {
                self.outputs.push(Output::Confirmed(stamp));
            }
        } else {
            let (moved_by, handed) = match &self.leadership {
                // Only a host that has promised it to this peer stands still until it is known who is host.
                Leadership::Vacant(vacancy) => (vacancy.cause, vacancy.handed.filter(|_| !self.has_lobby())),
                Leadership::Follows
                | Leadership::Doubts(_)
                | Leadership::Reigns(_)
                | Leadership::Outside { .. }
                | Leadership::Over => (cause, None),
            };
            self.moved_by = moved_by;
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
            match self.ballot.accept(certificate) {
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

    /// Another host than before, or the same in a later epoch.
    pub(super) fn obey(&mut self, now: Timestamp, before: PeerId) {
        let leader = self.leader();
        if leader == self.me() {
            return;
        }
        let stamp = self.stamp();
        let was_host = matches!(self.leadership, Leadership::Reigns(_));
        let moves = leader != before;
        if moves {
            let cause = match &self.leadership {
                Leadership::Reigns(Reign { phase: Phase::HandingOver { why, .. }, .. }) => Cause::of(*why),
                Leadership::Reigns(_) => Cause::Fenced,
                Leadership::Vacant(vacancy) => vacancy.cause,
                Leadership::Follows
                | Leadership::Doubts(_)
                | Leadership::Outside { .. }
                | Leadership::Over => self.moved_by,
            };
            if was_host {
                self.set_acting(Acting::No);
                if self.leaves_after_handover(now) {
                    return;
                }
            }
            // A vacancy is part of the migration that it began; who followed until now begins one.
            let resets = !matches!(self.leadership, Leadership::Vacant(_)) || self.event.is_none();
            if resets && matches!(self.begin_event(now, cause), Begun::No) {
                return;
            }
        }
        self.lost.remove(&leader);
        self.names.forget_forks();
        self.leadership = Leadership::Follows;
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
        self.outputs.push(Output::Follow { leader, stamp });
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
        if let Some(contact) = self.contacts.get_mut(&from) {
            contact.hears = Some((now, hears));
        }
    }
}
