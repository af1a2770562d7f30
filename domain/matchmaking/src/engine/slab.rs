//! What the engine knows of each waiting ticket: one row of words for what a search asks of it, next to each other, so that all of it comes
//! with a cache line or two; and, behind the rows, since when it waits.
//!
//! A row holds arrival, sizes and step; then one word for each text and number, a bit set for each list, one word for each total and each
//! team sum, and the latencies, four to a word. The set of regions within the current limit is the last of those four, as long as there are no
//! more regions than that has bits for; else it is a word of its own.

use alloc::vec::Vec;

use super::ahead::fetch;
use super::block::below;
use super::plan::{Plan, Row};

/// A ticket's place in the slab, until it leaves.
pub(super) type Handle = u32;

/// A number that fits any.
pub(super) const WILD: i64 = i64::MIN;
/// A text that fits any.
pub(super) const ANY_TEXT: u64 = u64::MAX;
/// Texts that differ within the ticket.
pub(super) const MIXED_TEXT: u64 = u64::MAX - 1;
/// A region that was not measured.
pub(super) const UNMEASURED: u16 = u16::MAX;

const ARRIVAL: usize = 0;
const SHAPE: usize = 1;
const TEXTS: usize = 2;
/// The most regions of which a set is kept in the place of a latency. One bit is left to tell all that there could ever be from each of those.
const FOLDED_MAX: usize = 15;
/// Where that stands in its word.
const FOLDED: u32 = 48;

/// Where the parts of a row stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub texts: usize,
    pub numbers: usize,
    /// Where each list's bit set begins, and how many words it has.
    pub sets: Vec<(usize, usize)>,
    pub totals: usize,
    pub team_sums: usize,
    /// Behind those.
    summed: usize,
    pub latencies: (usize, usize),
    /// How many regions have latencies.
    regions: usize,
    /// Words of a row.
    pub stride: usize,
    /// Where a card's words stand; beyond every row where there are none.
    pub primary: usize,
    pub one_word: usize,
    /// The word with the set of regions, and from which bit of it on that is.
    marked: (usize, u32),
}

/// Beyond every row.
const NOWHERE: usize = usize::MAX;

impl Layout {
    /// For lists of so many live values each, and so many live regions.
    pub(super) fn new(plan: &Plan, set_values: &[usize], regions: usize) -> Self {
        let mut at = TEXTS;
        let mut take = |words: usize| {
            let begins = at;
            at += words;
            begins
        };
        let texts = take(plan.texts.len());
        let numbers = take(plan.numbers.len());
        let sets: Vec<(usize, usize)> = set_values
            .iter()
            .map(|values| {
                let words = values.div_ceil(64).max(1);
                (take(words), words)
            })
            .collect();
        let totals = take(plan.totals.len());
        let team_sums = take(plan.team_numbers);
        let (marked, words, capacity) = if plan.region.is_none() {
            ((NOWHERE, 0), 0, 0)
        } else if regions <= FOLDED_MAX {
            let words = (regions + 1).div_ceil(4);
            ((take(0) + words - 1, FOLDED), words, words * 4 - 1)
        } else {
            let words = regions.div_ceil(4);
            ((take(1), 0), words, words * 4)
        };
        let latencies = (take(words), words);
        let primary = plan.primary.map_or(NOWHERE, |rule| numbers + rule);
        let one_word = sets.first().filter(|(_, words)| *words == 1).map_or(NOWHERE, |(at, _)| *at);
        Self {
            texts,
            numbers,
            sets,
            totals,
            team_sums,
            summed: team_sums + plan.team_numbers,
            latencies,
            regions: capacity,
            stride: at,
            primary,
            one_word,
            marked,
        }
    }
}

impl Layout {
    /// Whether lists of so many live values each, and so many live regions, have room.
    pub(super) fn holds(&self, mut set_values: impl Iterator<Item = usize>, regions: usize) -> bool {
        let sets =
            self.sets.iter().all(|(_, words)| set_values.next().is_none_or(|values| values <= words * 64));
        sets && (self.latencies.1 == 0 || regions <= self.regions)
    }
}

impl Layout {
    /// Puts down which regions a step allows, by the latencies that are there.
    #[inline]
    pub(super) fn set_regions(&self, words: &mut [u64], kind: Kind, row: &Row) {
        let (at, len) = self.latencies;
        if len == 0 {
            return;
        }
        let regions = row
            .latency_of(kind)
            .map_or(u64::MAX, |limit| no_more_than(&words[at..at + len], limit) & below(self.regions));
        self.put_regions(words, regions);
    }

    /// Puts down a set of regions, where any rule asks for them.
    #[inline]
    pub(super) fn put_regions(&self, words: &mut [u64], regions: u64) {
        let (at, shift) = self.marked;
        if let Some(word) = words.get_mut(at) {
            *word = *word & below(shift as usize) | regions << shift;
        }
    }

    /// The set of regions: all that there could ever be, where it has its highest bit.
    #[inline]
    fn regions_of(&self, words: &[u64]) -> u64 {
        let (at, shift) = self.marked;
        words.get(at).map_or(u64::MAX, |word| (word.cast_signed() >> shift).cast_unsigned())
    }
}

/// What a ticket is, besides what rules read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub players: u8,
    /// The most players of a match it may be in.
    pub room: u8,
    pub step: u16,
    pub kind: Kind,
    /// Which lists fit any, one bit each.
    pub any_sets: u32,
    /// Of one that allows no difference by number: whether there may be others of its number.
    pub company: Company,
}

/// Which of the two kinds a ticket is. Backfill comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A game that goes on.
    Backfill,
    /// Players.
    Ordinary,
}

/// Whether a ticket has been seen beside another of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company {
    Alone,
    Seen,
}

/// Queues have 20 rules at most.
const ANY_SETS: u64 = (1 << 30) - 1;

impl Shape {
    const fn word(self) -> u64 {
        self.players as u64
            | (self.room as u64) << 8
            | (self.step as u64) << 16
            | (matches!(self.kind, Kind::Ordinary) as u64) << 32
            | (self.any_sets as u64 & ANY_SETS) << 33
            | (matches!(self.company, Company::Seen) as u64) << 63
    }

    #[expect(clippy::cast_possible_truncation, reason = "each part is cut out of its own bits")]
    const fn of(word: u64) -> Self {
        let kind = if word >> 32 & 1 == 1 { Kind::Ordinary } else { Kind::Backfill };
        Self {
            players: word as u8,
            room: (word >> 8) as u8,
            step: (word >> 16) as u16,
            kind,
            any_sets: (word >> 33 & ANY_SETS) as u32,
            company: if word >> 63 == 1 { Company::Seen } else { Company::Alone },
        }
    }
}

/// Rows of one allocation: growing copies nothing, and leaves little unused.
const CHUNK: usize = 256;
/// Words of a cache line.
const LINE: usize = 8;

/// The rows.
#[derive(Debug, Clone)]
pub(super) struct Slab {
    layout: Layout,
    chunks: Vec<Chunk>,
    rows: usize,
    free: Vec<Handle>,
    /// Which rows are in use, one bit each: whoever asks only for that reads no row.
    used: Vec<u64>,
}

/// Rows next to each other, and behind them since when each waits. The first begins a cache line, so that no row of a line's length takes
/// two.
#[derive(Debug, Clone)]
struct Chunk {
    words: Vec<u64>,
    from: usize,
}

impl Chunk {
    fn new(layout: &Layout) -> Self {
        let words = alloc::vec![0_u64; CHUNK * (layout.stride + 1) + LINE - 1];
        // Wherever they begin, what is read there is the same.
        let from = (words.as_ptr().addr() / size_of::<u64>()).wrapping_neg() % LINE;
        Self { words, from }
    }

    #[inline]
    fn row(&self, at: usize, layout: &Layout) -> &[u64] {
        &self.words[self.from + at * layout.stride..][..layout.stride]
    }

    #[inline]
    fn row_mut(&mut self, at: usize, layout: &Layout) -> &mut [u64] {
        &mut self.words[self.from + at * layout.stride..][..layout.stride]
    }

    #[inline]
    const fn since(&self, at: usize, layout: &Layout) -> usize {
        self.from + CHUNK * layout.stride + at
    }
}

/// A row to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ref<'a> {
    words: &'a [u64],
    slab: &'a Slab,
    handle: Handle,
}

/// A row to write.
#[derive(Debug)]
pub(super) struct New<'a> {
    pub handle: Handle,
    pub layout: &'a Layout,
    pub words: &'a mut [u64],
}

impl Slab {
    pub(super) const fn new(layout: Layout) -> Self {
        Self { layout, chunks: Vec::new(), rows: 0, free: Vec::new(), used: Vec::new() }
    }

    pub(super) const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Moves every row into a wider layout. Handles stay.
    pub(super) fn widen(&mut self, layout: Layout) {
        let before = core::mem::replace(&mut self.layout, layout);
        let layout = &self.layout;
        for chunk in &mut self.chunks {
            let mut wider = Chunk::new(layout);
            for at in 0..CHUNK {
                let from = chunk.row(at, &before);
                let since = chunk.words[chunk.since(at, &before)];
                let place = wider.since(at, layout);
                wider.words[place] = since;
                let into = wider.row_mut(at, layout);
                let fixed = before.sets.first().map_or(before.totals, |(at, _)| *at);
                into[..fixed].copy_from_slice(&from[..fixed]);
                for ((old, len), (new, _)) in before.sets.iter().zip(&layout.sets) {
                    into[*new..new + len].copy_from_slice(&from[*old..old + len]);
                }
                let counted = before.summed - before.totals;
                into[layout.totals..][..counted].copy_from_slice(&from[before.totals..][..counted]);
                let (new, wide) = layout.latencies;
                into[new..new + wide].fill(u64::MAX);
                let (old, len) = before.latencies;
                into[new..new + len].copy_from_slice(&from[old..old + len]);
                if len > 0 {
                    // Where the set stood may be a latency now.
                    into[new + len - 1] |= if before.marked.1 == FOLDED { u64::MAX << FOLDED } else { 0 };
                    layout.put_regions(into, before.regions_of(from));
                }
            }
            *chunk = wider;
        }
    }

    /// A new row, which has its head. The caller writes every other word: what is there is another's.
    #[inline]
    pub(super) fn add(&mut self, arrival: u64, since: u64, shape: Shape) -> New<'_> {
        let handle = self.free.pop().unwrap_or_else(|| self.grow());
        let (chunk, at) = (handle as usize / CHUNK, handle as usize % CHUNK);
        let place = self.chunks[chunk].since(at, &self.layout);
        self.chunks[chunk].words[place] = since;
        self.used[handle as usize / 64] |= 1 << (handle % 64);
        let words = self.chunks[chunk].row_mut(at, &self.layout);
        (words[ARRIVAL], words[SHAPE]) = (arrival, shape.word());
        New { handle, layout: &self.layout, words }
    }

    #[inline(never)]
    fn grow(&mut self) -> Handle {
        if self.rows == self.chunks.len() * CHUNK {
            self.chunks.push(Chunk::new(&self.layout));
            self.used.resize(self.chunks.len() * CHUNK / 64, 0);
        }
        self.rows += 1;
        u32::try_from(self.rows - 1).unwrap_or(u32::MAX)
    }

    fn row_mut(&mut self, handle: Handle) -> (&Layout, &mut [u64]) {
        let row = self.chunks[handle as usize / CHUNK].row_mut(handle as usize % CHUNK, &self.layout);
        (&self.layout, row)
    }

    #[inline]
    pub(super) fn remove(&mut self, handle: Handle) {
        self.used[handle as usize / 64] &= !(1 << (handle % 64));
        self.free.push(handle);
    }

    #[inline]
    pub(super) fn get(&self, handle: Handle) -> Ref<'_> {
        let words = self.chunks[handle as usize / CHUNK].row(handle as usize % CHUNK, &self.layout);
        Ref { words, slab: self, handle }
    }

    /// Whether a row is in use.
    #[inline]
    pub(super) fn is_used(&self, handle: Handle) -> bool {
        self.used[handle as usize / 64] >> (handle % 64) & 1 == 1
    }

    /// All rows in use.
    pub(super) fn all(&self) -> impl Iterator<Item = Ref<'_>> {
        (0_u32..).take(self.rows).filter(|handle| self.is_used(*handle)).map(|handle| self.get(handle))
    }

    /// Asks the memory for a row, and does not wait for it.
    #[inline]
    pub(super) fn fetch(&self, handle: Handle) {
        let chunk = &self.chunks[handle as usize / CHUNK];
        let from = chunk.from + handle as usize % CHUNK * self.layout.stride;
        fetch(&chunk.words, from);
        fetch(&chunk.words, from + self.layout.stride - 1);
    }

    /// The same with since when it waits.
    #[inline]
    pub(super) fn fetch_with_since(&self, handle: Handle) {
        self.fetch(handle);
        let chunk = &self.chunks[handle as usize / CHUNK];
        fetch(&chunk.words, chunk.since(handle as usize % CHUNK, &self.layout));
    }

    pub(super) fn set_step(&mut self, handle: Handle, step: u16, row: &Row) {
        let shape = Shape { step, ..self.get(handle).shape() };
        let (layout, words) = self.row_mut(handle);
        words[SHAPE] = shape.word();
        layout.set_regions(words, shape.kind, row);
    }

    /// There is another of its number.
    pub(super) fn set_company(&mut self, handle: Handle) {
        let shape = Shape { company: Company::Seen, ..self.get(handle).shape() };
        self.row_mut(handle).1[SHAPE] = shape.word();
    }

    /// The least start of waiting of all rows in use.
    pub(super) fn eldest(&self) -> Option<u64> {
        self.all().map(|row| row.since()).min()
    }

    /// Bytes held, whether in use or kept for later.
    pub(super) fn bytes(&self) -> usize {
        let words = CHUNK * (self.layout.stride + 1) + LINE - 1;
        self.chunks.len() * (words * 8 + size_of::<Chunk>())
            + self.free.capacity() * 4
            + self.used.capacity() * 8
    }
}

impl<'a> Ref<'a> {
    pub(super) const fn handle(&self) -> Handle {
        self.handle
    }

    pub(super) const fn arrival(&self) -> u64 {
        self.words[ARRIVAL]
    }

    #[inline]
    pub(super) fn since(&self) -> u64 {
        let chunk = &self.slab.chunks[self.handle as usize / CHUNK];
        chunk.words[chunk.since(self.handle as usize % CHUNK, &self.slab.layout)]
    }

    pub(super) const fn shape(&self) -> Shape {
        Shape::of(self.words[SHAPE])
    }

    pub(super) const fn text(&self, rule: usize) -> u64 {
        self.words[self.slab.layout.texts + rule]
    }

    pub(super) const fn number(&self, rule: usize) -> i64 {
        self.words[self.slab.layout.numbers + rule].cast_signed()
    }

    pub(super) fn set(&self, rule: usize) -> &'a [u64] {
        let (at, len) = self.slab.layout.sets[rule];
        &self.words[at..at + len]
    }

    /// The number tickets are ordered by; wild where no rule compares numbers.
    pub(super) fn primary(&self) -> i64 {
        self.words.get(self.slab.layout.primary).map_or(WILD, |number| number.cast_signed())
    }

    /// The first list, where it is one word.
    pub(super) fn first_list(&self) -> Option<u64> {
        self.words.get(self.slab.layout.one_word).copied()
    }

    pub(super) fn any_set(&self, rule: usize) -> bool {
        self.shape().any_sets >> rule & 1 == 1
    }

    pub(super) const fn total(&self, rule: usize) -> i64 {
        self.words[self.slab.layout.totals + rule].cast_signed()
    }

    pub(super) const fn team_sum(&self, rule: usize) -> i64 {
        self.words[self.slab.layout.team_sums + rule].cast_signed()
    }

    /// The regions within its current limit; all where it has none.
    pub(super) fn regions(&self) -> u64 {
        self.slab.layout.regions_of(self.words)
    }

    /// The regions that all its players measured.
    pub(super) fn measured(&self) -> u64 {
        let quarters = self.latencies().iter().rev();
        quarters.fold(0, |all, word| all << 4 | quarters_other_than(*word, u64::MAX))
            & below(self.slab.layout.regions)
    }

    /// The worst latencies of its players, by region.
    pub(super) fn latencies(&self) -> &'a [u64] {
        let (at, len) = self.slab.layout.latencies;
        &self.words[at..at + len]
    }

    /// The worst latency of its players to a region.
    #[expect(clippy::cast_possible_truncation, reason = "a quarter of a word")]
    pub(super) fn latency(&self, region: usize) -> u16 {
        let (at, _) = self.slab.layout.latencies;
        if region >= self.slab.layout.regions {
            return UNMEASURED;
        }
        (self.words[at + region / 4] >> (region % 4 * 16)) as u16
    }
}

/// The regions to which the latency is no more than a limit.
fn no_more_than(latencies: &[u64], limit: u16) -> u64 {
    let limits = u64::from(limit) * QUARTERS;
    latencies.iter().rev().fold(0, |all, word| all << 4 | quarters_within(*word, limits))
}

/// A one in each quarter of a word.
const QUARTERS: u64 = 0x0001_0001_0001_0001;
const HIGHEST: u64 = QUARTERS << 15;

/// Which quarters of a word are no more than those of another, one bit each: all four are compared at once.
const fn quarters_within(word: u64, limits: u64) -> u64 {
    // With the highest bit lent to each quarter none borrows from the next.
    let lower = (limits | HIGHEST) - (word & !HIGHEST);
    let within = (!word & limits) | (!(word ^ limits) & lower);
    highest(within)
}

/// Which quarters of a word differ from those of another, one bit each.
const fn quarters_other_than(word: u64, other: u64) -> u64 {
    let differing = word ^ other;
    // Any bit of a quarter carries into its highest.
    highest(((differing & !HIGHEST) + !HIGHEST) | differing)
}

/// The highest bits of quarters side by side: each is moved by a factor of its own, and no two meet.
const fn highest(quarters: u64) -> u64 {
    ((quarters & HIGHEST) >> 15).wrapping_mul(0x0001_0002_0004_0008) >> 48 & 0b1111
}

#[cfg(test)]
mod tests {
    use super::super::tests::spec_of;
    use super::*;
    use crate::spec::{Expansion, RuleKind, Weight};

    /// Wherever the memory lies, and however many allocations there were.
    #[test]
    fn a_row_of_a_line_takes_one_line() {
        let of_a_line = Layout {
            stride: LINE,
            ..Layout::new(&Plan::new(&spec_of(2..=2, Vec::new(), Vec::new())), &[], 0)
        };
        for chunk in (0..5).map(|_| Chunk::new(&of_a_line)).collect::<Vec<_>>() {
            for at in [0, 1, CHUNK - 1] {
                assert_eq!(
                    chunk.row(at, &of_a_line).as_ptr().addr() % (LINE * size_of::<u64>()),
                    0,
                    "row {at}"
                );
            }
        }
    }

    /// However many there are, and however many come to be known: the set is a latency's place or a word of its own.
    #[test]
    fn regions_are_the_same_wherever_their_set_stands() {
        const LIMIT: u32 = 60;
        let plan = |latency: Expansion<u32>| {
            let rule = RuleKind::RegionSelection { path: "latency".into(), weight: Weight::DEFAULT, latency };
            Plan::new(&spec_of(2..=2, Vec::new(), [rule].into()))
        };
        let (limited, free) =
            (plan(Expansion::Fixed(LIMIT)), Plan::new(&spec_of(2..=2, Vec::new(), Vec::new())));
        let latency = |region: usize| if region % 5 == 3 { UNMEASURED } else { (region * 37 % 120) as u16 };
        for known in 0..=40 {
            for limit in [&limited.rows[0], &free.rows[0]] {
                let mut slab = Slab::new(Layout::new(&limited, &[], known));
                let shape = Shape {
                    players: 1,
                    room: 2,
                    step: 0,
                    kind: Kind::Ordinary,
                    any_sets: 0,
                    company: Company::Alone,
                };
                let New { handle, layout, words } = slab.add(7, 9, shape);
                let (at, len) = layout.latencies;
                let of_all = |region: usize| if region < known { latency(region) } else { UNMEASURED };
                for (word, first) in words[at..at + len].iter_mut().zip((0..).step_by(4)) {
                    *word = (first..first + 4).rev().fold(0, |word, it| word << 16 | u64::from(of_all(it)));
                }
                layout.set_regions(words, Kind::Ordinary, limit);
                let those = |fits: &dyn Fn(u16) -> bool| {
                    (0..known).filter(|it| fits(latency(*it))).fold(0, |all, it| all | 1_u64 << it)
                };
                let within = limit.latency.map_or(u64::MAX, |limit| those(&|it| u32::from(it) <= limit));
                for wider in [known, known + 1, known + 4, 41] {
                    slab.widen(Layout::new(&limited, &[], wider));
                    let row = slab.get(handle);
                    assert_eq!(row.regions(), within, "{known}, then {wider}");
                    assert_eq!(row.measured(), those(&|it| it != UNMEASURED), "{known}, then {wider}");
                    assert!((0..50).all(|it| row.latency(it) == of_all(it)), "{known}, then {wider}");
                    assert_eq!((row.arrival(), row.since()), (7, 9));
                }
            }
        }
    }

    #[test]
    fn quarters_are_compared_as_numbers() {
        let edges = [0, 1, 2, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff];
        let mut at = 0_usize;
        for limit in edges {
            for _ in 0..edges.len() {
                at += 1;
                let four = [at, at / 2, at * 5 + 3, at * 7 + 1].map(|it| edges[it % edges.len()]);
                let word = four.iter().rev().fold(0, |word, it| word << 16 | it);
                let expected = (0..).zip(four).map(|(bit, it)| u64::from(it <= limit) << bit).sum::<u64>();
                assert_eq!(quarters_within(word, limit * QUARTERS), expected, "{four:x?} and {limit:x}");
                let other = (0..).zip(four).map(|(bit, it)| u64::from(it != limit) << bit).sum::<u64>();
                assert_eq!(quarters_other_than(word, limit * QUARTERS), other, "{four:x?} and {limit:x}");
            }
        }
    }
}
