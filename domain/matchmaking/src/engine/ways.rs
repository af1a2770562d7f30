//! The ways of a [walk](super::walk) through an index: upwards and downwards from a place, as far as blocks are at hand, and on to the next.

use super::block::{Block, Filter, below};
use super::index::{Index, Place};
use super::slab::{Handle, WILD};
use super::spot::Spot;
use super::walk::{Met, Window};

/// Who comes next on a way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub order: u128,
    /// `None` where all that is known is that the next comes no sooner: what lies further on is not read before the other ways have come as
    /// far, and most walks end sooner.
    pub handle: Option<Handle>,
    /// Where it stands.
    pub spot: Spot,
}

impl Head {
    /// Of a way that is over: after everybody.
    pub(super) const OVER: Self = Self { order: u128::MAX, handle: None, spot: NO_SPOT };

    pub(super) const fn is_over(&self) -> bool {
        self.order == u128::MAX
    }
}

const NO_SPOT: Spot = Spot { run: u32::MAX, block: 0, slot: 0 };

const fn order(distance: i64, arrival: u64) -> u128 {
    (distance.cast_unsigned() as u128) << 64 | arrival as u128
}

/// What is walked through, and what for.
#[derive(Debug)]
pub(super) struct Ground<'a> {
    pub index: &'a Index,
    pub filter: Filter,
    /// Whence distances are measured.
    pub from: i64,
    pub window: Window,
}

/// Goes up from a place, to the last entry of a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Up<'a> {
    pub run: usize,
    pub at: usize,
    pub block: &'a Block,
    pub left: u64,
    pub until: i64,
}

/// Goes down from below a place, number by number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Down<'a> {
    pub run: usize,
    pub at: usize,
    pub block: &'a Block,
    pub left: u64,
    /// Those of one number, whom it meets from the eldest on.
    pub equals: Equals<'a>,
}

/// Entries of one number, going up. They may begin in an earlier block than they end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Equals<'a> {
    pub run: usize,
    pub at: usize,
    pub block: &'a Block,
    pub left: u64,
    /// Those in the last block, where that is another.
    pub last: Option<(usize, usize, u64)>,
}

/// Before every number, and half as far as numbers count: from here they come in their own order.
pub(super) const NOWHERE: i64 = -(1 << 62);

impl<'a> Ground<'a> {
    pub(super) fn block(&self, run: usize, at: usize) -> &'a Block {
        &self.index.runs[run].blocks[at]
    }

    #[inline(always)]
    pub(super) fn mask(&self, block: &Block) -> u64 {
        if block.summary.admits(&self.filter) { block.candidates(&self.filter) } else { 0 }
    }

    /// Upwards from an entry.
    pub(super) fn up(&self, place: Place, until: i64) -> Option<Up<'a>> {
        let block = self.block(place.run, place.block);
        (block.number(place.slot) <= until).then(|| {
            let left = self.mask(block) & !below(place.slot);
            Up { run: place.run, at: place.block, block, left, until }
        })
    }

    /// Takes the next of an upward way from its block.
    #[inline]
    pub(super) fn next_up(&self, up: &mut Up<'a>) -> Head {
        if up.left == 0 {
            return self.further_up(up);
        }
        let slot = up.left.trailing_zeros() as usize;
        up.left &= up.left - 1;
        if up.block.number(slot) > up.until { Head::OVER } else { self.head((up.run, up.at), up.block, slot) }
    }

    /// What is known of the next of an upward way without reading another block.
    #[cold]
    #[inline(never)]
    fn further_up(&self, up: &Up<'a>) -> Head {
        // What follows is beyond the end already.
        let last = up.block.number(up.block.len() - 1);
        // It may begin past the end of its block.
        if last > up.until { Head::OVER } else { self.no_nearer_than(last.max(self.from)) }
    }

    /// The next entry of an upward way; `None` at its end.
    pub(super) fn step_up(&self, up: &mut Up<'a>) -> Option<Met> {
        if up.left == 0 {
            self.go_up(up)?;
        }
        let Head { order, handle, spot } = self.next_up(up);
        handle.map(|handle| Met { order, handle, spot })
    }

    /// To the next block with a candidate; `None` at the end of the way.
    #[inline(never)]
    pub(super) fn go_up(&self, up: &mut Up<'a>) -> Option<()> {
        while up.left == 0 {
            if up.block.number(up.block.len() - 1) > up.until {
                return None;
            }
            self.fetch_above(up.run, up.at);
            (up.run, up.at) = self.next_block(up.run, up.at)?;
            self.fetch_above(up.run, up.at);
            up.block = self.block(up.run, up.at);
            up.left = up.block.candidates(&self.filter);
        }
        Some(())
    }

    /// Asks the memory for what is read first of the block above one, all of it at a time: the walk goes on there, as a rule.
    #[inline]
    pub(super) fn fetch_above(&self, run: usize, block: usize) {
        if let Some(above) = self.index.runs[run].blocks.get(block + 1) {
            above.fetch_lowest(&self.filter);
        }
    }

    /// The same of the block below one.
    #[inline]
    pub(super) fn fetch_below(&self, run: usize, block: usize) {
        if let Some(below) = self.index.runs[run].blocks[..block].last() {
            below.fetch_highest(&self.filter);
        }
    }

    /// The next block in which a candidate can be; whole runs are passed over.
    #[inline(always)]
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

    /// Takes the next downwards from its block.
    #[inline(always)]
    pub(super) fn next_down(&self, down: &mut Down<'a>) -> Head {
        if down.equals.left == 0 && !self.next_equals(down) {
            return self.further_down(down);
        }
        let Equals { run, at, block, left, .. } = &mut down.equals;
        let slot = left.trailing_zeros() as usize;
        *left &= *left - 1;
        self.head((*run, *at), block, slot)
    }

    /// Goes on to those of the next number, where no other block can have that number; says whether it did.
    #[inline]
    fn next_equals(&self, down: &mut Down<'a>) -> bool {
        let Down { run, at, block, left, .. } = *down;
        let Some(slot) = left.checked_ilog2().filter(|_| down.equals.last.is_none()) else { return false };
        let number = block.number(slot as usize);
        if number < self.window.0 || number == block.number(0) {
            return false;
        }
        let (mut equals, mut others) = (0, left);
        while let Some(slot) = others.checked_ilog2()
            && block.number(slot as usize) == number
        {
            equals |= 1 << slot;
            others ^= 1 << slot;
        }
        down.left = others;
        down.equals = Equals { run, at, block, left: equals, last: None };
        true
    }

    /// What is known of the next downwards without reading another block.
    #[cold]
    #[inline(never)]
    fn further_down(&self, down: &Down<'a>) -> Head {
        let number = match (down.equals.last, down.left.checked_ilog2()) {
            (Some((run, at, _)), _) => self.block(run, at).number(0),
            (None, slot) => down.block.number(slot.unwrap_or(0) as usize),
        };
        // Those without a number begin there.
        if number == WILD || number < self.window.0 { Head::OVER } else { self.no_nearer_than(number) }
    }

    /// One block further down, or to those of one number who may begin in an earlier block.
    #[inline(never)]
    pub(super) fn go_down(&self, down: &mut Down<'a>) -> Head {
        if let Some(last) = down.equals.last {
            self.go_on(&mut down.equals, last);
        } else if let Some(slot) = down.left.checked_ilog2() {
            self.begin_equals(down, down.block.number(slot as usize));
        } else {
            self.fetch_below(down.run, down.at);
            let Some((run, at)) = self.previous_block(down.run, down.at) else { return Head::OVER };
            self.fetch_below(run, at);
            (down.run, down.at, down.block) = (run, at, self.block(run, at));
            down.left = down.block.candidates(&self.filter);
        }
        self.next_down(down)
    }

    /// To those of the highest number that is left, wherever they begin.
    fn begin_equals(&self, down: &mut Down<'a>, number: i64) {
        let Down { run, at, left, .. } = *down;
        let (first_run, first) = self.index.first_block_of(number, (run, at));
        let block = self.block(first_run, first);
        let before = below(block.before_number(number));
        let (here, last) = if (first_run, first) == (run, at) {
            (left, None)
        } else {
            (self.mask(block), Some((run, at, left)))
        };
        (down.run, down.at, down.block, down.left) = (first_run, first, block, here & before);
        down.equals = Equals { run: first_run, at: first, block, left: here & !before, last };
    }

    /// To the next block of some of one number.
    fn go_on(&self, equals: &mut Equals<'a>, (run, at, slots): (usize, usize, u64)) {
        let next = self.next_block(equals.run, equals.at);
        (equals.run, equals.at) = next.unwrap_or((run, at)).min((run, at));
        equals.block = self.block(equals.run, equals.at);
        if (equals.run, equals.at) == (run, at) {
            (equals.left, equals.last) = (slots & self.mask(equals.block), None);
        } else {
            equals.left = equals.block.candidates(&self.filter);
        }
    }

    #[inline]
    fn head(&self, (run, at): (usize, usize), block: &Block, slot: usize) -> Head {
        let order = order(self.away(block.number(slot)), block.arrival(slot));
        let spot = Spot { run: run as u32, block: at as u16, slot: slot as u16 };
        Head { order, handle: Some(block.handle(slot)), spot }
    }

    fn no_nearer_than(&self, number: i64) -> Head {
        Head { order: order(self.away(number), 0), handle: None, spot: NO_SPOT }
    }

    const fn away(&self, number: i64) -> i64 {
        if number == WILD { 0 } else { (number - self.from).abs() }
    }
}
