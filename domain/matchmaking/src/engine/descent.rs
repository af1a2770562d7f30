//! The search for a seating of many tickets: one after the other, each where the fewest and weakest are, within the steps that its search
//! has left. Wherever a team could not end as even as it has to, whoever else came to it, the search turns back at once.

use alloc::vec::Vec;

use super::judged::Rule;
use super::plan::{Similarity, Team};
use super::teams::{Demand, Seats, average};
use crate::spec::TEAMS_MAX;

/// The most steps a search may take for all seatings it asks for; some hundred microseconds.
const SEATINGS_MAX: u32 = 8_192;

/// How many steps may still be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Steps(pub u32);

impl Default for Steps {
    /// As many as a search has.
    fn default() -> Self {
        Self(SEATINGS_MAX)
    }
}

impl Steps {
    /// Takes some; says whether they were left. Where they were not, none are.
    pub(super) fn take(&mut self, some: usize) -> bool {
        let left = u32::try_from(some).ok().and_then(|some| self.0.checked_sub(some));
        self.0 = left.unwrap_or(0);
        left.is_some()
    }

    pub(super) const fn is_over(self) -> bool {
        self.0 == 0
    }

    /// How many were taken.
    pub(super) const fn taken(self) -> u32 {
        SEATINGS_MAX.saturating_sub(self.0)
    }
}

/// What is known of a seating before anybody is seated.
#[derive(Debug, Clone, Default)]
pub(super) struct Outlook {
    /// In which order tickets are seated.
    order: Vec<usize>,
    /// The players of those who are still to be seated, and how many of these tickets are large parties: by how many are.
    coming: Vec<(u8, u8)>,
    /// By rule: how much a team's average may be at least and at most, if all are to be even.
    even: Vec<(i64, i64)>,
    /// By rule, and then by size: the lowest and the highest average of the tickets that are no larger, rounded away from each other.
    averages: Vec<(i64, i64)>,
    /// How many sizes there are, that a team may miss, or none.
    sizes: usize,
}

/// What a complete seating is asked for.
#[derive(Debug, Clone, Copy)]
enum Leaf {
    /// That teams have their sizes.
    Sizes,
    /// That every rule is kept.
    Rules,
}

impl Outlook {
    fn begin(&mut self, demand: &Demand<'_>) {
        self.order.clear();
        self.order.extend(0..demand.units.len());
        // The largest first; among equals the strongest, and then in their own order.
        let strength = |unit: usize| demand.unit_sums.get(unit * demand.numbers).copied().unwrap_or(0);
        self.order.sort_by_key(|unit| {
            let players = i64::from(demand.units[*unit]);
            let number = if demand.numbers > 0 { strength(*unit) / players.max(1) } else { 0 };
            (core::cmp::Reverse(players), core::cmp::Reverse(number), *unit)
        });
        self.coming.clear();
        self.coming.push((0, 0));
        for unit in self.order.iter().rev() {
            let (players, larges) = self.coming[self.coming.len() - 1];
            self.coming.push((players + demand.units[*unit], larges + u8::from(demand.is_large(*unit))));
        }
    }

    /// What rules on averages leave to each team.
    fn look_ahead(&mut self, demand: &Demand<'_>) {
        self.even.clear();
        self.averages.clear();
        self.sizes = usize::from(demand.teams.iter().map(|team| team.max).max().unwrap_or(0)) + 1;
        let players = demand.seated.iter().chain(demand.units).map(|it| i64::from(*it)).sum::<i64>().max(1);
        for (rule, allowed) in demand.row.team_numbers.iter().take(demand.numbers).enumerate() {
            let of_rule = |sums: &[i64]| sums.iter().skip(rule).step_by(demand.numbers).sum::<i64>();
            // The average of all lies between those of teams: no team is further from it than teams may be from each other.
            let all = (of_rule(demand.seated_sums) + of_rule(demand.unit_sums)).div_euclid(players);
            self.even.push((all.saturating_sub(*allowed), all.saturating_add(*allowed)));
            let first = self.averages.len();
            self.averages.resize(first + self.sizes, (i64::MAX, i64::MIN));
            for (unit, players) in demand.units.iter().enumerate() {
                let (sum, players) =
                    (demand.unit_sums[unit * demand.numbers + rule], i64::from((*players).max(1)));
                let average = sum.div_euclid(players);
                let above = average + i64::from(sum.rem_euclid(players) > 0);
                for (low, high) in self.averages[first..].iter_mut().skip(players as usize) {
                    (*low, *high) = ((*low).min(average), (*high).max(above));
                }
            }
        }
    }

    /// Whether a team of so many players and their sum could end with an average within some, whoever else came to it.
    fn could_end(&self, rule: usize, team: Team, (players, sum): (u8, i64), (low, high): (i64, i64)) -> bool {
        (team.min.saturating_sub(players)..=team.max.saturating_sub(players)).any(|more| {
            let (all, more) = (i64::from(players + more), usize::from(more));
            let (weakest, strongest) =
                if more == 0 { (0, 0) } else { self.averages[rule * self.sizes + more] };
            // Nobody is so small.
            if weakest > strongest {
                return false;
            }
            let with = |average: i64| sum.saturating_add(average.saturating_mul(more as i64));
            with(strongest) >= low.saturating_mul(all)
                && with(weakest) < high.saturating_add(1).saturating_mul(all)
        })
    }
}

impl Seats {
    pub(super) fn seat_many(&mut self, demand: &Demand<'_>) -> bool {
        // To look ahead takes as long as seating all of them once.
        if !self.steps.take(demand.units.len()) {
            return false;
        }
        let mut outlook = core::mem::take(&mut self.outlook);
        outlook.begin(demand);
        outlook.look_ahead(demand);
        let mut found =
            self.each_could_be_even(demand, &outlook) && self.descend(demand, &outlook, 0, Leaf::Sizes);
        if found && demand.numbers > 0 {
            self.exchange(demand);
        }
        if found && !self.holds(demand) {
            self.begin_anew(demand);
            found = self.descend(demand, &outlook, 0, Leaf::Rules);
        }
        if found {
            self.best.clone_from(&self.seats);
        }
        self.outlook = outlook;
        found
    }

    /// Seats those of an order from one on.
    fn descend(&mut self, demand: &Demand<'_>, outlook: &Outlook, at: usize, leaf: Leaf) -> bool {
        let Some(unit) = outlook.order.get(at).copied() else {
            return match leaf {
                Leaf::Sizes => {
                    self.players.iter().zip(demand.teams).all(|(it, team)| (team.min..=team.max).contains(it))
                }
                Leaf::Rules => self.holds(demand),
            };
        };
        let there = self.players.iter().zip(demand.teams);
        let wanted: u32 = there.map(|(it, team)| u32::from(team.min.saturating_sub(*it))).sum();
        let (coming, larges) = outlook.coming[outlook.order.len() - at];
        if wanted > coming.into() || !self.could_be_alike(demand, outlook, larges) {
            return false;
        }
        let (teams, count) = self.fewest_first(demand);
        for (tried, team) in teams[..count].iter().enumerate() {
            let team = usize::from(*team);
            if self.players[team] + demand.units[unit] > demand.teams[team].max {
                continue;
            }
            // A team that stands just as one already tried would end the same.
            if teams[..tried].iter().any(|other| self.stand_alike(demand, (*other).into(), team)) {
                continue;
            }
            if !self.steps.take(1) {
                return false;
            }
            self.put(demand, unit, team);
            let goes_on = match leaf {
                Leaf::Sizes => true,
                Leaf::Rules => self.could_be_even(demand, outlook, team),
            };
            if goes_on && self.descend(demand, outlook, at + 1, leaf) {
                return true;
            }
            self.take(demand, unit);
        }
        false
    }

    /// The teams with the fewest players first, among those the weakest.
    fn fewest_first(&self, demand: &Demand<'_>) -> ([u8; TEAMS_MAX], usize) {
        let mut teams = [0; TEAMS_MAX];
        let count = demand.teams.len().min(TEAMS_MAX);
        let sum =
            |team: u8| if demand.numbers > 0 { self.sums[usize::from(team) * demand.numbers] } else { 0 };
        let key = |team: u8| (self.players[usize::from(team)], sum(team));
        for team in 0..count {
            let own = key(team as u8);
            let mut place = team;
            while place > 0 && key(teams[place - 1]) > own {
                teams[place] = teams[place - 1];
                place -= 1;
            }
            teams[place] = team as u8;
        }
        (teams, count)
    }

    /// Whether so many large parties are enough for the teams that have none.
    fn could_be_alike(&self, demand: &Demand<'_>, outlook: &Outlook, larges: u8) -> bool {
        let (_, of_all) = outlook.coming[outlook.order.len()];
        match demand.similarity {
            Similarity::Any => true,
            Similarity::Alike => {
                of_all == 0 || self.large.iter().filter(|it| **it == 0).count() <= larges.into()
            }
        }
    }

    /// Whether each ticket could be on some team, whoever came to it.
    fn each_could_be_even(&mut self, demand: &Demand<'_>, outlook: &Outlook) -> bool {
        // Whoever plays already may be what makes it even.
        if demand.seated.iter().any(|seated| *seated > 0) {
            return true;
        }
        let uneven = (0..demand.numbers).find(|rule| {
            !(0..demand.units.len()).all(|unit| {
                let sum = demand.unit_sums[unit * demand.numbers + rule];
                demand.teams.iter().any(|team| {
                    outlook.could_end(*rule, *team, (demand.units[unit], sum), outlook.even[*rule])
                })
            })
        });
        self.broken = uneven.map(Rule::Average).or(self.broken);
        uneven.is_none()
    }

    /// Whether the averages of a team could be near enough to all others when it is complete.
    fn could_be_even(&mut self, demand: &Demand<'_>, outlook: &Outlook, team: usize) -> bool {
        let uneven = (0..demand.numbers).find(|rule| {
            let (mut low, mut high) = outlook.even[*rule];
            let allowed = demand.row.team_numbers[*rule];
            for other in (0..demand.teams.len()).filter(|it| self.players[*it] == demand.teams[*it].max) {
                if let Some(average) = average(self.sums[other * demand.numbers + rule], self.players[other])
                {
                    low = low.max(average.saturating_sub(allowed));
                    high = high.min(average.saturating_add(allowed));
                }
            }
            let there = (self.players[team], self.sums[team * demand.numbers + rule]);
            !outlook.could_end(*rule, demand.teams[team], there, (low, high))
        });
        self.broken = uneven.map(Rule::Average).or(self.broken);
        uneven.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use mainstay_core::Timestamp;
    use proptest::prelude::*;

    use super::super::plan::Row;
    use super::super::tests::spec_of;
    use super::super::{Engine, Look, Newcomer};
    use super::*;
    use crate::Amount;
    use crate::attribute::Facts;
    use crate::spec::{Attribute, Expansion, QueueSpec, RuleKind, Source, TeamSpec};

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        /// Against every seating of a few tickets on three teams.
        #[test]
        fn many_teams_are_seated_where_they_can_be(
            units in proptest::collection::vec((1_u8..5, 0_i64..60, -20_i64..20), 1..7),
            seated in proptest::collection::vec((prop_oneof![3 => Just(0_u8), 1 => 1_u8..3], 0_i64..30, -20_i64..20), 3),
            (size, less, allowed, other, balance) in (1_u8..7, 0_u8..3, 0_i64..12, 0_i64..12, 0_u8..4),
            (larger, large_from, alike) in (0_u8..2, 2_u8..4, any::<bool>()),
        ) {
            let similarity = if alike { Similarity::Alike } else { Similarity::Any };
            let of_size = |max: u8| Team { min: max.saturating_sub(less), max };
            let teams = [of_size(size), of_size(size), of_size(size + larger)];
            let row = Row { team_numbers: alloc::vec![allowed, other], balance, ..Row::default() };
            let players: Vec<u8> = units.iter().map(|(players, ..)| *players).collect();
            let sums: Vec<i64> = units.iter().flat_map(|(_, one, other)| [*one, *other]).collect();
            let there: Vec<u8> = seated.iter().map(|(players, ..)| *players).collect();
            let of_seated = |(players, one, other): &(u8, i64, i64)| [one, other].map(|it| it * i64::from(*players));
            let there_sums: Vec<i64> = seated.iter().flat_map(of_seated).collect();
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
                numbers: 2,
            };
            let mut seats = Seats::default();
            seats.steps = Steps(u32::MAX);
            let is_there = (0..3_usize.pow(players.len() as u32)).any(|mut way| {
                seats.begin(&demand);
                for unit in 0..players.len() {
                    seats.put(&demand, unit, way % 3);
                    way /= 3;
                }
                seats.holds(&demand)
            });
            prop_assert_eq!(seats.seat(&demand), is_there);
        }
    }

    /// Three teams of four, even to a millionth.
    fn spec() -> QueueSpec {
        let team = |name: &str| TeamSpec { name: name.into(), min: 4, max: 4 };
        let even = RuleKind::TeamDifference {
            attribute: Attribute { source: Source::User, path: "skill".into() },
            default: Amount::ZERO,
            allowed: Expansion::Fixed(Amount::ZERO),
        };
        spec_of(12..=12, ["red", "green", "blue"].map(team).to_vec(), [even].into())
    }

    /// Any twelve are a group, and no twelve can be seated.
    #[test]
    fn a_search_ends_however_many_groups_there_are_to_be_seated() {
        let mut engine = Engine::new(&spec(), Timestamp::EPOCH, 0);
        for arrival in 1..=40_u64 {
            // No three fours of these are as strong.
            let skill = Amount::from_millionths((arrival * arrival * 7_919_331 % 1_000_003) as i64 * 4);
            let facts = &Facts { players: 1, team_sums: [skill].into(), ..Facts::default() };
            let since = Timestamp::EPOCH;
            engine.insert(Newcomer { facts, room: 12, since, arrival, back: None, game: None }, None);
        }
        assert!(matches!(engine.look(Timestamp::EPOCH), Look::Nobody(_)));
        assert_eq!(engine.exhausted(), 1);
        // Each takes a step for each ticket at least. Where each had a budget of its own there were 1,146.
        let seatings = engine.judged()[0].1;
        assert!(seatings > 0 && seatings * 12 <= SEATINGS_MAX.into(), "{seatings}");
    }
}
