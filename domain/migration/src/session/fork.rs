//! Sides without a majority: they go on unconfirmed where the session's policy allows it, and merge when they meet.
//!
//! The rule of a meeting: whoever a majority confirms goes on; else the larger side; else the one whose game is further; else
//! the lower channel, and so too where either host takes its own game for the further one. The other host hands over, and its members follow. Nothing of two games is mixed.

use alloc::collections::BTreeMap;
use core::cmp::Reverse;
use core::ops::Bound::{Excluded, Included};
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::message::{Body, Handover, Leads, Side, Standing};
use crate::session::handover::HANDOVER_MAX;
use crate::session::reign::{Contest, Mandate, Phase, Reign};
use crate::session::vacancy::Host;
use crate::session::words::{Cause, Output};
use crate::session::{Contact, Leadership, Session};
use crate::stages::Role;
use crate::state::StateId;
use crate::view::MEMBERS_MAX;
use crate::{Guard, Guards, PeerId, Stamp};

/// How long two hosts are both the higher one in their own eyes before they reckon without their games: longer than a beat
/// takes on any line that is played over.
const CONTEST: Duration = Duration::from_secs(1);

/// The side that this peer is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fork {
    /// How many hosts this side has had since the last certified one.
    pub(super) number: u32,
    /// Its host.
    pub(super) head: PeerId,
}

/// Who led which sides that this peer was on: nobody certifies them, so nothing else tells whose a side's states are.
#[derive(Debug, Clone, Default)]
pub(super) struct Heads(BTreeMap<Stamp, PeerId>);

/// How many of those are known: a session of the most members that loses one host after another has so many.
const HEADS_MAX: usize = MEMBERS_MAX;

impl Heads {
    fn remember(&mut self, stamp: Stamp, head: PeerId) {
        self.0.insert(stamp, head);
        if self.0.len() > HEADS_MAX {
            self.0.pop_first();
        }
    }

    /// How many are known.
    pub(super) fn kept(&self) -> usize {
        self.0.len()
    }

    pub(super) fn of(&self, stamp: Stamp) -> Option<PeerId> {
        self.0.get(&stamp).copied()
    }

    /// Of that side's successors in its epoch: what any of those wrote would outrank it anyway.
    pub(super) fn after(&self, stamp: Stamp) -> impl Iterator<Item = PeerId> {
        let last = Stamp { fork: u32::MAX, ..stamp };
        self.0.range((Excluded(stamp), Included(last))).map(|(_, head)| *head)
    }
}

impl<G: Guards> Session<G> {
    /// This peer is on that side from now on.
    pub(super) fn be_on_side(&mut self, fork: Fork) {
        self.fork = Some(fork);
        self.heads.remember(self.stamp(), fork.head);
    }

    /// This peer is the first of a side without a majority.
    pub(super) fn go_on_alone(&mut self, now: Timestamp) {
        self.be_on_side(Fork { number: self.stamp().fork.saturating_add(1), head: self.me() });
        let mut handed = None;
        if let Leadership::Vacant(vacancy) = &self.leadership {
            // What a host that is gone did meanwhile others may hold.
            let stands_still = vacancy.host == Host::HandsOver;
            handed = vacancy.handed.map(|handed| handed.state).filter(|_| stands_still);
            self.pass_word(vacancy.cause);
        }
        self.ballot.withdraw();
        self.own_list();
        self.own_roster();
        let lost = self.lost.clone();
        self.leadership = Leadership::Reigns(Reign::acceding(now, Mandate::Unconfirmed, lost).from(handed));
        self.elected(Role::Host);
        self.beat(now);
    }

    /// Both sides together are no majority either: they are one larger side then.
    pub(super) fn merge_without_majority(&mut self, now: Timestamp) {
        let theirs = self.contacts.values().map(|contact| contact.stamp.fork).max().unwrap_or_default();
        self.lead_uncertified(now, self.stamp().fork.max(theirs).saturating_add(1));
    }

    /// This host is one that nobody certifies from now on.
    pub(super) fn lead_uncertified(&mut self, now: Timestamp, number: u32) {
        self.be_on_side(Fork { number, head: self.me() });
        self.opened = self.held.id();
        self.pass_word(Cause::Fenced);
        self.own_roster();
        self.ballot.withdraw();
        self.as_host(|reign| {
            reign.merging = None;
            reign.mandate = Mandate::Unconfirmed;
        });
        // What it was about to acknowledge as a certified host is not yet told (I5).
        self.outputs.withdraw(|output| matches!(output, Output::Durable(_)));
        self.want_state();
        self.beat(now);
    }

    /// A peer of the same epoch says that it is host, and this peer obeys another. `true` where nothing more is to be made of
    /// its beat.
    pub(super) fn meet(&mut self, now: Timestamp, from: PeerId, stamp: Stamp, leads: &Leads) -> bool {
        if stamp.epoch != self.stamp().epoch || from == self.leader() && stamp == self.stamp() {
            return false;
        }
        let reigns = matches!(self.leadership, Leadership::Reigns(_));
        if reigns && !matches!(leads, Leads::Obeys(_)) && !self.contacts.contains_key(&from) {
            self.be_guest(now, from);
        }
        match (leads, &self.leadership) {
            (Leads::Obeys(_), _) => return false,
            (Leads::HandsOver { to, why: Handover::Merge, .. }, Leadership::Reigns(_))
                if *to == self.me() =>
            {
                // Each gives way to the other, for each heard last how the other stood before: one goes on.
                let is_mutual = self.as_host(|reign| reign.yields_to(from)) == Some(true);
                if is_mutual && self.me() < from {
                    self.keep_reign(now);
                }
                self.as_host(|reign| {
                    reign.merging.get_or_insert(now);
                });
            }
            (Leads::Yes(theirs), Leadership::Reigns(reign)) if reign.phase == Phase::Reigning => {
                let mine = self.side(now);
                let theirs = &self.believed(from, stamp, theirs);
                let is_lower = rank(self.me(), &mine) < rank(from, theirs);
                let is_drawn = !is_lower && self.is_drawn(now, from);
                if is_lower || is_drawn && steady_rank(self.me(), &mine) < steady_rank(from, theirs) {
                    let epoch = self.next_epoch();
                    self.as_host(|reign| {
                        reign.phase = Phase::HandingOver {
                            to: from,
                            why: Handover::Merge,
                            since: now,
                            state: StateId::NONE,
                            epoch,
                            all_at: now,
                        };
                    });
                } else if mine.mandate == Standing::Confirmed {
                    // It has itself certified anew, and the fork is outranked by that.
                    self.as_host(|reign| {
                        reign.merging.get_or_insert(now);
                    });
                }
            }
            (Leads::Yes(_) | Leads::Accedes, Leadership::Reigns(reign)) if reign.yields_to(from) => {
                if stamp > self.stamp() {
                    self.follow_fork(now, from, stamp);
                }
            }
            (Leads::Yes(_) | Leads::Accedes, Leadership::Vacant(vacancy)) => {
                let endorsed = vacancy.endorsed == Some(from);
                // Whom its host named may have had its turn before this peer heard that it leads.
                let is_free = self.has_lost_host() || now >= vacancy.since + HANDOVER_MAX;
                let alone = vacancy.quorum == super::vacancy::Quorum::Missing && is_free;
                let in_vain = self.waits_in_vain(now);
                // The side has lost its host, and that is the one it parted from, which may have put this peer out meanwhile and asks for nothing of its own.
                let is_certified = from == self.ballot.host() && stamp.fork == 0;
                if stamp > self.stamp() && (endorsed || alone || in_vain) {
                    self.follow_fork(now, from, stamp);
                } else if in_vain || is_certified {
                    let request = self.request();
                    self.send(from, request);
                }
            }
            (Leads::Yes(_) | Leads::Accedes, Leadership::Outside { .. }) if stamp > self.stamp() => {
                self.follow_fork(now, from, stamp);
            }
            (
                Leads::Yes(_) | Leads::Accedes | Leads::HandsOver { .. },
                Leadership::Follows | Leadership::Doubts(_),
            ) if from == self.leader() && stamp > self.stamp() => {
                // The own host's side has grown, or is certified no longer.
                self.follow_fork(now, from, stamp);
            }
            (Leads::HandsOver { to, .. }, Leadership::Vacant(_))
                if from == self.leader() && stamp > self.stamp() =>
            {
                self.be_handed_a_side(from, stamp, *to);
            }
            (Leads::Yes(_), Leadership::Follows) if from != self.leader() => {
                // The two hosts may not know of each other; whoever hears both tells.
                let leader = self.leader();
                self.send(from, Body::Redirect(leader));
            }
            (Leads::Yes(_) | Leads::Accedes | Leads::HandsOver { .. }, _) => {}
        }
        true
    }

    /// A member is heard that is on a side beside this confirmed host, whatever it says: where that side's host is gone it may ask for nothing but to be let in, and a
    /// member of it names its host. It cannot come back to a lower number. Certified anew this host outranks the side, as it does where the two hosts meet.
    pub(super) fn outrank_side(&mut self, now: Timestamp, from: PeerId, stamp: Stamp) {
        let is_of_side = stamp.epoch == self.stamp().epoch && stamp.fork > 0;
        let is_beside = self.fork.is_none() && is_of_side && self.is_member(from);
        self.as_host(|reign| {
            if is_beside && reign.mandate == Mandate::Confirmed && reign.phase == Phase::Reigning {
                reign.merging.get_or_insert(now);
            }
        });
    }

    /// Somebody of another side asks a host without a majority to be let in: one that waits for a host of its own in vain. It cannot come back to a number that
    /// is no higher than its own, so this host goes on under one that is.
    pub(super) fn rise_above(&mut self, now: Timestamp, from: PeerId, stamp: Stamp) {
        let (own, me) = (self.stamp(), self.me());
        let obeys = self.contacts.get(&from).and_then(|contact| contact.obeys);
        let is_of_other = obeys.is_some_and(|host| host != me);
        let is_no_lower = stamp.epoch == own.epoch && stamp.fork >= own.fork;
        // Also one that was certified, and whose majority has gone since.
        let is_unconfirmed = self.reigning().is_some_and(|reign| reign.mandate == Mandate::Unconfirmed);
        if is_unconfirmed && is_no_lower && is_of_other && self.is_member(from) {
            self.as_host(|reign| {
                reign.merging.get_or_insert(now);
            });
        }
    }

    /// Whether that one obeys the host of another side. Sides that lost as many hosts have one number, so that does not tell.
    pub(super) fn is_of_other_side(&self, contact: &Contact) -> bool {
        self.fork.is_some() && contact.obeys.is_some_and(|host| host != self.leader())
    }

    /// What another host says of its side, as far as it can be true: of one epoch only the host that was certified can be
    /// confirmed, and no other takes a session from it whatever it says.
    fn believed(&self, from: PeerId, stamp: Stamp, side: &Side) -> Side {
        let is_certified = from == self.ballot.host() && stamp.fork == 0;
        let mandate =
            if is_certified || !G::stands(Guard::Mandate) { side.mandate } else { Standing::Unconfirmed };
        Side { mandate, ..*side }
    }

    /// Whether neither host has given way for long. Each knows of the other's game what it was a moment ago, so two games that
    /// are equally far are each the further one in the eyes of their hosts.
    fn is_drawn(&mut self, now: Timestamp, from: PeerId) -> bool {
        let mut since = now;
        self.as_host(|reign| {
            reign.contests.retain(|_, contest| now.since(contest.last) < CONTEST);
            let contest = reign.contests.entry(from).or_insert(Contest { since: now, last: now });
            contest.last = now;
            since = contest.since;
        });
        now.since(since) >= CONTEST
    }

    pub(super) fn follow_fork(&mut self, now: Timestamp, head: PeerId, stamp: Stamp) {
        let before = self.leader();
        self.be_on_side(Fork { number: stamp.fork, head });
        self.ballot.withdraw();
        self.obey(now, before);
    }
}

/// The same without what changes while they talk.
fn steady_rank(host: PeerId, side: &Side) -> impl Ord + use<> {
    (side.mandate, side.size, Reverse(side.channel), Reverse(host))
}

/// Whoever ranks higher goes on.
fn rank(host: PeerId, side: &Side) -> impl Ord + use<> {
    (side.mandate, side.size, side.state.tick, Reverse(side.channel), Reverse(host))
}
