//! The simulator: control plane, agents, game processes and callers in one thread, on one clock, from one seed.
//!
//! It drives the production rules (`mainstay_fleet`, `mainstay_supervisor`) behind the production write-ahead order
//! (`mainstay_journal::Writer`) through faulty networks, disks, processes and machines. It has no tick: it jumps from one
//! happening to the next, so a wake-up that the rules forget to ask for is missed here as it would be in the field. After
//! every event the laws are checked ([`Broken`]); at the end faults and callers stop, and the world must come to rest with
//! reality equal to desire. A seed is a whole bug report: the same seed gives the same trace, byte for byte.
//!
//! An *event* is one happening taken from the agenda: a message or an answer that arrives, a sync that ends, a deadline,
//! a step of a job of an agent's hand, a process that ends, a caller that acts.
#![forbid(unsafe_code)]

mod agenda;
mod bug;
pub mod command_line;
mod laws;
pub mod lobby;
pub mod matching;
mod message;
pub mod migration;
mod os;
mod random;
mod scenario;
mod seat;
mod trace;
mod world;

pub use agenda::Micros;
pub use bug::{Bug, UnknownBug};
pub use laws::Broken;
pub use random::Random;
pub use scenario::{
    AllocationKnobs, Crashes, Disk, FleetKnobs, Games, MachineKnobs, Network, People, ProvidedKnobs,
    ProviderFaults, Scenario,
};
pub use trace::Text;
pub use world::Counts;

use world::World;

/// What kind of world is drawn from the seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weather {
    /// A random subset of the faults.
    Swarm,
    /// No fault but what games and callers do by themselves.
    Calm,
}

/// How to run one seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// What kind of world.
    pub weather: Weather,
    /// A planted mistake.
    pub bug: Option<Bug>,
    /// Whether the trace is kept as text.
    pub text: Text,
}

impl Options {
    /// A swarm of faults, nothing planted, no text.
    pub const STANDARD: Self = Self { weather: Weather::Swarm, bug: None, text: Text::None };
}

/// What became of one world.
#[derive(Debug)]
pub struct Report {
    /// Its seed.
    pub seed: u64,
    /// What it was.
    pub scenario: Scenario,
    /// What happened how often.
    pub counts: Counts,
    /// Virtual time until its end.
    pub lived: Micros,
    /// The hash of its trace.
    pub hash: u64,
    /// The law that did not hold, if one did not; the world ended there.
    pub broken: Option<Broken>,
    /// The trace, where text was asked for.
    pub trace: Option<String>,
}

/// Lives one world to its end.
#[must_use]
pub fn run(seed: u64, options: Options) -> Report {
    let mut random = Random::seeded(seed);
    let scenario = match options.weather {
        Weather::Swarm => Scenario::draw(&mut random),
        Weather::Calm => Scenario::calm(&mut random),
    };
    run_scenario(seed, scenario, random, options)
}

/// Lives one given world to its end.
#[must_use]
pub fn run_scenario(seed: u64, scenario: Scenario, random: Random, options: Options) -> Report {
    let mut world = World::new(seed, scenario.clone(), random, options.bug, options.text);
    let broken = world.live().err();
    // What is still to be drawn depends on everything drawn before: a divergence nobody traced shows here.
    let rest = world.random.next();
    world.trace.number(rest);
    Report {
        seed,
        scenario,
        counts: world.counts,
        lived: world.now,
        hash: world.trace.hash(),
        broken,
        trace: world.trace.into_text(),
    }
}
