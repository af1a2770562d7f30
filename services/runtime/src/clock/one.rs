//! The arithmetic of the one clock, on given readings.

use std::time::Duration;

use mainstay_core::Timestamp;

/// A wall clock that moved by more than this against the boot clock since the last reading is said to have jumped; below
/// lies what NTP slews between two readings.
const JUMP_MIN: Duration = Duration::from_secs(1);
/// Steering takes or gives at most one part in this many of the time that passed (architecture.md: at most 10 %).
const STEER_DIVISOR: i128 = 10;
/// A wall clock that nobody keeps is believed after a reboot where it is further ahead than this of what is known to have
/// passed. A hardware clock that keeps local time is ahead by 14 h at most (UTC+14), and one without a battery is behind: a day
/// or more is an outage, as far as anybody can tell.
pub const OUTAGE_MIN: Duration = Duration::from_hours(24);

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

/// Whether anybody vouches for the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wall {
    /// The kernel says that NTP keeps it.
    Kept,
    /// Nobody does: what it shows may be a hardware clock that lost its battery, or that keeps local time.
    Alone,
}

/// What the clock told at a moment, as a start later on finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// The boot clock then.
    pub boot: Duration,
    /// What was told then.
    pub told: Timestamp,
    /// The wall clock then, and whether anybody vouched for it.
    pub shown: (Duration, Wall),
}

/// What a start knows of the time before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Past {
    /// Nothing.
    Unknown,
    /// A moment since the machine last booted.
    ThisBoot(Anchor),
    /// A moment before the machine last booted.
    EarlierBoot(Anchor),
}

/// How a clock began, for the log. Spans in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// At the wall clock: nothing was known.
    AtWall,
    /// After what is known to have passed; the wall clock shows so much more, or less where that is negative.
    AtKnown {
        /// How far the wall clock is ahead.
        wall_ahead_ms: i64,
    },
    /// After what is known to have passed, and an outage before that.
    AfterOutage {
        /// How long the machine was off.
        ms: i64,
    },
}

/// Time as it passes: begun at what is known, run by the boot clock, never below the last journalled time, steered towards the
/// wall clock by at most 10 %, never stepped (decision 0022).
#[derive(Debug, Clone)]
pub struct OneClock {
    /// What is told, in nanoseconds since the Unix epoch.
    told: i128,
    last: Readings,
}

impl OneClock {
    /// A clock that begins now.
    ///
    /// Within one boot the boot clock says exactly how much time has passed, whatever the wall clock shows. After a reboot at
    /// least what the boot clock shows has passed, and before it an outage: as long as the wall clock says where NTP kept it
    /// then and keeps it now, or where it says more than hardware clocks are wrong by ([`OUTAGE_MIN`]).
    #[must_use]
    pub fn start(readings: Readings, wall: Wall, past: Past) -> (Self, Beginning) {
        let shown = nanos(readings.wall);
        let (known, outage) = match past {
            Past::Unknown => return (Self { told: shown, last: readings }, Beginning::AtWall),
            Past::ThisBoot(anchor) => {
                (anchor.nanos() + nanos(readings.boot.saturating_sub(anchor.boot)), None)
            }
            Past::EarlierBoot(anchor) => {
                let known = anchor.nanos() + nanos(readings.boot);
                // Told time may lag behind the wall clock of then, and that clock may have been wrong: an outage is no longer
                // than either says.
                let by_wall = shown - nanos(anchor.shown.0) - nanos(readings.boot);
                let outage = match (anchor.shown.1, wall) {
                    (Wall::Kept, Wall::Kept) => Some(by_wall).filter(|outage| *outage > 0),
                    (Wall::Alone, _) | (_, Wall::Alone) => {
                        Some(by_wall.min(shown - known)).filter(|outage| *outage > nanos(OUTAGE_MIN))
                    }
                };
                (known, outage)
            }
        };
        let told = known + outage.unwrap_or(0);
        let beginning = match outage {
            Some(outage) => Beginning::AfterOutage { ms: millis(outage) },
            None => Beginning::AtKnown { wall_ahead_ms: millis(shown - known) },
        };
        (Self { told, last: readings }, beginning)
    }

    /// What was told last, for a start later on.
    #[must_use]
    pub fn anchor(&self, wall: Wall) -> Anchor {
        Anchor { boot: self.last.boot, told: self.timestamp(), shown: (self.last.wall, wall) }
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
        let jump = (strayed.abs() >= nanos(JUMP_MIN)).then(|| Jump { by_ms: millis(strayed) });
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

impl Anchor {
    fn nanos(self) -> i128 {
        i128::from(self.told.unix_ms()) * 1_000_000
    }
}

fn millis(nanos: i128) -> i64 {
    let ms = nanos / 1_000_000;
    i64::try_from(ms).unwrap_or(if ms < 0 { i64::MIN } else { i64::MAX })
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

    fn fresh(readings: Readings) -> OneClock {
        OneClock::start(readings, Wall::Alone, Past::Unknown).0
    }

    /// Told 1,000 s since 1970, at 100 s since boot, as the wall clock.
    const ANCHOR: Anchor = Anchor {
        boot: Duration::from_secs(100),
        told: Timestamp::from_unix_ms(1_000_000),
        shown: (Duration::from_secs(1_000), Wall::Kept),
    };

    /// The moment a clock with a past begins at, and how.
    fn begun(readings: Readings, wall: Wall, past: Past) -> (u64, Beginning) {
        let (mut clock, beginning) = OneClock::start(readings, wall, past);
        (told(&mut clock, readings), beginning)
    }

    #[test]
    fn within_one_boot_a_start_goes_on_by_the_boot_clock_whatever_the_wall_clock_shows() {
        for wall in [Wall::Kept, Wall::Alone] {
            for wall_ms in [0, 1_007_000, 90_000_000_000] {
                let ahead = i64::try_from(wall_ms).unwrap() - 1_007_000;
                let begun = begun(at(wall_ms, 107_000), wall, Past::ThisBoot(ANCHOR));
                assert_eq!(begun, (1_007_000, Beginning::AtKnown { wall_ahead_ms: ahead }));
            }
        }
    }

    #[test]
    fn after_a_reboot_at_least_the_time_since_boot_has_passed() {
        let past = Past::EarlierBoot(ANCHOR);
        for wall in [Wall::Kept, Wall::Alone] {
            let behind = begun(at(5_000, 20_000), wall, past);
            assert_eq!(behind, (1_020_000, Beginning::AtKnown { wall_ahead_ms: -1_015_000 }));
        }
    }

    #[test]
    fn after_a_reboot_a_wall_clock_that_ntp_kept_and_keeps_says_how_long_the_machine_was_off() {
        let kept = begun(at(8_200_000, 20_000), Wall::Kept, Past::EarlierBoot(ANCHOR));
        assert_eq!(kept, (8_200_000, Beginning::AfterOutage { ms: 7_180_000 }));
        // What was told lagged by 100 s: that is no outage, and is caught up with by a tenth.
        let lagging = Anchor { told: Timestamp::from_unix_ms(900_000), ..ANCHOR };
        let lag = begun(at(8_200_000, 20_000), Wall::Kept, Past::EarlierBoot(lagging));
        assert_eq!(lag, (8_100_000, Beginning::AfterOutage { ms: 7_180_000 }));
        // Nobody vouches for what it showed before.
        let alone = Anchor { shown: (ANCHOR.shown.0, Wall::Alone), ..ANCHOR };
        let unknown = begun(at(8_200_000, 20_000), Wall::Kept, Past::EarlierBoot(alone));
        assert_eq!(unknown, (1_020_000, Beginning::AtKnown { wall_ahead_ms: 7_180_000 }));
    }

    #[test]
    fn after_a_reboot_a_wall_clock_that_nobody_keeps_is_believed_from_a_day_ahead_on() {
        let past = Past::EarlierBoot(ANCHOR);
        let day = 86_400_000;
        let hours = begun(at(1_020_000 + day, 20_000), Wall::Alone, past);
        assert_eq!(hours, (1_020_000, Beginning::AtKnown { wall_ahead_ms: 86_400_000 }));
        let days = begun(at(1_020_001 + day, 20_000), Wall::Alone, past);
        assert_eq!(days, (1_020_001 + day, Beginning::AfterOutage { ms: 86_400_001 }));
        // It was days behind before, and is right now: no outage.
        let behind = Anchor { shown: (Duration::ZERO, Wall::Alone), ..ANCHOR };
        let right = begun(at(1_030_000, 20_000), Wall::Alone, Past::EarlierBoot(behind));
        assert_eq!(right, (1_020_000, Beginning::AtKnown { wall_ahead_ms: 10_000 }));
    }

    #[test]
    fn an_anchor_carries_a_clock_over_a_restart() {
        let mut clock = fresh(at(1_000_000, 50));
        let before = told(&mut clock, at(1_000_700, 750));
        let past = Past::ThisBoot(clock.anchor(Wall::Alone));
        assert_eq!(begun(at(0, 2_750), Wall::Alone, past).0, before + 2_000);
    }

    fn told(clock: &mut OneClock, readings: Readings) -> u64 {
        clock.read(readings).0.unix_ms()
    }

    #[test]
    fn it_runs_with_the_boot_clock() {
        let mut clock = fresh(at(1_000_000, 50));
        assert_eq!(told(&mut clock, at(1_000_000, 50)), 1_000_000);
        assert_eq!(told(&mut clock, at(1_000_700, 750)), 1_000_700);
    }

    #[test]
    fn a_wall_clock_set_back_slows_it_by_a_tenth_until_both_meet() {
        let mut clock = fresh(at(1_000_000, 0));
        let (now, jump) = clock.read(at(990_000, 1_000));
        assert_eq!((now.unix_ms(), jump), (1_000_900, Some(Jump { by_ms: -11_000 })));
        // 10.9 s ahead: 109 s at 90 % catch up exactly.
        let (now, jump) = clock.read(at(1_099_000, 110_000));
        assert_eq!((now.unix_ms(), jump), (1_099_000, None));
    }

    #[test]
    fn a_wall_clock_set_forward_hastens_it_by_a_tenth_and_never_steps_it() {
        let mut clock = fresh(at(1_000_000, 0));
        let (now, jump) = clock.read(at(4_601_000, 1_000));
        assert_eq!((now.unix_ms(), jump), (1_001_100, Some(Jump { by_ms: 3_600_000 })));
    }

    #[test]
    fn it_starts_at_the_last_journalled_time_where_the_wall_clock_is_behind() {
        let mut clock = fresh(at(1_000_000, 0));
        clock.not_below(Timestamp::from_unix_ms(1_500_000));
        assert_eq!(told(&mut clock, at(1_000_000, 0)), 1_500_000);
        assert_eq!(told(&mut clock, at(1_010_000, 10_000)), 1_509_000);
    }

    #[test]
    fn it_never_falls_whatever_the_clocks_show() {
        let mut clock = fresh(at(1_000_000, 0));
        let mut last = 0;
        for (wall, boot) in [(0, 10), (u64::MAX, 20), (5, 5), (1, 4_000), (1_000_000, 4_000)] {
            let now = told(&mut clock, at(wall, boot));
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
    }
}
