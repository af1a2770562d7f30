//! How a rule's limit changes while a ticket waits.
//!
//! "Rules gradually adjust their configured thresholds over time" (PlayFab, *Configuring matchmaking queues*).

use alloc::sync::Arc;

use crate::amount::Amount;

/// The most times a limit changes. A linear expansion without a limit would go on for ever; a thousand steps of five
/// seconds are 83 minutes, longer than anybody waits, and keep the table of a queue's steps small.
pub const EXPANSIONS_MAX: u32 = 1_000;

/// A limit over the time a ticket has waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expansion<T> {
    /// Always the same.
    Fixed(T),
    /// Moves by `delta` every `every` seconds, and stops at `limit`.
    Linear {
        /// At first.
        from: T,
        /// By how much each time.
        delta: Delta<T>,
        /// Where it stops.
        limit: Option<T>,
        /// Seconds between two moves.
        every: u32,
    },
    /// One value each interval of `every` seconds, beginning with the first at once; the last one stays. `None`: the rule
    /// does not restrict in that interval.
    Custom {
        /// The limit that was set beside them, which counts nothing while there are values: kept to be told again.
        base: Option<T>,
        /// The values, at least one.
        values: Arc<[Option<T>]>,
        /// Seconds between two of them.
        every: u32,
    },
}

/// A step and the way it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<T> {
    /// Up: a difference or a latency grows.
    Up(T),
    /// Down: an amount that is asked for shrinks. Also what PlayFab's negative deltas are.
    Down(T),
}

/// What a limit can be: it moves by steps and does not leave its range.
pub trait Threshold: Copy + Ord {
    /// This, `times` times `by` further up.
    #[must_use]
    fn up(self, by: Self, times: u32) -> Self;
    /// This, `times` times `by` further down, at least nothing.
    #[must_use]
    fn down(self, by: Self, times: u32) -> Self;
}

impl Threshold for u32 {
    fn up(self, by: Self, times: u32) -> Self {
        self.saturating_add(by.saturating_mul(times))
    }

    fn down(self, by: Self, times: u32) -> Self {
        self.saturating_sub(by.saturating_mul(times))
    }
}

impl Threshold for Amount {
    fn up(self, by: Self, times: u32) -> Self {
        Self::from_millionths(self.millionths().saturating_add(by.millionths().saturating_mul(times.into())))
    }

    fn down(self, by: Self, times: u32) -> Self {
        let left = self.millionths().saturating_sub(by.millionths().saturating_mul(times.into()));
        Self::from_millionths(left.max(0))
    }
}

impl<T: Threshold> Expansion<T> {
    /// The limit after so many seconds of waiting; `None` while the rule does not restrict.
    #[must_use]
    pub fn after(&self, seconds: u32) -> Option<T> {
        match self {
            Self::Fixed(value) => Some(*value),
            Self::Linear { from, delta, limit, every } => {
                let times = (seconds / (*every).max(1)).min(EXPANSIONS_MAX);
                Some(match (delta, limit) {
                    (Delta::Up(by), Some(limit)) => from.up(*by, times).min((*limit).max(*from)),
                    (Delta::Down(by), Some(limit)) => from.down(*by, times).max((*limit).min(*from)),
                    (Delta::Up(by), None) => from.up(*by, times),
                    (Delta::Down(by), None) => from.down(*by, times),
                })
            }
            Self::Custom { values, every, .. } => {
                let at = (seconds / (*every).max(1)) as usize;
                values.get(at).or_else(|| values.last()).copied().flatten()
            }
        }
    }

    /// The limit as it was set, whatever it is by and by.
    #[must_use]
    pub fn set(&self) -> Option<T> {
        match self {
            Self::Custom { base: Some(base), .. } => Some(*base),
            Self::Fixed(_) | Self::Linear { .. } | Self::Custom { base: None, .. } => self.after(0),
        }
    }

    /// The seconds at which the limit changes, after the first.
    pub(crate) fn boundaries(&self) -> impl Iterator<Item = u32> + '_ {
        let (every, count) = match self {
            Self::Fixed(_) => (1, 0),
            Self::Linear { every, .. } => (*every, EXPANSIONS_MAX),
            Self::Custom { values, every, .. } => (
                *every,
                u32::try_from(values.len()).unwrap_or(u32::MAX).saturating_sub(1).min(EXPANSIONS_MAX),
            ),
        };
        (1..=count)
            .map_while(move |times| times.checked_mul(every.max(1)))
            .filter(|at| self.after(*at) != self.after(at - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// "these attributes increasing over time to 0.5" by 0.1 each 5 seconds from 0.2 (*Skill based free-for-all game, with
    /// expansion*).
    #[test]
    fn a_linear_expansion_stops_at_its_limit() {
        let of = |number| Amount::from_f64(number).unwrap();
        let skill =
            Expansion::Linear { from: of(0.2), delta: Delta::Up(of(0.1)), limit: Some(of(0.5)), every: 5 };
        let seen: Vec<_> = [0, 4, 5, 10, 15, 60].map(|at| skill.after(at).unwrap()).into();
        assert_eq!(seen, [0.2, 0.2, 0.3, 0.4, 0.5, 0.5].map(of));
        assert_eq!(skill.boundaries().collect::<Vec<_>>(), [5, 10, 15]);
    }

    /// "Manually specify the values to use for each expansion interval" (SPEC), the first interval beginning at once.
    #[test]
    fn a_custom_expansion_begins_with_its_first_value_and_stays_at_its_last() {
        let players =
            Expansion::Custom { base: Some(9), values: [Some(50_u32), None, Some(8)].into(), every: 10 };
        assert_eq!(
            [0, 9, 10, 20, 500].map(|at| players.after(at)),
            [Some(50), Some(50), None, Some(8), Some(8)]
        );
        assert_eq!(players.boundaries().collect::<Vec<_>>(), [10, 20]);
    }

    #[test]
    fn what_shrinks_stops_at_nothing() {
        let shared = Expansion::Linear { from: 2_u32, delta: Delta::Down(1), limit: None, every: 5 };
        assert_eq!([0, 5, 10, 15].map(|at| shared.after(at)), [Some(2), Some(1), Some(0), Some(0)]);
        assert_eq!(shared.boundaries().collect::<Vec<_>>(), [5, 10]);
    }
}
