//! The waiting tickets, divided by the texts that never give way, each part with an index of its own.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::block::{Entry, Marks};
use super::index::{Index, KEPT_MAX};
use super::key::Key;
use super::plan::{Plan, Reach, Stand};
use super::slab::{ANY_TEXT, Company, Handle, Ref, Slab, WILD};

/// All parts.
#[derive(Debug, Clone, Default)]
pub(super) struct Pool {
    parts: BTreeMap<Vec<u64>, Part>,
    /// Who is [let in](Self::let_in) before anybody is looked for.
    coming: Vec<Handle>,
}

/// Tickets that could meet.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Who may be met from afar.
    pub open: Index,
    /// Who allows no difference by number yet: whoever looks for others passes them by at no cost, however many they are.
    pub exact: Index,
    pub backfill: Index,
    /// Ordinary tickets by their players.
    sizes: [u32; 128],
    /// Which sums of players can be made of the tickets there are, at least one of them.
    reachable: u128,
    /// For each total how many ordinary tickets add something to it.
    adding: Vec<u32>,
}

impl Part {
    fn new(totals: usize) -> Self {
        Self {
            open: Index::new(totals),
            exact: Index::new(totals),
            backfill: Index::new(totals),
            sizes: [0; 128],
            reachable: 0,
            adding: alloc::vec![0; totals],
        }
    }

    fn eldest(&self) -> Option<u64> {
        self.open.eldest().into_iter().chain(self.exact.eldest()).min()
    }

    /// Whether others could complete a match around a ticket at all, by sizes and totals alone. It spares the search among
    /// many look-alikes that can never match.
    pub(super) fn is_promising(&self, plan: &Plan, row: Ref<'_>) -> bool {
        let sums = self.reachable << row.shape().players;
        let sizes = (u128::MAX << plan.min) & ((1_u128 << (plan.max + 1)) - 1);
        let totals = plan.totals.iter().enumerate();
        sums & sizes != 0
            && totals.into_iter().all(|(rule, it)| self.adding[rule] > 0 || row.total(rule) >= it.min_ever)
    }

    /// Whether a ticket can meet nobody, since no other has its number.
    pub(super) fn is_alone(&self, plan: &Plan, row: Ref<'_>) -> bool {
        let shape = row.shape();
        plan.stands(row, shape.step) == Stand::Exact
            && shape.company == Company::Alone
            && !self.open.begins_with(WILD)
    }

    /// Whether those who allow no difference could join one of this number, or of none.
    pub(super) fn has_exact_for(&self, number: i64) -> bool {
        match number {
            WILD => self.exact.len() > 0,
            _ => self.exact.equals_from(Key::new(number, 0)).next().is_some(),
        }
    }

    /// Somebody has come: whoever is of its number in the other index is no longer alone, where that is of interest. Of several there
    /// the first is told; the others know of each other.
    fn tell_equals(&self, stand: Stand, number: i64, handle: Handle, slab: &mut Slab) {
        if self.exact.len() == 0 || number == WILD {
            return;
        }
        let first = |index: &Index| index.equals_from(Key::new(number, 0)).next();
        match stand {
            Stand::Exact if first(&self.open).is_some() => slab.set_company(handle),
            Stand::Exact => {}
            Stand::Open | Stand::Game => first(&self.exact).into_iter().for_each(|it| slab.set_company(it)),
        }
    }

    fn index(&mut self, stand: Stand) -> &mut Index {
        match stand {
            Stand::Game => &mut self.backfill,
            Stand::Open => &mut self.open,
            Stand::Exact => &mut self.exact,
        }
    }

    fn len(&self) -> usize {
        self.open.len() + self.exact.len() + self.backfill.len()
    }

    fn expects_nobody(&self) -> bool {
        [&self.open, &self.exact, &self.backfill].into_iter().all(Index::expects_nobody)
    }

    fn count(&mut self, plan: &Plan, row: Ref<'_>, change: impl Fn(&mut u32)) {
        let players = usize::from(row.shape().players);
        let before = self.sizes[players];
        change(&mut self.sizes[players]);
        // Beyond so many of a size more of it make no other sum that is of interest.
        let most = plan.max.into();
        if (before.min(self.sizes[players]) as usize) < most / players.max(1) {
            self.reachable = reachable(&self.sizes, most);
        }
        for (rule, adding) in self.adding.iter_mut().enumerate() {
            if row.total(rule) > 0 {
                change(adding);
            }
        }
    }
}

/// Which sums up to the largest of interest, a match's size, can be made of so many tickets of each size.
fn reachable(sizes: &[u32; 128], most: usize) -> u128 {
    let mut sums = 1_u128;
    for (players, count) in (0..=most).zip(sizes).skip(1).filter(|(_, count)| **count > 0) {
        // Any number up to a count, by ones, twos, fours and what is left.
        let mut left = (*count as usize).min(most / players);
        let mut step = 1;
        while left > 0 {
            let taken = step.min(left);
            sums |= sums << (taken * players);
            left -= taken;
            step *= 2;
        }
    }
    sums & !1
}

impl Pool {
    /// The parts with tickets that a game could take: its own, or, of a game whose players say nothing of what divides the
    /// pool since there are none, all of them, the one with the eldest ticket first.
    pub(super) fn parts_for(&self, plan: &Plan, game: Ref<'_>) -> Vec<&Part> {
        let division = division(plan, game);
        if !division.contains(&ANY_TEXT) {
            return self.parts.get(&division).into_iter().collect();
        }
        let mut parts: Vec<(u64, &Part)> =
            self.parts.values().filter_map(|part| Some((part.eldest()?, part))).collect();
        parts.sort_unstable_by_key(|(eldest, _)| *eldest);
        parts.into_iter().map(|(_, part)| part).collect()
    }

    /// The games a ticket could join: those of its part, and those without players, that are in none.
    pub(super) fn games_for<'a>(&'a self, plan: &Plan, own: &'a Part) -> impl Iterator<Item = &'a Index> {
        let dividing = plan.texts.iter().filter(|rule| rule.reach == Reach::Divides).count();
        let anywhere = if dividing == 0 { None } else { self.parts.get(&alloc::vec![ANY_TEXT; dividing]) };
        [Some(own), anywhere].into_iter().flatten().map(|part| &part.backfill).filter(|games| games.len() > 0)
    }

    /// The part a ticket is in.
    pub(super) fn part(&self, plan: &Plan, row: Ref<'_>) -> Option<&Part> {
        self.parts.get(&division(plan, row))
    }

    /// A ticket comes.
    pub(super) fn insert(&mut self, handle: Handle) {
        self.coming.push(handle);
    }

    /// Puts in all who have come: neighbours one after the other, so that each block is found, and fetched, once.
    pub(super) fn let_in(&mut self, plan: &Plan, slab: &mut Slab) {
        if self.coming.is_empty() {
            return;
        }
        let (mut divisions, mut coming) = (Vec::new(), core::mem::take(&mut self.coming));
        let own = |handle: &Handle| division(plan, slab.get(*handle));
        for those in coming.chunk_by(|one, other| plan.texts.is_empty() || own(one) == own(other)) {
            let division = own(&those[0]);
            let part = self.part_or_new(plan, division.clone());
            if part.expects_nobody() {
                divisions.push(division);
            }
            for handle in those {
                let row = slab.get(*handle);
                let stand = plan.stands(row, row.shape().step);
                part.index(stand).expect(entry(plan, row, stand, *handle));
                if stand != Stand::Game {
                    part.count(plan, row, |count| *count += 1);
                }
            }
        }
        let mut equals = Vec::new();
        for division in divisions {
            if let Some(part) = self.parts.get_mut(&division) {
                part.backfill.let_in(slab, None);
                part.open.let_in(slab, None);
                part.exact.let_in(slab, Some(&mut equals));
            }
        }
        equals.into_iter().for_each(|handle| slab.set_company(handle));
        if plan.asks_equals {
            for handle in &coming {
                let row = slab.get(*handle);
                if let Some(part) = self.parts.get(&division(plan, row)) {
                    let stand = plan.stands(row, row.shape().step);
                    part.tell_equals(stand, primary(plan, row), *handle, slab);
                }
            }
        }
        // Kept for the next, unless a crowd came.
        if coming.capacity() <= KEPT_MAX {
            coming.clear();
            self.coming = coming;
        }
    }

    fn part_or_new(&mut self, plan: &Plan, division: Vec<u64>) -> &mut Part {
        let new = || Part::new(plan.totals.len());
        self.parts.entry(division).or_insert_with(new)
    }

    pub(super) fn remove(&mut self, plan: &Plan, slab: &mut Slab, handle: Handle) {
        self.let_in(plan, slab);
        let row = slab.get(handle);
        let division = division(plan, row);
        let Some(part) = self.parts.get_mut(&division) else { return };
        let stand = plan.stands(row, row.shape().step);
        part.index(stand).remove(key(plan, row), slab);
        if stand != Stand::Game {
            part.count(plan, row, |count| *count = count.saturating_sub(1));
        }
        if part.len() == 0 && !division.is_empty() {
            self.parts.remove(&division);
        }
    }

    /// A ticket's regions have changed with its step.
    pub(super) fn set_marks(&mut self, plan: &Plan, slab: &mut Slab, handle: Handle) {
        self.let_in(plan, slab);
        let row = slab.get(handle);
        let Some(part) = self.parts.get_mut(&division(plan, row)) else { return };
        let stand = plan.stands(row, row.shape().step);
        part.index(stand).set_marks(key(plan, row), marks(plan, row, stand));
    }

    pub(super) fn bytes(&self) -> usize {
        let part =
            |part: &Part| size_of::<Part>() + part.open.bytes() + part.exact.bytes() + part.backfill.bytes();
        self.parts.values().map(part).sum::<usize>() + self.coming.capacity() * size_of::<Handle>()
    }
}

/// The number tickets are ordered by; 0 where no rule compares numbers, so that they are in the order of arrival.
pub(super) fn primary(plan: &Plan, row: Ref<'_>) -> i64 {
    plan.primary.map_or(0, |rule| row.number(rule))
}

fn key(plan: &Plan, row: Ref<'_>) -> Key {
    Key::new(primary(plan, row), row.arrival())
}

#[inline]
pub(super) fn division(plan: &Plan, row: Ref<'_>) -> Vec<u64> {
    if plan.texts.is_empty() {
        return Vec::new();
    }
    let dividing = plan.texts.iter().enumerate().filter(|(_, rule)| rule.reach == Reach::Divides);
    dividing.map(|(rule, _)| row.text(rule)).collect()
}

/// What no rule asks for has no marks.
fn marks(plan: &Plan, row: Ref<'_>, stand: Stand) -> Marks {
    let regions = match stand {
        _ if plan.region.is_none() => 0,
        // Theirs grow with their steps, and nobody would notice.
        Stand::Exact => u64::MAX,
        Stand::Open | Stand::Game => row.regions(),
    };
    let values = match plan.sets.first() {
        None => 0,
        Some(_) if row.any_set(0) => u64::MAX,
        Some(_) => row.set(0).iter().fold(0, |all, word| all | word),
    };
    Marks::new(row.shape().players, regions, values)
}

fn entry(plan: &Plan, row: Ref<'_>, stand: Stand, handle: Handle) -> Entry {
    Entry { key: key(plan, row), handle, marks: marks(plan, row, stand) }
}

const _: () = assert!(WILD == i64::MIN, "tickets without a number come first in every index");
