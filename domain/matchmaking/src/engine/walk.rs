//! From one number outwards through an index: candidates in the order of distance, and of arrival among equals.

use super::block::{Filter, Key, below};
use super::index::{Index, Place};
use super::slab::{Handle, WILD};

/// What a walk meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Met {
    pub distance: i64,
    pub arrival: u64,
    pub handle: Handle,
}

/// The lowest and the highest number that is of interest; tickets without a number always are.
pub(super) type Window = (i64, i64);

/// A walk. Filter and window may be narrowed on the way; the index does not change meanwhile.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    ground: Ground<'a>,
    /// Tickets without a number: at no distance from anyone.
    any: Option<Up>,
    above: Option<Up>,
    below: Option<Down>,
    /// The next of each way, in this order.
    heads: [Head; 3],
}

/// Who comes next on a way.
#[derive(Debug, Clone, Copy)]
enum Head {
    /// Nobody has asked yet.
    Ahead,
    Here(Met),
    Over,
}

/// What is walked through, and what for.
#[derive(Debug)]
struct Ground<'a> {
    index: &'a Index,
    filter: Filter,
    from: i64,
    window: Window,
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
    /// Of the entries of one number those in this block.
    equals: u64,
    /// Entries of one number that begin in an earlier block.
    spread: Option<Up>,
}

impl<'a> Walk<'a> {
    /// Outwards from a number. A walk from [`WILD`] goes through everything, the lowest first.
    pub(super) fn new(index: &'a Index, from: i64, window: Window, filter: Filter) -> Self {
        let ground = Ground { index, filter, from, window };
        let first = |only| index.first().and_then(|place| ground.up(place, only));
        let (any, above, below) = match index.at(Key::new(from, 0)) {
            _ if from == WILD => (None, first(None), None),
            None => (first(Some(WILD)), None, None),
            Some(place) => {
                // Both ways begin in one block, as a rule.
                let Place { run, block, slot } = place;
                let here = ground.mask(run, block);
                let down = Down { run, block, left: here & below(slot), equals: 0, spread: None };
                let above = if slot < index.runs[run].blocks[block].len() {
                    Some(Up { place, left: here & !below(slot), only: None })
                } else {
                    index.first_from(place).and_then(|place| ground.up(place, None))
                };
                (first(Some(WILD)), above, Some(down))
            }
        };
        Self { ground, any, above, below, heads: [Head::Ahead; 3] }
    }

    /// From now on only what passes this, too. What was fetched ahead may not.
    pub(super) fn narrow(&mut self, filter: Filter, window: Window) {
        self.ground.filter = filter;
        self.ground.window = window;
        for way in [self.any.as_mut(), self.above.as_mut()].into_iter().flatten() {
            way.left &= self.ground.mask(way.place.run, way.place.block);
        }
        if let Some(down) = &mut self.below {
            let here = self.ground.mask(down.run, down.block);
            (down.left, down.equals) = (down.left & here, down.equals & here);
            if let Some(spread) = &mut down.spread {
                spread.left &= self.ground.mask(spread.place.run, spread.place.block);
            }
        }
    }

    /// Who comes next on a way; found when it is first asked for.
    fn head(&mut self, way: usize) -> Option<Met> {
        if let Head::Ahead = self.heads[way] {
            let ground = &self.ground;
            let met = match way {
                ANY => self.any.as_mut().and_then(|up| ground.step_up(up)),
                ABOVE => self.above.as_mut().and_then(|up| ground.step_up(up)),
                _ => self.below.as_mut().and_then(|down| ground.step_down(down)),
            };
            self.heads[way] = met.map_or(Head::Over, Head::Here);
        }
        match self.heads[way] {
            Head::Here(met) => Some(met),
            Head::Ahead | Head::Over => None,
        }
    }
}

const ANY: usize = 0;
const ABOVE: usize = 1;
const BELOW: usize = 2;

impl Ground<'_> {
    fn mask(&self, run: usize, block: usize) -> u64 {
        let block = &self.index.runs[run].blocks[block];
        if block.summary.admits(&self.filter) { block.candidates(&self.filter) } else { 0 }
    }

    /// Upwards from an entry.
    fn up(&self, place: Place, only: Option<i64>) -> Option<Up> {
        let first = self.index.runs[place.run].blocks[place.block].number(place.slot);
        if only.is_some_and(|only| only != first) {
            return None;
        }
        let left = self.mask(place.run, place.block) & !below(place.slot);
        Some(Up { place, left, only })
    }

    /// The next entry of an upward way; `None` at its end.
    fn step_up(&self, up: &mut Up) -> Option<Met> {
        let ends = |number: i64| up.only.map_or(number > self.window.1, |only| only != number);
        loop {
            let block = &self.index.runs[up.place.run].blocks[up.place.block];
            if up.left != 0 {
                let slot = up.left.trailing_zeros() as usize;
                up.left &= up.left - 1;
                let number = block.number(slot);
                if ends(number) {
                    return None;
                }
                return Some(self.met(number, block.key(slot).arrival(), block.handle(slot)));
            }
            // What follows is beyond the end already.
            if ends(block.number(block.len() - 1)) {
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

    /// The next entry downwards; `None` at the end, where those without a number begin.
    fn step_down(&self, down: &mut Down) -> Option<Met> {
        loop {
            if let Some(spread) = &mut down.spread {
                if let Some(met) = self.step_up(spread) {
                    return Some(met);
                }
                down.spread = None;
            }
            let block = &self.index.runs[down.run].blocks[down.block];
            if down.equals != 0 {
                let slot = down.equals.trailing_zeros() as usize;
                down.equals &= down.equals - 1;
                return Some(self.met(block.number(slot), block.key(slot).arrival(), block.handle(slot)));
            }
            if down.left == 0 {
                if block.len() > 0 && block.number(0) < self.window.0 {
                    return None;
                }
                (down.run, down.block) = self.previous_block(down.run, down.block)?;
                down.left = self.mask(down.run, down.block);
                continue;
            }
            let slot = 63 - down.left.leading_zeros() as usize;
            let number = block.number(slot);
            if number == WILD || number < self.window.0 {
                return None;
            }
            // Of several of one number the eldest is the lowest.
            let alone = slot > 0 && block.number(slot - 1) != number;
            let first = if alone { slot } else { block.before(Key::new(number, 0)) };
            if first == 0 && self.last_before(down.run, down.block) == Some(number) {
                let first = self.index.at(Key::new(number, 0))?;
                (down.run, down.block) = (first.run, first.block);
                down.left = self.mask(first.run, first.block) & below(first.slot);
                down.spread = self.index.first_from(first).and_then(|place| self.up(place, Some(number)));
            } else {
                (down.equals, down.left) = (down.left & !below(first), down.left & below(first));
            }
        }
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
        let away = if number == WILD || self.from == WILD { 0 } else { (number - self.from).abs() };
        Met { distance: away, arrival, handle }
    }
}

impl Iterator for Walk<'_> {
    type Item = Met;

    fn next(&mut self) -> Option<Met> {
        let order = |way: usize, met: Option<Met>| met.map(|met| ((met.distance, met.arrival), way));
        let mut nearest = order(ANY, self.head(ANY)).into_iter().chain(order(ABOVE, self.head(ABOVE))).min();
        // Who is below is at some distance.
        if nearest.is_none_or(|((distance, _), _)| distance > 0) {
            nearest = nearest.into_iter().chain(order(BELOW, self.head(BELOW))).min();
        }
        let (_, way) = nearest?;
        match core::mem::replace(&mut self.heads[way], Head::Ahead) {
            Head::Here(met) => Some(met),
            Head::Ahead | Head::Over => None,
        }
    }
}
