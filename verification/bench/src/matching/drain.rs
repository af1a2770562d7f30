//! Pools that are there at once: every match of them, and what they weigh.

use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_matchmaking::bare::Facts;
use mainstay_matchmaking::spec::Gather;

use super::pool::Pool;
use super::queues::Preset;
use super::workload::{Dice, Workload};
use super::{SEEDS, cpu, per_second, told};
use crate::Failure;
use crate::report::median;

/// How many numbers are sorted to see how fast the machine is.
const SORTED: usize = 1_000_000;

/// How often a drain is measured: what takes milliseconds is over before the processor and the allocator are warm.
const fn rounds(tickets: u64) -> usize {
    match tickets {
        ..=10_000 => 21,
        10_001..=100_000 => 7,
        _ => 3,
    }
}

/// One drain.
struct Drain {
    insert: Duration,
    all: Duration,
    pool: Pool,
}

impl Drain {
    fn of(preset: Preset, gather: Gather, tickets: &[Facts]) -> Result<Self, Failure> {
        let mut pool = Pool::new(preset, gather)?;
        let before = cpu();
        for facts in tickets {
            pool.insert(facts, Timestamp::EPOCH);
        }
        let inserted = cpu();
        pool.look(gather.next_after(Timestamp::EPOCH));
        let all = cpu() - before;
        pool.tell();
        Ok(Self { insert: inserted - before, all, pool })
    }
}

/// All tickets at once, then every match there is. Nanoseconds a ticket, in the best of several rounds: the others were held up by
/// something else.
pub fn run(preset: Preset, tickets: u64, gather: Gather) -> Result<f64, Failure> {
    let (mut best, mut medians) = (Vec::new(), Vec::new());
    for seed in SEEDS {
        let mut workload = Workload::new(seed, preset.reads());
        let waiting: Vec<Facts> = (0..tickets).map(|_| workload.ticket()).collect();
        let mut rates = Vec::new();
        let mut least: Option<Drain> = None;
        for _ in 0..rounds(tickets) {
            let drain = Drain::of(preset, gather, &waiting)?;
            rates.push(per_second(tickets, drain.all));
            if least.as_ref().is_none_or(|it| drain.all < it.all) {
                least = Some(drain);
            }
        }
        let Some(Drain { insert, all, pool }) = least else { continue };
        best.push(per_second(tickets, all));
        medians.push(median(rates));
        say!(
            "  seed {seed}: {:.0} tickets per CPU-s ({:.1} ms in, {:.1} ms matched), {} matches of {} tickets, mean spread {:.2}, {} searches cut short",
            per_second(tickets, all),
            insert.as_secs_f64() * 1e3,
            (all - insert).as_secs_f64() * 1e3,
            pool.matches,
            pool.matched,
            pool.spread(),
            pool.engine.exhausted(),
        );
    }
    let rate = median(best);
    say!(
        "drain of {tickets}, {preset:?}{}: {rate:.0} tickets per CPU-s in the best of {} rounds ({:.0} in the median one), the median over the seeds; {}",
        told(gather),
        rounds(tickets),
        median(medians),
        sorting()
    );
    Ok(1e9 / rate)
}

/// How fast this machine is just now: machines are shared, and a figure says little without it.
fn sorting() -> String {
    let mut dice = Dice::new(SEEDS[0], 0);
    let mut numbers: Vec<u64> = (0..SORTED).map(|_| dice.roll()).collect();
    let before = cpu();
    numbers.sort_unstable();
    let each = (cpu() - before).as_secs_f64() * 1e9 / SORTED as f64;
    std::hint::black_box(numbers);
    format!("a number of a million is sorted in {each:.1} ns (20 where the goals were set)")
}

/// What waiting tickets weigh.
pub fn memory(preset: Preset, tickets: u64) -> Result<(), Failure> {
    let mut workload = Workload::new(SEEDS[0], preset.reads());
    let mut pool = Pool::new(preset, Gather::NONE)?;
    for _ in 0..tickets {
        pool.insert(&workload.ticket(), Timestamp::EPOCH);
    }
    // Who has come stands in the index once somebody is looked for; a match that is found stays until it is formed.
    pool.engine.look(Timestamp::EPOCH);
    say!(
        "memory, {preset:?}: {} bytes a ticket of {tickets} that wait",
        pool.engine.bytes() as u64 / tickets
    );
    Ok(())
}
