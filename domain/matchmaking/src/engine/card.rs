//! What is judged of a ticket again and again while a match is looked for: read from its row once, and then at hand.

use super::plan::Plan;
use super::slab::{Handle, Kind, Ref};

/// A ticket as a search judges it. What further rules compare stays in its row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Card {
    pub arrival: u64,
    /// The primary number, and how far it may be from others.
    pub number: i64,
    pub reach: i64,
    /// The regions within its limit.
    pub regions: u64,
    /// The first list, where one word holds it; everything where that asks nothing of it.
    pub values: u64,
    pub handle: Handle,
    /// What the first list asks others to share.
    pub need: u16,
    pub step: u16,
    pub players: u8,
    /// The most players of a match it may be in.
    pub room: u8,
    pub kind: Kind,
    /// Whether it shares the first list with anyone.
    pub fits_any_list: bool,
}

impl Card {
    pub(super) fn of(plan: &Plan, handle: Handle, row: Ref<'_>) -> Self {
        let shape = row.shape();
        let step = &plan.steps[usize::from(shape.step)];
        let (values, need) = match row.first_list() {
            Some(values) if shape.any_sets & 1 == 0 => (values, step.need),
            Some(_) | None => (u64::MAX, 0),
        };
        Self {
            arrival: row.arrival(),
            number: row.primary(),
            reach: step.reach,
            regions: row.regions(),
            values,
            handle,
            need,
            step: shape.step,
            players: shape.players,
            room: shape.room,
            kind: shape.kind,
            fits_any_list: shape.any_sets & 1 == 1,
        }
    }
}
