//! How far each lane of a search is filled. Whoever is met is offered to a lane once: a lane that could not be filled goes on from where it
//! stands when more have been met, and one that was full and no match is never tried again.

use alloc::vec::Vec;

use super::card::Card;
use super::fill::Near;
use super::frame::Frame;
use super::plan::Plan;
use super::search::{Field, Searcher};

/// What a lane has, besides the group as it was begun.
#[derive(Debug, Clone)]
pub(super) struct Filling {
    pub frame: Frame,
    /// Who was taken, in this order, by their places among those who were met.
    pub taken: Vec<u16>,
    /// How many of those who were met have been offered.
    pub offered: usize,
}

impl Filling {
    /// Begins anew, with the group as it was begun.
    pub(super) fn begin(&mut self, frame: &Frame) {
        self.frame = *frame;
        self.taken.clear();
        self.offered = 0;
    }

    pub(super) const fn is_full(&self) -> bool {
        self.frame.players == self.frame.room
    }

    /// Whether somebody was taken.
    pub(super) fn has(&self, place: u16) -> bool {
        self.taken.contains(&place)
    }

    #[inline(always)]
    pub(super) fn take(&mut self, plan: &Plan, place: u16, card: &Card) {
        self.frame.take(plan, card);
        self.taken.push(place);
    }
}

/// Those of all lanes. Kept between searches, so that they allocate nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Fillings {
    lanes: Vec<Filling>,
    /// Which of them are of this search, one bit each.
    begun: u64,
}

impl Fillings {
    /// Nothing was offered to any lane.
    pub(super) const fn clear(&mut self) {
        self.begun = 0;
    }

    /// That of a lane, begun with the group as it was begun, where it was not yet.
    pub(super) fn of(&mut self, lane: u32, begun: &Frame) -> &mut Filling {
        let at = lane as usize;
        if self.lanes.len() <= at {
            let filling = || Filling { frame: *begun, taken: Vec::new(), offered: 0 };
            self.lanes.resize_with(at + 1, filling);
        }
        let filling = &mut self.lanes[at];
        if self.begun >> lane & 1 == 0 {
            self.begun |= 1 << lane;
            filling.begin(begun);
        }
        filling
    }
}

impl Searcher {
    /// Whether lanes are filled apart from the group, each as far as those who were met go.
    fn fills_lanes_apart(&self, field: Field<'_>) -> bool {
        field.apart.is_empty() && self.group.judges_all(field.plan)
    }

    /// Offers those of the first so many who were met to a lane, in their order; where a group needs large parties, those first. Says
    /// whether the lane may be full now.
    pub(super) fn offer(&mut self, field: Field<'_>, near: &Near, first: usize, lane: u32) -> bool {
        if !self.fills_lanes_apart(field) {
            return true;
        }
        let plan = field.plan;
        let filling = self.fillings.of(lane, self.group.frame());
        if self.lanes.is_of_large(lane) && usize::from(filling.frame.larges) < plan.teams.len() {
            filling.begin(self.group.frame());
            let larges = near.of_lane(0..first, lane).filter(|(_, it)| it.players >= plan.large_from);
            if larges.clone().count() < plan.teams.len().saturating_sub(self.group.larges()) {
                return false;
            }
            for large in larges {
                if usize::from(filling.frame.larges) >= plan.teams.len() {
                    break;
                }
                self.group.offer(plan, filling, core::iter::once(large));
            }
            if usize::from(filling.frame.larges) < plan.teams.len() {
                return false;
            }
        }
        let those = near.of_lane(filling.offered..first, lane);
        filling.offered = first;
        self.group.offer(plan, filling, those);
        filling.is_full()
    }

    /// Adds what a lane has of the first so many who were met.
    pub(super) fn take_lane(&mut self, field: Field<'_>, near: &Near, first: usize, lane: u32) {
        if self.fills_lanes_apart(field) {
            let filling = self.fillings.of(lane, self.group.frame());
            self.group.push_filling(filling, |place| near.card(&near.candidates[usize::from(place)]).handle);
            return;
        }
        let filling = self.fillings.of(lane, self.group.frame());
        let (mut taken, offered) = (core::mem::take(&mut filling.taken), filling.offered);
        let offered = self.take_one_by_one(field, (near, first), lane, (&mut taken, offered));
        let filling = self.fillings.of(lane, self.group.frame());
        (filling.taken, filling.offered) = (taken, offered);
    }

    /// The same where more rules are judged than lanes keep: whoever was taken before is so again, and those who were met since are tried.
    /// Tells how many have been.
    fn take_one_by_one(
        &mut self,
        field: Field<'_>,
        (near, first): (&Near, usize),
        lane: u32,
        (taken, offered): (&mut Vec<u16>, usize),
    ) -> usize {
        let plan = field.plan;
        let card = |place: &u16| near.card(&near.candidates[usize::from(*place)]);
        if self.lanes.is_of_large(lane) && offered == 0 {
            taken.clear();
            let larges = near.of_lane(0..first, lane).filter(|(_, it)| it.players >= plan.large_from);
            if larges.clone().count() < plan.teams.len().saturating_sub(self.group.larges()) {
                return 0;
            }
            for (place, large) in larges {
                if self.group.larges() >= plan.teams.len() {
                    break;
                }
                if self.add(field, large) {
                    taken.push(place);
                }
            }
            if self.group.larges() < plan.teams.len() {
                return 0;
            }
        } else {
            for card in taken.iter().map(card) {
                self.add(field, card);
            }
        }
        for (place, candidate) in near.of_lane(offered..first, lane) {
            if self.group.players() == self.group.room() {
                break;
            }
            if !taken.contains(&place) && self.add(field, candidate) {
                taken.push(place);
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use mainstay_core::Timestamp;
    use proptest::prelude::*;

    use super::super::lanes::{Larges, Names, Parties};
    use super::super::tests::spec_of;
    use super::super::{Engine, Handle, Newcomer};
    use super::*;
    use crate::Amount;
    use crate::attribute::Facts;
    use crate::spec::{Attribute, Expansion, Merge, Missing, QueueSpec, RuleKind, Source, TeamSpec, Weight};

    /// Three teams, by skill, by what all of them play, and by a sum: more than lanes keep.
    fn spec(size: u32, parties: Option<RuleKind>) -> QueueSpec {
        let attribute = |name: &str| Attribute { source: Source::User, path: name.into() };
        let (weight, whole) = (Weight::DEFAULT, |number| Expansion::Fixed(Amount::whole(number)));
        let missing = Missing::MatchAny;
        let rules = [
            RuleKind::Difference {
                attribute: attribute("skill"),
                weight,
                missing: Missing::MatchAny,
                merge: Merge::Average,
                allowed: whole(10),
            },
            RuleKind::SetIntersection {
                attribute: attribute("maps"),
                weight,
                missing,
                shared: Expansion::Fixed(1),
            },
            RuleKind::MatchTotal { attribute: attribute("hosts"), weight, min: whole(1), max: whole(3) },
        ];
        let team = |name: &str| TeamSpec { name: name.into(), min: size, max: size };
        let teams = ["red", "green", "blue"].map(team).to_vec();
        spec_of(3 * size..=3 * size, teams, rules.into_iter().chain(parties).collect())
    }

    const MAPS: [&str; 3] = ["a", "b", "c"];

    fn facts() -> impl Strategy<Value = Facts> {
        let players = prop_oneof![3 => Just(1_u8), 2 => Just(2), 3 => Just(3)];
        (players, 0_i32..14, 1_u8..8, prop_oneof![4 => Just(0), 1 => 1..3]).prop_map(
            |(players, skill, maps, hosts)| {
                let maps = MAPS.iter().enumerate().filter(|(at, _)| maps >> at & 1 == 1);
                Facts {
                    players,
                    numbers: [Some(Amount::whole(skill))].into(),
                    sets: [Some(maps.map(|(_, map)| Arc::from(*map)).collect())].into(),
                    totals: [Amount::whole(hosts)].into(),
                    ..Facts::default()
                }
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        /// Where more rules are judged than lanes keep, a lane that goes on has whom it would have taken at once; whatever was tried in
        /// others meanwhile.
        #[test]
        fn a_lane_that_goes_on_has_whom_it_would_have_taken_at_once(
            others in proptest::collection::vec(facts(), 1..24),
            tries in proptest::collection::vec((0_u32..6, 0_usize..24), 1..24),
            (alike, size) in (any::<bool>(), 3_u8..5),
        ) {
            let (lanes, parties) = if alike { (6, Some(RuleKind::TeamTicketSizeSimilarity)) } else { (3, None) };
            let mut engine = Engine::new(&spec(size.into(), parties), Timestamp::EPOCH, 0);
            let seed = Facts {
                players: 1,
                numbers: [Some(Amount::whole(7))].into(),
                sets: [Some(MAPS.map(Arc::from).to_vec())].into(),
                totals: [Amount::ZERO].into(),
                ..Facts::default()
            };
            let insert = |(arrival, facts): (u64, &Facts)| {
                let since = Timestamp::EPOCH;
                engine.insert(Newcomer { facts, room: 3 * size, since, arrival, back: None, game: None }, None)
            };
            let all: Vec<Handle> = (1..).zip(core::iter::once(&seed).chain(&others)).map(insert).collect();
            let field = Field {
                plan: &engine.plan,
                slab: &engine.slab,
                pool: &engine.pool,
                games: &engine.games,
                apart: &engine.apart,
                names: Names { regions: &engine.regions, values: engine.values.first() },
            };
            let plan = field.plan;
            let mut searcher = Searcher::default();
            prop_assert!(searcher.begin(field, &all[..1]));
            let larges = Parties::NoneOrEach(Larges { from: plan.large_from, missing: 3 });
            let parties = if alike { larges } else { Parties::Any };
            let row = field.slab.get(all[0]);
            searcher.lanes.begin(field.slab.layout(), &searcher.group, row, (3 * size - 1, parties), field.names);
            let mut near = Near::default();
            for handle in &all[1..] {
                let row = field.slab.get(*handle);
                let card = Card::of(plan, *handle, row);
                if searcher.fits(field, &card) {
                    near.keep(card, searcher.lanes.of(row, &card));
                }
            }
            let mut met = [0; 6];
            for (lane, more) in tries {
                let lane = lane % lanes;
                let first = &mut met[lane as usize];
                *first = (*first + more).min(near.len());
                searcher.take_lane(field, &near, *first, lane);
                let mut anew = Searcher::default();
                anew.begin(field, &all[..1]);
                anew.lanes = searcher.lanes.clone();
                anew.take_lane(field, &near, *first, lane);
                prop_assert_eq!(searcher.group.members(), anew.group.members());
                let all: BTreeSet<&Handle> = searcher.group.members().iter().collect();
                prop_assert_eq!(all.len(), searcher.group.members().len());
                searcher.group.shrink(1);
            }
        }
    }
}
