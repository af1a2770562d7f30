//! What a host does: it gathers its members and the newest state, keeps views and hints, sends its state to standbys, and
//! stands still when it cannot tell whether it is still the host.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::descent::Descent;
use crate::lobby::Arbiter;
use crate::message::{Body, Handover, Side, Standing};
use crate::rhythm::SUSPECT_MIN;
use crate::session::doubt::QUORUM_PATIENCE;
use crate::session::elect::CANDIDATE_PATIENCE;
use crate::session::gathering::{FETCHING_MAX, Gathering};
use crate::session::intake::Intake;
use crate::session::words::{Acting, Cause, Output, WithoutMajority};
use crate::session::{AGAIN, Contact, Leadership, STANDBYS, Session};
use crate::stages::Failure;
use crate::state::StateId;
use crate::{ChannelId, Epoch, Guards, PeerId};

/// A host that has not heard from a majority for so long stands still: longer than the silence that its members bear, so
/// that a passing fault stops nobody.
pub(super) const LEASE: Duration = Duration::from_secs(2);
/// How long a new host waits for members: who takes longer comes later. Whoever holds a newer state is waited for longer ([`FETCHING_MAX`]).
const ACCESSION_MAX: Duration = Duration::from_millis(1_000);

/// How soon a confirmed host is certified anew for what others say: each time states and deeds that are under way under its old number are for nobody, so
/// a member that speaks of one epoch after the other would keep all from the game.
const RENEWED_EVERY: Duration = Duration::from_secs(5);
/// How long a host that has just become one beats quicker: a few round trips of the slowest link.
const ARRIVAL: Duration = Duration::from_millis(400);

/// What a host knows.
#[derive(Debug, Clone)]
pub(super) struct Reign {
    pub(super) since: Timestamp,
    pub(super) phase: Phase,
    pub(super) mandate: Mandate,
    /// In which epoch it voted for another.
    pub(super) given: Option<Epoch>,
    /// What the host before stood still with, where it gave the session to this one.
    handed: Option<StateId>,
    /// When the majority was last missing, while it is.
    lapsed: Timestamp,
    /// Who is no member any more, as soon as the view can say so.
    pub(super) remove: BTreeSet<PeerId>,
    pub(super) joining: BTreeSet<PeerId>,
    pub(super) connected: BTreeSet<PeerId>,
    pub(super) next_channel: u32,
    /// When the newest view was written.
    pub(super) written: Timestamp,
    pub(super) chain: Chain,
    /// The newest state that as many hold as there are to hold it: without a majority perhaps nobody else.
    pub(super) durable: StateId,
    /// The newest of them that was acknowledged, with a majority.
    pub(super) acknowledged: StateId,
    /// What members did, on its way into the game.
    pub(super) intake: Box<Intake>,
    /// Of states that are not yet, the inputs that they hold.
    pub(super) safe_inputs: VecDeque<(StateId, Arc<BTreeMap<PeerId, u64>>)>,
    /// What the game asked for while the host gathered.
    pub(super) pending: Option<(Option<PeerId>, Handover)>,
    /// When it names another successor, where it leaves and the one before has gone.
    pub(super) leaves_at: Option<Timestamp>,
    /// When it may ask for a certificate (again).
    claims_at: Timestamp,
    /// Until when it is certified anew for nobody's word.
    rests_until: Timestamp,
    pub(super) gathering: Box<Gathering>,
    /// Since when another side's host asks this one to go on for both.
    pub(super) merging: Option<Timestamp>,
    /// The hosts of other sides that do not give way either.
    pub(super) contests: BTreeMap<PeerId, Contest>,
}

/// Whether the game's next piece may follow on what is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chain {
    Whole,
    /// A piece was not taken: only a snapshot goes on from there.
    Broken,
}

/// Another host that takes itself for the higher one, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Contest {
    pub(super) since: Timestamp,
    /// When it said so last.
    pub(super) last: Timestamp,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It gathers.
    Accession,
    /// The game goes on.
    Reigning,
    /// Another shall be host.
    HandingOver {
        to: PeerId,
        why: Handover,
        since: Timestamp,
        state: StateId,
        epoch: Epoch,
        /// When not only that one is told so again.
        all_at: Timestamp,
    },
}

/// Whether a majority stands behind it, or its lease at the lobby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mandate {
    Confirmed,
    /// It has not heard of one for a while, and stands still.
    Lapsed,
    /// It goes on without.
    Unconfirmed,
}

impl Reign {
    /// A founder's: there is nothing to gather.
    pub(super) fn founded(now: Timestamp) -> Self {
        let mut reign = Self::acceding(now, Mandate::Confirmed, BTreeSet::new());
        reign.phase = Phase::Reigning;
        reign
    }

    pub(super) fn acceding(now: Timestamp, mandate: Mandate, remove: BTreeSet<PeerId>) -> Self {
        Self {
            since: now,
            phase: Phase::Accession,
            mandate,
            given: None,
            handed: None,
            lapsed: now,
            remove,
            joining: BTreeSet::new(),
            connected: BTreeSet::new(),
            next_channel: 1,
            written: now,
            chain: Chain::Whole,
            durable: StateId::NONE,
            acknowledged: StateId::NONE,
            intake: Box::default(),
            safe_inputs: VecDeque::new(),
            pending: None,
            leaves_at: None,
            claims_at: now,
            rests_until: now,
            gathering: Box::default(),
            merging: None,
            contests: BTreeMap::new(),
        }
    }

    /// The host before stood still with that.
    pub(super) fn from(self, handed: Option<StateId>) -> Self {
        Self { handed, ..self }
    }

    /// Whether it has told that one to be host in its place.
    pub(super) fn yields_to(&self, other: PeerId) -> bool {
        matches!(self.phase, Phase::HandingOver { to, .. } if to == other)
    }

    /// Whether another shall be host.
    pub(super) const fn hands_over(&self) -> bool {
        matches!(self.phase, Phase::HandingOver { .. })
    }

    /// Whether it is just coming or going: then whoever misses a word of it holds the session up.
    pub(super) fn is_moving(&self, now: Timestamp) -> bool {
        match self.phase {
            Phase::Accession | Phase::Reigning => now < self.since + ARRIVAL,
            Phase::HandingOver { .. } => true,
        }
    }

    /// A majority has voted for it anew. Returns what it was before.
    pub(super) fn confirm(&mut self, now: Timestamp) -> Mandate {
        self.since = now;
        self.rests_until = now + RENEWED_EVERY;
        self.next_channel = 1;
        self.merging = None;
        self.be_confirmed()
    }

    /// A majority is behind it (again). What it held alone meanwhile is to be held by others before anybody counts on it.
    fn be_confirmed(&mut self) -> Mandate {
        if self.mandate == Mandate::Unconfirmed {
            self.durable = self.acknowledged;
        }
        core::mem::replace(&mut self.mandate, Mandate::Confirmed)
    }
}

impl<G: Guards> Session<G> {
    /// While this peer is the host.
    pub(super) fn reign(&mut self, now: Timestamp) {
        self.keep_mandate(now);
        let Leadership::Reigns(reign) = &self.leadership else { return };
        match reign.phase {
            Phase::Accession => self.gather(now),
            Phase::Reigning => {
                self.settle();
                self.keep_crowd(now);
                // Who votes for this side's host may hold what its game is given up for: until that is here it is certified by nobody, nor by who was asked before.
                if self.leads_a_side() && self.seeks(now) {
                    self.ballot.withdraw();
                } else {
                    self.keep_certified(now);
                }
                self.keep_suitable(now);
                self.leave_at_last(now);
            }
            Phase::HandingOver { .. } => self.hand_over(now),
        }
        self.act();
    }

    /// What the host knows, if this peer is one.
    pub(super) const fn reigning(&self) -> Option<&Reign> {
        match &self.leadership {
            Leadership::Reigns(reign) => Some(reign),
            Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Outside { .. }
            | Leadership::Over => None,
        }
    }

    /// Reads and changes what the host knows, if this peer is one.
    pub(super) fn as_host<T>(&mut self, change: impl FnOnce(&mut Reign) -> T) -> Option<T> {
        match &mut self.leadership {
            Leadership::Reigns(reign) => Some(change(reign)),
            Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Outside { .. }
            | Leadership::Over => None,
        }
    }

    /// Members that obey this host and have heard it within its lease.
    pub(super) fn present(&self, now: Timestamp) -> Vec<PeerId> {
        let stamp = self.stamp();
        let is_present = |contact: &Contact| {
            contact.stamp == stamp
                && !self.is_of_other_side(contact)
                && !contact.is_lost(now)
                && contact.echoed.is_some_and(|echoed| now.since(echoed) <= LEASE)
        };
        self.contacts.iter().filter(|(_, contact)| is_present(contact)).map(|(peer, _)| *peer).collect()
    }

    /// How many of those who count are present, this peer included.
    pub(super) fn count_present(&self, now: Timestamp, counts: impl Fn(&PeerId) -> bool) -> usize {
        self.present(now).iter().chain([&self.config.me]).filter(|peer| counts(peer)).count()
    }

    /// Whether most of those who vote hear this host, and are heard.
    pub(super) fn has_majority(&self, now: Timestamp) -> bool {
        self.count_present(now, |peer| self.is_voter(*peer)) >= self.view().majority()
    }

    /// Whether a majority is behind this host. Whoever has promised a later epoch hears this host again, and may have made another one before: it counts
    /// once this one is certified anew.
    fn is_backed(&self, now: Timestamp) -> bool {
        let own = self.ballot.epoch();
        let epoch = self.reigning().and_then(|reign| reign.given).map_or(own, |given| given.max(own));
        let has_promised = |peer: &PeerId| {
            let promised = self.contacts.get(peer).and_then(|it| it.beat).map(|beat| beat.promised);
            promised.is_some_and(|promised| promised > epoch) && !self.ballot.has_vote_of(*peer)
        };
        let is_behind = |peer: &PeerId| self.is_voter(*peer) && !has_promised(peer);
        let behind = self.count_present(now, is_behind);
        // On a side of this epoch nobody votes, so whoever went to one has made nobody host: its word counts for the lease that it gave.
        let is_on_side = |contact: &Contact| {
            let is_beside = self.fork.is_none() && contact.stamp.epoch == own && contact.stamp.fork > 0;
            let has_lent = contact.backed.is_some_and(|backed| now.since(backed) <= LEASE);
            is_beside && has_lent && !contact.has_left()
        };
        let on_sides = self.contacts.iter().filter(|(peer, it)| is_behind(peer) && is_on_side(it)).count();
        behind + on_sides >= self.view().majority()
    }

    pub(super) fn keep_mandate(&mut self, now: Timestamp) {
        let forked = self.fork.is_some();
        let is_backed = self.is_backed(now);
        let (arbiter, is_leased) = (self.config.arbiter, self.line.is_leased(now));
        let policy = self.config.without_majority;
        let budget = self.settings.migrate_timeout;
        let stamp = self.stamp();
        let Leadership::Reigns(reign) = &mut self.leadership else { return };
        let holds = !forked
            && match arbiter {
                Arbiter::Majority => is_backed || now < reign.since + LEASE,
                Arbiter::Lobby => is_leased,
            };
        let patience = match (policy, arbiter) {
            // The lobby was silent for a lease already.
            (WithoutMajority::Fork, Arbiter::Lobby) => Duration::ZERO,
            (WithoutMajority::Fork | WithoutMajority::End, _) => QUORUM_PATIENCE,
            (WithoutMajority::Hold, _) => budget,
        };
        if reign.mandate == Mandate::Confirmed && !holds {
            reign.mandate = Mandate::Lapsed;
            reign.lapsed = now;
        }
        match reign.mandate {
            Mandate::Lapsed if holds => reign.mandate = Mandate::Confirmed,
            Mandate::Unconfirmed if holds => {
                reign.be_confirmed();
                self.outputs.push(Output::Confirmed(stamp));
            }
            Mandate::Lapsed if now >= reign.lapsed + patience => match policy {
                WithoutMajority::Fork => reign.mandate = Mandate::Unconfirmed,
                WithoutMajority::End => self.fail(now, Cause::Catastrophic, Failure::NoMajority),
                WithoutMajority::Hold => self.fail(now, Cause::Catastrophic, Failure::TimeLimit),
            },
            Mandate::Confirmed | Mandate::Lapsed | Mandate::Unconfirmed => {}
        }
    }

    /// A new host waits for whoever lives, and takes the newest state that any of them holds.
    pub(super) fn accede(&mut self, now: Timestamp) {
        let stamp = self.stamp();
        let mine = self.held.id();
        let lives = |contact: &&Contact| !contact.is_lost(now) && contact.rhythm.silence(now) < SUSPECT_MIN;
        let Leadership::Reigns(reign) = &self.leadership else { return };
        let has_just_come = now < reign.since + ARRIVAL;
        let is_elected = reign.mandate == Mandate::Confirmed;
        // Whom a newcomer has never heard may not have known that it came. And whoever did not have to speak to this peer was silent to it, and
        // may hold a state that it has told to nobody here.
        let may_live = |(peer, contact): &(&PeerId, &Contact)| {
            let is_missed = contact.is_gone() || self.lost.contains(*peer);
            lives(contact) || !is_missed && (is_elected && contact.beat.is_none() || has_just_come)
        };
        // Whoever still asks to come in is welcomed once this host reigns, and not waited for.
        // Whoever obeys this host and has not told what it holds yet may hold the newest.
        // Another side's host does not come, nor whoever obeys it, and they give nothing to one that it may have put out: the two meet once this
        // one reigns.
        let is_of_another = |it: &Contact| {
            let obeys = it.obeys.filter(|_| self.fork.is_some());
            obeys.is_some_and(|host| host != self.me() && self.is_reached(now, host))
        };
        let may_come = |peer: &PeerId, it: &Contact| self.is_member(*peer) && !is_of_another(it);
        let is_here = |(peer, it): (&PeerId, &Contact)| it.told == stamp || !may_come(peer, it);
        let all_here = self.contacts.iter().filter(may_live).all(is_here);
        let claims = self.contacts.iter().filter(|(peer, it)| lives(it) && may_come(peer, it));
        let claims: Vec<(PeerId, Descent)> = claims
            .map(|(peer, contact)| (*peer, self.offered(contact.holds)))
            .filter(|(_, holds)| holds.id() > mine && self.is_believable(*holds))
            .collect();
        let Leadership::Reigns(reign) = &mut self.leadership else { return };
        let holders = reign.gathering.holders(claims);
        let patience = if holders.is_empty() { ACCESSION_MAX } else { FETCHING_MAX };
        let is_over = now >= reign.since + patience || reign.handed == Some(mine);
        if !is_over && (!all_here || !holders.is_empty()) {
            let asked = reign.gathering.ask(now, holders);
            asked.into_iter().for_each(|peer| self.send(peer, Body::Pull(mine)));
            return;
        }
        reign.phase = Phase::Reigning;
        let pending = reign.pending.take();
        self.outputs.push(Output::Lead { stamp, state: self.held.clone() });
        self.open();
        self.settle();
        if let Some((to, why)) = pending {
            self.begin_handover(now, to, why, None);
        }
    }

    /// Where a later epoch was promised to somebody who never got it, or where a side without a majority has one now, the
    /// host has itself elected anew: only the number changes, and no listener hears of it.
    fn keep_certified(&mut self, now: Timestamp) {
        let epoch = self.ballot.epoch();
        let has_promised = self.ballot.promised() > epoch;
        let promised = has_promised || self.seen > epoch;
        let has_majority = self.has_majority(now);
        let forked = self.fork.is_some();
        let arbiter = self.config.arbiter;
        let Leadership::Reigns(reign) = &mut self.leadership else { return };
        let merging = reign.merging;
        let wanted = match arbiter {
            Arbiter::Majority => merging.is_some() || (has_majority && (promised || forked)),
            Arbiter::Lobby => merging.is_some() || forked,
        };
        let is_confirmed = reign.mandate == Mandate::Confirmed;
        // What it has begun itself it goes on with, and without a certificate it waits for nothing.
        let may_rest = is_confirmed && !forked && !has_promised;
        if !wanted || now < reign.claims_at || may_rest && now < reign.rests_until {
            return;
        }
        reign.claims_at = now + AGAIN;
        // Whoever comes to a side tells then what it holds, which may outrank the side: for its word that it comes nobody is certified.
        if forked && merging.is_some() {
            return self.merge_without_majority(now);
        }
        // Whoever is confirmed gets there in the end, and gives nothing up for it.
        if merging.is_some_and(|since| now >= since + CANDIDATE_PATIENCE) && !is_confirmed {
            return self.merge_without_majority(now);
        }
        match arbiter {
            Arbiter::Majority => self.claim(now),
            Arbiter::Lobby => self.claim_of_lobby(now, None),
        }
    }

    /// The game steps only while it is sure whose it is.
    fn act(&mut self) {
        let Leadership::Reigns(reign) = &self.leadership else { return };
        let acting = match (reign.phase, reign.mandate) {
            // Its game stands still at the tick that the next one it names goes on from.
            (Phase::Reigning, _) if reign.leaves_at.is_some() => Acting::No,
            // It has voted for another, who may be certified yet and goes on from what it was handed.
            (Phase::Reigning, Mandate::Confirmed) if reign.given > Some(self.ballot.epoch()) => Acting::No,
            (Phase::Reigning, Mandate::Confirmed | Mandate::Unconfirmed) => Acting::Yes,
            (Phase::Reigning, Mandate::Lapsed) | (Phase::Accession | Phase::HandingOver { .. }, _) => {
                Acting::No
            }
        };
        self.set_acting(acting);
    }

    pub(super) fn set_acting(&mut self, acting: Acting) {
        if core::mem::replace(&mut self.acting, acting) != acting {
            self.outputs.push(Output::Act(acting));
        }
    }

    /// What this host tells another it may meet.
    pub(super) fn side(&self, now: Timestamp) -> Side {
        let mandate = self.standing().unwrap_or(Standing::Unconfirmed);
        let nowhere = ChannelId { stamp: self.stamp(), number: u32::MAX };
        let channel = self.roster.members.get(&self.config.me).copied().unwrap_or(nowhere);
        Side {
            mandate,
            size: u8::try_from(self.present(now).len() + 1).unwrap_or(u8::MAX),
            state: self.held.id(),
            opened: self.opened,
            channel,
        }
    }

    /// Whoever would be host next, and next but one, as any member reckons it from the list.
    pub(super) fn standbys(&self) -> Vec<PeerId> {
        let leader = self.leader();
        let is_gone = |peer: &PeerId| self.contacts.get(peer).is_some_and(Contact::is_gone);
        let out = |peer: PeerId| peer == leader || self.lost.contains(&peer) || is_gone(&peer);
        self.candidates(out).take(STANDBYS).collect()
    }

    pub(super) fn is_standby(&self) -> bool {
        self.standbys().contains(&self.me())
    }

    /// Everybody who could follow this host, the best first: it hears them all.
    pub(super) fn successors(&self, now: Timestamp) -> impl Iterator<Item = PeerId> {
        let me = self.me();
        let goes = move |peer: &PeerId| {
            matches!(&self.leadership, Leadership::Reigns(reign) if reign.remove.contains(peer))
                || self.contacts.get(peer).is_none_or(|contact| contact.is_lost(now))
        };
        self.candidates(move |peer| peer == me || goes(&peer))
    }

    /// Those of them who hear this host: who does not could not take its last state.
    pub(super) fn hearing_successors(&self, now: Timestamp) -> impl Iterator<Item = PeerId> {
        let present = self.present(now);
        self.successors(now).filter(move |peer| present.contains(peer))
    }
}
