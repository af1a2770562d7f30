//! What a peer's own clock says. Each began at a moment of its own; where the world's clocks are bad, each runs up to a hundredth too
//! fast or too slow, one that ran leaps ahead, as after a sleep that it counts or by a hypervisor's hand, and one stands still while
//! its process sleeps, as `CLOCK_MONOTONIC` does in a suspend.
//!
//! What happens to clocks draws from a chance of its own, so that a world is the same with better ones.

use mainstay_core::Timestamp;
use mainstay_migration::{Guards, PeerId};

use super::scenario::{Clocks, Faults};
use super::{BEGIN_MS, Happening, World};
use crate::agenda::Micros;
use crate::laws::Broken;

/// A million: what a clock counts in a second that is neither fast nor slow.
const EXACT: u64 = 1_000_000;
/// How much faster or slower it runs at most, in a million: a hundredth, a hundred times what a bad crystal does.
const DRIFT_MAX: u64 = 10_000;
/// How far a clock leaps at most: two minutes, in milliseconds.
const LEAP_MAX: u64 = 120_000;
/// How long a process freezes.
const FREEZE_MIN: Micros = 300_000;
const FREEZE_MAX: Micros = 60_000_000;
/// How long until the next one leaps, at most.
const PAUSE: Micros = 20_000_000;

/// Whether a clock stands still with its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sleeps {
    No,
    Yes,
}

/// One peer's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// What it said at the world's beginning, in microseconds.
    began: Micros,
    /// What it counts in a second of the world's.
    pace: u64,
}

impl Clock {
    /// One that is that much ahead of the world's, in milliseconds.
    pub(super) const fn ahead_by(skew_ms: u64) -> Self {
        Self { began: (BEGIN_MS + skew_ms) * 1_000, pace: EXACT }
    }

    /// What it says at that moment of the world.
    pub(super) fn says(self, now: Micros) -> Timestamp {
        let counted = u128::from(now) * u128::from(self.pace) / u128::from(EXACT);
        let counted = u64::try_from(counted).unwrap_or(u64::MAX);
        Timestamp::from_unix_ms(self.began.saturating_add(counted) / 1_000)
    }

    /// When it says that it is so late, at the earliest.
    pub(super) fn when(self, at: Timestamp) -> Micros {
        let to_count = at.unix_ms().saturating_mul(1_000).saturating_sub(self.began);
        let world = (u128::from(to_count) * u128::from(EXACT)).div_ceil(u128::from(self.pace));
        u64::try_from(world).unwrap_or(u64::MAX)
    }

    /// It says so much more from now on, in microseconds.
    const fn leaps(&mut self, span: Micros) {
        self.began += span;
    }

    /// It stood still for so long, by the world's clock.
    pub(super) fn stood_still(&mut self, span: Micros) {
        let missed = u128::from(span) * u128::from(self.pace) / u128::from(EXACT);
        self.began -= u64::try_from(missed).unwrap_or_default();
    }
}

impl<G: Guards> World<G> {
    /// The clock that a peer begins with.
    pub(super) fn new_clock(&mut self, skew_ms: u64) -> Clock {
        let exact = Clock::ahead_by(skew_ms);
        match self.scenario.clocks {
            Clocks::True => exact,
            Clocks::Bad => Clock { pace: self.odds.between(EXACT - DRIFT_MAX, EXACT + DRIFT_MAX), ..exact },
        }
    }

    /// What its own clock says to a peer.
    pub(super) fn clock(&self, peer: PeerId) -> Timestamp {
        self.peers[&peer].clock.says(self.now)
    }

    /// Somebody's clock leaps ahead while it runs.
    pub(super) fn leaps(&mut self) -> Result<(), Broken> {
        if !self.busy || self.scenario.clocks == Clocks::True || self.scenario.faults != Faults::Swarm {
            return Ok(());
        }
        let pause = self.odds.between(1_000_000, PAUSE);
        self.after(pause, Happening::Leaps);
        let running = self.running();
        let Some(peer) = running.get(self.odds.index(running.len())).copied() else { return Ok(()) };
        // As far as seconds go as often as minutes.
        let most = if self.odds.chance(500_000) { LEAP_MAX } else { LEAP_MAX / 20 };
        let span_ms = self.odds.between(100, most);
        self.leaps_by(peer, span_ms)
    }

    /// Somebody's clock leaps ahead so far, in milliseconds.
    pub(super) fn leaps_by(&mut self, peer: PeerId, span_ms: u64) -> Result<(), Broken> {
        self.counts.leaps += 1;
        self.say(peer, |_| format!("finds that it is {span_ms} ms later"));
        self.peer(peer).clock.leaps(span_ms * 1_000);
        // What it took by its own clock is not its fault, as of one that froze.
        self.peer(peer).froze = Some(self.now);
        self.oracle.trouble_with(peer, self.now);
        self.wakes_anew(peer)
    }

    /// How long a process freezes: at most so long, or a minute where clocks are bad.
    pub(super) fn freezes_for(&mut self, most: Micros) -> Micros {
        let span = self.random.between(FREEZE_MIN, most);
        match self.scenario.clocks {
            Clocks::True => span,
            Clocks::Bad => self.odds.between(FREEZE_MIN, FREEZE_MAX),
        }
    }

    /// Whether a process that freezes now has a clock that stands still with it.
    pub(super) fn has_clock_that_sleeps(&mut self) -> Sleeps {
        let sleeps = self.scenario.clocks == Clocks::Bad && self.odds.chance(500_000);
        if sleeps { Sleeps::Yes } else { Sleeps::No }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_runs_fast_or_slow_is_asked_again_when_it_says_so() {
        for pace in [EXACT - DRIFT_MAX, EXACT - 1, EXACT, EXACT + 7, EXACT + DRIFT_MAX] {
            let mut clock = Clock { pace, ..Clock::ahead_by(123) };
            for now in [0, 1, 999, 123_456_789, 3_600_000_000] {
                let says = clock.says(now);
                let at = clock.when(says);
                assert!(at <= now && clock.says(at) == says, "{pace} {now}");
                assert!(at == 0 || clock.says(at - 1) < says, "{pace} {now}: no earlier");
            }
            let before = clock.says(5_000_000);
            clock.leaps(2_000_000);
            assert_eq!(clock.says(5_000_000).since(before).as_millis(), 2_000);
            clock.stood_still(1_000_000);
            assert!(clock.says(5_000_000).since(before).as_millis().abs_diff(1_000) <= 10, "{pace}");
        }
    }
}
