//! The narrow port every store stands behind.
//!
//! Blocking on purpose: the runtime gives the journal a thread of its own. A handle that reads ([`Reader`]) never waits
//! for one that writes. What a reader sees is durable: followers, history and the compactor feed on it.

use std::time::Duration;

use mainstay_core::Timestamp;

use crate::error::{AppendError, LeadError, LeaseError, MaintainError, ReadError};
use crate::types::{Epoch, Seq, ShardName, TurnRecord};

/// The most turns one page holds: a page of ordinary turns (200 bytes) stays under a megabyte.
pub const PAGE_TURNS_MAX: u32 = 4_096;
/// A page ends after the turn that reaches this many bytes: what one reader holds in memory at a time.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The largest chunk of a snapshot that holds more than one event: the longest the writer waits for one maintenance step is this many
/// bytes' sync.
pub const SNAPSHOT_CHUNK_BYTES_MAX: usize = 1024 * 1024;
/// The largest event. A body is at most 2 MiB; a match of a hundred players with 8 KiB of attributes each, and what its rules read of them, is
/// less than 2. In a snapshot one that is larger than a chunk is a chunk by itself.
pub const EVENT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The most turns one [`Journal::forget`] deletes: a few milliseconds between two batches.
pub const FORGET_STEP_TURNS_MAX: u32 = 1_024;

/// How long a node's lease runs: what a dead leader's shards wait for before another takes them.
pub const LEASE: Duration = Duration::from_secs(2);
/// How often a node renews: three renewals may fail before the lease runs out.
pub const LEASE_RENEWED_EVERY: Duration = Duration::from_millis(500);

/// A complete snapshot: the shortest story that rebuilds a shard's state before `covers_below`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotHead {
    /// It stands for every event below this one; replay goes on from here.
    pub covers_below: Seq,
    /// The time of the last turn it covers: the clock never starts below.
    pub at: Timestamp,
    /// How many chunks it has.
    pub chunks: u32,
    /// The checksum of the chain of its chunks.
    pub(crate) sum: u32,
}

/// What a store knows of a shard without reading its turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Which shard.
    pub shard: ShardName,
    /// The epoch of its last leader.
    pub epoch: Epoch,
    /// The number its next event gets; everything below is durable.
    pub next: Seq,
    /// The time of its last durable turn; the epoch of time where it has none.
    pub last_at: Timestamp,
    /// The oldest event still held as a turn; equals `next` where every turn is compacted away.
    pub oldest: Seq,
    /// Its latest complete snapshot.
    pub snapshot: Option<SnapshotHead>,
}

impl Head {
    /// Where replay of turns begins: after the snapshot, else at the first event.
    #[must_use]
    pub fn replay_from(&self) -> Seq {
        self.snapshot.map_or(Seq::FIRST, |snapshot| snapshot.covers_below)
    }
}

/// Reads what is durable. A handle belongs to one thread; open as many as there are threads that read.
pub trait Reader: Send {
    /// Every shard the journal holds, by name.
    ///
    /// # Errors
    /// Damage, or the store failing.
    fn heads(&mut self) -> Result<Vec<Head>, ReadError>;

    /// One shard; `None` where nobody has led it yet.
    ///
    /// # Errors
    /// Damage, or the store failing.
    fn head(&mut self, shard: &ShardName) -> Result<Option<Head>, ReadError>;

    /// The turns from the one that holds event `from`, in order: at most `turns_max` (and [`PAGE_TURNS_MAX`]) and about
    /// [`PAGE_BYTES_MAX`]. Empty means that nothing at or after `from` is durable yet. Go on from the last turn's `next()`.
    ///
    /// # Errors
    /// [`ReadError::Compacted`] where `from` is older than what is kept; damage; the store failing.
    fn read(&mut self, shard: &ShardName, from: Seq, turns_max: u32) -> Result<Vec<TurnRecord>, ReadError>;

    /// One chunk of a snapshot, `index` from 0 to `snapshot.chunks - 1`.
    ///
    /// # Errors
    /// Damage (also where a newer snapshot has replaced this one meanwhile: take the head again), or the store failing.
    fn snapshot_chunk(
        &mut self,
        shard: &ShardName,
        snapshot: &SnapshotHead,
        index: u32,
    ) -> Result<Vec<u8>, ReadError>;
}

/// How much room the store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Enough; the reserve is whole.
    Ample,
    /// The disk is full and the preallocated reserve is being used.
    Reserve {
        /// What is left of it, in bytes.
        left_bytes: u64,
    },
}

/// What a durable append reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The room that is left.
    pub space: Space,
}

/// How long the holder may answer from its state without asking the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// For as long as the process lives: a lock on the data directory guards it.
    Exclusive,
    /// For this long, counted on the holder's own monotonic clock *from the sending* of the renewal.
    Until {
        /// The length of the lease.
        valid: Duration,
    },
}

/// The right to append to a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// Which shard, and where it stands: `head.epoch` is the epoch of this leadership.
    pub head: Head,
}

impl Leadership {
    /// The shard that is led.
    #[must_use]
    pub const fn shard(&self) -> &ShardName {
        &self.head.shard
    }
}

/// What a step of deletion came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgot {
    /// There is more to delete: call again.
    Some,
    /// Everything asked for is gone.
    All,
}

/// Appends, leads and maintains. Appends of one shard come from one leader, fenced by epoch and sequence.
pub trait Journal: Reader {
    /// Makes a batch durable, whole or not at all. Turns of a shard follow one another; their epoch is the shard's.
    ///
    /// # Errors
    /// See [`AppendError`]: each variant says whether something may have been written and what ends by it.
    fn append(&mut self, batch: &[TurnRecord]) -> Result<Appended, AppendError>;

    /// The room there is now; makes the reserve whole again where the disk allows. Called about once a second while the
    /// last answer was not [`Space::Ample`].
    ///
    /// # Errors
    /// The store failing.
    fn space(&mut self) -> Result<Space, AppendError>;

    /// Renews this node's lease. Call every 0.5 s where the answer is not [`Lease::Exclusive`].
    ///
    /// # Errors
    /// See [`LeaseError`].
    fn renew(&mut self) -> Result<Lease, LeaseError>;

    /// Takes the leadership of a shard (making the shard where it is new): first declares the old leader's incarnation
    /// dead where its lease has run out, then raises the epoch. Asking again for a shard one leads raises it again.
    ///
    /// # Errors
    /// See [`LeadError`].
    fn lead(&mut self, shard: &ShardName) -> Result<Leadership, LeadError>;

    /// Writes chunk `index` of a new snapshot that covers everything below `covers_below`. Chunks come in order from 0;
    /// writing chunk 0 drops an unfinished snapshot. At most [`EVENT_BYTES_MAX`] bytes. Not seen by readers
    /// until [`Journal::finish_snapshot`].
    ///
    /// # Errors
    /// See [`MaintainError`].
    fn write_snapshot_chunk(
        &mut self,
        shard: &ShardName,
        covers_below: Seq,
        index: u32,
        bytes: &[u8],
    ) -> Result<(), MaintainError>;

    /// Makes the snapshot written so far the shard's latest. `at` is the time of the last turn it covers, or later.
    ///
    /// # Errors
    /// See [`MaintainError`].
    fn finish_snapshot(
        &mut self,
        shard: &ShardName,
        covers_below: Seq,
        at: Timestamp,
    ) -> Result<SnapshotHead, MaintainError>;

    /// Deletes turns below `below` (and chunks of replaced snapshots), at most `turns_max` (and
    /// [`FORGET_STEP_TURNS_MAX`]) in this step.
    ///
    /// # Errors
    /// [`MaintainError::NotCovered`] where the latest snapshot does not cover them; the store failing.
    fn forget(&mut self, shard: &ShardName, below: Seq, turns_max: u32) -> Result<Forgot, MaintainError>;
}
