//! The summed distance of a candidate to the ticket a match is built around.

use super::lanes::bits;
use super::plan::Plan;
use super::slab::{ANY_TEXT, MIXED_TEXT, Ref, WILD};
use crate::distance::{self, Equality};

/// "`totalDistance = Σ (rule.Weight × rule.Distance)`", by the limits of the seed.
pub(super) fn distance(plan: &Plan, seed: Ref<'_>, candidate: Ref<'_>) -> f64 {
    let limits = plan.row(seed.shape().step);
    let mut sum = 0.0;
    for (rule, weight) in plan.numbers.iter().enumerate() {
        let (one, other) = (seed.number(rule), candidate.number(rule));
        if one != WILD && other != WILD {
            sum += weight
                * distance::difference(
                    (one - other).unsigned_abs() as f64,
                    limits.numbers[rule].scale as f64,
                );
        }
    }
    for (index, rule) in plan.texts.iter().enumerate() {
        let (one, other) = (seed.text(index), candidate.text(index));
        let same = one == ANY_TEXT || other == ANY_TEXT || (one == other && one != MIXED_TEXT);
        sum += rule.weight * distance::text(if same { Equality::Same } else { Equality::Different });
    }
    for (rule, weight) in plan.sets.iter().enumerate() {
        if !seed.any_set(rule) && !candidate.any_set(rule) {
            let both = seed.set(rule).iter().zip(candidate.set(rule));
            sum += weight * distance::set(both.map(|(one, other)| (one & other).count_ones()).sum());
        }
    }
    for (index, rule) in plan.totals.iter().enumerate() {
        let together = seed.total(index) + candidate.total(index);
        sum += rule.weight * distance::total(limits.totals[index].scale as f64, together as f64);
    }
    if let Some(weight) = plan.region {
        sum += weight * distance::region(qualities(seed, candidate, limits.latency_scale));
    }
    sum
}

/// The sum of [`distance::quality`] over the common regions. Its terms are fractions of the same limit.
fn qualities(seed: Ref<'_>, candidate: Ref<'_>, allowed: u32) -> f64 {
    if allowed == 0 {
        return 0.0;
    }
    let common = bits(seed.regions() & candidate.regions());
    let worst = common.map(|region| seed.latency(region as usize).max(candidate.latency(region as usize)));
    let within: u32 = worst.map(|worst| allowed.saturating_sub(worst.into())).sum();
    f64::from(within) / f64::from(allowed)
}
