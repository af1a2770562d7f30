//! What the engine knows of each waiting ticket: one row of words for what every candidate is asked, next to each other, so that judging one
//! touches a cache line or two; and one for what few are asked.
//!
//! The first holds arrival, sizes and step; then one word for each text and number, a bit set for each list, one word for each total, the
//! bit set of regions within the current limit, and the latencies, four to a word. The second holds the start of waiting, and one word
//! for each team sum.

use alloc::vec::Vec;

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
/// The arrival of a free row.
const FREE_ROW: u64 = u64::MAX;

const ARRIVAL: usize = 0;
const SHAPE: usize = 1;
const TEXTS: usize = 2;
/// Of the second row.
const SINCE: usize = 0;
const TEAMS: usize = 1;

/// Where the parts of a row stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub texts: usize,
    pub numbers: usize,
    /// Where each list's bit set begins, and how many words it has.
    pub sets: Vec<(usize, usize)>,
    pub totals: usize,
    pub regions: usize,
    pub latencies: (usize, usize),
    /// Words of a row, and of the second.
    pub stride: usize,
    pub few: usize,
    /// Where a card's words stand; beyond every row where there are none.
    pub primary: usize,
    pub one_word: usize,
    pub marked: usize,
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
        let region = usize::from(plan.region.is_some());
        let mask = take(region);
        let latency_words = region * regions.div_ceil(4).max(1);
        let latencies = (take(latency_words), latency_words);
        let primary = plan.primary.map_or(NOWHERE, |rule| numbers + rule);
        let one_word = sets.first().filter(|(_, words)| *words == 1).map_or(NOWHERE, |(at, _)| *at);
        let marked = if plan.region.is_some() { mask } else { NOWHERE };
        Self {
            texts,
            numbers,
            sets,
            totals,
            regions: mask,
            latencies,
            stride: at,
            few: TEAMS + plan.team_numbers,
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
        sets && (self.latencies.1 == 0 || regions <= self.latencies.1 * 4)
    }
}

impl Layout {
    /// Puts down which regions a step allows, by the latencies that are there.
    pub(super) fn set_regions(&self, words: &mut [u64], kind: Kind, row: &Row) {
        let (at, len) = self.latencies;
        if len == 0 {
            return;
        }
        // A game is where it is, however long it waits.
        let limit = match kind {
            Kind::Backfill => Some(u32::MAX),
            Kind::Ordinary => row.latency,
        };
        words[self.regions] = limit.map_or(u64::MAX, |limit| {
            let limit = u16::try_from(limit).unwrap_or(u16::MAX).min(UNMEASURED - 1);
            no_more_than(&words[at..at + len], limit)
        });
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
    /// What few are asked.
    few: Vec<Vec<u64>>,
    rows: usize,
    free: Vec<Handle>,
}

/// Rows next to each other. The first begins a cache line, so that no row of a line's length takes two.
#[derive(Debug, Clone)]
struct Chunk {
    words: Vec<u64>,
    from: usize,
}

impl Chunk {
    fn new(stride: usize) -> Self {
        let words = alloc::vec![0_u64; CHUNK * stride + LINE - 1];
        // Wherever they begin, what is read there is the same.
        let from = (words.as_ptr().addr() / size_of::<u64>()).wrapping_neg() % LINE;
        Self { words, from }
    }

    fn rows(&self, stride: usize) -> impl Iterator<Item = &[u64]> {
        self.words[self.from..].chunks_exact(stride).take(CHUNK)
    }

    #[inline]
    fn row(&self, at: usize, stride: usize) -> &[u64] {
        &self.words[self.from + at * stride..][..stride]
    }

    #[inline]
    fn row_mut(&mut self, at: usize, stride: usize) -> &mut [u64] {
        &mut self.words[self.from + at * stride..][..stride]
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
    pub team_sums: &'a mut [u64],
}

impl Slab {
    pub(super) const fn new(layout: Layout) -> Self {
        Self { layout, chunks: Vec::new(), few: Vec::new(), rows: 0, free: Vec::new() }
    }

    pub(super) const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Moves every row into a wider layout. Handles stay.
    pub(super) fn widen(&mut self, layout: Layout) {
        let before = core::mem::replace(&mut self.layout, layout);
        let layout = &self.layout;
        for chunk in &mut self.chunks {
            let mut wider = Chunk::new(layout.stride);
            for (at, from) in chunk.rows(before.stride).enumerate() {
                let into = wider.row_mut(at, layout.stride);
                let fixed = before.sets.first().map_or(before.totals, |(at, _)| *at);
                into[..fixed].copy_from_slice(&from[..fixed]);
                for ((old, len), (new, _)) in before.sets.iter().zip(&layout.sets) {
                    into[*new..new + len].copy_from_slice(&from[*old..old + len]);
                }
                let counted = before.latencies.0 - before.totals;
                into[layout.totals..][..counted].copy_from_slice(&from[before.totals..][..counted]);
                let (new, wide) = layout.latencies;
                into[new..new + wide].fill(u64::MAX);
                let (old, len) = before.latencies;
                into[new..new + len].copy_from_slice(&from[old..old + len]);
            }
            *chunk = wider;
        }
    }

    /// A new row, which has its head. The caller writes every other word: what is there is another's.
    #[inline]
    pub(super) fn add(&mut self, arrival: u64, since: u64, shape: Shape) -> New<'_> {
        let handle = self.free.pop().unwrap_or_else(|| self.grow());
        let Layout { stride, few, .. } = self.layout;
        let (chunk, at) = (handle as usize / CHUNK, handle as usize % CHUNK);
        let words = self.chunks[chunk].row_mut(at, stride);
        (words[ARRIVAL], words[SHAPE]) = (arrival, shape.word());
        let (first, team_sums) = self.few[chunk][at * few..][..few].split_at_mut(TEAMS);
        first[SINCE] = since;
        New { handle, layout: &self.layout, words, team_sums }
    }

    #[inline(never)]
    fn grow(&mut self) -> Handle {
        if self.rows == self.chunks.len() * CHUNK {
            self.chunks.push(Chunk::new(self.layout.stride));
            self.few.push(alloc::vec![0; CHUNK * self.layout.few]);
        }
        self.rows += 1;
        u32::try_from(self.rows - 1).unwrap_or(u32::MAX)
    }

    fn row_mut(&mut self, handle: Handle) -> (&Layout, &mut [u64]) {
        let row = self.chunks[handle as usize / CHUNK].row_mut(handle as usize % CHUNK, self.layout.stride);
        (&self.layout, row)
    }

    #[inline]
    pub(super) fn remove(&mut self, handle: Handle) {
        self.row_mut(handle).1[ARRIVAL] = FREE_ROW;
        self.free.push(handle);
    }

    #[inline]
    pub(super) fn get(&self, handle: Handle) -> Ref<'_> {
        let words = self.chunks[handle as usize / CHUNK].row(handle as usize % CHUNK, self.layout.stride);
        Ref { words, slab: self, handle }
    }

    /// All rows in use.
    pub(super) fn all(&self) -> impl Iterator<Item = Ref<'_>> {
        let rows = (0_u32..).take(self.rows).map(|handle| self.get(handle));
        rows.filter(|row| row.arrival() != FREE_ROW)
    }

    /// Has rows brought near, all of them at a time.
    pub(super) fn fetch(&self, handles: &[Handle]) {
        let last = self.layout.stride - 1;
        let words = handles.iter().map(|handle| {
            let row = self.get(*handle).words;
            row[0] ^ row[last]
        });
        core::hint::black_box(words.fold(0, |all, word| all ^ word));
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
        let rows = self.chunks.iter().flat_map(|chunk| chunk.rows(self.layout.stride));
        let few = self.few.iter().flat_map(|few| few.chunks_exact(self.layout.few));
        let used = rows.zip(few).take(self.rows).filter(|(row, _)| row[ARRIVAL] != FREE_ROW);
        used.map(|(_, few)| few[SINCE]).min()
    }

    /// Bytes held, whether in use or kept for later.
    pub(super) fn bytes(&self) -> usize {
        let words = CHUNK * (self.layout.stride + self.layout.few) + LINE - 1;
        self.chunks.len() * (words * 8 + size_of::<Chunk>() + size_of::<Vec<u64>>())
            + self.free.capacity() * 4
    }
}

impl<'a> Ref<'a> {
    pub(super) const fn handle(&self) -> Handle {
        self.handle
    }

    pub(super) const fn arrival(&self) -> u64 {
        self.words[ARRIVAL]
    }

    /// Of what few are asked.
    fn few(&self) -> &'a [u64] {
        let (chunk, at) = (self.handle as usize / CHUNK, self.handle as usize % CHUNK);
        &self.slab.few[chunk][at * self.slab.layout.few..]
    }

    pub(super) fn since(&self) -> u64 {
        self.few()[SINCE]
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

    pub(super) fn team_sum(&self, rule: usize) -> i64 {
        self.few()[TEAMS + rule].cast_signed()
    }

    /// The regions within its current limit; all where it has none.
    pub(super) fn regions(&self) -> u64 {
        self.words.get(self.slab.layout.marked).copied().unwrap_or(u64::MAX)
    }

    /// The regions that all its players measured.
    pub(super) fn measured(&self) -> u64 {
        self.latencies().iter().rev().fold(0, |all, word| all << 4 | quarters_other_than(*word, u64::MAX))
    }

    /// The worst latencies of its players, by region.
    pub(super) fn latencies(&self) -> &'a [u64] {
        let (at, len) = self.slab.layout.latencies;
        &self.words[at..at + len]
    }

    /// The worst latency of its players to a region.
    #[expect(clippy::cast_possible_truncation, reason = "a quarter of a word")]
    pub(super) fn latency(&self, region: usize) -> u16 {
        let (at, len) = self.slab.layout.latencies;
        if region / 4 >= len {
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
    use super::*;

    /// Wherever the memory lies, and however many allocations there were.
    #[test]
    fn a_row_of_a_line_takes_one_line() {
        for chunk in (0..5).map(|_| Chunk::new(LINE)).collect::<Vec<_>>() {
            for at in [0, 1, CHUNK - 1] {
                assert_eq!(chunk.row(at, LINE).as_ptr().addr() % (LINE * size_of::<u64>()), 0, "row {at}");
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
