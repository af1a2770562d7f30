//! What a queue tells of itself (`GetQueueStatistics`): as it is now, not as it was five minutes ago.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::Timestamp;

use crate::decide::HOSTED_MAY;
use crate::entity::Caller;
use crate::queue::Queue;
use crate::rejection::Rejection;
use crate::spec::Shown;

/// Of how many of the last matched tickets the times are told: enough for a 99th percentile of ten tickets, few enough to sort
/// whenever somebody asks.
pub const WAITS_MAX: usize = 1_000;
/// How long such a time is told: of an hour ago it says nothing to whoever thinks of waiting now. (PlayFab's are of five minutes.)
pub const WAITS_FOR: Duration = Duration::from_secs(3_600);

/// How long the last matched tickets waited, and when they were. Soft: after a restart it fills again. Backfill tickets are not in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastWaits(VecDeque<(Timestamp, Duration)>);

/// What a queue tells. "Servers see all; players see per config".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    /// How many players search; `None` where that is not shown.
    pub players_matching: Option<usize>,
    /// How long matching took; `None` where that is not shown, or nobody was matched in the last [`WAITS_FOR`].
    pub time_to_match: Option<TimeToMatch>,
}

/// How long the last tickets searched before they were matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeToMatch {
    /// On average.
    pub average: Duration,
    /// At most so long for every second.
    pub percentile50: Duration,
    /// For nine of ten.
    pub percentile90: Duration,
    /// For 99 of 100.
    pub percentile99: Duration,
}

impl LastWaits {
    pub(crate) fn add(&mut self, at: Timestamp, wait: Duration) {
        if self.0.len() == WAITS_MAX {
            self.0.pop_front();
        }
        self.0.push_back((at, wait));
    }

    fn told(&self, now: Timestamp) -> Option<TimeToMatch> {
        let lately = self.0.iter().filter(|(at, _)| now.since(*at) < WAITS_FOR);
        let mut waits: Vec<Duration> = lately.map(|(_, wait)| *wait).collect();
        let count = u32::try_from(waits.len()).ok().filter(|count| *count > 0)?;
        waits.sort_unstable();
        // The nearest rank: the least wait that so many of a hundred do not exceed.
        let percentile = |part: usize| waits[(waits.len() * part).div_ceil(100).max(1) - 1];
        Some(TimeToMatch {
            average: waits.iter().sum::<Duration>() / count,
            percentile50: percentile(50),
            percentile90: percentile(90),
            percentile99: percentile(99),
        })
    }
}

impl Queue {
    /// What the queue tells a caller.
    ///
    /// # Errors
    /// [`Rejection::Unauthorized`] for a player where nothing is shown to players, and for a process hosted here; [`Rejection::QueueNotFound`].
    pub fn statistics(&self, caller: &Caller, now: Timestamp) -> Result<Statistics, Rejection> {
        let spec = self.spec.as_ref().ok_or(Rejection::QueueNotFound)?;
        let (players, times) = match caller {
            Caller::Server(_) | Caller::Title => (Shown::ToPlayers, Shown::ToPlayers),
            Caller::Hosted(_) => {
                return Err(Rejection::Unauthorized { who: caller.word(), why: HOSTED_MAY });
            }
            Caller::Player(_) => (spec.visibility.players_matching, spec.visibility.time_to_match),
        };
        if (players, times) == (Shown::Hidden, Shown::Hidden) {
            return Err(Rejection::Unauthorized {
                who: "a player",
                why: "the queue shows its statistics to servers alone",
            });
        }
        let shown = |shown: Shown| shown == Shown::ToPlayers;
        Ok(Statistics {
            players_matching: shown(players).then_some(self.matching.players),
            time_to_match: if shown(times) { self.waits.told(now) } else { None },
        })
    }
}
