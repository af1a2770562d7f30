//! Time as a value: rules are told the time, they never read it.

use core::fmt;
use core::ops::Add;
use core::time::Duration;

/// Milliseconds since the Unix epoch, as the one clock of `services/runtime` tells them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch itself; earlier than anything that happens.
    pub const EPOCH: Self = Self(0);

    /// From milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_unix_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn unix_ms(self) -> u64 {
        self.0
    }

    /// How long ago `earlier` was; zero where it is not earlier.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// This moment less `span`, not below the epoch.
    #[must_use]
    pub fn back(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(millis(span)))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(millis(span)))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let late = Timestamp::from_unix_ms(u64::MAX);
        assert_eq!(late + Duration::from_secs(1), late);
        assert_eq!(Timestamp::EPOCH.back(Duration::from_secs(1)), Timestamp::EPOCH);
        assert_eq!(Timestamp::EPOCH.since(late), Duration::ZERO);
        assert_eq!(
            (Timestamp::EPOCH + Duration::from_millis(7)).since(Timestamp::EPOCH),
            Duration::from_millis(7)
        );
    }
}
