//! `mainstay simulator run` and `mainstay simulator replay`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};

use mainstay_migration::Guarded;

use crate::{Broken, Bug, Micros, Options, Text, Weather, lobby, matching, migration, run};

/// One world of peers in how many is lived twice: that costs two of a hundred.
const TWICE_IN: u64 = 50;

/// Simulated worlds: control plane, agents, processes and callers under faults, from a seed.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Live many worlds; the first seed that breaks a law ends the run and is printed.
    Run(Many),
    /// Live one world and print what happens in it, one line a step.
    Replay(One),
}

#[derive(Debug, Args)]
struct Many {
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds; without it, as many as fit into --seconds.
    #[arg(long)]
    seeds: Option<u64>,
    /// How long at most.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    #[command(flatten)]
    world: OfWorld,
}

#[derive(Debug, Args)]
struct One {
    /// The seed.
    #[arg(long)]
    seed: u64,
    #[command(flatten)]
    world: OfWorld,
}

#[derive(Debug, Args)]
struct OfWorld {
    /// Worlds of one matchmaking queue, with faults of their own, instead of a fleet's.
    #[arg(long, conflicts_with_all = ["calm", "bug"])]
    matching: bool,
    /// Worlds of peers whose hosts die, freeze and are cut off, instead of a fleet's.
    #[arg(long, conflicts_with_all = ["calm", "bug", "matching"])]
    migration: bool,
    /// Of those, small ones that live through many hosts, where somebody new comes for each: the most migrations a second.
    #[arg(long, requires = "migration")]
    succession: bool,
    /// Of those, two or three sessions at once, some of whose machines are in all of them.
    #[arg(long, requires = "migration", conflicts_with = "succession")]
    several: bool,
    /// Of those, two to four players of whom one after another stands still for a while, or goes.
    #[arg(long, requires = "migration", conflicts_with_all = ["succession", "several"])]
    few: bool,
    /// Of those, sessions of which a part is cut off, and the host of the rest is lost.
    #[arg(long, requires = "migration", conflicts_with_all = ["succession", "several", "few"])]
    divided: bool,
    /// Worlds of one lobby whose sessions' hosts die, freeze and are cut off, instead of a fleet's.
    #[arg(long, conflicts_with_all = ["calm", "bug", "matching", "migration"])]
    lobby: bool,
    /// Without faults of network, disks and machines.
    #[arg(long)]
    calm: bool,
    /// Plant a mistake in the hands around the rules.
    #[arg(long)]
    bug: Option<Bug>,
}

#[derive(Debug, Parser)]
#[command(name = "simulator")]
struct Alone {
    #[command(flatten)]
    arguments: Arguments,
}

/// Parses and runs; for a program that is nothing but the simulator.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Alone::try_parse_from(arguments) {
        Ok(alone) => execute(&alone.arguments),
        Err(error) => error.exit(),
    }
}

/// Runs what was asked. Exit code 0: every law held; 1: a law is broken; 2: the output could not be written.
#[must_use]
pub fn execute(arguments: &Arguments) -> ExitCode {
    let mut out = io::stdout().lock();
    let done = match &arguments.command {
        Command::Run(many) => run_many(many, &mut out),
        Command::Replay(one) => replay(one, &mut out),
    };
    match done {
        Ok(Held::All) => ExitCode::SUCCESS,
        Ok(Held::Broken) => ExitCode::from(1),
        Err(_) => ExitCode::from(2),
    }
}

/// Whether the laws held.
enum Held {
    All,
    Broken,
}

/// What every kind of world tells of itself.
struct Lived {
    events: u64,
    /// Hosts that came after another, where sessions move.
    migrations: u64,
    lived: Micros,
    broken: Option<Broken>,
}

fn run_many(many: &Many, out: &mut impl Write) -> io::Result<Held> {
    let begun = Instant::now();
    let limit = Duration::from_secs(many.seconds);
    let last = many.seeds.map_or(u64::MAX, |seeds| many.seed.saturating_add(seeds));
    let (mut events, mut migrations, mut worlds, mut lived) = (0_u64, 0_u64, 0_u64, 0_u64);
    for seed in many.seed..last {
        if begun.elapsed() >= limit {
            break;
        }
        let world = many.world.live(seed);
        events += world.events;
        migrations += world.migrations;
        lived += world.lived;
        worlds += 1;
        if let Some(broken) = &world.broken {
            writeln!(out, "seed {seed} breaks a law after {} events: {broken}", world.events)?;
            writeln!(out, "  replay it: mainstay simulator replay --seed {seed}{}", many.world.words())?;
            return Ok(Held::Broken);
        }
    }
    let spent = begun.elapsed();
    let rate = events.saturating_mul(1_000) / u64::try_from(spent.as_millis()).unwrap_or(u64::MAX).max(1);
    let moved = if many.world.migration { format!("{migrations} migrations, ") } else { String::new() };
    writeln!(
        out,
        "{worlds} worlds, {moved}{events} events, {} virtual hours in {:.1} s: {rate} events a second; every law held",
        lived / 3_600_000_000,
        spent.as_secs_f64(),
    )?;
    Ok(Held::All)
}

fn replay(one: &One, out: &mut impl Write) -> io::Result<Held> {
    let (broken, trace, hash, counts) = if one.world.matching {
        let report = matching::run(one.seed, None, Text::Lines);
        writeln!(out, "seed {}", one.seed)?;
        (report.broken, report.trace, report.hash, format!("{:?}", report.counts))
    } else if one.world.several {
        return replay_several(one.seed, out);
    } else if one.world.migration {
        let report = one.world.of_peers(one.seed, Text::Lines);
        writeln!(out, "seed {}", one.seed)?;
        (report.broken, report.trace, report.hash, format!("{:?}", report.counts))
    } else if one.world.lobby {
        let report = lobby::run(one.seed, None, Text::Lines);
        writeln!(out, "seed {}", one.seed)?;
        (report.broken, report.trace, report.hash, format!("{:?}", report.counts))
    } else {
        let report = run(one.seed, one.world.options(Text::Lines));
        writeln!(out, "seed {}: {:?}", one.seed, report.scenario)?;
        (report.broken, report.trace, report.hash, format!("{:?}", report.counts))
    };
    if let Some(trace) = &trace {
        out.write_all(trace.as_bytes())?;
    }
    writeln!(out, "hash {hash:016x}, {counts}")?;
    match broken {
        Some(broken) => {
            writeln!(out, "BROKEN: {broken}")?;
            Ok(Held::Broken)
        }
        None => {
            writeln!(out, "every law held")?;
            Ok(Held::All)
        }
    }
}

/// One session after the other.
fn replay_several(seed: u64, out: &mut impl Write) -> io::Result<Held> {
    let mut held = Held::All;
    for (number, report) in migration::several::<Guarded>(seed, Text::Lines).into_iter().enumerate() {
        writeln!(out, "seed {seed}, session {number}")?;
        out.write_all(report.trace.unwrap_or_default().as_bytes())?;
        writeln!(out, "hash {:016x}, {:?}", report.hash, report.counts)?;
        if let Some(broken) = report.broken {
            writeln!(out, "BROKEN: {broken}")?;
            held = Held::Broken;
        }
    }
    Ok(held)
}

impl OfWorld {
    fn live(&self, seed: u64) -> Lived {
        if self.lobby {
            let lobby::Report { counts, lived, broken, .. } = lobby::run(seed, None, Text::None);
            return Lived { events: counts.events, migrations: 0, lived, broken };
        }
        if self.matching {
            let matching::Report { counts, lived, broken, .. } = matching::run(seed, None, Text::None);
            return Lived { events: counts.events, migrations: 0, lived, broken };
        }
        if self.several {
            let mut all = Lived { events: 0, migrations: 0, lived: 0, broken: None };
            for migration::Report { counts, lived, broken, .. } in
                migration::several::<Guarded>(seed, Text::None)
            {
                all.events += counts.events;
                all.migrations += (counts.certified + counts.forks).saturating_sub(1);
                all.lived += lived;
                all.broken = all.broken.or(broken);
            }
            return all;
        }
        if self.migration {
            let migration::Report { counts, lived, broken, hash, .. } = self.of_peers(seed, Text::None);
            let broken = broken.or_else(|| self.is_lived_otherwise(seed, hash));
            // The founder came after nobody.
            let migrations = (counts.certified + counts.forks).saturating_sub(1);
            return Lived { events: counts.events, migrations, lived, broken };
        }
        let report = run(seed, self.options(Text::None));
        Lived { events: report.counts.events, migrations: 0, lived: report.lived, broken: report.broken }
    }

    /// I17, in one world of many.
    fn is_lived_otherwise(&self, seed: u64, hash: u64) -> Option<Broken> {
        let again = seed.is_multiple_of(TWICE_IN).then(|| self.of_peers(seed, Text::None).hash);
        let differs = again.filter(|again| *again != hash);
        differs
            .map(|again| Broken::new("I17: one seed is one world", format!("{hash:016x}, then {again:016x}")))
    }

    fn of_peers(&self, seed: u64, text: Text) -> migration::Report {
        if self.succession {
            migration::succession::<Guarded>(seed, text)
        } else if self.few {
            migration::few::<Guarded>(seed, text)
        } else if self.divided {
            migration::divided::<Guarded>(seed, text)
        } else {
            migration::run::<Guarded>(seed, text)
        }
    }

    fn options(&self, text: Text) -> Options {
        let weather = if self.calm { Weather::Calm } else { Weather::Swarm };
        Options { weather, bug: self.bug, text }
    }

    /// The same again, for a command that a person copies.
    fn words(&self) -> String {
        let calm = if self.calm { " --calm" } else { "" };
        let bug = self.bug.map(|bug| format!(" --bug {bug}")).unwrap_or_default();
        let matching = if self.matching { " --matching" } else { "" };
        let migration = if self.migration { " --migration" } else { "" };
        let lobby = if self.lobby { " --lobby" } else { "" };
        let succession = if self.succession { " --succession" } else { "" };
        let several = if self.several { " --several" } else { "" };
        let few = if self.few { " --few" } else { "" };
        let divided = if self.divided { " --divided" } else { "" };
        format!("{calm}{bug}{matching}{migration}{succession}{several}{few}{divided}{lobby}")
    }
}
