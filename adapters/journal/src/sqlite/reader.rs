//! A reader with its own connection: followers, the projector and the compactor never wait for the writer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, Transaction};

use super::heads::{HeadRow, load, load_one};
use super::mark::Mark;
use super::open::{DirLock, compare, list_fault};
use super::{rows, schema};
use crate::error::{OpenError, ReadError};
use crate::port::{Head, Reader, SnapshotHead};
use crate::types::{Seq, ShardName, TurnRecord};
use crate::walk::damaged;

/// How often a mark is read before it counts as damaged: it has 40 bytes, and tearing it once is rare.
const MARK_READS_MAX: u32 = 5;

/// How far a journal is, and how far it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkedCommits {
    /// The last commit anyone was told of.
    pub marked: u64,
    /// The last commit that is there.
    pub found: u64,
}

/// Reads what is durable in a data directory: one that this process has open, or one of another process.
#[derive(Debug)]
pub struct SqliteReader {
    conn: Connection,
    /// A shard's number never changes.
    numbers: BTreeMap<ShardName, u32>,
    /// The directory stays ours while anyone reads it; `None` where it is another process's.
    _lock: Option<Arc<DirLock>>,
}

impl SqliteReader {
    /// Reads what another process keeps writing, without its lock: what is durable at the moment of each call. For whoever
    /// only looks, as `doctor` does; the file is not repaired, nor its mark judged.
    ///
    /// # Errors
    /// Where the file does not open.
    pub fn beside_its_writer(dir: &Path) -> Result<Self, OpenError> {
        Self::connected(dir.join("journal.db"), None)
    }

    pub(super) fn open(file: PathBuf, lock: Arc<DirLock>) -> Result<Self, OpenError> {
        Self::connected(file, Some(lock))
    }

    fn connected(file: PathBuf, lock: Option<Arc<DirLock>>) -> Result<Self, OpenError> {
        let connect = || {
            // Reading a write-ahead log writes its index, so the file is opened for both and the pragma forbids the rest.
            let conn = schema::connect(&file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            conn.pragma_update(None, "query_only", "ON")?;
            Ok(conn)
        };
        match connect() {
            Ok(conn) => Ok(Self { conn, numbers: BTreeMap::new(), _lock: lock }),
            Err(cause) => {
                let cause: rusqlite::Error = cause;
                Err(OpenError::Io { place: file.display().to_string(), cause: cause.into() })
            }
        }
    }

    /// Whether the journal is at or past the last commit that anyone was told of.
    ///
    /// # Errors
    /// As a start would refuse: the tail is lost, the mark is another's or damaged, or the list of shards is.
    pub fn check_mark(&mut self, dir: &Path) -> Result<MarkedCommits, OpenError> {
        // First: what is written after it may only add. Its writer does not wait for readers, so a torn one is read again.
        let mut tries = 1;
        let marked = loop {
            match Mark::read(dir) {
                Err(OpenError::Mark { .. }) if tries < MARK_READS_MAX => tries += 1,
                read => break read?,
            }
        };
        let marked = marked.ok_or_else(|| OpenError::Mark { file: Mark::path(dir), what: "is missing" })?;
        let file = dir.join("journal.db");
        let io =
            |cause: rusqlite::Error| OpenError::Io { place: file.display().to_string(), cause: cause.into() };
        let view = self.conn.transaction().map_err(io)?;
        let (meta, _shards) = load(&view).map_err(|fault| list_fault(&file, fault))?;
        compare(&file, &meta, marked)?;
        Ok(MarkedCommits { marked: marked.commits, found: meta.commits })
    }

    /// One view of the file for all queries of a call.
    fn view(&mut self) -> Result<Transaction<'_>, ReadError> {
        self.conn.transaction().map_err(rows::io)
    }

    /// The shard's row within a view; looks the number up once.
    fn with_row<T>(
        &mut self,
        shard: &ShardName,
        read: impl FnOnce(&Connection, Option<&HeadRow>) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let known = self.numbers.get(shard).copied();
        let view = self.view()?;
        let row = match known {
            Some(number) => Some(load_one(&view, number)?),
            None => load(&view)?.1.remove(shard),
        };
        if row.as_ref().is_some_and(|row| row.head.shard != *shard) {
            return Err(ReadError::DamagedList { what: "a shard's row names another shard" });
        }
        let value = read(&view, row.as_ref())?;
        drop(view);
        if let Some(row) = row {
            let _same = self.numbers.insert(shard.clone(), row.number);
        }
        Ok(value)
    }
}

impl Reader for SqliteReader {
    fn heads(&mut self) -> Result<Vec<Head>, ReadError> {
        let (_meta, rows) = load(&*self.view()?)?;
        Ok(rows.into_values().map(|row| row.head).collect())
    }

    fn head(&mut self, shard: &ShardName) -> Result<Option<Head>, ReadError> {
        self.with_row(shard, |_conn, row| Ok(row.map(|row| row.head.clone())))
    }

    fn read(&mut self, shard: &ShardName, from: Seq, turns_max: u32) -> Result<Vec<TurnRecord>, ReadError> {
        self.with_row(shard, |conn, row| {
            row.map_or(Ok(Vec::new()), |row| rows::page(conn, row, from, turns_max))
        })
    }

    fn snapshot_chunk(
        &mut self,
        shard: &ShardName,
        snapshot: &SnapshotHead,
        index: u32,
    ) -> Result<Vec<u8>, ReadError> {
        self.with_row(shard, |conn, row| match row {
            Some(row) => rows::chunk(conn, row, snapshot, index),
            None => Err(damaged(shard, snapshot.covers_below, "the shard of a snapshot is missing")),
        })
    }
}
