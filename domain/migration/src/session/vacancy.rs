//! There is no host: how long already, who is waited for, and whether that is a majority's or a minority's matter.

use alloc::collections::BTreeSet;

use mainstay_core::Timestamp;

use crate::hint::{CanBeHost, Entry, Hint};
use crate::rhythm::BEAT;
use crate::session::circle::Round;
use crate::session::crowd::MEMBER_LOST;
use crate::session::doubt::QUORUM_PATIENCE;
use crate::session::event::Begun;
use crate::session::words::{Cause, End, WithoutMajority};
use crate::session::{AGAIN, Contact, Leadership, Session};
use crate::settings::Switch;
use crate::state::StateId;
use crate::{Epoch, Guard, Guards, PeerId};

/// There is no host.
#[derive(Debug, Clone)]
pub(super) struct Vacancy {
    pub(super) since: Timestamp,
    pub(super) cause: Cause,
    pub(super) host: Host,
    pub(super) quorum: Quorum,
    /// Whom the old host, or this peer's own vote, has named.
    pub(super) endorsed: Option<PeerId>,
    /// What the host gave that named this peer.
    pub(super) handed: Option<Handed>,
    /// Candidates that did not get there in time.
    pub(super) passed: BTreeSet<PeerId>,
    /// Of those, who asked when this peer did and was let go first: once each.
    yielded: BTreeSet<PeerId>,
    pub(super) waits: Option<(PeerId, Timestamp)>,
    pub(super) advised: Advised,
    /// When this peer, where it is its turn, asks for votes (again).
    pub(super) ask_at: Timestamp,
    /// Asking the others whether they miss the host.
    pub(super) asks: Round,
    /// Saying to the others that this peer lives.
    pub(super) beats: Round,
    /// When it looks for a host elsewhere (again), if there can be none here.
    looks_at: Timestamp,
    /// Since when too few voters live for a majority, while they do: more may have died since the host was given up.
    short: Option<Timestamp>,
}

/// What has become of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Host {
    /// It is missed, or has said that it goes, whatever it says after.
    Gone,
    /// It is about to give the session to another, and stays until then.
    HandsOver,
}

/// Whether somebody whom this peer waited for has told it a newer list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advised {
    Yes,
    No,
}

/// What a host gives to whom it names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handed {
    /// Its last state: the other goes on from there, and need not ask who holds a newer one.
    pub(super) state: StateId,
    /// In which epoch.
    pub(super) epoch: Epoch,
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
        let host = match (cause, endorsed) {
            (Cause::Catastrophic, _) | (Cause::Controlled, None) => Host::Gone,
            (Cause::Controlled, Some(_)) | (Cause::Lobby | Cause::Fenced | Cause::Merge, _) => {
                Host::HandsOver
            }
        };
        Self {
            since: now,
            cause,
            host,
            quorum,
            endorsed,
            handed: None,
            passed: BTreeSet::new(),
            yielded: BTreeSet::new(),
            waits: None,
            advised: Advised::No,
            ask_at: now,
            asks: Round::beginning(now),
            beats: Round::beginning(now),
            looks_at: now,
            short: None,
        }
    }

    /// The host stands still until this peer goes on. Votes come unasked; those that have not come after a beat are asked for.
    pub(super) fn handing(self, now: Timestamp, handed: Handed) -> Self {
        Self { handed: Some(handed), ask_at: now + BEAT, ..self }
    }

    /// The old host names who is to follow it, without anybody's vote.
    pub(super) fn name(&mut self, to: PeerId) {
        self.quorum = Quorum::Missing;
        self.endorsed = Some(to);
        self.waits = None;
    }

    /// This peer waits for that one now, also where it had its turn.
    pub(super) fn endorse(&mut self, candidate: PeerId) {
        if self.passed.remove(&candidate) {
            self.yielded.insert(candidate);
        }
        if self.endorsed != Some(candidate) {
            self.endorsed = Some(candidate);
            self.waits = None;
        }
    }

    /// Whether that one had its turn, and asking again gives it no other before the rest had theirs. Where this peer asks too, each may have
    /// waited for the other first, for their lists differ, and would go on so in step: the one with the lower id is let go first, once.
    pub(super) fn is_past(&self, candidate: PeerId, asks: Option<PeerId>) -> bool {
        let is_let_go = asks.is_some_and(|me| candidate < me) && !self.yielded.contains(&candidate);
        self.passed.contains(&candidate) && !is_let_go
    }

    /// Whether the old host itself has given the session up.
    fn is_given(&self) -> bool {
        matches!(self.cause, Cause::Lobby | Cause::Controlled)
    }
}

/// Whether somebody has said lately that it obeys another.
fn has_just_sent_on(contact: &Contact, now: Timestamp) -> bool {
    contact.sent_on.is_some_and(|at| now.since(at) < QUORUM_PATIENCE)
}

impl<G: Guards> Session<G> {
    /// The host goes by its own word, and names nobody: nobody has to be asked whether it is missed.
    pub(super) fn be_left(&mut self, now: Timestamp) {
        if self.settings.automigrate_host == Switch::Off {
            return self.end(now, End::HostLost);
        }
        let others = self.view().members.len().saturating_sub(1);
        let has_majority = self.has_lobby() || self.fork.is_none() && others >= self.view().majority();
        let quorum = if has_majority { Quorum::Majority } else { Quorum::Missing };
        self.vacate(now, Vacancy::beginning(now, Cause::Controlled, quorum, None));
    }

    pub(super) fn has_lost_host(&self) -> bool {
        matches!(&self.leadership, Leadership::Vacant(vacancy) if vacancy.host == Host::Gone)
    }

    /// Whether nobody with this peer can be host, and that for so long that whoever leads is come to, also where a majority misses the host. Whoever obeys another, or has just
    /// sent this peer on to one, is not with it, nor is who is silent.
    pub(super) fn waits_in_vain(&self, now: Timestamp) -> bool {
        let Leadership::Vacant(vacancy) = &self.leadership else { return false };
        let leader = self.leader();
        let is_elsewhere = |contact: &Contact| {
            let obeys_another = contact.obeys.is_some_and(|host| host != leader);
            let is_silent = contact.rhythm.silence(now) >= MEMBER_LOST;
            obeys_another || has_just_sent_on(contact, now) || contact.has_left() || is_silent
        };
        let is_out = |peer: PeerId| {
            if peer == self.me() {
                return !self.reports_can_be_host();
            }
            let is_given_up = peer == leader || self.lost.contains(&peer);
            is_given_up || self.contacts.get(&peer).is_none_or(is_elsewhere)
        };
        let has_waited = vacancy.host == Host::Gone && now >= vacancy.since + QUORUM_PATIENCE;
        has_waited && self.candidates(is_out).next().is_none()
    }

    /// Where it waits in vain it asks everybody it knows to be let in: whoever obeys another says who that is. That host was perhaps never met here, and its side may
    /// have lost as many as this one, so that no beat tells of it.
    pub(super) fn look_elsewhere(&mut self, now: Timestamp) {
        let is_due = matches!(&self.leadership, Leadership::Vacant(vacancy) if now >= vacancy.looks_at);
        if is_due {
            self.change_vacancy(|vacancy| vacancy.looks_at = now + AGAIN);
            if self.waits_in_vain(now) {
                self.ask_all_in();
            }
        }
    }

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
        self.learn_who_all_can();
    }

    /// A host that gives its session away may be lost, or leave, before it has.
    pub(super) fn watch_giver(&mut self, now: Timestamp) {
        let host = self.leader();
        let is_lost = self.contacts.get(&host).is_none_or(|contact| contact.is_lost(now));
        if is_lost && !self.has_lost_host() && G::stands(Guard::Givers) {
            self.lost.insert(host);
            self.change_vacancy(|vacancy| vacancy.host = Host::Gone);
        }
    }

    /// What it knows of itself, and what the others told it.
    pub(super) fn learn_who_all_can(&mut self) {
        self.learn_who_can(self.me(), self.reported_hint());
        // What they told is as old as their last beat, which most send to others. Hardly anybody takes it back: who just did is waited for
        // until its next one.
        let can_be = |(_, hint): &(PeerId, Hint)| hint.can_be_host == CanBeHost::Yes;
        self.told_hints().into_iter().filter(can_be).for_each(|(peer, hint)| self.learn_who_can(peer, hint));
    }

    /// The host may have gone before its list told who can be host by now: while there is none, members believe each other. The rest of
    /// the list stays as it is, for all have to reckon alike.
    pub(super) fn learn_who_can(&mut self, peer: PeerId, hint: Hint) {
        let is_vacant = matches!(self.leadership, Leadership::Vacant(_));
        if let Some(channel) = self.roster.members.get(&peer).copied().filter(|_| is_vacant) {
            let entry = self.hints.entries.entry(peer).or_insert(Entry { channel, hint });
            entry.hint.can_be_host =
                if G::stands(Guard::Suitability) { hint.can_be_host } else { CanBeHost::Yes };
        }
    }

    /// A majority that missed the host may be none any more: then the session's policy for minorities counts.
    pub(super) fn watch_quorum(&mut self, now: Timestamp) {
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
        let (stamp, leader) = (self.stamp(), self.leader());
        // Whoever obeys another since votes for nobody as long as that one lives. Most of a large side send no beat here, and send this peer on.
        let is_with = |contact: &Contact| {
            let obeys_another = contact.told > stamp && contact.obeys.is_some_and(|host| host != leader);
            !contact.is_lost(now) && !obeys_another && !has_just_sent_on(contact, now)
        };
        let lives = |peer: &PeerId| *peer == self.config.me || self.contacts.get(peer).is_some_and(is_with);
        let living = self.view().members.keys().filter(|peer| lives(peer)).count();
        let is_short = living < self.view().majority() || self.leaves_it_to_others(|peer| !lives(&peer));
        let Leadership::Vacant(vacancy) = &mut self.leadership else { return };
        let since = if is_short { *vacancy.short.get_or_insert(now) } else { now };
        if !is_short {
            vacancy.short = None;
        } else if vacancy.quorum == Quorum::Majority && now >= since + QUORUM_PATIENCE {
            vacancy.quorum = Quorum::Missing;
            self.ballot.withdraw();
        }
    }

    /// Whether of those who vote nobody can be host, and somebody else can, in a session that goes on without a majority: it does so under that one.
    fn leaves_it_to_others(&self, is_dead: impl Fn(PeerId) -> bool) -> bool {
        let is_out = |peer: PeerId| is_dead(peer) || self.lost.contains(&peer);
        let goes_on = self.config.without_majority == WithoutMajority::Fork;
        goes_on && self.candidates(is_out).next().is_some_and(|first| !self.can_be_certified(first))
    }

    pub(super) fn change_vacancy(&mut self, change: impl FnOnce(&mut Vacancy)) {
        if let Leadership::Vacant(vacancy) = &mut self.leadership {
            change(vacancy);
        }
    }

    /// Whom this peer waits for now; itself, if it is its turn.
    pub(super) fn head(&mut self, now: Timestamp) -> Option<PeerId> {
        let Leadership::Vacant(vacancy) = &self.leadership else { return None };
        if vacancy.endorsed.is_some() {
            return vacancy.endorsed;
        }
        let is_certified = vacancy.quorum == Quorum::Majority;
        // Whoever can be comes first.
        let first = self.front(now).next().filter(|peer| !is_certified || self.can_be_certified(*peer));
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
}
