//! Who stands nearest to a ticket by the number that tickets are ordered by, for whoever asks why it is not matched.

use alloc::vec::Vec;

use super::block::{Filter, Texts};
use super::pool;
use super::slab::Kind;
use super::walk::{Met, Walk, Window};
use super::{Engine, Handle};

/// Every number.
const EVERYWHERE: Window = (i64::MIN, i64::MAX);

impl Engine {
    /// At most so many of those that could meet a ticket: the nearest by the number of the heaviest rule that compares numbers, or the
    /// eldest where none does. It takes as many steps as tickets are told, however many wait. Not told is who has come and was not let in
    /// yet, as while nobody is looked at; nor who differs in a text that always restricts.
    pub fn nearest(&self, handle: Handle, most: usize) -> Vec<Handle> {
        let row = self.slab.get(handle);
        let Some(part) = self.pool.part(&self.plan, row) else { return Vec::new() };
        let from = pool::primary(&self.plan, row);
        let games = match row.shape().kind {
            // Two games never meet.
            Kind::Backfill => None,
            Kind::Ordinary => Some(self.pool.games_for(&self.plan, part)),
        };
        let totals = alloc::vec![i64::MAX; self.plan.totals.len()];
        let all = Filter::new(u8::MAX, u64::MAX, None, Texts::NONE, totals);
        let mut met: Vec<Met> = [&part.open, &part.exact]
            .into_iter()
            .chain(games.into_iter().flatten())
            .flat_map(|index| Walk::new(index, from, EVERYWHERE, all.clone()).take(most + 1))
            .filter(|met| met.handle != handle)
            .collect();
        met.sort_unstable_by_key(|met| met.order);
        met.iter().take(most).map(|met| met.handle).collect()
    }
}
