//! Reads turns and chunks, and believes none that its sum does not vouch for.

use mainstay_core::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::heads::{HeadRow, ListFault};
use super::schema::{seq_of, turn_key};
use crate::chain::Sum;
use crate::error::ReadError;
use crate::port::{PAGE_BYTES_MAX, PAGE_TURNS_MAX, SnapshotHead};
use crate::types::{Epoch, Seq, TurnRecord};
use crate::walk::{FoundTurn, Walk, damaged};

pub(super) fn io(cause: rusqlite::Error) -> ReadError {
    ReadError::Io { cause: cause.into() }
}

impl From<ListFault> for ReadError {
    fn from(fault: ListFault) -> Self {
        match fault {
            ListFault::Damaged(what) => Self::DamagedList { what },
            ListFault::Sqlite(cause) => io(cause),
        }
    }
}

/// One page of turns; see [`crate::Reader::read`].
pub(super) fn page(
    conn: &Connection,
    row: &HeadRow,
    from: Seq,
    turns_max: u32,
) -> Result<Vec<TurnRecord>, ReadError> {
    let head = &row.head;
    if from >= head.next {
        return Ok(Vec::new());
    }
    if from < head.oldest {
        return Err(ReadError::Compacted { shard: head.shard.clone(), oldest: head.oldest });
    }
    let (first, before) = start_of(conn, row, from)?;
    let turns_max = turns_max.clamp(1, PAGE_TURNS_MAX);
    let mut walk = Walk::new(head, row.sum, first, before);
    let mut turns = Vec::new();
    let mut bytes = 0;
    let sql = "SELECT key, count, epoch, at, sum, bytes FROM turns WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3";
    let mut statement = conn.prepare_cached(sql).map_err(io)?;
    let span = params![turn_key(row.number, first), turn_key(row.number, head.next), turns_max];
    let mut rows = statement.query(span).map_err(io)?;
    while let Some(found) = rows.next().map_err(io)? {
        let turn = walk.turn(found_turn(found).map_err(io)?)?;
        bytes += turn.bytes.len();
        turns.push(turn);
        if bytes >= PAGE_BYTES_MAX {
            return Ok(turns);
        }
    }
    if turns.len() < usize::try_from(turns_max).unwrap_or(usize::MAX) {
        walk.end()?;
    }
    Ok(turns)
}

/// The turn that holds `from`, and the sum of the chain before it.
fn start_of(conn: &Connection, row: &HeadRow, from: Seq) -> Result<(Seq, Sum), ReadError> {
    let shard = &row.head.shard;
    let sql = "SELECT key, sum FROM turns WHERE key <= ?1 AND key >= ?2 ORDER BY key DESC LIMIT 2";
    let mut statement = conn.prepare_cached(sql).map_err(io)?;
    let span = params![turn_key(row.number, from), turn_key(row.number, row.head.oldest)];
    let mut rows = statement.query(span).map_err(io)?;
    let Some(holder) = rows.next().map_err(io)? else {
        return Err(damaged(shard, from, "turns are missing"));
    };
    let first = seq_of(holder.get(0).map_err(io)?);
    if first == row.head.oldest {
        return Ok((first, row.oldest_sum));
    }
    match rows.next().map_err(io)? {
        Some(before) => Ok((first, Sum(before.get(1).map_err(io)?))),
        None => Err(damaged(shard, first, "the turn before is missing")),
    }
}

fn found_turn(row: &Row<'_>) -> rusqlite::Result<FoundTurn> {
    Ok(FoundTurn {
        first: seq_of(row.get(0)?),
        count: row.get(1)?,
        epoch: Epoch(row.get::<_, i64>(2)?.cast_unsigned()),
        at: Timestamp::from_unix_ms(row.get::<_, i64>(3)?.cast_unsigned()),
        sum: Sum(row.get(4)?),
        bytes: row.get(5)?,
    })
}

/// One chunk of a snapshot, checked against the chunk before it and, for the last, against the snapshot.
pub(super) fn chunk(
    conn: &Connection,
    row: &HeadRow,
    snapshot: &SnapshotHead,
    index: u32,
) -> Result<Vec<u8>, ReadError> {
    let shard = &row.head.shard;
    let below = snapshot.covers_below;
    let sql = "SELECT sum, bytes FROM chunks WHERE shard = ?1 AND below = ?2 AND part = ?3";
    let found = conn
        .prepare_cached(sql)
        .and_then(|mut statement| {
            let at = params![row.number, below.0.cast_signed(), index];
            statement.query_row(at, |found| Ok((Sum(found.get(0)?), found.get::<_, Vec<u8>>(1)?))).optional()
        })
        .map_err(io)?;
    let Some((sum, bytes)) = found else {
        return Err(damaged(shard, below, "a chunk of the snapshot is missing"));
    };
    let before = match index.checked_sub(1) {
        None => Sum::start(shard),
        Some(previous) => chunk_sum(conn, row.number, below, previous)
            .map_err(io)?
            .ok_or_else(|| damaged(shard, below, "a chunk of the snapshot is missing"))?,
    };
    let is_last = index.saturating_add(1) >= snapshot.chunks;
    if before.chunk(below, index, &bytes) != sum || (is_last && sum.0 != snapshot.sum) {
        return Err(damaged(shard, below, "a chunk of the snapshot does not match its sum"));
    }
    Ok(bytes)
}

/// The stored sum of one chunk.
pub(super) fn chunk_sum(
    conn: &Connection,
    number: u32,
    below: Seq,
    part: u32,
) -> rusqlite::Result<Option<Sum>> {
    conn.prepare_cached("SELECT sum FROM chunks WHERE shard = ?1 AND below = ?2 AND part = ?3")?
        .query_row(params![number, below.0.cast_signed(), part], |found| Ok(Sum(found.get(0)?)))
        .optional()
}
