//! How far apart those of a match are, where one rule on one number is all and nobody comes with others: the engine's matches of a drain
//! beside the best there are, and beside what two orders of forming them would give; and of a queue that gathers those
//! who come.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use mainstay_core::Timestamp;
use mainstay_matchmaking::spec::Gather;

use super::pool::Pool;
use super::queues::Preset;
use super::workload::Workload;
use super::{SEEDS, SKILL_WITHIN};
use crate::Failure;
use crate::report::median;

/// How long the queue gathers that does: all of a drain come together.
const GATHERED: Gather = Gather::for_ms(1_000);

/// How many matches, and the sum of their spreads.
type Formed = (u64, i64);

/// Measures a drain of so many.
pub fn run(preset: Preset, tickets: u64) -> Result<(), Failure> {
    let size = usize::try_from(preset.queue(Gather::NONE)?.max_match_size)?;
    let (mut engine, mut gathering) = (Beside::default(), Beside::default());
    let (mut eldest, mut closest) = (Beside::default(), Beside::default());
    for seed in SEEDS {
        let mut workload = Workload::new(seed, preset.reads());
        let mut skills = Vec::new();
        let mut pools = [Pool::new(preset, Gather::NONE)?, Pool::new(preset, GATHERED)?];
        for _ in 0..tickets {
            let facts = workload.ticket();
            skills.extend(facts.numbers[0].map(|skill| skill.millionths() / 1_000_000));
            for pool in &mut pools {
                pool.insert(&facts, Timestamp::EPOCH);
            }
        }
        let best = optimum(&skills, size);
        for (pool, beside) in pools.iter_mut().zip([&mut engine, &mut gathering]) {
            pool.look(GATHERED.next_after(Timestamp::EPOCH));
            pool.tell();
            beside.put(pool.matches, pool.spread(), best);
        }
        for (order, (matches, sum)) in
            [(&mut eldest, eldest_first(&skills, size)), (&mut closest, closest_first(&skills, size))]
        {
            order.put(matches, sum as f64 / matches.max(1) as f64, best);
        }
    }
    say!(
        "spread of {tickets}, {preset:?}: {}; gathering {}; the eldest first, each with the nearest {}; the closest first {}",
        engine.told(),
        gathering.told(),
        eldest.told(),
        closest.told()
    );
    Ok(())
}

/// One way to form matches beside the best, seed by seed.
#[derive(Default)]
struct Beside {
    ratios: Vec<f64>,
    shares: Vec<f64>,
}

impl Beside {
    fn put(&mut self, matches: u64, spread: f64, (most, least): Formed) {
        self.ratios.push(spread / (least as f64 / most as f64));
        self.shares.push(matches as f64 / most as f64 * 100.0);
    }

    fn told(self) -> String {
        format!("{:.2} times the optimum, {:.1} % of its matches", median(self.ratios), median(self.shares))
    }
}

/// The most matches of so many, and the least sum of their spreads: neighbours in order of skill, some of them left out.
fn optimum(skills: &[i64], size: usize) -> Formed {
    let mut skills = skills.to_vec();
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

/// Who waits, by skill and then by arrival.
type Waiting = BTreeSet<(i64, usize)>;

fn waiting(skills: &[i64]) -> Waiting {
    skills.iter().copied().zip(0..).collect()
}

/// The published loop: the eldest takes whoever is nearest, one by one, as long as all are within the limit of each other.
fn eldest_first(skills: &[i64], size: usize) -> Formed {
    let (mut waiting, mut formed) = (waiting(skills), (0, 0));
    for seed in skills.iter().copied().zip(0..) {
        if !waiting.contains(&seed) {
            continue;
        }
        let mut below = waiting.range(..seed).rev().copied().peekable();
        let mut above = waiting.range(seed..).skip(1).copied().peekable();
        let (mut group, mut low, mut high) = (vec![seed], seed.0, seed.0);
        while group.len() < size {
            let down = below.peek().filter(|it| high - it.0 <= SKILL_WITHIN).map(|it| seed.0 - it.0);
            let up = above.peek().filter(|it| it.0 - low <= SKILL_WITHIN).map(|it| it.0 - seed.0);
            let next = match (down, up) {
                (None, None) => None,
                (Some(down), Some(up)) if down <= up => below.next(),
                (Some(_), None) => below.next(),
                (_, Some(_)) => above.next(),
            };
            let Some(next) = next else { break };
            (low, high) = (low.min(next.0), high.max(next.0));
            group.push(next);
        }
        if group.len() == size {
            group.iter().for_each(|it| {
                waiting.remove(it);
            });
            formed = (formed.0 + 1, formed.1 + high - low);
        }
    }
    formed
}

/// Of all neighbours who could be a match, those who are closest to each other, again and again.
fn closest_first(skills: &[i64], size: usize) -> Formed {
    let (mut waiting, mut formed) = (waiting(skills), (0, 0));
    let group = |waiting: &Waiting, lowest: (i64, usize)| {
        let group: Vec<(i64, usize)> = waiting.range(lowest..).take(size).copied().collect();
        let spread = group.last().map_or(0, |highest| highest.0 - lowest.0);
        (group.len() == size && spread <= SKILL_WITHIN).then_some((spread, group))
    };
    let all = waiting.iter().filter_map(|it| group(&waiting, *it).map(|(spread, _)| Reverse((spread, *it))));
    let mut open: BinaryHeap<_> = all.collect();
    while let Some(Reverse((expected, lowest))) = open.pop() {
        if !waiting.contains(&lowest) {
            continue;
        }
        let Some((spread, group)) = group(&waiting, lowest) else { continue };
        // Some of those it was with have gone: they only ever come further apart.
        if spread > expected {
            open.push(Reverse((spread, lowest)));
            continue;
        }
        group.iter().for_each(|it| {
            waiting.remove(it);
        });
        formed = (formed.0 + 1, formed.1 + spread);
    }
    formed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_optimum_leaves_out_who_is_far() {
        assert_eq!(optimum(&[0, 90, 100, 300, 301, 1_000], 2), (2, 11));
        assert_eq!(optimum(&[0, 500], 2), (0, 0));
    }

    #[test]
    fn orders_differ_in_whom_they_leave() {
        // The eldest takes 30 from 0, which goes to 70; the closest leave 0 and 100 to each other.
        let skills = [40, 0, 30, 71, 70, 100];
        assert_eq!(eldest_first(&skills, 2), (3, 10 + 70 + 29));
        assert_eq!(closest_first(&skills, 2), (3, 1 + 10 + 100));
        assert_eq!(optimum(&skills, 2), (3, 30 + 30 + 29));
        assert_eq!(eldest_first(&[0, 60, 120], 3), (0, 0));
        assert_eq!(closest_first(&[0, 60, 70, 90], 3), (1, 30));
    }
}
