//! How often sessions moved and how long that took, for whoever measures. Soft: counted while this leader listens, and gone with it.

use core::time::Duration;

use mainstay_core::Buckets;

/// Why a session got another host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Its host handed over.
    Controlled,
    /// Its host was lost, or left.
    Catastrophic,
}

impl Cause {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Controlled, Self::Catastrophic];

    /// As seed 000 calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Controlled => "controlled",
            Self::Catastrophic => "catastrophic",
        }
    }
}

/// The gaps that are told apart, in milliseconds: from what nobody notices to the budget of seed 000.
pub const GAPS_MS: [u64; 9] = [100, 250, 500, 1_000, 1_500, 3_000, 6_000, 15_000, 30_000];

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    controlled: Moves,
    catastrophic: Moves,
}

/// Of one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moves {
    granted: u64,
    gaps: Buckets<{ GAPS_MS.len() }>,
}

impl Default for Tally {
    fn default() -> Self {
        let none = Moves { granted: 0, gaps: Buckets::new(&GAPS_MS) };
        Self { controlled: none, catastrophic: none }
    }
}

impl Tally {
    /// How many hosts were granted an epoch after another host's.
    #[must_use]
    pub const fn granted(&self, cause: Cause) -> u64 {
        self.of(cause).granted
    }

    /// From the last sign of the old host to the first of the new one, in milliseconds, as the lobby heard them.
    #[must_use]
    pub const fn gaps(&self, cause: Cause) -> &Buckets<{ GAPS_MS.len() }> {
        &self.of(cause).gaps
    }

    const fn of(&self, cause: Cause) -> &Moves {
        match cause {
            Cause::Controlled => &self.controlled,
            Cause::Catastrophic => &self.catastrophic,
        }
    }

    const fn of_mut(&mut self, cause: Cause) -> &mut Moves {
        match cause {
            Cause::Controlled => &mut self.controlled,
            Cause::Catastrophic => &mut self.catastrophic,
        }
    }

    pub(crate) const fn moved(&mut self, cause: Cause) {
        self.of_mut(cause).granted += 1;
    }

    pub(crate) fn took(&mut self, cause: Cause, gap: Duration) {
        self.of_mut(cause).gaps.add(u64::try_from(gap.as_millis()).unwrap_or(u64::MAX));
    }
}
