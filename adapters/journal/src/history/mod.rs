//! `history.sqlite`: what people ask about later. Not the journal: losing it loses no state.
//!
//! A projector follows the durable tail and writes one row for each event that its renderer finds worth telling. Old rows
//! go by age and by count. Where turns were compacted away before it saw them, it tells of the gap instead.

mod error;
mod tables;

use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use mainstay_core::Timestamp;
use rusqlite::Connection;

use crate::error::Cause;
use crate::port::{Head, Reader};
use crate::types::{Seq, ShardName, TurnRecord};

pub use error::HistoryError;
use tables::Bounds;

/// How many turns one transaction takes: some milliseconds, so that readers of the history see it grow.
const PAGE_TURNS: u32 = 1_024;
/// How many rows one [`History::prune`] deletes.
const PRUNE_STEP: usize = 2_000;
/// The most rows one [`History::find`] returns: a page of a list.
pub const FIND_ROWS_MAX: u32 = 1_000;
/// The most subjects of one row: an event names a server, its machine, its allocation, its fleet.
pub const SUBJECTS_MAX: usize = 8;

/// One row to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Which event of the turn, from 0.
    pub index: u32,
    /// The event's kind, in the words of the API: `allocation.placed`.
    pub kind: String,
    /// The ids it is about, in their printed forms; the first [`SUBJECTS_MAX`] are kept.
    pub subjects: Vec<String>,
    /// Everything else, as JSON or text.
    pub detail: String,
}

/// One row as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRow {
    /// Rises with each row; pages go on from it.
    pub id: i64,
    /// Whose event.
    pub shard: String,
    /// Its number.
    pub seq: Seq,
    /// When it happened.
    pub at: Timestamp,
    /// Its kind.
    pub kind: String,
    /// The ids it is about.
    pub subjects: Vec<String>,
    /// Everything else.
    pub detail: String,
}

/// What of the history is asked for.
#[derive(Clone, Copy, Debug)]
pub enum About<'a> {
    /// All of it.
    Everything,
    /// What names this id.
    Subject(&'a str),
    /// What happened in this shard.
    Shard(&'a str),
}

/// How many events of a kind happened in a step of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    /// When the step begins.
    pub at: Timestamp,
    /// Their kind.
    pub kind: String,
    /// How many.
    pub count: u64,
}

/// The most steps one [`History::count`] tells apart: a week in quarters of an hour.
pub const COUNT_STEPS_MAX: u64 = 700;

/// How long rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Older rows go.
    pub age_max: Duration,
    /// Of more rows than this the oldest go.
    pub rows_max: u64,
}

impl Retention {
    /// Thirty days, for "what happened last week"; a million rows are about 300 MB.
    pub const STANDARD: Self = Self { age_max: Duration::from_secs(30 * 24 * 60 * 60), rows_max: 1_000_000 };
}

/// Whether a step of pruning found everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruned {
    /// There is more: call again.
    Some,
    /// Nothing is left to go.
    All,
}

/// The open history.
#[derive(Debug)]
pub struct History {
    conn: Connection,
}

/// For its owner's eyes alone, whatever its folder is open to; the database's own files beside it get the same mode.
fn make_private(file: &Path) -> io::Result<()> {
    const PRIVATE: u32 = 0o600;
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(PRIVATE).open(file)?;
    file.set_permissions(Permissions::from_mode(PRIVATE))
}

impl History {
    /// Opens the history of a data directory. One that is damaged is put aside as `history.sqlite.damaged`, and a new one
    /// begins.
    ///
    /// # Errors
    /// Where the disk fails, or a newer Mainstay wrote it.
    pub fn open(dir: &Path) -> Result<Self, HistoryError> {
        let file = dir.join("history.sqlite");
        make_private(&file).map_err(|error| HistoryError::Io { cause: error.into() })?;
        Ok(Self { conn: tables::open(&file)? })
    }

    /// Takes what has become durable since the last call, of every shard. Returns how many turns that were.
    ///
    /// # Errors
    /// Where reading or writing fails; what was taken before stays.
    pub fn follow(
        &mut self,
        reader: &mut impl Reader,
        mut tell: impl FnMut(&TurnRecord) -> Result<Vec<Told>, Cause>,
    ) -> Result<u64, HistoryError> {
        let mut taken = 0;
        for head in reader.heads().map_err(HistoryError::read)? {
            let shard = &head.shard;
            let mut next = tables::followed(&self.conn, shard)?.unwrap_or(head.oldest);
            if next > head.next {
                // This journal is another, or an older copy: its numbers say something else now.
                next = head.oldest;
            }
            if next < head.oldest {
                self.tell_gap(shard, next, head.oldest, head.last_at)?;
                next = head.oldest;
            }
            while next < head.next {
                let page = reader.read(shard, next, PAGE_TURNS).map_err(HistoryError::read)?;
                let Some(last) = page.last() else { break };
                next = last.next();
                self.take(shard, next, &page, &mut tell)?;
                taken += page.len() as u64;
            }
        }
        Ok(taken)
    }

    /// How many durable events of all shards the history has not seen yet.
    ///
    /// # Errors
    /// Where reading fails.
    pub fn behind(&self, heads: &[Head]) -> Result<u64, HistoryError> {
        let mut behind = 0;
        for head in heads {
            let next = tables::followed(&self.conn, &head.shard)?.unwrap_or(head.oldest);
            behind += head.next.0.saturating_sub(next.0);
        }
        Ok(behind)
    }

    fn tell_gap(&mut self, shard: &ShardName, from: Seq, to: Seq, at: Timestamp) -> Result<(), HistoryError> {
        let detail =
            format!("events {from} to {} were compacted away before the history saw them", to.before());
        let gap = Told { index: 0, kind: "history.gap".to_owned(), subjects: Vec::new(), detail };
        let transaction = self.conn.transaction()?;
        tables::insert(&transaction, shard, from, at, &gap)?;
        tables::set_followed(&transaction, shard, to)?;
        Ok(transaction.commit()?)
    }

    fn take(
        &mut self,
        shard: &ShardName,
        next: Seq,
        page: &[TurnRecord],
        tell: &mut impl FnMut(&TurnRecord) -> Result<Vec<Told>, Cause>,
    ) -> Result<(), HistoryError> {
        let transaction = self.conn.transaction()?;
        for turn in page {
            let told = tell(turn).map_err(|cause| HistoryError::Tell {
                shard: shard.clone(),
                at: turn.first,
                cause,
            })?;
            for row in &told {
                tables::insert(&transaction, shard, turn.first.plus(row.index.into()), turn.at, row)?;
            }
        }
        tables::set_followed(&transaction, shard, next)?;
        Ok(transaction.commit()?)
    }

    /// Deletes some of what is older or more than `retention` keeps.
    ///
    /// # Errors
    /// Where writing fails.
    pub fn prune(&mut self, now: Timestamp, retention: Retention) -> Result<Pruned, HistoryError> {
        let cut = now.back(retention.age_max).unix_ms().cast_signed();
        let rows_max = i64::try_from(retention.rows_max).unwrap_or(i64::MAX);
        let gone = tables::outlived(&self.conn, cut, rows_max, PRUNE_STEP)?;
        if gone.is_empty() {
            return Ok(Pruned::All);
        }
        let transaction = self.conn.transaction()?;
        gone.iter().try_for_each(|row| tables::forget(&transaction, row))?;
        transaction.commit()?;
        Ok(if gone.len() < PRUNE_STEP { Pruned::All } else { Pruned::Some })
    }

    /// Rows with ids below `before` (`i64::MAX`: the newest), newest first, at most `rows_max` and [`FIND_ROWS_MAX`].
    ///
    /// # Errors
    /// Where reading fails.
    pub fn find(
        &self,
        about: About<'_>,
        before: i64,
        rows_max: u32,
    ) -> Result<Vec<HistoryRow>, HistoryError> {
        tables::find(&self.conn, about, Bounds::Before(before), rows_max.clamp(1, FIND_ROWS_MAX))
    }

    /// Rows from `from` and before `to`, newest first, at most `rows_max` and [`FIND_ROWS_MAX`].
    ///
    /// # Errors
    /// Where reading fails.
    pub fn find_within(
        &self,
        about: About<'_>,
        (from, to): (Timestamp, Timestamp),
        rows_max: u32,
    ) -> Result<Vec<HistoryRow>, HistoryError> {
        tables::find(&self.conn, about, Bounds::Times(from, to), rows_max.clamp(1, FIND_ROWS_MAX))
    }

    /// How many events of each kind happened from `from` and before `to`, in steps of `step`, oldest first; a step without
    /// any is not told. A step so short that there would be more than [`COUNT_STEPS_MAX`] is lengthened.
    ///
    /// # Errors
    /// Where reading fails.
    pub fn count(
        &self,
        about: About<'_>,
        from: Timestamp,
        to: Timestamp,
        step: Duration,
    ) -> Result<Vec<Happened>, HistoryError> {
        let whole = to.unix_ms().saturating_sub(from.unix_ms());
        let asked = u64::try_from(step.as_millis()).unwrap_or(u64::MAX);
        let step = asked.max(whole.div_ceil(COUNT_STEPS_MAX)).max(1);
        tables::count(&self.conn, about, from, to, step)
    }
}
