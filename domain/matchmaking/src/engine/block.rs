//! Sixty-four neighbours of an index, their columns apart: one pass without a branch says which of them can be candidates.
//!
//! The pass is written so that the compiler turns it into vector instructions of whatever the target has; there is no other
//! version of it to agree with.

use alloc::vec::Vec;

use super::slab::Handle;

/// How many entries a block holds: as many as a word has bits.
pub(super) const BLOCK: usize = 64;

/// What entries are ordered by: the primary number, then arrival.
pub(super) type Key = (i64, u64);

/// An entry of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub key: Key,
    pub handle: Handle,
    pub players: u8,
    /// Its regions, folded to 32 bits: a superset of the truth.
    pub regions: u32,
    /// Its first list, folded likewise.
    pub set: u32,
}

/// What is asked of candidates. Passing it is necessary, not sufficient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Filter {
    /// The most players.
    pub room: u8,
    /// At least one of these regions.
    pub regions: u32,
    /// At least one of these values of the first list.
    pub set: u32,
    /// All bits where lists do not matter, else none.
    pub any_set: u32,
    /// For each total the most a candidate may add.
    pub totals: Vec<i64>,
}

/// What is true of all entries beneath, loosely: a bound may be stale after removals, and then lets too much through.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    players_min: u8,
    regions: u32,
    set: u32,
    totals_min: Vec<i64>,
}

impl Summary {
    pub(super) fn empty(totals: usize) -> Self {
        Self { players_min: u8::MAX, regions: 0, set: 0, totals_min: alloc::vec![i64::MAX; totals] }
    }

    pub(super) fn add(&mut self, entry: &Entry, total: impl Fn(usize) -> i64) {
        self.players_min = self.players_min.min(entry.players);
        self.regions |= entry.regions;
        self.set |= entry.set;
        for (rule, min) in self.totals_min.iter_mut().enumerate() {
            *min = (*min).min(total(rule));
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.players_min = self.players_min.min(other.players_min);
        self.regions |= other.regions;
        self.set |= other.set;
        for (min, other) in self.totals_min.iter_mut().zip(&other.totals_min) {
            *min = (*min).min(*other);
        }
    }

    /// Whether a candidate can be beneath.
    pub(super) fn admits(&self, filter: &Filter) -> bool {
        self.players_min <= filter.room
            && self.regions & filter.regions != 0
            && self.set & filter.set | filter.any_set != 0
            && self.totals_min.iter().zip(&filter.totals).all(|(min, most)| min <= most)
    }
}

/// A block: its entries in order, column by column.
#[derive(Debug, Clone)]
pub(super) struct Block {
    len: usize,
    numbers: [i64; BLOCK],
    arrivals: [u64; BLOCK],
    handles: [Handle; BLOCK],
    regions: [u32; BLOCK],
    sets: [u32; BLOCK],
    players: [u8; BLOCK],
    pub summary: Summary,
    /// Removals since the summary was made.
    stale: u8,
}

impl Block {
    pub(super) fn new(totals: usize) -> Self {
        Self {
            len: 0,
            numbers: [0; BLOCK],
            arrivals: [0; BLOCK],
            handles: [0; BLOCK],
            regions: [0; BLOCK],
            sets: [0; BLOCK],
            players: [0; BLOCK],
            summary: Summary::empty(totals),
            stale: 0,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn key(&self, slot: usize) -> Key {
        (self.numbers[slot], self.arrivals[slot])
    }

    pub(super) fn eldest(&self) -> Option<u64> {
        self.arrivals[..self.len].iter().copied().min()
    }

    pub(super) const fn number(&self, slot: usize) -> i64 {
        self.numbers[slot]
    }

    pub(super) const fn handle(&self, slot: usize) -> Handle {
        self.handles[slot]
    }

    fn entry(&self, slot: usize) -> Entry {
        Entry {
            key: self.key(slot),
            handle: self.handles[slot],
            players: self.players[slot],
            regions: self.regions[slot],
            set: self.sets[slot],
        }
    }

    /// How many entries are before a key.
    pub(super) fn before(&self, key: Key) -> usize {
        let first = self.numbers[..self.len].partition_point(|number| *number < key.0);
        let equals = self.numbers[first..self.len].partition_point(|number| *number == key.0);
        first + self.arrivals[first..first + equals].partition_point(|arrival| *arrival < key.1)
    }

    pub(super) fn insert(&mut self, entry: &Entry, total: impl Fn(usize) -> i64) {
        let (at, end) = (self.before(entry.key), self.len);
        self.shift_up(at, end);
        self.put(at, entry);
        self.len += 1;
        self.summary.add(entry, total);
    }

    fn put(&mut self, at: usize, entry: &Entry) {
        (self.numbers[at], self.arrivals[at]) = entry.key;
        self.handles[at] = entry.handle;
        self.regions[at] = entry.regions;
        self.sets[at] = entry.set;
        self.players[at] = entry.players;
    }

    fn shift_up(&mut self, at: usize, end: usize) {
        self.numbers.copy_within(at..end, at + 1);
        self.arrivals.copy_within(at..end, at + 1);
        self.handles.copy_within(at..end, at + 1);
        self.regions.copy_within(at..end, at + 1);
        self.sets.copy_within(at..end, at + 1);
        self.players.copy_within(at..end, at + 1);
    }

    /// Takes the entry of a key out; says whether it was there.
    pub(super) fn remove(&mut self, key: Key) -> bool {
        let at = self.before(key);
        if at >= self.len || self.key(at) != key {
            return false;
        }
        let end = self.len;
        self.numbers.copy_within(at + 1..end, at);
        self.arrivals.copy_within(at + 1..end, at);
        self.handles.copy_within(at + 1..end, at);
        self.regions.copy_within(at + 1..end, at);
        self.sets.copy_within(at + 1..end, at);
        self.players.copy_within(at + 1..end, at);
        self.len -= 1;
        self.stale = self.stale.saturating_add(1);
        true
    }

    /// Says other regions of the entry of a key.
    pub(super) fn set_regions(&mut self, key: Key, regions: u32) {
        let at = self.before(key);
        if at < self.len && self.key(at) == key {
            self.regions[at] = regions;
            self.summary.regions |= regions;
        }
    }

    /// Whether the summary has become so stale that it is worth making anew.
    pub(super) const fn is_stale(&self) -> bool {
        self.stale as usize > self.len / 2
    }

    pub(super) fn summarise(&mut self, total: impl Fn(Handle, usize) -> i64) {
        let mut summary = Summary::empty(self.summary.totals_min.len());
        for slot in 0..self.len {
            let entry = self.entry(slot);
            summary.add(&entry, |rule| total(entry.handle, rule));
        }
        self.summary = summary;
        self.stale = 0;
    }

    /// Moves the entries from `at` on into a new block.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let mut upper = Self::new(self.summary.totals_min.len());
        for slot in at..self.len {
            let entry = self.entry(slot);
            upper.put(slot - at, &entry);
        }
        upper.len = self.len - at;
        self.len = at;
        upper
    }

    /// Takes over the entries of the block after it; they fit.
    pub(super) fn append(&mut self, next: &Self) {
        for slot in 0..next.len {
            self.put(self.len + slot, &next.entry(slot));
        }
        self.len += next.len;
    }

    /// Which entries can be candidates, one bit each.
    pub(super) fn candidates(&self, filter: &Filter) -> u64 {
        let passes: [u8; BLOCK] = core::array::from_fn(|slot| {
            let fits = self.players[slot] <= filter.room;
            let region = self.regions[slot] & filter.regions != 0;
            let set = (self.sets[slot] & filter.set) | filter.any_set != 0;
            u8::from(fits & region & set)
        });
        pack(&passes) & below(self.len)
    }
}

/// One bit for each byte that is 1.
fn pack(bytes: &[u8; BLOCK]) -> u64 {
    /// Gathers the lowest bits of eight bytes into the highest byte of the product.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (eights, _) = bytes.as_chunks::<8>();
    eights.iter().enumerate().fold(0, |bits, (index, eight)| {
        bits | (u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56) << (index * 8)
    })
}

/// The lowest `count` bits.
pub(super) const fn below(count: usize) -> u64 {
    if count >= BLOCK { u64::MAX } else { (1 << count) - 1 }
}

/// A bit set folded to 32 bits: two sets that meet, meet folded.
#[expect(clippy::cast_possible_truncation, reason = "the two halves are laid over each other")]
pub(super) fn fold(words: &[u64]) -> u32 {
    let all = words.iter().fold(0, |all, word| all | word);
    (all | all >> 32) as u32
}
