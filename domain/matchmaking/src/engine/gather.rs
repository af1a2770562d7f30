//! Whether those around a group could be a match with it, by their numbers and sizes alone: asked before any is judged, of a whole lane
//! at a time.

use alloc::vec::Vec;
use core::cell::Cell;
use core::ops::Range;

use super::block::Filter;
use super::card::Card;
use super::census::{Census, Marked};
use super::lanes::LANES_MAX;
use super::plan::{Plan, Similarity};
use super::pool::Part;
use super::search::{Field, Searcher};
use super::sides::Sides;
use super::slab::{Handle, Kind, Ref, WILD};
use super::walk::Window;

/// Somebody who may join.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stander {
    number: i64,
    /// How far its number may be from others.
    reach: i64,
    handle: Handle,
    players: u8,
    party: Party,
}

/// What a ticket is to a rule of alike parties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Party {
    Small,
    Large,
    /// Its limits ask nothing of parties any more, and it may come to be the eldest, whose limits hold.
    Eased,
}

impl Stander {
    fn new(plan: &Plan, handle: Handle, number: i64, (players, step): (u8, u16)) -> Self {
        let party = match plan.row(step).similarity {
            Similarity::Any => Party::Eased,
            Similarity::Alike if players >= plan.large_from => Party::Large,
            Similarity::Alike => Party::Small,
        };
        Self { number, reach: plan.steps[usize::from(step)].reach, handle, players, party }
    }

    /// Whether its own limit lets it be with two numbers.
    const fn reaches(&self, low: i64, high: i64) -> bool {
        self.number == WILD || (self.number - self.reach <= low && self.number + self.reach >= high)
    }

    fn of_card(plan: &Plan, card: &Card) -> Self {
        Self::new(plan, card.handle, card.number, (card.players, card.step))
    }

    fn of_row(plan: &Plan, handle: Handle, row: Ref<'_>) -> Self {
        let shape = row.shape();
        Self::new(plan, handle, row.primary(), (shape.players, shape.step))
    }
}

/// What the first so many of those who may join have together, in players and by rules on sums: any stretch of them is then known by two of
/// these. Kept between searches.
#[derive(Debug, Clone, Default)]
pub(super) struct Running {
    players: Vec<u32>,
    /// By rule, one after the other for each of them.
    totals: Vec<i64>,
    /// By rule, the least that is asked for by the group, or by any of them who may come to decide it.
    least: Vec<i64>,
}

impl Searcher {
    /// Whether some of these, all in reach of the group, are near enough to each other, and add up to a match with it. A yes is no promise.
    pub(super) fn could_gather(&mut self, field: Field<'_>, those: &[Card]) -> bool {
        self.standers.clear();
        self.standers.extend(those.iter().map(|card| Stander::of_card(field.plan, card)));
        self.standers.sort_unstable_by_key(|it| it.number);
        self.could_be_among(field)
    }

    /// Whether a search could find a match, as far as can be known from the index and from those within reach, whom a filter with so much
    /// room lets through.
    #[inline(never)]
    pub(super) fn could_find(
        &mut self,
        field: Field<'_>,
        part: &Part,
        (filter, room): (&Filter, u8),
    ) -> bool {
        let plan = field.plan;
        let mut lanes = [(None, None); LANES_MAX];
        let count = self.lanes.marks().zip(&mut lanes).map(|(lane, into)| *into = lane).count();
        let lanes: &[Marked] = &lanes[..count];
        // Those who are in the group already are counted with the others.
        let members = self.group.members().iter().map(|handle| field.slab.get(*handle).shape());
        let counted = members.filter(|it| it.kind == Kind::Ordinary && it.players <= room);
        let counted: u32 = counted.map(|it| u32::from(it.players)).sum();
        let wanted = u32::from(plan.min.saturating_sub(self.group.players())) + counted;
        let Some(census) = Census::of(&part.open, self.group.window(), filter, lanes, wanted) else {
            return true;
        };
        census.enough().any(|lane| {
            let is_other = |handle: &Handle| !self.group.has(*handle);
            let those = census.of_lane(lanes[lane]).filter(is_other);
            self.standers.clear();
            self.standers.extend(those.map(|handle| Stander::of_row(plan, handle, field.slab.get(handle))));
            self.could_be_among(field)
        })
    }

    /// The same of those who are put down, in the order of their numbers.
    fn could_be_among(&mut self, field: Field<'_>) -> bool {
        let plan = field.plan;
        self.add_up_standers(field);
        let all = &self.standers[..];
        let first =
            if plan.primary.is_some() { all.partition_point(|it| it.number == WILD) } else { all.len() };
        let (wild, those) = all.split_at(first);
        let wild_players =
            u32::from(self.group.players()) + wild.iter().map(|it| u32::from(it.players)).sum::<u32>();
        let (lowest, top, (_, highest)) = (self.group.lowest(), self.group.highest(), self.group.window());
        let players = &self.running.players[first..];
        // Where the last stretch ended: the next ends there or a little further up, as a rule.
        let end = Cell::new(0);
        // Those from one on who may be with whoever has the lowest number, of them or of the group.
        let within = |from: usize, (low, high): Window| {
            let mut until = end.get().max(from);
            while those.get(until).is_some_and(|it| it.number <= high) {
                until += 1;
            }
            while until > from && those[until - 1].number > high {
                until -= 1;
            }
            end.set(until);
            let near = those[from..until].iter().filter(|it| it.reaches(low, top.max(low)));
            wild_players + players[until] - players[from] >= plan.min.into()
                && self.could_total_of([0..first, first + from..first + until])
                && self.could_add_up(field, wild.iter().chain(near))
        };
        let around = |at: usize| within(at, (those[at].number, those[at].number + those[at].reach));
        if lowest == i64::MAX {
            // Without a number in the group anybody may be the lowest, and the group itself asks nothing.
            return (0..those.len()).any(around) || within(0, (i64::MIN, i64::MIN));
        }
        let below = those.partition_point(|it| it.number < lowest);
        within(below, (lowest, highest)) || (0..below).any(|at| those[at].reaches(lowest, top) && around(at))
    }

    /// Adds up those who are put down, one after the other.
    fn add_up_standers(&mut self, field: Field<'_>) {
        let (plan, frame) = (field.plan, self.group.frame());
        let Running { players, totals, least } = &mut self.running;
        players.clear();
        players.push(0);
        let mut sum = 0;
        players.extend(self.standers.iter().map(|it| {
            sum += u32::from(it.players);
            sum
        }));
        let rules = plan.totals.len();
        if rules == 0 {
            return;
        }
        let least_in = |rule: usize, step: u16| plan.row(step).totals[rule].min;
        totals.clear();
        totals.resize(rules, 0);
        least.clear();
        least.extend((0..rules).map(|rule| least_in(rule, frame.eldest_step)));
        for row in self.standers.iter().map(|it| field.slab.get(it.handle)) {
            for (rule, least) in least.iter_mut().enumerate() {
                totals.push(totals[totals.len() - rules] + row.total(rule));
                if row.arrival() < frame.eldest {
                    *least = (*least).min(least_in(rule, row.shape().step));
                }
            }
        }
    }

    /// Whether those who are put down in two stretches would be enough together for every rule on sums, as far as is known without asking them.
    fn could_total_of(&self, some: [Range<usize>; 2]) -> bool {
        let Running { totals, least, .. } = &self.running;
        let rules = least.len();
        least.iter().enumerate().all(|(rule, least)| {
            let sum = |it: &Range<usize>| totals[it.end * rules + rule] - totals[it.start * rules + rule];
            self.group.total(rule) + some.iter().map(sum).sum::<i64>() >= *least
        })
    }

    /// Whether the players of some of these make a match with the group, also with a large party on each team or none.
    fn could_add_up<'a>(&self, field: Field<'_>, those: impl Iterator<Item = &'a Stander> + Clone) -> bool {
        let plan = field.plan;
        let (mut sums, mut small, mut larges, mut is_eased) = (1_u128, 1_u128, self.group.larges(), false);
        for it in those.clone() {
            sums |= sums << it.players;
            match it.party {
                Party::Small => small |= small << it.players,
                Party::Large => larges += 1,
                Party::Eased => is_eased = true,
            }
        }
        let sizes = (u128::MAX << plan.min) & !(u128::MAX << self.group.room() << 1);
        let is_match = |sums: u128| sums << self.group.players() & sizes != 0;
        let apart = match self.similarity(field) {
            Similarity::Any => false,
            Similarity::Alike => !is_eased && larges < plan.teams.len(),
        };
        let similarity = if is_eased { Similarity::Any } else { self.similarity(field) };
        is_match(if apart && self.group.larges() == 0 { small } else { sums })
            && !(apart && self.group.larges() > 0)
            && self.could_total(field, those.clone().map(|it| it.handle))
            && self.could_be_seated(field, those, similarity)
    }

    /// Whether all of these together would be enough for every rule on sums. Whoever has waited longest decides how much that is.
    pub(super) fn could_total(&self, field: Field<'_>, those: impl Iterator<Item = Handle> + Clone) -> bool {
        let (plan, frame) = (field.plan, self.group.frame());
        (0..plan.totals.len()).all(|rule| {
            let least = |step: u16| plan.row(step).totals[rule].min;
            let (mut sum, mut needed) = (self.group.total(rule), least(frame.eldest_step));
            for row in those.clone().map(|handle| field.slab.get(handle)) {
                sum += row.total(rule);
                if row.arrival() < frame.eldest {
                    needed = needed.min(least(row.shape().step));
                }
            }
            sum >= needed
        })
    }

    /// Whether some of these have seats on two small teams with the group.
    fn could_be_seated<'a>(
        &self,
        field: Field<'_>,
        those: impl Iterator<Item = &'a Stander>,
        similarity: Similarity,
    ) -> bool {
        let plan = field.plan;
        let Some(cells) = plan.cells.filter(|_| !self.group.has_backfill()) else { return true };
        let mut sides = Sides::EMPTY;
        for handle in self.group.members() {
            let players = field.slab.get(*handle).shape().players;
            sides.seat(players, players >= plan.large_from);
        }
        for it in those {
            sides.offer(it.players, it.players >= plan.large_from);
            if sides.reach(cells, similarity) {
                return true;
            }
        }
        sides.reach(cells, similarity)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use mainstay_core::Timestamp;
    use proptest::prelude::*;

    use super::super::lanes::Names;
    use super::super::tests::spec_of;
    use super::super::{Engine, Newcomer};
    use super::*;
    use crate::Amount;
    use crate::attribute::Facts;
    use crate::spec::{Attribute, Delta, Expansion, Merge, Missing, QueueSpec, RuleKind, Source, Weight};

    /// Four to six players by skill, 4 apart at first and 12 at last, with 7 points together at first and 3 at last.
    fn spec() -> QueueSpec {
        let attribute = |name: &str| Attribute { source: Source::User, path: name.into() };
        let grows = |from: i32, delta: Delta<Amount>, limit: i32| {
            let (from, limit) = (Amount::whole(from), Some(Amount::whole(limit)));
            Expansion::Linear { from, delta, limit, every: 5 }
        };
        let (weight, missing, merge) = (Weight::DEFAULT, Missing::MatchAny, Merge::Average);
        let allowed = grows(4, Delta::Up(Amount::whole(4)), 12);
        let min = grows(7, Delta::Down(Amount::whole(2)), 3);
        let max = Expansion::Fixed(Amount::whole(9));
        let skill = RuleKind::Difference { attribute: attribute("skill"), weight, missing, merge, allowed };
        let points = RuleKind::MatchTotal { attribute: attribute("points"), weight, min, max };
        spec_of(4..=6, Vec::new(), [skill, points].into())
    }

    fn facts() -> impl Strategy<Value = (Facts, u16)> {
        let skill = prop_oneof![6 => (0_i32..30).prop_map(Some), 1 => Just(None)];
        (1_u8..4, skill, 0_i32..4, 0_u16..3).prop_map(|(players, skill, points, step)| {
            let numbers = [skill.map(Amount::whole)].into();
            (Facts { players, numbers, totals: [Amount::whole(points)].into(), ..Facts::default() }, step)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        /// Against every grouping of a few.
        #[test]
        fn nobody_is_passed_over_who_could_be_a_match(those in proptest::collection::vec(facts(), 2..9), seed in any::<usize>()) {
            let mut engine = Engine::new(&spec(), Timestamp::EPOCH, 0);
            let insert = |(arrival, (facts, _)): (u64, &(Facts, u16))| {
                let since = Timestamp::EPOCH;
                engine.insert(Newcomer { facts, room: 6, since, arrival, back: None, game: None }, None)
            };
            let all: Vec<Handle> = (1..).zip(&those).map(insert).collect();
            for (handle, (_, step)) in all.iter().zip(&those) {
                engine.slab.set_step(*handle, *step, engine.plan.row(*step));
            }
            let field = Field {
                plan: &engine.plan,
                slab: &engine.slab,
                pool: &engine.pool,
                games: &engine.games,
                apart: &engine.apart,
                names: Names { regions: &engine.regions, values: engine.values.first() },
            };
            let seed = all[seed % all.len()];
            let mut searcher = Searcher::default();
            let is_match = |searcher: &mut Searcher, some: u32| {
                let others = all.iter().enumerate().filter(|(at, it)| some >> at & 1 == 1 && **it != seed);
                let group: Vec<Handle> = core::iter::once(seed).chain(others.map(|(_, it)| *it)).collect();
                searcher.begin(field, &group) && searcher.complete(field).is_some()
            };
            let is_there = (0..1_u32 << all.len()).any(|some| is_match(&mut searcher, some));
            prop_assert!(searcher.begin(field, &[seed]));
            let card = |handle: &Handle| Card::of(field.plan, *handle, field.slab.get(*handle));
            let others: Vec<Card> = all.iter().filter(|it| **it != seed).map(card).collect();
            prop_assert!(!is_there || searcher.could_suffice(field, &others));
            let others: Vec<Card> = others.into_iter().filter(|it| searcher.fits(field, it)).collect();
            prop_assert!(!is_there || searcher.could_gather(field, &others));
        }
    }
}
