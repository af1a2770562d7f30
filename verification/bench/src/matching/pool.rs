//! An engine, what it was given, and what came of it.

use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_matchmaking::bare::{Engine, Facts, Found, Game, Handle, Look, Newcomer};
use mainstay_matchmaking::spec::Gather;

use super::queues::Preset;
use crate::Failure;

/// The engine of a preset's queue.
pub struct Pool {
    pub engine: Engine,
    /// Who waits, by handle.
    rows: Vec<Row>,
    arrivals: u64,
    pub waiting: usize,
    pub looks: u64,
    pub matches: u64,
    /// Tickets, without games.
    pub matched: usize,
    spreads: f64,
    /// How long those that were matched had waited, in seconds; and games likewise.
    pub waits: Vec<f64>,
    pub game_waits: Vec<f64>,
    /// Those who went without a match.
    pub left: usize,
    /// What was formed, and is not told of yet.
    formed: Vec<(Timestamp, Found)>,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    skill: i64,
    since: Timestamp,
    /// Which of all it was; 0 where nobody waits.
    arrival: u64,
}

const NOBODY: Row = Row { skill: 0, since: Timestamp::EPOCH, arrival: 0 };

/// A ticket that was put in: its handle, and which of all it was, since handles are given again.
#[derive(Debug, Clone, Copy)]
pub struct Put {
    pub handle: Handle,
    pub arrival: u64,
}

/// Whether anybody was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looked {
    AtSomebody,
    AtNobody,
}

impl Pool {
    pub fn new(preset: Preset, gather: Gather) -> Result<Self, Failure> {
        Ok(Self {
            engine: Engine::new(&preset.queue(gather)?, Timestamp::EPOCH, 7),
            rows: Vec::new(),
            arrivals: 0,
            waiting: 0,
            looks: 0,
            matches: 0,
            matched: 0,
            spreads: 0.0,
            waits: Vec::new(),
            game_waits: Vec::new(),
            left: 0,
            formed: Vec::new(),
        })
    }

    pub fn insert(&mut self, facts: &Facts, since: Timestamp) -> Put {
        self.put(facts, since, self.engine.max(), None)
    }

    /// Whether a ticket is in no match yet.
    pub fn waits_still(&self, put: Put) -> bool {
        self.rows[put.handle as usize].arrival == put.arrival
    }

    /// A ticket that waits still is cancelled, or gives up.
    pub fn leave(&mut self, put: Put) {
        self.rows[put.handle as usize] = NOBODY;
        self.engine.remove(put.handle);
        self.waiting -= 1;
        self.left += 1;
    }

    /// A game that goes on.
    pub fn insert_game(&mut self, facts: &Facts, game: Game, since: Timestamp) {
        self.put(facts, since, self.engine.max(), Some(game));
    }

    fn put(&mut self, facts: &Facts, since: Timestamp, room: u8, game: Option<Game>) -> Put {
        self.arrivals += 1;
        let arrival = self.arrivals;
        let handle = self.engine.insert(Newcomer { facts, room, since, arrival, back: None, game }, None);
        let at = handle as usize;
        if self.rows.len() <= at {
            self.rows.resize(at + 1, NOBODY);
        }
        let skill = facts.numbers[0].map_or(0, |skill| skill.millionths());
        self.rows[at] = Row { skill, since, arrival };
        self.waiting += 1;
        Put { handle, arrival }
    }

    /// Everything that is due.
    pub fn look(&mut self, now: Timestamp) {
        while self.look_once(now) == Looked::AtSomebody {}
    }

    /// The next that is due.
    pub fn look_once(&mut self, now: Timestamp) -> Looked {
        match self.engine.look(now) {
            Look::Nothing => return Looked::AtNobody,
            Look::Nobody(_) => self.looks += 1,
            Look::Match(_, found) => self.form(now, found),
            Look::Batch(cursor, found) => {
                found.into_iter().for_each(|found| self.form(now, found));
                self.engine.batch_is_over(cursor);
            }
        }
        Looked::AtSomebody
    }

    /// What the engine is asked where a match is formed; its account is [`Pool::tell`]'s.
    fn form(&mut self, now: Timestamp, found: Found) {
        for (handle, _) in &found.tickets {
            self.engine.remove(*handle);
        }
        if let Some((game, _)) = &found.backfill {
            self.engine.remove(*game);
        }
        self.looks += 1;
        self.matches += 1;
        self.formed.push((now, found));
    }

    /// Takes account of what was formed, and gives it to whoever keeps more. Before anybody else comes, for handles are given again; and not while the engine is
    /// measured.
    pub fn tell(&mut self) -> Vec<(Timestamp, Found)> {
        let formed = core::mem::take(&mut self.formed);
        for (now, found) in &formed {
            let skill = |(handle, _): &(Handle, Option<u8>)| self.rows[*handle as usize].skill;
            let highest = found.tickets.iter().map(skill).max().unwrap_or(0);
            let lowest = found.tickets.iter().map(skill).min().unwrap_or(0);
            self.spreads += (highest - lowest) as f64 / 1e6;
            self.matched += found.tickets.len();
            self.waiting -= found.tickets.len() + usize::from(found.backfill.is_some());
            for (handle, _) in &found.tickets {
                self.waits.push(self.waited(*now, *handle).as_secs_f64());
                self.rows[*handle as usize] = NOBODY;
            }
            if let Some((game, _)) = &found.backfill {
                self.game_waits.push(self.waited(*now, *game).as_secs_f64());
            }
        }
        formed
    }

    fn waited(&self, now: Timestamp, handle: Handle) -> Duration {
        now.since(self.rows[handle as usize].since)
    }

    /// Between the best and the worst ticket of a match, on average.
    pub fn spread(&self) -> f64 {
        self.spreads / self.matches.max(1) as f64
    }
}
