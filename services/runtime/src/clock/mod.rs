//! The one clock: the only place in the house where time is read.

mod mark;
mod one;
mod system;

use std::time::Duration;

use mainstay_core::Timestamp;

pub use mark::{MARK_INTERVAL, MarkError};
pub use one::{Anchor, Beginning, Jump, OUTAGE_MIN, OneClock, Past, Readings, Wall};
pub use system::SystemClock;

/// Where the runtime takes its time from. Both answers never fall.
pub trait Clock: Send + Sync + 'static {
    /// The time that turns are told.
    fn now(&self) -> Timestamp;

    /// The monotonic time since boot, sleep included: what leases count in.
    fn since_boot(&self) -> Duration;

    /// Never tell a time below this from now on: the time of a journalled turn.
    fn not_below(&self, at: Timestamp);
}
