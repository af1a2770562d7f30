//! What `journal.db` knows about its shards, and the sums that show that none of it is missing.
//!
//! Rows of turns chain to one another, but a chain alone does not show that its end is missing, nor a list that an entry
//! is. So each shard's row holds the end of its chain, `meta` the sum of all shards' rows, and the mark the same.

use std::collections::BTreeMap;

use mainstay_core::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use crate::chain::Sum;
use crate::port::{Head, SnapshotHead};
use crate::types::{Epoch, Seq, ShardName};

/// Names a journal, so that a mark from another data directory is not believed.
pub(super) type JournalId = [u8; 16];

/// The one row of `meta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) journal: JournalId,
    /// How many transactions there have been: what the mark is compared with.
    pub(super) commits: u64,
    pub(super) shards: u32,
    /// Every shard row's digest, combined by exclusive or.
    pub(super) heads: u32,
}

/// One row of `shards`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeadRow {
    pub(super) number: u32,
    pub(super) head: Head,
    /// The sum of its last turn.
    pub(super) sum: Sum,
    /// The sum of the turn before its oldest kept one: where the chain of what is kept begins.
    pub(super) oldest_sum: Sum,
}

/// What is wrong with the list of shards.
#[derive(Debug)]
pub(super) enum ListFault {
    Damaged(&'static str),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for ListFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Meta {
    fn sum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.journal);
        hasher.update(&self.commits.to_le_bytes());
        hasher.update(&self.shards.to_le_bytes());
        hasher.update(&self.heads.to_le_bytes());
        hasher.finalize()
    }

    /// Adds the row of a new journal.
    pub(super) fn insert(&self, conn: &Connection) -> rusqlite::Result<()> {
        let sql =
            "INSERT INTO meta (id, journal, commits, shards, heads, sum) VALUES (1, ?1, ?2, ?3, ?4, ?5)";
        let commits = self.commits.cast_signed();
        conn.execute(sql, params![self.journal, commits, self.shards, self.heads, self.sum()]).map(|_one| ())
    }

    /// Writes the row anew.
    pub(super) fn update(&self, conn: &Connection) -> rusqlite::Result<()> {
        let sql = "UPDATE meta SET commits = ?1, shards = ?2, heads = ?3, sum = ?4 WHERE id = 1";
        let values = params![self.commits.cast_signed(), self.shards, self.heads, self.sum()];
        match conn.prepare_cached(sql)?.execute(values)? {
            1 => Ok(()),
            other => Err(rusqlite::Error::StatementChangedRows(other)),
        }
    }

    fn read(conn: &Connection) -> Result<Self, ListFault> {
        let sql = "SELECT journal, commits, shards, heads, sum FROM meta WHERE id = 1";
        let row = conn.prepare_cached(sql)?.query_row([], |row| {
            let meta = Self {
                journal: row.get(0)?,
                commits: row.get::<_, i64>(1)?.cast_unsigned(),
                shards: row.get(2)?,
                heads: row.get(3)?,
            };
            Ok((meta, row.get::<_, u32>(4)?))
        });
        match row.optional()? {
            None => Err(ListFault::Damaged("its meta row is missing")),
            Some((meta, sum)) if meta.sum() == sum => Ok(meta),
            Some(_) => Err(ListFault::Damaged("its meta row does not match its sum")),
        }
    }
}

impl HeadRow {
    /// The row of a shard nobody has led yet.
    pub(super) fn new(number: u32, shard: ShardName) -> Self {
        let start = Sum::start(&shard);
        let head = Head {
            shard,
            epoch: Epoch::NONE,
            next: Seq::FIRST,
            last_at: Timestamp::EPOCH,
            oldest: Seq::FIRST,
            snapshot: None,
        };
        Self { number, head, sum: start, oldest_sum: start }
    }

    /// The sum over everything in the row.
    pub(super) fn digest(&self) -> u32 {
        let Head { shard, epoch, next, last_at, oldest, snapshot } = &self.head;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.number.to_le_bytes());
        for part in [epoch.0, next.0, last_at.unix_ms(), oldest.0] {
            hasher.update(&part.to_le_bytes());
        }
        hasher.update(&self.sum.0.to_le_bytes());
        hasher.update(&self.oldest_sum.0.to_le_bytes());
        match snapshot {
            None => hasher.update(&[0]),
            Some(SnapshotHead { covers_below, at, chunks, sum }) => {
                hasher.update(&[1]);
                hasher.update(&covers_below.0.to_le_bytes());
                hasher.update(&at.unix_ms().to_le_bytes());
                hasher.update(&chunks.to_le_bytes());
                hasher.update(&sum.to_le_bytes());
            }
        }
        hasher.update(shard.as_str().as_bytes());
        hasher.finalize()
    }

    /// Writes the row.
    pub(super) fn save(&self, conn: &Connection) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO shards
            (number, name, epoch, next, last_at, sum, oldest, oldest_sum,
             snap_below, snap_at, snap_chunks, snap_sum, digest)
            VALUES (:number, :name, :epoch, :next, :last_at, :sum, :oldest, :oldest_sum,
                    :snap_below, :snap_at, :snap_chunks, :snap_sum, :digest)";
        let Head { shard, epoch, next, last_at, oldest, snapshot } = &self.head;
        conn.prepare_cached(sql)?
            .execute(named_params! {
                ":number": self.number,
                ":name": shard.as_str(),
                ":epoch": epoch.0.cast_signed(),
                ":next": next.0.cast_signed(),
                ":last_at": last_at.unix_ms().cast_signed(),
                ":sum": self.sum.0,
                ":oldest": oldest.0.cast_signed(),
                ":oldest_sum": self.oldest_sum.0,
                ":snap_below": snapshot.map(|snapshot| snapshot.covers_below.0.cast_signed()),
                ":snap_at": snapshot.map(|snapshot| snapshot.at.unix_ms().cast_signed()),
                ":snap_chunks": snapshot.map(|snapshot| snapshot.chunks),
                ":snap_sum": snapshot.map(|snapshot| snapshot.sum),
                ":digest": self.digest(),
            })
            .map(|_one| ())
    }
}

/// Every shard with the meta row, checked against the sums.
pub(super) fn load(conn: &Connection) -> Result<(Meta, BTreeMap<ShardName, HeadRow>), ListFault> {
    let meta = Meta::read(conn)?;
    let mut statement = conn.prepare_cached(SELECT_HEADS)?;
    let mut rows = statement.query([])?;
    let mut shards = BTreeMap::new();
    let mut heads = 0;
    while let Some(row) = rows.next()? {
        let row = from_row(row)?;
        heads ^= row.digest();
        let _same = shards.insert(row.head.shard.clone(), row);
    }
    if shards.len() != usize::try_from(meta.shards).unwrap_or(usize::MAX) || heads != meta.heads {
        return Err(ListFault::Damaged("shards are missing or older than their sum"));
    }
    Ok((meta, shards))
}

/// One shard's row, checked against its own sum.
pub(super) fn load_one(conn: &Connection, number: u32) -> Result<HeadRow, ListFault> {
    let mut statement = conn.prepare_cached(SELECT_HEAD)?;
    let mut rows = statement.query([number])?;
    match rows.next()? {
        Some(row) => from_row(row),
        None => Err(ListFault::Damaged("a shard's row has gone")),
    }
}

const SELECT_HEADS: &str = "SELECT number, name, epoch, next, last_at, sum, oldest, oldest_sum,
    snap_below, snap_at, snap_chunks, snap_sum, digest FROM shards ORDER BY number";
const SELECT_HEAD: &str = "SELECT number, name, epoch, next, last_at, sum, oldest, oldest_sum,
    snap_below, snap_at, snap_chunks, snap_sum, digest FROM shards WHERE number = ?1";

fn from_row(row: &Row<'_>) -> Result<HeadRow, ListFault> {
    let name: String = row.get(1)?;
    let shard = ShardName::new(&name).map_err(|_| ListFault::Damaged("a shard's name is none"))?;
    let int = |index: usize| row.get::<_, i64>(index).map(i64::cast_unsigned);
    let snapshot = match row.get::<_, Option<i64>>(8)? {
        None => None,
        Some(below) => Some(SnapshotHead {
            covers_below: Seq(below.cast_unsigned()),
            at: Timestamp::from_unix_ms(int(9)?),
            chunks: row.get(10)?,
            sum: row.get(11)?,
        }),
    };
    let head = Head {
        shard,
        epoch: Epoch(int(2)?),
        next: Seq(int(3)?),
        last_at: Timestamp::from_unix_ms(int(4)?),
        oldest: Seq(int(6)?),
        snapshot,
    };
    let row_of = HeadRow { number: row.get(0)?, head, sum: Sum(row.get(5)?), oldest_sum: Sum(row.get(7)?) };
    if row_of.digest() == row.get::<_, u32>(12)? {
        Ok(row_of)
    } else {
        Err(ListFault::Damaged("a shard's row does not match its sum"))
    }
}
