//! Heads, turns and chunks as rows, checked against their sums.

use mainstay_core::Timestamp;
use tokio_postgres::{Error, GenericClient, Row};

use crate::chain::Sum;
use crate::error::ReadError;
use crate::port::{Head, PAGE_BYTES_MAX, PAGE_TURNS_MAX, SnapshotHead};
use crate::types::{Epoch, Seq, ShardName, TurnRecord};
use crate::walk::{FoundTurn, Walk, damaged};

/// One row of `journal_shards`.
#[derive(Clone, Debug)]
pub(super) struct HeadRow {
    pub(super) number: i32,
    pub(super) head: Head,
    pub(super) sum: Sum,
    pub(super) oldest_sum: Sum,
}

/// What [`head_row`] reads.
pub(super) const HEAD_COLUMNS: &str = "number, name, epoch, next, last_at, sum, oldest, oldest_sum, \
     snap_below, snap_at, snap_chunks, snap_sum";

pub(super) fn io(cause: impl Into<crate::error::Cause>) -> ReadError {
    ReadError::Io { cause: cause.into() }
}

pub(super) fn sum_column(sum: Sum) -> i64 {
    sum.0.into()
}

fn sum_of(column: i64) -> Result<Sum, ReadError> {
    u32::try_from(column).map(Sum).map_err(|_| ReadError::DamagedList { what: "a sum has more than 32 bits" })
}

/// Reads a shard's row.
pub(super) fn head_row(row: &Row) -> Result<HeadRow, ReadError> {
    let get = |index: usize| row.try_get::<_, i64>(index).map_err(io);
    let name: &str = row.try_get(1).map_err(io)?;
    let shard =
        ShardName::new(name).map_err(|_| ReadError::DamagedList { what: "a shard's name is none" })?;
    let snapshot = match row.try_get::<_, Option<i64>>(8).map_err(io)? {
        None => None,
        Some(below) => Some(SnapshotHead {
            covers_below: Seq(below.cast_unsigned()),
            at: Timestamp::from_unix_ms(get(9)?.cast_unsigned()),
            chunks: u32::try_from(get(10)?).map_err(|_| ReadError::DamagedList {
                what: "a snapshot has more chunks than there can be",
            })?,
            sum: sum_of(get(11)?)?.0,
        }),
    };
    let head = Head {
        shard,
        epoch: Epoch(get(2)?.cast_unsigned()),
        next: Seq(get(3)?.cast_unsigned()),
        last_at: Timestamp::from_unix_ms(get(4)?.cast_unsigned()),
        oldest: Seq(get(6)?.cast_unsigned()),
        snapshot,
    };
    Ok(HeadRow {
        number: row.try_get(0).map_err(io)?,
        head,
        sum: sum_of(get(5)?)?,
        oldest_sum: sum_of(get(7)?)?,
    })
}

/// Every shard, by name.
pub(super) async fn heads(client: &impl GenericClient) -> Result<Vec<HeadRow>, ReadError> {
    let sql = format!("SELECT {HEAD_COLUMNS} FROM journal_shards");
    let rows = client.query(&sql, &[]).await.map_err(io)?;
    let mut heads = rows.iter().map(head_row).collect::<Result<Vec<_>, _>>()?;
    heads.sort_by(|one, other| one.head.shard.cmp(&other.head.shard));
    Ok(heads)
}

/// One shard.
pub(super) async fn head(
    client: &impl GenericClient,
    shard: &ShardName,
) -> Result<Option<HeadRow>, ReadError> {
    let sql = format!("SELECT {HEAD_COLUMNS} FROM journal_shards WHERE name = $1");
    let row = client.query_opt(&sql, &[&shard.as_str()]).await.map_err(io)?;
    row.as_ref().map(head_row).transpose()
}

/// One page of turns; see [`crate::Reader::read`].
pub(super) async fn page(
    client: &impl GenericClient,
    shard: &ShardName,
    from: Seq,
    turns_max: u32,
) -> Result<Vec<TurnRecord>, ReadError> {
    let Some(row) = head(client, shard).await? else { return Ok(Vec::new()) };
    let head = &row.head;
    if from >= head.next {
        return Ok(Vec::new());
    }
    if from < head.oldest {
        return Err(ReadError::Compacted { shard: shard.clone(), oldest: head.oldest });
    }
    let (first, before) = start_of(client, &row, from).await?;
    let turns_max = turns_max.clamp(1, PAGE_TURNS_MAX);
    // The running total leaves the rest of a page of large turns at the server.
    let sql = "SELECT first, count, epoch, at, sum, bytes FROM
                 (SELECT *, sum(length(bytes)) OVER (ORDER BY first) - length(bytes) AS before
                  FROM (SELECT * FROM journal_turns WHERE shard = $1 AND first >= $2 ORDER BY first LIMIT $3) AS page
                 ) AS summed WHERE before < $4 ORDER BY first";
    let bytes_max = i64::try_from(PAGE_BYTES_MAX).unwrap_or(i64::MAX);
    let limit = i64::from(turns_max);
    let rows =
        client.query(sql, &[&row.number, &first.0.cast_signed(), &limit, &bytes_max]).await.map_err(io)?;
    let mut walk = Walk::new(head, row.sum, first, before);
    let mut turns = Vec::with_capacity(rows.len());
    let mut bytes = 0;
    for found in &rows {
        let turn = walk.turn(found_turn(found)?)?;
        bytes += turn.bytes.len();
        turns.push(turn);
    }
    if turns.len() < usize::try_from(turns_max).unwrap_or(usize::MAX) && bytes < PAGE_BYTES_MAX {
        walk.end()?;
    }
    Ok(turns)
}

/// The turn that holds `from`, and the sum of the chain before it.
async fn start_of(client: &impl GenericClient, row: &HeadRow, from: Seq) -> Result<(Seq, Sum), ReadError> {
    let sql = "SELECT first, sum FROM journal_turns
               WHERE shard = $1 AND first <= $2 AND first >= $3 ORDER BY first DESC LIMIT 2";
    let (from_column, oldest) = (from.0.cast_signed(), row.head.oldest.0.cast_signed());
    let rows = client.query(sql, &[&row.number, &from_column, &oldest]).await.map_err(io)?;
    let shard = &row.head.shard;
    let Some(holder) = rows.first() else { return Err(damaged(shard, from, "turns are missing")) };
    let first = Seq(holder.try_get::<_, i64>(0).map_err(io)?.cast_unsigned());
    match rows.get(1) {
        _ if first == row.head.oldest => Ok((first, row.oldest_sum)),
        Some(before) => Ok((first, sum_of(before.try_get(1).map_err(io)?)?)),
        None => Err(damaged(shard, first, "the turn before is missing")),
    }
}

fn found_turn(row: &Row) -> Result<FoundTurn, ReadError> {
    let get = |index: usize| row.try_get::<_, i64>(index).map_err(io);
    Ok(FoundTurn {
        first: Seq(get(0)?.cast_unsigned()),
        count: u32::try_from(get(1)?)
            .map_err(|_| ReadError::DamagedList { what: "a turn has too many events" })?,
        epoch: Epoch(get(2)?.cast_unsigned()),
        at: Timestamp::from_unix_ms(get(3)?.cast_unsigned()),
        sum: sum_of(get(4)?)?,
        bytes: row.try_get(5).map_err(io)?,
    })
}

/// One chunk of a snapshot, checked against the chunk before it and, for the last, against the snapshot.
pub(super) async fn chunk(
    client: &impl GenericClient,
    shard: &ShardName,
    snapshot: &SnapshotHead,
    index: u32,
) -> Result<Vec<u8>, ReadError> {
    let below = snapshot.covers_below;
    let missing = || damaged(shard, below, "a chunk of the snapshot is missing");
    let row = head(client, shard).await?.ok_or_else(missing)?;
    let before = match index.checked_sub(1) {
        None => Sum::start(shard),
        Some(previous) => {
            let found = find_chunk(client, row.number, below, previous, "sum").await.map_err(io)?;
            sum_of(found.ok_or_else(missing)?.try_get(0).map_err(io)?)?
        }
    };
    let found =
        find_chunk(client, row.number, below, index, "sum, bytes").await.map_err(io)?.ok_or_else(missing)?;
    let sum = sum_of(found.try_get(0).map_err(io)?)?;
    let bytes: Vec<u8> = found.try_get(1).map_err(io)?;
    let is_last = index.saturating_add(1) >= snapshot.chunks;
    if before.chunk(below, index, &bytes) != sum || (is_last && sum.0 != snapshot.sum) {
        return Err(damaged(shard, below, "a chunk of the snapshot does not match its sum"));
    }
    Ok(bytes)
}

async fn find_chunk(
    client: &impl GenericClient,
    number: i32,
    below: Seq,
    part: u32,
    columns: &str,
) -> Result<Option<Row>, Error> {
    let sql = format!("SELECT {columns} FROM journal_chunks WHERE shard = $1 AND below = $2 AND part = $3");
    client.query_opt(&sql, &[&number, &below.0.cast_signed(), &i64::from(part)]).await
}
