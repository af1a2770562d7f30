//! What a ticket and the nearest that fit it would be as one match: by the rules that look at whole matches, which say nothing of pairs.
//!
//! They are put together as the engine does it, the nearest first, each judged with all before it. What is told is of these; the
//! engine tries others too, so where nothing is told there may be a match, and where something is there may be another.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::judge::{self, Judged, Short, Side, Verdict};
use super::limits::{self, Best};
use super::{QueueSpec, Waiting};
use crate::amount::Amount;
use crate::attribute::Facts;
use crate::backfill::Game;
use crate::spec::{Rule, RuleKind, TeamSpec};

/// How many of the nearest are tried: two full matches of the largest size.
pub(super) const TRIED_MAX: usize = 200;
/// The most steps of a search for teams; a millisecond.
const STEPS_MAX: u32 = 4_096;

/// Some tickets as one match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Together {
    /// How many tickets, this one among them.
    pub tickets: usize,
    /// How many players.
    pub players: u32,
    /// What keeps them from being a match; nothing where they would be one.
    pub rules: Vec<Judged>,
}

/// A ticket that is tried, as the rules see it.
pub(super) type Tried<'a> = (&'a Waiting, &'a Side<'a>);

/// Puts the nearest together, and judges them.
pub(super) fn together(spec: &QueueSpec, own: Tried<'_>, nearest: &[Tried<'_>]) -> Together {
    let mut group: Vec<Tried<'_>> = alloc::vec![own];
    let mut left_out = Vec::new();
    for tried in nearest.iter().take(TRIED_MAX) {
        let has_game = group.iter().any(|(it, _)| it.is_game());
        let fits_each =
            || group.iter().all(|(_, side)| !judge::judge(spec, side, tried.1).0.iter().any(Judged::fails));
        if (has_game && tried.0.is_game()) || !fits_each() {
            continue;
        }
        group.push(*tried);
        let whole = of_all(spec, &group);
        if !whole.is_empty() {
            group.pop();
            if left_out.is_empty() {
                left_out = whole;
            }
        }
    }
    let players = players(&group);
    let few = match group.len() {
        1 => Some(Short::Alone),
        _ if players < spec.min_match_size => Some(Short::TooFew { players, min: spec.min_match_size }),
        _ => None,
    };
    let rules = if let Some(few) = few {
        left_out.insert(0, judged(judge::name(spec, spec.rules.len()), few));
        left_out
    } else {
        let mut rules = sums(spec, &group);
        rules.extend(teams(spec, &group));
        rules
    };
    Together { tickets: group.len(), players, rules }
}

fn players(group: &[Tried<'_>]) -> u32 {
    group.iter().map(|(_, side)| u32::from(side.facts.players)).sum()
}

fn judged(rule: Arc<str>, short: Short) -> Judged {
    Judged::now(rule, Verdict::Fails(short))
}

/// "From how long a ticket has waited": of rules of the whole match, whoever has waited longest.
fn longest(group: &[Tried<'_>]) -> u32 {
    group.iter().map(|(_, side)| side.waited).max().unwrap_or(0)
}

fn restricts(rule: &Rule, waited: u32) -> bool {
    rule.optional_after.is_none_or(|after| waited < after)
}

/// What breaks as soon as one more joins, whoever comes after: its size, and what all have to share.
fn of_all(spec: &QueueSpec, group: &[Tried<'_>]) -> Vec<Judged> {
    let mut broken = Vec::new();
    let (players, max) = (players(group), group.iter().map(|(_, side)| side.room).min().unwrap_or(0));
    if players > max {
        broken.push(judged(judge::name(spec, spec.rules.len()), Short::Players { players, max }));
    }
    let (mut set, mut total) = (0, 0);
    for rule in &spec.rules {
        let sides = || group.iter().map(|(_, side)| *side);
        let short = match &rule.kind {
            RuleKind::SetIntersection { shared: least, .. } => {
                set += 1;
                let (shared, needed) = limits::shared((rule, least), set - 1, sides());
                (shared < needed).then_some(Short::Shared { shared, needed })
            }
            RuleKind::RegionSelection { latency, .. } => {
                Best::of((rule, latency), sides()).and_then(Best::short)
            }
            RuleKind::MatchTotal { max, .. } => {
                total += 1;
                let (sum, waited) = (sum(group, total - 1), longest(group));
                let max = max.after(waited).filter(|max| restricts(rule, waited) && sum > *max);
                max.map(|max| Short::Total { sum, max })
            }
            RuleKind::StringEquality { .. }
            | RuleKind::Difference { .. }
            | RuleKind::TeamDifference { .. }
            | RuleKind::TeamSizeBalance { .. }
            | RuleKind::TeamTicketSizeSimilarity => None,
        };
        broken.extend(short.map(|short| judged(rule.name.clone(), short)));
    }
    broken
}

fn sum(group: &[Tried<'_>], index: usize) -> Amount {
    let of = |side: &Side<'_>| side.facts.totals.get(index).copied().unwrap_or_default();
    group.iter().fold(Amount::ZERO, |sum, (_, side)| sum + of(side))
}

/// Sums that are too small still.
fn sums(spec: &QueueSpec, group: &[Tried<'_>]) -> Vec<Judged> {
    let (waited, mut total) = (longest(group), 0);
    let mut broken = Vec::new();
    for rule in &spec.rules {
        if let RuleKind::MatchTotal { min, .. } = &rule.kind {
            let sum = sum(group, total);
            total += 1;
            let min = min.after(waited).filter(|min| restricts(rule, waited) && sum < *min);
            broken.extend(min.map(|min| judged(rule.name.clone(), Short::TotalBelow { sum, min })));
        }
    }
    broken
}

/// Players who are on one team, whichever.
struct Unit {
    players: u32,
    /// By rule of teams' averages.
    sums: Vec<Amount>,
    /// Where they play already.
    team: Option<usize>,
}

/// What the rules of whole teams say of the best seating that is found; nothing where one keeps them all.
fn teams(spec: &QueueSpec, group: &[Tried<'_>]) -> Vec<Judged> {
    if spec.teams.is_empty() {
        return Vec::new();
    }
    let mut units: Vec<Unit> = group.iter().flat_map(|(waiting, side)| units(spec, waiting, side)).collect();
    // The largest first: who plays already needs no place to be found.
    units.sort_by_key(|unit| (unit.team.is_none(), core::cmp::Reverse(unit.players)));
    let has_game = group.iter().any(|(waiting, _)| waiting.is_game());
    let mut search = Search { spec, units: &units, has_game, waited: longest(group), best: None, steps: 0 };
    search.seat(&mut Vec::new());
    let nowhere = || {
        let seated =
            |team| units.iter().filter(|unit| unit.team == Some(team)).map(|unit| unit.players).sum();
        let free = |(at, team): (usize, &TeamSpec)| team.max.saturating_sub(seated(at));
        let max = spec.teams.iter().enumerate().map(free).max().unwrap_or(0);
        let loose = units.iter().filter(|unit| unit.team.is_none());
        let largest = loose.map(|unit| unit.players).max().unwrap_or(0);
        alloc::vec![judged(TEAMS.into(), Short::Seats { largest, max })]
    };
    search.best.unwrap_or_else(nowhere)
}

/// How the sizes of teams are named among the rules.
const TEAMS: &str = "teams";

fn units(spec: &QueueSpec, waiting: &Waiting, side: &Side<'_>) -> Vec<Unit> {
    let Waiting::Game(game, _) = waiting else {
        let sums = side.facts.team_sums.clone();
        return alloc::vec![Unit { players: side.facts.players.into(), sums, team: None }];
    };
    // Each player by itself: some have their teams, and the others came alone for all that is known.
    let alone = |seated: &crate::ticket::Seated| {
        let party = Game { members: core::slice::from_ref(seated), server: &game.server };
        let sums = Facts::of(spec, &party).unwrap_or_default().team_sums;
        Unit { players: 1, sums, team: seated.team.as_ref().and_then(|team| spec.team(team)) }
    };
    game.members.iter().map(alone).collect()
}

/// Tries seatings, within a budget.
struct Search<'a> {
    spec: &'a QueueSpec,
    units: &'a [Unit],
    has_game: bool,
    waited: u32,
    /// What the seating breaks that breaks the fewest rules.
    best: Option<Vec<Judged>>,
    steps: u32,
}

impl Search<'_> {
    /// Seats those behind `seats` in every way.
    fn seat(&mut self, seats: &mut Vec<usize>) {
        self.steps += 1;
        if self.steps > STEPS_MAX || self.best.as_ref().is_some_and(Vec::is_empty) {
            return;
        }
        let Some(unit) = self.units.get(seats.len()) else {
            let broken = self.broken(seats);
            if self.best.as_ref().is_none_or(|best| broken.len() < best.len()) {
                self.best = Some(broken);
            }
            return;
        };
        let sizes = self.sizes(seats);
        let mut open: Vec<usize> = match unit.team {
            Some(team) => alloc::vec![team],
            None => (0..self.spec.teams.len()).collect(),
        };
        open.retain(|team| sizes[*team] + unit.players <= self.spec.teams[*team].max);
        // The fewest first: so the first seating is nearly even.
        open.sort_by_key(|team| sizes[*team]);
        for team in open {
            seats.push(team);
            self.seat(seats);
            seats.pop();
        }
    }

    fn sizes(&self, seats: &[usize]) -> Vec<u32> {
        let mut sizes = alloc::vec![0; self.spec.teams.len()];
        seats.iter().zip(self.units).for_each(|(team, unit)| sizes[*team] += unit.players);
        sizes
    }

    fn broken(&self, seats: &[usize]) -> Vec<Judged> {
        let sizes = self.sizes(seats);
        let mut broken = Vec::new();
        for (team, players) in
            self.spec.teams.iter().zip(&sizes).filter(|(team, players)| **players < team.min)
        {
            let short = Short::TeamTooFew { team: team.name.clone(), players: *players, min: team.min };
            broken.push(judged(TEAMS.into(), short));
        }
        let mut average = 0;
        for rule in &self.spec.rules {
            let index = average;
            average += usize::from(matches!(rule.kind, RuleKind::TeamDifference { .. }));
            if restricts(rule, self.waited) {
                let short = self.breaks(rule, index, seats, &sizes);
                broken.extend(short.map(|short| judged(rule.name.clone(), short)));
            }
        }
        broken
    }

    fn breaks(&self, rule: &Rule, index: usize, seats: &[usize], sizes: &[u32]) -> Option<Short> {
        match &rule.kind {
            RuleKind::TeamSizeBalance { allowed } => {
                let by = sizes.iter().max()? - sizes.iter().min()?;
                let allowed = allowed.after(self.waited)?;
                (by > allowed).then_some(Short::Uneven { by, allowed })
            }
            RuleKind::TeamDifference { allowed, .. } => {
                let averages = self.averages(index, seats, sizes);
                let by = averages.iter().max()? - averages.iter().min()?;
                let (by, allowed) = (Amount::from_millionths(by), allowed.after(self.waited)?);
                (by > allowed).then_some(Short::Apart { by, allowed })
            }
            RuleKind::TeamTicketSizeSimilarity if !self.has_game => {
                let large = large_from(self.spec);
                let parties = (0..sizes.len())
                    .filter(|team| {
                        seats.iter().zip(self.units).any(|(on, unit)| on == team && unit.players >= large)
                    })
                    .count();
                (parties > 0 && parties < sizes.len())
                    .then_some(Short::Parties { with: parties, teams: sizes.len() })
            }
            // "Ticket Size Similarity Rule is ignored when matching backfill tickets."
            RuleKind::TeamTicketSizeSimilarity
            | RuleKind::StringEquality { .. }
            | RuleKind::Difference { .. }
            | RuleKind::SetIntersection { .. }
            | RuleKind::MatchTotal { .. }
            | RuleKind::RegionSelection { .. } => None,
        }
    }

    /// Of each team that has players, in millionths.
    fn averages(&self, index: usize, seats: &[usize], sizes: &[u32]) -> Vec<i64> {
        let mut sums = alloc::vec![0_i64; sizes.len()];
        for (team, unit) in seats.iter().zip(self.units) {
            sums[*team] += unit.sums.get(index).map_or(0, |sum| sum.millionths());
        }
        let filled = sums.iter().zip(sizes).filter(|(_, players)| **players > 0);
        filled.map(|(sum, players)| sum / i64::from(*players)).collect()
    }
}

/// "A large party is defined as at least half of the maximum team's size"; one player alone is no party.
fn large_from(spec: &QueueSpec) -> u32 {
    spec.teams.iter().map(|team| team.max.div_ceil(2)).max().unwrap_or(0).max(2)
}
