//! The matching engine: how many tickets a CPU-second, and how long a tick, on tickets from fixed seeds. One core, CPU time of this
//! thread alone, so that a busy machine shows less.

mod queues;
mod workload;

use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_matchmaking::bare::{Engine, Facts, Found, Handle, Look, Newcomer};
use rustix::time::{ClockId, clock_gettime};

use self::queues::Preset;
use self::workload::{Dice, Workload};
use crate::report::{median, worst};
use crate::{Failure, option, word};

/// The seeds every figure is the median over.
pub(crate) const SEEDS: [u64; 3] = [42, 7_919, 104_729];
/// How often a steady load looks: as the reference does.
const TICK: Duration = Duration::from_millis(100);
/// A steady load is measured once the pool stands.
const WARM_UP_SECONDS: u64 = 30;

/// Measures.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let preset = word(arguments, "--queue")?.unwrap_or_else(|| "w3".to_owned());
    let preset = Preset::named(&preset).ok_or("--queue: w1, w2 or w3")?;
    match option(arguments, "--rate")? {
        None => drain(preset, option(arguments, "--tickets")?.unwrap_or(10_000)),
        Some(rate) => steady(preset, rate, option(arguments, "--seconds")?.unwrap_or(60)),
    }
}

/// All tickets at once, then every match there is.
fn drain(preset: Preset, tickets: u64) -> Result<(), Failure> {
    let mut rates = Vec::new();
    for seed in SEEDS {
        let mut workload = Workload::new(seed, preset.reads());
        let waiting: Vec<Facts> = (0..tickets).map(|_| workload.ticket()).collect();
        let mut pool = Pool::new(preset)?;
        let before = cpu();
        waiting.iter().zip(1..).for_each(|(facts, arrival)| pool.insert(facts, Timestamp::EPOCH, arrival));
        let (inserted, bytes) = (cpu(), pool.engine.bytes());
        pool.look(Timestamp::EPOCH);
        let after = cpu();
        let rate = per_second(tickets, after - before);
        rates.push(rate);
        say!(
            "  seed {seed}: {rate:.0} tickets per CPU-s ({:.1} ms in, {:.1} ms matched), {} matches of {} tickets, mean spread {:.2}, {} searches cut short, {} bytes a ticket",
            (inserted - before).as_secs_f64() * 1e3,
            (after - inserted).as_secs_f64() * 1e3,
            pool.matches,
            pool.matched,
            pool.spread(),
            pool.engine.exhausted(),
            bytes as u64 / tickets.max(1),
        );
    }
    say!("drain of {tickets}, {preset:?}: median {:.0} tickets per CPU-s", median(rates));
    Ok(())
}

/// So many tickets a second, looked at each tick.
fn steady(preset: Preset, rate: u64, seconds: u64) -> Result<(), Failure> {
    let (mut cores, mut p99s) = (Vec::new(), Vec::new());
    for seed in SEEDS {
        let mut workload = Workload::new(seed, preset.reads());
        let mut dice = Dice::new(seed, 9);
        let mut pool = Pool::new(preset)?;
        let (mut arrival, mut ticks, mut pools) = (0, Vec::new(), Vec::new());
        let warm = WARM_UP_SECONDS * 10;
        for tick in 0..warm + seconds * 10 {
            let now = Timestamp::EPOCH + TICK * u32::try_from(tick)?;
            // Around the mean, evenly: what differs between ticks is who comes.
            let mean = u32::try_from(rate / 10)?;
            let count = mean - mean / 10 + dice.below(mean / 5 + 1);
            let coming: Vec<Facts> = (0..count).map(|_| workload.ticket()).collect();
            let before = cpu();
            for facts in &coming {
                arrival += 1;
                pool.insert(facts, now, arrival);
            }
            pool.look(now);
            if tick >= warm {
                ticks.push((cpu() - before).as_secs_f64() * 1e3);
                pools.push(pool.waiting as f64);
            }
        }
        let core = ticks.iter().sum::<f64>() / (seconds as f64 * 1e3) * 100.0;
        say!(
            "  seed {seed}: pool {:.0}, tick median {:.2} ms, p99 {:.2} ms, {core:.1} % of a core, mean spread {:.1}, {} of {} searches cut short",
            median(pools),
            median(ticks.clone()),
            worst(&ticks),
            pool.spread(),
            pool.engine.exhausted(),
            pool.looks,
        );
        cores.push(core);
        p99s.push(worst(&ticks));
    }
    say!(
        "steady {rate}/s, {preset:?}: median {:.1} % of a core, tick p99 {:.2} ms",
        median(cores),
        median(p99s)
    );
    Ok(())
}

/// An engine, and what was matched in it.
struct Pool {
    engine: Engine,
    skills: Vec<i64>,
    waiting: usize,
    looks: u64,
    matches: u64,
    matched: usize,
    spreads: f64,
}

impl Pool {
    fn new(preset: Preset) -> Result<Self, Failure> {
        let engine = Engine::new(&preset.queue()?, Timestamp::EPOCH, 7);
        Ok(Self { engine, skills: Vec::new(), waiting: 0, looks: 0, matches: 0, matched: 0, spreads: 0.0 })
    }

    fn insert(&mut self, facts: &Facts, since: Timestamp, arrival: u64) {
        let room = self.engine.max();
        let handle = self.engine.insert(Newcomer { facts, room, since, arrival, game: None }, None);
        let at = handle as usize;
        if self.skills.len() <= at {
            self.skills.resize(at + 1, 0);
        }
        self.skills[at] = facts.numbers[0].map_or(0, |skill| skill.millionths());
        self.waiting += 1;
    }

    /// Everything that is due.
    fn look(&mut self, now: Timestamp) {
        loop {
            match self.engine.look(now) {
                Look::Nothing => return,
                Look::Nobody(_) => self.looks += 1,
                Look::Match(_, found) => self.form(&found),
            }
        }
    }

    fn form(&mut self, found: &Found) {
        let skill = |(handle, _): &(Handle, Option<u8>)| self.skills[*handle as usize];
        let highest = found.tickets.iter().map(skill).max().unwrap_or(0);
        let lowest = found.tickets.iter().map(skill).min().unwrap_or(0);
        self.spreads += (highest - lowest) as f64 / 1e6;
        self.looks += 1;
        self.matches += 1;
        self.matched += found.tickets.len();
        self.waiting -= found.tickets.len();
        for (handle, _) in &found.tickets {
            self.engine.remove(*handle);
        }
    }

    /// Between the best and the worst ticket of a match, on average.
    fn spread(&self) -> f64 {
        self.spreads / self.matches.max(1) as f64
    }
}

/// What this thread has used.
fn cpu() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0))
}

fn per_second(count: u64, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}
