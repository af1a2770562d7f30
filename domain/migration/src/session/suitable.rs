//! While players gather, a host gives its session to whoever suits better. Seed 000: "Lobby migration: the current host determines
//! that a client in the lobby is a more suitable candidate, prior to commencing the game."
//!
//! The host decides by itself, from the hints that all have, and by nothing that passes: whoever suits better has to for a while, by what it
//! can do and not by its channel, with nobody coming meanwhile; and no session moves so again soon. `net_automigrate_host` turns it
//! off where the host is. A game that says nothing has begun: nothing moves under it.

use core::time::Duration;

use mainstay_core::Timestamp;

use crate::message::Handover;
use crate::session::Session;
use crate::session::reign::{Mandate, Phase, Reign};
use crate::session::words::{GamePhase, Output};
use crate::settings::Switch;
use crate::{Guards, PeerId};

/// How long somebody has to suit better, and nobody may come or go meanwhile: CRYENGINE looks 10 s after somebody joined.
const SUITS_FOR: Duration = Duration::from_secs(10);
/// How long a session that has moved, or should have, stays where it is: two whose links are measured a little otherwise each time would
/// hand it to and fro.
const KEEPS_FOR: Duration = Duration::from_secs(30);

/// How long the host's game has to hand its last state over, once it is told to whom: as long as a successor has to take it.
const HANDS_OVER_WITHIN: Duration = Duration::from_secs(2);

/// Who suits better, and since when: begun anew by whatever changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Better {
    who: PeerId,
    /// Counts whoever comes and goes.
    roster: u32,
    since: Timestamp,
    /// When the game was told.
    told: Option<Timestamp>,
}

impl<G: Guards> Session<G> {
    /// The game says how far it is. Each peer's does; whoever is host goes by its own.
    pub(super) fn be_in_phase(&mut self, phase: GamePhase) {
        self.game = phase;
    }

    /// Who suits better than this host, if anybody does: the best of those who could follow it.
    pub(super) fn who_suits_better(&self, now: Timestamp) -> Option<PeerId> {
        let own = self.hints.entries.get(&self.config.me)?;
        let best = self.successor(now)?;
        let entry = self.hints.entries.get(&best)?;
        (self.can_be_certified(best) && self.config.order.is_strictly_better(entry, own)).then_some(best)
    }

    /// Whether this host looks for a better one at all: nobody gives away a session that is not at rest.
    fn looks_for_better(&self, now: Timestamp) -> bool {
        let rests = |reign: &Reign| {
            reign.phase == Phase::Reigning && reign.mandate == Mandate::Confirmed && reign.merging.is_none()
        };
        self.game == GamePhase::Gathering
            && self.settings.automigrate_host == Switch::On
            && self.config.migrates()
            && self.fork.is_none()
            && self.event.is_none()
            && self.moved.is_none_or(|moved| now >= moved + KEEPS_FOR)
            && self.reigning().is_some_and(rests)
    }

    /// As host: gives the session to whoever has suited better for long enough. Its game is asked first, for what that did since it gave a
    /// state nobody else has.
    pub(super) fn keep_suitable(&mut self, now: Timestamp) {
        let who = if self.looks_for_better(now) { self.who_suits_better(now) } else { None };
        let roster = self.roster.version;
        let same = self.better.filter(|better| Some(better.who) == who && better.roster == roster);
        if same.is_none() && self.better.is_some_and(|better| better.told.is_some()) {
            // Its game may stand still already, for one that cannot be host any more.
            self.outputs.push(Output::NobodyBetter);
        }
        self.better = same.or(who.map(|who| Better { who, roster, since: now, told: None }));
        let Some(better) = &mut self.better else { return };
        let who = better.who;
        match better.told {
            None if now >= better.since + SUITS_FOR => {
                better.told = Some(now);
                self.outputs.push(Output::SomebodyBetter(who));
            }
            Some(told) if now >= told + HANDS_OVER_WITHIN => {
                self.better = None;
                self.begin_handover(now, Some(who), Handover::Lobby, None);
            }
            None | Some(_) => {}
        }
    }
}
