//! Worlds of peers: one session, its hosts that die, freeze, are cut off and come back, and members that come and go.
//!
//! The peers are the production rules (`mainstay_migration::Session`) with nothing between: what reaches them is drawn from
//! the seed. At the end faults stop and everything is healed, and whoever is left must have one host.

mod clock;
mod deaths;
mod divided;
mod faults;
mod flags;
mod game;
mod keys;
mod laws;
mod lies;
mod listeners;
mod lobby;
mod moments;
mod pasts;
mod peer;
mod plots;
mod scenario;
mod several;
mod storms;
mod telling;
mod unrest;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use mainstay_core::Timestamp;
use mainstay_migration::{Arbiter, Guards, Message, PeerId, Question, Ruling, SessionId, Stamp, Tick};

use self::laws::Oracle;
use self::listeners::Reply;
use self::lobby::Directory;
use self::peer::{Alive, Peer};
use self::scenario::{Comers, Deaths, Fates, Faults, Flags, Plots, Scenario};
pub use self::several::several;
use crate::agenda::{Agenda, Micros};
use crate::laws::Broken;
use crate::random::{Random, mix};
use crate::trace::{Text, Trace, words};

/// When the founder's clock begins.
const BEGIN_MS: u64 = 1_700_000_000_000;
/// How long faults go on, at most.
const BUSY_MAX: Micros = 150_000_000;
/// How long a session lives whose hosts go one after another: many more than anybody remembers.
const SUCCESSION: Micros = 450_000_000;
/// How long the next one stays at most, once the move is over for everybody.
const REIGN_MAX: Micros = 1_000_000;
/// How long somebody stands still at most where nothing else is wrong, and what the others have to themselves after that, at most.
const SLEEP_MAX: Micros = 6_000_000;
const AWAKE_MAX: Micros = 8_000_000;
/// The session of a world that has one.
const SESSION: SessionId = SessionId(7);
/// An hour.
const HOUR: Micros = 3_600_000_000;
/// How long it may take after that until there is one host: the budget of a migration, one more for what was lost while
/// it ended, and joins.
const REST: Micros = 75_000_000;

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
    /// Migrations that ended well, one for each peer that lived through them.
    pub moved: u64,
    /// Migrations that were terminated, likewise.
    pub terminated: u64,
    /// Of those that ended well, how many were reset on the way: multi-migrations.
    pub multi: u64,
    /// Certificates.
    pub certified: u64,
    /// Hosts without a majority.
    pub forks: u64,
    /// Sides that merged, as peers lived through it.
    pub merged: u64,
    /// Old hosts that woke and were fenced.
    pub fenced: u64,
    /// Hosts that gave their session to whoever suited better, by themselves.
    pub suited: u64,
    /// Hosts that handed over, in the lobby or leaving.
    pub handed_over: u64,
    /// Processes that crashed.
    pub crashes: u64,
    /// Processes that froze.
    pub freezes: u64,
    /// Links that were cut, one way or both.
    pub cuts: u64,
    /// Peers that joined after the beginning.
    pub joined: u64,
    /// Peers that were not let in, or gave up.
    pub kept_out: u64,
    /// Inputs that a host's game applied.
    pub inputs: u64,
    /// States that were acknowledged.
    pub acknowledged: u64,
    /// And that somebody was to hold who could have been host next.
    pub copied: u64,
    /// Times that a peer missed its host and asked the others.
    pub suspicions: u64,
    /// Callbacks of listeners.
    pub calls: u64,
    /// Messages of hosts that were applied.
    pub applied: u64,
    /// Messages of the game that were refused for their stamp.
    pub refused: u64,
    /// Questions that came to the lobby.
    pub questions: u64,
    /// Times that the lobby was down, or out of reach of some.
    pub outages: u64,
    /// Peers that asked to be let in without the lobby's pass.
    pub intruders: u64,
    /// States that no host wrote, and a new host was given.
    pub forged: u64,
    /// Renewals that members brought for their host, and the lobby counted.
    pub brought: u64,
    /// Storms of one member's packets.
    pub storms: u64,
    /// Their packets that came.
    pub pelted: u64,
    /// Clocks that leapt ahead.
    pub leaps: u64,
    /// Processes that froze, and their clocks with them.
    pub slept: u64,
    /// Listeners that panicked.
    pub panics: u64,
    /// Peers and lobbies that were struck as a session took a step.
    pub struck: u64,
    /// Peers that changed their network.
    pub roamed: u64,
    /// Bursts of lost packets.
    pub bursts: u64,
    /// Members that asked to be host by a list of old.
    pub old_claims: u64,
    /// Who asked to be let in and speaks another version of the protocol.
    pub of_another_version: u64,
    /// Times that somebody came, left, was thrown out or changed its network in the moment in which a session took a step.
    pub meanwhile: u64,
    /// New hosts that somebody could have told what was acknowledged.
    pub kept: u64,
    /// And that went on from what the host before stood still with.
    pub handed_on: u64,
    /// What hosts told that had to be acknowledged before.
    pub told: u64,
    /// Times that somebody was told another past than it knew.
    pub rewritten: u64,
    /// Times that a member asked for votes that it does not take.
    pub vain_claims: u64,
    /// Votes that prove nothing.
    pub worthless_votes: u64,
    /// Times that a member wrote in its host's name who votes.
    pub forged_views: u64,
    /// Answers in the lobby's place that make whoever asked host.
    pub forged_grants: u64,
    /// Who died in the moment in which its host did.
    pub companions: u64,
    /// Hosts that died as they gave their session away.
    pub amid_giving: u64,
    /// Flags and variables by which somebody would go along, or would not any more, that were turned.
    pub flagged: u64,
    /// Whose session was over because it, its host or its lobby did not go along.
    pub stayed: u64,
    /// Hosts after one that had not reached everybody.
    pub came_first: u64,
}

/// Lives one world to its end: every second one of a session under a lobby. `G` are all guards but for the mutation check.
#[must_use]
pub fn run<G: Guards>(seed: u64, text: Text) -> Report {
    run_under::<G>(arbiter_of(seed), seed, text)
}

fn arbiter_of(seed: u64) -> Arbiter {
    if mix(seed).is_multiple_of(2) { Arbiter::Lobby } else { Arbiter::Majority }
}

/// The same, under that arbiter.
#[must_use]
pub fn run_under<G: Guards>(arbiter: Arbiter, seed: u64, text: Text) -> Report {
    let (random, scenario) = drawn(arbiter, seed);
    live::<G>(seed, random, scenario, text)
}

/// The same of a world in which a member plots against whoever comes next.
#[must_use]
pub fn plotted<G: Guards>(arbiter: Arbiter, seed: u64, text: Text) -> Report {
    let (random, scenario) = drawn(arbiter, seed);
    let scenario = Scenario { faults: Faults::Swarm, plots: Plots::Some, deaths: Deaths::Alone, ..scenario };
    live::<G>(seed, random, scenario, text)
}

/// The same of one in which nothing goes wrong but that hosts die, and not alone.
#[must_use]
pub fn in_company<G: Guards>(arbiter: Arbiter, seed: u64, text: Text) -> Report {
    let mut random = Random::seeded(seed);
    let scenario =
        Scenario { arbiter, ..Scenario::of_crashes(&mut random) }.on_terms(mix(seed ^ scenario::TERMS));
    live::<G>(seed, random, Scenario { deaths: Deaths::InCompany, ..scenario }, text)
}

fn drawn(arbiter: Arbiter, seed: u64) -> (Random, Scenario) {
    let mut random = Random::seeded(seed);
    let scenario = Scenario { arbiter, ..Scenario::draw(&mut random) };
    let scenario = scenario.crowded(mix(!seed)).unheard(mix(mix(seed))).gathering(mix(!mix(seed)));
    let scenario = scenario.rough(mix(seed ^ scenario::ROUGH)).fated(mix(seed ^ scenario::FATED));
    let scenario = scenario.restless(mix(seed ^ scenario::RESTLESS)).on_terms(mix(seed ^ scenario::TERMS));
    let scenario = scenario.edited(mix(seed ^ scenario::EDITED)).plotted(mix(seed ^ scenario::PLOTTED));
    let scenario = scenario.in_company(mix(seed ^ scenario::IN_COMPANY));
    let scenario = scenario.flagged(mix(seed ^ scenario::FLAGGED));
    (random, scenario.stateless(mix(seed ^ scenario::STATELESS)))
}

/// A small session that lives through many hosts: what costs least where a law needs many migrations to be broken.
#[must_use]
pub fn succession<G: Guards>(seed: u64, text: Text) -> Report {
    let mut random = Random::seeded(seed);
    let scenario = Scenario::succession(&mut random, arbiter_of(seed)).fated(mix(seed ^ scenario::FATED));
    let scenario = scenario.restless(mix(seed ^ scenario::RESTLESS)).on_terms(mix(seed ^ scenario::TERMS));
    let scenario = scenario.edited(mix(seed ^ scenario::EDITED)).stateless(mix(seed ^ scenario::STATELESS));
    let scenario = scenario.flagged(mix(seed ^ scenario::FLAGGED));
    live::<G>(seed, random, scenario, text)
}

/// A session of two to four, of whom one after another stands still for a while, or goes.
#[must_use]
pub fn few<G: Guards>(seed: u64, text: Text) -> Report {
    let mut random = Random::seeded(seed);
    let scenario = Scenario::few(&mut random, arbiter_of(seed)).on_terms(mix(seed ^ scenario::TERMS));
    let scenario = scenario.flagged(mix(seed ^ scenario::FLAGGED));
    live::<G>(seed, random, scenario, text)
}

/// A session of which a part is cut off again and again, and the host of the rest is lost.
#[must_use]
pub fn divided<G: Guards>(seed: u64, text: Text) -> Report {
    let mut random = Random::seeded(seed);
    let scenario = Scenario::divided(&mut random, arbiter_of(seed));
    live::<G>(seed, random, scenario, text)
}

/// An hour of eight players on wireless links that nothing is wrong with: radios pause, packets are lost and come in bursts.
/// Nobody migrates in it.
#[must_use]
pub fn wireless_hour<G: Guards>(seed: u64, text: Text) -> Report {
    let mut random = Random::seeded(seed);
    let scenario = Scenario::wireless(&mut random);
    live::<G>(seed, random, scenario, text)
}

fn live<G: Guards>(seed: u64, random: Random, scenario: Scenario, text: Text) -> Report {
    let mut world = World::<G>::new(random, scenario, text);
    let broken = caught(|| world.live());
    world.report(seed, broken)
}

/// Else a panic would take the number with it that brings it back.
fn caught(live: impl FnOnce() -> Result<(), Broken>) -> Option<Broken> {
    let lived = catch_unwind(AssertUnwindSafe(live));
    lived.unwrap_or_else(|panic| Err(panicked(&*panic))).err()
}

fn panicked(panic: &(dyn Any + Send)) -> Broken {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
    Broken::new("I16: nothing panics", words.unwrap_or("without a word"))
}

/// What goes over a link.
#[derive(Debug, Clone)]
enum Parcel {
    /// A message of the protocol.
    Protocol(Box<Message>),
    /// A message of the game: the host's world at one tick.
    Game { stamp: Stamp, tick: Tick },
}

/// What is to happen.
#[derive(Debug)]
enum Happening {
    /// A parcel comes.
    Arrives {
        from: PeerId,
        to: PeerId,
        parcel: Parcel,
    },
    /// A peer's deadline has come.
    Wakes {
        peer: PeerId,
    },
    /// A peer's game steps, if it is a host's.
    Steps {
        peer: PeerId,
    },
    /// A game is gone, and its process closes what it left open.
    Quits {
        peer: PeerId,
    },
    /// A listener answers.
    Answers {
        peer: PeerId,
        reply: Reply,
    },
    /// Something goes wrong, or somebody acts.
    Fault,
    /// A frozen process goes on.
    Thaws {
        peer: PeerId,
    },
    /// One more host crashes, before the session has come to rest.
    CrashesToo,
    LosesItsHost {
        away: Option<(PeerId, Micros)>,
    },
    /// A cut is healed.
    Heals {
        cut: u64,
    },
    /// Somebody starts, and wants in.
    Starts {
        peer: PeerId,
    },
    /// A peer's question comes to the lobby.
    Asks {
        peer: PeerId,
        asked: Timestamp,
        question: Question,
    },
    /// And its answer to the peer.
    Ruled {
        peer: PeerId,
        asked: Timestamp,
        ruling: Ruling,
    },
    /// The game begins.
    Begins,
    /// The lobby is up again.
    LobbyStarts,
    /// Somebody says what is not so.
    Lies,
    /// Somebody begins to storm.
    Storms,
    /// One packet of that comes.
    Pelts {
        from: PeerId,
        at: PeerId,
        message: Box<Message>,
    },
    /// Somebody's clock leaps ahead.
    Leaps,
    /// Where there is no rest, something of that.
    Stirs,
    /// Somebody comes, goes or changes its network.
    Changes,
    /// Somebody plots against whoever comes next.
    Plots,
    /// Somebody would not go along any more, or would again.
    Flags,
    /// A host that gives its session away dies, if it still does.
    DiesGiving {
        host: PeerId,
    },
}

#[derive(Debug)]
struct World<G: Guards> {
    random: Random,
    /// The chance of whoever lies.
    liars: Random,
    forger: Option<lies::Forger>,
    /// The chance of storms and clocks.
    odds: Random,
    stormers: storms::Stormers,
    /// The chance of whoever is struck as a session takes a step.
    fates: Random,
    /// The chance of whoever rewrites the past.
    editors: Random,
    edits: pasts::Edits,
    /// The chance of whoever plots, and who that is.
    plotting: Random,
    plotter: Option<PeerId>,
    /// The chance of whoever would not go along, and what the lobby says of its sessions.
    flagging: Random,
    lobby_flag: flags::Flag,
    unrest: unrest::Unrest,
    session: SessionId,
    scenario: Scenario,
    /// The machines of it that are in others, too.
    shared: Vec<PeerId>,
    /// As the so-manyeth the first of them comes.
    first_shared: u128,
    now: Micros,
    /// Until when faults go on.
    until: Micros,
    agenda: Agenda<Happening>,
    busy: bool,
    /// When a host last went, where one goes after another.
    went: Micros,
    peers: BTreeMap<PeerId, Peer<G>>,
    next_peer: u128,
    /// Directed links that carry nothing, by the cut that did it.
    cuts: BTreeMap<u64, BTreeSet<(PeerId, PeerId)>>,
    next_cut: u64,
    lobby: Directory,
    /// Until when a peer's radio neither sends nor receives.
    radios: BTreeMap<PeerId, Micros>,
    oracle: Oracle,
    trace: Trace,
    counts: Counts,
}

impl<G: Guards> World<G> {
    fn new(random: Random, scenario: Scenario, text: Text) -> Self {
        Self {
            liars: random.clone(),
            forger: None,
            odds: Random::seeded(mix(random.clone().next())),
            stormers: storms::Stormers::default(),
            fates: Random::seeded(mix(!random.clone().next())),
            editors: Random::seeded(mix(mix(random.clone().next()))),
            edits: pasts::Edits::default(),
            plotting: Random::seeded(mix(!mix(random.clone().next()))),
            plotter: None,
            flagging: Random::seeded(mix(mix(!random.clone().next()))),
            lobby_flag: flags::Flag::default(),
            unrest: unrest::Unrest::default(),
            session: SESSION,
            random,
            scenario,
            shared: Vec::new(),
            first_shared: 1,
            now: 0,
            until: 0,
            agenda: Agenda::empty(),
            busy: true,
            went: 0,
            peers: BTreeMap::new(),
            next_peer: 1,
            cuts: BTreeMap::new(),
            next_cut: 0,
            lobby: Directory::default(),
            radios: BTreeMap::new(),
            oracle: Oracle::default(),
            trace: Trace::new(text),
            counts: Counts::default(),
        }
    }

    fn live(&mut self) -> Result<(), Broken> {
        self.begin();
        while let Some(what) = self.take() {
            self.lives_through(what)?;
        }
        laws::at_rest(self)
    }

    fn report(mut self, seed: u64, broken: Option<Broken>) -> Report {
        let rest = self.random.next();
        self.trace.number(rest);
        Report {
            seed,
            counts: self.counts,
            lived: self.now,
            hash: self.trace.hash(),
            broken,
            trace: self.trace.into_text(),
        }
    }

    fn begin(&mut self) {
        self.say("world", |world| format!("{:?}", world.scenario));
        for index in 0..=self.scenario.peers {
            let peer = self.new_peer();
            let at = if index == 0 { 0 } else { self.random.between(1_000, 1_000_000) };
            self.agenda.put(at, Happening::Starts { peer });
        }
        if self.scenario.gathers > 0 {
            self.agenda.put(self.scenario.gathers, Happening::Begins);
        }
        self.agenda.put(5_000_000, Happening::Fault);
        self.agenda.put(5_500_000, Happening::Lies);
        self.agenda.put(6_000_000, Happening::Storms);
        self.agenda.put(6_500_000, Happening::Leaps);
        if self.scenario.plots == Plots::Some {
            self.agenda.put(7_500_000, Happening::Plots);
        }
        if self.scenario.flags == Flags::Some {
            self.agenda.put(8_000_000, Happening::Flags);
        }
        if self.scenario.fates == Fates::Restless {
            self.skews_lobby();
            self.agenda.put(7_000_000, Happening::Stirs);
        }
        let busy = match self.scenario.faults {
            Faults::Wireless => HOUR,
            Faults::HostAfterHost | Faults::Swarm if self.scenario.comers == Comers::OneForEach => SUCCESSION,
            Faults::Calm
            | Faults::OneDeaf
            | Faults::HostCrashes
            | Faults::HostAfterHost
            | Faults::Swarm
            | Faults::HostUnheard
            | Faults::Stormer
            | Faults::Beside
            | Faults::Sleepers => self.random.between(BUSY_MAX / 10, BUSY_MAX),
        };
        self.until = 5_000_000 + busy;
    }

    /// When something happens next, if anything does before its end.
    fn next_at(&self) -> Option<Micros> {
        self.agenda.next_at().filter(|next| *next <= self.end())
    }

    /// When everything has to be over. A session that its host gives to another just before is judged once that one could take it, or another in
    /// its place.
    fn end(&self) -> Micros {
        let end = self.until + REST;
        // Its host says so again and again.
        self.oracle.given().map_or(end, |given| end.max(given.min(end) + laws::GIVEN_MAX))
    }

    /// What happens next.
    fn take(&mut self) -> Option<Happening> {
        if self.busy && self.next_at()? > self.until {
            self.heal();
        }
        self.next_at()?;
        let (at, what) = self.agenda.take()?;
        self.now = at;
        self.counts.events += 1;
        Some(what)
    }

    /// That happens.
    fn lives_through(&mut self, what: Happening) -> Result<(), Broken> {
        self.happens(what)?;
        laws::after(self)
    }

    fn happens(&mut self, what: Happening) -> Result<(), Broken> {
        match what {
            Happening::Arrives { from, to, parcel } => self.arrives(from, to, parcel),
            Happening::Wakes { peer } => self.wakes(peer),
            Happening::Steps { peer } => self.steps(peer),
            Happening::Answers { peer, reply } => self.answers(peer, reply),
            Happening::Quits { peer } => self.give(peer, mainstay_migration::Input::Leave),
            Happening::Fault if self.busy => {
                let pause = self.pause();
                self.after(pause, Happening::Fault);
                self.strike()
            }
            Happening::Fault => Ok(()),
            Happening::CrashesToo => self.crashes_too(),
            Happening::LosesItsHost { away } => self.loses_its_host(away),
            Happening::Thaws { peer } => self.thaws(peer),
            Happening::Heals { cut } => {
                self.mends(cut);
                Ok(())
            }
            Happening::Starts { peer } => self.starts(peer),
            Happening::Asks { peer, asked, question } => self.is_asked(peer, asked, &question),
            Happening::Ruled { peer, asked, ruling } => self.is_ruled(peer, asked, ruling),
            Happening::Begins => self.begins(),
            Happening::LobbyStarts => self.lobby_starts(),
            Happening::Lies => {
                // Who lies speaks across every cut, and is heard.
                if self.busy && self.scenario.deaths != Deaths::OfTheLarger {
                    self.lies();
                }
                Ok(())
            }
            Happening::Storms => {
                self.storms();
                Ok(())
            }
            Happening::Pelts { from, at, message } => self.pelts(from, at, *message),
            Happening::Leaps => self.leaps(),
            Happening::Stirs => self.stirs(),
            Happening::Changes => self.changes(),
            Happening::Plots => self.plots(),
            Happening::Flags => self.turns_flags(),
            Happening::DiesGiving { host } => self.dies_giving(host),
        }
    }

    /// How long until the next fault. Where only hosts crash, the session has come to rest by then.
    fn pause(&mut self) -> Micros {
        match self.scenario.faults {
            Faults::HostCrashes => 12_000_000 + self.random.below(self.scenario.pause),
            Faults::HostAfterHost => self.random.between(REIGN_MAX / 5, REIGN_MAX),
            Faults::Sleepers => self.random.between(SLEEP_MAX, SLEEP_MAX + AWAKE_MAX),
            Faults::Calm
            | Faults::OneDeaf
            | Faults::Swarm
            | Faults::Wireless
            | Faults::HostUnheard
            | Faults::Stormer
            | Faults::Beside => self.random.between(1_000, self.scenario.pause),
        }
    }

    /// Faults stop, and everything that is wrong is made good.
    fn heal(&mut self) {
        self.busy = false;
        self.cuts.keys().copied().collect::<Vec<_>>().into_iter().for_each(|cut| self.mends(cut));
        self.heal_lobby();
        self.scenario.loss = 0;
        self.scenario.doubled = 0;
        self.scenario.spikes = 0;
        let frozen: Vec<PeerId> =
            self.peers.iter().filter(|(_, peer)| peer.alive == Alive::Frozen).map(|(id, _)| *id).collect();
        for peer in frozen {
            self.after(1, Happening::Thaws { peer });
        }
        self.say("world", |_| "faults stop, and everything is healed".to_owned());
    }

    /// A cut is healed.
    fn mends(&mut self, cut: u64) {
        for (from, to) in self.cuts.remove(&cut).unwrap_or_default() {
            self.oracle.trouble_between(from, to, self.now);
        }
    }

    fn after(&mut self, delay: Micros, what: Happening) {
        self.agenda.put(self.now + delay, what);
    }

    fn say(&mut self, who: impl std::fmt::Display, what: impl FnOnce(&Self) -> String) {
        let mut trace = std::mem::replace(&mut self.trace, Trace::new(Text::None));
        trace.line(self.now, || words(who, what(self)));
        self.trace = trace;
    }
}
