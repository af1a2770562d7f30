//! The one connection that writes `journal.db`, with what it must remember between commits.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rusqlite::{Connection, ErrorCode, TransactionBehavior, ffi};

use super::heads::{HeadRow, Meta};
use super::mark::{Mark, Marked};
use super::reserve::Reserve;
use crate::chain::Sum;
use crate::error::Cause;
use crate::port::Space;
use crate::types::{Seq, ShardName};

/// After about this many written pages the log is copied into the database: 4 MiB, SQLite's own default. More makes the
/// log and a start's recovery longer, less makes more syncs.
const CHECKPOINT_PAGES: u64 = 1_000;
/// What a page of the file holds.
const PAGE_BYTES: u64 = 4_096;
/// Pages that every commit writes besides its turns: the shard's row, `meta`, the edge of `turns`.
const COMMIT_PAGES: u64 = 3;

/// Why a transaction did not happen.
#[derive(Debug)]
pub(super) enum WriteFault {
    /// No space, the reserve included; nothing was written.
    Full(Cause),
    /// The store failed; nothing is known any more.
    Io(Cause),
}

/// Whether the connection may still be believed.
#[derive(Debug)]
enum Health {
    Working,
    /// A write or sync failed. After that the kernel may show pages that the disk never got.
    Failed,
}

/// A snapshot that is being written. A restart forgets it and begins at chunk 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draft {
    pub(super) below: Seq,
    pub(super) chunks: u32,
    pub(super) sum: Sum,
}

#[derive(Debug)]
pub(super) struct Core {
    pub(super) conn: Connection,
    pub(super) file: PathBuf,
    pub(super) meta: Meta,
    pub(super) shards: BTreeMap<ShardName, HeadRow>,
    pub(super) drafts: BTreeMap<ShardName, Draft>,
    mark: Mark,
    reserve: Reserve,
    health: Health,
    pages_since_checkpoint: u64,
}

impl Core {
    pub(super) fn new(
        conn: Connection,
        file: PathBuf,
        (meta, shards): (Meta, BTreeMap<ShardName, HeadRow>),
        mark: Mark,
        reserve: Reserve,
    ) -> Self {
        let drafts = BTreeMap::new();
        Self {
            conn,
            file,
            meta,
            shards,
            drafts,
            mark,
            reserve,
            health: Health::Working,
            pages_since_checkpoint: 0,
        }
    }

    /// One durable transaction: what `write` does, the changed shards' rows, and the sums. On success the mark says so too.
    /// On a full disk the reserve is given back piece by piece and the transaction repeated, so `write` may run several
    /// times.
    pub(super) fn commit(
        &mut self,
        changed: Vec<HeadRow>,
        bytes: usize,
        write: impl Fn(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), WriteFault> {
        self.check_health()?;
        let mut meta = self.meta;
        meta.commits += 1;
        for row in &changed {
            match self.shards.get(&row.head.shard) {
                Some(old) => meta.heads ^= old.digest(),
                None => meta.shards += 1,
            }
            meta.heads ^= row.digest();
        }
        self.with_reserve(bytes, |conn| {
            let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            write(&transaction)?;
            for row in &changed {
                row.save(&transaction)?;
            }
            meta.update(&transaction)?;
            transaction.commit()
        })?;
        self.meta = meta;
        for row in changed {
            let _old = self.shards.insert(row.head.shard.clone(), row);
        }
        let marked = self.mark.set(Marked::from(&self.meta));
        self.or_failed(marked.map_err(|error| WriteFault::Io(error.into())))?;
        self.pages_since_checkpoint += COMMIT_PAGES + (bytes as u64).div_ceil(PAGE_BYTES);
        if self.pages_since_checkpoint >= CHECKPOINT_PAGES {
            self.checkpoint()?;
        }
        Ok(())
    }

    /// The room there is; refills the reserve where it can.
    pub(super) fn space(&mut self) -> Result<Space, WriteFault> {
        self.check_health()?;
        let space = self.reserve.refill();
        self.or_failed(space.map_err(|error| WriteFault::Io(error.into())))
    }

    /// Copies the log into the database, so that the log's space is used again. Never waits for readers. Without space
    /// for it the log grows on, which is the reserve's to bear.
    fn checkpoint(&mut self) -> Result<(), WriteFault> {
        match self.copy_log() {
            Ok(()) => {
                let synced = self.mark.sync();
                self.or_failed(synced.map_err(|error| WriteFault::Io(error.into())))
            }
            Err(WriteFault::Full(cause)) => {
                tracing::warn!(%cause, "no space to copy the journal's log into its database; trying again later");
                self.pages_since_checkpoint /= 2;
                Ok(())
            }
            Err(fault @ WriteFault::Io(_)) => Err(fault),
        }
    }

    fn copy_log(&mut self) -> Result<(), WriteFault> {
        loop {
            let done = self.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_row| Ok(()));
            match done {
                Ok(()) => {
                    self.pages_since_checkpoint = 0;
                    return Ok(());
                }
                Err(error) => self.make_room(error, 0)?,
            }
        }
    }

    /// Repeats a step that met a full disk. The first thing to try is the log itself: once copied it is written over from
    /// its start, and the database grows by far less than the log would.
    fn with_reserve(
        &mut self,
        bytes: usize,
        step: impl Fn(&mut Connection) -> rusqlite::Result<()>,
    ) -> Result<(), WriteFault> {
        let Err(error) = step(&mut self.conn) else { return Ok(()) };
        if is_full(&error) {
            match self.copy_log() {
                Ok(()) | Err(WriteFault::Full(_)) => {}
                Err(fault @ WriteFault::Io(_)) => return Err(fault),
            }
        } else {
            return self.or_failed(Err(WriteFault::Io(error.into())));
        }
        loop {
            match step(&mut self.conn) {
                Ok(()) => return Ok(()),
                Err(error) => self.make_room(error, bytes)?,
            }
        }
    }

    /// Gives back a piece of the reserve where an error means a full disk; any other error ends the process.
    fn make_room(&mut self, error: rusqlite::Error, bytes: usize) -> Result<(), WriteFault> {
        if !is_full(&error) {
            return self.or_failed(Err(WriteFault::Io(error.into())));
        }
        match self.reserve.give_back(bytes as u64) {
            Ok(true) => {
                tracing::warn!(space = ?self.reserve.space(), "disk full: the journal uses its reserve");
                Ok(())
            }
            Ok(false) => Err(WriteFault::Full(error.into())),
            Err(error) => self.or_failed(Err(WriteFault::Io(error.into()))),
        }
    }

    fn or_failed<T>(&mut self, result: Result<T, WriteFault>) -> Result<T, WriteFault> {
        if let Err(WriteFault::Io(_)) = &result {
            self.health = Health::Failed;
        }
        result
    }

    fn check_health(&self) -> Result<(), WriteFault> {
        match self.health {
            Health::Working => Ok(()),
            Health::Failed => Err(WriteFault::Io("an earlier write failed; the process must end".into())),
        }
    }
}

/// Whether an error means a full disk and a transaction that did not happen. The log's index file grows too, and says so
/// by a code of its own.
fn is_full(error: &rusqlite::Error) -> bool {
    let full = |failure: &ffi::Error| {
        failure.code == ErrorCode::DiskFull || failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE
    };
    error.sqlite_error().is_some_and(full)
}
