//! Teams of many tickets made more even, one exchange after the other.

use super::teams::{Demand, Seats, average};

/// The most rounds of exchanges; each exchange makes the teams more even, and few are ever needed.
const EXCHANGES_MAX: usize = 64;

impl Seats {
    /// Exchanges tickets of one size between teams while that makes the teams more even.
    pub(super) fn exchange(&mut self, demand: &Demand<'_>) {
        for _ in 0..EXCHANGES_MAX {
            // Looking for one takes as long as seating all of them.
            self.steps.take(demand.units.len());
            let Some((one, other)) = self.best_exchange(demand) else { return };
            self.swap(demand, one, other);
        }
    }

    /// The exchange after which the teams are most even, where they are more even then.
    fn best_exchange(&mut self, demand: &Demand<'_>) -> Option<(usize, usize)> {
        let mut averages = core::mem::take(&mut self.averages);
        averages.clear();
        let teams = self.players.iter().enumerate();
        averages.extend(teams.map(|(team, players)| average(self.sums[team * demand.numbers], *players)));
        let hull = |averages: &[Option<i64>]| {
            let there = averages.iter().flatten();
            there.fold((i64::MAX, i64::MIN), |(low, high), it| (low.min(*it), high.max(*it)))
        };
        let (low, high) = hull(&averages);
        let is_extreme = |team: usize| averages[team].is_some_and(|it| it == low || it == high);
        let strength = |unit: usize| demand.unit_sums[unit * demand.numbers];
        let (mut best, mut found) = (high.saturating_sub(low).max(0), None);
        let mut after = averages.clone();
        for one in 0..demand.units.len() {
            let from = usize::from(self.seats[one]);
            for other in one + 1..demand.units.len() {
                let into = usize::from(self.seats[other]);
                // Between two teams in the middle nothing comes of it: the others stay as far apart.
                if from == into
                    || demand.units[one] != demand.units[other]
                    || !(is_extreme(from) || is_extreme(into))
                {
                    continue;
                }
                let gain = strength(other) - strength(one);
                let moved =
                    |team: usize, by: i64| average(self.sums[team * demand.numbers] + by, self.players[team]);
                (after[from], after[into]) = (moved(from, gain), moved(into, -gain));
                let (low, high) = hull(&after);
                (after[from], after[into]) = (averages[from], averages[into]);
                if high - low < best {
                    (best, found) = (high - low, Some((one, other)));
                }
            }
        }
        self.averages = averages;
        found
    }

    fn swap(&mut self, demand: &Demand<'_>, one: usize, other: usize) {
        let (from, into) = (usize::from(self.seats[one]), usize::from(self.seats[other]));
        self.take(demand, one);
        self.take(demand, other);
        self.put(demand, one, into);
        self.put(demand, other, from);
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::super::plan::{Row, Similarity, Team};
    use super::*;

    proptest! {
        /// Against trying every exchange, the first of equals.
        #[test]
        fn the_best_exchange_is_the_best_of_all(
            units in proptest::collection::vec((1_u8..4, 0_i64..40, 0_u8..4), 0..14),
            seated in proptest::collection::vec((0_u8..3, 0_i64..40), 4),
        ) {
            let teams = [Team { min: 0, max: 60 }; 4];
            let row = Row::default();
            let (players, strengths): (Vec<u8>, Vec<i64>) = units.iter().map(|(players, sum, _)| (*players, *sum)).unzip();
            let (there, sums): (Vec<u8>, Vec<i64>) = seated.into_iter().unzip();
            let demand = Demand {
                teams: &teams,
                row: &row,
                similarity: Similarity::Any,
                large_from: 9,
                seated: &there,
                seated_sums: &sums,
                units: &players,
                unit_sums: &strengths,
                larges: 0,
                numbers: 1,
            };
            let mut seats = Seats::default();
            seats.begin(&demand);
            for (unit, (_, _, team)) in units.iter().enumerate() {
                seats.put(&demand, unit, usize::from(*team));
            }
            let mut best = (seats.spread(&demand, 0), None);
            for one in 0..units.len() {
                for other in one + 1..units.len() {
                    if players[one] == players[other] && seats.seats[one] != seats.seats[other] {
                        seats.swap(&demand, one, other);
                        let after = seats.spread(&demand, 0);
                        seats.swap(&demand, one, other);
                        if after < best.0 {
                            best = (after, Some((one, other)));
                        }
                    }
                }
            }
            prop_assert_eq!(seats.best_exchange(&demand), best.1);
        }
    }
}
