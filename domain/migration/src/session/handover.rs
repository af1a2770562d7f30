//! A host gives the session to another: it stops its game, the other takes the last state and asks for votes, and everyone
//! gives theirs though the host lives, for it says so itself.
//!
//! Nothing is lost: the game stands still from its last tick on, and the successor goes on from exactly that one. If the
//! successor does not get there in time, the old host goes on.

use core::time::Duration;

use mainstay_core::Timestamp;

use crate::PeerId;
use crate::message::{Body, Handover, Leads, State};
use crate::session::elect::{Quorum, Vacancy};
use crate::session::reign::{Phase, Reign};
use crate::session::words::{Cause, End, Migratable};
use crate::session::{Leadership, Session};
use crate::stages::Role;

/// How long a host waits for its successor.
const HANDOVER_MAX: Duration = Duration::from_secs(2);

impl Session {
    pub(super) fn begin_handover(&mut self, now: Timestamp, to: Option<PeerId>, why: Handover, last: State) {
        let lives = |peer: &PeerId| self.contacts.get(peer).is_some_and(|contact| !contact.is_lost(now));
        let successor = match to {
            Some(peer) => Some(peer).filter(lives),
            None => self.successors(now).first().copied(),
        };
        let tick = last.tick;
        let Leadership::Reigns(reign) = &mut self.leadership else { return };
        if reign.phase == Phase::Accession {
            // It has no state of its own yet: as soon as it does, that is handed on.
            reign.pending = Some((to, why));
            return;
        }
        let ready = reign.phase == Phase::Reigning
            && reign.merging.is_none()
            && self.config.migratable == Migratable::Yes;
        match (successor, why) {
            (Some(to), Handover::Lobby | Handover::Leaves | Handover::Merge) if ready => {
                reign.phase = Phase::HandingOver { to, why, since: now, tick };
                self.held = Some(last.clone());
                self.send(to, Body::State(last));
                if why == Handover::Lobby {
                    self.begin_event(now, Cause::Lobby);
                }
                self.beat(now);
            }
            // Nobody can follow: then it goes as it is.
            (_, Handover::Leaves) => self.leave(now),
            (_, Handover::Lobby | Handover::Merge) => {}
        }
    }

    /// While another shall be host.
    pub(super) fn hand_over(&mut self, now: Timestamp) {
        let Leadership::Reigns(Reign { phase: Phase::HandingOver { to, since, tick, why }, .. }) =
            &self.leadership
        else {
            return;
        };
        let (to, since, tick, why) = (*to, *since, *tick, *why);
        if now >= since + HANDOVER_MAX || self.contacts.get(&to).is_none_or(|contact| contact.is_lost(now)) {
            self.as_host(|reign| reign.phase = Phase::Reigning);
            self.elected(Role::Host);
            return;
        }
        let lacks = self.contacts.get(&to).is_some_and(|contact| contact.holds() < tick);
        if why != Handover::Merge
            && lacks
            && now >= self.beat_at
            && let Some(state) = self.held.clone()
        {
            self.send(to, Body::State(state));
        }
    }

    /// The host says that another shall be it.
    pub(super) fn be_handed_over(&mut self, now: Timestamp, leads: &Leads) {
        let Leads::HandsOver { to, why, tick } = leads else { return };
        if !matches!(self.leadership, Leadership::Follows | Leadership::Doubts(_)) {
            return;
        }
        // The successor waits for the last state: what it does not have it cannot go on from.
        let lacks = self.held.as_ref().is_none_or(|held| held.tick < *tick);
        if *to == self.me() && lacks && *tick > crate::Tick::default() {
            return;
        }
        self.vacate(now, Vacancy::beginning(now, Cause::of(*why), Quorum::Majority, Some(*to)));
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
