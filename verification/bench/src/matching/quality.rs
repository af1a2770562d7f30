//! How good matches are: rules broken, by the checker of the domain's tests, which shares nothing with the engine; matches missed, by
//! trying everything; spread, against the best there is.

use std::time::Duration;

use mainstay_core::{StateMachine as _, Timestamp, Turn};
use mainstay_matchmaking::{Command, Queue};

use super::machine::{commands, matched, queue};
use super::oracle::{self, Waiting};
use super::pool::Pool;
use super::queues::Preset;
use super::workload::Workload;
use super::{SEEDS, SKILL_WITHIN};
use crate::Failure;
use crate::report::median;

/// Between two tickets of a day that is judged.
const APART: Duration = Duration::from_millis(20);
/// So many tickets may wait for everything to be tried.
const TRIED_MAX: usize = 8;

/// Every match of a day, judged.
pub fn violations(preset: Preset, tickets: u64) -> Result<(), Failure> {
    let (mut matches, mut broken) = (0_u64, 0_u64);
    for seed in SEEDS {
        let mut day = Day::new(preset)?;
        for command in commands(preset, seed, tickets, day.queue.form()) {
            let told = day.step(&command, APART)?;
            matches += told.matches;
            broken += told.broken;
        }
    }
    say!("rules broken, {preset:?}: {broken} of {matches} matches");
    Ok(())
}

/// Small pools, each searched by trying everything after each ticket and each boundary.
pub fn missed(preset: Preset, pools: u64) -> Result<(), Failure> {
    let (mut checks, mut missed) = (0_u64, 0_u64);
    for seed in 0..pools {
        let mut day = Day::new(preset)?;
        for command in commands(preset, seed, TRIED_MAX as u64, day.queue.form()) {
            day.step(&command, Duration::from_secs(1 + seed % 5))?;
            let Some(spec) = day.queue.spec() else { continue };
            checks += 1;
            missed += u64::from(oracle::missed(spec, &day.queue, day.now).is_some());
        }
    }
    say!("matches missed, {preset:?}: {missed} of {checks} checks");
    Ok(())
}

/// A queue that lives, and one behind it that has not seen the last turn.
struct Day {
    queue: Queue,
    shadow: Queue,
    now: Timestamp,
}

#[derive(Default)]
struct Told {
    matches: u64,
    broken: u64,
}

impl Day {
    fn new(preset: Preset) -> Result<Self, Failure> {
        let queue = queue(preset)?;
        let mut shadow = Queue::new(9);
        queue.snapshot().iter().for_each(|(at, event)| shadow.apply(*at, event));
        Ok(Self { queue, shadow, now: Timestamp::EPOCH })
    }

    /// Lives on to a command, from deadline to deadline.
    fn step(&mut self, command: &Command, after: Duration) -> Result<Told, Failure> {
        let mut told = Told::default();
        let until = self.now + after;
        while let Some((at, _)) = self.queue.next_deadline().filter(|(at, _)| *at <= until) {
            self.now = self.now.max(at);
            self.turn(&Command::Due, &mut told)?;
        }
        self.now = until;
        self.turn(command, &mut told)?;
        Ok(told)
    }

    fn turn(&mut self, command: &Command, told: &mut Told) -> Result<(), Failure> {
        let outcome = Turn::run(self.now, &mut self.queue, command);
        outcome.answer?;
        for event in &outcome.events {
            if let (Some(ids), Some(spec)) = (matched(event), self.shadow.spec()) {
                let waiting = oracle::waiting(&self.shadow);
                let group: Vec<Waiting> = waiting.into_iter().filter(|it| ids.contains(&it.id())).collect();
                told.matches += 1;
                told.broken += u64::from(oracle::why_not(spec, &group, self.now).is_some());
            }
            self.shadow.apply(self.now, event);
        }
        Ok(())
    }
}

/// Matched share and mean spread of a drain, beside the most matches with the least spread: what sorting tells where one rule is
/// all, and nobody comes with others.
pub fn spread(preset: Preset, tickets: u64) -> Result<(), Failure> {
    let size = usize::try_from(preset.queue()?.max_match_size)?;
    let (mut shares, mut ratios) = (Vec::new(), Vec::new());
    for seed in SEEDS {
        let mut workload = Workload::new(seed, preset.reads());
        let mut pool = Pool::new(preset)?;
        let mut skills = Vec::new();
        for _ in 0..tickets {
            let facts = workload.ticket();
            skills.extend(facts.numbers[0].map(|skill| skill.millionths() / 1_000_000));
            pool.insert(&facts, Timestamp::EPOCH);
        }
        pool.look(Timestamp::EPOCH);
        let (matches, best) = optimum(&mut skills, size);
        shares.push(pool.matches as f64 / matches as f64 * 100.0);
        ratios.push(pool.spread() / (best as f64 / matches as f64));
    }
    say!(
        "spread of {tickets}, {preset:?}: {:.2} times the optimum, {:.1} % of its matches",
        median(ratios),
        median(shares)
    );
    Ok(())
}

/// The most matches of so many, and the least sum of their spreads: neighbours in order of skill, some of them left out.
fn optimum(skills: &mut [i64], size: usize) -> (u64, i64) {
    skills.sort_unstable();
    let mut best = vec![(0_u64, 0_i64); skills.len() + 1];
    for end in 1..=skills.len() {
        best[end] = best[end - 1];
        let Some(begin) = end.checked_sub(size) else { continue };
        let spread = skills[end - 1] - skills[begin];
        if spread <= SKILL_WITHIN {
            let with = (best[begin].0 + 1, best[begin].1 + spread);
            if with.0 > best[end].0 || (with.0 == best[end].0 && with.1 < best[end].1) {
                best[end] = with;
            }
        }
    }
    best[skills.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_optimum_leaves_out_who_is_far() {
        assert_eq!(optimum(&mut [0, 90, 100, 300, 301, 1_000], 2), (2, 11));
        assert_eq!(optimum(&mut [0, 500], 2), (0, 0));
    }
}
