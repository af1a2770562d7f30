//! Lobby worlds: one lobby behind the production write-ahead order, peers that host and take over, and a process that dies at any
//! moment.
//!
//! What goes wrong is drawn for each world: syncs that fail, a store that is away, crashes that keep, drop or tear what was written,
//! soft state that is forgotten, turns that come late, clocks that differ from one process to the next, requests and answers that
//! are late, doubled and lost, peers that crash and come back with another key, freeze and wake as hosts of long ago, are cut off from
//! the lobby, and miss hosts that live. Whoever was told a certificate is remembered: of all that was ever told no two may name
//! different hosts of one epoch, whatever the lobby remembers of it.

mod laws;
mod peers;
mod process;

use std::collections::{BTreeMap, BTreeSet};

use mainstay_core::{SessionId, Timestamp};
use mainstay_journal::Batch;
use mainstay_lobby::{Epoch, Lobby, PeerKey, Player};

use self::peers::{Ask, Peer, Word};
use self::process::{Release, Scenario};
use crate::agenda::{Agenda, Micros};
use crate::laws::Broken;
use crate::random::Random;
use crate::seat::{Disk, Seat};
use crate::trace::{Text, Trace, words};

/// When the first process starts, by its own clock.
const BEGIN: u64 = 1_700_000_000_000;
/// How long faults go on, at most.
const BUSY_MAX: Micros = 180_000_000;
/// How long it may take after that until every session has a host that is heard: the longest silence, a lease, and turns that come late.
const REST: Micros = 90_000_000;
/// How many sessions there are at most.
const SESSIONS: u64 = 3;

/// A mistake planted in the hands around the lobby, to show that the laws find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Whoever asks is told before its turn is durable.
    AnswerBeforeSync,
    /// The process is not woken at its lobby's deadlines.
    DeadlineMissed,
    /// Nobody tells the lobby that a host renews.
    RenewalsUnheard,
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
    /// Epochs granted.
    pub granted: u64,
    /// Of them, by the host itself to another.
    pub handed_over: u64,
    /// Members thrown out.
    pub kicked: u64,
    /// Members lost.
    pub lost: u64,
    /// Crashes of the lobby's process.
    pub crashes: u64,
    /// Crashes and freezes of peers, and cuts between them and the lobby.
    pub struck: u64,
    /// Syncs that failed, or did not reach the store.
    pub disk_faults: u64,
    /// Times that everything soft was forgotten.
    pub forgotten: u64,
    /// Messages lost.
    pub dropped: u64,
    /// Hosts of long ago that were told so.
    pub fenced: u64,
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
    /// A peer does what it does.
    Acts { peer: usize },
    /// A request arrives, at whichever process is there.
    Arrives { peer: usize, key: PeerKey, ask: Ask },
    /// An answer arrives.
    Told { peer: usize, key: PeerKey, word: Word },
    /// A sync ends.
    Synced { life: u64, batch: Batch },
    /// The store is tried again.
    TriesAgain { life: u64 },
    /// The lobby's deadline has come, sooner or later.
    Wakes { life: u64 },
    /// A new process takes the lobby.
    Starts,
}

#[derive(Debug)]
struct World {
    random: Random,
    scenario: Scenario,
    bug: Option<Bug>,
    now: Micros,
    agenda: Agenda<Happening>,
    busy: bool,
    disk: Disk<Lobby>,
    seat: Option<Seat<Lobby, Release>>,
    life: u64,
    wakes: Option<Micros>,
    /// Its clock against the world's, in milliseconds.
    skew: u64,
    /// The newest time it has told.
    told: Timestamp,
    peers: Vec<Peer>,
    keys: u64,
    seen: Seen,
    trace: Trace,
    counts: Counts,
}

/// What the world remembers, whatever the lobby does.
#[derive(Debug, Default)]
struct Seen {
    /// Every certificate that anybody was ever told.
    certificates: BTreeMap<(SessionId, Epoch), PeerKey>,
    /// Every grant that became durable.
    granted: BTreeMap<(SessionId, Epoch), PeerKey>,
    /// Who was thrown out, durably.
    kicked: BTreeSet<(SessionId, Player)>,
    /// Whose process a key is.
    players: BTreeMap<PeerKey, Player>,
    /// When the host of an epoch was last heard by the lobby, or signed what another brought.
    renewed: BTreeMap<(SessionId, Epoch), Micros>,
    /// Sessions that ended, durably.
    ended: BTreeSet<SessionId>,
}

impl World {
    fn new(mut random: Random, bug: Option<Bug>, text: Text) -> Self {
        let scenario = Scenario::draw(&mut random);
        let mut world = Self {
            random,
            scenario,
            bug,
            now: 0,
            agenda: Agenda::empty(),
            busy: true,
            disk: Disk::empty("lobby", Lobby::default()),
            seat: None,
            life: 0,
            wakes: None,
            skew: 0,
            told: Timestamp::EPOCH,
            peers: Vec::new(),
            keys: 0,
            seen: Seen::default(),
            trace: Trace::new(text),
            counts: Counts::default(),
        };
        for number in 0..world.random.between(2, 6) {
            let peer = world.comes(number);
            world.peers.push(peer);
        }
        world
    }

    fn live(&mut self) -> Result<(), Broken> {
        self.say("world", |world| format!("{:?}, {} peers", world.scenario, world.peers.len()));
        self.start()?;
        for peer in 0..self.peers.len() {
            self.after(1 + peer as Micros, Happening::Acts { peer });
        }
        let until = self.random.between(BUSY_MAX / 4, BUSY_MAX);
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

    /// Faults stop, and nobody goes any more; every session comes to a host that is heard, or to its end.
    fn rest(&mut self) {
        self.busy = false;
        self.say("world", |_| "faults stop".to_owned());
        self.peers_rest();
    }

    fn happens(&mut self, what: Happening) -> Result<(), Broken> {
        match what {
            Happening::Acts { peer } => {
                self.acts(peer);
                if self.busy { self.strike() } else { Ok(()) }
            }
            Happening::Arrives { peer, key, ask } => self.arrives(peer, key, ask),
            Happening::Told { peer, key, word } => {
                self.hears(peer, key, &word);
                Ok(())
            }
            Happening::Synced { life, batch } if life == self.life => self.synced(&batch),
            Happening::TriesAgain { life } if life == self.life => self.tries_again(),
            // A sooner deadline may have taken this one's place.
            Happening::Wakes { life } if life == self.life && self.wakes == Some(self.now) => self.wakes(),
            Happening::Synced { .. } | Happening::TriesAgain { .. } | Happening::Wakes { .. } => Ok(()),
            Happening::Starts => self.start(),
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
