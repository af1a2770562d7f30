//! Appends and leaderships: what advances a shard.

use std::collections::BTreeMap;

use rusqlite::params;

use super::core::{Core, WriteFault};
use super::heads::HeadRow;
use super::schema::{SEQ_MAX, SHARDS_MAX, turn_key};
use crate::chain::{Sum, TurnFields};
use crate::error::{AppendError, Cause, LeadError};
use crate::port::{Appended, Leadership, Space};
use crate::types::{ShardName, TurnRecord};

impl From<WriteFault> for AppendError {
    fn from(fault: WriteFault) -> Self {
        match fault {
            WriteFault::Full(cause) => Self::Full { cause },
            WriteFault::Io(cause) => Self::Io { cause },
        }
    }
}

/// See [`crate::Journal::append`].
pub(super) fn append(core: &mut Core, batch: &[TurnRecord]) -> Result<Appended, AppendError> {
    let (rows, sums) = stage(&core.shards, batch)?;
    let numbers: BTreeMap<ShardName, u32> =
        rows.iter().map(|row| (row.head.shard.clone(), row.number)).collect();
    let bytes = batch.iter().map(|turn| turn.bytes.len()).sum();
    core.commit(rows, bytes, |conn| {
        let sql = "INSERT INTO turns (key, count, epoch, at, sum, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let mut insert = conn.prepare_cached(sql)?;
        for (turn, sum) in batch.iter().zip(&sums) {
            let key = turn_key(numbers[&turn.shard], turn.first);
            let epoch = turn.epoch.0.cast_signed();
            let at = turn.at.unix_ms().cast_signed();
            let _one = insert.execute(params![key, turn.count, epoch, at, sum.0, turn.bytes])?;
        }
        Ok(())
    })?;
    Ok(Appended { space: core.space()? })
}

/// See [`crate::Journal::space`].
pub(super) fn space(core: &mut Core) -> Result<Space, AppendError> {
    Ok(core.space()?)
}

/// See [`crate::Journal::lead`]: the lock on the directory shows that whoever led before is gone.
pub(super) fn lead(core: &mut Core, shard: &ShardName) -> Result<Leadership, LeadError> {
    let fault = |cause: Cause| LeadError::Io { shard: shard.clone(), cause };
    let mut row = match core.shards.get(shard) {
        Some(row) => row.clone(),
        None if core.meta.shards >= SHARDS_MAX => {
            return Err(fault(format!("{SHARDS_MAX} shards is the most one data directory holds").into()));
        }
        None => HeadRow::new(core.meta.shards, shard.clone()),
    };
    row.head.epoch = row.head.epoch.next();
    let head = row.head.clone();
    core.commit(vec![row], 0, |_conn| Ok(())).map_err(|error| match error {
        WriteFault::Full(cause) | WriteFault::Io(cause) => fault(cause),
    })?;
    Ok(Leadership { head })
}

/// Checks every turn against its shard and carries the shards' rows forward.
fn stage(
    shards: &BTreeMap<ShardName, HeadRow>,
    batch: &[TurnRecord],
) -> Result<(Vec<HeadRow>, Vec<Sum>), AppendError> {
    let mut changed: BTreeMap<&ShardName, HeadRow> = BTreeMap::new();
    let mut sums = Vec::with_capacity(batch.len());
    for turn in batch {
        let shard = &turn.shard;
        if !changed.contains_key(shard)
            && let Some(row) = shards.get(shard)
        {
            let _none = changed.insert(shard, row.clone());
        }
        let Some(row) = changed.get_mut(shard) else {
            return Err(AppendError::Fenced {
                shard: shard.clone(),
                held: turn.epoch,
                current: crate::types::Epoch::NONE,
            });
        };
        let head = &mut row.head;
        if turn.epoch != head.epoch {
            return Err(AppendError::Fenced { shard: shard.clone(), held: turn.epoch, current: head.epoch });
        }
        if turn.first != head.next || turn.count == 0 || turn.next() > SEQ_MAX {
            let (expected, found) = (head.next, turn.first);
            return Err(AppendError::SequenceMismatch { shard: shard.clone(), expected, found });
        }
        let TurnRecord { first, count, epoch, at, bytes, .. } = turn;
        row.sum = row.sum.turn(&TurnFields { first: *first, count: *count, epoch: *epoch, at: *at, bytes });
        sums.push(row.sum);
        head.next = turn.next();
        head.last_at = head.last_at.max(turn.at);
    }
    Ok((changed.into_values().collect(), sums))
}
