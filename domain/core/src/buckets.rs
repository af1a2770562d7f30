//! Values counted by their size, for whoever watches: what a histogram of `/metrics` is made of.

/// How many values lie at most at each of `N` growing bounds and above the one before, and how many beyond all of them.
///
/// Bounds and values are whole numbers of one unit, which whoever counts chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets<const N: usize> {
    bounds: &'static [u64; N],
    within: [u64; N],
    beyond: u64,
    sum: u64,
}

impl<const N: usize> Buckets<N> {
    /// Nothing counted yet.
    #[must_use]
    pub const fn new(bounds: &'static [u64; N]) -> Self {
        Self { bounds, within: [0; N], beyond: 0, sum: 0 }
    }

    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        let place = self.bounds.partition_point(|bound| *bound < value);
        *self.within.get_mut(place).unwrap_or(&mut self.beyond) += 1;
        self.sum = self.sum.saturating_add(value);
    }

    /// Each bound with how many values lie up to it and above the one before; the last without a bound.
    pub fn counts(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let within = self.bounds.iter().map(|bound| Some(*bound)).zip(self.within);
        within.chain([(None, self.beyond)])
    }

    /// How many values were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.within.iter().sum::<u64>() + self.beyond
    }

    /// All of them together.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn values_are_told_apart_at_their_bounds() {
        let mut buckets = Buckets::new(&[10, 20]);
        [0, 10, 11, 20, 21, 1_000].into_iter().for_each(|value| buckets.add(value));
        assert_eq!(buckets.counts().collect::<Vec<_>>(), [(Some(10), 2), (Some(20), 2), (None, 2)]);
        assert_eq!((buckets.count(), buckets.sum()), (6, 1_062));
    }

    #[test]
    fn a_sum_beyond_all_numbers_stays_there() {
        let mut buckets = Buckets::new(&[1]);
        [u64::MAX, 1].into_iter().for_each(|value| buckets.add(value));
        assert_eq!((buckets.count(), buckets.sum()), (2, u64::MAX));
    }
}
