//! The default store: one SQLite file for each data directory, one writer, one transaction a sync.
//!
//! | file | what |
//! |---|---|
//! | `journal.lock` | locked (`flock`) by the process that has the directory |
//! | `journal.db`, `-wal`, `-shm` | turns, snapshots, shards |
//! | `journal.mark` | the last commit anyone was told of |
//! | `journal.reserve` | room for when the disk is full |
//!
//! Nothing that is missing passes for nothing that happened: see `heads` and `mark`.

mod append;
mod core;
mod heads;
mod mark;
mod open;
mod reader;
mod reserve;
mod rows;
mod schema;
mod snapshot;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainstay_core::Timestamp;

use crate::error::{AppendError, LeadError, LeaseError, MaintainError, OpenError, ReadError};
use crate::port::{Appended, Forgot, Head, Journal, Leadership, Lease, Reader, SnapshotHead, Space};
use crate::types::{Seq, ShardName, TurnRecord};
use crate::walk::damaged;

use self::core::Core;
pub use reader::{MarkedCommits, SqliteReader};

/// A handle on the one writer of a data directory. Clones share it: the runtime's writer thread and the compactor each
/// have one, and wait for one another for a step at a time.
#[derive(Clone, Debug)]
pub struct SqliteJournal {
    core: Arc<Mutex<Core>>,
    lock: Arc<open::DirLock>,
}

impl SqliteJournal {
    /// Opens the journal of a data directory, making both where they are new.
    ///
    /// # Errors
    /// Where another process has the directory, acknowledged turns are gone, something is damaged, or the disk fails.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        let (lock, core) = open::open(dir)?;
        Ok(Self { core: Arc::new(Mutex::new(core)), lock: Arc::new(lock) })
    }

    /// A reader with a connection of its own, for another thread.
    ///
    /// # Errors
    /// Where the file does not open.
    pub fn reader(&self) -> Result<SqliteReader, OpenError> {
        SqliteReader::open(self.file(), Arc::clone(&self.lock))
    }

    fn file(&self) -> PathBuf {
        self.core().file.clone()
    }

    /// A panic in one holder leaves no half-changed core: rows are adopted only after their commit.
    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader for SqliteJournal {
    fn heads(&mut self) -> Result<Vec<Head>, ReadError> {
        Ok(self.core().shards.values().map(|row| row.head.clone()).collect())
    }

    fn head(&mut self, shard: &ShardName) -> Result<Option<Head>, ReadError> {
        Ok(self.core().shards.get(shard).map(|row| row.head.clone()))
    }

    fn read(&mut self, shard: &ShardName, from: Seq, turns_max: u32) -> Result<Vec<TurnRecord>, ReadError> {
        let core = self.core();
        core.shards.get(shard).map_or(Ok(Vec::new()), |row| rows::page(&core.conn, row, from, turns_max))
    }

    fn snapshot_chunk(
        &mut self,
        shard: &ShardName,
        snapshot: &SnapshotHead,
        index: u32,
    ) -> Result<Vec<u8>, ReadError> {
        let core = self.core();
        match core.shards.get(shard) {
            Some(row) => rows::chunk(&core.conn, row, snapshot, index),
            None => Err(damaged(shard, snapshot.covers_below, "the shard of a snapshot is missing")),
        }
    }
}

impl Journal for SqliteJournal {
    fn append(&mut self, batch: &[TurnRecord]) -> Result<Appended, AppendError> {
        append::append(&mut self.core(), batch)
    }

    fn space(&mut self) -> Result<Space, AppendError> {
        append::space(&mut self.core())
    }

    fn renew(&mut self) -> Result<Lease, LeaseError> {
        Ok(Lease::Exclusive)
    }

    fn lead(&mut self, shard: &ShardName) -> Result<Leadership, LeadError> {
        append::lead(&mut self.core(), shard)
    }

    fn write_snapshot_chunk(
        &mut self,
        shard: &ShardName,
        covers_below: Seq,
        index: u32,
        bytes: &[u8],
    ) -> Result<(), MaintainError> {
        snapshot::write_chunk(&mut self.core(), shard, covers_below, index, bytes)
    }

    fn finish_snapshot(
        &mut self,
        shard: &ShardName,
        covers_below: Seq,
        at: Timestamp,
    ) -> Result<SnapshotHead, MaintainError> {
        snapshot::finish(&mut self.core(), shard, covers_below, at)
    }

    fn forget(&mut self, shard: &ShardName, below: Seq, turns_max: u32) -> Result<Forgot, MaintainError> {
        snapshot::forget(&mut self.core(), shard, below, turns_max)
    }
}
