//! Snapshots and what they make superfluous.

use mainstay_core::Timestamp;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use super::PostgresJournal;
use super::link::roll_back;
use super::rows::{self, HeadRow, sum_column};
use crate::chain::Sum;
use crate::error::{MaintainError, ReadError};
use crate::port::{EVENT_BYTES_MAX, FORGET_STEP_TURNS_MAX, Forgot, SnapshotHead};
use crate::types::{Seq, ShardName};

/// How many chunks of replaced snapshots one step deletes.
const STALE_CHUNKS_STEP: i64 = 8;

/// A snapshot that is being written through this handle. Another life begins anew.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draft {
    below: Seq,
    chunks: u32,
    sum: Sum,
}

/// Why a step was not done, before the shard's name is put to it.
enum Fault {
    Misuse(&'static str),
    Store(Error),
    Read(ReadError),
    NoAnswer,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl Fault {
    fn of(self, shard: &ShardName) -> MaintainError {
        match self {
            Self::Misuse(what) => MaintainError::Misuse { shard: shard.clone(), what },
            Self::Store(error) if error.code() == Some(&SqlState::DISK_FULL) => {
                MaintainError::Full { cause: error.into() }
            }
            Self::Store(error) => MaintainError::Io { cause: error.into() },
            Self::Read(error) => MaintainError::Io { cause: error.into() },
            Self::NoAnswer => MaintainError::Io { cause: "no answer in time".into() },
        }
    }
}

/// Runs a step on the connection.
fn run<T>(
    journal: &mut PostgresJournal,
    shard: &ShardName,
    step: impl AsyncFnOnce(&mut Client) -> Result<T, Fault>,
) -> Result<T, MaintainError> {
    journal.link.connect().map_err(|cause| MaintainError::Io { cause })?;
    journal.link.call(step).unwrap_or(Err(Fault::NoAnswer)).map_err(|fault| fault.of(shard))
}

async fn row_of(client: &Client, shard: &ShardName) -> Result<HeadRow, Fault> {
    rows::head(client, shard).await?.ok_or(Fault::Misuse("nobody has led the shard"))
}

/// See [`crate::Journal::write_snapshot_chunk`].
pub(super) fn write_chunk(
    journal: &mut PostgresJournal,
    shard: &ShardName,
    below: Seq,
    index: u32,
    bytes: &[u8],
) -> Result<(), MaintainError> {
    let draft = journal.drafts.get(shard).copied();
    let sum = run(journal, shard, async |client| {
        if bytes.len() > EVENT_BYTES_MAX {
            return Err(Fault::Misuse("the chunk is larger than 8 MiB"));
        }
        let row = row_of(client, shard).await?;
        if below > row.head.next || row.head.snapshot.is_some_and(|snapshot| below <= snapshot.covers_below) {
            return Err(Fault::Misuse("it covers nothing new, or what is not durable"));
        }
        let before = match (index, draft) {
            (0, _) => Sum::start(shard),
            (_, Some(draft)) if draft.below == below && draft.chunks == index => draft.sum,
            (_, _) => return Err(Fault::Misuse("the chunk is out of order")),
        };
        let sum = before.chunk(below, index, bytes);
        let sql = "INSERT INTO journal_chunks (shard, below, part, sum, bytes) VALUES ($1, $2, $3, $4, $5)
                   ON CONFLICT (shard, below, part) DO UPDATE SET sum = excluded.sum, bytes = excluded.bytes";
        let (below, part) = (below.0.cast_signed(), i64::from(index));
        let _one = client.execute(sql, &[&row.number, &below, &part, &sum_column(sum), &bytes]).await?;
        Ok(sum)
    })?;
    let _old = journal.drafts.insert(shard.clone(), Draft { below, chunks: index + 1, sum });
    Ok(())
}

/// See [`crate::Journal::finish_snapshot`].
pub(super) fn finish(
    journal: &mut PostgresJournal,
    shard: &ShardName,
    below: Seq,
    at: Timestamp,
) -> Result<SnapshotHead, MaintainError> {
    let draft = journal.drafts.get(shard).copied().filter(|draft| draft.below == below);
    let snapshot = run(journal, shard, async |client| {
        let draft = draft.ok_or(Fault::Misuse("no chunk of it was written"))?;
        let row = row_of(client, shard).await?;
        let column = below.0.cast_signed();
        let begins = "SELECT 1 FROM journal_turns WHERE shard = $1 AND first = $2";
        if below != row.head.next && client.query_opt(begins, &[&row.number, &column]).await?.is_none() {
            return Err(Fault::Misuse("it ends within a turn"));
        }
        let sql = "UPDATE journal_shards SET snap_below = $2, snap_at = $3, snap_chunks = $4, snap_sum = $5
                   WHERE number = $1 AND next >= $2 AND coalesce(snap_below, 0) < $2";
        let (at_ms, chunks) = (at.unix_ms().cast_signed(), i64::from(draft.chunks));
        match client.execute(sql, &[&row.number, &column, &at_ms, &chunks, &sum_column(draft.sum)]).await? {
            1 => Ok(SnapshotHead { covers_below: below, at, chunks: draft.chunks, sum: draft.sum.0 }),
            _ => Err(Fault::Misuse("it covers nothing new, or what is not durable")),
        }
    })?;
    let _done = journal.drafts.remove(shard);
    Ok(snapshot)
}

/// See [`crate::Journal::forget`].
pub(super) fn forget(
    journal: &mut PostgresJournal,
    shard: &ShardName,
    below: Seq,
    turns_max: u32,
) -> Result<Forgot, MaintainError> {
    let drafted = journal.drafts.get(shard).map_or(Seq::NONE, |draft| draft.below);
    let step = i64::from(turns_max.clamp(1, FORGET_STEP_TURNS_MAX));
    let done = run(journal, shard, async |client| {
        let row = row_of(client, shard).await?;
        let covered = row.head.snapshot.map_or(Seq::FIRST, |snapshot| snapshot.covers_below);
        if below > covered {
            return Ok(Err(covered));
        }
        if forget_turns(client, &row, below, step).await? {
            return Ok(Ok(Forgot::Some));
        }
        let deleted = forget_chunks(client, &row, drafted).await?;
        Ok(Ok(if deleted > 0 { Forgot::Some } else { Forgot::All }))
    })?;
    done.map_err(|covered| MaintainError::NotCovered { shard: shard.clone(), asked: below, covered })
}

/// Deletes one step of turns; `false` where there are none to delete.
async fn forget_turns(client: &mut Client, row: &HeadRow, below: Seq, step: i64) -> Result<bool, Error> {
    let (oldest, below) = (row.head.oldest.0.cast_signed(), below.0.cast_signed());
    let find = "SELECT first + count, sum FROM
                    (SELECT first, count, sum FROM journal_turns WHERE shard = $1 AND first >= $2 AND first < $3
                     ORDER BY first LIMIT $4) AS step
                WHERE first + count <= $3 ORDER BY first DESC LIMIT 1";
    let transaction = client.transaction().await?;
    let Some(last) = transaction.query_opt(find, &[&row.number, &oldest, &below, &step]).await? else {
        roll_back(transaction).await;
        return Ok(false);
    };
    let (next, sum): (i64, i64) = (last.try_get(0)?, last.try_get(1)?);
    let delete = "DELETE FROM journal_turns WHERE shard = $1 AND first < $2";
    let _some = transaction.execute(delete, &[&row.number, &next]).await?;
    let advance = "UPDATE journal_shards SET oldest = $2, oldest_sum = $3 WHERE number = $1 AND oldest < $2";
    let _one = transaction.execute(advance, &[&row.number, &next, &sum]).await?;
    transaction.commit().await?;
    Ok(true)
}

/// Deletes some chunks of snapshots that are replaced. One that another handle is writing covers more than the latest.
async fn forget_chunks(client: &Client, row: &HeadRow, drafted: Seq) -> Result<u64, Error> {
    let sql = "DELETE FROM journal_chunks WHERE (shard, below, part) IN
                   (SELECT shard, below, part FROM journal_chunks
                    WHERE shard = $1 AND below <> $2 AND (below < $3 OR (below = $3 AND part >= $4)) LIMIT $5)";
    let (latest, chunks) =
        row.head.snapshot.map_or((Seq::NONE, 0), |snapshot| (snapshot.covers_below, snapshot.chunks));
    let (drafted, latest, chunks) = (drafted.0.cast_signed(), latest.0.cast_signed(), i64::from(chunks));
    client.execute(sql, &[&row.number, &drafted, &latest, &chunks, &STALE_CHUNKS_STEP]).await
}
