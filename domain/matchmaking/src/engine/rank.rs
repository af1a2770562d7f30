//! The summed distance of a candidate to the ticket a match is built around.

use super::card::Card;
use super::lanes::bits;
use super::plan::{Plan, Row};
use super::slab::{ANY_TEXT, MIXED_TEXT, Ref, WILD};
use crate::distance::{self, Equality};

/// What distances are measured from.
#[derive(Debug)]
pub(super) struct Rank<'a> {
    plan: &'a Plan,
    limits: &'a Row,
    seed: Ref<'a>,
    own: Card,
    /// Whether cards say all but latencies: one number and one short list at most, and no other rule that ranks.
    by_cards: bool,
}

impl<'a> Rank<'a> {
    /// Around a seed, by its limits.
    pub(super) fn new(plan: &'a Plan, own: Card, seed: Ref<'a>) -> Self {
        let lists = plan.sets.len() == usize::from(seed.first_list().is_some());
        let others = plan.texts.len() + plan.totals.len();
        let by_cards = lists && others == 0 && plan.numbers.len() <= 1;
        Self { plan, limits: plan.row(seed.shape().step), seed, own, by_cards }
    }

    /// "`totalDistance = Σ (rule.Weight × rule.Distance)`".
    pub(super) fn distance(&self, card: &Card, candidate: Ref<'_>) -> f64 {
        let sum = if self.by_cards { self.between_cards(card) } else { self.between_rows(candidate) };
        let Some(weight) = self.plan.region else { return sum };
        let common = self.own.regions & card.regions;
        sum + weight * distance::region(qualities(self.seed, candidate, common, self.limits.latency_scale))
    }

    fn between_cards(&self, card: &Card) -> f64 {
        let mut sum = 0.0;
        if let ([weight], [limit]) = (&self.plan.numbers[..], &self.limits.numbers[..])
            && self.own.number != WILD
            && card.number != WILD
        {
            let apart = (self.own.number - card.number).unsigned_abs() as f64;
            sum += weight * distance::difference(apart, limit.scale as f64);
        }
        if let [weight] = self.plan.sets[..]
            && !(self.own.fits_any_list || card.fits_any_list)
        {
            sum += weight * distance::set((self.own.values & card.values).count_ones());
        }
        sum
    }

    fn between_rows(&self, candidate: Ref<'_>) -> f64 {
        let Self { plan, limits, seed, .. } = self;
        let mut sum = 0.0;
        for (rule, (weight, limit)) in plan.numbers.iter().zip(&limits.numbers).enumerate() {
            let (one, other) = (seed.number(rule), candidate.number(rule));
            if one != WILD && other != WILD {
                sum += weight * distance::difference((one - other).unsigned_abs() as f64, limit.scale as f64);
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
        sum
    }
}

/// The sum of [`distance::quality`] over the common regions. Its terms are fractions of the same limit.
fn qualities(seed: Ref<'_>, candidate: Ref<'_>, common: u64, allowed: u32) -> f64 {
    if allowed == 0 {
        return 0.0;
    }
    let (one, other) = (seed.latencies(), candidate.latencies());
    let mut within = 0;
    for region in bits(common) {
        let (word, quarter) = (region as usize / 4, region % 4 * 16);
        if let (Some(one), Some(other)) = (one.get(word), other.get(word)) {
            let worst = ((one >> quarter) as u16).max((other >> quarter) as u16);
            within += allowed.saturating_sub(worst.into());
        }
    }
    f64::from(within) / f64::from(allowed)
}
