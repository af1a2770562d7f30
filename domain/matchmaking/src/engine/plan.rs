//! A queue compiled for the engine: its rules by kind, and what each allows at each step of waiting.
//!
//! A *step* is a stretch of waiting in which no limit of any rule changes. All tickets of a queue go through the same steps,
//! so a ticket's limits are one row of one table, found by its step.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::judged::Rule;
use super::sides;
use super::slab::{Kind, Ref, UNMEASURED, WILD};
use crate::attribute::Facts;
use crate::spec::{Enforced, Expansion, Gather, Missing, QueueSpec, RuleKind, Threshold, Weight};

/// No limit, as a difference or a sum: far beyond any two amounts, and far from what overflows.
pub(super) const FREE: i64 = i64::MAX / 4;

/// A compiled queue.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub min: u8,
    pub max: u8,
    /// All of them, in the queue's order.
    pub rules: Vec<Rule>,
    pub texts: Vec<TextRule>,
    /// The first of them that does not divide the pool: whoever has a text that it does not let in is passed by.
    pub marked_text: Option<usize>,
    pub numbers: Vec<f64>,
    /// Which number tickets are ordered by: that of the heaviest rule, the first of equals.
    pub primary: Option<usize>,
    pub sets: Vec<f64>,
    pub totals: Vec<TotalRule>,
    pub region: Option<f64>,
    pub teams: Vec<Team>,
    /// The most players of each team, where there are two whose players a word can count.
    pub pair: Option<(u64, u64)>,
    /// Of two such teams: for each number of players that both have together, which numbers the first can have, one bit each. Of
    /// others nothing is asked, and any will do.
    splits: [u64; SPLITS],
    /// The sizes that have room beside one ticket, by the players of that, one bit each: all that there are where teams ask nothing.
    beside: [u64; BESIDE],
    /// Of two small teams: what both may have, as [sides] are put down.
    pub cells: Option<u64>,
    /// "A large party is defined as at least half of the maximum team's size"; one player alone is no party.
    pub large_from: u8,
    /// The most players all teams hold.
    pub seats: u8,
    pub team_numbers: usize,
    /// At which waiting time each step begins, in milliseconds; the first at once.
    pub starts: Vec<u64>,
    /// What each step allows.
    pub rows: Vec<Row>,
    /// What each step allows by the rules that are asked most.
    pub steps: Vec<Step>,
    /// Whether a step allows no difference by number. In most queues none does, and nobody is asked.
    pub asks_equals: bool,
    pub gather: Gather,
    /// Whether the walk along the primary number meets candidates in the order of their summed distance.
    pub is_ranked_by_walk: bool,
}

/// More than a match has players.
const SPLITS: usize = 128;
/// More than a ticket has players of whom a word can count two teams.
const BESIDE: usize = 64;

/// What one step allows by the primary number and the first list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// How far the number may be from others.
    pub reach: i64,
    /// How much of the list is shared at least.
    pub need: u16,
}

/// Where a ticket stands in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    /// A game that goes on.
    Game,
    /// Its number may differ from others'.
    Open,
    /// Its number may not: it meets tickets of the same number alone, and those without one.
    Exact,
}

/// A rule of equal texts.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextRule {
    pub weight: f64,
    pub reach: Reach,
}

/// Whether a rule of texts divides the pool for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Every ticket has a text, and the rule always restricts: tickets of different texts never meet.
    Divides,
    /// It may give way, or a ticket may fit anyone.
    Filters,
}

/// A rule of sums.
#[derive(Debug, Clone, Copy)]
pub(super) struct TotalRule {
    pub weight: f64,
    /// The largest sum any step allows: what a growing group may not exceed, whoever joins it later.
    pub max_ever: i64,
    /// The least sum that any step asks for.
    pub min_ever: i64,
}

/// A team's sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Team {
    pub min: u8,
    pub max: u8,
}

/// What one step allows, in the order of each kind's rules.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    /// One bit for each rule of texts.
    pub texts: u32,
    pub numbers: Vec<Limit>,
    /// How many are shared at least.
    pub sets: Vec<u16>,
    /// The largest allowed latency; `None` while the rule does not restrict.
    pub latency: Option<u32>,
    /// By what qualities of regions are measured.
    pub latency_scale: u32,
    pub totals: Vec<Bounds>,
    pub team_numbers: Vec<i64>,
    pub balance: u8,
    pub similarity: Similarity,
}

/// A limit, and what differences are measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    pub allowed: i64,
    /// The limit as if the rule were not optional; 0 where there is none.
    pub scale: i64,
}

/// Bounds of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub min: i64,
    pub max: i64,
    /// As if the rule were not optional; 0 where there is none.
    pub scale: i64,
}

/// Whether large parties have to meet large parties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Similarity {
    #[default]
    Any,
    Alike,
}

impl Row {
    /// The largest latency to a region that whoever is of a kind may play in; `None` where any will do.
    pub(super) fn latency_of(&self, kind: Kind) -> Option<u16> {
        // A game is where it is, however long it waits.
        let limit = match kind {
            Kind::Backfill => Some(u32::MAX),
            Kind::Ordinary => self.latency,
        };
        limit.map(|limit| u16::try_from(limit).unwrap_or(u16::MAX).min(UNMEASURED - 1))
    }
}

impl Plan {
    pub(super) fn new(spec: &QueueSpec) -> Self {
        let seconds = boundaries(spec);
        let rows = seconds.iter().map(|at| row(spec, *at)).collect::<Vec<_>>();
        let small = |size: u32| u8::try_from(size).unwrap_or(u8::MAX);
        let mut plan = Self {
            min: small(spec.min_match_size),
            max: small(spec.max_match_size),
            rules: Vec::new(),
            texts: Vec::new(),
            marked_text: None,
            numbers: Vec::new(),
            primary: None,
            sets: Vec::new(),
            totals: Vec::new(),
            region: None,
            seats: spec.teams.iter().fold(0, |sum, team| small(team.max).saturating_add(sum)),
            teams: spec
                .teams
                .iter()
                .map(|team| Team { min: small(team.min), max: small(team.max) })
                .collect(),
            large_from: small(spec.teams.iter().map(|team| team.max.div_ceil(2)).max().unwrap_or(0).max(2)),
            pair: match &spec.teams[..] {
                [first, second] if first.max.max(second.max) < u64::BITS => {
                    Some((first.max.into(), second.max.into()))
                }
                _ => None,
            },
            splits: [u64::MAX; SPLITS],
            beside: [u64::MAX; BESIDE],
            cells: match &spec.teams[..] {
                [first, second] if first.max.max(second.max) <= u32::from(sides::MOST) => Some(sides::cells(
                    small(first.min)..=small(first.max),
                    small(second.min)..=small(second.max),
                )),
                _ => None,
            },
            team_numbers: 0,
            starts: seconds.iter().map(|at| u64::from(*at) * 1_000).collect(),
            rows,
            steps: Vec::new(),
            asks_equals: false,
            gather: spec.gather,
            is_ranked_by_walk: false,
        };
        if let Some(pair) = plan.pair {
            plan.splits = core::array::from_fn(|players| splits(pair, players as u64));
            plan.beside = core::array::from_fn(|players| plan.sizes_beside(players as u8));
        }
        for rule in &spec.rules {
            plan.rules.push(match rule.kind {
                RuleKind::StringEquality { .. } => Rule::Text(plan.texts.len()),
                RuleKind::Difference { .. } => Rule::Number(plan.numbers.len()),
                RuleKind::SetIntersection { .. } => Rule::List(plan.sets.len()),
                RuleKind::MatchTotal { .. } => Rule::Total(plan.totals.len()),
                RuleKind::RegionSelection { .. } => Rule::Region,
                RuleKind::TeamDifference { .. } => Rule::Average(plan.team_numbers),
                RuleKind::TeamSizeBalance { .. } => Rule::Balance,
                RuleKind::TeamTicketSizeSimilarity => Rule::Similarity,
            });
            match &rule.kind {
                RuleKind::StringEquality { weight, missing, enforced, .. } => {
                    let always = *enforced == Expansion::Fixed(Enforced) && rule.optional_after.is_none();
                    let reach = match missing {
                        Missing::UseDefault(_) if always => Reach::Divides,
                        Missing::UseDefault(_) | Missing::MatchAny => Reach::Filters,
                    };
                    plan.texts.push(TextRule { weight: heavy(*weight), reach });
                }
                RuleKind::Difference { weight, .. } => plan.numbers.push(heavy(*weight)),
                RuleKind::SetIntersection { weight, .. } => plan.sets.push(heavy(*weight)),
                RuleKind::MatchTotal { weight, .. } => {
                    let bounds = plan.rows.iter().map(|row| row.totals[plan.totals.len()]);
                    let max_ever = bounds.clone().map(|it| it.max).max().unwrap_or(FREE);
                    let min_ever = bounds.map(|it| it.min).min().unwrap_or(0);
                    plan.totals.push(TotalRule { weight: heavy(*weight), max_ever, min_ever });
                }
                RuleKind::RegionSelection { weight, .. } => plan.region = Some(heavy(*weight)),
                RuleKind::TeamDifference { .. } => plan.team_numbers += 1,
                RuleKind::TeamSizeBalance { .. } | RuleKind::TeamTicketSizeSimilarity => {}
            }
        }
        plan.marked_text = plan.texts.iter().position(|rule| rule.reach == Reach::Filters);
        for (index, weight) in plan.numbers.iter().enumerate() {
            if plan.primary.is_none_or(|best| *weight > plan.numbers[best]) {
                plan.primary = Some(index);
            }
        }
        plan.steps = plan
            .rows
            .iter()
            .map(|row| Step {
                reach: plan.primary.map_or(FREE, |rule| row.numbers[rule].allowed),
                need: row.sets.first().copied().unwrap_or(0),
            })
            .collect();
        plan.asks_equals = plan.steps.iter().any(|step| step.reach == 0);
        plan.is_ranked_by_walk = plan.is_ranked_by_number_alone();
        plan
    }

    fn is_ranked_by_number_alone(&self) -> bool {
        self.numbers.len() <= 1
            && self.texts.iter().all(|rule| rule.reach == Reach::Divides)
            && self.sets.is_empty()
            && self.totals.is_empty()
            && self.region.is_none()
    }

    /// Of so many players which numbers the first of two teams can have, one bit each.
    #[inline]
    pub(super) const fn splits(&self, players: u8) -> u64 {
        self.splits[players as usize % SPLITS]
    }

    /// Which sizes have room beside one ticket of so many players, one bit each.
    #[inline]
    pub(super) const fn beside(&self, players: u8) -> u64 {
        self.beside[players as usize % BESIDE]
    }

    fn sizes_beside(&self, players: u8) -> u64 {
        let first = 1 | 1 << players;
        let fits = |more: &u8| (first | first << more) & self.splits(players + more) != 0;
        (1..BESIDE as u8).filter(fits).fold(0, |sizes, more| sizes | 1 << more)
    }

    /// Whether the best matches of all that are due can be told at once: where those who come are gathered, and which neighbours in the
    /// order of one number are a match is all that rules between tickets ask.
    pub(super) fn is_batched(&self) -> bool {
        self.gather != Gather::NONE && self.asks_one_number()
    }

    #[inline(never)]
    const fn asks_one_number(&self) -> bool {
        self.min == self.max && self.numbers.len() == 1 && self.is_ranked_by_walk
    }

    /// Where a ticket stands in a step.
    pub(super) fn stands(&self, row: Ref<'_>, step: u16) -> Stand {
        match row.shape().kind {
            Kind::Backfill => Stand::Game,
            Kind::Ordinary if self.asks_equals && self.is_exact(row, step) => Stand::Exact,
            Kind::Ordinary => Stand::Open,
        }
    }

    #[inline(never)]
    fn is_exact(&self, row: Ref<'_>, step: u16) -> bool {
        self.steps[usize::from(step)].reach == 0 && row.primary() != WILD
    }

    /// Whether facts are those of this queue's rules.
    pub(super) const fn reads(&self, facts: &Facts) -> bool {
        facts.texts.len() == self.texts.len()
            && facts.numbers.len() == self.numbers.len()
            && facts.sets.len() == self.sets.len()
            && facts.totals.len() == self.totals.len()
            && facts.team_sums.len() == self.team_numbers
    }

    /// What a step allows.
    pub(super) fn row(&self, step: u16) -> &Row {
        &self.rows[usize::from(step)]
    }
}

/// Which numbers the first of two teams can have of so many players.
fn splits((first, second): (u64, u64), players: u64) -> u64 {
    let least = players.saturating_sub(second);
    if least > first { 0 } else { u64::MAX >> (63 - (first - least)) << least }
}

fn heavy(weight: Weight) -> f64 {
    weight.get().to_f64()
}

/// The seconds at which steps begin, the first at 0.
fn boundaries(spec: &QueueSpec) -> Vec<u32> {
    let mut seconds = BTreeSet::from([0]);
    for rule in &spec.rules {
        match &rule.kind {
            RuleKind::StringEquality { enforced, .. } => seconds.extend(enforced.boundaries()),
            RuleKind::Difference { allowed, .. } | RuleKind::TeamDifference { allowed, .. } => {
                seconds.extend(allowed.boundaries());
            }
            RuleKind::SetIntersection { shared, .. } => seconds.extend(shared.boundaries()),
            RuleKind::MatchTotal { min, max, .. } => {
                seconds.extend(min.boundaries());
                seconds.extend(max.boundaries());
            }
            RuleKind::RegionSelection { latency, .. } => seconds.extend(latency.boundaries()),
            RuleKind::TeamSizeBalance { allowed } => seconds.extend(allowed.boundaries()),
            RuleKind::TeamTicketSizeSimilarity => {}
        }
        seconds.extend(rule.optional_after);
    }
    seconds.into_iter().collect()
}

fn row(spec: &QueueSpec, at: u32) -> Row {
    let mut row = Row { balance: u8::MAX, ..Row::default() };
    let mut texts = 0;
    for rule in &spec.rules {
        let optional = rule.optional_after.is_some_and(|after| at >= after);
        match &rule.kind {
            RuleKind::StringEquality { enforced, .. } => {
                let restricts = !optional && enforced.after(at).is_some();
                row.texts |= u32::from(restricts) << texts;
                texts += 1;
            }
            RuleKind::Difference { allowed, .. } => {
                let scale = allowed.after(at).map(|allowed| allowed.millionths());
                let allowed = scale.filter(|_| !optional).unwrap_or(FREE);
                row.numbers.push(Limit { allowed, scale: scale.unwrap_or(0) });
            }
            RuleKind::SetIntersection { shared, .. } => {
                let shared = restricting(shared, at, optional).unwrap_or(0);
                row.sets.push(u16::try_from(shared).unwrap_or(u16::MAX));
            }
            RuleKind::MatchTotal { min, max, .. } => {
                let (least, most) = (min.after(at), max.after(at));
                let bound = |bound: Option<crate::Amount>, without: i64| {
                    bound.filter(|_| !optional).map_or(without, |bound| bound.millionths())
                };
                let scale = most.map_or(0, |most| most.millionths());
                row.totals.push(Bounds { min: bound(least, 0), max: bound(most, FREE), scale });
            }
            RuleKind::RegionSelection { latency, .. } => {
                row.latency = restricting(latency, at, optional);
                row.latency_scale = latency.after(at).unwrap_or(0);
            }
            RuleKind::TeamDifference { allowed, .. } => {
                let allowed = restricting(allowed, at, optional);
                row.team_numbers.push(allowed.map_or(FREE, |allowed| allowed.millionths()));
            }
            RuleKind::TeamSizeBalance { allowed } => {
                let allowed = restricting(allowed, at, optional).unwrap_or(u32::MAX);
                row.balance = u8::try_from(allowed).unwrap_or(u8::MAX);
            }
            RuleKind::TeamTicketSizeSimilarity => {
                row.similarity = if optional { Similarity::Any } else { Similarity::Alike };
            }
        }
    }
    row
}

fn restricting<T: Threshold>(expansion: &Expansion<T>, at: u32, optional: bool) -> Option<T> {
    expansion.after(at).filter(|_| !optional)
}

#[cfg(test)]
mod tests {
    use super::super::tests::spec_of;
    use super::*;
    use crate::spec::TeamSpec;

    /// Against seating both tickets in every way.
    #[test]
    fn sizes_beside_one_ticket_are_those_that_two_teams_have_room_for() {
        for (first, second) in [(5_u32, 5_u32), (3, 7), (1, 2), (12, 20)] {
            let teams = [("red", first), ("blue", second)];
            let teams = teams.map(|(name, max)| TeamSpec { name: name.into(), min: 1, max }).to_vec();
            let plan = Plan::new(&spec_of(2..=first + second, teams, Vec::new()));
            for one in 1..=first.max(second) {
                let have_room = |other: u32| {
                    let ways = [(one + other, 0), (one, other), (other, one), (0, one + other)];
                    ways.iter().any(|(of_first, of_second)| *of_first <= first && *of_second <= second)
                };
                for other in 1..64 {
                    assert_eq!(
                        plan.beside(one as u8) >> other & 1 == 1,
                        have_room(other),
                        "{one} and {other} on {first} and {second}"
                    );
                }
            }
        }
        let plan = Plan::new(&spec_of(2..=10, Vec::new(), Vec::new()));
        assert_eq!(plan.beside(1), u64::MAX, "without teams all have");
    }

    #[test]
    fn both_of_two_teams_have_room_for_theirs() {
        for (first, second, players) in
            [(5, 5, 0), (5, 5, 7), (5, 5, 10), (5, 5, 11), (3, 7, 8), (63, 63, 70)]
        {
            for of_first in 0..=players.min(63) {
                let fits = of_first <= first && players - of_first <= second;
                assert_eq!(
                    splits((first, second), players) >> of_first & 1 == 1,
                    fits,
                    "{of_first} of {players}"
                );
            }
        }
    }
}
