//! A host gives the session to another: it stops its game and names its successor, which takes the last state. Whoever hears that
//! votes for the successor unasked though the host lives, for it says so itself; who has not is asked.
//!
//! Nothing is lost: the game stands still from its last tick on, and the successor goes on from exactly that one. If the
//! successor does not get there in time, the old host goes on. Where it has gone itself, and the host still leaves, another is named.
//!
//! Under a lobby one swap there makes the successor host. Where the lobby says nothing and the session may go on without, the
//! host says that nobody certifies it any more, and hands that over: its successor asks the lobby for the next epoch itself.

use core::time::Duration;

use mainstay_core::Timestamp;

use crate::message::{Body, Handover, Leads};
use crate::rhythm::BEAT;
use crate::session::fork::Fork;
use crate::session::reign::{Mandate, Phase, Reign};
use crate::session::vacancy::{Handed, Quorum, Vacancy};
use crate::session::words::{Cause, End, Output, WithoutMajority};
use crate::session::{Leadership, Session};
use crate::stages::Role;
use crate::state::{Piece, StateError, StateId};
use crate::{Guards, PeerId, Stamp};

/// How long a host waits for its successor.
pub(super) const HANDOVER_MAX: Duration = Duration::from_secs(2);
/// How much of that it waits for its lobby, where it is not known to be away: half, for the successor needs some of it, too.
const LOBBY_PATIENCE: Duration = Duration::from_secs(1);

impl<G: Guards> Session<G> {
    /// `last` is what the game gives; without it, what is held is handed on.
    pub(super) fn begin_handover(
        &mut self,
        now: Timestamp,
        to: Option<PeerId>,
        why: Handover,
        mut last: Option<Piece>,
    ) {
        self.try_handover(now, to, why, &mut last);
        if last.is_some() {
            self.refuse_piece(StateError::NotNow);
        }
    }

    fn try_handover(&mut self, now: Timestamp, to: Option<PeerId>, why: Handover, last: &mut Option<Piece>) {
        let lives = |peer: &PeerId| self.contacts.get(peer).is_some_and(|contact| !contact.is_lost(now));
        // The host of another side is one already.
        let suits = |peer: &PeerId| why == Handover::Merge || self.can_be_host(*peer);
        let named = to.filter(|peer| lives(peer) && suits(peer));
        let successor = match (to, why) {
            (Some(_), Handover::Lobby | Handover::Merge) => named,
            (None, Handover::Lobby) => self.who_suit_better(now).first().copied(),
            // Who goes gives it to somebody it has not been heard by yet rather than to nobody.
            (_, Handover::Leaves) | (None, Handover::Merge) => {
                named.or_else(|| self.hearing_successors(now).chain(self.successors(now)).next())
            }
        };
        // On a side without a majority nobody votes; and where it does not move nobody can follow.
        let may_follow = |peer: &PeerId| self.fork.is_some() || self.can_be_certified(*peer);
        let successor = successor.filter(|peer| self.may_move(why) && may_follow(peer));
        let Leadership::Reigns(reign) = &mut self.leadership else { return };
        if reign.phase == Phase::Accession {
            // It has no state of its own yet: as soon as it does, that is handed on.
            reign.pending = Some((to, why));
            return;
        }
        if let Phase::HandingOver { why: before @ (Handover::Lobby | Handover::Leaves), .. } =
            &mut reign.phase
        {
            // It is on its way to whom it goes already.
            if why == Handover::Leaves {
                *before = why;
            }
            return;
        }
        // Who goes does not wait for a side that asks it to go on for both: that one meets its successor. Nor does who is confirmed, whose successor outranks that
        // side as it would itself: whoever only speaks of sides would keep the session where it is.
        let is_confirmed = reign.mandate == Mandate::Confirmed;
        let is_free = reign.merging.is_none() || is_confirmed || why == Handover::Leaves;
        let ready = reign.phase == Phase::Reigning && is_free;
        match (successor, why) {
            (Some(to), Handover::Lobby | Handover::Leaves | Handover::Merge) if ready => {
                if last.take().is_some_and(|last| !self.append(last)) {
                    return;
                }
                let (state, epoch) = (self.handed_on(), self.next_epoch());
                self.as_host(|reign| {
                    reign.phase = Phase::HandingOver { to, why, since: now, state, epoch, all_at: now };
                });
                let holds = self.contacts.get(&to).map_or(StateId::NONE, |contact| contact.holds.id());
                self.give_state(to, holds);
                if why == Handover::Lobby {
                    self.begin_event(now, Cause::Lobby);
                }
                self.vote_unasked(now, to, epoch);
                self.beat(now);
            }
            // Nobody can follow: then it goes as it is.
            (_, Handover::Leaves) => self.leave(now),
            (None, Handover::Lobby) if ready => {
                if let Some(last) = last.take() {
                    self.write_state(now, last);
                }
                self.outputs.push(Output::NobodyBetter);
            }
            (_, Handover::Lobby | Handover::Merge) => {}
        }
    }

    /// Whether the session may be given away. Where two sides meet one of them is given up, whoever goes along.
    fn may_move(&self, why: Handover) -> bool {
        why == Handover::Merge || self.migrates()
    }

    /// While another shall be host.
    pub(super) fn hand_over(&mut self, now: Timestamp) {
        let Leadership::Reigns(Reign { phase, mandate, .. }) = &self.leadership else { return };
        let Phase::HandingOver { to, since, state, why, epoch, .. } = *phase else { return };
        // Another side was the larger one while this host had no majority: now nobody takes its session from it.
        let is_confirmed = why == Handover::Merge && *mandate == Mandate::Confirmed;
        // Its process may have turned it off meanwhile: then nobody follows.
        let is_lost =
            self.contacts.get(&to).is_none_or(|contact| contact.is_lost(now)) || !self.may_move(why);
        if is_lost && why == Handover::Leaves {
            self.as_host(|reign| reign.leaves_at = Some(now + BEAT));
        }
        if is_confirmed || is_lost || now >= since + HANDOVER_MAX {
            return self.keep_reign(now);
        }
        let holds = self.contacts.get(&to).map_or(state, |contact| contact.holds.id());
        // More than that nobody has written: whoever says that it holds more would be certified before it has this.
        let has_last = holds == state || state == StateId::NONE;
        if why != Handover::Merge && now >= self.beat_at {
            if !has_last {
                self.give_state(to, holds);
            }
            // Of two or three its vote makes the majority, and that is lost as easily.
            self.vote_unasked(now, to, epoch);
        }
        // Merges are asked for by whoever goes on, and what nobody certifies needs no lobby to be handed over.
        if self.has_lobby() && self.fork.is_none() && why != Handover::Merge && has_last {
            let is_silent = self.line.is_silent(now) || now >= since + LOBBY_PATIENCE && self.line.waits();
            if is_silent && self.config.without_majority == WithoutMajority::Fork {
                return self.lead_uncertified(now, self.stamp().fork.saturating_add(1));
            }
            self.claim_of_lobby(now, Some(to));
        }
    }

    /// Whom a host that leaves had named has left before it. It has said that it goes on, so that the others come back to it, and names another; where nobody is left it
    /// goes.
    pub(super) fn leave_at_last(&mut self, now: Timestamp) {
        let is_due = |at: &mut Timestamp| *at <= now;
        if self.as_host(|reign| reign.leaves_at.take_if(is_due)).flatten().is_some() {
            self.try_handover(now, None, Handover::Leaves, &mut None);
        }
    }

    /// While this host hands over: its successor, where that one alone is told so now. Everybody waits for what it has lost of that, and in a large session
    /// the others need no word as often.
    pub(super) fn successor_alone(&mut self, now: Timestamp) -> Option<PeerId> {
        let is_large = !self.is_small();
        let alone = self.as_host(|reign| match &mut reign.phase {
            Phase::HandingOver { to, all_at, .. } if now < *all_at => is_large.then_some(*to),
            Phase::HandingOver { all_at, .. } => {
                *all_at = now + BEAT;
                None
            }
            Phase::Accession | Phase::Reigning => None,
        });
        alone.flatten()
    }

    /// A host that its lobby does not answer gives a side up that nobody certifies: it names its successor itself, and everybody
    /// who hears of it gives that one up to the lobby alone.
    pub(super) fn be_handed_a_side(&mut self, from: PeerId, stamp: Stamp, to: PeerId) {
        self.be_on_side(Fork { number: stamp.fork, head: from });
        // It says what it says from now on under that number.
        self.pass_word(Cause::Controlled);
        self.change_vacancy(|vacancy| vacancy.name(to));
    }

    /// The successor did not get there: the host goes on.
    pub(super) fn keep_reign(&mut self, now: Timestamp) {
        let before = self.as_host(|reign| core::mem::replace(&mut reign.phase, Phase::Reigning));
        if let Some(Phase::HandingOver { to, why: Handover::Lobby, .. }) = before {
            self.better.decline(now, to);
        }
        self.elected(Role::Host);
        self.want_state();
    }

    /// The host says that another shall be it.
    pub(super) fn be_handed_over(&mut self, now: Timestamp, leads: &Leads) {
        let Leads::HandsOver { to, why, state, epoch } = leads else { return };
        if !matches!(self.leadership, Leadership::Follows | Leadership::Doubts(_)) {
            return;
        }
        // Whoever does not go along stays until another is host: it may come to nothing. But of a few its vote makes the majority.
        if !self.goes_along(Cause::of(*why)) {
            if *to != self.me() && *why != Handover::Merge {
                self.vote_unasked(now, *to, *epoch);
            }
            return;
        }
        // For two sides a host of one goes on, and this peer is none any more.
        if *to == self.me() && *why == Handover::Merge {
            return;
        }
        // The successor waits for the last state: what it does not have it cannot go on from.
        if *to == self.me() && self.held.id() < *state {
            return;
        }
        if *why == Handover::Merge {
            // The host of the other side may have come to the session since this peer knew who plays there.
            self.be_guest(now, *to);
        }
        let quorum = if self.fork.is_some() { Quorum::Missing } else { Quorum::Majority };
        let vacancy = Vacancy::beginning(now, Cause::of(*why), quorum, Some(*to));
        let vacancy = if *to == self.me() {
            vacancy.handing(now, Handed { state: *state, epoch: *epoch })
        } else {
            vacancy
        };
        self.vacate(now, vacancy);
        if *to != self.me() && *why != Handover::Merge {
            self.vote_unasked(now, *to, *epoch);
        }
    }

    /// A host that hands over because it leaves has done so. `true` where it is over.
    pub(super) fn leaves_after_handover(&mut self, now: Timestamp) -> bool {
        let leaves = matches!(
            &self.leadership,
            Leadership::Reigns(Reign { phase: Phase::HandingOver { why: Handover::Leaves, .. }, .. })
        );
        if leaves {
            self.send_all(&Body::Leave);
            self.end(now, End::Left);
        }
        leaves
    }
}
