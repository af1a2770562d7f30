//! The waiting tickets of one partition and kind, in the order of their primary number and arrival: runs of blocks of
//! entries, so that an insertion moves at most 64.
//!
//! The layout of runs and blocks depends on the order of insertions and removals; nothing that is found does.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::block::{BLOCK, Block, Entry, Key, Marks, Summary};
use super::slab::{Handle, Slab};

/// The most blocks of a run.
const RUN: usize = 64;

/// The index.
#[derive(Debug, Clone)]
pub(super) struct Index {
    totals: usize,
    len: usize,
    heads: Vec<Key>,
    pub(super) runs: Vec<Run>,
}

/// Neighbouring blocks.
#[derive(Debug, Clone)]
#[expect(clippy::vec_box, reason = "a block is 1.7 kB, and blocks move when their run gets another")]
pub(super) struct Run {
    heads: Vec<Key>,
    pub(super) blocks: Vec<Box<Block>>,
    pub(super) summary: Summary,
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
        Self { totals, len: 0, heads: Vec::new(), runs: Vec::new() }
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
    }

    fn find(&self, key: Key) -> Option<(usize, usize)> {
        let run = self.heads.partition_point(|head| *head <= key).saturating_sub(1);
        let block = self.runs.get(run)?.heads.partition_point(|head| *head <= key).saturating_sub(1);
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

    /// Where an entry of a key is, or would be put: perhaps one past the last of its block.
    pub(super) fn at(&self, key: Key) -> Option<Place> {
        let (run, block) = self.find(key)?;
        Some(Place { run, block, slot: self.runs[run].blocks[block].before(key) })
    }

    pub(super) fn insert(&mut self, entry: &Entry, slab: &Slab) {
        self.len += 1;
        let total = |rule: usize| slab.get(entry.handle).total(rule);
        let Some((run_at, mut block_at)) = self.find(entry.key) else {
            let mut block = Box::new(Block::new(self.totals));
            block.insert(entry, total);
            let summary = block.summary.clone();
            self.runs.push(Run { heads: alloc::vec![entry.key], blocks: alloc::vec![block], summary });
            self.heads.push(entry.key);
            return;
        };
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
        run.blocks[block_at].insert(entry, total);
        run.heads[block_at] = run.heads[block_at].min(entry.key);
        run.summary.add(entry, total);
        self.heads[run_at] = run.heads[0];
        if run.blocks.len() > RUN {
            let heads = run.heads.split_off(RUN / 2);
            let blocks = run.blocks.split_off(RUN / 2);
            let mut upper = Run { heads, blocks, summary: Summary::empty(self.totals) };
            upper.summarise(self.totals);
            run.summarise(self.totals);
            self.heads.insert(run_at + 1, upper.heads[0]);
            self.runs.insert(run_at + 1, upper);
        }
    }

    pub(super) fn remove(&mut self, key: Key, slab: &Slab) {
        let Some((run_at, block_at)) = self.find(key) else { return };
        let run = &mut self.runs[run_at];
        let block = &mut run.blocks[block_at];
        if !block.remove(key) {
            debug_assert!(false, "an entry is where its key says");
            return;
        }
        self.len -= 1;
        if block.count() == 0 {
            run.blocks.remove(block_at);
            run.heads.remove(block_at);
            run.summarise(self.totals);
        } else if block.is_stale() {
            block.summarise(|handle, rule| slab.get(handle).total(rule));
            run.merge_small(block_at, slab);
            run.summarise(self.totals);
        }
        if run.blocks.is_empty() {
            self.runs.remove(run_at);
            self.heads.remove(run_at);
        } else {
            self.heads[run_at] = run.heads[0];
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
    #[cfg(test)]
    pub(super) fn handles(&self) -> Vec<Handle> {
        let blocks = self.runs.iter().flat_map(|run| &run.blocks);
        blocks.flat_map(|block| block.slots().map(|slot| block.handle(slot))).collect()
    }
}

impl Run {
    /// Joins a block with the next where both together leave room.
    fn merge_small(&mut self, at: usize, slab: &Slab) {
        let joined = |next: &Block, this: &Block| this.count() + next.count() <= BLOCK * 3 / 4;
        if self.blocks.get(at + 1).is_none_or(|next| !joined(next, &self.blocks[at])) {
            return;
        }
        let next = self.blocks.remove(at + 1);
        self.heads.remove(at + 1);
        self.blocks[at].append(*next);
        self.blocks[at].summarise(|handle: Handle, rule| slab.get(handle).total(rule));
    }

    fn summarise(&mut self, totals: usize) {
        let mut summary = Summary::empty(totals);
        self.blocks.iter().for_each(|block| summary.merge(&block.summary));
        self.summary = summary;
    }
}
