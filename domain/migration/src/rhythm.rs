//! How a link beats, and when its silence means something.
//!
//! A fixed time-out is either slow or wrong (B12: ten seconds in CRYENGINE). This one learns the gaps between what is heard
//! and suspects after the mean and eight times the mean deviation, which on a calm link is [`SUSPECT_MIN`] and on a
//! stuttering one longer, up to [`SUSPECT_MAX`]. Integers alone, as TCP's estimator (RFC 6298) does it.
//!
//! That estimator has forgotten a pause after a second of beats, and radios pause every few seconds (roaming, scans, power saving). So the longest
//! pause of the last minute or two is remembered beside it, and half as much again is waited for.

use core::time::Duration;

use mainstay_core::Timestamp;

/// How often a host, its standbys and everybody with them say that they live.
pub const BEAT: Duration = Duration::from_millis(100);
/// The shortest silence that is suspected: eight beats, below which lost packets alone would do.
pub const SUSPECT_MIN: Duration = Duration::from_millis(800);
/// The longest silence that is not: what is worse to play with than a migration.
pub const SUSPECT_MAX: Duration = Duration::from_millis(5_000);
/// Deviations beyond the mean. Where gaps are as Wi-Fi's, rarer than once in an hour of beats.
const DEVIATIONS: u32 = 8;

/// By what part of itself the longest pause fades with each beat: to half within 71 s of them.
const FADES: u32 = 1_024;

/// What is known of one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rhythm {
    /// When anything came last.
    heard: Timestamp,
    /// When a beat came last.
    beaten: Timestamp,
    /// The mean gap, times 8, in milliseconds.
    mean_8: u32,
    /// The mean deviation from it, times 4, in milliseconds.
    deviation_4: u32,
    /// The longest gap, which fades, times [`FADES`], in milliseconds.
    longest: u32,
}

impl Rhythm {
    /// Of a link that begins now.
    #[must_use]
    pub fn starting(now: Timestamp) -> Self {
        Self {
            heard: now,
            beaten: now,
            mean_8: 8 * millis(BEAT),
            deviation_4: 4 * millis(BEAT) / 2,
            longest: 0,
        }
    }

    /// Something came.
    pub const fn hear(&mut self, now: Timestamp) {
        self.heard = now;
    }

    /// A beat of the host came: it beats without pause as long as it is host, so what it pauses is its link's.
    pub fn beat_of_host(&mut self, now: Timestamp) {
        let gap = millis(now.since(self.beaten)).min(millis(SUSPECT_MAX));
        self.longest = (self.longest - self.longest / FADES).max(gap * FADES);
        self.beat(now);
    }

    /// A beat came: what the gaps are learnt from. Most peers beat to each other now and then alone.
    pub fn beat(&mut self, now: Timestamp) {
        let gap = millis(now.since(self.beaten)).min(millis(SUSPECT_MAX));
        self.heard = now;
        self.beaten = now;
        let mean = self.mean_8 / 8;
        self.deviation_4 = self.deviation_4 - self.deviation_4 / 4 + gap.abs_diff(mean);
        self.mean_8 = self.mean_8 - mean + gap;
    }

    /// How long nothing has come.
    #[must_use]
    pub fn silence(&self, now: Timestamp) -> Duration {
        now.since(self.heard)
    }

    /// How long nothing may come before the other is suspected.
    #[must_use]
    pub fn patience(&self) -> Duration {
        let usual = self.mean_8 / 8 + DEVIATIONS * (self.deviation_4 / 4);
        let longest = self.longest / FADES;
        let ms = usual.max(longest + longest / 2);
        Duration::from_millis(u64::from(ms)).clamp(SUSPECT_MIN, SUSPECT_MAX)
    }

    /// When the other is suspected, if nothing comes.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.heard + self.patience()
    }

    /// Whether the other is suspected.
    #[must_use]
    pub fn is_suspect(&self, now: Timestamp) -> bool {
        now >= self.deadline()
    }

    /// Whether another's suspicion is shared: half the patience is over.
    #[must_use]
    pub fn is_doubtful(&self, now: Timestamp) -> bool {
        self.silence(now) >= self.patience() / 2
    }

    /// This peer itself stood still so long (asleep, stopped, starved): that silence is its own and counts for nobody.
    pub fn forgive(&mut self, stall: Duration) {
        self.heard = self.heard + stall;
        self.beaten = self.beaten + stall;
    }
}

fn millis(span: Duration) -> u32 {
    u32::try_from(span.as_millis()).unwrap_or(u32::MAX)
}
