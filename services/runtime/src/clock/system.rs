//! The one clock on this machine's clocks.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mainstay_core::Timestamp;
use rustix::time::{ClockId, clock_gettime};

use super::{Clock, Jump, OneClock, Readings};

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
            tell(jump);
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

fn tell(jump: Jump) {
    tracing::warn!(by_ms = jump.by_ms, "the wall clock was set; time is steered towards it, not stepped");
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

#[cfg(test)]
mod tests {
    use std::fmt;

    use tracing::field::{Field, Visit};
    use tracing::{Event, Level, Metadata, Subscriber, span};

    use super::*;

    /// Keeps what is logged, each with its level.
    #[derive(Default)]
    struct Log(std::sync::Arc<Mutex<Vec<(Level, String)>>>);

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            let _written = fmt::Write::write_fmt(&mut self.0, format_args!("{field}={value:?} "));
        }
    }

    impl Subscriber for Log {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }

        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

        fn event(&self, event: &Event<'_>) {
            let mut line = Line(String::new());
            event.record(&mut line);
            self.0.lock().unwrap().push((*event.metadata().level(), line.0));
        }

        fn enter(&self, _: &span::Id) {}

        fn exit(&self, _: &span::Id) {}
    }

    /// Issue 3, point 10: "Wall-clock jumps are logged".
    #[test]
    fn the_log_tells_a_jump() {
        let log = Log::default();
        let lines = std::sync::Arc::clone(&log.0);
        tracing::subscriber::with_default(log, || {
            let clock = SystemClock::start();
            // The wall clock of the readings before was an hour ahead: now it is set back.
            let ahead = readings().wall + Duration::from_secs(3_600);
            clock.0.lock().unwrap().read(Readings { wall: ahead, boot: since_boot() });
            let before = clock.now();
            assert!(clock.now() >= before);
        });
        let told = lines.lock().unwrap();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].0 == Level::WARN && told[0].1.contains("the wall clock was set"), "{told:?}");
        assert!(told[0].1.contains("by_ms=-3"), "an hour back: {told:?}");
    }
}
