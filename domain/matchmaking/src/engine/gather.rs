//! Whether those around a group could be a match with it, by their numbers and sizes alone: asked before any is judged, of a whole lane
//! at a time.

use super::block::Filter;
use super::card::Card;
use super::census::{Census, Marked};
use super::plan::{Plan, Similarity};
use super::pool::Part;
use super::search::{Field, Searcher};
use super::sides::Sides;
use super::slab::{Handle, Kind, Ref, WILD};

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

    fn of_card(plan: &Plan, card: &Card) -> Self {
        Self::new(plan, card.handle, card.number, (card.players, card.step))
    }

    fn of_row(plan: &Plan, handle: Handle, row: Ref<'_>) -> Self {
        let shape = row.shape();
        Self::new(plan, handle, row.primary(), (shape.players, shape.step))
    }
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
    pub(super) fn could_find(
        &mut self,
        field: Field<'_>,
        part: &Part,
        (filter, room): (&Filter, u8),
        lanes: &[Marked],
    ) -> bool {
        let plan = field.plan;
        // Those who are in the group already are counted with the others.
        let members = self.group.members().iter().map(|handle| field.slab.get(*handle).shape());
        let counted = members.filter(|it| it.kind == Kind::Ordinary && it.players <= room);
        let counted: u32 = counted.map(|it| u32::from(it.players)).sum();
        let wanted = u32::from(plan.min.saturating_sub(self.group.players())) + counted;
        let Some(census) = Census::of(&part.open, self.group.window(), filter, lanes, wanted) else {
            return true;
        };
        census.enough().any(|lane| {
            let is_other = |handle: &Handle| !self.group.members().contains(handle);
            let those = census.of_lane(lanes[lane]).filter(is_other);
            self.standers.clear();
            self.standers.extend(those.map(|handle| Stander::of_row(plan, handle, field.slab.get(handle))));
            self.could_be_among(field)
        })
    }

    /// The same of those who are put down, in the order of their numbers.
    fn could_be_among(&self, field: Field<'_>) -> bool {
        let plan = field.plan;
        let those = &self.standers[..];
        if plan.primary.is_none() {
            return self.could_add_up(field, those.iter());
        }
        let numbered = those.partition_point(|it| it.number == WILD);
        let (wild, those) = those.split_at(numbered);
        let (lowest, (_, highest)) = (self.group.lowest(), self.group.window());
        let within = |low: i64, high: i64| {
            let from = those.partition_point(|it| it.number < low);
            let near = those[from..].iter().take_while(|it| it.number <= high);
            self.could_add_up(field, wild.iter().chain(near))
        };
        if lowest == i64::MAX {
            // Without a number in the group anybody may be the lowest, and the group itself asks nothing.
            return those.iter().any(|it| within(it.number, it.number + it.reach))
                || self.could_add_up(field, wild.iter());
        }
        let mut below = those.iter().take_while(|it| it.number < lowest);
        within(lowest, highest)
            || below.any(|it| it.number + it.reach >= lowest && within(it.number, it.number + it.reach))
    }

    /// Whether the players of some of these make a match with the group, also with a large party on each team or none.
    fn could_add_up<'a>(&self, field: Field<'_>, those: impl Iterator<Item = &'a Stander> + Clone) -> bool {
        let plan = field.plan;
        let players: u32 = those.clone().map(|it| u32::from(it.players)).sum();
        if u32::from(self.group.players()) + players < plan.min.into() {
            return false;
        }
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
