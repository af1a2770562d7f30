//! A session under a lobby: the lease that its host renews, who misses the host, and the claim for the next epoch.
//!
//! The lobby decides alone who is host, so two players are as safe as eight. What it is asked is said again until it is
//! answered, and its silence is known by its answers not coming. *The lobby does not answer*: while the host lives, the
//! session goes on as it is, until the lease is over on the host's own clock; then, and where the host dies meanwhile, its
//! setting for sides without a majority counts. *The lobby answers again*: whoever has the newest certificate goes on, for
//! nobody could get a later one; a side that went on without claims the next epoch.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::certificate::Certificate;
use crate::lobby::{Admission, Arbiter, LOBBY_LEASE, Pace, Pass, Question, Ruling};
use crate::message::{Body, Closed};
use crate::session::bearing::Bearing;
use crate::session::doubt::QUORUM_PATIENCE;
use crate::session::reign::{Phase, Reign};
use crate::session::words::{Cause, End, Output};
use crate::session::{Contact, Leadership, Migratable, Session};
use crate::terms::Support;
use crate::view::MEMBERS_MAX;
use crate::{Epoch, Guard, Guards, PeerId};

/// How often a host renews its lease: `domain/lobby` counts on it.
const RENEW_EVERY: Duration = Duration::from_secs(2);
/// How often it does that hears one member or none.
const RENEW_QUICKLY_EVERY: Duration = Duration::from_millis(500);
/// How often it does while it has no answer: its lease bears five lost renewals then.
const RENEW_AGAIN: Duration = Duration::from_secs(1);
/// How often a member says that it misses its host: a report counts for four times as long.
const MISSES_EVERY: Duration = Duration::from_secs(1);
/// How often a candidate asks to be host: the lobby takes 120 questions a minute of each member, and a migration's 30 s hold
/// a hundred of these.
const CLAIM_EVERY: Duration = Duration::from_millis(300);
/// How often a host that goes on without a certificate asks for one: for hours, if need be.
const CONFIRM_EVERY: Duration = Duration::from_secs(1);
/// How much earlier a host ends its lease than the lobby does: what an answer to a claim may take, and what clocks drift apart
/// in a lease.
const MARGIN: Duration = Duration::from_millis(500);

/// How many replaced processes are known: as many as a lobby remembers.
const REPLACED_MAX: usize = 256;
/// Whoever asks nothing for so long has stopped asking: twice as long as a host that has no answer waits, or one that has.
const ASKS_ON: Duration = Duration::from_secs(4);
/// The same of a member, which asks while it misses its host.
const MISSES_ON: Duration = Duration::from_secs(2);
/// Within how long a peer that wakes up has read what came while it slept.
const WAKES_IN: Duration = Duration::from_secs(1);

/// What is known of the way to the lobby.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// When the question was asked that made or renewed this host's lease last.
    leased: Timestamp,
    /// Since when nothing is answered, while something is asked.
    waits: Option<Timestamp>,
    /// The last question.
    asked: Timestamp,
    /// The last sign of life, and which.
    beat: Option<(Timestamp, Beat)>,
    /// The last claim.
    claimed: Option<Timestamp>,
    /// This peer stood still: from when, until when.
    stall: Option<(Timestamp, Timestamp)>,
    /// When this host put out more than it heard, if it ever did: they may live, and be given another host.
    pub(super) parted: Option<Timestamp>,
    /// Whether the lobby's sessions move, as it told this peer last; without a lobby they do.
    supports: Support,
    /// What members have brought for this host, or this member for its own.
    pub(super) bearing: Bearing,
}

/// Which sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beat {
    /// With how soon it may be missed: whoever hears fewer or more than it just did says so at once.
    Renews(Epoch, Pace),
    Misses(Epoch),
}

impl Line {
    pub(super) fn beginning(now: Timestamp) -> Self {
        Self {
            leased: now,
            waits: None,
            asked: now,
            beat: None,
            claimed: None,
            stall: None,
            parted: None,
            supports: Support::Supported,
            bearing: Bearing::default(),
        }
    }

    /// This peer stood still itself since then.
    pub(super) fn forgive(&mut self, now: Timestamp, since: Timestamp) {
        self.waits = self.waits.map(|waits| waits + now.since(since));
        self.stall = Some((since, now));
    }

    /// Since when a word may have waited for this peer: what comes as it wakes up may have come as it fell asleep.
    fn told_since(&self, now: Timestamp) -> Timestamp {
        match self.stall {
            Some((since, woke)) if now < woke + WAKES_IN => since,
            Some(_) | None => now,
        }
    }

    /// By when something had come that was read then.
    fn came_by(&self, read: Timestamp) -> Timestamp {
        match self.stall {
            Some((since, woke)) if since < read && read < woke + WAKES_IN => since,
            Some(_) | None => read,
        }
    }

    /// Whether the lobby has answered nothing for so long that it is not waited for.
    pub(super) fn is_silent(&self, now: Timestamp) -> bool {
        self.silence(now) >= QUORUM_PATIENCE
    }

    /// For how long nothing has been answered that was asked again and again.
    pub(super) fn silence(&self, now: Timestamp) -> Duration {
        self.waits.filter(|_| self.asks_on(now)).map_or(Duration::ZERO, |since| now.since(since))
    }

    /// Whether it still asks: what was lost long before says nothing of the lobby now.
    fn asks_on(&self, now: Timestamp) -> bool {
        let pause = match self.beat {
            Some((_, Beat::Misses(_))) => MISSES_ON,
            Some((_, Beat::Renews(..))) | None => ASKS_ON,
        };
        now < self.asked + pause
    }

    /// Whether something was asked by then, and nothing has been answered since.
    pub(super) fn is_unanswered_since(&self, then: Timestamp) -> bool {
        self.waits.is_some_and(|since| since <= then)
    }

    /// The lobby counts this host's lease from some moment on that is no earlier.
    pub(super) fn lease_from(&mut self, at: Timestamp) {
        self.leased = self.leased.max(at);
    }

    /// Whether something is asked that is not answered yet.
    pub(super) const fn waits(&self) -> bool {
        self.waits.is_some()
    }

    /// The lobby has just let one.
    pub(super) const fn sessions_move(&mut self) {
        self.supports = Support::Supported;
    }

    /// Whether this host's lease stands, by its own clock.
    pub(super) fn is_leased(&self, now: Timestamp) -> bool {
        now + MARGIN < self.leased + LOBBY_LEASE
    }
}

impl<G: Guards> Session<G> {
    pub(super) fn has_lobby(&self) -> bool {
        self.config.arbiter == Arbiter::Lobby
    }

    /// Says to the lobby what it has to hear now and then.
    pub(super) fn keep_line(&mut self, now: Timestamp) {
        if !self.has_lobby() {
            return;
        }
        let epoch = self.ballot.epoch();
        let beat = match &self.leadership {
            Leadership::Reigns(reign) if self.fork.is_none() => {
                // Hosts that were given up go as soon as they are silent, or say so: they miss nobody.
                let others = self.hears(now).filter(|peer| !reign.remove.contains(peer)).count();
                Beat::Renews(epoch, if others > 1 { Pace::Usual } else { Pace::Quick })
            }
            Leadership::Doubts(_) => Beat::Misses(epoch),
            Leadership::Vacant(_) if self.has_lost_host() => Beat::Misses(epoch),
            Leadership::Vacant(_)
            | Leadership::Reigns(_)
            | Leadership::Follows
            | Leadership::Outside { .. }
            | Leadership::Over => return,
        };
        if matches!(beat, Beat::Renews(..)) {
            self.keep_bearers(now);
        }
        let every = match beat {
            Beat::Renews(_, Pace::Quick) => RENEW_QUICKLY_EVERY,
            Beat::Renews(_, Pace::Usual) if self.line.waits.is_some() => RENEW_AGAIN,
            Beat::Renews(_, Pace::Usual) => RENEW_EVERY,
            Beat::Misses(_) => MISSES_EVERY,
        };
        if self.line.beat.is_some_and(|(at, before)| before == beat && now < at + every) {
            return;
        }
        self.line.beat = Some((now, beat));
        let question = match beat {
            Beat::Renews(epoch, pace) => Question::Renew { epoch, pace, hears: self.heard(now) },
            Beat::Misses(epoch) => Question::Misses { epoch, silent: self.silence_of_host(now) },
        };
        self.ask_lobby(now, question);
    }

    /// The lobby has let this peer in anew, before its pass ran out or because it was counted as lost.
    pub(super) fn be_admitted(&mut self, admission: Admission) {
        self.config.admission = Some(admission);
    }

    /// The lobby knows these as replaced. A host puts them out, and nobody lets them in: their passes last for a while.
    pub(super) fn be_told_of_replaced(&mut self, peers: BTreeSet<PeerId>) {
        let known = core::mem::replace(&mut self.replaced, peers.into_iter().take(REPLACED_MAX).collect());
        if matches!(self.leadership, Leadership::Reigns(_)) {
            let plays = |peer: &PeerId| self.roster.members.contains_key(peer) && !known.contains(peer);
            let told: Vec<PeerId> = self.replaced.iter().copied().filter(plays).collect();
            told.into_iter().for_each(|peer| self.send(peer, Body::Refused(Closed::Replaced)));
        }
    }

    /// The lobby tells a host whether its sessions move: members may lose it and the lobby at once, and have to know by then. What others hear
    /// may be older than what their host has told them.
    pub(super) fn be_told_of_support(&mut self, now: Timestamp, support: Support) {
        if self.has_lobby() {
            self.line.supports = support;
            self.pass_on_support(now);
        }
    }

    /// Seed 000: "an individual lobby service can be configured to not support host migration", which is this process's flag of it.
    pub(super) fn set_own_flag(&mut self, now: Timestamp, support: Support) {
        if self.config.support != support {
            self.config.support = support;
            self.learn_who_can(self.me(), self.reported_hint());
            self.pass_on_support(now);
            if matches!(self.leadership, Leadership::Vacant(_)) && !self.migrates() {
                self.end(now, End::HostLost);
            }
        }
    }

    /// Whether what this peer is host of moves, as far as the session's service is concerned.
    pub(super) const fn supported(&self) -> Support {
        self.line.supports.and(self.config.support)
    }

    fn pass_on_support(&mut self, now: Timestamp) {
        let support = self.supported();
        if matches!(self.leadership, Leadership::Reigns(_)) && self.roster.support != support {
            self.roster.support = support;
            self.roster.version += 1;
            self.tell_roster(now);
        }
    }

    /// Whether this peer goes along where the session moves: it was made so, and neither this peer nor its host nor its lobby has turned it off.
    #[must_use]
    pub fn migrates(&self) -> bool {
        self.config.support.of(self.roster.support.of(self.config.migratable)) == Migratable::Yes
    }

    /// How this peer asks to be let in.
    pub(super) fn request(&self) -> Body {
        let order = self.config.order.name();
        match &self.config.admission {
            Some(admission) => Body::Present { pass: admission.pass.clone(), order },
            None => Body::Join { hint: self.reported_hint(), order },
        }
    }

    /// Why somebody is not let in who is no member, as far as the lobby is concerned: without its pass nobody is. A pass tells who
    /// was let in, not who was thrown out since: that is remembered, and where it is more than can be, nobody new comes in.
    pub(super) fn refusal(&self, now: Timestamp, from: PeerId, pass: Option<&Pass>) -> Option<Closed> {
        if self.replaced.contains(&from) {
            return Some(Closed::Replaced);
        }
        if self.roster.members.contains_key(&from) {
            return None;
        }
        // Somebody it has thrown out could be whoever comes next: it can remember no more.
        if self.roster.kicked.len() >= MEMBERS_MAX {
            return Some(Closed::Full);
        }
        if !G::stands(Guard::Pass) || !self.has_lobby() {
            return None;
        }
        let (session, keys) = (self.config.session, self.config.keys.as_ref());
        let genuine = pass.filter(|pass| pass.is_genuine(session, from, keys));
        let lobby_time = self.config.admission.as_ref().map(|it| it.as_of + now.since(it.at));
        match (genuine, lobby_time) {
            (Some(pass), Some(time)) if time >= pass.expires => Some(Closed::PassExpired),
            (Some(_), Some(_)) => None,
            (Some(_) | None, _) => Some(Closed::NoPass),
        }
    }

    pub(super) fn heard(&self, now: Timestamp) -> Vec<PeerId> {
        self.hears(now).collect()
    }

    /// Whoever died before this host came is in its list, and was never heard here.
    fn hears(&self, now: Timestamp) -> impl Iterator<Item = PeerId> {
        let plays = |peer: &PeerId| self.roster.members.contains_key(peer);
        let is_heard = move |contact: &Contact| contact.beat.is_some() && !contact.is_lost(now);
        let all = self.contacts.iter().filter(move |(peer, contact)| plays(peer) && is_heard(contact));
        all.map(|(peer, _)| *peer)
    }

    fn ask_lobby(&mut self, now: Timestamp, question: Question) {
        if !self.line.asks_on(now) {
            self.line.waits = None;
        }
        self.line.asked = now;
        self.line.waits.get_or_insert(now);
        self.outputs.push(Output::AskLobby { asked: now, question });
    }

    /// How long ago the certified host was heard as such. A lobby may have told of one that never was; and whom that host had put out, or who claims nothing, comes before nobody.
    fn silence_of_host(&self, now: Timestamp) -> Option<Duration> {
        let contact = self.contacts.get(&self.ballot.host())?;
        let was_heard = contact.told.epoch >= self.ballot.epoch();
        let claims = self.reports_can_be_host() && self.goes_along(Cause::Catastrophic);
        let counts = was_heard && claims && self.is_voter(self.me());
        counts.then(|| now.since(self.line.came_by(now.back(contact.rhythm.silence(now)))))
    }

    /// Asks to be host of the next epoch, or to make another host of it.
    pub(super) fn claim_of_lobby(&mut self, now: Timestamp, to: Option<PeerId>) {
        let has_no_host = matches!(self.leadership, Leadership::Vacant(_) | Leadership::Doubts(_));
        let every = if has_no_host || to.is_some() { CLAIM_EVERY } else { CONFIRM_EVERY };
        if self.line.claimed.is_some_and(|claimed| now < claimed + every) {
            return;
        }
        self.line.claimed = Some(now);
        let epoch = self.ballot.epoch();
        self.ask_lobby(
            now,
            match to {
                None => Question::Claim { epoch },
                Some(to) => Question::HandOver { epoch, to },
            },
        );
    }

    /// The lobby answers what was asked at that moment.
    pub(super) fn be_ruled(&mut self, now: Timestamp, asked: Timestamp, ruling: Ruling) {
        if !self.has_lobby() {
            return;
        }
        self.line.waits = None;
        match ruling {
            Ruling::Noted(epoch) if epoch == self.ballot.epoch() => {
                self.line.lease_from(asked);
            }
            Ruling::Counted(receipt) => self.bring_back(receipt),
            // A later one is told with its certificate.
            Ruling::Noted(_) | Ruling::Stands => {}
            Ruling::Host(certificate) => self.be_certified(now, asked, &certificate),
            Ruling::Stays if self.has_lost_host() => self.end(now, End::HostLost),
            Ruling::Unfit | Ruling::Stays => self.be_unfit(now),
            // It was not to move, and its lobby has ended it with its host.
            Ruling::Over if matches!(self.leadership, Leadership::Doubts(_)) && !self.migrates() => {
                self.end(now, End::HostLost);
            }
            Ruling::Over => self.end(now, End::Closed),
        }
    }

    /// The lobby will not have this peer, or its successor, as host.
    fn be_unfit(&mut self, now: Timestamp) {
        if let Leadership::Reigns(Reign { phase: Phase::HandingOver { .. }, .. }) = &self.leadership {
            return self.keep_reign(now);
        }
        self.pass_over_oneself();
    }

    /// The lobby has made this peer host. Where others told it so, its lease began no earlier than this peer missed its host, or was named by it; it may have heard of
    /// that much later. Whoever did neither was named just now. Whoever leads a side has asked for so long that the lobby has to say it itself.
    pub(super) fn hold_lease(&mut self, now: Timestamp) {
        if self.line.is_leased(now) {
            return;
        }
        let told = self.line.told_since(now);
        let since = match &self.leadership {
            Leadership::Vacant(vacancy) => told.min(vacancy.since),
            Leadership::Doubts(doubt) => told.min(doubt.since),
            Leadership::Follows | Leadership::Outside { .. } | Leadership::Over => told,
            Leadership::Reigns(_) => return,
        };
        self.line.lease_from(since);
    }

    fn be_certified(&mut self, now: Timestamp, asked: Timestamp, certificate: &Certificate) {
        if G::stands(Guard::GrantSignature)
            && !certificate.is_genuine(self.config.session, self.config.keys.as_ref())
        {
            return;
        }
        if certificate.host == self.me() && certificate.epoch >= self.ballot.epoch() {
            self.line.lease_from(asked);
        }
        if matches!(self.leadership, Leadership::Doubts(_))
            && certificate.host == self.me()
            && certificate.epoch > self.ballot.epoch()
        {
            // The lobby misses it, too: nobody waits for what it holds.
            self.lost.insert(self.leader());
        }
        let cause = match &self.leadership {
            Leadership::Reigns(Reign { phase: Phase::HandingOver { why, .. }, .. }) => Cause::of(*why),
            Leadership::Vacant(vacancy) => vacancy.cause,
            Leadership::Reigns(_)
            | Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Outside { .. }
            | Leadership::Over => Cause::Catastrophic,
        };
        self.be_told(now, core::slice::from_ref(certificate), None, cause);
    }

    /// An old host tells everybody who comes after it: it heard so first, and may be about to leave.
    pub(super) fn pass_on_certificate(&mut self, now: Timestamp) {
        let others: Vec<PeerId> = self.contacts.keys().copied().collect();
        for peer in others {
            if let Some(contact) = self.contacts.get_mut(&peer) {
                contact.announced = None;
            }
            self.announce_to(now, peer);
        }
    }
}
