//! Sixty-four neighbours of an index. What is asked of candidates is kept across them: for each *mark* an entry can have, one word says
//! which of the sixty-four have it, so that a handful of words answer for all of them, whatever the target has for vectors.
//!
//! Whoever leaves leaves a gap, which keeps its place in the order until somebody comes next to it.

use alloc::vec::Vec;
use core::slice;

use super::ahead::fetch;
use super::census::Marked;
use super::key::Key;
use super::lanes::bits;
use super::slab::Handle;
use super::squeeze::{Closing, turn};

/// How many entries a block holds: as many as a word has bits.
pub(super) const BLOCK: usize = 64;
/// Entries of a block that is filled at once: room is left for those who come later.
pub(super) const BUILT: usize = BLOCK * 7 / 8;

/// What an entry has, one bit each: the sizes that have room for it, its regions, the values of its first list, the texts it may be with.
/// Of each kind several are laid over each other, so that marks are necessary, not sufficient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks(u64);

/// So many words take a line of memory.
const A_LINE: usize = 8;
/// Sizes from 1 on; nothing is asked where there is room for more.
const SIZES: usize = 8;
/// Most games have no more regions.
const REGIONS: usize = 16;
/// Most lists have no more values, and most rules of texts no more texts: a game has few versions at a time.
const VALUES: usize = 12;
const TEXTS: usize = 4;
const MARKS: usize = SIZES + REGIONS + VALUES + TEXTS;

impl Marks {
    pub(super) const fn new(players: u8, regions: u64, values: u64, texts: Texts) -> Self {
        let sizes = below(SIZES) & !below((players as usize).saturating_sub(1));
        Self(sizes | fold_regions(regions) << SIZES | fold_values(values) << (SIZES + REGIONS) | texts.0)
    }
}

/// Of one rule the text that an entry has, or is asked for, as a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Texts(u64);

impl Texts {
    /// Of whoever fits no other. Where nothing is asked for it is this, too.
    pub(super) const NONE: Self = Self(0);
    /// Of whoever fits any.
    pub(super) const ANY: Self = Self(below(TEXTS) << (MARKS - TEXTS));

    pub(super) const fn of(text: u64) -> Self {
        Self(1 << (MARKS - TEXTS + text as usize % TEXTS))
    }
}

/// One of the marks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark(u8);

impl Mark {
    pub(super) const fn of_region(region: u32) -> Self {
        Self((SIZES + region as usize % REGIONS) as u8)
    }

    pub(super) const fn of_value(value: u32) -> Self {
        Self((SIZES + REGIONS + value as usize % VALUES) as u8)
    }
}

/// Sixty-four bits folded to so many: two sets that meet, meet folded.
const fn fold_regions(set: u64) -> u64 {
    (set | set >> REGIONS | set >> (2 * REGIONS) | set >> (3 * REGIONS)) & below(REGIONS)
}

const fn fold_values(set: u64) -> u64 {
    let halves = set | set >> (3 * VALUES);
    (halves | halves >> VALUES | halves >> (2 * VALUES)) & below(VALUES)
}

const _: () = assert!(4 * REGIONS >= BLOCK && 6 * VALUES >= BLOCK, "all that a word has is folded");

/// An entry of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub key: Key,
    pub handle: Handle,
    pub marks: Marks,
}

/// What is asked of candidates. Passing it is necessary, not sufficient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Filter {
    /// All of these marks: a size, a text.
    all: u64,
    /// One mark at least of each; of an empty one nothing is asked.
    some: [u64; 2],
    /// For each total the most a candidate may add.
    totals: Vec<i64>,
}

impl Filter {
    /// Room for so many players, one of these regions at least, one of these values where lists matter, this text where it matters, and no
    /// more than this for each total.
    pub(super) fn new(room: u8, regions: u64, values: Option<u64>, texts: Texts, totals: Vec<i64>) -> Self {
        let sizes = if usize::from(room) > SIZES { 0 } else { 1 << room.saturating_sub(1) };
        let regions = if regions == u64::MAX { 0 } else { fold_regions(regions) << SIZES };
        let values = values.map_or(0, |values| fold_values(values) << (SIZES + REGIONS));
        Self { all: sizes | texts.0, some: [regions, values], totals }
    }
}

/// What is true of all entries beneath, loosely: a bound may be stale after removals, and then lets too much through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summary {
    marks: u64,
    totals_min: Vec<i64>,
}

impl Summary {
    pub(super) fn empty(totals: usize) -> Self {
        Self { marks: 0, totals_min: alloc::vec![i64::MAX; totals] }
    }

    /// Of nobody.
    pub(super) fn clear(&mut self) {
        self.marks = 0;
        self.totals_min.fill(i64::MAX);
    }

    pub(super) fn add(&mut self, entry: &Entry, total: impl Fn(usize) -> i64) {
        self.marks |= entry.marks.0;
        self.bound(total);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.marks |= other.marks;
        self.bound(|rule| other.totals_min[rule]);
    }

    fn bound(&mut self, total: impl Fn(usize) -> i64) {
        for (rule, min) in self.totals_min.iter_mut().enumerate() {
            *min = (*min).min(total(rule));
        }
    }

    /// Whether a candidate can be beneath.
    pub(super) fn admits(&self, filter: &Filter) -> bool {
        self.marks & filter.all == filter.all
            && filter.some.iter().all(|some| *some == 0 || self.marks & some != 0)
            && (self.totals_min.is_empty() || self.admits_totals(filter))
    }

    #[inline(never)]
    fn admits_totals(&self, filter: &Filter) -> bool {
        self.totals_min.iter().zip(&filter.totals).all(|(min, most)| min <= most)
    }
}

/// A block: its entries in order, with gaps between them. What is asked of all of it takes one line of memory; of keys numbers stand
/// apart from arrivals, since whoever walks seeks numbers, and reads the arrivals of those alone whom it meets.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(super) struct Block {
    /// Which slots are no gaps.
    live: u64,
    /// Entries and gaps.
    len: usize,
    /// Entries.
    count: usize,
    /// Removals since the summary was made.
    stale: usize,
    pub summary: Summary,
    /// Beyond those that of [`Key::END`], so that all slots can be searched without asking how many there are.
    numbers: [i64; BLOCK],
    arrivals: [u64; BLOCK],
    handles: [Handle; BLOCK],
    /// Who has which mark; of gaps it says nothing.
    marks: [u64; MARKS],
}

impl Block {
    pub(super) fn new(totals: usize) -> Self {
        Self {
            live: 0,
            len: 0,
            count: 0,
            stale: 0,
            summary: Summary::empty(totals),
            numbers: [Key::END.number(); BLOCK],
            arrivals: [Key::END.arrival(); BLOCK],
            handles: [0; BLOCK],
            marks: [0; MARKS],
        }
    }

    /// Of entries in order, no more than it holds.
    pub(super) fn of<'a>(
        totals: usize,
        entries: impl Iterator<Item = &'a Entry>,
        total: impl Fn(Handle, usize) -> i64,
    ) -> Self {
        let mut block = Self::new(totals);
        let mut marks = [0; BLOCK];
        for (slot, entry) in entries.take(BLOCK).enumerate() {
            block.len = slot + 1;
            block.set_key(slot, entry.key);
            (block.handles[slot], marks[slot]) = (entry.handle, entry.marks.0);
            block.summary.add(entry, |rule| total(entry.handle, rule));
        }
        turn(&mut marks);
        block.marks.copy_from_slice(&marks[..MARKS]);
        block.count = block.len;
        block.live = below(block.len);
        block
    }

    /// How many slots have a key, gaps included.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// How many entries there are.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    pub(super) const fn is_full(&self) -> bool {
        self.live == u64::MAX
    }

    pub(super) const fn key(&self, slot: usize) -> Key {
        Key::new(self.numbers[slot], self.arrivals[slot])
    }

    const fn set_key(&mut self, slot: usize, key: Key) {
        (self.numbers[slot], self.arrivals[slot]) = (key.number(), key.arrival());
    }

    pub(super) const fn number(&self, slot: usize) -> i64 {
        self.numbers[slot]
    }

    pub(super) const fn arrival(&self, slot: usize) -> u64 {
        self.arrivals[slot]
    }

    pub(super) const fn handle(&self, slot: usize) -> Handle {
        self.handles[slot]
    }

    /// The slots with an entry.
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> + use<> {
        bits(self.live).map(|slot| slot as usize)
    }

    pub(super) fn eldest(&self) -> Option<u64> {
        self.slots().map(|slot| self.arrivals[slot]).min()
    }

    /// Asks the memory for what is read of it to put somebody in, but [beside the place](Self::fetch_beside). Whoever asks does not wait: it is
    /// near when it is read.
    pub(super) fn fetch_to_insert(&self) {
        self.fetch_to_seek();
        (0..MARKS).step_by(A_LINE).for_each(|mark| fetch(&self.marks, mark));
    }

    /// The same for whoever seeks a number, and goes on from there: what lies beside that is asked for when it is found.
    pub(super) fn fetch_to_seek(&self) {
        fetch(slice::from_ref(&self.live), 0);
        (0..BLOCK).step_by(A_LINE).for_each(|slot| fetch(&self.numbers, slot));
    }

    /// The same with the marks that a filter asks for.
    pub(super) fn fetch_for(&self, filter: &Filter) {
        self.fetch_to_seek();
        self.fetch_marks(filter);
    }

    /// Of each kind the first that is asked for: the others are in its line, as a rule, and texts are in that of values.
    #[inline]
    fn fetch_marks(&self, filter: &Filter) {
        let [regions, values] = filter.some;
        [filter.all, regions, values]
            .iter()
            .for_each(|some| fetch(&self.marks, some.trailing_zeros() as usize));
    }

    /// The same of what is beside a slot.
    #[inline]
    pub(super) fn fetch_beside(&self, slot: usize) {
        self.fetch_slot(slot);
        self.fetch_slot(slot.wrapping_sub(1));
    }

    /// The same for whoever comes from below, and seldom goes far.
    #[inline]
    pub(super) fn fetch_lowest(&self, filter: &Filter) {
        self.fetch_from(0, filter);
    }

    /// The same for whoever comes from above: most blocks end where they were built to end, and how many slots there are would have to
    /// be read.
    #[inline]
    pub(super) fn fetch_highest(&self, filter: &Filter) {
        self.fetch_from(BUILT - 1, filter);
    }

    /// What is asked of all, the first number, and some slots.
    fn fetch_from(&self, slot: usize, filter: &Filter) {
        fetch(slice::from_ref(&self.live), 0);
        fetch(&self.numbers, 0);
        fetch(&self.numbers, slot);
        self.fetch_slot(slot);
        self.fetch_marks(filter);
    }

    /// Who is in a slot. One beyond the block is asked for in vain.
    #[inline]
    fn fetch_slot(&self, slot: usize) {
        fetch(&self.arrivals, slot);
        fetch(&self.handles, slot);
    }

    /// The first entry of some slots.
    pub(super) fn first_of(&self, slots: u64) -> Option<(Key, Handle)> {
        let slot = self.slots_of(slots)?.trailing_zeros() as usize;
        Some((self.key(slot), self.handles[slot]))
    }

    /// The last entry of some slots.
    pub(super) fn last_of(&self, slots: u64) -> Option<(Key, Handle)> {
        let slot = 63 - self.slots_of(slots)?.leading_zeros() as usize;
        Some((self.key(slot), self.handles[slot]))
    }

    fn slots_of(&self, slots: u64) -> Option<u64> {
        Some(self.live & slots).filter(|slots| *slots != 0)
    }

    /// How many slots are before a key.
    pub(super) fn before(&self, key: Key) -> usize {
        let slot = self.before_number(key.number());
        // Arrivals are other lines of memory, and tell only those of one number apart.
        if self.numbers.get(slot) == Some(&key.number()) { self.before_of_equals(key) } else { slot }
    }

    fn before_of_equals(&self, key: Key) -> usize {
        how_many(|slot| self.key(slot) < key)
    }

    /// How many slots are before a number.
    #[inline(never)]
    pub(super) fn before_number(&self, number: i64) -> usize {
        how_many(|slot| self.numbers[slot] < number)
    }

    /// The slot of a key's entry.
    pub(super) fn find(&self, key: Key) -> Option<usize> {
        let at = self.before(key);
        self.has(at, key).then_some(at)
    }

    /// Whether the entry of a key is in a slot.
    pub(super) fn has(&self, slot: usize, key: Key) -> bool {
        slot < self.len && self.key(slot % BLOCK) == key && self.live >> slot & 1 == 1
    }

    /// Puts an entry in, where it is not [full](Self::is_full); says into which slot.
    pub(super) fn insert(&mut self, entry: &Entry, total: impl Fn(usize) -> i64) -> usize {
        let slot = self.make_room(self.before(entry.key));
        self.set_key(slot, entry.key);
        self.handles[slot] = entry.handle;
        self.live |= 1 << slot;
        self.count += 1;
        self.mark(slot, entry.marks);
        self.summary.add(entry, total);
        slot
    }

    /// A slot without marks between those before `at` and the others: whoever stands between there and the nearest gap moves by one.
    fn make_room(&mut self, at: usize) -> usize {
        let above = (!self.live & !below(at)).trailing_zeros() as usize;
        let beneath = (!self.live & below(at)).checked_ilog2().map(|gap| gap as usize);
        match beneath {
            Some(gap) if above == BLOCK || at - gap <= above - at => self.move_down(gap, at - 1),
            Some(_) | None => self.move_up(at, above),
        }
    }

    /// Those from a slot on move up by one, into a gap.
    fn move_up(&mut self, slot: usize, gap: usize) -> usize {
        self.numbers.copy_within(slot..gap, slot + 1);
        self.arrivals.copy_within(slot..gap, slot + 1);
        self.handles.copy_within(slot..gap, slot + 1);
        // What is added to itself moves up by one, and leaves a nought.
        let (moved, others) = (below(gap) & !below(slot), !(1 << gap));
        self.marks.iter_mut().for_each(|word| *word = (*word & others) + (*word & moved));
        self.live |= 1 << gap;
        self.len = self.len.max(gap + 1);
        slot
    }

    /// Those down from a slot move down by one, into a gap.
    fn move_down(&mut self, gap: usize, slot: usize) -> usize {
        self.numbers.copy_within(gap + 1..=slot, gap);
        self.arrivals.copy_within(gap + 1..=slot, gap);
        self.handles.copy_within(gap + 1..=slot, gap);
        let moved = below(slot + 1) & !below(gap + 1);
        let others = !(moved | 1 << gap);
        self.marks.iter_mut().for_each(|word| *word = *word & others | (*word & moved) >> 1);
        self.live |= 1 << gap;
        slot
    }

    fn clear(&mut self, slot: usize) {
        let others = !(1 << slot);
        self.marks.iter_mut().for_each(|word| *word &= others);
    }

    fn mark(&mut self, slot: usize, marks: Marks) {
        bits(marks.0).for_each(|mark| self.marks[mark as usize] |= 1 << slot);
    }

    /// Takes the entry in a slot out.
    pub(super) fn remove(&mut self, slot: usize) {
        self.live &= !(1 << slot);
        self.count -= 1;
        self.stale += 1;
    }

    /// Gives the entry of a key other marks.
    pub(super) fn set_marks(&mut self, key: Key, marks: Marks) {
        if let Some(slot) = self.find(key) {
            self.clear(slot);
            self.mark(slot, marks);
            self.summary.marks |= marks.0;
        }
    }

    /// Whether the summary has become so stale that it is worth making anew.
    pub(super) const fn is_stale(&self) -> bool {
        self.stale > self.count() / 2
    }

    /// Makes the summary anew; says whether it says something else now.
    pub(super) fn summarise(&mut self, total: impl Fn(Handle, usize) -> i64) -> bool {
        let mut summary = Summary::empty(self.summary.totals_min.len());
        for (mark, word) in self.marks.iter().enumerate() {
            summary.marks |= u64::from(word & self.live != 0) << mark;
        }
        if !summary.totals_min.is_empty() {
            self.slots().for_each(|slot| summary.bound(|rule| total(self.handles[slot], rule)));
        }
        self.stale = 0;
        let before = core::mem::replace(&mut self.summary, summary);
        before != self.summary
    }

    /// Nobody is in a slot from one on.
    fn clear_keys(&mut self, from: usize) {
        self.numbers[from..].fill(Key::END.number());
        self.arrivals[from..].fill(Key::END.arrival());
    }

    fn close_gaps(&mut self) {
        let mut kept = 0;
        for slot in self.slots() {
            self.set_key(kept, self.key(slot));
            self.handles[kept] = self.handles[slot];
            kept += 1;
        }
        let moves = Closing::new(self.live);
        self.marks.iter_mut().for_each(|word| *word = moves.close(*word));
        self.clear_keys(kept);
        self.len = kept;
        self.live = below(kept);
    }

    /// Moves the entries from `at` on into a new block; there are no gaps.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let mut upper = Self::new(self.summary.totals_min.len());
        upper.numbers[..self.len - at].copy_from_slice(&self.numbers[at..self.len]);
        upper.arrivals[..self.len - at].copy_from_slice(&self.arrivals[at..self.len]);
        upper.handles[..self.len - at].copy_from_slice(&self.handles[at..self.len]);
        self.clear_keys(at);
        let moved = |word: u64| if at < BLOCK { word >> at } else { 0 };
        upper.marks = self.marks.map(moved);
        (upper.len, upper.live) = (self.len - at, moved(self.live));
        (self.len, self.live) = (at, self.live & below(at));
        (upper.count, self.count) = (upper.len, at);
        upper
    }

    /// Takes over the entries of the block after it; they fit.
    pub(super) fn append(&mut self, mut next: Self) {
        self.close_gaps();
        next.close_gaps();
        let (from, count) = (self.len, next.len);
        self.numbers[from..from + count].copy_from_slice(&next.numbers[..count]);
        self.arrivals[from..from + count].copy_from_slice(&next.arrivals[..count]);
        self.handles[from..from + count].copy_from_slice(&next.handles[..count]);
        for (word, upper) in self.marks.iter_mut().zip(next.marks) {
            *word = *word & self.live | (upper & next.live) << from;
        }
        self.len += count;
        self.count = self.len;
        self.live = below(self.len);
    }

    /// Who has both marks; of a mark that is not asked for nothing is.
    pub(super) fn with(&self, (region, value): Marked) -> u64 {
        let has = |mark: Option<Mark>| mark.map_or(u64::MAX, |mark| self.marks[usize::from(mark.0)]);
        has(region) & has(value)
    }

    /// The players of these entries; `None` where one has more than sizes are marked.
    pub(super) fn players(&self, entries: u64) -> Option<u32> {
        let mut players = 0;
        let mut larger = entries;
        for size in &self.marks[..SIZES] {
            if larger == 0 {
                return Some(players);
            }
            players += larger.count_ones();
            larger &= !size;
        }
        (larger == 0).then_some(players)
    }

    /// Which entries a filter has room for, and of which text, one bit each, whatever else it asks.
    #[inline]
    pub(super) fn with_room(&self, filter: &Filter) -> u64 {
        bits(filter.all).fold(self.live, |left, mark| left & self.marks[mark as usize])
    }

    /// Which entries can be candidates, one bit each.
    #[inline(never)]
    pub(super) fn candidates(&self, filter: &Filter) -> u64 {
        let some = filter.some.iter().filter(|some| **some != 0);
        some.fold(self.with_room(filter), |left, some| {
            left & bits(*some).fold(0, |any, mark| any | self.marks[mark as usize])
        })
    }
}

/// How many slots are before a point. Of each quarter, and of a quarter of that, the last is asked, three that do not wait for each other at
/// a time.
fn how_many(is_before: impl Fn(usize) -> bool) -> usize {
    let is_before = |slot: usize| usize::from(is_before(slot % BLOCK));
    let mut from = 0;
    for quarter in [BLOCK / 4, BLOCK / 16] {
        let last = |at: usize| is_before(from + at * quarter - 1);
        from += (last(1) + last(2) + last(3)) * quarter;
    }
    let passed = is_before(from) + is_before(from + 1) + is_before(from + 2);
    from + passed + usize::from(passed == 3 && is_before(from + 3) == 1)
}

/// The lowest `count` bits.
pub(super) const fn below(count: usize) -> u64 {
    if count >= BLOCK { u64::MAX } else { (1 << count) - 1 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against asking each, gaps and all; of whole blocks, too.
        #[test]
        fn as_many_are_before_a_point_as_say_so(
            mut keys in proptest::collection::vec((-3_i64..4, 0_u64..5), 0..=BLOCK),
            gaps in any::<u64>(),
            (number, arrival) in (-4_i64..5, 0_u64..6),
        ) {
            keys.sort_unstable();
            let key = |(number, arrival): &(i64, u64)| Key::new(*number, *arrival);
            let entries: Vec<Entry> =
                keys.iter().map(|it| Entry { key: key(it), handle: 0, marks: Marks::new(1, 0, 0, Texts::ANY) }).collect();
            let mut block = Block::of(0, entries.iter(), |_, _| 0);
            (0..keys.len()).filter(|slot| gaps >> slot & 1 == 1).for_each(|slot| block.remove(slot));
            let point = Key::new(number, arrival);
            prop_assert_eq!(block.before(point), keys.iter().filter(|it| key(it) < point).count());
            prop_assert_eq!(block.before_number(number), keys.iter().filter(|it| it.0 < number).count());
        }
    }
}
