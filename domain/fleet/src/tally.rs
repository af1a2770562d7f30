//! How servers came to stand as they do: changes of their statuses, and how long each status lasted, for whoever watches.
//!
//! Soft: counted while this leader listens, and gone with it; what a replay does again is not counted.

use mainstay_core::{Buckets, Timestamp};

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

/// How long a status lasted, of all servers together, in milliseconds.
pub type Lasted = Buckets<{ LASTED_MS.len() }>;

/// Where durations are told apart: a start, a short match, an hour's, a hold's day, a week's idling.
const LASTED_MS: [u64; 9] =
    [1_000, 5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, 86_400_000, 604_800_000];

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
    pub(crate) const NONE: Self = Self {
        now: Timestamp::EPOCH,
        moves: [[0; STATUSES]; STATUSES],
        lasted: [Lasted::new(&LASTED_MS); STATUSES],
    };

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
