//! The fleet that matches get their servers of: beside the queue, with servers for a few, asked at any pace and answering late, twice,
//! or not before it has been asked again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_core::{MatchId, StateMachine as _, TicketId};
use mainstay_matchmaking::{Command, Event, Outcome, Owed, ServerDetails, Target};

use super::oracle::Waiting;
use super::{Bug, Happening, World};
use crate::laws::{Broken, ensure};

/// So many matches are played at once: few enough that the fleet refuses.
const SERVERS: usize = 3;
/// The longest between two looks at what is owed, in microseconds.
const LOOK_MAX: u64 = 3_000_000;
/// The longest that an answer is on its way.
const ANSWER_MAX: u64 = 4_000_000;

/// What the fleet has, and what the judge knows of it.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    allocations: BTreeMap<MatchId, Allocation>,
    /// The groups that are held, as they were found.
    held: BTreeMap<MatchId, Vec<Waiting>>,
    /// The matches that were decided for a hold, with their tickets.
    placed: BTreeMap<MatchId, (MatchId, Vec<TicketId>)>,
    /// The matches that are durable.
    matches: BTreeSet<MatchId>,
}

/// An allocation as the fleet knows it; one id is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allocation {
    Plays,
    Over,
}

impl World {
    /// Whoever asks looks at what the queue durably owes. One allocation is asked for in the order in which that changes.
    pub(super) fn asks_fleet(&mut self) -> Result<(), Broken> {
        let twin = &self.disk.twin;
        let ids: Vec<MatchId> = twin.holds().map(|hold| hold.asked()).chain(twin.undos()).collect();
        for id in &ids {
            let Some(owed) = self.disk.twin.owed(&Target::Allocation(*id)) else { continue };
            if self.seat.is_none() || self.random.chance(300_000) {
                continue;
            }
            let Some(outcome) = self.fleet_answers(&owed) else { continue };
            let (life, again) = (self.life, self.random.chance(200_000));
            for _ in 0..=u64::from(again) {
                let delay = self.random.between(1, ANSWER_MAX);
                self.after(delay, Happening::Answers { life, id: *id, outcome: outcome.clone() });
            }
        }
        self.sessions_end();
        let decided = &self.decided;
        let waits = decided.open() > 0 || decided.undos().next().is_some();
        if self.busy || self.seat.is_none() || waits || !ids.is_empty() {
            let pause = self.random.between(1, LOOK_MAX);
            self.after(pause, Happening::AsksFleet);
        }
        Ok(())
    }

    fn fleet_answers(&mut self, owed: &Owed) -> Option<Outcome> {
        match owed {
            Owed::Allocate(ask) => {
                if ask.from > self.told {
                    return None;
                }
                let plays = self.fleet.allocations.values().filter(|it| **it == Allocation::Plays).count();
                let free = plays < SERVERS && !self.random.chance(200_000);
                let fresh = if free { Allocation::Plays } else { Allocation::Over };
                let known = *self.fleet.allocations.entry(ask.id).or_insert(fresh);
                self.say("fleet", |_| format!("{} of {:?}: {known:?}", ask.id, ask.region));
                Some(match known {
                    Allocation::Plays => Outcome::Placed(Arc::new(ServerDetails {
                        region: ask.region.clone(),
                        server_id: Some(ask.id.to_string().into()),
                        ..ServerDetails::default()
                    })),
                    Allocation::Over => Outcome::Refused { code: "MS-P006".into(), regions: 1 },
                })
            }
            Owed::Undo { id, .. } => {
                if self.bug != Some(Bug::UndoForgotten) {
                    self.fleet.allocations.insert(*id, Allocation::Over);
                }
                self.counts.undone += 1;
                Some(Outcome::Undone)
            }
        }
    }

    /// Matches are played to their end, and their servers are free again.
    fn sessions_end(&mut self) {
        let plays = |(id, it): (&MatchId, &Allocation)| {
            (*it == Allocation::Plays && self.fleet.matches.contains(id)).then_some(*id)
        };
        let playing: Vec<MatchId> = self.fleet.allocations.iter().filter_map(plays).collect();
        for id in playing {
            if self.random.chance(150_000) {
                self.fleet.allocations.insert(id, Allocation::Over);
            }
        }
    }

    pub(super) fn fleet_says(&mut self, id: MatchId, outcome: Outcome) -> Result<(), Broken> {
        self.turn(&Command::Placement { id, outcome })
    }

    /// A group is held that was judged as a match is.
    pub(super) fn holds(&mut self, hold: MatchId, group: Vec<Waiting>) {
        self.counts.held += 1;
        self.fleet.held.insert(hold, group);
    }

    /// A match is formed once there is a server, and while it plays for that match: its id, and who is in it.
    pub(super) fn is_placed(&mut self, hold: MatchId) -> Result<(MatchId, Vec<Waiting>), Broken> {
        let known = self.decided.hold(hold).map(|hold| hold.asked());
        let asked = known.ok_or_else(|| Broken::new("only a group that is held is given a server", hold))?;
        let plays = self.fleet.allocations.get(&asked) == Some(&Allocation::Plays);
        ensure(plays, "a match is formed on a server that plays for it", || asked)?;
        let group = self.fleet.held.get(&hold).cloned();
        let group = group.ok_or_else(|| Broken::new("a group is held before it is given a server", hold))?;
        self.fleet.placed.insert(hold, (asked, group.iter().map(Waiting::id).collect()));
        Ok((asked, group))
    }

    /// What the queue was told of a server that is none is so.
    pub(super) fn is_over_there(&self, asked: Option<MatchId>) -> Result<(), Broken> {
        let over = asked.is_some_and(|id| self.fleet.allocations.get(&id) == Some(&Allocation::Over));
        ensure(over || self.bug == Some(Bug::UndoForgotten), "what was refused or undone is over", || {
            format!("{asked:?}")
        })
    }

    /// A match is durable: its tickets, which end by it.
    pub(super) fn placed_durably(&mut self, event: &Event) -> Vec<TicketId> {
        let Event::MatchPlaced { hold, .. } = event else { return Vec::new() };
        let Some((asked, tickets)) = self.fleet.placed.get(hold).cloned() else { return Vec::new() };
        self.fleet.matches.insert(asked);
        tickets
    }

    /// "never takes more servers than matches", once all that was owed is done.
    pub(super) fn no_server_is_kept(&self) -> Result<(), Broken> {
        let kept = self
            .fleet
            .allocations
            .iter()
            .find(|(id, it)| **it == Allocation::Plays && !self.fleet.matches.contains(*id));
        ensure(kept.is_none(), "no server is kept that no match is played on", || format!("{kept:?}"))?;
        let owed = self.decided.holds().map(|hold| hold.asked()).chain(self.decided.undos()).next();
        ensure(owed.is_none(), "what is owed to a fleet is done in the end", || format!("{owed:?}"))
    }
}
