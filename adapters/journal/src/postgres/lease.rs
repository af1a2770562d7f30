//! Who leads: one row a node with its incarnation, and the only clock that counts is the server's.

use tokio_postgres::{Client, Error, Transaction};

use super::append::Led;
use super::link::roll_back;
use super::rows::{self, HeadRow, sum_column};
use super::{Me, PostgresJournal};
use crate::chain::Sum;
use crate::error::{Cause, LeadError, LeaseError, ReadError};
use crate::port::{LEASE, Leadership, Lease};
use crate::types::ShardName;

fn lease_seconds() -> f64 {
    LEASE.as_secs_f64()
}

/// Begins a new life of a node: every older one of the same name is over from here.
pub(super) async fn register(client: &Client, node: &str) -> Result<i64, Error> {
    let sql = "INSERT INTO journal_nodes (name, incarnation, life, lease_until)
               VALUES ($1, 1, 'alive', clock_timestamp() + make_interval(secs => $2))
               ON CONFLICT (name) DO UPDATE SET incarnation = journal_nodes.incarnation + 1, life = 'alive',
                   lease_until = excluded.lease_until
               RETURNING incarnation";
    Ok(client.query_one(sql, &[&node, &lease_seconds()]).await?.get(0))
}

/// See [`crate::Journal::renew`].
pub(super) fn renew(journal: &mut PostgresJournal) -> Result<Lease, LeaseError> {
    let away = |cause: Cause| LeaseError::Unavailable { cause };
    journal.link.connect().map_err(away)?;
    let Me { node, incarnation } = journal.me.clone();
    let sql = "UPDATE journal_nodes SET lease_until = clock_timestamp() + make_interval(secs => $3)
               WHERE name = $1 AND incarnation = $2 AND life = 'alive'";
    let renewed = journal
        .link
        .call(async |client| client.execute(sql, &[&&*node, &incarnation, &lease_seconds()]).await);
    match renewed {
        Some(Ok(1)) => Ok(Lease::Until { valid: LEASE }),
        Some(Ok(_)) => Err(LeaseError::Dead { incarnation: incarnation.cast_unsigned() }),
        Some(Err(error)) => Err(away(error.into())),
        None => Err(away("no answer in time".into())),
    }
}

/// Why a leadership was not granted, before it has the shard's name.
enum Refused {
    Held { node: String, left_ms: u64 },
    Dead,
    Fault(Cause),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Fault(error.into())
    }
}

impl From<ReadError> for Refused {
    fn from(error: ReadError) -> Self {
        Self::Fault(error.into())
    }
}

/// See [`crate::Journal::lead`].
pub(super) fn lead(journal: &mut PostgresJournal, shard: &ShardName) -> Result<Leadership, LeadError> {
    let fault = |cause: Cause| LeadError::Io { shard: shard.clone(), cause };
    journal.link.connect().map_err(fault)?;
    let me = journal.me.clone();
    let granted = journal.link.call(async |client| grant(client, &me, shard).await);
    match granted {
        Some(Ok(row)) => {
            let HeadRow { number, head, sum, .. } = row;
            let led = Led { number, epoch: head.epoch, next: head.next, sum };
            let _older = journal.led.insert(shard.clone(), led);
            Ok(Leadership { head })
        }
        Some(Err(Refused::Held { node, left_ms })) => {
            Err(LeadError::Held { shard: shard.clone(), node, left_ms })
        }
        Some(Err(Refused::Dead)) => Err(LeadError::Dead { incarnation: me.incarnation.cast_unsigned() }),
        Some(Err(Refused::Fault(cause))) => Err(fault(cause)),
        None => Err(fault("no answer in time".into())),
    }
}

async fn grant(client: &mut Client, me: &Me, shard: &ShardName) -> Result<HeadRow, Refused> {
    let transaction = client.transaction().await?;
    match grant_within(&transaction, me, shard).await {
        Ok(row) => {
            transaction.commit().await?;
            Ok(row)
        }
        Err(refused) => {
            roll_back(transaction).await;
            Err(refused)
        }
    }
}

async fn grant_within(transaction: &Transaction<'_>, me: &Me, shard: &ShardName) -> Result<HeadRow, Refused> {
    let alive =
        "SELECT 1 FROM journal_nodes WHERE name = $1 AND incarnation = $2 AND life = 'alive' FOR SHARE";
    if transaction.query_opt(alive, &[&&*me.node, &me.incarnation]).await?.is_none() {
        return Err(Refused::Dead);
    }
    let start = sum_column(Sum::start(shard));
    let new = "INSERT INTO journal_shards (name, epoch, next, last_at, sum, oldest, oldest_sum)
               VALUES ($1, 0, 1, 0, $2, 1, $2) ON CONFLICT (name) DO NOTHING";
    let _made = transaction.execute(new, &[&shard.as_str(), &start]).await?;
    let lock = "SELECT owner, owner_incarnation FROM journal_shards WHERE name = $1 FOR UPDATE";
    let row = transaction.query_one(lock, &[&shard.as_str()]).await?;
    let owner: Option<String> = row.try_get(0)?;
    let incarnation: Option<i64> = row.try_get(1)?;
    if let Some((node, incarnation)) = owner.zip(incarnation)
        && (node.as_str(), incarnation) != (&*me.node, me.incarnation)
    {
        end_old(transaction, &node, incarnation).await?;
    }
    let raise =
        "UPDATE journal_shards SET epoch = epoch + 1, owner = $2, owner_incarnation = $3 WHERE name = $1";
    let _one = transaction.execute(raise, &[&shard.as_str(), &&*me.node, &me.incarnation]).await?;
    let row = rows::head(transaction, shard).await?;
    Ok(row.ok_or(ReadError::DamagedList { what: "a shard's row has gone" })?)
}

/// Declares the old leader's incarnation dead, where its lease has run out.
async fn end_old(transaction: &Transaction<'_>, node: &str, incarnation: i64) -> Result<(), Refused> {
    let sql = "SELECT (extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint FROM journal_nodes
               WHERE name = $1 AND incarnation = $2 AND life = 'alive' FOR UPDATE";
    // Without such a row the incarnation is over already: a newer one lives, or it was declared dead.
    let Some(row) = transaction.query_opt(sql, &[&node, &incarnation]).await? else { return Ok(()) };
    let left_ms: i64 = row.try_get(0)?;
    if left_ms > 0 {
        return Err(Refused::Held { node: node.to_owned(), left_ms: left_ms.cast_unsigned() });
    }
    let kill = "UPDATE journal_nodes SET life = 'dead' WHERE name = $1 AND incarnation = $2";
    let _one = transaction.execute(kill, &[&node, &incarnation]).await?;
    Ok(())
}
