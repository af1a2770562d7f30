//! Who is struck in the very moment in which a session takes a step: between two stages of listeners, once it is certified and before anybody
//! has heard of it, when it names its successor, as it goes on from a state, as it begins to obey. What it was about to say is cut off after
//! any part of it. And a lobby certifies somebody, and one of the two is gone before the other hears of it.
//!
//! Fates are drawn from a chance of their own, so that a world is the same without them.

use std::collections::BTreeSet;

use mainstay_migration::{Beat, Body, Guards, Leads, Message, Output, PeerId};

use super::peer::Alive;
use super::scenario::Fates;
use super::{Happening, World};
use crate::agenda::Micros;
use crate::laws::Broken;

/// How often in a million somebody is struck: a migration has that many of each.
const AS_A_STAGE_BEGINS: u32 = 10_000;
const AS_IT_OBEYS: u32 = 15_000;
const AS_IT_IS_CERTIFIED: u32 = 120_000;
const AS_IT_LEADS: u32 = 80_000;
/// A host says that a few times.
const AS_IT_NAMES_ANOTHER: u32 = 40_000;
/// Where there is no rest.
const AT_ANY_WORD: u32 = 60;
/// How long it is cut off, or its lobby down.
const AWAY_MIN: Micros = 200_000;
const AWAY_MAX: Micros = 12_000_000;

/// What becomes of somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Dies,
    /// It says what it was about to, and then nothing for a while.
    StandsStill,
    /// From and to everybody.
    IsCutOff,
    /// What it says and hears comes late, and all at once.
    LosesItsRadio,
    /// It and some of the others do not hear the rest.
    IsParted,
    /// Somebody else comes, goes or changes its network.
    SeesAChange,
}

impl<G: Guards> World<G> {
    /// After how many of these somebody is struck, if it is.
    pub(super) fn fate(&mut self, id: PeerId, outputs: &[Output]) -> Option<(usize, Fate)> {
        if self.scenario.fates == Fates::Spared || !self.busy {
            return None;
        }
        let rate = outputs.iter().map(|output| self.rate(id, output)).max()?;
        let is_certified = self.peers[&id].session().is_some_and(|session| {
            let ballot = session.ballot();
            ballot.host() == id && !self.oracle.is_crowned(ballot.epoch())
        });
        let rate = if is_certified { AS_IT_IS_CERTIFIED } else { rate };
        let is_restless = self.scenario.fates == Fates::Restless;
        let rate = if is_restless { rate.max(AT_ANY_WORD) } else { rate };
        if rate == 0 || !self.fates.chance(rate) || self.running().len() < 3 {
            return None;
        }
        let fate = match self.fates.below(if is_restless { 10 } else { 6 }) {
            0..=2 => Fate::Dies,
            3 => Fate::StandsStill,
            4 => Fate::IsCutOff,
            5 => Fate::LosesItsRadio,
            6..=7 => Fate::IsParted,
            _ => Fate::SeesAChange,
        };
        Some((self.fates.index(outputs.len() + 1), fate))
    }

    fn rate(&self, id: PeerId, output: &Output) -> u32 {
        match output {
            Output::Call(call, _) if self.peers[&id].grammar.is_new(call.stage) => AS_A_STAGE_BEGINS,
            Output::Lead { .. } => AS_IT_LEADS,
            Output::Follow { .. } => AS_IT_OBEYS,
            Output::Send { message: Message { body: Body::Beat(Beat { leads, .. }), .. }, .. } => match leads
            {
                Leads::HandsOver { .. } => AS_IT_NAMES_ANOTHER,
                Leads::Yes(_) | Leads::Accedes | Leads::Obeys(_) => 0,
            },
            Output::Call(..)
            | Output::Send { .. }
            | Output::AskLobby { .. }
            | Output::HostNoMore { .. }
            | Output::Act(_)
            | Output::Connected { .. }
            | Output::Progress(_)
            | Output::Discard(_)
            | Output::Gone(_)
            | Output::Durable(_)
            | Output::Apply { .. }
            | Output::SomebodyBetter(_)
            | Output::NobodyBetter
            | Output::NotTaken(_)
            | Output::InputForgotten { .. }
            | Output::Rewritten { .. }
            | Output::Confirmed(_)
            | Output::StateWanted(_)
            | Output::Migrated(_)
            | Output::NotSet(_)
            | Output::Ended(_) => 0,
        }
    }

    /// It is struck now.
    pub(super) fn meets(&mut self, id: PeerId, fate: Fate) -> Result<(), Broken> {
        if self.peers[&id].alive != Alive::Running {
            return Ok(());
        }
        self.counts.struck += 1;
        self.say(id, |_| format!("meets its fate: {fate:?}"));
        let span = self.fates.between(AWAY_MIN, AWAY_MAX);
        match fate {
            Fate::Dies => {
                // What it became in this very moment others may have heard of.
                self.oracle.touch(id);
                super::laws::after(self)?;
                return self.crashes(id);
            }
            Fate::StandsStill => self.freezes(id),
            Fate::IsCutOff => self.is_cut_off(id, span),
            Fate::LosesItsRadio => {
                let until = self.now + span.min(450_000);
                self.oracle.trouble_with(id, until);
                self.radios.insert(id, until);
            }
            Fate::IsParted => {
                let (near, far): (BTreeSet<_>, BTreeSet<_>) =
                    self.running().into_iter().partition(|other| *other == id || self.fates.chance(500_000));
                let pairs = near.iter().flat_map(|one| far.iter().map(move |other| (*one, *other)));
                let links = pairs.flat_map(|(one, other)| [(one, other), (other, one)]).collect();
                self.cut(links, span);
            }
            Fate::SeesAChange => {
                self.counts.meanwhile += 1;
                // What it is saying just now it says first.
                self.after(1, Happening::Changes);
            }
        }
        Ok(())
    }

    /// The lobby has certified somebody that asked for it: `true` where it is gone before it says so.
    pub(super) fn lobby_meets(&mut self, asked_by: PeerId) -> Result<bool, Broken> {
        if self.scenario.fates == Fates::Spared || !self.busy || !self.fates.chance(AS_IT_IS_CERTIFIED) {
            return Ok(false);
        }
        if self.fates.chance(500_000) && self.running().len() > 2 {
            self.meets(asked_by, Fate::Dies)?;
            return Ok(false);
        }
        let span = self.fates.between(AWAY_MIN, AWAY_MAX);
        self.counts.struck += 1;
        self.lobby_stops(span);
        self.after(span, Happening::LobbyStarts);
        self.say("lobby", |_| {
            format!("is down for {span} µs, and has certified somebody that does not hear of it")
        });
        Ok(true)
    }
}
