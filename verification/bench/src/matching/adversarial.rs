//! Pools that are made to be hard (W9 of the reference): many who can never match, or who all look alike, or of whom each fits only some. What one look may cost is
//! bounded whatever waits, and a pass over all of them shows it.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_matchmaking::Amount;
use mainstay_matchmaking::bare::Facts;
use mainstay_matchmaking::spec::Gather;

use super::pool::{Looked, Pool};
use super::queues::Preset;
use super::workload::Workload;
use super::{SEEDS, cpu};
use crate::Failure;

/// Who waits, and what for.
struct Hard {
    what: &'static str,
    preset: Preset,
    tickets: Vec<Facts>,
}

impl Hard {
    fn pool(&self) -> Result<Pool, Failure> {
        let mut pool = Pool::new(self.preset, Gather::NONE)?;
        for facts in &self.tickets {
            pool.insert(facts, Timestamp::EPOCH);
        }
        Ok(pool)
    }
}

/// All of them, so many tickets each.
pub fn run(tickets: u64) -> Result<(), Failure> {
    // Looked at one by one, a herd is drained elsewhere.
    [look_alikes, no_tank, one_large_party, all_alike, at_the_edge, regions_of_their_own, anybody]
        .into_iter()
        .try_for_each(|hard| pass(&hard(tickets)))
}

/// Tickets that are all alike and can never match: parties of three, four to a team.
fn look_alikes(tickets: u64) -> Hard {
    let three = Facts { players: 3, team_sums: vec![Amount::whole(4_500)], ..of_skill(1_500) };
    Hard {
        what: "parties of three, four to a team",
        preset: Preset::FourByFour,
        tickets: (0..tickets).map(|_| three.clone()).collect(),
    }
}

fn no_tank(tickets: u64) -> Hard {
    let drawn =
        drawn(Preset::W6).filter(|facts| facts.totals.first().is_some_and(|tanks| tanks.millionths() == 0));
    Hard { what: "roles, and nobody tanks", preset: Preset::W6, tickets: take(drawn, tickets) }
}

/// The first is a party that fills a team; no other is large, so for as long as parties have to be alike it has nobody to meet.
fn one_large_party(tickets: u64) -> Hard {
    let five = drawn(Preset::W3).filter(|facts| facts.players == 5).take(1);
    let alone = drawn(Preset::W3).filter(|facts| facts.players == 1);
    Hard {
        what: "one party of five among those who come alone",
        preset: Preset::W3,
        tickets: take(five.chain(alone), tickets),
    }
}

fn all_alike(tickets: u64) -> Hard {
    let alike = drawn(Preset::W3).map(|facts| {
        let sum = Amount::whole(1_500 * i32::from(facts.players));
        Facts { numbers: of_skill(1_500).numbers, team_sums: vec![sum], ..facts }
    });
    Hard { what: "everybody of one skill", preset: Preset::W3, tickets: take(alike, tickets) }
}

/// Within 100 of any there are nine besides, where ten are wanted: at both ends of everybody's window somebody stands whom others do not reach.
fn at_the_edge(tickets: u64) -> Hard {
    let apart = |at: u64| {
        let skill = 12 * i32::try_from(at).unwrap_or(i32::MAX / 12);
        Facts { team_sums: vec![Amount::whole(skill)], ..of_skill(skill) }
    };
    Hard {
        what: "nine within reach of each other, ten wanted",
        preset: Preset::W2,
        tickets: (0..tickets).map(apart).collect(),
    }
}

/// As many regions as a queue knows, and each is the only one of some.
fn regions_of_their_own(tickets: u64) -> Hard {
    let regions: Vec<Arc<str>> = (0..64).map(|region| Arc::from(format!("private{region}"))).collect();
    let own = drawn(Preset::W3).take(regions.len());
    let own =
        own.zip(&regions).map(|(facts, region)| Facts { latencies: vec![(region.clone(), 20)], ..facts });
    let own: Vec<Facts> = own.collect();
    Hard {
        what: "64 tickets, a region for each alone",
        preset: Preset::W3,
        tickets: own.into_iter().take(usize::try_from(tickets).unwrap_or(usize::MAX)).collect(),
    }
}

/// Nobody says a skill: everybody fits anybody.
fn anybody(tickets: u64) -> Hard {
    let drawn = drawn(Preset::W3).map(|facts| Facts { numbers: vec![None], sets: vec![None], ..facts });
    Hard { what: "no skill and no mode said", preset: Preset::W3, tickets: take(drawn, tickets) }
}

fn of_skill(skill: i32) -> Facts {
    Facts { players: 1, numbers: vec![Some(Amount::whole(skill))], ..Facts::default() }
}

fn drawn(preset: Preset) -> impl Iterator<Item = Facts> {
    let mut workload = Workload::new(SEEDS[0], preset.reads());
    std::iter::repeat_with(move || workload.ticket())
}

fn take(tickets: impl Iterator<Item = Facts>, count: u64) -> Vec<Facts> {
    tickets.take(usize::try_from(count).unwrap_or(usize::MAX)).collect()
}

/// Everybody is looked at once; and once more, look by look, whose clock takes longer than most looks.
fn pass(hard: &Hard) -> Result<(), Failure> {
    let mut pool = hard.pool()?;
    let before = cpu();
    pool.look(Timestamp::EPOCH);
    let took = cpu() - before;
    let (mut again, mut longest) = (hard.pool()?, Duration::ZERO);
    loop {
        let before = cpu();
        let looked = again.look_once(Timestamp::EPOCH);
        // The first lets all in who have come.
        longest = if again.looks <= 1 { Duration::ZERO } else { longest.max(cpu() - before) };
        if looked == Looked::AtNobody {
            break;
        }
    }
    say!(
        "adversarial, {} tickets, {}: a pass {:.1} ms, the longest look {:.3} ms, {} matches, {} searches cut short",
        hard.tickets.len(),
        hard.what,
        took.as_secs_f64() * 1e3,
        longest.as_secs_f64() * 1e3,
        pool.matches,
        pool.engine.exhausted()
    );
    Ok(())
}
