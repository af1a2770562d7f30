//! The one clock on this machine's clocks.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use mainstay_core::Timestamp;
use rustix::time::{ClockId, clock_gettime};

use super::mark::{MARK_INTERVAL, Mark, MarkError};
use super::one::{Beginning, Past, Wall};
use super::{Clock, Jump, OneClock, Readings};

/// A beginning whose wall clock is off by less is nothing to tell: what NTP slews.
const TOLD_OFF_MIN_MS: u64 = 1_000;

/// The one clock, fed from CLOCK_REALTIME and CLOCK_BOOTTIME.
#[derive(Debug)]
pub struct SystemClock {
    clock: Arc<Mutex<OneClock>>,
    keeper: Option<Keeper>,
}

impl SystemClock {
    /// A clock that starts now, at the wall clock, and leaves nothing behind: for what keeps nothing either.
    #[must_use]
    pub fn start() -> Self {
        let (clock, _) = OneClock::start(readings(), Wall::Alone, Past::Unknown);
        Self { clock: Arc::new(Mutex::new(clock)), keeper: None }
    }

    /// The clock of a data directory: it goes on from what it told last, and leaves word for the next start.
    ///
    /// # Errors
    /// Where the mark cannot be read or written, or the system has no thread to give.
    pub fn start_in(dir: &Path) -> Result<Self, MarkError> {
        let (mark, past) = Mark::open(dir)?;
        let (clock, beginning) = OneClock::start(readings(), wall(), past);
        tell_beginning(beginning);
        let clock = Arc::new(Mutex::new(clock));
        let keeper = Keeper::start(mark, Arc::clone(&clock))?;
        Ok(Self { clock, keeper: Some(keeper) })
    }
}

impl Drop for SystemClock {
    fn drop(&mut self) {
        let Some(Keeper { stop, thread }) = self.keeper.take() else { return };
        drop(stop);
        let _panicked = thread.join();
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        now(&self.clock)
    }

    fn since_boot(&self) -> Duration {
        since_boot()
    }

    fn not_below(&self, at: Timestamp) {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner).not_below(at);
    }
}

fn now(clock: &Mutex<OneClock>) -> Timestamp {
    let mut clock = clock.lock().unwrap_or_else(PoisonError::into_inner);
    let (now, jump) = clock.read(readings());
    drop(clock);
    if let Some(jump) = jump {
        tell(jump);
    }
    now
}

/// Writes the mark, on a thread of its own: nobody who asks for the time waits for a disk.
#[derive(Debug)]
struct Keeper {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Keeper {
    fn start(mark: Mark, clock: Arc<Mutex<OneClock>>) -> Result<Self, MarkError> {
        let (stop, stopped) = channel();
        let keep = move || {
            let mut failing = false;
            loop {
                let waited = stopped.recv_timeout(MARK_INTERVAL);
                let _now = now(&clock);
                let anchor = clock.lock().unwrap_or_else(PoisonError::into_inner).anchor(wall());
                match mark.set(anchor) {
                    Ok(()) => failing = false,
                    Err(error) if failing => tracing::debug!(%error, "the clock's mark is still not written"),
                    Err(error) => {
                        failing = true;
                        tracing::warn!(%error, "the clock's mark is not written: a start may believe the wall clock");
                    }
                }
                match waited {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        let thread =
            std::thread::Builder::new().name("clock".to_owned()).spawn(keep).map_err(MarkError::Thread)?;
        Ok(Self { stop, thread })
    }
}

fn tell_beginning(beginning: Beginning) {
    match beginning {
        Beginning::AtWall => {}
        Beginning::AtKnown { wall_ahead_ms } if wall_ahead_ms.unsigned_abs() < TOLD_OFF_MIN_MS => {}
        Beginning::AtKnown { wall_ahead_ms } => tracing::warn!(
            wall_ahead_ms,
            "the wall clock is not what is known to have passed since the last start: time goes on from what is known, \
             and is steered towards the wall clock by a tenth"
        ),
        Beginning::AfterOutage { ms } => {
            tracing::info!(
                off_ms = ms,
                "the machine was off, as the wall clock says; time goes on after that"
            );
        }
    }
}

/// Whether the kernel says that NTP keeps the wall clock.
#[expect(unsafe_code, reason = "no safe library reads the state of the kernel's clock without setting it")]
fn wall() -> Wall {
    // SAFETY: `timex` is plain integers, for which zeros are values; `modes` zero asks the kernel to change nothing.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills the one structure it is given, which lives through the call.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    if state < 0 || timex.status & libc::STA_UNSYNC != 0 { Wall::Alone } else { Wall::Kept }
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

    /// A start in the same boot goes on by the boot clock: here the mark says that an hour more was told than the wall clock
    /// shows.
    #[test]
    fn a_clock_of_a_data_directory_goes_on_from_its_mark() {
        let dir = tempfile::tempdir().unwrap();
        let hour = Duration::from_hours(1);
        let first = SystemClock::start_in(dir.path()).unwrap();
        let ahead = first.now() + hour;
        first.not_below(ahead);
        drop(first);
        let second = SystemClock::start_in(dir.path()).unwrap();
        assert!(second.now() >= ahead);
        assert!(SystemClock::start().now() < ahead);
    }

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
            clock.clock.lock().unwrap().read(Readings { wall: ahead, boot: since_boot() });
            let before = clock.now();
            assert!(clock.now() >= before);
        });
        let told = lines.lock().unwrap();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].0 == Level::WARN && told[0].1.contains("the wall clock was set"), "{told:?}");
        assert!(told[0].1.contains("by_ms=-3"), "an hour back: {told:?}");
    }
}
