//! A load that goes on: so many tickets a second, looked at each tick, as the reference does.

use mainstay_core::Timestamp;
use mainstay_matchmaking::Amount;
use mainstay_matchmaking::spec::Gather;

use super::account::Account;
use super::pool::{Pool, Put};
use super::queues::Preset;
use super::workload::{Behaviour, Workload};
use super::{SEEDS, cpu, told};
use crate::Failure;
use crate::report::{median, percentile, worst};

/// How often the queue is looked at, in milliseconds, as the reference does it; and of a service, which looks at each ticket as it comes.
pub const TICK_MS: u64 = 100;
pub const AT_ONCE_MS: u64 = 1;

/// How the rate changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Not at all.
    Even,
    /// Over a day that is pressed into ten minutes: half as much again at its height, half as much at its depth.
    Day,
    /// Ten times as much for five seconds, ten seconds after it is measured.
    Burst,
}

impl Shape {
    /// By its name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "even" => Some(Self::Even),
            "day" => Some(Self::Day),
            "burst" => Some(Self::Burst),
            _ => None,
        }
    }

    /// How it is told.
    const fn word(self) -> &'static str {
        match self {
            Self::Even => "steady",
            Self::Day => "a day of",
            Self::Burst => "bursts of",
        }
    }

    /// Tickets a second, so long after the beginning.
    fn of(self, rate: u64, second: u64, warm: u64) -> u64 {
        match self {
            Self::Even => rate,
            Self::Day => {
                // A parabola for each half of the sine, which needs no floats: within 6 % of its height. 45,000 is twice 150 * 150.
                let (half, at) = ((second / 300) % 2, second % 300);
                let swing = rate * at * (300 - at) / 45_000;
                if half == 0 { rate + swing } else { rate.saturating_sub(swing) }
            }
            Self::Burst if (warm + 10..warm + 15).contains(&second) => rate * 10,
            Self::Burst => rate,
        }
    }
}

/// What comes.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub preset: Preset,
    /// Tickets a second.
    pub rate: u64,
    /// How long it goes on before it is measured: until the pool stands.
    pub warm_up_seconds: u64,
    pub seconds: u64,
    pub shape: Shape,
    /// Of a hundred that come so many are games that want players.
    pub games: u32,
    pub gather: Gather,
    /// How often the queue is looked at, in milliseconds.
    pub tick_ms: u64,
}

/// Measures it.
pub fn run(load: Load) -> Result<(), Failure> {
    let Load { preset, rate, .. } = load;
    let (mut cores, mut p99s) = (Vec::new(), Vec::new());
    for seed in SEEDS {
        let (core, p99) = once(load, seed)?;
        cores.push(core);
        p99s.push(p99);
    }
    say!(
        "{} {rate}/s, {preset:?}{}, {} % games: median {:.1} % of a core, tick p99 {:.2} ms",
        load.shape.word(),
        told(load.gather),
        load.games,
        median(cores),
        median(p99s)
    );
    Ok(())
}

fn once(load: Load, seed: u64) -> Result<(f64, f64), Failure> {
    let Load { preset, rate, warm_up_seconds, seconds, shape, games, gather, tick_ms } = load;
    let ticks_a_second = 1_000 / tick_ms;
    let mut workload = Workload::new(seed, preset.reads());
    let mut behaviour = Behaviour::new(seed);
    let mut pool = Pool::new(preset, gather)?;
    // A million tickets' latencies are a gigabyte.
    let mut account = (preset != Preset::Late).then(Account::default);
    let (mut ticks, mut pools, mut came) = (Vec::new(), Vec::new(), 0_i64);
    let (warm, end) = (warm_up_seconds * ticks_a_second, (warm_up_seconds + seconds) * ticks_a_second);
    // Who leaves in which tick, if it still waits.
    let mut leavers: Vec<Vec<Put>> = vec![Vec::new(); usize::try_from(end)?];
    for tick in 0..end {
        let now = Timestamp::from_unix_ms(tick * tick_ms);
        let mean = shape.of(rate, tick / ticks_a_second, warm_up_seconds) / ticks_a_second;
        let count = behaviour.come(u32::try_from(mean)?);
        let (mut tickets, mut backfill) = (Vec::new(), Vec::new());
        for _ in 0..count {
            if behaviour.is_game(games) {
                backfill.push(workload.game());
                continue;
            }
            let mut facts = workload.ticket();
            came += 1;
            if preset == Preset::Late {
                // No two of one skill, so that nobody fits anybody at first.
                let apart = |skill: Amount| Amount::from_millionths(skill.millionths() + came % 1_000_000);
                facts.numbers[0] = facts.numbers[0].map(apart);
            }
            tickets.push(facts);
        }
        if tick == warm {
            (pool.waits, pool.game_waits) = (Vec::new(), Vec::new());
            (pool.matched, pool.left) = (0, 0);
            account.iter_mut().for_each(Account::begin);
        }
        // Whoever was matched has nothing to cancel: that is this generator's to know, and not the engine's to be asked.
        let mut leaving = core::mem::take(&mut leavers[usize::try_from(tick)?]);
        leaving.retain(|put| pool.waits_still(*put));
        let mut put = Vec::with_capacity(tickets.len());
        let before = cpu();
        leaving.into_iter().for_each(|ticket| pool.leave(ticket));
        backfill.into_iter().for_each(|(facts, game)| pool.insert_game(&facts, game, now));
        put.extend(tickets.iter().map(|facts| pool.insert(facts, now)));
        pool.look(now);
        if tick >= warm {
            ticks.push((cpu() - before).as_secs_f64() * 1e3);
        }
        let formed = pool.tell();
        if tick >= warm {
            pools.push(pool.waiting as f64);
        }
        if let Some(account) = &mut account {
            put.iter().zip(&tickets).for_each(|(put, facts)| account.note(*put, now, facts));
            for (at, found) in formed {
                let region = found.regions.first().and_then(|region| pool.engine.region(*region));
                account.matched(at, &found, region.map(|name| &**name));
            }
        }
        if preset == Preset::Late {
            // A pool that stands.
            put.clear();
        }
        for ticket in put {
            let leaves = tick + u64::from(behaviour.stays()) * ticks_a_second;
            if let Some(leavers) = leavers.get_mut(usize::try_from(leaves)?) {
                leavers.push(ticket);
            }
        }
    }
    let core = ticks.iter().sum::<f64>() / (seconds as f64 * 1e3) * 100.0;
    let waits =
        |waits: &[f64]| [50, 90, 99].map(|percent| format!("{:.1}", percentile(waits, percent))).join(" / ");
    let of_games = if games == 0 { String::new() } else { format!(", games {} s", waits(&pool.game_waits)) };
    say!(
        "  seed {seed}: pool {:.0}, tick median {:.2} ms, p99 {:.2} ms, max {:.2} ms, {core:.1} % of a core, mean spread {:.1}, waits mean {:.2}, p50 / p90 / p99 {} s{of_games}, {:.2} % left unmatched, {} of {} searches cut short",
        median(pools),
        median(ticks.clone()),
        worst(&ticks),
        percentile(&ticks, 100),
        pool.spread(),
        pool.waits.iter().sum::<f64>() / pool.waits.len().max(1) as f64,
        waits(&pool.waits),
        pool.left as f64 / (pool.left + pool.matched).max(1) as f64 * 100.0,
        pool.engine.exhausted(),
        pool.looks,
    );
    for line in account.iter_mut().flat_map(Account::told) {
        say!("    {line}");
    }
    Ok((core, worst(&ticks)))
}
