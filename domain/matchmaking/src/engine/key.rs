//! What the entries of an index are ordered by, and how a place among them is found.

/// What entries are ordered by: the primary number, then arrival. One wide number, so that comparing two takes no branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u128);

/// Turned over, so that negative numbers come before the others.
const SIGN: u64 = 1 << 63;

impl Key {
    /// After every entry.
    pub(super) const END: Self = Self(u128::MAX);

    /// Of a number and an arrival.
    pub(super) const fn new(number: i64, arrival: u64) -> Self {
        Self(((number.cast_unsigned() ^ SIGN) as u128) << 64 | arrival as u128)
    }

    pub(super) const fn number(self) -> i64 {
        (self.rank() ^ SIGN).cast_signed()
    }

    /// What numbers are ordered by.
    pub(super) const fn rank(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lower half is the arrival")]
    pub(super) const fn arrival(self) -> u64 {
        self.0 as u64
    }
}

/// How many of a sorted list are before a point. Comparisons that do not wait for each other cost less than half as many that do: so
/// each round has seven of them.
pub(super) fn first_not(keys: &[Key], is_before: impl Fn(Key) -> bool) -> usize {
    let (mut from, mut left) = (0, keys);
    while left.len() > 8 {
        let stride = left.len().div_ceil(8);
        let probes = left[stride - 1..].iter().step_by(stride);
        let passed = probes.map(|key| usize::from(is_before(*key))).sum::<usize>() * stride;
        from += passed;
        left = &left[passed..left.len().min(passed + stride)];
    }
    from + left.iter().map(|key| usize::from(is_before(*key))).sum::<usize>()
}
