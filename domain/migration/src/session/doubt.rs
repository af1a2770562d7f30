//! When a host is given up: not because one peer misses it, but because most do.
//!
//! A peer that misses its host asks the others. As long as fewer than a majority of the members miss it too, the host stays:
//! one bad link moves no session (B12). Nobody is told of a doubt that passes.
//!
//! Whoever asks misses the host, so a question is an answer, too. The standbys ask everybody, since one of them comes next, and
//! the others ask the standbys first: where all do their part, sixty-four members miss a host with some hundred questions
//! and not with four thousand. Then they ask round the [circle](super::circle).

use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::message::{Body, Hears};
use crate::session::circle::Round;
use crate::session::crowd::MEMBER_LOST;
use crate::session::vacancy::{Host, Quorum, Vacancy};
use crate::session::words::{Cause, End, WithoutMajority};
use crate::session::{Contact, Leadership, Session};
use crate::stages::Failure;
use crate::{Guard, Guards, PeerId, Stamp};

/// How long a majority is looked for before the session's policy for minorities counts: what a wireless link may pause.
pub(super) const QUORUM_PATIENCE: Duration = Duration::from_secs(2);
/// The same where there is no majority to look for, for of two players the other is the one that is missed, and on a side that lost its
/// majority long ago another misses the host, too; and where the survivors go on alone:
/// beside the silence itself what a wireless link pauses at a time. If the other was only cut off it stays confirmed, and what the survivor
/// did meanwhile goes when they meet.
const PAIR_PATIENCE: Duration = Duration::from_millis(500);
/// How long an answer counts: two questions may be lost.
const ANSWER_LIFETIME: Duration = Duration::from_millis(700);
/// How long whoever said that it misses the host is not asked again: half of what its answer counts.
const ASKED_ENOUGH: Duration = Duration::from_millis(350);
/// After so long without a host that others hear this peer gives up, or without any where it goes along with nobody else: CRYENGINE's `net_inactivitytimeout`.
pub(super) const CUT_OFF: Duration = Duration::from_secs(10);

/// How long a host that obeys another has to send its members there: a round trip does, where nothing is lost.
const SENT_ON_MAX: Duration = Duration::from_secs(1);

/// A host is missed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Doubt {
    pub(super) since: Timestamp,
    /// Once it has begun to ask.
    asks: Option<Round>,
}

/// Whether somebody has said so lately of the host.
fn says(contact: &Contact, now: Timestamp, what: Hears) -> bool {
    contact.hears.is_some_and(|(at, said)| said == what && now.since(at) <= ANSWER_LIFETIME)
}

impl<G: Guards> Session<G> {
    /// While all is well.
    pub(super) fn watch(&mut self, now: Timestamp) {
        if self.misses_host(now) {
            self.leadership = Leadership::Doubts(Doubt { since: now, asks: None });
        }
    }

    /// Nothing comes from it, or it obeys another and does not send its members there: it has lost that one too.
    fn misses_host(&self, now: Timestamp) -> bool {
        let has_stepped_down =
            |host: &Contact| host.stepped_down.is_some_and(|at| now.since(at) >= SENT_ON_MAX);
        self.contacts.get(&self.leader()).is_none_or(|host| host.is_lost(now) || has_stepped_down(host))
    }

    /// While the host is missed.
    pub(super) fn doubt(&mut self, now: Timestamp) {
        let Leadership::Doubts(Doubt { since, asks }) = self.leadership else { return };
        if !self.misses_host(now) {
            self.leadership = Leadership::Follows;
            return;
        }
        let (asked, round) = match asks {
            None if self.is_standby() => (self.contacts.keys().copied().collect(), Round::beginning(now)),
            None => (self.standbys(), Round::beginning(now)),
            Some(round) if round.is_due(now) => self.circle(now, round),
            Some(round) => (Vec::new(), round),
        };
        self.ask(now, asked);
        self.leadership = Leadership::Doubts(Doubt { since, asks: Some(round) });
        if !self.goes_along(Cause::Catastrophic) {
            // Its host may come back, or the others need its vote for another one.
            if now >= since + CUT_OFF {
                self.end(now, End::HostLost);
            }
            return;
        }
        let (missing, hearing) = self.others_miss(now);
        let is_missed = missing >= self.who_have_to_miss(now) || self.most_who_play_miss(now);
        let confirmed = is_missed || !G::stands(Guard::Confirmation);
        if confirmed {
            self.vacate(now, Vacancy::beginning(now, Cause::Catastrophic, Quorum::Majority, None));
        } else if hearing == 0 && now >= since + self.patience(now) {
            self.vacate(now, Vacancy::beginning(now, Cause::Catastrophic, Quorum::Missing, None));
        } else if now >= since + CUT_OFF {
            self.fail(now, Cause::Catastrophic, Failure::CutOff);
        } else if self.has_lobby()
            && self.is_pair(now)
            && self.reports_can_be_host()
            && now >= since + PAIR_PATIENCE
        {
            // Only the lobby can tell whether the other is gone. Where it is not, no game hears of this.
            self.claim_of_lobby(now, None);
        }
    }

    /// While there is no host here. Most missed it for a moment only, or because it was about to give the session away and did not: then they hear it again, and whoever
    /// does not is as cut off as if it had never given it up.
    pub(super) fn watch_who_hear(&mut self, now: Timestamp) {
        let Leadership::Vacant(vacancy) = &self.leadership else { return };
        if vacancy.host != Host::Gone || now < vacancy.since + CUT_OFF {
            return;
        }
        self.ask_round(now);
        let (missing, hearing) = self.others_miss(now);
        if hearing > 0 && missing < self.who_have_to_miss(now) {
            self.fail(now, Cause::Catastrophic, Failure::CutOff);
        }
    }

    /// While there is no host here: asks who comes next on the circle.
    pub(super) fn ask_round(&mut self, now: Timestamp) {
        let Leadership::Vacant(vacancy) = &self.leadership else { return };
        if vacancy.asks.is_due(now) {
            let (peers, round) = self.circle(now, vacancy.asks);
            self.ask(now, peers);
            self.change_vacancy(|vacancy| vacancy.asks = round);
        }
    }

    /// How many have to miss the host: a majority. Under a lobby nobody votes, and a host that died right after it took over may have left those in its
    /// view that went before it.
    fn who_have_to_miss(&self, now: Timestamp) -> usize {
        if !self.has_lobby() {
            return self.view().majority();
        }
        let here = self.view().members.keys().filter(|peer| !self.misses_nobody(now, **peer));
        here.count() / 2 + 1
    }

    /// Whoever has said that it goes misses nobody, nor does a host before this one that is missed, too.
    fn misses_nobody(&self, now: Timestamp, peer: PeerId) -> bool {
        let is_former = peer != self.leader() && self.ballot.was_host(peer);
        self.contacts.get(&peer).is_some_and(|it| it.has_left() || is_former && it.is_lost(now))
    }

    /// Under a lobby whoever plays has a say in who is host, be it that it came too late for the host to write down that it votes: the lobby counts
    /// members, and of three players the other one that is left may be just that.
    fn most_who_play_miss(&self, now: Timestamp) -> bool {
        let misses = |peer: &&PeerId| {
            **peer == self.me() || self.contacts.get(*peer).is_some_and(|it| says(it, now, Hears::No))
        };
        let here = self.roster.members.keys().filter(|peer| !self.misses_nobody(now, **peer));
        let playing: Vec<&PeerId> = here.collect();
        self.has_lobby() && playing.iter().filter(|peer| misses(peer)).count() > playing.len() / 2
    }

    /// Whether there is nobody to ask but the host. Newcomers play before they vote; and of those in the lists some may have gone, or died with an earlier
    /// host: everybody hears the standbys, so whoever hears none is alone with it.
    fn is_pair(&self, now: Timestamp) -> bool {
        let is_here = |contact: &Contact| !contact.has_left() && contact.rhythm.silence(now) < MEMBER_LOST;
        let is_member = |peer: &PeerId| self.is_voter(*peer) || self.roster.members.contains_key(peer);
        let others = self.contacts.iter().filter(|(peer, contact)| is_member(peer) && is_here(contact));
        others.count() <= 1
    }

    fn patience(&self, now: Timestamp) -> Duration {
        // Whom nobody answers may be the deaf one itself.
        let misses = |contact: &Contact| says(contact, now, Hears::No);
        let is_agreed = self.fork.is_some() && self.contacts.values().any(misses);
        let goes_on = self.config.without_majority == WithoutMajority::Fork && !self.has_lobby();
        if (self.is_pair(now) || is_agreed) && goes_on { PAIR_PATIENCE } else { QUORUM_PATIENCE }
    }

    /// Asks whether they hear the host, but for whoever has just said that it does not.
    pub(super) fn ask(&mut self, now: Timestamp, peers: Vec<PeerId>) {
        let host = self.leader();
        let has_said = |contact: &Contact| {
            contact.hears.is_some_and(|(at, hears)| hears == Hears::No && now.since(at) < ASKED_ENOUGH)
        };
        for peer in peers {
            if peer != host && !self.contacts.get(&peer).is_none_or(has_said) {
                self.say_whom_it_obeys(now, peer);
                self.send(peer, Body::Ask);
            }
        }
    }

    /// How many members miss the host, this one included, and how many said lately that they hear it.
    pub(super) fn others_miss(&self, now: Timestamp) -> (usize, usize) {
        let said = |hears: Hears| {
            let counts = |(peer, contact): &(&PeerId, &Contact)| {
                self.view().members.contains_key(peer) && says(contact, now, hears)
            };
            self.contacts.iter().filter(counts).count()
        };
        (said(Hears::No) + usize::from(self.is_voter(self.me())), said(Hears::Yes))
    }

    /// Another asks.
    pub(super) fn answer_whether_heard(&mut self, now: Timestamp, from: PeerId, stamp: Stamp) {
        if stamp == self.stamp() {
            self.note_answer(now, from, Hears::No);
        }
        let hears = match self.leadership {
            // The host itself: there is no better answer than hearing it.
            Leadership::Reigns(_) => return self.beat_to(now, from),
            Leadership::Follows => match self.contacts.get(&self.leader()) {
                Some(host) if !host.is_doubtful(now) => Hears::Yes,
                Some(_) | None => Hears::No,
            },
            Leadership::Doubts(_) | Leadership::Vacant(_) => Hears::No,
            Leadership::Outside { .. } | Leadership::Over => return,
        };
        self.say_whom_it_obeys(now, from);
        self.send(from, Body::Answer(hears));
    }

    /// Sides of one number have a host each, and what somebody says of the one is nothing to the other; most of a side beat to its host and its standbys alone.
    fn say_whom_it_obeys(&mut self, now: Timestamp, to: PeerId) {
        if self.fork.is_some() {
            self.beat_to(now, to);
        }
    }
}
