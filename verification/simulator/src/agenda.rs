//! What is to happen when. The world jumps from one entry to the next: there is no tick.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Virtual time in microseconds since the world began.
pub type Micros = u64;

/// Entries ordered by time; those of one time in the order they were put in.
#[derive(Debug)]
pub struct Agenda<T> {
    heap: BinaryHeap<Entry<T>>,
    put: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Micros,
    order: u64,
    what: T,
}

impl<T> Agenda<T> {
    /// Nothing is to happen.
    #[must_use]
    pub fn empty() -> Self {
        Self { heap: BinaryHeap::new(), put: 0 }
    }

    /// Adds something.
    pub fn put(&mut self, at: Micros, what: T) {
        self.heap.push(Entry { at, order: self.put, what });
        self.put += 1;
    }

    /// Takes what happens next.
    pub fn take(&mut self) -> Option<(Micros, T)> {
        self.heap.pop().map(|entry| (entry.at, entry.what))
    }

    /// When something happens next.
    #[must_use]
    pub fn next_at(&self) -> Option<Micros> {
        self.heap.peek().map(|entry| entry.at)
    }
}

impl<T> Ord for Entry<T> {
    /// Reversed: the heap gives its greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_first_then_the_order_of_putting_in() {
        let mut agenda = Agenda::empty();
        for (at, what) in [(5, 'b'), (1, 'a'), (5, 'c')] {
            agenda.put(at, what);
        }
        assert_eq!(agenda.next_at(), Some(1));
        let taken: Vec<_> = std::iter::from_fn(|| agenda.take()).collect();
        assert_eq!(taken, [(1, 'a'), (5, 'b'), (5, 'c')]);
    }
}
