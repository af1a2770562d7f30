//! From one number outwards through an index: candidates in the order of distance, and of arrival among equals.

use super::block::{Filter, below};
use super::index::{Index, Place};
use super::slab::{Handle, WILD};

/// What a walk meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Met {
    pub distance: i64,
    pub arrival: u64,
    pub handle: Handle,
}

/// A walk. The filter may be narrowed on the way; the index does not change meanwhile.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    index: &'a Index,
    filter: Filter,
    from: i64,
    reach: i64,
    /// Tickets without a number: at no distance from anyone.
    any: Option<Up>,
    above: Option<Up>,
    below: Option<Down>,
    heads: [Option<Met>; 3],
}

/// Goes up from a place, to the last entry or the last of one number.
#[derive(Debug, Clone, Copy)]
struct Up {
    place: Place,
    left: u64,
    only: Option<i64>,
}

/// Goes down from below a place; entries of one number it meets from the eldest on.
#[derive(Debug, Clone, Copy)]
struct Down {
    run: usize,
    block: usize,
    left: u64,
    equals: Option<Up>,
}

impl<'a> Walk<'a> {
    /// Outwards from a number, at most `reach` far. A walk from [`WILD`] goes through everything, the lowest first.
    pub(super) fn new(index: &'a Index, from: i64, reach: i64, filter: Filter) -> Self {
        let mut walk =
            Self { index, filter, from, reach, any: None, above: None, below: None, heads: [None; 3] };
        if from == WILD {
            walk.above = walk.up((WILD, 0), None);
            walk.heads[1] = walk.step_up(Side::Above);
            return walk;
        }
        walk.any = walk.up((WILD, 0), Some(WILD));
        walk.above = walk.up((from, 0), None);
        walk.below = index.at((from, 0)).map(|Place { run, block, slot }| Down {
            run,
            block,
            left: walk.mask(run, block) & below(slot),
            equals: None,
        });
        walk.heads = [walk.step_up(Side::Any), walk.step_up(Side::Above), walk.step_down()];
        walk
    }

    /// From now on only what passes this, too.
    pub(super) fn narrow(&mut self, filter: Filter) {
        self.filter = filter;
        for side in [self.any.as_mut(), self.above.as_mut()].into_iter().flatten() {
            side.left &= mask_of(self.index, &self.filter, side.place.run, side.place.block);
        }
        if let Some(down) = &mut self.below {
            down.left &= mask_of(self.index, &self.filter, down.run, down.block);
            if let Some(equals) = &mut down.equals {
                equals.left &= mask_of(self.index, &self.filter, equals.place.run, equals.place.block);
            }
        }
    }

    fn mask(&self, run: usize, block: usize) -> u64 {
        mask_of(self.index, &self.filter, run, block)
    }

    fn up(&self, key: (i64, u64), only: Option<i64>) -> Option<Up> {
        let place = self.index.first_at(key)?;
        let left = self.mask(place.run, place.block) & !below(place.slot);
        Some(Up { place, left, only })
    }

    fn step_up(&mut self, side: Side) -> Option<Met> {
        let mut up = match side {
            Side::Any => self.any.take()?,
            Side::Above => self.above.take()?,
        };
        let met = self.advance(&mut up)?;
        match side {
            Side::Any => self.any = Some(up),
            Side::Above => self.above = Some(up),
        }
        Some(met)
    }

    /// The next entry of an upward way; `None` at its end.
    fn advance(&self, up: &mut Up) -> Option<Met> {
        loop {
            let block = &self.index.runs[up.place.run].blocks[up.place.block];
            if up.left != 0 {
                let slot = up.left.trailing_zeros() as usize;
                up.left &= up.left - 1;
                let number = block.number(slot);
                if up.only.is_some_and(|only| only != number) || self.too_far(number) {
                    return None;
                }
                return Some(self.met(number, block.key(slot).1, block.handle(slot)));
            }
            // What follows is beyond the end already.
            let last = block.number(block.len() - 1);
            if up.only.is_some_and(|only| only != last) || self.too_far(last) {
                return None;
            }
            (up.place.run, up.place.block) = self.next_block(up.place.run, up.place.block)?;
            up.left = self.mask(up.place.run, up.place.block);
        }
    }

    /// The next block in which a candidate can be; whole runs are passed over.
    fn next_block(&self, run: usize, block: usize) -> Option<(usize, usize)> {
        let admits = |it: &super::block::Block| it.summary.admits(&self.filter);
        let (mut run, mut block) = (run, block + 1);
        loop {
            let here = self.index.runs.get(run)?;
            if (block > 0 || here.summary.admits(&self.filter))
                && let Some(found) = here.blocks[block..].iter().position(|it| admits(it))
            {
                return Some((run, block + found));
            }
            (run, block) = (run + 1, 0);
        }
    }

    fn previous_block(&self, run: usize, block: usize) -> Option<(usize, usize)> {
        let admits = |it: &super::block::Block| it.summary.admits(&self.filter);
        let (mut run, mut block) = (run, block);
        loop {
            let here = &self.index.runs[run];
            if (block < here.blocks.len() || here.summary.admits(&self.filter))
                && let Some(found) = here.blocks[..block].iter().rposition(|it| admits(it))
            {
                return Some((run, found));
            }
            run = run.checked_sub(1)?;
            block = self.index.runs[run].blocks.len();
        }
    }

    fn step_down(&mut self) -> Option<Met> {
        let mut down = self.below.take()?;
        let met = loop {
            if let Some(mut equals) = down.equals.take()
                && let Some(met) = self.advance(&mut equals)
            {
                down.equals = Some(equals);
                break met;
            }
            let block = &self.index.runs[down.run].blocks[down.block];
            if down.left == 0 {
                if block.len() > 0 && self.too_far(block.number(0)) {
                    return None;
                }
                (down.run, down.block) = self.previous_block(down.run, down.block)?;
                down.left = self.mask(down.run, down.block);
                continue;
            }
            let slot = 63 - down.left.leading_zeros() as usize;
            let number = block.number(slot);
            if number == WILD || self.too_far(number) {
                return None;
            }
            let equal_before = slot.checked_sub(1).map_or_else(
                || self.last_before(down.run, down.block) == Some(number),
                |before| block.number(before) == number,
            );
            if !equal_before {
                down.left &= below(slot);
                break self.met(number, block.key(slot).1, block.handle(slot));
            }
            // Several of one number: the eldest is the lowest of them.
            let first = self.index.at((number, 0))?;
            (down.run, down.block) = (first.run, first.block);
            down.left = self.mask(first.run, first.block) & below(first.slot);
            down.equals = self.up((number, 0), Some(number));
        };
        self.below = Some(down);
        Some(met)
    }

    fn last_before(&self, run: usize, block: usize) -> Option<i64> {
        let (run, block) = match block.checked_sub(1) {
            Some(block) => (run, block),
            None => {
                let run = run.checked_sub(1)?;
                (run, self.index.runs[run].blocks.len() - 1)
            }
        };
        let block = &self.index.runs[run].blocks[block];
        Some(block.number(block.len() - 1))
    }

    const fn met(&self, number: i64, arrival: u64, handle: Handle) -> Met {
        Met { distance: self.away(number), arrival, handle }
    }

    const fn away(&self, number: i64) -> i64 {
        if number == WILD || self.from == WILD { 0 } else { (number - self.from).abs() }
    }

    const fn too_far(&self, number: i64) -> bool {
        self.away(number) > self.reach
    }
}

impl Iterator for Walk<'_> {
    type Item = Met;

    fn next(&mut self) -> Option<Met> {
        let order = |met: &Met| (met.distance, met.arrival);
        let nearest = (0..3)
            .filter(|side| self.heads[*side].is_some())
            .min_by_key(|side| self.heads[*side].as_ref().map(order))?;
        let met = self.heads[nearest].take();
        self.heads[nearest] = match nearest {
            0 => self.step_up(Side::Any),
            1 => self.step_up(Side::Above),
            _ => self.step_down(),
        };
        met
    }
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Any,
    Above,
}

fn mask_of(index: &Index, filter: &Filter, run: usize, block: usize) -> u64 {
    let block = &index.runs[run].blocks[block];
    if block.summary.admits(filter) { block.candidates(filter) } else { 0 }
}
