//! Of all who are looked at together the most matches, and of those the closest: by dynamic programming over the order of their numbers.
//!
//! The published loop takes the eldest first, each with the nearest, and so leaves others with whoever is left. Where those who come
//! are gathered, and rules ask of a group no more than how far its numbers are apart, the best division of all is as cheap to find.
//! Whoever it leaves is looked at as ever.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;

use mainstay_core::Timestamp;

use super::agenda::Cursor;
use super::card::Card;
use super::lanes::Names;
use super::pool::{Part, division, primary};
use super::search::{Field, Found, Searcher};
use super::slab::{Handle, WILD};
use super::walk::Walk;
use super::{Engine, Look};

/// The most tickets that are divided at one moment: their matches are formed in one turn, which takes some tens of milliseconds. Of more,
/// each takes the nearest.
const BATCH_MAX: usize = 16_384;
/// Of how many in a part one has to be due: what is done follows what has changed, not how many wait.
const DUE_ONE_IN: usize = 4;

/// Somebody who may be in a match with its neighbours.
#[derive(Debug, Clone, Copy)]
struct Single {
    number: i64,
    /// How far its number may be from others.
    reach: i64,
    arrival: u64,
    handle: Handle,
}

/// How good a division is: the more matches the better; of as many the closer; of those the one of the elder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Worth {
    matches: usize,
    spread: Reverse<i128>,
    arrivals: Reverse<u128>,
}

impl Engine {
    /// The matches of all who are due with a ticket that is the next, of a queue [of which they can be told
    /// together](super::plan::Plan::is_batched), if they were not looked for yet: after the games of their moment, which come first, and
    /// before anybody takes the nearest.
    #[inline(never)]
    pub(super) fn look_at_batch(&mut self, next: Cursor) -> Option<Look> {
        let batch = Cursor::batch_of(next.at);
        if next < batch || self.batched >= batch {
            return None;
        }
        let found = self.batch(next.at);
        if found.is_empty() {
            self.batched = batch;
            return Some(Look::Nobody(batch));
        }
        Some(Look::Batch(batch, found))
    }

    /// The matches that were found together there are formed.
    pub const fn batch_is_over(&mut self, cursor: Cursor) {
        self.batched = cursor;
    }

    /// When somebody is looked at who comes at a moment, or comes back.
    pub const fn looks_after(&self, at: Timestamp) -> Timestamp {
        self.agenda.after(at)
    }

    fn batch(&mut self, at: Timestamp) -> Vec<Found> {
        let field = Field {
            plan: &self.plan,
            slab: &self.slab,
            pool: &self.pool,
            games: &self.games,
            apart: &self.apart,
            names: Names { regions: &self.regions, values: self.values.first() },
        };
        let mut due = self.agenda.due_at(&self.slab, at);
        due.sort_unstable_by_key(|handle| self.slab.get(*handle).arrival());
        let (mut found, mut left) = (Vec::new(), BATCH_MAX);
        for (part, due) in parts(field, &due) {
            let waiting = part.open.len() + part.exact.len();
            if waiting > left || due * DUE_ONE_IN < waiting {
                continue;
            }
            left -= waiting;
            let singles = self.searcher.singles(field, part);
            let groups = divide(&singles, field.plan.max.into());
            found.extend(
                groups.into_iter().filter_map(|group| self.searcher.match_of(field, &singles[group])),
            );
        }
        found.sort_unstable_by_key(|found| self.slab.get(found.seed).arrival());
        found
    }
}

/// The parts of those who are due, that of the eldest first, each with how many of them it has.
fn parts<'a>(field: Field<'a>, due: &[Handle]) -> Vec<(&'a Part, usize)> {
    let (mut parts, mut known): (Vec<(&Part, usize)>, _) = (Vec::new(), BTreeMap::new());
    for handle in due {
        let row = field.slab.get(*handle);
        let at = *known.entry(division(field.plan, row)).or_insert_with(|| {
            parts.extend(field.pool.part(field.plan, row).map(|part| (part, 0)));
            parts.len() - 1
        });
        parts[at].1 += 1;
    }
    parts
}

impl Searcher {
    /// Those of a part who came alone, have a number and could join no game, in the order of their numbers and then of arrival.
    /// "Backfill tickets are given priority": whoever a game may want is not taken from it.
    fn singles(&mut self, field: Field<'_>, part: &Part) -> Vec<Single> {
        let plan = field.plan;
        let mut singles: Vec<Single> = Vec::with_capacity(part.open.len() + part.exact.len());
        for handle in part.open.handles().chain(part.exact.handles()) {
            let row = field.slab.get(handle);
            let (shape, number) = (row.shape(), row.primary());
            if shape.players == 1 && number != WILD && !self.fits_a_game(field, part, handle) {
                let reach = plan.steps[usize::from(shape.step)].reach;
                singles.push(Single { number, reach, arrival: row.arrival(), handle });
            }
        }
        singles.sort_by_key(|it| (it.number, it.arrival));
        singles
    }

    /// Whether rules between the two let a ticket join a game that waits.
    fn fits_a_game(&mut self, field: Field<'_>, part: &Part, ticket: Handle) -> bool {
        if field.games.is_empty() || !self.begin(field, &[ticket]) {
            return false;
        }
        let from = primary(field.plan, field.slab.get(ticket));
        let (window, room) = (self.group.window(), self.group.room() - self.group.players());
        let filter = self.filter(field, room);
        field.pool.games_for(field.plan, part).any(|games| {
            Walk::new(games, from, window, filter.clone())
                .any(|met| self.fits(field, &Card::of(field.plan, met.handle, field.slab.get(met.handle))))
        })
    }

    /// The match of neighbours, if what is asked of whole matches allows it.
    fn match_of(&mut self, field: Field<'_>, neighbours: &[Single]) -> Option<Found> {
        let mut tickets: Vec<(u64, Handle)> = neighbours.iter().map(|it| (it.arrival, it.handle)).collect();
        tickets.sort_unstable();
        let (_, seed) = *tickets.first()?;
        let tickets: Vec<Handle> = tickets.into_iter().map(|(_, handle)| handle).collect();
        let found = if self.begin(field, &tickets) { self.complete(field) } else { None };
        found.map(|found| Found { seed, ..found })
    }
}

/// Whether neighbours are near enough to each other, by the limit of each.
fn is_near(group: &[Single]) -> bool {
    let (Some(lowest), Some(highest)) = (group.first(), group.last()) else { return false };
    let apart = |it: &Single| (it.number - lowest.number).max(highest.number - it.number);
    group.iter().all(|it| apart(it) <= it.reach)
}

/// The best division of singles into groups of so many neighbours; some are in none.
fn divide(singles: &[Single], size: usize) -> Vec<Range<usize>> {
    let mut best = alloc::vec![Worth::default(); singles.len() + 1];
    let mut ends_here = alloc::vec![false; singles.len() + 1];
    for end in 1..=singles.len() {
        best[end] = best[end - 1];
        let Some(begin) = end.checked_sub(size) else { continue };
        let group = &singles[begin..end];
        if !is_near(group) {
            continue;
        }
        let before = best[begin];
        let spread = i128::from(group[size - 1].number) - i128::from(group[0].number);
        let arrivals: u128 = group.iter().map(|it| u128::from(it.arrival)).sum();
        let with = Worth {
            matches: before.matches + 1,
            spread: Reverse(before.spread.0 + spread),
            arrivals: Reverse(before.arrivals.0 + arrivals),
        };
        if with > best[end] {
            (best[end], ends_here[end]) = (with, true);
        }
    }
    let (mut groups, mut end) = (Vec::new(), singles.len());
    while end > 0 {
        let begin = if ends_here[end] { end - size } else { end - 1 };
        if ends_here[end] {
            groups.push(begin..end);
        }
        end = begin;
    }
    groups
}
