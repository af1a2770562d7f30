//! The waiting tickets, divided by the texts that never give way, each part with an index of its own.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::hint::cold_path;

use super::block::{Entry, Marks, Texts};
use super::index::{FETCHED, Index, KEPT_MAX};
use super::key::Key;
use super::plan::{Plan, Reach, Stand};
use super::slab::{ANY_TEXT, Company, Handle, MIXED_TEXT, Ref, Slab, WILD};
use super::spot::Spot;

/// All parts.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    parts: Parts,
    /// How many are [let in](Self::let_in) before anybody is looked for.
    coming: usize,
    /// The divisions they come to, where there are several.
    expecting: Vec<Vec<u64>>,
    /// Who they are, where equals are asked for.
    named: Vec<Handle>,
}

/// What the pool is divided into.
#[derive(Debug, Clone)]
enum Parts {
    /// No text divides it.
    One(Box<Part>),
    /// By the texts that do.
    Several(BTreeMap<Vec<u64>, Part>),
}

impl Parts {
    #[inline]
    fn of(&self, plan: &Plan, row: Ref<'_>) -> Option<&Part> {
        match self {
            Self::One(part) => Some(part),
            Self::Several(parts) => {
                cold_path();
                one_of(parts, plan, row)
            }
        }
    }

    #[inline]
    fn of_mut(&mut self, plan: &Plan, row: Ref<'_>) -> Option<&mut Part> {
        match self {
            Self::One(part) => Some(part),
            Self::Several(parts) => parts.get_mut(&division(plan, row)),
        }
    }
}

#[inline(never)]
fn one_of<'a>(parts: &'a BTreeMap<Vec<u64>, Part>, plan: &Plan, row: Ref<'_>) -> Option<&'a Part> {
    parts.get(&division(plan, row))
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
    /// The most players of one of them.
    largest: u8,
    /// Beside which ticket others can make a match by their sizes alone, by the players of that ticket, one bit each.
    promising: u128,
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
            largest: 0,
            promising: 0,
            adding: alloc::vec![0; totals],
        }
    }

    fn eldest(&self) -> Option<u64> {
        self.open.eldest().into_iter().chain(self.exact.eldest()).min()
    }

    /// Whether others could complete a match around a ticket at all, by sizes and totals alone. It spares the search among
    /// many look-alikes that can never match.
    pub(super) fn is_promising(&self, plan: &Plan, row: Ref<'_>) -> bool {
        self.promising >> row.shape().players & 1 == 1
            && (plan.totals.is_empty() || self.could_total(plan, row))
    }

    /// Whether others could make up what a ticket lacks by rules on sums.
    #[inline(never)]
    fn could_total(&self, plan: &Plan, row: Ref<'_>) -> bool {
        let mut totals = plan.totals.iter().enumerate();
        totals.all(|(rule, it)| self.adding[rule] > 0 || row.total(rule) >= it.min_ever)
    }

    /// What room is asked about among ordinary tickets: where all of them have room, nobody is asked for their size.
    pub(super) const fn room_to_ask(&self, room: u8) -> u8 {
        if room < self.largest { room } else { u8::MAX }
    }

    /// Whether a ticket can meet nobody, since no other has its number.
    #[inline(never)]
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

    const fn index_of(&self, stand: Stand) -> &Index {
        match stand {
            Stand::Game => &self.backfill,
            Stand::Open => &self.open,
            Stand::Exact => &self.exact,
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

    /// Somebody comes, and is [let in](Self::let_in) with others.
    #[inline(always)]
    fn expect(&mut self, plan: &Plan, row: Ref<'_>, handle: Handle) {
        let stand = plan.stands(row, row.shape().step);
        self.index(stand).expect(entry(plan, row, stand, handle));
        if stand != Stand::Game {
            self.count(plan, row, |count| *count += 1);
        }
    }

    #[inline(always)]
    fn remove(&mut self, plan: &Plan, slab: &Slab, row: Ref<'_>, spot: Option<Spot>) {
        let stand = plan.stands(row, row.shape().step);
        self.index(stand).remove(key(plan, row), spot, slab);
        if stand != Stand::Game {
            self.count(plan, row, |count| *count = count.saturating_sub(1));
        }
    }

    /// Where those stand who move from one index to another, as most do who do so at one moment.
    fn spots(&self, plan: &Plan, slab: &Slab, handles: &[Handle]) -> [Option<Spot>; FETCHED] {
        let rows = handles.iter().map(|handle| slab.get(*handle));
        let Some(first) = rows.clone().next() else { return [None; FETCHED] };
        self.index_of(plan.stands(first, first.shape().step)).spots(rows.map(|row| key(plan, row)))
    }

    /// Tells whoever is next to one of its number that allows no difference.
    fn let_in(&mut self, slab: &Slab, equals: &mut Vec<Handle>) {
        self.backfill.let_in(slab, None);
        self.open.let_in(slab, None);
        self.exact.let_in(slab, Some(equals));
    }

    /// There are few of a size: what sizes there are, and what they make together, may be others now.
    #[cold]
    #[inline(never)]
    fn tell_few(&mut self, plan: &Plan) {
        let largest = self.sizes.iter().rposition(|count| *count > 0);
        self.largest = largest.and_then(|players| u8::try_from(players).ok()).unwrap_or(0);
        self.promising = promising(plan, reachable(&self.sizes, plan.max.into()));
    }

    #[inline(always)]
    fn count(&mut self, plan: &Plan, row: Ref<'_>, change: impl Fn(&mut u32)) {
        let players = usize::from(row.shape().players);
        let before = self.sizes[players];
        change(&mut self.sizes[players]);
        let fewest = before.min(self.sizes[players]) as usize;
        // Beyond so many of a size more of it make no other sum that is of interest.
        if fewest == 0 || (fewest + 1) * players <= plan.max.into() {
            self.tell_few(plan);
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

/// Beside tickets of how many players some of these sums make a match.
fn promising(plan: &Plan, sums: u128) -> u128 {
    let sizes = (u128::MAX << plan.min) & ((1_u128 << (plan.max + 1)) - 1);
    (1..=plan.max).fold(0, |all, players| all | u128::from(sums << players & sizes != 0) << players)
}

impl Pool {
    pub(super) fn new(plan: &Plan) -> Self {
        let parts = if dividing(plan) == 0 {
            Parts::One(Box::new(Part::new(plan.totals.len())))
        } else {
            Parts::Several(BTreeMap::new())
        };
        Self { parts, coming: 0, expecting: Vec::new(), named: Vec::new() }
    }

    /// The parts with tickets that a game could take: its own, or, of a game whose players say nothing of what divides the
    /// pool since there are none, all of them, the one with the eldest ticket first.
    pub(super) fn parts_for(&self, plan: &Plan, game: Ref<'_>) -> Vec<&Part> {
        let several = match &self.parts {
            Parts::One(part) => return alloc::vec![&**part],
            Parts::Several(several) => several,
        };
        let division = division(plan, game);
        if !division.contains(&ANY_TEXT) {
            return several.get(&division).into_iter().collect();
        }
        let mut parts: Vec<(u64, &Part)> =
            several.values().filter_map(|part| Some((part.eldest()?, part))).collect();
        parts.sort_unstable_by_key(|(eldest, _)| *eldest);
        parts.into_iter().map(|(_, part)| part).collect()
    }

    /// The games a ticket could join: those of its part, and those without players, that are in none.
    pub(super) fn games_for<'a>(&'a self, plan: &Plan, own: &'a Part) -> impl Iterator<Item = &'a Index> {
        let anywhere = match &self.parts {
            Parts::One(_) => None,
            Parts::Several(several) => several.get(&alloc::vec![ANY_TEXT; dividing(plan)]),
        };
        [Some(own), anywhere].into_iter().flatten().map(|part| &part.backfill).filter(|games| games.len() > 0)
    }

    /// The part a ticket is in.
    pub(super) fn part(&self, plan: &Plan, row: Ref<'_>) -> Option<&Part> {
        self.parts.of(plan, row)
    }

    /// A ticket comes.
    #[inline(always)]
    pub(super) fn insert(&mut self, plan: &Plan, slab: &Slab, handle: Handle) {
        let row = slab.get(handle);
        self.coming += 1;
        if plan.asks_equals {
            self.named.push(handle);
        }
        match &mut self.parts {
            Parts::One(part) => part.expect(plan, row, handle),
            Parts::Several(parts) => {
                let division = division(plan, row);
                let part = parts.entry(division.clone()).or_insert_with(|| Part::new(plan.totals.len()));
                if part.expects_nobody() {
                    self.expecting.push(division);
                }
                part.expect(plan, row, handle);
            }
        }
    }

    /// Puts in all who have come: neighbours one after the other, so that each block is found, and fetched, once.
    #[inline]
    pub(super) fn let_in(&mut self, plan: &Plan, slab: &mut Slab) {
        if self.coming > 0 {
            self.let_all_in(plan, slab);
        }
    }

    #[inline(never)]
    fn let_all_in(&mut self, plan: &Plan, slab: &mut Slab) {
        self.coming = 0;
        let mut equals = Vec::new();
        match &mut self.parts {
            Parts::One(part) => part.let_in(slab, &mut equals),
            Parts::Several(parts) => {
                for division in self.expecting.drain(..) {
                    if let Some(part) = parts.get_mut(&division) {
                        part.let_in(slab, &mut equals);
                    }
                }
            }
        }
        equals.into_iter().for_each(|handle| slab.set_company(handle));
        for handle in self.named.drain(..) {
            let row = slab.get(handle);
            if let Some(part) = self.parts.of(plan, row) {
                let stand = plan.stands(row, row.shape().step);
                part.tell_equals(stand, primary(plan, row), handle, slab);
            }
        }
        // Kept for the next, unless a crowd came.
        self.named.shrink_to(KEPT_MAX);
    }

    /// A ticket leaves, when all who have come are [let in](Self::let_in); where it was met, if it was.
    #[inline(always)]
    pub(super) fn remove(&mut self, plan: &Plan, slab: &Slab, row: Ref<'_>, spot: Option<Spot>) {
        match &mut self.parts {
            Parts::One(part) => part.remove(plan, slab, row, spot),
            Parts::Several(_) => {
                cold_path();
                self.remove_of_several(plan, slab, row, spot);
            }
        }
    }

    /// So many leave at once, when all who have come are [let in](Self::let_in).
    pub(super) fn remove_all(&mut self, plan: &Plan, slab: &Slab, leaving: &[Handle]) {
        for handles in leaving.chunks(FETCHED) {
            let spots = match &self.parts {
                Parts::One(part) => part.spots(plan, slab, handles),
                Parts::Several(_) => [None; FETCHED],
            };
            for (handle, spot) in handles.iter().zip(spots) {
                self.remove(plan, slab, slab.get(*handle), spot);
            }
        }
    }

    #[inline(never)]
    fn remove_of_several(&mut self, plan: &Plan, slab: &Slab, row: Ref<'_>, spot: Option<Spot>) {
        let (division, Parts::Several(parts)) = (division(plan, row), &mut self.parts) else { return };
        let Some(part) = parts.get_mut(&division) else { return };
        part.remove(plan, slab, row, spot);
        if part.len() == 0 {
            parts.remove(&division);
        }
    }

    /// A ticket's regions have changed with its step.
    pub(super) fn set_marks(&mut self, plan: &Plan, slab: &mut Slab, handle: Handle) {
        self.let_in(plan, slab);
        let row = slab.get(handle);
        let Some(part) = self.parts.of_mut(plan, row) else { return };
        let stand = plan.stands(row, row.shape().step);
        part.index(stand).set_marks(key(plan, row), marks(plan, row, stand));
    }

    pub(super) fn bytes(&self) -> usize {
        let part =
            |part: &Part| size_of::<Part>() + part.open.bytes() + part.exact.bytes() + part.backfill.bytes();
        let parts = match &self.parts {
            Parts::One(one) => part(one),
            Parts::Several(parts) => parts.values().map(part).sum(),
        };
        parts + self.named.capacity() * size_of::<Handle>()
    }
}

/// How many texts divide the pool.
fn dividing(plan: &Plan) -> usize {
    plan.texts.iter().filter(|rule| rule.reach == Reach::Divides).count()
}

/// The number tickets are ordered by; 0 where no rule compares numbers, so that they are in the order of arrival.
pub(super) fn primary(plan: &Plan, row: Ref<'_>) -> i64 {
    plan.primary.map_or(0, |rule| row.number(rule))
}

#[inline]
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
#[inline(always)]
fn marks(plan: &Plan, row: Ref<'_>, stand: Stand) -> Marks {
    let regions = match stand {
        _ if plan.region.is_none() => 0,
        // Theirs grow with their steps, and nobody would notice.
        Stand::Exact => u64::MAX,
        Stand::Open | Stand::Game => row.regions(),
    };
    let values = if plan.sets.is_empty() {
        0
    } else if row.any_set(0) {
        u64::MAX
    } else {
        row.first_list().unwrap_or_else(|| row.set(0).iter().fold(0, |all, word| all | word))
    };
    // Few queues have such a rule.
    let texts = if plan.marked_text.is_none() { Texts::NONE } else { texts(plan, row) };
    Marks::new(row.shape().players, regions, values, texts)
}

#[inline(never)]
fn texts(plan: &Plan, row: Ref<'_>) -> Texts {
    plan.marked_text.map_or(Texts::NONE, |rule| match row.text(rule) {
        ANY_TEXT => Texts::ANY,
        MIXED_TEXT => Texts::NONE,
        text => Texts::of(text),
    })
}

#[inline(always)]
fn entry(plan: &Plan, row: Ref<'_>, stand: Stand, handle: Handle) -> Entry {
    Entry { key: key(plan, row), handle, marks: marks(plan, row, stand) }
}

const _: () = assert!(WILD == i64::MIN, "tickets without a number come first in every index");

#[cfg(test)]
mod tests {
    use super::super::tests::spec_of;
    use super::*;

    /// Three or four players: ones and twos beside a pair, nobody beside three of them.
    #[test]
    fn whoever_others_can_make_a_match_with_is_promising() {
        let plan = Plan::new(&spec_of(3..=4, Vec::new(), Vec::new()));
        let beside = |those: &[usize]| {
            let mut sizes = [0; 128];
            those.iter().for_each(|players| sizes[*players] += 1);
            let promising = promising(&plan, reachable(&sizes, plan.max.into()));
            (0..128).filter(|players| promising >> players & 1 == 1).collect::<Vec<_>>()
        };
        assert_eq!(beside(&[]), []);
        assert_eq!(beside(&[2]), [1, 2]);
        assert_eq!(beside(&[1, 1]), [1, 2, 3]);
        assert_eq!(beside(&[3]), [1]);
        assert_eq!(beside(&[9]), []);
    }
}
