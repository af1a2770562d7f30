//! Other groupings of a lane, where what greed put into it is no match.

use alloc::vec::Vec;

use super::card::Card;
use super::fill::Near;
use super::plan::{Plan, Similarity};
use super::search::{Field, Found, Searcher};

/// So many looks take as long as adding somebody and taking it back.
const ADDED: u32 = 16;

impl Searcher {
    /// "If no valid group can be formed, the service removes the last-added ticket and tries the next candidate."
    #[inline(never)]
    pub(super) fn fill_otherwise(&mut self, field: Field<'_>, near: &Near) -> Option<Found> {
        let wanted = field.plan.min.saturating_sub(self.group.players());
        let mut lane = core::mem::take(&mut self.lane);
        let found = self.lanes.fullest(wanted, &near.candidates).find_map(|at| {
            lane.clear();
            lane.extend(near.of_lane(0..near.len(), at).map(|(_, card)| *card));
            if self.looks > 0 && self.could_gather(field, &lane) {
                add_up(&lane, &mut self.sums);
                self.try_all(field, &lane)
            } else {
                None
            }
        });
        self.lane = lane;
        found.or_else(|| self.complete(field))
    }

    /// Every grouping of these, in their order, until one is a match.
    fn try_all(&mut self, field: Field<'_>, near: &[Card]) -> Option<Found> {
        // All of them are looked at, and whoever was added before takes as long as some.
        self.looks = self.looks.saturating_sub(ADDED + u32::try_from(near.len()).unwrap_or(u32::MAX));
        if self.looks == 0 || !self.could_suffice(field, near) {
            return None;
        }
        let room = self.group.room();
        for at in 0..near.len() {
            if self.group.players() == room || !self.may_add_up(field.plan, near.len() - at) {
                break;
            }
            if !self.group.frame().admits(field.plan, &near[at]) || !self.add(field, &near[at]) {
                continue;
            }
            if let Some(found) = self.try_all(field, &near[at + 1..]) {
                return Some(found);
            }
            self.group.pop();
            if self.looks == 0 {
                return None;
            }
        }
        self.complete(field)
    }

    /// Whether the last so many of a lane can make the group as large as a match, by their sizes alone.
    fn may_add_up(&self, plan: &Plan, last: usize) -> bool {
        let sizes = (u128::MAX << plan.min) & !(u128::MAX << self.group.room() << 1);
        self.sums[last] << self.group.players() & sizes != 0
    }

    /// Whether those who still fit by number and size add up to a match, also with a large party on each team or none.
    pub(super) fn could_suffice(&self, field: Field<'_>, near: &[Card]) -> bool {
        let plan = field.plan;
        let sizes = (u128::MAX << plan.min) & !(u128::MAX << self.group.room() << 1);
        let is_match = |sums: u128| sums << self.group.players() & sizes != 0;
        let mut sums = 1_u128;
        let mut larges = match (self.similarity(field), self.group.larges()) {
            (Similarity::Any, _) | (Similarity::Alike, 0) => 0,
            (Similarity::Alike, larges) => plan.teams.len().saturating_sub(larges),
        };
        let (frame, room) = (self.group.frame(), self.group.room_left(plan));
        let fits = |it: &&Card| it.players <= room && frame.is_near(it);
        for candidate in near.iter().filter(fits) {
            if larges == 0 && is_match(sums) {
                break;
            }
            sums |= sums << candidate.players;
            match plan.row(candidate.step).similarity {
                // It may come to be the eldest, and then decides.
                Similarity::Any => larges = 0,
                Similarity::Alike => {
                    larges = larges.saturating_sub(usize::from(candidate.players >= plan.large_from));
                }
            }
        }
        larges == 0 && is_match(sums) && self.could_total(field, near.iter().filter(fits).map(|it| it.handle))
    }
}

/// Which sums of players the last none, one, two and so on of a lane can make, one bit each.
fn add_up(lane: &[Card], sums: &mut Vec<u128>) {
    sums.clear();
    sums.push(1);
    for candidate in lane.iter().rev() {
        let fewer = sums[sums.len() - 1];
        sums.push(fewer | fewer << candidate.players);
    }
}
