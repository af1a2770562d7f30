//! How servers came to stand as they do: changes of their statuses, and how long each status lasted, for whoever watches.
//!
//! Soft: counted while this leader listens, and gone with it; what a replay does again is not counted.

use mainstay_core::Timestamp;

use crate::server::ServerStatus;

const STATUSES: usize = ServerStatus::ALL.len();

/// What the fleet's servers have gone through.
#[derive(Debug, Clone)]
pub struct Tally {
    /// When the turn or the observation is that is being applied.
    now: Timestamp,
    moves: [[u64; STATUSES]; STATUSES],
    lasted: [Lasted; STATUSES],
}

/// How long a status lasted, of all servers together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lasted {
    /// How often at most each of [`Lasted::BOUNDS_S`] and longer than the one before; the last: longer than all.
    pub counts: [u64; Lasted::BOUNDS_S.len() + 1],
    /// All of them together, in milliseconds.
    pub sum_ms: u64,
}

impl Lasted {
    const NONE: Self = Self { counts: [0; Self::BOUNDS_S.len() + 1], sum_ms: 0 };

    /// Where durations are told apart, in seconds: a start, a short match, an hour's, a hold's day, a week's idling.
    pub const BOUNDS_S: [u32; 9] = [1, 5, 30, 120, 600, 1_800, 3_600, 86_400, 604_800];

    fn add(&mut self, ms: u64) {
        let within = |bound: &u32| ms <= u64::from(*bound) * 1_000;
        let slot = Self::BOUNDS_S.iter().position(within).unwrap_or(Self::BOUNDS_S.len());
        if let Some(count) = self.counts.get_mut(slot) {
            *count += 1;
        }
        self.sum_ms = self.sum_ms.saturating_add(ms);
    }
}

/// Whether what is applied happens now, or is told again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    /// It happens.
    Happens,
    /// A journal is replayed, or nobody listens yet.
    Told,
}

impl Tally {
    /// Nothing yet.
    pub(crate) const NONE: Self =
        Self { now: Timestamp::EPOCH, moves: [[0; STATUSES]; STATUSES], lasted: [Lasted::NONE; STATUSES] };

    /// The moment of what is applied next.
    pub(crate) fn at(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
    }

    /// That moment.
    pub(crate) const fn now(&self) -> Timestamp {
        self.now
    }

    /// A server that stood one way since then stands another; from now on it does.
    pub(crate) fn moved(
        &mut self,
        telling: Telling,
        (before, since): (ServerStatus, Timestamp),
        after: ServerStatus,
    ) {
        match telling {
            Telling::Told => {}
            Telling::Happens => {
                self.moves[before as usize][after as usize] += 1;
                self.lasted[before as usize]
                    .add(self.now.since(since).as_millis().try_into().unwrap_or(u64::MAX));
            }
        }
    }

    /// How often a server went from one status to another.
    #[must_use]
    pub const fn moves(&self, from: ServerStatus, to: ServerStatus) -> u64 {
        self.moves[from as usize][to as usize]
    }

    /// How long a status lasted.
    #[must_use]
    pub const fn lasted(&self, status: ServerStatus) -> Lasted {
        self.lasted[status as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_apart_at_their_bounds() {
        let mut lasted = Lasted::default();
        [0, 1_000, 1_001, 604_800_000, 604_800_001].into_iter().for_each(|ms| lasted.add(ms));
        assert_eq!(lasted.counts, [2, 1, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(lasted.sum_ms, 2_001 + 2 * 604_800_000 + 1);
    }
}
