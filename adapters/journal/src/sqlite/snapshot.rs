//! Snapshots and what they make superfluous, in steps that hold the writer up for milliseconds.

use mainstay_core::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::core::{Core, Draft, WriteFault};
use super::heads::HeadRow;
use super::schema::{seq_of, turn_key};
use crate::chain::Sum;
use crate::error::MaintainError;
use crate::port::{EVENT_BYTES_MAX, FORGET_STEP_TURNS_MAX, Forgot, SnapshotHead};
use crate::types::{Seq, ShardName};

/// How many chunks of replaced snapshots one step deletes: freeing one touches each of its pages.
const STALE_CHUNKS_STEP: u32 = 2;

impl From<WriteFault> for MaintainError {
    fn from(fault: WriteFault) -> Self {
        match fault {
            WriteFault::Full(cause) => Self::Full { cause },
            WriteFault::Io(cause) => Self::Io { cause },
        }
    }
}

/// See [`crate::Journal::write_snapshot_chunk`].
pub(super) fn write_chunk(
    core: &mut Core,
    shard: &ShardName,
    below: Seq,
    index: u32,
    bytes: &[u8],
) -> Result<(), MaintainError> {
    let row = row_of(core, shard)?;
    let misuse = |what| Err(MaintainError::Misuse { shard: shard.clone(), what });
    if bytes.len() > EVENT_BYTES_MAX {
        return misuse("the chunk is larger than 8 MiB");
    }
    if below > row.head.next || row.head.snapshot.is_some_and(|snapshot| below <= snapshot.covers_below) {
        return misuse("it covers nothing new, or what is not durable");
    }
    let before = match (index, core.drafts.get(shard)) {
        (0, _) => Sum::start(shard),
        (_, Some(draft)) if draft.below == below && draft.chunks == index => draft.sum,
        (_, _) => return misuse("the chunk is out of order"),
    };
    let number = row.number;
    let sum = before.chunk(below, index, bytes);
    core.commit(Vec::new(), bytes.len(), |conn| {
        let sql =
            "INSERT OR REPLACE INTO chunks (shard, below, part, sum, bytes) VALUES (?1, ?2, ?3, ?4, ?5)";
        let values = params![number, below.0.cast_signed(), index, sum.0, bytes];
        conn.prepare_cached(sql)?.execute(values).map(|_one| ())
    })?;
    let _old = core.drafts.insert(shard.clone(), Draft { below, chunks: index + 1, sum });
    Ok(())
}

/// See [`crate::Journal::finish_snapshot`].
pub(super) fn finish(
    core: &mut Core,
    shard: &ShardName,
    below: Seq,
    at: Timestamp,
) -> Result<SnapshotHead, MaintainError> {
    let mut row = row_of(core, shard)?.clone();
    let draft = match core.drafts.get(shard) {
        Some(draft) if draft.below == below => *draft,
        Some(_) | None => {
            return Err(MaintainError::Misuse { shard: shard.clone(), what: "no chunk of it was written" });
        }
    };
    if below != row.head.next && !begins_turn(&core.conn, &row, below).map_err(io)? {
        return Err(MaintainError::Misuse { shard: shard.clone(), what: "it ends within a turn" });
    }
    let snapshot = SnapshotHead { covers_below: below, at, chunks: draft.chunks, sum: draft.sum.0 };
    row.head.snapshot = Some(snapshot);
    core.commit(vec![row], 0, |_conn| Ok(()))?;
    let _done = core.drafts.remove(shard);
    Ok(snapshot)
}

/// See [`crate::Journal::forget`].
pub(super) fn forget(
    core: &mut Core,
    shard: &ShardName,
    below: Seq,
    turns_max: u32,
) -> Result<Forgot, MaintainError> {
    let mut row = row_of(core, shard)?.clone();
    let covered = row.head.snapshot.map_or(Seq::FIRST, |snapshot| snapshot.covers_below);
    if below > covered {
        return Err(MaintainError::NotCovered { shard: shard.clone(), asked: below, covered });
    }
    let step = turns_max.clamp(1, FORGET_STEP_TURNS_MAX);
    if let Some(last) = last_of_step(&core.conn, &row, below, step).map_err(io)? {
        let (from, to) = (turn_key(row.number, row.head.oldest), turn_key(row.number, last.next));
        row.head.oldest = last.next;
        row.oldest_sum = last.sum;
        core.commit(vec![row], 0, |conn| {
            let sql = "DELETE FROM turns WHERE key >= ?1 AND key < ?2";
            conn.prepare_cached(sql)?.execute([from, to]).map(|_some| ())
        })?;
        return Ok(Forgot::Some);
    }
    let stale = stale_chunks(core, &row).map_err(io)?;
    if stale.is_empty() {
        return Ok(Forgot::All);
    }
    core.commit(Vec::new(), 0, |conn| {
        let mut delete = conn.prepare_cached("DELETE FROM chunks WHERE rowid = ?1")?;
        stale.iter().try_for_each(|rowid| delete.execute([rowid]).map(|_one| ()))
    })?;
    Ok(Forgot::Some)
}

fn row_of<'a>(core: &'a Core, shard: &ShardName) -> Result<&'a HeadRow, MaintainError> {
    let missing = || MaintainError::Misuse { shard: shard.clone(), what: "nobody has led the shard" };
    core.shards.get(shard).ok_or_else(missing)
}

fn begins_turn(conn: &Connection, row: &HeadRow, first: Seq) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT 1 FROM turns WHERE key = ?1")?.exists([turn_key(row.number, first)])
}

/// The last turn one step of deletion takes.
struct LastOfStep {
    next: Seq,
    sum: Sum,
}

fn last_of_step(
    conn: &Connection,
    row: &HeadRow,
    below: Seq,
    step: u32,
) -> rusqlite::Result<Option<LastOfStep>> {
    // A turn goes when it ends below; ordered descending over the step's turns, the first found is the last to go.
    let sql = "SELECT key, count, sum FROM
                   (SELECT key, count, sum FROM turns WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3)
               WHERE key + count <= ?2 ORDER BY key DESC LIMIT 1";
    let span = params![turn_key(row.number, row.head.oldest), turn_key(row.number, below), step];
    conn.prepare_cached(sql)?
        .query_row(span, |found| {
            let next = seq_of(found.get(0)?).plus(found.get::<_, u32>(1)?.into());
            Ok(LastOfStep { next, sum: Sum(found.get(2)?) })
        })
        .optional()
}

/// Some chunks that belong neither to the latest snapshot nor to one being written.
fn stale_chunks(core: &Core, row: &HeadRow) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT rowid FROM chunks
               WHERE shard = ?1 AND below <> ?2 AND NOT (below = ?3 AND part < ?4) LIMIT ?5";
    let draft = core.drafts.get(&row.head.shard).map_or(Seq::NONE, |draft| draft.below);
    let (latest, chunks) =
        row.head.snapshot.map_or((Seq::NONE, 0), |snapshot| (snapshot.covers_below, snapshot.chunks));
    let values =
        params![row.number, draft.0.cast_signed(), latest.0.cast_signed(), chunks, STALE_CHUNKS_STEP];
    let mut statement = core.conn.prepare_cached(sql)?;
    statement.query_map(values, |found| found.get(0))?.collect()
}

fn io(cause: rusqlite::Error) -> MaintainError {
    MaintainError::Io { cause: cause.into() }
}
