//! How long a queue gathers those who come before it looks at them: a short wait, for matches that are closer and more.

use mainstay_core::Timestamp;

/// The longest a queue gathers, in milliseconds: a minute. Guidance for the whole wait is two.
pub const GATHER_MS_MAX: u32 = 60_000;

/// Tickets are looked at when a multiple of so many milliseconds has passed since the epoch. So all who came since the last are
/// looked at together, and every queue that gathers for as long does so at the same moments, whoever leads it and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gather {
    ms: u32,
}

impl Gather {
    /// Every ticket is looked at as it comes.
    pub const NONE: Self = Self { ms: 0 };

    /// For so many milliseconds; 0: [not at all](Self::NONE).
    #[must_use]
    pub const fn for_ms(ms: u32) -> Self {
        Self { ms }
    }

    /// For how many milliseconds.
    #[must_use]
    pub const fn ms(self) -> u32 {
        self.ms
    }

    /// The first moment to look at tickets that is not before another.
    #[must_use]
    pub const fn next_from(self, at: Timestamp) -> Timestamp {
        if self.ms == 0 { at } else { self.next_multiple(at) }
    }

    /// Apart from those who ask for it: few queues gather.
    #[inline(never)]
    const fn next_multiple(self, at: Timestamp) -> Timestamp {
        let every = self.ms as u64;
        Timestamp::from_unix_ms(at.unix_ms().div_ceil(every).saturating_mul(every))
    }

    /// The first moment to look at those who come at another. Whoever comes at such a moment itself waits for the next: others may come
    /// in the same millisecond, and be too late.
    #[must_use]
    pub const fn next_after(self, at: Timestamp) -> Timestamp {
        if self.ms == 0 {
            at
        } else {
            self.next_multiple(Timestamp::from_unix_ms(at.unix_ms().saturating_add(1)))
        }
    }

    /// The last moment until another at which tickets were looked at: whoever waits has the limits of that one.
    #[must_use]
    pub const fn last_until(self, at: Timestamp) -> Timestamp {
        match self.every() {
            None => at,
            Some(every) => Timestamp::from_unix_ms(at.unix_ms() - at.unix_ms() % every),
        }
    }

    const fn every(self) -> Option<u64> {
        if self.ms == 0 { None } else { Some(self.ms as u64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_multiples_and_without_gathering_all_there_are() {
        let at = Timestamp::from_unix_ms;
        let second = Gather::for_ms(1_000);
        for (moment, from, after, last) in
            [(1_999, 2_000, 2_000, 1_000), (2_000, 2_000, 3_000, 2_000), (2_001, 3_000, 3_000, 2_000)]
        {
            assert_eq!(second.next_from(at(moment)), at(from));
            assert_eq!(second.next_after(at(moment)), at(after));
            assert_eq!(second.last_until(at(moment)), at(last));
            for same in [Gather::NONE.next_from(at(moment)), Gather::NONE.next_after(at(moment))] {
                assert_eq!(same, at(moment));
            }
        }
        assert_eq!(second.next_after(at(u64::MAX)), at(u64::MAX), "the end of time is a moment, too");
    }
}
