//! The summed distance of a candidate to the ticket a match is built around.

use alloc::vec::Vec;

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
    /// Of the seed's card.
    number: i64,
    values: u64,
    cards: Option<ByCards>,
    /// Of each region that the seed can play in.
    slacks: &'a [Slack],
}

/// How much nearer a region is to a seed than it has to be, and where in a row the latency to it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slack {
    region: u32,
    word: u32,
    shift: u32,
    slack: u32,
}

/// Cards say all but latencies: one number and one short list at most, and no other rule that ranks.
#[derive(Debug, Clone, Copy)]
struct ByCards {
    /// Weight and limit.
    number: Option<(f64, f64)>,
    list: Option<f64>,
}

impl<'a> Rank<'a> {
    /// Around a seed, by its limits.
    pub(super) fn new(plan: &'a Plan, own: &Card, seed: Ref<'a>, slacks: &'a mut Vec<Slack>) -> Self {
        let limits = plan.row(seed.shape().step);
        let lists = plan.sets.len() == usize::from(seed.first_list().is_some());
        let others = plan.texts.len() + plan.totals.len();
        let number = plan.numbers.first().zip(limits.numbers.first());
        let by_cards = ByCards {
            number: number
                .filter(|_| own.number != WILD)
                .map(|(weight, limit)| (*weight, limit.scale as f64)),
            list: plan.sets.first().filter(|_| !own.fits_any_list).copied(),
        };
        let cards = (lists && others == 0 && plan.numbers.len() <= 1).then_some(by_cards);
        slacks.clear();
        if plan.region.is_some() {
            // Where there is a limit, those within it were measured.
            let measured = if own.regions == u64::MAX { seed.measured() } else { own.regions };
            slacks.extend(bits(measured).map(|region| Slack {
                region,
                word: region / 4,
                shift: region % 4 * 16,
                slack: limits.latency_scale.saturating_sub(seed.latency(region as usize).into()),
            }));
        }
        Self { plan, limits, seed, number: own.number, values: own.values, cards, slacks }
    }

    /// "`totalDistance = Σ (rule.Weight × rule.Distance)`".
    #[inline]
    pub(super) fn distance(&self, card: &Card, candidate: Ref<'_>) -> f64 {
        let sum = match &self.cards {
            Some(cards) => self.between_cards(cards, card),
            None => self.between_rows(candidate),
        };
        let Some(weight) = self.plan.region else { return sum };
        sum + weight * distance::region(self.qualities(card, candidate))
    }

    fn between_cards(&self, cards: &ByCards, card: &Card) -> f64 {
        let mut sum = 0.0;
        if let Some((weight, limit)) = cards.number
            && card.number != WILD
        {
            sum += weight * distance::difference(((self.number - card.number) as f64).abs(), limit);
        }
        if let Some(weight) = cards.list
            && !card.fits_any_list
        {
            sum += weight * distance::set((self.values & card.values).count_ones());
        }
        sum
    }

    /// The sum of [`distance::quality`] over the common regions. Its terms are fractions of the same limit.
    fn qualities(&self, card: &Card, candidate: Ref<'_>) -> f64 {
        let allowed = self.limits.latency_scale;
        if allowed == 0 {
            return 0.0;
        }
        let latencies = candidate.latencies();
        let within = |it: &Slack| {
            let latency = latencies[it.word as usize] >> it.shift & 0xffff;
            let slack = allowed.saturating_sub(latency as u32).min(it.slack);
            slack & ((card.regions >> (it.region % 64) & 1) as u32).wrapping_neg()
        };
        f64::from(self.slacks.iter().map(within).sum::<u32>()) / f64::from(allowed)
    }

    #[inline(never)]
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
