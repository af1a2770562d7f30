//! Those who wait for one thing in the order in which they came, in pages: growing moves nobody, and what is unused is less than two pages, where
//! memory that doubles may be half unused.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// How many a page holds.
const PAGE: usize = 128;

/// A queue in pages.
#[derive(Debug, Clone)]
pub(super) struct Pages<T> {
    /// Whoever goes next is in it; where nobody waits, nobody is.
    first: Vec<T>,
    /// How many have gone from the first.
    gone: usize,
    /// Full ones.
    between: VecDeque<Vec<T>>,
    last: Vec<T>,
}

impl<T: Copy> Pages<T> {
    pub(super) const fn new() -> Self {
        Self { first: Vec::new(), gone: 0, between: VecDeque::new(), last: Vec::new() }
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.gone == self.first.len()
    }

    #[inline]
    pub(super) fn push_back(&mut self, it: T) {
        if !self.is_empty() && self.last.len() < self.last.capacity() {
            self.last.push(it);
        } else {
            self.push_with_room(it);
        }
    }

    #[inline(never)]
    fn push_with_room(&mut self, it: T) {
        if self.is_empty() {
            self.first.clear();
            self.first.push(it);
            self.gone = 0;
            return;
        }
        // Most lanes of most queues never fill a page.
        if self.last.capacity() >= PAGE {
            self.between.push_back(core::mem::replace(&mut self.last, Vec::with_capacity(PAGE)));
        }
        self.last.push(it);
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&T> {
        self.first.get(self.gone)
    }

    /// Some of those after the front.
    #[inline]
    pub(super) fn following(&self) -> &[T] {
        self.first.get(self.gone + 1..).unwrap_or(&[])
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<T> {
        let it = *self.first.get(self.gone)?;
        self.gone += 1;
        if self.is_empty() {
            self.turn_page();
        }
        Some(it)
    }

    #[inline(never)]
    fn turn_page(&mut self) {
        self.gone = 0;
        if let Some(next) = self.between.pop_front() {
            self.first = next;
        } else {
            self.first.clear();
            core::mem::swap(&mut self.first, &mut self.last);
        }
    }

    /// From the first on.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages().flatten()
    }

    /// The same by pages.
    pub(super) fn pages(&self) -> impl Iterator<Item = &[T]> {
        let between = self.between.iter().map(Vec::as_slice);
        core::iter::once(&self.first[self.gone..]).chain(between).chain(core::iter::once(&self.last[..]))
    }

    pub(super) fn bytes(&self) -> usize {
        let between: usize = self.between.iter().map(Vec::capacity).sum();
        let held = self.first.capacity() + between + self.last.capacity();
        held * size_of::<T>() + self.between.capacity() * size_of::<Vec<T>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_go_in_the_order_in_which_they_came() {
        let (mut pages, mut expected) = (Pages::new(), VecDeque::new());
        for round in 0..4_000_u32 {
            // More come than go for a while, and then the other way round.
            let comes = round.wrapping_mul(0x9e37_79b9) >> 24 < if round < 2_000 { 170 } else { 80 };
            if comes {
                pages.push_back(round);
                expected.push_back(round);
            } else {
                assert_eq!(pages.pop_front(), expected.pop_front(), "in round {round}");
            }
            assert_eq!(pages.front(), expected.front(), "in round {round}");
            assert_eq!(pages.is_empty(), expected.is_empty(), "in round {round}");
            assert!(round % 64 != 0 || pages.iter().eq(&expected), "in round {round}");
        }
        assert!(expected.is_empty(), "all have gone, and some came after that");
    }

    /// However many wait: what doubles would hold twice as much of one of these.
    #[test]
    fn who_waits_takes_little_more_than_its_own() {
        for count in [70_000, 131_073, 200_000] {
            let mut pages = Pages::new();
            (0..count).for_each(|it: u64| pages.push_back(it));
            assert!(pages.bytes() <= count as usize * 9, "{count} take {} bytes", pages.bytes());
        }
    }
}
