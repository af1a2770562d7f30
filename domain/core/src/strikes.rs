//! "At most so many times within so long": the window behind crash back-off (seed 001: "crashes more than a specific
//! number of times within a 30-minute period") and, later, behind misbehaviour.

use alloc::vec::Vec;
use core::time::Duration;

use crate::Timestamp;

/// The most strikes a window remembers. A policy that tolerates more than this many within one window is refused by
/// configuration, so nothing is forgotten that a rule could still ask for.
pub const STRIKES_MAX: usize = 64;

/// The moments of recent strikes, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strikes(Vec<Timestamp>);

impl Strikes {
    /// No strikes.
    #[must_use]
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// From recorded moments, oldest first; the newest [`STRIKES_MAX`] are kept.
    #[must_use]
    pub fn from_moments(mut moments: Vec<Timestamp>) -> Self {
        moments.sort_unstable();
        let surplus = moments.len().saturating_sub(STRIKES_MAX);
        moments.drain(..surplus);
        Self(moments)
    }

    /// Records a strike and forgets those that left the window.
    pub fn strike(&mut self, at: Timestamp, within: Duration) {
        self.0.retain(|&moment| inside(moment, at, within));
        if self.0.len() == STRIKES_MAX {
            self.0.remove(0);
        }
        self.0.push(at);
    }

    /// How many strikes lie inside the window that ends now. A strike exactly `within` ago is outside.
    #[must_use]
    pub fn count(&self, now: Timestamp, within: Duration) -> usize {
        self.0.iter().filter(|&&moment| inside(moment, now, within)).count()
    }

    /// Every remembered moment, oldest first.
    #[must_use]
    pub fn moments(&self) -> &[Timestamp] {
        &self.0
    }

    /// Starts afresh.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

fn inside(moment: Timestamp, now: Timestamp, within: Duration) -> bool {
    now.since(moment) < within
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(30 * 60);

    fn minute(n: u64) -> Timestamp {
        Timestamp::from_unix_ms(1_000_000 + n * 60_000)
    }

    #[test]
    fn strikes_leave_the_window_after_30_minutes() {
        let mut strikes = Strikes::none();
        strikes.strike(minute(0), WINDOW);
        strikes.strike(minute(29), WINDOW);
        assert_eq!(strikes.count(minute(29), WINDOW), 2);
        assert_eq!(strikes.count(minute(30), WINDOW), 1);
        assert_eq!(strikes.count(minute(59), WINDOW), 0);
    }

    #[test]
    fn the_window_is_bounded() {
        let mut strikes = Strikes::none();
        for n in 0..1000 {
            strikes.strike(Timestamp::from_unix_ms(n), WINDOW);
        }
        assert_eq!(strikes.moments().len(), STRIKES_MAX);
        assert_eq!(strikes.moments()[0], Timestamp::from_unix_ms(1000 - STRIKES_MAX as u64));
    }
}
