//! Matchmaking: how many tickets a CPU-second, how long a tick, how good the matches, on tickets from fixed seeds. One core, CPU time of
//! this thread alone, so that a busy machine shows less.

mod account;
mod adversarial;
mod drain;
mod machine;
#[path = "../../../../domain/matchmaking/tests/matchmaking/oracle.rs"]
#[expect(clippy::unwrap_used, reason = "it reads tickets that a queue has let in")]
mod oracle;
mod pool;
mod quality;
mod queues;
mod service;
mod spread;
mod steady;
mod workload;

use std::time::Duration;

use mainstay_matchmaking::spec::Gather;
use rustix::time::{ClockId, clock_gettime};

use self::machine::{Comers, Through};
use self::queues::Preset;
use self::steady::{AT_ONCE_MS, Load, Shape, TICK_MS};
use crate::{Failure, option, word};

/// The seeds every figure is the median over.
const SEEDS: [u64; 3] = [42, 7_919, 104_729];
/// By how much skill differs within a match of W1 and W2.
const SKILL_WITHIN: i64 = 100;
/// How often everything is tried: none missed in so many is fewer than one in ten thousand, with 95 % certainty.
const MISSED_CHECKS: u64 = 40_000;
/// How long a load goes on before it is measured; a pool that opens after 50 s, until after that.
const fn warm_up_seconds(preset: Preset) -> u64 {
    match preset {
        Preset::Late => 55,
        Preset::W1
        | Preset::W2
        | Preset::W3
        | Preset::W4
        | Preset::W5
        | Preset::W6
        | Preset::W7
        | Preset::Eight
        | Preset::FourByFour => 30,
    }
}

/// Measures: everything, or one queue's drain, its tickets one by one, or a steady load.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let Some(name) = word(arguments, "--queue")? else {
        let asked = |name: &str| arguments.iter().any(|argument| argument == name);
        if !asked("--service") {
            everything(if asked("--million") { Size::Million } else { Size::Usual })?;
        }
        return service::run();
    };
    let preset = Preset::named(&name).ok_or("--queue: w1 to w7, eight or late")?;
    let seconds = option(arguments, "--seconds")?.unwrap_or(60);
    let tickets = option(arguments, "--tickets")?.unwrap_or(10_000);
    let gather = Gather::for_ms(u32::try_from(option(arguments, "--gather")?.unwrap_or(0))?);
    if arguments.iter().any(|argument| argument == "--one-by-one") {
        return match gather {
            Gather::NONE => machine::drain(preset, tickets, Through::Machine),
            _ => machine::batch(preset, tickets, gather),
        };
    }
    match option(arguments, "--rate")? {
        None => drain::run(preset, tickets, gather).map(drop),
        Some(rate) => {
            let tick_ms = option(arguments, "--tick")?.unwrap_or(TICK_MS).clamp(1, 1_000);
            let games = u32::try_from(option(arguments, "--games")?.unwrap_or(0))?.min(100);
            if games > 0 && preset != Preset::W3 {
                return Err("--games: of --queue w3".into());
            }
            let shape = match word(arguments, "--shape")? {
                None => Shape::Even,
                Some(name) => Shape::named(&name).ok_or("--shape: even, day or burst")?,
            };
            steady::run(Load { gather, tick_ms, shape, games, ..load(preset, rate, seconds) })
        }
    }
}

/// How large pools become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    /// A hundred thousand tickets: a minute or two.
    Usual,
    /// A million as well, which takes a gigabyte and some minutes.
    Million,
}

const fn load(preset: Preset, rate: u64, seconds: u64) -> Load {
    Load {
        preset,
        rate,
        warm_up_seconds: warm_up_seconds(preset),
        seconds,
        shape: Shape::Even,
        games: 0,
        gather: Gather::NONE,
        tick_ms: TICK_MS,
    }
}

/// Every figure that issue 4 asks of the engine, in its order; those of a million where it is to be as large.
fn everything(size: Size) -> Result<(), Failure> {
    let sizes: &[u64] = match size {
        Size::Usual => &[1_000, 10_000, 100_000],
        Size::Million => &[1_000, 10_000, 100_000, 1_000_000],
    };
    for preset in [Preset::W1, Preset::W3, Preset::Eight] {
        let costs: Vec<f64> = sizes
            .iter()
            .map(|tickets| drain::run(preset, *tickets, Gather::NONE))
            .collect::<Result<_, _>>()?;
        if let (Some(first), Some(last)) = (costs.first(), costs.last()) {
            say!("growth of the cost of a ticket, {preset:?}: {:.1} times", last / first);
        }
        // Of a million commands, made beforehand, memory would be asked for more than for the engine.
        for tickets in [10_000, 100_000] {
            machine::drain(preset, tickets, Through::Machine)?;
            machine::drain(preset, tickets, Through::Journal)?;
        }
        drain::memory(preset, 100_000)?;
    }
    machine::story(Preset::W1, 100_000)?;
    if size == Size::Million {
        machine::story(Preset::W1, 1_000_000)?;
    }
    steady::run(load(Preset::W3, 1_000, 60))?;
    steady::run(load(Preset::W3, 10_000, 30))?;
    steady::run(load(Preset::W3, 100_000, 10))?;
    for (rate, games) in [(1_000, 5), (10_000, 5), (1_000, 20), (10_000, 20)] {
        steady::run(Load { games, ..load(Preset::W3, rate, 30) })?;
    }
    steady::run(Load { shape: Shape::Burst, ..load(Preset::W3, 1_000, 60) })?;
    steady::run(Load { shape: Shape::Day, ..load(Preset::W3, 1_000, 600) })?;
    for preset in [Preset::W4, Preset::W5, Preset::W6, Preset::W7] {
        drain::run(preset, 10_000, Gather::NONE)?;
        steady::run(load(preset, 1_000, 30))?;
    }
    if size == Size::Million {
        steady::run(load(Preset::Late, 20_000, 10))?;
    }
    adversarial::run(100_000)?;
    // Of larger teams every seating is too many to try, and of fifty players every group.
    for preset in [Preset::W1, Preset::W3, Preset::W6, Preset::W7, Preset::Eight] {
        quality::violations(preset, 2_000, Comers::Tickets)?;
    }
    quality::violations(Preset::W3, 4_000, Comers::WithGames)?;
    for preset in [Preset::W1, Preset::W3, Preset::W6, Preset::Eight] {
        quality::missed(preset, MISSED_CHECKS)?;
    }
    for (preset, tickets) in
        [(Preset::W1, 1_000), (Preset::W1, 10_000), (Preset::W2, 1_000), (Preset::W2, 10_000)]
    {
        spread::run(preset, tickets)?;
    }
    let gather = Gather::for_ms(1_000);
    drain::run(Preset::W1, 10_000, gather)?;
    machine::batch(Preset::W1, 10_000, gather)?;
    for ms in [0, 100, 1_000] {
        let gather = Gather::for_ms(ms);
        steady::run(Load { gather, tick_ms: AT_ONCE_MS, ..load(Preset::W1, 1_000, 60) })?;
    }
    Ok(())
}

/// That those who come are gathered, where they are.
fn told(gather: Gather) -> String {
    if gather == Gather::NONE { String::new() } else { format!(", gathering {} ms", gather.ms()) }
}

/// What this thread has used.
fn cpu() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0))
}

fn per_second(count: u64, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}
