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
        let plan = field.plan;
        let room = self.group.room();
        let here = || near.of_lane(0..first, lane).map(|(_, card)| card);
        if self.lanes.is_of_large(lane) {
            let missing = plan.teams.len().saturating_sub(self.group.larges());
            let larges = here().filter(|it| it.players >= plan.large_from);
            if larges.clone().count() < missing {
                return;
            }
            for large in larges {
                if self.group.larges() >= plan.teams.len() {
                    break;
                }
                self.add(field, large);
            }
            if self.group.larges() < plan.teams.len() {
                return;
            }
        }
        let base = self.group.members().len();
        for candidate in here() {
            if self.group.players() == room {
                return;
            }
            if !self.group.members()[..base].contains(&candidate.handle) {
                self.add(field, candidate);
            }
        }
    }
}
