//! From one number outwards through an index: candidates in the order of distance, and of arrival among equals.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::block::{Filter, below};
use super::index::Index;
use super::key::Key;
use super::slab::{Handle, Slab, WILD};
use super::spot::{Spot, Spots};
use super::ways::{Down, Equals, Ground, Head, NOWHERE, Up};

/// What a walk meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Met {
    /// The nearer first, the elder among equals: the distance, then the arrival. One wide number, so that comparing two takes no branch.
    pub order: u128,
    pub handle: Handle,
    pub spot: Spot,
}

/// The lowest and the highest number that is of interest; tickets without a number always are.
pub(super) type Window = (i64, i64);

/// Fewer are met on either side of a seed before its match is found, as a rule.
const FEW: u32 = 12;

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
    heads: [Head; 3],
}

/// A way through another index: those of the number that the walk begins at; all, where it begins at none.
#[derive(Debug)]
struct Beside<'a> {
    ground: Ground<'a>,
    up: Up<'a>,
    head: Met,
}

impl<'a> Walk<'a> {
    /// Outwards from a number. A walk from [`WILD`] goes through everything, the lowest first.
    pub(super) fn new(index: &'a Index, from: i64, window: Window, filter: Filter) -> Self {
        let from_nowhere = from == WILD;
        let ground = Ground { index, filter, from: if from_nowhere { NOWHERE } else { from }, window };
        let first = |until| index.first().and_then(|place| ground.up(place, until));
        let (any, above, below) = match index.find(Key::new(from, 0)) {
            _ if from_nowhere => (None, first(window.1), None),
            None => (None, None, None),
            Some((run, at)) => {
                // Both ways begin in one block. All of it is asked of the memory at once, and not as one answer leads to the next.
                let block = ground.block(run, at);
                block.fetch_for(&ground.filter);
                let here = ground.mask(block);
                let slot = block.before_number(from);
                block.fetch_beside(slot);
                // Where few are left on a side, what is beyond is asked for as well.
                if (here & !below(slot)).count_ones() < FEW {
                    ground.fetch_above(run, at);
                }
                if (here & below(slot)).count_ones() < FEW {
                    ground.fetch_below(run, at);
                }
                let equals = Equals { run, at, block, left: 0, last: None };
                let down = Down { run, at, block, left: here & below(slot), equals };
                let up = Up { run, at, block, left: here & !below(slot), until: window.1 };
                (first(WILD), Some(up), Some(down))
            }
        };
        Self::along(ground, any, above, below)
    }

    /// Through everything that has a number, the lowest first.
    pub(super) fn of_numbers(index: &'a Index, window: Window, filter: Filter) -> Self {
        let ground = Ground { index, filter, from: NOWHERE, window };
        let first = index.at(Key::new(WILD + 1, 0)).and_then(|place| index.first_from(place));
        let above = first.and_then(|place| ground.up(place, window.1));
        Self::along(ground, None, above, None)
    }

    #[inline(always)]
    fn along(
        ground: Ground<'a>,
        mut any: Option<Up<'a>>,
        mut above: Option<Up<'a>>,
        mut below: Option<Down<'a>>,
    ) -> Self {
        let up = |up: &mut Option<Up<'a>>| up.as_mut().map_or(Head::OVER, |up| ground.next_up(up));
        let down = |down: &mut Option<Down<'a>>| down.as_mut().map_or(Head::OVER, |it| ground.next_down(it));
        let heads = [up(&mut any), up(&mut above), down(&mut below)];
        Self { ground, any, above, below, beside: None, heads }
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
        let (first, until) = if from == NOWHERE {
            (index.first(), window.1)
        } else {
            (index.at(Key::new(from, 0)).and_then(|place| index.first_from(place)), from)
        };
        let mut up = ground.up(first?, until)?;
        let head = ground.step_up(&mut up)?;
        Some(Box::new(Beside { ground, up, head }))
    }

    /// From now on only what passes this, too. Who comes next on each way may not.
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
            down.left &= self.ground.mask(down.block);
            down.equals.left &= self.ground.mask(down.equals.block);
        }
    }
}

const ANY: usize = 0;
const ABOVE: usize = 1;
const BELOW: usize = 2;

impl Iterator for Walk<'_> {
    type Item = Met;

    fn next(&mut self) -> Option<Met> {
        self.step()
    }
}

impl Walk<'_> {
    /// Puts down the next so many, or all where they are fewer; the memory is asked for the row of each.
    pub(super) fn meet(&mut self, slab: &Slab, many: usize, met: &mut Vec<Handle>, spots: &mut Spots) {
        for _ in 0..many {
            let Some(Met { handle, spot, .. }) = self.step() else { return };
            slab.fetch(handle);
            met.push(handle);
            spots.keep(handle, spot);
        }
    }

    /// The next. Part of both who asks for one and who asks for many: most of what it does is done again and again.
    #[inline(always)]
    fn step(&mut self) -> Option<Met> {
        loop {
            let [any, above, below] = self.heads.each_ref().map(|head| head.order);
            let mut way = if below < above { BELOW } else { ABOVE };
            if self.any.is_some() && any < above.min(below) {
                way = ANY;
            }
            let Head { order, handle, spot } = self.heads[way];
            if self.beside.is_some()
                && let Some(nearer) = self.nearer_beside(order)
            {
                return Some(nearer);
            }
            if let Some(handle) = handle {
                self.heads[way] = self.next_of(way);
                return Some(Met { order, handle, spot });
            }
            if self.heads[way].is_over() {
                return None;
            }
            self.heads[way] = self.go_on(way);
        }
    }
}

impl Walk<'_> {
    /// Who comes next on a way, as far as that is at hand.
    #[inline(always)]
    fn next_of(&mut self, way: usize) -> Head {
        let ground = &self.ground;
        let up = match way {
            BELOW => return self.below.as_mut().map_or(Head::OVER, |down| ground.next_down(down)),
            ANY => self.any.as_mut(),
            _ => self.above.as_mut(),
        };
        up.map_or(Head::OVER, |up| ground.next_up(up))
    }

    /// Goes on along a way on which nobody is at hand.
    #[inline(never)]
    fn go_on(&mut self, way: usize) -> Head {
        let ground = &self.ground;
        let up = match way {
            BELOW => return self.below.as_mut().map_or(Head::OVER, |down| ground.go_down(down)),
            ANY => self.any.as_mut(),
            _ => self.above.as_mut(),
        };
        up.and_then(|up| ground.go_up(up).map(|()| ground.next_up(up))).unwrap_or(Head::OVER)
    }

    /// The next of the way beside, where that is nearer.
    #[inline(never)]
    fn nearer_beside(&mut self, than: u128) -> Option<Met> {
        let Beside { ground, up, head } = self.beside.as_deref_mut()?;
        let met = *head;
        if met.order >= than {
            return None;
        }
        match ground.step_up(up) {
            Some(next) => *head = next,
            None => self.beside = None,
        }
        Some(met)
    }
}
