//! A peer's own monotonic time, which its rules reckon with.

use std::time::{Duration, Instant};

use mainstay_core::Timestamp;

/// As long as anybody waits: ten years. What is longer has no end, and the system's clock no number for it.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

/// The end of somebody's patience.
pub(crate) fn after(patience: Duration) -> Instant {
    Instant::now() + patience.min(FOREVER)
}

/// Milliseconds since the peer began, from 1 on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// One that begins now.
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    /// One that began so long ago.
    #[cfg(test)]
    pub(crate) fn begun(ago: Duration) -> Self {
        Self(Instant::now() - ago)
    }

    pub(crate) fn now(self) -> Timestamp {
        let elapsed = u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX);
        Timestamp::from_unix_ms(elapsed.saturating_add(1))
    }

    /// When the system's clock says that it is so late.
    pub(crate) fn instant(self, at: Timestamp) -> Instant {
        self.0 + Duration::from_millis(at.unix_ms().saturating_sub(1))
    }
}
