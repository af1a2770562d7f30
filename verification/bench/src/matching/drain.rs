//! Pools that are there at once: every match of them, what they weigh, and a pass over those that can never match.

use mainstay_core::Timestamp;
use mainstay_matchmaking::Amount;
use mainstay_matchmaking::bare::Facts;
use mainstay_matchmaking::spec::Gather;

use super::pool::Pool;
use super::queues::Preset;
use super::workload::Workload;
use super::{SEEDS, cpu, per_second, told};
use crate::Failure;
use crate::report::median;

/// All tickets at once, then every match there is. Nanoseconds a ticket.
pub fn run(preset: Preset, tickets: u64, gather: Gather) -> Result<f64, Failure> {
    let mut rates = Vec::new();
    for seed in SEEDS {
        let mut workload = Workload::new(seed, preset.reads());
        let waiting: Vec<Facts> = (0..tickets).map(|_| workload.ticket()).collect();
        let mut pool = Pool::new(preset, gather)?;
        let before = cpu();
        for facts in &waiting {
            pool.insert(facts, Timestamp::EPOCH);
        }
        let inserted = cpu();
        pool.look(gather.next_after(Timestamp::EPOCH));
        let after = cpu();
        let rate = per_second(tickets, after - before);
        rates.push(rate);
        say!(
            "  seed {seed}: {rate:.0} tickets per CPU-s ({:.1} ms in, {:.1} ms matched), {} matches of {} tickets, mean spread {:.2}, {} searches cut short",
            (inserted - before).as_secs_f64() * 1e3,
            (after - inserted).as_secs_f64() * 1e3,
            pool.matches,
            pool.matched,
            pool.spread(),
            pool.engine.exhausted(),
        );
    }
    let rate = median(rates);
    say!("drain of {tickets}, {preset:?}{}: median {rate:.0} tickets per CPU-s", told(gather));
    Ok(1e9 / rate)
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

/// Tickets that are all alike and can never match: parties of three, four to a team.
pub fn look_alikes(tickets: u64) -> Result<(), Failure> {
    let three = Facts {
        players: 3,
        numbers: vec![Some(Amount::whole(1_500))],
        team_sums: vec![Amount::whole(4_500)],
        ..Facts::default()
    };
    let mut pool = Pool::new(Preset::FourByFour, Gather::NONE)?;
    for _ in 0..tickets {
        pool.insert(&three, Timestamp::EPOCH);
    }
    let before = cpu();
    pool.look(Timestamp::EPOCH);
    let took = (cpu() - before).as_secs_f64() * 1e3;
    say!("{tickets} look-alikes that can never match: {took:.1} ms a pass, {} matches", pool.matches);
    Ok(())
}
