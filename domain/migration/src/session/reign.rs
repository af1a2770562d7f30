//! What a host does: it gathers its members and the newest state, keeps views and hints, sends its state to standbys, and
//! stands still when it cannot tell whether it is still the host.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::hint::Hint;
use crate::message::{Beat, Body, Closed, Handover, Side, Standing, State, Welcome};
use crate::rhythm::SUSPECT_MIN;
use crate::session::doubt::QUORUM_PATIENCE;
use crate::session::words::{Acting, Cause, Output, WithoutMajority};
use crate::session::{AGAIN, Contact, Leadership, Presence, STANDBYS, Session};
use crate::stages::Failure;
use crate::view::MEMBERS_MAX;
use crate::{ChannelId, Epoch, PeerId, Tick};

/// A host that has not heard from a majority for so long stands still: longer than the silence that its members bear, so
/// that a passing fault stops nobody.
pub(super) const LEASE: Duration = Duration::from_secs(2);
/// A member that is silent for so long is none any more.
const MEMBER_LOST: Duration = Duration::from_secs(5);
/// How long a new host waits for members and states: who takes longer comes later.
const ACCESSION_MAX: Duration = Duration::from_millis(1_000);

/// What a host knows.
#[derive(Debug, Clone)]
pub(super) struct Reign {
    since: Timestamp,
    pub(super) phase: Phase,
    pub(super) mandate: Mandate,
    /// When the majority was last missing, while it is.
    lapsed: Timestamp,
    /// Who is no member any more, as soon as the view can say so.
    remove: BTreeSet<PeerId>,
    joining: BTreeSet<PeerId>,
    kicked: BTreeSet<PeerId>,
    connected: BTreeSet<PeerId>,
    next_channel: u32,
    durable: Tick,
    /// What the game asked for while the host gathered.
    pub(super) pending: Option<(Option<PeerId>, Handover)>,
    claimed: Option<Timestamp>,
    pulled: Option<Timestamp>,
    /// Since when another side's host asks this one to go on for both.
    pub(super) merging: Option<Timestamp>,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It gathers.
    Accession,
    /// The game goes on.
    Reigning,
    /// Another shall be host.
    HandingOver { to: PeerId, why: Handover, since: Timestamp, tick: Tick },
}

/// Whether a majority stands behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mandate {
    Confirmed,
    /// It has not heard one for a while, and stands still.
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

    pub(super) const fn acceding(now: Timestamp, mandate: Mandate, remove: BTreeSet<PeerId>) -> Self {
        Self {
            since: now,
            phase: Phase::Accession,
            mandate,
            lapsed: now,
            remove,
            joining: BTreeSet::new(),
            kicked: BTreeSet::new(),
            connected: BTreeSet::new(),
            next_channel: 1,
            durable: Tick(0),
            pending: None,
            claimed: None,
            pulled: None,
            merging: None,
        }
    }

    /// Whether it has told that host of another side to go on for both.
    pub(super) fn yields_to(&self, other: PeerId) -> bool {
        matches!(self.phase, Phase::HandingOver { to, why: Handover::Merge, .. } if to == other)
    }

    /// A majority has voted for it anew. Returns what it was before.
    pub(super) fn confirm(&mut self, now: Timestamp) -> Mandate {
        self.since = now;
        self.next_channel = 1;
        self.merging = None;
        core::mem::replace(&mut self.mandate, Mandate::Confirmed)
    }
}

impl Session {
    /// While this peer is the host.
    pub(super) fn reign(&mut self, now: Timestamp) {
        self.keep_mandate(now);
        let Leadership::Reigns(reign) = &self.leadership else { return };
        match reign.phase {
            Phase::Accession => self.accede(now),
            Phase::Reigning => {
                self.settle();
                self.keep_view(now);
                self.keep_certified(now);
            }
            Phase::HandingOver { .. } => self.hand_over(now),
        }
        self.keep_hints();
        self.act();
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
    fn present(&self, now: Timestamp) -> Vec<PeerId> {
        let stamp = self.stamp();
        let is_present = |contact: &Contact| {
            contact.stamp == stamp
                && !contact.is_lost(now)
                && contact.echoed.is_some_and(|echoed| now.since(echoed) <= LEASE)
        };
        self.contacts.iter().filter(|(_, contact)| is_present(contact)).map(|(peer, _)| *peer).collect()
    }

    /// How many members are present, this one included.
    fn members_present(&self, now: Timestamp) -> usize {
        let members = &self.view().members;
        self.present(now).iter().filter(|peer| members.contains_key(peer)).count() + 1
    }

    fn has_majority(&self, now: Timestamp) -> bool {
        self.members_present(now) >= self.view().majority()
    }

    fn keep_mandate(&mut self, now: Timestamp) {
        let forked = self.fork.is_some();
        let has_majority = self.has_majority(now);
        let policy = self.config.without_majority;
        let budget = self.settings.migrate_timeout;
        let stamp = self.stamp();
        let Leadership::Reigns(reign) = &mut self.leadership else { return };
        let holds = !forked && (has_majority || now < reign.since + LEASE);
        let patience = match policy {
            WithoutMajority::Fork | WithoutMajority::End => QUORUM_PATIENCE,
            WithoutMajority::Hold => budget,
        };
        match reign.mandate {
            Mandate::Confirmed if !holds => {
                reign.mandate = Mandate::Lapsed;
                reign.lapsed = now;
            }
            Mandate::Lapsed if holds => reign.mandate = Mandate::Confirmed,
            Mandate::Unconfirmed if holds => {
                reign.mandate = Mandate::Confirmed;
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
    fn accede(&mut self, now: Timestamp) {
        let stamp = self.stamp();
        let mine = self.held.as_ref().map_or(Tick::default(), |state| state.tick);
        let living = self.contacts.values().filter(|contact| contact.rhythm.silence(now) < SUSPECT_MIN);
        let (mut all_here, mut newest) = (true, mine);
        for contact in living {
            all_here &= contact.stamp == stamp;
            newest = newest.max(contact.holds());
        }
        let holders: Vec<PeerId> = self
            .contacts
            .iter()
            .filter(|(_, contact)| contact.holds() == newest && !contact.is_lost(now))
            .map(|(peer, _)| *peer)
            .collect();
        let Leadership::Reigns(reign) = &mut self.leadership else { return };
        let is_over = now >= reign.since + ACCESSION_MAX;
        if !is_over && (!all_here || newest > mine) {
            if newest > mine && reign.pulled.is_none_or(|pulled| now >= pulled + AGAIN) {
                reign.pulled = Some(now);
                holders.into_iter().for_each(|peer| self.send(peer, Body::Pull));
            }
            return;
        }
        reign.phase = Phase::Reigning;
        let pending = reign.pending.take();
        self.outputs.push(Output::Lead { stamp, state: self.held.clone() });
        self.settle();
        if let Some((to, why)) = pending {
            let last = self.held.clone().unwrap_or(State { tick: Tick::default(), bytes: Vec::new() });
            self.begin_handover(now, to, why, last);
        }
    }

    /// One change of the view at a time: first whoever is gone, then whoever comes.
    fn keep_view(&mut self, now: Timestamp) {
        self.welcome_joined();
        if !self.ballot.is_settled() {
            return;
        }
        let half = self.members_present(now) * 2 == self.view().members.len();
        let silent = |peer: &PeerId, patience: Duration| {
            self.contacts.get(peer).is_none_or(|contact| contact.rhythm.silence(now) >= patience)
        };
        let is_gone = |peer: &PeerId| self.contacts.get(peer).is_some_and(|it| it.gone == Presence::Gone);
        let Leadership::Reigns(reign) = &self.leadership else { return };
        // With half of the members behind it, nobody else can have a majority, and the smaller view has one.
        let may = match reign.mandate {
            Mandate::Confirmed => true,
            Mandate::Lapsed | Mandate::Unconfirmed => half && self.fork.is_none(),
        };
        if !may {
            return;
        }
        let patience = if reign.mandate == Mandate::Confirmed { MEMBER_LOST } else { LEASE };
        let gone = |peer: &&PeerId| {
            reign.kicked.contains(peer)
                || ((reign.remove.contains(peer) || is_gone(peer)) && silent(peer, SUSPECT_MIN))
                || silent(peer, patience)
        };
        let view = self.view();
        let mut members = view.members.clone();
        let leaving = members.keys().filter(|peer| **peer != self.config.me).find(gone).copied();
        let asks = reign.joining.iter().chain(&self.guests);
        let coming = asks.copied().find(|peer| !members.contains_key(peer) && !reign.kicked.contains(peer));
        let full = members.len() >= MEMBERS_MAX;
        if let Some(peer) = leaving {
            members.remove(&peer);
            self.as_host(|reign| {
                reign.remove.remove(&peer);
                reign.joining.remove(&peer);
                reign.connected.remove(&peer);
            });
            self.outputs.push(Output::Gone(peer));
        } else if let Some(peer) = coming {
            if full {
                self.as_host(|reign| reign.joining.remove(&peer));
                return self.refuse_in(peer, Closed::Full);
            }
            let epoch = self.ballot.epoch();
            let number = self.as_host(|reign| {
                reign.next_channel += 1;
                reign.next_channel - 1
            });
            members.insert(peer, ChannelId { epoch, number: number.unwrap_or_default() });
        } else {
            return;
        }
        if let Some(view) = self.ballot.write_view(members) {
            self.hints.keep(&view.members);
            self.meet_members(now);
            self.send_all(&Body::View(view));
            self.welcome_joined();
        }
    }

    /// Whoever is in the view is told so, also while it is not settled: it may be the one whose word settles it.
    fn welcome_joined(&mut self) {
        let members = self.view().members.clone();
        let joined: Vec<(PeerId, ChannelId)> = self
            .as_host(|reign| {
                let joined = reign.joining.iter().filter_map(|peer| Some((*peer, *members.get(peer)?)));
                joined.collect()
            })
            .unwrap_or_default();
        for (peer, channel) in joined {
            self.as_host(|reign| reign.joining.remove(&peer));
            let welcome = Welcome {
                founder: self.founder,
                certificates: self.ballot.certificates_after(Epoch::FIRST),
                view: self.view().clone(),
                hints: self.hints.clone(),
                channel,
            };
            self.send(peer, Body::Welcome(welcome));
        }
    }

    /// Where a later epoch was promised to somebody who never got it, or where a side without a majority has one now, the
    /// host has itself elected anew: only the number changes, and no listener hears of it.
    fn keep_certified(&mut self, now: Timestamp) {
        let epoch = self.ballot.epoch();
        let promised = self.ballot.promised() > epoch || self.seen > epoch;
        let has_majority = self.has_majority(now);
        let forked = self.fork.is_some();
        let Leadership::Reigns(reign) = &mut self.leadership else { return };
        let wanted = reign.merging.is_some() || (has_majority && (promised || forked));
        if !wanted || reign.claimed.is_some_and(|claimed| now < claimed + AGAIN) {
            return;
        }
        reign.claimed = Some(now);
        let merging = reign.merging;
        if merging.is_some_and(|since| now >= since + super::elect::CANDIDATE_PATIENCE) {
            return self.merge_without_majority(now);
        }
        self.claim(now);
    }

    fn keep_hints(&mut self) {
        let members = self.view().members.clone();
        let me = self.me();
        let hint = self.reported_hint();
        if let Some(channel) = members.get(&me) {
            self.hints.take(me, *channel, hint);
        }
        let told: Vec<(PeerId, Hint)> = self
            .contacts
            .iter()
            .filter_map(|(peer, contact)| contact.beat.map(|beat| (*peer, beat.hint)))
            .collect();
        for (peer, hint) in told {
            if let Some(channel) = members.get(&peer) {
                self.hints.take(peer, *channel, hint);
            }
        }
    }

    /// The game steps only while it is sure whose it is.
    fn act(&mut self) {
        let Leadership::Reigns(reign) = &self.leadership else { return };
        let acting = match (reign.phase, reign.mandate) {
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
        let mandate = match &self.leadership {
            Leadership::Reigns(Reign { mandate: Mandate::Confirmed, .. }) => Standing::Confirmed,
            Leadership::Reigns(_)
            | Leadership::Follows
            | Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Outside { .. }
            | Leadership::Over => Standing::Unconfirmed,
        };
        Side {
            mandate,
            size: u8::try_from(self.present(now).len() + 1).unwrap_or(u8::MAX),
            tick: self.held.as_ref().map_or(Tick::default(), |state| state.tick),
        }
    }

    /// A member's beat: what it lacks, it is given.
    pub(super) fn supply(&mut self, from: PeerId, beat: &Beat) {
        if self.ballot.missing().contains(&from) {
            let view = self.view().clone();
            self.send(from, Body::View(view));
        }
        if beat.hints != self.hints.version {
            let hints = self.hints.clone();
            self.send(from, Body::Hints(hints));
        }
        let channel = self.view().members.get(&from).copied();
        let is_new = self.as_host(|reign| {
            reign.phase == Phase::Reigning && channel.is_some() && reign.connected.insert(from)
        });
        if let (Some(true), Some(channel)) = (is_new, channel) {
            self.outputs.push(Output::Connected { peer: from, channel });
        }
        self.count_durable();
    }

    /// The game's newest state goes to the best two standbys.
    pub(super) fn take_own_state(&mut self, now: Timestamp, state: State) {
        let reigns = self.as_host(|reign| reign.phase == Phase::Reigning);
        if reigns != Some(true) {
            return;
        }
        for standby in self.successors(now).into_iter().take(STANDBYS) {
            self.send(standby, Body::State(state.clone()));
        }
        self.held = Some(state);
        self.count_durable();
    }

    /// Whoever would be host next, and next but one, as any member reckons it from the list.
    pub(super) fn standbys(&self) -> Vec<PeerId> {
        let leader = self.leader();
        let is_gone = |peer: &PeerId| self.contacts.get(peer).is_some_and(|it| it.gone == Presence::Gone);
        let out = |peer: PeerId| peer == leader || self.lost.contains(&peer) || is_gone(&peer);
        let mut standbys = self.config.order.candidates(&self.hints, self.view(), out);
        standbys.truncate(STANDBYS);
        standbys
    }

    /// Everybody who could follow this host, the best first: it hears them all.
    pub(super) fn successors(&self, now: Timestamp) -> Vec<PeerId> {
        let me = self.me();
        let is_lost = |peer: &PeerId| self.contacts.get(peer).is_none_or(|contact| contact.is_lost(now));
        self.config.order.candidates(&self.hints, self.view(), |peer| peer == me || is_lost(&peer))
    }

    fn count_durable(&mut self) {
        let mine = self.held.as_ref().map_or(Tick::default(), |state| state.tick);
        let mut held: Vec<Tick> = self.contacts.values().map(Contact::holds).collect();
        held.sort_unstable();
        // As many as there should be; with fewer others, all of them.
        let copies = STANDBYS.min(held.len());
        let tick = if copies == 0 { mine } else { held[held.len() - copies].min(mine) };
        let rose = self.as_host(|reign| {
            let rose = tick > reign.durable && reign.mandate == Mandate::Confirmed;
            if rose {
                reign.durable = tick;
            }
            rose
        });
        if rose == Some(true) {
            self.outputs.push(Output::Durable(tick));
        }
    }

    /// Somebody wants in.
    pub(super) fn let_in(&mut self, now: Timestamp, from: PeerId) {
        let leader = self.leader();
        match &mut self.leadership {
            Leadership::Reigns(reign) if reign.kicked.contains(&from) => self.refuse_in(from, Closed::Kicked),
            // A view cannot be changed without a majority, but whoever finds this side can play with it.
            Leadership::Reigns(reign) if reign.mandate != Mandate::Confirmed => self.be_guest(now, from),
            // Its question stands until the view can be changed; it asks again anyway.
            Leadership::Reigns(reign) if reign.joining.len() < MEMBERS_MAX => {
                reign.joining.insert(from);
            }
            Leadership::Follows => self.send(from, Body::Redirect(leader)),
            Leadership::Reigns(_)
            | Leadership::Doubts(_)
            | Leadership::Vacant(_)
            | Leadership::Outside { .. }
            | Leadership::Over => {}
        }
    }

    /// The host throws somebody out.
    pub(super) fn kick(&mut self, peer: PeerId) {
        let thrown = self.as_host(|reign| reign.kicked.insert(peer));
        if thrown == Some(true) {
            self.refuse_in(peer, Closed::Kicked);
        }
    }

    /// A member goes by itself.
    pub(super) fn let_go(&mut self, from: PeerId) {
        if let Some(contact) = self.contacts.get_mut(&from) {
            contact.gone = Presence::Gone;
        }
        self.as_host(|reign| reign.remove.insert(from));
    }

    /// Hints by peer, for whoever draws them.
    pub(super) fn reported_hint(&self) -> Hint {
        let connections = self.contacts.values().filter(|contact| contact.gone == Presence::Here).count();
        let connections = u8::try_from(connections).unwrap_or(u8::MAX);
        self.settings.reported(Hint { connections, ..self.hint })
    }
}
