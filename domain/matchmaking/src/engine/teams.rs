//! Who plays on which team: tickets whole, teams within their sizes, and every rule of whole teams kept.
//!
//! A handful of tickets on two teams are tried in every way and the most even one wins. Larger matches are seated largest
//! ticket first, each where the fewest and weakest are, and then improved by exchanges; only where that breaks a rule is the
//! search for a seating that does not exhaustive, within a budget.

use alloc::vec::Vec;

use super::descent::{Outlook, Steps};
use super::judged::Rule;
use super::packing::Packing;
use super::plan::{Row, Similarity, Team};

/// Up to this many tickets on two teams every seating is tried: 2,048 of them at most, with symmetry.
const EXHAUSTIVE_UNITS_MAX: usize = 12;

/// What is to be seated.
#[derive(Debug)]
pub(super) struct Demand<'a> {
    pub teams: &'a [Team],
    /// What the rules of whole teams allow.
    pub row: &'a Row,
    pub similarity: Similarity,
    /// Players who have their teams already, by team.
    pub seated: &'a [u8],
    /// Their sums, by team and then by rule.
    pub seated_sums: &'a [i64],
    /// From how many players on a ticket is a large party.
    pub large_from: u8,
    /// The players of each ticket that is to be seated.
    pub units: &'a [u8],
    /// Their sums, by ticket and then by rule.
    pub unit_sums: &'a [i64],
    /// How many of them are large parties, where those have to be alike.
    pub larges: usize,
    /// How many rules compare averages.
    pub numbers: usize,
}

/// A seating under construction. Kept between searches.
#[derive(Debug, Clone, Default)]
pub(super) struct Seats {
    pub(super) players: Vec<u8>,
    pub(super) sums: Vec<i64>,
    pub(super) large: Vec<u8>,
    pub(super) outlook: Outlook,
    pub(super) seats: Vec<u8>,
    pub(super) best: Vec<u8>,
    /// How many steps the search that asks may still take for seatings, all of them together.
    pub(super) steps: Steps,
    halves: Halves,
    /// Of each team, while tickets are exchanged.
    pub(super) averages: Vec<Option<i64>>,
    /// The rule that did not allow the last seating.
    pub(super) broken: Option<Rule>,
}

/// Which sets the units of either half make: their players, and twice what they weigh.
#[derive(Debug, Clone, Default)]
struct Halves {
    lower: Vec<(u8, i64)>,
    upper: Vec<(u8, i64)>,
    /// Which of the lower half's have so many players, one bit each.
    by_players: Vec<u64>,
}

impl Seats {
    /// Looks for a [seating](Self::found); says whether there is one that keeps the rules, and it was found within the budget.
    pub(super) fn seat(&mut self, demand: &Demand<'_>) -> bool {
        let larges = demand.larges;
        if demand.similarity == Similarity::Alike && larges > 0 && larges < demand.teams.len() {
            self.broken = Some(Rule::Similarity);
            return false;
        }
        self.begin(demand);
        if demand.teams.len() == 2 && demand.units.len() <= EXHAUSTIVE_UNITS_MAX {
            self.try_all(demand)
        } else {
            self.seat_many(demand)
        }
    }

    /// The team of each unit, as they were [seated](Self::seat) last.
    pub(super) fn found(&self) -> &[u8] {
        &self.best
    }

    /// Whether tickets of these sizes have room on the teams, whatever else the rules say.
    pub(super) fn have_room(&mut self, demand: &Demand<'_>) -> bool {
        let free = |(team, seated): (&Team, &u8)| team.max.checked_sub(*seated);
        let Some(free) = demand.teams.iter().zip(demand.seated).map(free).collect::<Option<Vec<u8>>>() else {
            return false;
        };
        let wanted: u32 = demand.units.iter().map(|players| u32::from(*players)).sum();
        if wanted > free.iter().map(|free| u32::from(*free)).sum() {
            return false;
        }
        if demand.units.iter().all(|players| *players <= 1) {
            return true;
        }
        let mut units = demand.units.to_vec();
        units.sort_unstable_by(|a, b| b.cmp(a));
        // The largest first, each where it first fits: nearly always that is enough.
        let mut left = free.clone();
        let fits = units.iter().all(|unit| {
            let team = left.iter_mut().find(|free| **free >= *unit);
            team.map(|free| *free -= unit).is_some()
        });
        if fits {
            return true;
        }
        let mut packing = Packing::new(self.steps);
        let fits = packing.fits(&units, free);
        self.steps = packing.left;
        fits
    }

    pub(super) fn begin(&mut self, demand: &Demand<'_>) {
        self.players.clear();
        self.players.extend_from_slice(demand.seated);
        self.sums.clear();
        self.sums.extend_from_slice(demand.seated_sums);
        self.large.clear();
        self.large.resize(demand.teams.len(), 0);
        self.seats.clear();
        self.seats.resize(demand.units.len(), 0);
        self.best.clear();
        self.broken = None;
    }

    /// The same after a seating that was none.
    pub(super) fn begin_anew(&mut self, demand: &Demand<'_>) {
        let broken = self.broken;
        self.begin(demand);
        self.broken = broken;
    }

    #[inline(always)]
    pub(super) fn put(&mut self, demand: &Demand<'_>, unit: usize, team: usize) {
        self.seats[unit] = u8::try_from(team).unwrap_or(u8::MAX);
        self.players[team] += demand.units[unit];
        self.large[team] += u8::from(demand.is_large(unit));
        for rule in 0..demand.numbers {
            self.sums[team * demand.numbers + rule] += demand.unit_sums[unit * demand.numbers + rule];
        }
    }

    pub(super) fn take(&mut self, demand: &Demand<'_>, unit: usize) {
        let team = usize::from(self.seats[unit]);
        self.players[team] -= demand.units[unit];
        self.large[team] -= u8::from(demand.is_large(unit));
        for rule in 0..demand.numbers {
            self.sums[team * demand.numbers + rule] -= demand.unit_sums[unit * demand.numbers + rule];
        }
    }

    /// Whether the teams as they are keep every rule.
    pub(super) fn holds(&mut self, demand: &Demand<'_>) -> bool {
        let sizes = self.players.iter().zip(demand.teams);
        let (mut smallest, mut largest) = (u8::MAX, 0);
        for (players, team) in sizes {
            if !(team.min..=team.max).contains(players) {
                return false;
            }
            (smallest, largest) = (smallest.min(*players), largest.max(*players));
        }
        if largest - smallest.min(largest) > demand.row.balance {
            self.broken = Some(Rule::Balance);
            return false;
        }
        let alike = match demand.similarity {
            Similarity::Any => true,
            Similarity::Alike => {
                self.large.iter().all(|large| *large > 0) || self.large.iter().all(|large| *large == 0)
            }
        };
        let uneven =
            (0..demand.numbers).find(|rule| self.spread(demand, *rule) > demand.row.team_numbers[*rule]);
        let broken = if alike { uneven.map(Rule::Average) } else { Some(Rule::Similarity) };
        self.broken = broken.or(self.broken);
        broken.is_none()
    }

    /// The difference between the highest and the lowest average; teams without players have none.
    pub(super) fn spread(&self, demand: &Demand<'_>, rule: usize) -> i64 {
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        for (team, players) in self.players.iter().enumerate().filter(|(_, players)| **players > 0) {
            let average = average(self.sums[team * demand.numbers + rule], *players).unwrap_or(0);
            (low, high) = (low.min(average), high.max(average));
        }
        if low > high { 0 } else { high - low }
    }

    /// All seatings on two teams, each one exchange away from the one before.
    fn try_all(&mut self, demand: &Demand<'_>) -> bool {
        let count = demand.units.len();
        let twins = demand.teams[0] == demand.teams[1] && demand.seated == [0, 0];
        // Of two mirrored seatings one is enough: then the first ticket stays where it is.
        let free = if twins { count.saturating_sub(1) } else { count };
        let first = count - free;
        // Most seatings have too many on one team: what else they are is not asked.
        let strength =
            |unit: usize| if demand.numbers > 0 { demand.unit_sums[unit * demand.numbers] } else { 0 };
        let (mut coming, mut coming_sum) = (0, 0);
        for unit in 0..count {
            coming += demand.units[unit];
            coming_sum += strength(unit);
        }
        let all = self.players[0] + self.players[1] + coming;
        let [one, other] = [demand.teams[0], demand.teams[1]];
        let sizes = one.min.max(all.saturating_sub(other.max))..=one.max.min(all.saturating_sub(other.min));
        let sums = |team: usize| if demand.numbers > 0 { self.sums[team * demand.numbers] } else { 0 };
        let (mut players, mut sum) = (self.players[0] + coming, sums(0) + coming_sum);
        let total = sum + sums(1);
        if *sizes.start() == *sizes.end()
            && *sizes.start() * 2 == all
            && let Some(to_move) = players.checked_sub(*sizes.start())
        {
            // Teams of one size are as even as their sums are.
            let evenest = self.evenest(demand, first, (to_move, 2 * sum - total));
            (0..count).for_each(|unit| self.put(demand, unit, (evenest >> unit & 1) as usize));
            if self.holds(demand) {
                core::mem::swap(&mut self.best, &mut self.seats);
                return true;
            }
            // The others are no more even.
            if self.broken == Some(Rule::Average(0)) {
                return false;
            }
            self.begin_anew(demand);
        }
        (0..count).for_each(|unit| self.put(demand, unit, 0));
        let (mut seats, mut stand) = (0_u32, 0_u32);
        let mut best = i64::MAX;
        let allowed = if demand.numbers > 0 { demand.row.team_numbers[0] } else { i64::MAX };
        for step in 0..1_u32 << free {
            if step > 0 {
                // The bit in which a Gray code changes.
                let unit = first + step.trailing_zeros() as usize;
                seats ^= 1 << unit;
                let leaves = seats >> unit & 1 == 1;
                let (moved, with) = (demand.units[unit], strength(unit));
                (players, sum) =
                    if leaves { (players - moved, sum - with) } else { (players + moved, sum + with) };
            }
            if !sizes.contains(&players) {
                continue;
            }
            let spread = match (average(sum, players), average(total - sum, all - players)) {
                (Some(one), Some(other)) => (one - other).abs(),
                (Some(_), None) | (None, Some(_) | None) => 0,
            };
            if spread > allowed {
                self.broken = Some(Rule::Average(0));
                continue;
            }
            if spread >= best {
                continue;
            }
            for unit in super::lanes::bits((seats ^ stand).into()) {
                let team = 1 - usize::from(self.seats[unit as usize]);
                self.take(demand, unit as usize);
                self.put(demand, unit as usize, team);
            }
            stand = seats;
            if self.holds(demand) {
                best = spread;
                self.best.clone_from(&self.seats);
                if spread == 0 {
                    break;
                }
            }
        }
        best < i64::MAX
    }

    /// Which units the second team has where teams of one size are as even as they can be, whatever else rules say; the first so many
    /// stay on the first team. Of the units that move, those of either half are added up once, so that only pairs of halves that make
    /// as many players as are to move are looked at.
    fn evenest(&mut self, demand: &Demand<'_>, first: usize, (to_move, apart): (u8, i64)) -> u32 {
        let free = demand.units.len() - first;
        let half = free / 2;
        let strength =
            |unit: usize| if demand.numbers > 0 { demand.unit_sums[unit * demand.numbers] } else { 0 };
        let add_up = |sets: &mut Vec<(u8, i64)>, units: core::ops::Range<usize>| {
            sets.clear();
            sets.push((0, 0));
            for unit in units {
                let (players, sum) = (demand.units[unit], 2 * strength(unit));
                for set in 0..sets.len() {
                    let (before, with) = sets[set];
                    sets.push((before + players, with + sum));
                }
            }
        };
        let Halves { lower, upper, by_players } = &mut self.halves;
        add_up(lower, first..first + half);
        add_up(upper, first + half..demand.units.len());
        // Those of the lower half by their players, one bit each; who are more than are to move is of no interest.
        by_players.clear();
        by_players.resize(usize::from(to_move) + 1, 0);
        for (set, (players, _)) in lower.iter().enumerate() {
            if let Some(sets) = by_players.get_mut(usize::from(*players)) {
                *sets |= 1 << set;
            }
        }
        let (mut best, mut evenest) = (i64::MAX, 0);
        for (set, (players, sum)) in upper.iter().enumerate() {
            let Some(missing) = to_move.checked_sub(*players) else { continue };
            for other in super::lanes::bits(by_players[usize::from(missing)]) {
                let apart_now = (apart - sum - lower[other as usize].1).abs();
                let seats = (set as u32) << half | other;
                if apart_now < best || (apart_now == best && gray(seats) < gray(evenest)) {
                    (best, evenest) = (apart_now, seats);
                }
            }
        }
        evenest << first
    }

    pub(super) fn stand_alike(&self, demand: &Demand<'_>, one: usize, other: usize) -> bool {
        let sums = |team: usize| &self.sums[team * demand.numbers..(team + 1) * demand.numbers];
        demand.teams[one] == demand.teams[other]
            && self.players[one] == self.players[other]
            && self.large[one] == self.large[other]
            && sums(one) == sums(other)
    }
}

/// The turn of a seating where each is one exchange away from the one before: among equals the first wins.
const fn gray(seats: u32) -> u32 {
    let mut turn = seats ^ seats >> 1;
    turn ^= turn >> 2;
    turn ^= turn >> 4;
    turn ^ turn >> 8
}

/// Teams without players have none.
pub(super) fn average(sum: i64, players: u8) -> Option<i64> {
    (players > 0).then(|| sum.div_euclid(i64::from(players)))
}

impl Demand<'_> {
    pub(super) fn is_large(&self, unit: usize) -> bool {
        self.units[unit] >= self.large_from
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 5_000, ..ProptestConfig::default() })]

        /// Against every seating of a few tickets on two teams.
        #[test]
        fn two_teams_are_seated_where_they_can_be(
            units in proptest::collection::vec((1_u8..4, 0_i64..60), 1..8),
            seated in proptest::collection::vec((0_u8..2, 0_i64..30), 2),
            (size, less, allowed, balance, large_from) in (1_u8..9, 0_u8..2, 0_i64..8, 0_u8..3, 2_u8..4),
            alike in any::<bool>(),
        ) {
            let similarity = if alike { Similarity::Alike } else { Similarity::Any };
            let teams = [Team { min: size.saturating_sub(less), max: size }; 2];
            let row = Row { team_numbers: alloc::vec![allowed], balance, ..Row::default() };
            let (players, sums): (Vec<u8>, Vec<i64>) = units.into_iter().unzip();
            let (there, there_sums): (Vec<u8>, Vec<i64>) =
                seated.into_iter().map(|(players, sum)| (players, sum * i64::from(players))).unzip();
            let demand = Demand {
                teams: &teams,
                row: &row,
                similarity,
                large_from,
                seated: &there,
                seated_sums: &there_sums,
                units: &players,
                unit_sums: &sums,
                larges: players.iter().filter(|players| **players >= large_from).count(),
                numbers: 1,
            };
            let mut seats = Seats::default();
            let holds = (0..1_usize << players.len()).any(|way| {
                seats.begin(&demand);
                (0..players.len()).for_each(|unit| seats.put(&demand, unit, way >> unit & 1));
                seats.holds(&demand)
            });
            prop_assert_eq!(seats.seat(&demand), holds);
        }
    }
}
