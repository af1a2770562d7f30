//! The waiting tickets of one partition and kind, in the order of their primary number and arrival: runs of blocks of
//! entries, so that an insertion moves at most 64.
//!
//! The layout of runs and blocks depends on the order of insertions and removals; nothing that is found does.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::ahead::fetch;
use super::block::{BLOCK, BUILT, Block, Entry, Marks, Summary, below};
use super::key::{Key, first_not};
use super::order;
use super::slab::{Handle, Slab};
use super::spot::Spot;

/// The most blocks of a run.
const RUN: usize = 64;
/// So many keys take a line of memory.
const KEYS_A_LINE: usize = 4;
/// The most who may come at once for whom the memory is kept.
pub(super) const KEPT_MAX: usize = 256;
/// How many who come, or move, are brought near at a time.
pub(super) const FETCHED: usize = 16;
/// How many blocks on either side of one are looked at before all are: tickets of a match are seldom further apart.
const BESIDE: usize = 3;
/// Of how many blocks one has to have become narrower before the run's summary is made anew.
const NARROWED_ONE_IN: usize = 4;

/// The index.
#[derive(Debug, Clone)]
pub(super) struct Index {
    totals: usize,
    len: usize,
    heads: Vec<Key>,
    pub(super) runs: Vec<Run>,
    /// Who is [let in](Self::let_in) next.
    coming: Vec<Entry>,
    /// Whence the last left.
    left: Option<(usize, usize)>,
}

/// Neighbouring blocks.
#[derive(Debug, Clone)]
#[expect(clippy::vec_box, reason = "a block is 1.7 kB, and blocks move when their run gets another")]
pub(super) struct Run {
    heads: Vec<Key>,
    pub(super) blocks: Vec<Box<Block>>,
    pub(super) summary: Summary,
    /// How many summaries of its blocks have become narrower since its own was made.
    narrowed: usize,
}

/// A place in an index: run, block, slot. The slot may be one past the last of its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub run: usize,
    pub block: usize,
    pub slot: usize,
}

impl Index {
    /// For a queue of so many totals.
    pub(super) const fn new(totals: usize) -> Self {
        Self { totals, len: 0, heads: Vec::new(), runs: Vec::new(), coming: Vec::new(), left: None }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The arrival of the eldest entry. Looks at all of them.
    pub(super) fn eldest(&self) -> Option<u64> {
        self.runs.iter().flat_map(|run| &run.blocks).filter_map(|block| block.eldest()).min()
    }

    /// Bytes of blocks and heads.
    pub(super) fn bytes(&self) -> usize {
        let blocks: usize = self.runs.iter().map(|run| run.blocks.len()).sum();
        blocks * (size_of::<Block>() + size_of::<Key>() + size_of::<usize>() + self.totals * 8)
            + self.runs.len() * (size_of::<Run>() + size_of::<Key>())
            + self.coming.capacity() * size_of::<Entry>()
    }

    /// In which block an entry of a key is, or would be put.
    #[inline(always)]
    pub(super) fn find(&self, key: Key) -> Option<(usize, usize)> {
        let run = first_not(&self.heads, |head| head <= key).saturating_sub(1);
        let block = first_not(&self.runs.get(run)?.heads, |head| head <= key).saturating_sub(1);
        Some((run, block))
    }

    /// Where the first entry is; `None` where there is none.
    pub(super) fn first(&self) -> Option<Place> {
        (self.len > 0).then_some(Place { run: 0, block: 0, slot: 0 })
    }

    /// Where the first entry at or after a place [found by its key](Self::at) is; `None` where there is none.
    pub(super) fn first_from(&self, place: Place) -> Option<Place> {
        let Place { run, block, slot } = place;
        if slot < self.runs[run].blocks[block].len() {
            Some(place)
        } else if block + 1 < self.runs[run].blocks.len() {
            Some(Place { run, block: block + 1, slot: 0 })
        } else {
            (run + 1 < self.runs.len()).then_some(Place { run: run + 1, block: 0, slot: 0 })
        }
    }

    /// The first block in which entries of a number can be, at one of them or before it.
    pub(super) fn first_block_of(&self, number: i64, one: (usize, usize)) -> (usize, usize) {
        let (mut run, mut block) = one;
        // No entry is below the head of its block.
        while self.runs[run].heads[block].number() == number {
            (run, block) = match (block.checked_sub(1), run.checked_sub(1)) {
                (Some(block), _) => (run, block),
                (None, Some(run)) => (run, self.runs[run].blocks.len() - 1),
                (None, None) => break,
            };
        }
        (run, block)
    }

    /// Where an entry of a key is, or would be put: perhaps one past the last of its block.
    pub(super) fn at(&self, key: Key) -> Option<Place> {
        let (run, block) = self.find(key)?;
        Some(Place { run, block, slot: self.runs[run].blocks[block].before(key) })
    }

    /// An entry that is let in with others.
    #[inline]
    pub(super) fn expect(&mut self, entry: Entry) {
        self.coming.push(entry);
    }

    pub(super) const fn expects_nobody(&self) -> bool {
        self.coming.is_empty()
    }

    /// Puts in all who are expected: in order, so that each block is found and fetched once. Where equals are asked for, whoever
    /// comes next to one of its number is one of them, and so is that one.
    pub(super) fn let_in(&mut self, slab: &Slab, mut equals: Option<&mut Vec<Handle>>) {
        if self.coming.is_empty() {
            return;
        }
        let mut coming = core::mem::take(&mut self.coming);
        if self.len == 0 {
            // A crowd is put down where it belongs, and not in order before that.
            let turns = order::turns(&mut coming);
            let turn = |turn: usize| &coming[turns.place(turn)];
            self.build(coming.len(), turn, slab);
            if let Some(equals) = &mut equals {
                let pairs = (1..coming.len()).map(|next| [turn(next - 1), turn(next)]);
                let pairs = pairs.filter(|[one, other]| one.key.number() == other.key.number());
                equals.extend(pairs.flatten().map(|entry| entry.handle));
            }
        } else {
            order::sort(&mut coming);
            for entries in coming.chunks(FETCHED) {
                let places = self.fetch(entries);
                for (entry, place) in entries.iter().zip(places) {
                    let place = place.filter(|place| self.holds(*place, entry.key));
                    let place = self.insert_at(place.or_else(|| self.find(entry.key)), entry, slab);
                    if let Some(equals) = &mut equals {
                        let number = entry.key.number();
                        let beside = self.neighbours(place).into_iter().flatten();
                        let alike = beside.filter(|(key, _)| key.number() == number);
                        let before = equals.len();
                        equals.extend(alike.map(|(_, handle)| handle));
                        if equals.len() > before {
                            equals.push(entry.handle);
                        }
                    }
                }
            }
        }
        if coming.capacity() <= KEPT_MAX {
            coming.clear();
            self.coming = coming;
        }
    }

    /// Where entries belong as it is now. What has to be read for that, and what is there, is asked of the memory for all of
    /// them at a time: so it answers at once, and not one after the other.
    fn fetch(&self, entries: &[Entry]) -> [Option<(usize, usize)>; FETCHED] {
        let places = self.find_all(entries.iter().map(|entry| entry.key));
        let block = |(run, block): (usize, usize)| &self.runs[run].blocks[block];
        places.iter().flatten().for_each(|place| block(*place).fetch_to_insert());
        for (place, entry) in places.iter().zip(entries) {
            if let Some(block) = place.map(block) {
                block.fetch_beside(block.before_number(entry.key.number()));
            }
        }
        places
    }

    /// In which blocks entries of no more keys than are brought near at a time are, or would be put.
    fn find_all(&self, keys: impl Iterator<Item = Key> + Clone) -> [Option<(usize, usize)>; FETCHED] {
        let mut places = [None; FETCHED];
        let mut before = usize::MAX;
        for (place, key) in places.iter_mut().zip(keys.clone()) {
            let run = first_not(&self.heads, |head| head <= key).saturating_sub(1);
            // Neighbours are in one run, as a rule.
            if run != before {
                (0..RUN).step_by(KEYS_A_LINE).for_each(|head| fetch(&self.runs[run].heads, head));
            }
            before = run;
            *place = Some((run, 0));
        }
        for ((run, block), key) in places.iter_mut().flatten().zip(keys) {
            *block = first_not(&self.runs[*run].heads, |head| head <= key).saturating_sub(1);
        }
        places
    }

    /// Where the entries of keys stand, of no more than are brought near at a time; asked for as [they are let in](Self::let_in).
    pub(super) fn spots(&self, keys: impl Iterator<Item = Key> + Clone) -> [Option<Spot>; FETCHED] {
        let mut spots = [None; FETCHED];
        if self.len == 0 {
            return spots;
        }
        let places = self.find_all(keys.clone());
        let block = |(run, block): (usize, usize)| &self.runs[run].blocks[block];
        places.iter().flatten().for_each(|place| block(*place).fetch_to_seek());
        for ((spot, place), key) in spots.iter_mut().zip(places).zip(keys) {
            let Some(place) = place else { continue };
            let slot = block(place).before(key);
            block(place).fetch_beside(slot);
            *spot = Some(Spot { run: place.0 as u32, block: place.1 as u16, slot: slot as u16 });
        }
        spots
    }

    /// Who is next to a slot with an entry, before it and after it.
    fn neighbours(&self, Place { run, block, slot }: Place) -> [Option<(Key, Handle)>; 2] {
        let blocks = &self.runs[run].blocks;
        let before = blocks[block].last_of(below(slot)).or_else(|| {
            let block = match block.checked_sub(1) {
                Some(block) => &blocks[block],
                None => self.runs[run.checked_sub(1)?].blocks.last()?,
            };
            block.last_of(u64::MAX)
        });
        let after = blocks[block].first_of(!below(slot + 1)).or_else(|| {
            let next = blocks.get(block + 1).or_else(|| self.runs.get(run + 1)?.blocks.first());
            next?.first_of(u64::MAX)
        });
        [before, after]
    }

    /// Of so many entries in order, where there are none yet.
    fn build<'a>(&mut self, count: usize, entry: impl Fn(usize) -> &'a Entry, slab: &Slab) {
        (self.heads, self.runs, self.len) = (Vec::new(), Vec::new(), count);
        for from in (0..count).step_by(BUILT * RUN / 2) {
            let firsts = (from..count.min(from + BUILT * RUN / 2)).step_by(BUILT);
            let blocks = firsts.clone().map(|first| {
                let entries = (first..count.min(first + BUILT)).map(&entry);
                Box::new(Block::of(self.totals, entries, |handle, rule| slab.get(handle).total(rule)))
            });
            let blocks = blocks.collect();
            let heads: Vec<Key> = firsts.map(|first| entry(first).key).collect();
            self.heads.push(heads[0]);
            let summary = Summary::empty(self.totals);
            let mut run = Run { heads, blocks, summary, narrowed: 0 };
            run.summarise();
            self.runs.push(run);
        }
    }

    /// Where an entry of a key is, or would be put, if that is in a run and few blocks away from a place.
    fn find_near(&self, (run, block): (usize, usize), key: Key) -> Option<(usize, usize)> {
        let heads = &self.runs.get(run)?.heads;
        let (from, until) = (block.saturating_sub(BESIDE), heads.len().min(block + BESIDE + 1));
        let near = heads.get(from..until)?;
        let beyond = heads.get(until).or_else(|| self.heads.get(run + 1));
        if *near.first()? > key || beyond.is_some_and(|head| *head <= key) {
            return None;
        }
        let passed: usize = near.iter().map(|head| usize::from(*head <= key)).sum();
        Some((run, from + passed - 1))
    }

    /// A spot as a place, where the entry of a key stands there still.
    fn still_at(&self, spot: Spot, key: Key) -> Option<Place> {
        let Spot { run, block, slot } = spot;
        let place = Place { run: run as usize, block: block.into(), slot: slot.into() };
        let there = self.runs.get(place.run)?.blocks.get(place.block)?;
        there.has(place.slot, key).then_some(place)
    }

    /// Whether an entry of this key belongs into a block.
    fn holds(&self, (run, block): (usize, usize), key: Key) -> bool {
        let Some(heads) = self.runs.get(run).map(|run| &run.heads) else { return false };
        let next = heads.get(block + 1).or_else(|| self.heads.get(run + 1));
        heads.get(block).is_some_and(|head| *head <= key) && next.is_none_or(|next| key < *next)
    }

    /// Puts an entry into the block it belongs into; says where it ended up.
    fn insert_at(&mut self, place: Option<(usize, usize)>, entry: &Entry, slab: &Slab) -> Place {
        let Some((mut run_at, mut block_at)) = place else {
            self.build(1, |_| entry, slab);
            return Place { run: 0, block: 0, slot: 0 };
        };
        self.len += 1;
        let total = |rule: usize| slab.get(entry.handle).total(rule);
        let last = self.runs.len() - 1 == run_at && self.runs[run_at].blocks.len() - 1 == block_at;
        let run = &mut self.runs[run_at];
        if run.blocks[block_at].is_full() {
            // What always comes last (arrivals without a number) fills its blocks whole.
            let ends = last && run.blocks[block_at].key(BLOCK - 1) < entry.key;
            let upper = run.blocks[block_at].split_off(if ends { BLOCK } else { BLOCK / 2 });
            let head = if ends { entry.key } else { upper.key(0) };
            run.blocks.insert(block_at + 1, Box::new(upper));
            run.heads.insert(block_at + 1, head);
            for block in &mut run.blocks[block_at..block_at + 2] {
                block.summarise(|handle, rule| slab.get(handle).total(rule));
            }
            block_at += usize::from(entry.key >= head);
        }
        let slot = run.blocks[block_at].insert(entry, total);
        run.heads[block_at] = run.heads[block_at].min(entry.key);
        run.summary.add(entry, total);
        self.heads[run_at] = run.heads[0];
        if run.blocks.len() > RUN {
            let heads = run.heads.split_off(RUN / 2);
            let blocks = run.blocks.split_off(RUN / 2);
            let mut upper = Run { heads, blocks, summary: Summary::empty(self.totals), narrowed: 0 };
            upper.summarise();
            run.summarise();
            self.heads.insert(run_at + 1, upper.heads[0]);
            self.runs.insert(run_at + 1, upper);
            if block_at >= RUN / 2 {
                (run_at, block_at) = (run_at + 1, block_at - RUN / 2);
            }
        }
        Place { run: run_at, block: block_at, slot }
    }

    /// Takes the entry of a key out, which stood at that spot when it was met.
    pub(super) fn remove(&mut self, key: Key, spot: Option<Spot>, slab: &Slab) {
        let spot = spot.and_then(|spot| self.still_at(spot, key));
        // Neighbours leave together.
        let find = || {
            let (run, block) =
                self.left.and_then(|left| self.find_near(left, key)).or_else(|| self.find(key))?;
            Some(Place { run, block, slot: self.runs[run].blocks[block].find(key)? })
        };
        let Some(Place { run: run_at, block: block_at, slot }) = spot.or_else(find) else {
            debug_assert!(self.len == 0, "an entry is where its key says");
            return;
        };
        self.left = Some((run_at, block_at));
        let block = &mut self.runs[run_at].blocks[block_at];
        block.remove(slot);
        self.len -= 1;
        if block.is_stale() {
            self.tidy(run_at, block_at, slab);
        }
    }

    /// So many have left a block that it is worth looking at.
    #[inline(never)]
    fn tidy(&mut self, run_at: usize, block_at: usize, slab: &Slab) {
        let run = &mut self.runs[run_at];
        run.tidy(block_at, slab);
        match run.heads.first() {
            Some(first) => self.heads[run_at] = *first,
            None => {
                self.runs.remove(run_at);
                self.heads.remove(run_at);
            }
        }
    }

    /// What an entry can play by has changed with its step.
    pub(super) fn set_marks(&mut self, key: Key, marks: Marks) {
        let Some((run, block)) = self.find(key) else { return };
        let run = &mut self.runs[run];
        run.blocks[block].set_marks(key, marks);
        run.summary.merge(&run.blocks[block].summary);
    }

    /// Every handle, in order.
    pub(super) fn handles(&self) -> impl Iterator<Item = Handle> {
        let blocks = self.runs.iter().flat_map(|run| &run.blocks);
        blocks.flat_map(|block| block.slots().map(|slot| block.handle(slot)))
    }
}

impl Run {
    /// Takes an empty block out; of another it makes the summary anew, and joins it with the next where both together leave room.
    fn tidy(&mut self, at: usize, slab: &Slab) {
        let total = |handle: Handle, rule| slab.get(handle).total(rule);
        let count = self.blocks[at].count();
        if count == 0 {
            self.blocks.remove(at);
            self.heads.remove(at);
            self.narrowed += 1;
        } else if self.blocks.get(at + 1).is_some_and(|next| count + next.count() <= BUILT) {
            let next = self.blocks.remove(at + 1);
            self.heads.remove(at + 1);
            self.blocks[at].append(*next);
            self.blocks[at].summarise(total);
            self.narrowed += 1;
        } else {
            self.narrowed += usize::from(self.blocks[at].summarise(total));
        }
        // A summary that says too much costs less than making it each time.
        if self.narrowed * NARROWED_ONE_IN > self.blocks.len() {
            self.summarise();
        }
    }

    fn summarise(&mut self) {
        self.narrowed = 0;
        self.summary.clear();
        self.blocks.iter().for_each(|block| self.summary.merge(&block.summary));
    }
}
