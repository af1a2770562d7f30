//! While players gather, a host gives its session to whoever suits better. Seed 000: "Lobby migration: the current host determines
//! that a client in the lobby is a more suitable candidate, prior to commencing the game."
//!
//! The host decides by itself, from the hints that all have, and by nothing that passes: whoever suits better has to for a while, by what it
//! can do and not by its channel, with nobody coming meanwhile, and whoever else does as well; and no session moves so again soon.
//! `net_automigrate_host` turns it off where the host is. A game that says nothing has begun: nothing moves under it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::message::Handover;
use crate::session::Session;
use crate::session::reign::{LEASE, Mandate, Phase, Reign};
use crate::session::words::{GamePhase, Output};
use crate::settings::Switch;
use crate::{Guards, PeerId};

/// How long somebody has to suit better, and nobody may come or go meanwhile: CRYENGINE looks 10 s after somebody joined.
const SUITS_FOR: Duration = Duration::from_secs(10);
/// How long a session that has moved, or should have, stays where it is: two whose links are measured a little otherwise each time would
/// hand it to and fro.
const KEEPS_FOR: Duration = Duration::from_secs(30);
/// How long whoever did not take the session is not given it again: each time the game stands still for as long as a host waits for its successor.
const DECLINED_FOR: Duration = Duration::from_mins(5);

/// How many of those who suit better are judged, the best of them: this is asked with every event, and each more costs a look at all hints.
const BETTER_MAX: usize = 8;

/// How long the host's game has to hand its last state over, once it is told to whom: as long as a successor has to take it.
const HANDS_OVER_WITHIN: Duration = Duration::from_secs(2);

/// Who suit better, and each since when; begun anew by whoever comes and goes. Each for itself: which of two is the best changes with
/// every link, and that the host is not does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Better {
    /// Counts whoever comes and goes.
    roster: u32,
    /// The best first.
    since: Vec<(PeerId, Timestamp)>,
    /// Of whom the game was told, and when.
    told: Option<(PeerId, Timestamp)>,
    /// To whom the session was given, and who did not take it, and when.
    declined: BTreeMap<PeerId, Timestamp>,
}

impl Better {
    /// These do now, of this roster.
    fn are(&mut self, now: Timestamp, roster: u32, those: Vec<PeerId>) {
        if self.roster != roster {
            self.look_anew();
            self.roster = roster;
        }
        let since = |who| self.since.iter().find(|(it, _)| *it == who).map_or(now, |(_, since)| *since);
        self.declined.retain(|_, at| now < *at + DECLINED_FOR);
        let those = those.into_iter().filter(|who| !self.declined.contains_key(who));
        self.since = those.map(|who| (who, since(who))).collect();
        self.told = self.told.filter(|(told, _)| self.since.iter().any(|(who, _)| who == told));
    }

    /// Nobody has suited better yet.
    pub(super) fn look_anew(&mut self) {
        (self.since, self.told) = (Vec::new(), None);
    }

    /// That one did not take the session.
    pub(super) fn decline(&mut self, now: Timestamp, who: PeerId) {
        self.declined.insert(who, now);
    }
}

impl<G: Guards> Session<G> {
    /// The game says how far it is. Each peer's does; whoever is host goes by its own.
    pub(super) fn be_in_phase(&mut self, phase: GamePhase) {
        self.game = phase;
    }

    /// Who suit better than this host, the best first: whoever does comes before whoever does not.
    pub(super) fn who_suit_better(&self, now: Timestamp) -> Vec<PeerId> {
        let Some(own) = self.hints.entries.get(&self.config.me) else { return Vec::new() };
        let suits = |peer: &PeerId| {
            self.can_be_certified(*peer)
                && self
                    .hints
                    .entries
                    .get(peer)
                    .is_some_and(|it| self.config.order.is_strictly_better(it, own))
        };
        self.hearing_successors(now).take_while(suits).take(BETTER_MAX).collect()
    }

    /// Whether this host looks for a better one at all: nobody gives away a session that is not at rest.
    fn looks_for_better(&self, now: Timestamp) -> bool {
        let rests = |reign: &Reign| reign.phase == Phase::Reigning && reign.mandate == Mandate::Confirmed;
        self.game == GamePhase::Gathering
            && self.settings.automigrate_host == Switch::On
            && self.migrates()
            && self.fork.is_none()
            && self.event.is_none()
            && self.moved.is_none_or(|moved| now >= moved + KEEPS_FOR)
            && self.reigning().is_some_and(rests)
    }

    /// As host: gives the session to the best of those who have suited better for long enough. Its game is asked first, for what that did since it gave a
    /// state nobody else has.
    pub(super) fn keep_suitable(&mut self, now: Timestamp) {
        // Whoever obeyed it under its number of before may not have heard yet of the one that it has now: what was found until then stands.
        if self.reigning().is_some_and(|reign| now < reign.since + LEASE) {
            return;
        }
        let those = if self.looks_for_better(now) { self.who_suit_better(now) } else { Vec::new() };
        let was_told = self.better.told.is_some();
        self.better.are(now, self.roster.version, those);
        if was_told && self.better.told.is_none() {
            // Its game may stand still already, for one that cannot be host any more.
            self.outputs.push(Output::NobodyBetter);
        }
        match self.better.told {
            None => {
                let suits_long = |(_, since): &&(PeerId, Timestamp)| now >= *since + SUITS_FOR;
                let best = self.better.since.iter().find(suits_long).map(|(who, _)| *who);
                self.better.told = best.map(|who| (who, now));
                self.outputs.extend(best.map(Output::SomebodyBetter));
            }
            Some((who, told)) if now >= told + HANDS_OVER_WITHIN => {
                self.better.look_anew();
                self.begin_handover(now, Some(who), Handover::Lobby, None);
            }
            Some(_) => {}
        }
    }
}
