//! The one clock on this machine's clocks.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mainstay_core::Timestamp;
use rustix::time::{ClockId, clock_gettime};

use super::{Clock, OneClock, Readings};

/// The one clock, fed from CLOCK_REALTIME and CLOCK_BOOTTIME.
#[derive(Debug)]
pub struct SystemClock(Mutex<OneClock>);

impl SystemClock {
    /// A clock that starts now.
    #[must_use]
    pub fn start() -> Self {
        Self(Mutex::new(OneClock::start(readings(), Timestamp::EPOCH)))
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let mut clock = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, jump) = clock.read(readings());
        drop(clock);
        if let Some(jump) = jump {
            tracing::warn!(
                by_ms = jump.by_ms,
                "the wall clock was set; time is steered towards it, not stepped"
            );
        }
        now
    }

    fn since_boot(&self) -> Duration {
        since_boot()
    }

    fn not_below(&self, at: Timestamp) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).not_below(at);
    }
}

fn readings() -> Readings {
    Readings { wall: reading(ClockId::Realtime), boot: since_boot() }
}

fn since_boot() -> Duration {
    reading(ClockId::Boottime)
}

fn reading(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
