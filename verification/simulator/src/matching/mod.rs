//! Matchmaking worlds: one queue behind the production write-ahead order, random callers, and a process that dies at any moment.
//!
//! What goes wrong is drawn for each world: syncs that fail, a store that is away, crashes that keep, drop or tear what was
//! written, an engine that is forgotten, turns that come late, clocks that differ from one process to the next,
//! configurations that change, requests that are repeated because their answers were lost, games' processes that end while
//! nobody looks, a fleet that refuses, or whose answers come late or twice. One queue in three gathers those who come. Queues,
//! players and the checker that tries everything are those of the domain's own law tests; they share nothing with the engine.

mod callers;
#[path = "../../../../domain/matchmaking/tests/matchmaking/draw.rs"]
#[expect(clippy::unwrap_used, reason = "its numbers are constants that fit")]
mod draw;
mod fleet;
mod hosts;
mod laws;
#[path = "../../../../domain/matchmaking/tests/matchmaking/oracle.rs"]
#[expect(clippy::unwrap_used, reason = "it reads tickets that a queue has let in")]
mod oracle;
mod process;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mainstay_core::{MatchId, TicketId, Timestamp};
use mainstay_journal::Batch;
use mainstay_matchmaking::{Command, Outcome, Queue};

use self::process::{Release, Scenario};
use crate::agenda::{Agenda, Micros};
use crate::laws::Broken;
use crate::random::Random;
use crate::seat::{Disk, Seat};
use crate::trace::{Text, Trace, words};

/// When the first process starts, by its own clock.
const BEGIN: u64 = 1_700_000_000_000;
/// How long callers and faults go on, at most.
const BUSY_MAX: Micros = 240_000_000;
/// How long it may take after that until every ticket is over: the longest wait, and turns that come late.
const REST: Micros = 120_000_000;

/// A mistake planted in the hands around the queue, to show that the laws find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// A caller is answered before its turn is durable.
    AnswerBeforeSync,
    /// The process is not woken at its queue's deadlines.
    DeadlineMissed,
    /// The process believes its own clock, also where the journal is ahead of it.
    ClockBelieved,
    /// Nobody tells the queue that a game's process has ended.
    ServersUnwatched,
    /// Whoever asks the fleet says that an allocation is over, and has not ended it.
    UndoForgotten,
}

/// What became of one world.
#[derive(Debug)]
pub struct Report {
    /// Its seed.
    pub seed: u64,
    /// What happened how often.
    pub counts: Counts,
    /// Virtual time until its end, in microseconds.
    pub lived: Micros,
    /// The hash of its trace.
    pub hash: u64,
    /// The law that did not hold, if one did not; the world ended there.
    pub broken: Option<Broken>,
    /// The trace, where text was asked for.
    pub trace: Option<String>,
}

/// What happened how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Happenings.
    pub events: u64,
    /// Commands that were taken.
    pub commands: u64,
    /// Commands that were refused.
    pub refusals: u64,
    /// Matches.
    pub matches: u64,
    /// Of them, with a game that went on.
    pub backfilled: u64,
    /// Groups that were found by a queue that gathers.
    pub gathered: u64,
    /// Tickets that ended otherwise.
    pub canceled: u64,
    /// Process crashes.
    pub crashes: u64,
    /// Syncs that failed, or did not reach the store.
    pub disk_faults: u64,
    /// Engines forgotten.
    pub forgotten: u64,
    /// Turns later than their moments.
    pub late: u64,
    /// Configurations changed.
    pub configured: u64,
    /// Requests repeated.
    pub repeats: u64,
    /// Pools that were searched by trying everything.
    pub tried: u64,
    /// Commands that a rebuilt queue was given, too.
    pub compared: u64,
    /// Games' processes that were replaced.
    pub processes: u64,
    /// Times that a queue was told of a process's end.
    pub withdrawn: u64,
    /// Groups that were held until they had a server.
    pub held: u64,
    /// Of them, those that got one.
    pub placed: u64,
    /// Allocations that were taken back.
    pub undone: u64,
}

/// Lives one world to its end.
#[must_use]
pub fn run(seed: u64, bug: Option<Bug>, text: Text) -> Report {
    let mut world = World::new(Random::seeded(seed), bug, text);
    let broken = world.live().err();
    let rest = world.random.next();
    world.trace.number(rest);
    Report {
        seed,
        counts: world.counts,
        lived: world.now,
        hash: world.trace.hash(),
        broken,
        trace: world.trace.into_text(),
    }
}

/// What is to happen. What is for a process that is gone is for nobody.
#[derive(Debug)]
enum Happening {
    /// A caller asks something.
    Asks,
    /// A sync ends.
    Synced { life: u64, batch: Batch },
    /// The store is tried again.
    TriesAgain { life: u64 },
    /// The queue's deadline has come, sooner or later.
    Wakes { life: u64 },
    /// A new process takes the queue.
    Starts,
    /// Somebody looks whether the servers of backfill tickets still play.
    Watches,
    /// Somebody looks what the fleet is owed.
    AsksFleet,
    /// What the fleet said arrives.
    Answers { life: u64, id: MatchId, outcome: Outcome },
}

#[derive(Debug)]
struct World {
    random: Random,
    scenario: Scenario,
    bug: Option<Bug>,
    now: Micros,
    agenda: Agenda<Happening>,
    busy: bool,
    disk: Disk<Queue>,
    seat: Option<Seat<Queue, Release>>,
    life: u64,
    /// When the living process is to wake, if it is.
    wakes: Option<Micros>,
    /// Its clock against the world's, in milliseconds.
    skew: u64,
    /// The newest time it has told.
    told: Timestamp,
    /// What the living process has decided, also what is not durable yet: without an engine.
    decided: Queue,
    /// When the limits changed last.
    configured: Timestamp,
    /// Every ticket whose making is durable, with how often it has ended.
    made: BTreeMap<TicketId, u32>,
    /// Whom the callers know of.
    acknowledged: BTreeSet<TicketId>,
    /// The last tickets asked for, to be asked for again.
    asked: VecDeque<Command>,
    next_ticket: u128,
    hosts: Vec<hosts::Host>,
    fleet: fleet::Fleet,
    trace: Trace,
    counts: Counts,
}

impl World {
    fn new(mut random: Random, bug: Option<Bug>, text: Text) -> Self {
        let scenario = Scenario::draw(&mut random);
        Self {
            random,
            scenario,
            bug,
            now: 0,
            agenda: Agenda::empty(),
            busy: true,
            disk: Disk::empty("queue", Queue::new(3)),
            seat: None,
            life: 0,
            wakes: None,
            skew: 0,
            told: Timestamp::EPOCH,
            decided: Queue::new(5),
            configured: Timestamp::EPOCH,
            made: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            asked: VecDeque::new(),
            next_ticket: 0,
            hosts: hosts::all(),
            fleet: fleet::Fleet::default(),
            trace: Trace::new(text),
            counts: Counts::default(),
        }
    }

    fn live(&mut self) -> Result<(), Broken> {
        self.say("world", |world| format!("{:?}", world.scenario));
        self.start()?;
        self.agenda.put(1, Happening::Asks);
        self.agenda.put(2, Happening::Watches);
        self.agenda.put(3, Happening::AsksFleet);
        let until = self.random.between(BUSY_MAX / 8, BUSY_MAX);
        while let Some(next) = self.agenda.next_at() {
            if self.busy && next > until {
                self.rest();
            }
            if next > until + REST {
                break;
            }
            let Some((at, what)) = self.agenda.take() else { break };
            self.now = at;
            self.counts.events += 1;
            self.happens(what)?;
        }
        laws::at_rest(self)
    }

    /// Callers and faults stop; what is left must come to its end by itself.
    fn rest(&mut self) {
        self.busy = false;
        self.hosts_stop();
        self.say("world", |_| "callers and faults stop".to_owned());
    }

    fn happens(&mut self, what: Happening) -> Result<(), Broken> {
        match what {
            Happening::Asks if self.busy => {
                let pause = self.random.between(1, self.scenario.pause);
                self.after(pause, Happening::Asks);
                self.strike()?;
                self.hosts_change();
                self.ask()
            }
            Happening::Asks => Ok(()),
            Happening::Synced { life, batch } if life == self.life => self.synced(&batch),
            Happening::TriesAgain { life } if life == self.life => self.tries_again(),
            // A sooner deadline may have taken this one's place.
            Happening::Wakes { life } if life == self.life && self.wakes == Some(self.now) => self.wakes(),
            Happening::Answers { life, id, outcome } if life == self.life => self.fleet_says(id, outcome),
            Happening::Synced { .. }
            | Happening::TriesAgain { .. }
            | Happening::Wakes { .. }
            | Happening::Answers { .. } => Ok(()),
            Happening::Starts => self.start(),
            Happening::Watches => self.watches(),
            Happening::AsksFleet => self.asks_fleet(),
        }
    }

    fn after(&mut self, delay: Micros, what: Happening) {
        self.agenda.put(self.now + delay, what);
    }

    fn say(&mut self, who: &'static str, what: impl FnOnce(&Self) -> String) {
        let mut trace = std::mem::replace(&mut self.trace, Trace::new(Text::None));
        trace.line(self.now, || words(who, what(self)));
        self.trace = trace;
    }
}
