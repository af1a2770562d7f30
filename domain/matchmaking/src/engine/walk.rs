//! From one number outwards through an index: candidates in the order of distance, and of arrival among equals.

use alloc::boxed::Box;

use super::block::{Block, Filter, below};
use super::index::{Index, Place};
use super::key::Key;
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
    any: Option<Up<'a>>,
    above: Option<Up<'a>>,
    below: Option<Down<'a>>,
    /// There only where somebody stands there: whoever walks without it does not pay for it.
    beside: Option<Box<Beside<'a>>>,
    /// The next of each way, in this order.
    heads: [Met; 3],
    /// Whose head was met: that way goes on once somebody asks for the next.
    met: Option<usize>,
}

/// A way through another index: those of the number that the walk begins at; all, where it begins at none.
#[derive(Debug)]
struct Beside<'a> {
    ground: Ground<'a>,
    up: Up<'a>,
    head: Met,
}

/// Of a way that is over: further than anybody.
const OVER: Met = Met { distance: i64::MAX, arrival: u64::MAX, handle: 0 };

impl Met {
    /// The nearer first, the elder among equals. One wide number, so that comparing two takes no branch.
    pub(super) const fn order(&self) -> u128 {
        (self.distance.cast_unsigned() as u128) << 64 | self.arrival as u128
    }
}

/// What is walked through, and what for.
#[derive(Debug)]
struct Ground<'a> {
    index: &'a Index,
    filter: Filter,
    from: i64,
    window: Window,
}

/// Goes up from a place, to the last entry of a number.
#[derive(Debug, Clone, Copy)]
struct Up<'a> {
    run: usize,
    at: usize,
    block: &'a Block,
    left: u64,
    until: i64,
}

/// Goes down from below a place; entries of one number it meets from the eldest on.
#[derive(Debug, Clone, Copy)]
struct Down<'a> {
    run: usize,
    at: usize,
    block: &'a Block,
    left: u64,
    /// Of the entries of one number those in this block.
    equals: u64,
    /// Entries of one number that begin in an earlier block.
    spread: Option<Up<'a>>,
}

impl<'a> Walk<'a> {
    /// Outwards from a number. A walk from [`WILD`] goes through everything, the lowest first.
    pub(super) fn new(index: &'a Index, from: i64, window: Window, filter: Filter) -> Self {
        let ground = Ground { index, filter, from, window };
        let first = |until| index.first().and_then(|place| ground.up(place, until));
        let (any, above, below) = match index.at(Key::new(from, 0)) {
            _ if from == WILD => (None, first(window.1), None),
            None => (None, None, None),
            Some(place) => {
                // Both ways begin in one block, as a rule.
                let Place { run, block: at, slot } = place;
                let block = ground.block(run, at);
                let here = ground.mask(block);
                let down = Down { run, at, block, left: here & below(slot), equals: 0, spread: None };
                let above = if slot < block.len() {
                    Some(Up { run, at, block, left: here & !below(slot), until: window.1 })
                } else {
                    index.first_from(place).and_then(|place| ground.up(place, window.1))
                };
                (first(WILD), above, Some(down))
            }
        };
        let mut walk = Self { ground, any, above, below, beside: None, heads: [OVER; 3], met: None };
        [ANY, ABOVE, BELOW].into_iter().for_each(|way| walk.advance(way));
        walk
    }

    /// Through everything that has a number, the lowest first.
    pub(super) fn of_numbers(index: &'a Index, window: Window, filter: Filter) -> Self {
        let ground = Ground { index, filter, from: WILD, window };
        let first = index.at(Key::new(WILD + 1, 0)).and_then(|place| index.first_from(place));
        let above = first.and_then(|place| ground.up(place, window.1));
        let mut walk =
            Self { ground, any: None, above, below: None, beside: None, heads: [OVER; 3], met: None };
        walk.advance(ABOVE);
        walk
    }

    /// Also through those who allow no difference by number.
    pub(super) fn through(&mut self, exact: &'a Index) {
        if exact.len() > 0 {
            self.beside = self.beside(exact);
        }
    }

    #[inline(never)]
    fn beside(&self, index: &'a Index) -> Option<Box<Beside<'a>>> {
        let Ground { from, window, ref filter, .. } = self.ground;
        let ground = Ground { index, filter: filter.clone(), from, window };
        let (first, until) = if from == WILD {
            (index.first(), window.1)
        } else {
            (index.at(Key::new(from, 0)).and_then(|place| index.first_from(place)), from)
        };
        let mut up = ground.up(first?, until)?;
        let head = ground.step_up(&mut up)?;
        Some(Box::new(Beside { ground, up, head }))
    }

    /// From now on only what passes this, too. What was fetched ahead may not.
    pub(super) fn narrow(&mut self, filter: Filter, window: Window) {
        if let Some(beside) = &mut self.beside {
            let Beside { ground, up, .. } = beside.as_mut();
            ground.filter = filter.clone();
            up.left &= ground.mask(up.block);
            up.until = up.until.min(window.1);
        }
        self.ground.filter = filter;
        self.ground.window = window;
        for way in [self.any.as_mut(), self.above.as_mut()].into_iter().flatten() {
            way.left &= self.ground.mask(way.block);
            way.until = way.until.min(window.1);
        }
        if let Some(down) = &mut self.below {
            let here = self.ground.mask(down.block);
            (down.left, down.equals) = (down.left & here, down.equals & here);
            if let Some(spread) = &mut down.spread {
                spread.left &= self.ground.mask(spread.block);
            }
        }
    }

    /// Fetches who comes next on a way.
    #[inline]
    fn advance(&mut self, way: usize) {
        let ground = &self.ground;
        let met = match way {
            ANY => self.any.as_mut().and_then(|up| ground.step_up(up)),
            ABOVE => self.above.as_mut().and_then(|up| ground.step_up(up)),
            _ => self.below.as_mut().and_then(|down| ground.step_down(down)),
        };
        self.heads[way] = met.unwrap_or(OVER);
    }
}

/// Beyond every number, and half as far as numbers count.
const NUMBERS_END: i64 = 1 << 62;

const ANY: usize = 0;
const ABOVE: usize = 1;
const BELOW: usize = 2;

impl<'a> Ground<'a> {
    fn block(&self, run: usize, at: usize) -> &'a Block {
        &self.index.runs[run].blocks[at]
    }

    fn mask(&self, block: &Block) -> u64 {
        if block.summary.admits(&self.filter) { block.candidates(&self.filter) } else { 0 }
    }

    /// Upwards from an entry.
    fn up(&self, place: Place, until: i64) -> Option<Up<'a>> {
        let block = self.block(place.run, place.block);
        (block.number(place.slot) <= until).then(|| {
            let left = self.mask(block) & !below(place.slot);
            Up { run: place.run, at: place.block, block, left, until }
        })
    }

    /// The next entry of an upward way; `None` at its end.
    #[inline]
    fn step_up(&self, up: &mut Up<'a>) -> Option<Met> {
        if up.left == 0 {
            self.go_up(up)?;
        }
        let slot = up.left.trailing_zeros() as usize;
        up.left &= up.left - 1;
        let key = up.block.key(slot);
        (key.number() <= up.until).then(|| self.met(key, up.block.handle(slot)))
    }

    /// To the next block with a candidate; `None` at the end of the way.
    #[inline(never)]
    fn go_up(&self, up: &mut Up<'a>) -> Option<()> {
        while up.left == 0 {
            // What follows is beyond the end already.
            if up.block.number(up.block.len() - 1) > up.until {
                return None;
            }
            (up.run, up.at) = self.next_block(up.run, up.at)?;
            up.block = self.block(up.run, up.at);
            up.left = up.block.candidates(&self.filter);
        }
        Some(())
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
    #[inline]
    fn step_down(&self, down: &mut Down<'a>) -> Option<Met> {
        if down.equals == 0 {
            let Some(equals) = self.next_equals(down) else { return self.go_down(down) };
            (down.equals, down.left) = (equals, down.left ^ equals);
        }
        let slot = down.equals.trailing_zeros() as usize;
        down.equals &= down.equals - 1;
        Some(self.met(down.block.key(slot), down.block.handle(slot)))
    }

    /// The next entries of one number, where nothing else has to be asked for them: no block before this one has that number.
    #[inline]
    fn next_equals(&self, down: &Down<'a>) -> Option<u64> {
        let slot = down.left.checked_ilog2().filter(|_| down.spread.is_none())?;
        let number = down.block.number(slot as usize);
        if number < self.window.0 || number == down.block.number(0) {
            return None;
        }
        let (mut equals, mut left) = (0, down.left);
        while let Some(slot) = left.checked_ilog2()
            && down.block.number(slot as usize) == number
        {
            equals |= 1 << slot;
            left ^= 1 << slot;
        }
        Some(equals)
    }

    #[inline(never)]
    fn go_down(&self, down: &mut Down<'a>) -> Option<Met> {
        loop {
            if let Some(spread) = &mut down.spread {
                if let Some(met) = self.step_up(spread) {
                    return Some(met);
                }
                down.spread = None;
            }
            let block = down.block;
            if down.left == 0 {
                if block.len() > 0 && block.number(0) < self.window.0 {
                    return None;
                }
                (down.run, down.at) = self.previous_block(down.run, down.at)?;
                down.block = self.block(down.run, down.at);
                down.left = down.block.candidates(&self.filter);
                continue;
            }
            let slot = 63 - down.left.leading_zeros() as usize;
            let key = block.key(slot);
            let number = key.number();
            if number == WILD || number < self.window.0 {
                return None;
            }
            // Of several of one number the eldest is the lowest.
            if slot > 0 && block.number(slot - 1) != number {
                down.left ^= 1 << slot;
                return Some(self.met(key, block.handle(slot)));
            }
            let first = block.before(Key::new(number, 0));
            if first == 0 && self.last_before(down.run, down.at) == Some(number) {
                let first = self.index.at(Key::new(number, 0))?;
                (down.run, down.at) = (first.run, first.block);
                down.block = self.block(first.run, first.block);
                down.left = self.mask(down.block) & below(first.slot);
                down.spread = self.index.first_from(first).and_then(|place| self.up(place, number));
            } else {
                (down.equals, down.left) = (down.left & !below(first), down.left & below(first));
                return self.step_down(down);
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

    const fn met(&self, key: Key, handle: Handle) -> Met {
        let number = key.number();
        let away = match (number, self.from) {
            (WILD, _) => 0,
            // From nowhere they come in the order of their numbers.
            (_, WILD) => number + NUMBERS_END,
            _ => (number - self.from).abs(),
        };
        Met { distance: away, arrival: key.arrival(), handle }
    }
}

impl Iterator for Walk<'_> {
    type Item = Met;

    fn next(&mut self) -> Option<Met> {
        if let Some(way) = self.met.take() {
            self.advance(way);
        }
        let [any, above, below] = self.heads.each_ref().map(Met::order);
        let mut way = if below < above { BELOW } else { ABOVE };
        if self.any.is_some() && any < above.min(below) {
            way = ANY;
        }
        let met = self.heads[way];
        if self.beside.is_some()
            && let Some(nearer) = self.nearer_beside(&met)
        {
            return Some(nearer);
        }
        if met.distance == OVER.distance {
            return None;
        }
        self.met = Some(way);
        Some(met)
    }
}

impl Walk<'_> {
    /// The next of the way beside, where that is nearer.
    #[inline(never)]
    fn nearer_beside(&mut self, than: &Met) -> Option<Met> {
        let Beside { ground, up, head } = self.beside.as_deref_mut()?;
        let met = *head;
        if met.order() >= than.order() {
            return None;
        }
        match ground.step_up(up) {
            Some(next) => *head = next,
            None => self.beside = None,
        }
        Some(met)
    }
}
