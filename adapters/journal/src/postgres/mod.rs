//! The store past one machine: PostgreSQL, or an engine that speaks its wire protocol.
//!
//! A shard's row holds its epoch and next sequence; an append moves it from where it is expected to be and inserts the
//! turns, in one transaction. Epoch and sequence fence; time only permits a takeover, and it is the server's. A node's
//! row holds its incarnation and lease; a takeover first declares the old incarnation dead, then raises the epoch.
//!
//! Plain tables and plain SQL: no NOTIFY, no advisory locks, no global sequence. Followers poll a [`PostgresReader`].
//! The server keeps checksums of its own log; ours tie the turns to one another as everywhere. The connection is not
//! encrypted: run it over a private network or a tunnel.

mod append;
mod lease;
mod link;
mod rows;
mod schema;
mod snapshot;

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::Timestamp;
use tokio_postgres::Client;

use crate::error::{AppendError, Cause, LeadError, LeaseError, MaintainError, OpenError, ReadError};
use crate::port::{Appended, Forgot, Head, Journal, Leadership, Lease, Reader, SnapshotHead, Space};
use crate::types::{Seq, ShardName, TurnRecord};

use append::Led;
use link::Link;
use snapshot::Draft;

/// This life of this node.
#[derive(Clone, Debug)]
struct Me {
    node: Arc<str>,
    incarnation: i64,
}

/// One life of one node, with a connection of its own. Not for use inside an async runtime: it blocks.
#[derive(Debug)]
pub struct PostgresJournal {
    link: Link,
    me: Me,
    led: BTreeMap<ShardName, Led>,
    drafts: BTreeMap<ShardName, Draft>,
}

/// Reads what is durable, on a connection of its own.
#[derive(Debug)]
pub struct PostgresReader {
    link: Link,
}

impl PostgresJournal {
    /// Connects, makes the tables where they are missing, and begins a new life of `node`: older lives of the same name
    /// lead nothing more. `url` is a connection string (`postgres://user@host/database` or `host=… user=…`).
    ///
    /// # Errors
    /// Where the string is none, the server is not reached or refuses, or a newer Mainstay made the tables.
    pub fn open(url: &str, node: &str) -> Result<Self, OpenError> {
        let mut link = link_to(url)?;
        let place = place_of(&link);
        let io = |cause: Cause| OpenError::Io { place: place.clone(), cause };
        link.connect().map_err(io)?;
        let begun = link.call(async |client| begin(client, node).await);
        let (found, incarnation) = match begun {
            Some(begun) => begun.map_err(|error| io(error.into()))?,
            None => return Err(io("no answer in time".into())),
        };
        if found > schema::FORMAT {
            let (found, known) = (found.cast_unsigned(), schema::FORMAT.cast_unsigned());
            return Err(OpenError::Format { file: place.into(), found, known });
        }
        let me = Me { node: node.into(), incarnation };
        Ok(Self { link, me, led: BTreeMap::new(), drafts: BTreeMap::new() })
    }

    /// Another handle of the same life, for another thread (the compactor, the renewal of the lease). It leads nothing.
    ///
    /// # Errors
    /// Where no connection can be prepared.
    pub fn handle(&self) -> Result<Self, OpenError> {
        let link = new_link(self.link.config().clone())?;
        Ok(Self { link, me: self.me.clone(), led: BTreeMap::new(), drafts: BTreeMap::new() })
    }

    /// A reader with a connection of its own, for another thread.
    ///
    /// # Errors
    /// Where no connection can be prepared.
    pub fn reader(&self) -> Result<PostgresReader, OpenError> {
        Ok(PostgresReader { link: new_link(self.link.config().clone())? })
    }
}

impl PostgresReader {
    /// A reader that is no life of any node: a follower on another machine. Connects with its first call.
    ///
    /// # Errors
    /// Where the string is no connection string.
    pub fn open(url: &str) -> Result<Self, OpenError> {
        Ok(Self { link: link_to(url)? })
    }
}

/// The format found, and the incarnation begun where this program knows it.
async fn begin(client: &Client, node: &str) -> Result<(i32, i64), tokio_postgres::Error> {
    let found = schema::prepare(client).await?;
    if found > schema::FORMAT {
        return Ok((found, 0));
    }
    Ok((found, lease::register(client, node).await?))
}

fn link_to(url: &str) -> Result<Link, OpenError> {
    // The string may hold a password, so it is not shown.
    let io = |cause: Cause| OpenError::Io { place: "the PostgreSQL connection string".to_owned(), cause };
    new_link(url.parse::<tokio_postgres::Config>().map_err(|error| io(error.into()))?)
}

fn new_link(config: tokio_postgres::Config) -> Result<Link, OpenError> {
    Link::new(config).map_err(|error| OpenError::Io { place: "PostgreSQL".to_owned(), cause: error.into() })
}

fn place_of(link: &Link) -> String {
    format!("PostgreSQL {:?} ports {:?}", link.config().get_hosts(), link.config().get_ports())
}

/// One view of the database for all queries of a read.
async fn viewed<T>(
    client: &mut Client,
    read: impl AsyncFnOnce(&tokio_postgres::Transaction<'_>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let view = client
        .build_transaction()
        .isolation_level(tokio_postgres::IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await
        .map_err(rows::io)?;
    let value = read(&view).await;
    link::roll_back(view).await;
    value
}

fn read<T>(
    link: &mut Link,
    read: impl AsyncFnOnce(&tokio_postgres::Transaction<'_>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    link.connect().map_err(rows::io)?;
    let answer = link.call(async |client| viewed(client, read).await);
    answer.unwrap_or_else(|| Err(rows::io("no answer in time")))
}

fn read_heads(link: &mut Link) -> Result<Vec<Head>, ReadError> {
    let rows = read(link, async |view| rows::heads(view).await)?;
    Ok(rows.into_iter().map(|row| row.head).collect())
}

fn read_head(link: &mut Link, shard: &ShardName) -> Result<Option<Head>, ReadError> {
    Ok(read(link, async |view| rows::head(view, shard).await)?.map(|row| row.head))
}

macro_rules! reads_by_link {
    ($($handle:ty),*) => {$(
        impl Reader for $handle {
            fn heads(&mut self) -> Result<Vec<Head>, ReadError> {
                read_heads(&mut self.link)
            }

            fn head(&mut self, shard: &ShardName) -> Result<Option<Head>, ReadError> {
                read_head(&mut self.link, shard)
            }

            fn read(&mut self, shard: &ShardName, from: Seq, turns_max: u32) -> Result<Vec<TurnRecord>, ReadError> {
                read(&mut self.link, async |view| rows::page(view, shard, from, turns_max).await)
            }

            fn snapshot_chunk(
                &mut self,
                shard: &ShardName,
                snapshot: &SnapshotHead,
                index: u32,
            ) -> Result<Vec<u8>, ReadError> {
                read(&mut self.link, async |view| rows::chunk(view, shard, snapshot, index).await)
            }
        }
    )*};
}

reads_by_link!(PostgresJournal, PostgresReader);

impl Journal for PostgresJournal {
    fn append(&mut self, batch: &[TurnRecord]) -> Result<Appended, AppendError> {
        append::append(self, batch)
    }

    /// The server's disk is the server's operator's: what there is is found by trying.
    fn space(&mut self) -> Result<Space, AppendError> {
        Ok(Space::Ample)
    }

    fn renew(&mut self) -> Result<Lease, LeaseError> {
        lease::renew(self)
    }

    fn lead(&mut self, shard: &ShardName) -> Result<Leadership, LeadError> {
        lease::lead(self, shard)
    }

    fn write_snapshot_chunk(
        &mut self,
        shard: &ShardName,
        covers_below: Seq,
        index: u32,
        bytes: &[u8],
    ) -> Result<(), MaintainError> {
        snapshot::write_chunk(self, shard, covers_below, index, bytes)
    }

    fn finish_snapshot(
        &mut self,
        shard: &ShardName,
        covers_below: Seq,
        at: Timestamp,
    ) -> Result<SnapshotHead, MaintainError> {
        snapshot::finish(self, shard, covers_below, at)
    }

    fn forget(&mut self, shard: &ShardName, below: Seq, turns_max: u32) -> Result<Forgot, MaintainError> {
        snapshot::forget(self, shard, below, turns_max)
    }
}
