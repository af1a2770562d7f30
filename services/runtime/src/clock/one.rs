//! The arithmetic of the one clock, on given readings.

use std::time::Duration;

use mainstay_core::Timestamp;

/// A wall clock that moved by more than this against the boot clock since the last reading is said to have jumped; below
/// lies what NTP slews between two readings.
const JUMP_MIN: Duration = Duration::from_secs(1);
/// Steering takes or gives at most one part in this many of the time that passed (architecture.md: at most 10 %).
const STEER_DIVISOR: i128 = 10;

/// What the two clocks of the machine show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readings {
    /// The wall clock: time since the Unix epoch.
    pub wall: Duration,
    /// The boot clock: time since boot, sleep included.
    pub boot: Duration,
}

/// The wall clock was set, rather than ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    /// How far, in milliseconds; negative for backwards.
    pub by_ms: i64,
}

/// Wall time read at start plus boot time elapsed, never below the last journalled time, steered towards the wall clock
/// by at most 10 %, never stepped.
#[derive(Debug, Clone)]
pub struct OneClock {
    /// What is told, in nanoseconds since the Unix epoch.
    told: i128,
    last: Readings,
}

impl OneClock {
    /// A clock that starts at the wall clock, or at `floor` where that is later.
    #[must_use]
    pub fn start(readings: Readings, floor: Timestamp) -> Self {
        let mut clock = Self { told: nanos(readings.wall), last: readings };
        clock.not_below(floor);
        clock
    }

    /// Moves up to `floor` where the clock is below it.
    pub fn not_below(&mut self, floor: Timestamp) {
        self.told = self.told.max(i128::from(floor.unix_ms()) * 1_000_000);
    }

    /// The time, and whether the wall clock was set since the last reading.
    pub fn read(&mut self, readings: Readings) -> (Timestamp, Option<Jump>) {
        let elapsed = nanos(readings.boot.saturating_sub(self.last.boot));
        let walked = nanos(readings.wall) - nanos(self.last.wall);
        let strayed = walked - elapsed;
        let jump = (strayed.abs() >= nanos(JUMP_MIN))
            .then(|| Jump { by_ms: i64::try_from(strayed / 1_000_000).unwrap_or(i64::MAX) });
        let steer_max = elapsed / STEER_DIVISOR;
        let error = nanos(readings.wall) - (self.told + elapsed);
        self.told += elapsed + error.clamp(-steer_max, steer_max);
        // A boot clock that falls back is no clock; keep the higher reading.
        self.last = Readings { wall: readings.wall, boot: readings.boot.max(self.last.boot) };
        (self.timestamp(), jump)
    }

    fn timestamp(&self) -> Timestamp {
        Timestamp::from_unix_ms(u64::try_from(self.told / 1_000_000).unwrap_or(0))
    }
}

fn nanos(span: Duration) -> i128 {
    i128::try_from(span.as_nanos()).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(wall_ms: u64, boot_ms: u64) -> Readings {
        Readings { wall: Duration::from_millis(wall_ms), boot: Duration::from_millis(boot_ms) }
    }

    fn told(clock: &mut OneClock, readings: Readings) -> u64 {
        clock.read(readings).0.unix_ms()
    }

    #[test]
    fn it_runs_with_the_boot_clock() {
        let mut clock = OneClock::start(at(1_000_000, 50), Timestamp::EPOCH);
        assert_eq!(told(&mut clock, at(1_000_000, 50)), 1_000_000);
        assert_eq!(told(&mut clock, at(1_000_700, 750)), 1_000_700);
    }

    #[test]
    fn a_wall_clock_set_back_slows_it_by_a_tenth_until_both_meet() {
        let mut clock = OneClock::start(at(1_000_000, 0), Timestamp::EPOCH);
        let (now, jump) = clock.read(at(990_000, 1_000));
        assert_eq!((now.unix_ms(), jump), (1_000_900, Some(Jump { by_ms: -11_000 })));
        // 10.9 s ahead: 109 s at 90 % catch up exactly.
        let (now, jump) = clock.read(at(1_099_000, 110_000));
        assert_eq!((now.unix_ms(), jump), (1_099_000, None));
    }

    #[test]
    fn a_wall_clock_set_forward_hastens_it_by_a_tenth_and_never_steps_it() {
        let mut clock = OneClock::start(at(1_000_000, 0), Timestamp::EPOCH);
        let (now, jump) = clock.read(at(4_601_000, 1_000));
        assert_eq!((now.unix_ms(), jump), (1_001_100, Some(Jump { by_ms: 3_600_000 })));
    }

    #[test]
    fn it_starts_at_the_last_journalled_time_where_the_wall_clock_is_behind() {
        let mut clock = OneClock::start(at(1_000_000, 0), Timestamp::from_unix_ms(1_500_000));
        assert_eq!(told(&mut clock, at(1_000_000, 0)), 1_500_000);
        assert_eq!(told(&mut clock, at(1_010_000, 10_000)), 1_509_000);
    }

    #[test]
    fn it_never_falls_whatever_the_clocks_show() {
        let mut clock = OneClock::start(at(1_000_000, 0), Timestamp::EPOCH);
        let mut last = 0;
        for (wall, boot) in [(0, 10), (u64::MAX, 20), (5, 5), (1, 4_000), (1_000_000, 4_000)] {
            let now = told(&mut clock, at(wall, boot));
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
    }
}
