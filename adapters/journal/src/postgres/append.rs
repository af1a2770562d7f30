//! Appends: the shard's row moves from the expected epoch and sequence, and the turns come with it, or nothing does.

use std::collections::BTreeMap;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Transaction};

use super::link::roll_back;
use super::rows::{HeadRow, sum_column};
use super::{PostgresJournal, rows};
use crate::chain::{Sum, TurnFields};
use crate::error::AppendError;
use crate::port::{Appended, Space};
use crate::types::{Epoch, Seq, ShardName, TurnRecord};

/// What this leader knows of a shard it leads.
#[derive(Clone, Debug)]
pub(super) struct Led {
    pub(super) number: i32,
    pub(super) epoch: Epoch,
    pub(super) next: Seq,
    pub(super) sum: Sum,
}

/// One shard's step in a batch.
struct Step {
    before: Led,
    after: Led,
    last_at: i64,
}

/// How far a transaction got before it failed.
enum Failed {
    /// The server refused, or the connection broke, before the commit was sent.
    Before(Error),
    /// A shard's row was not where this leader believes it is.
    Moved,
    /// The commit was sent.
    Committing(Error),
}

/// See [`crate::Journal::append`].
pub(super) fn append(journal: &mut PostgresJournal, batch: &[TurnRecord]) -> Result<Appended, AppendError> {
    let (steps, sums) = stage(&journal.led, batch).map_err(|turn| explain(journal, turn))?;
    journal.link.connect().map_err(|cause| AppendError::Unavailable { cause })?;
    let numbers: BTreeMap<&ShardName, i32> =
        steps.iter().map(|(name, step)| (*name, step.after.number)).collect();
    let rows: Vec<TurnRow<'_>> =
        batch.iter().zip(&sums).map(|(turn, sum)| TurnRow::new(numbers[&turn.shard], turn, *sum)).collect();
    let outcome = journal.link.call(async |client| transact(client, &steps, &rows).await);
    match outcome {
        Some(Ok(())) => {
            let after: Vec<_> = steps.into_iter().map(|(name, step)| (name.clone(), step.after)).collect();
            journal.led.extend(after);
            Ok(Appended { space: Space::Ample })
        }
        Some(Err(Failed::Moved)) => Err(moved(journal, batch)),
        Some(Err(Failed::Before(error))) => Err(refused(journal, error)),
        Some(Err(Failed::Committing(error))) => Err(unknown(journal, batch, error.into())),
        None => Err(unknown(journal, batch, "no answer in time".into())),
    }
}

/// Checks every turn against what this leader knows. The error is the turn that does not fit.
fn stage<'a>(
    led: &BTreeMap<ShardName, Led>,
    batch: &'a [TurnRecord],
) -> Result<(BTreeMap<&'a ShardName, Step>, Vec<Sum>), &'a TurnRecord> {
    let mut steps: BTreeMap<&ShardName, Step> = BTreeMap::new();
    let mut sums = Vec::with_capacity(batch.len());
    for turn in batch {
        let step = match steps.entry(&turn.shard) {
            std::collections::btree_map::Entry::Occupied(step) => step.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let before = led.get(&turn.shard).ok_or(turn)?.clone();
                entry.insert(Step { after: before.clone(), before, last_at: 0 })
            }
        };
        let TurnRecord { first, count, epoch, at, bytes, .. } = turn;
        if *epoch != step.after.epoch || *first != step.after.next || *count == 0 {
            return Err(turn);
        }
        let fields = TurnFields { first: *first, count: *count, epoch: *epoch, at: *at, bytes };
        step.after.sum = step.after.sum.turn(&fields);
        step.after.next = turn.next();
        step.last_at = step.last_at.max(at.unix_ms().cast_signed());
        sums.push(step.after.sum);
    }
    Ok((steps, sums))
}

/// A turn as the columns of its row.
struct TurnRow<'a> {
    shard: i32,
    first: i64,
    count: i64,
    epoch: i64,
    at: i64,
    sum: i64,
    bytes: &'a [u8],
}

impl<'a> TurnRow<'a> {
    fn new(shard: i32, turn: &'a TurnRecord, sum: Sum) -> Self {
        Self {
            shard,
            first: turn.first.0.cast_signed(),
            count: turn.count.into(),
            epoch: turn.epoch.0.cast_signed(),
            at: turn.at.unix_ms().cast_signed(),
            sum: sum_column(sum),
            bytes: &turn.bytes,
        }
    }
}

async fn transact(
    client: &mut Client,
    steps: &BTreeMap<&ShardName, Step>,
    rows: &[TurnRow<'_>],
) -> Result<(), Failed> {
    let transaction = client.transaction().await.map_err(Failed::Before)?;
    match write(&transaction, steps, rows).await {
        Ok(()) => transaction.commit().await.map_err(Failed::Committing),
        Err(failed) => {
            roll_back(transaction).await;
            Err(failed)
        }
    }
}

async fn write(
    transaction: &Transaction<'_>,
    steps: &BTreeMap<&ShardName, Step>,
    rows: &[TurnRow<'_>],
) -> Result<(), Failed> {
    for step in steps.values() {
        if !advance(transaction, step).await.map_err(Failed::Before)? {
            return Err(Failed::Moved);
        }
    }
    insert(transaction, rows).await.map_err(Failed::Before)
}

/// Moves a shard's row; `false` where it is not at the expected epoch and sequence.
async fn advance(transaction: &Transaction<'_>, step: &Step) -> Result<bool, Error> {
    let sql = "UPDATE journal_shards SET next = $4, sum = $5, last_at = greatest(last_at, $6)
               WHERE number = $1 AND epoch = $2 AND next = $3";
    let Step { before, after, last_at } = step;
    let (next, sum) = (after.next.0.cast_signed(), sum_column(after.sum));
    let (epoch, expected) = (before.epoch.0.cast_signed(), before.next.0.cast_signed());
    let values: [&(dyn ToSql + Sync); 6] = [&before.number, &epoch, &expected, &next, &sum, last_at];
    Ok(transaction.execute(sql, &values).await? == 1)
}

async fn insert(transaction: &Transaction<'_>, rows: &[TurnRow<'_>]) -> Result<(), Error> {
    let sql = "INSERT INTO journal_turns (shard, first, count, epoch, at, sum, bytes)
               SELECT * FROM unnest($1::integer[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
                                    $6::bigint[], $7::bytea[])";
    let shards: Vec<i32> = rows.iter().map(|row| row.shard).collect();
    let column = |pick: fn(&TurnRow<'_>) -> i64| rows.iter().map(pick).collect::<Vec<i64>>();
    let (firsts, counts) = (column(|row| row.first), column(|row| row.count));
    let (epochs, ats, sums) = (column(|row| row.epoch), column(|row| row.at), column(|row| row.sum));
    let bytes: Vec<&[u8]> = rows.iter().map(|row| row.bytes).collect();
    let inserted =
        transaction.execute(sql, &[&shards, &firsts, &counts, &epochs, &ats, &sums, &bytes]).await?;
    debug_assert_eq!(inserted, rows.len() as u64, "an insert of rows inserts them all");
    Ok(())
}

/// The transaction was certainly not committed: a class of error decides whether trying again can help.
fn refused(journal: &mut PostgresJournal, error: Error) -> AppendError {
    let Some(code) = error.code() else {
        journal.link.drop_connection();
        return AppendError::Unavailable { cause: error.into() };
    };
    if *code == SqlState::DISK_FULL {
        return AppendError::Full { cause: error.into() };
    }
    // 40: the server chose another transaction; 57: it is shutting down; 53: it has too few resources; 08: connection.
    if ["40", "57", "53", "08"].iter().any(|class| code.code().starts_with(class)) {
        return AppendError::Unavailable { cause: error.into() };
    }
    AppendError::Io { cause: error.into() }
}

/// The commit was sent and not confirmed: every shard of the batch must be led and read anew.
fn unknown(journal: &mut PostgresJournal, batch: &[TurnRecord], cause: crate::error::Cause) -> AppendError {
    journal.link.drop_connection();
    for turn in batch {
        let _was_led = journal.led.remove(&turn.shard);
    }
    AppendError::UnknownOutcome { cause }
}

/// Some shard's row had moved: finds which.
fn moved(journal: &mut PostgresJournal, batch: &[TurnRecord]) -> AppendError {
    for turn in batch {
        match current(journal, &turn.shard) {
            Ok(Some(row)) if row.head.epoch == turn.epoch && row.head.next == turn.first => {}
            Ok(_) | Err(_) => return explain(journal, turn),
        }
    }
    AppendError::Unavailable { cause: "a shard's row moved and moved back".into() }
}

/// Says why a turn does not fit, by what the server holds; what this leader believed of the shard is forgotten where the
/// server says that it leads no more.
fn explain(journal: &mut PostgresJournal, turn: &TurnRecord) -> AppendError {
    let shard = turn.shard.clone();
    let row = match current(journal, &shard) {
        Ok(row) => row,
        Err(cause) => return AppendError::Unavailable { cause: cause.into() },
    };
    let led = journal.led.get(&shard).cloned();
    let epoch = row.as_ref().map_or(Epoch::NONE, |row| row.head.epoch);
    let leads = led.as_ref().is_some_and(|led| led.epoch == epoch);
    match row {
        Some(row) if leads && turn.epoch == epoch => {
            // Within a batch an earlier turn of the shard may have moved the expectation on.
            AppendError::SequenceMismatch { shard, expected: row.head.next, found: turn.first }
        }
        Some(_) | None => {
            if !leads {
                let _was_led = journal.led.remove(&shard);
            }
            AppendError::Fenced { shard, held: turn.epoch, current: epoch }
        }
    }
}

fn current(
    journal: &mut PostgresJournal,
    shard: &ShardName,
) -> Result<Option<HeadRow>, crate::error::ReadError> {
    journal.link.connect().map_err(rows::io)?;
    journal
        .link
        .call(async |client| rows::head(client, shard).await)
        .unwrap_or_else(|| Err(rows::io("no answer in time")))
}
