//! The tables of `journal.db`, and the settings every connection runs with.
//!
//! `turns.key` is `shard number << 44 | first sequence`: one B-tree, appended at a few right edges. 2^44 events are ten
//! years at the highest rate measured; 2^18 shards are far more than one data directory leads.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::heads::Meta;
use crate::types::Seq;

/// The newest format this program reads and writes (`PRAGMA user_version`).
pub(super) const FORMAT: u32 = 1;
/// How many bits of a key the sequence takes.
const SEQ_BITS: u32 = 44;
/// The most events one shard can ever have in this format.
pub(super) const SEQ_MAX: Seq = Seq((1 << SEQ_BITS) - 1);
/// The most shards one data directory can ever have in this format.
pub(super) const SHARDS_MAX: u32 = 1 << 18;
/// How long a connection waits for another's step: the longest is one snapshot chunk or one checkpoint.
const BUSY_MAX: Duration = Duration::from_secs(10);

const TABLES: &str = "
    CREATE TABLE meta (
        id      INTEGER PRIMARY KEY CHECK (id = 1),
        journal BLOB    NOT NULL,
        commits INTEGER NOT NULL,
        shards  INTEGER NOT NULL,
        heads   INTEGER NOT NULL,
        sum     INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE shards (
        number      INTEGER PRIMARY KEY,
        name        TEXT    NOT NULL,
        epoch       INTEGER NOT NULL,
        next        INTEGER NOT NULL,
        last_at     INTEGER NOT NULL,
        sum         INTEGER NOT NULL,
        oldest      INTEGER NOT NULL,
        oldest_sum  INTEGER NOT NULL,
        snap_below  INTEGER,
        snap_at     INTEGER,
        snap_chunks INTEGER,
        snap_sum    INTEGER,
        digest      INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE turns (
        key   INTEGER PRIMARY KEY,
        count INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        at    INTEGER NOT NULL,
        sum   INTEGER NOT NULL,
        bytes BLOB    NOT NULL
    ) STRICT;
    CREATE TABLE chunks (
        shard INTEGER NOT NULL,
        below INTEGER NOT NULL,
        part  INTEGER NOT NULL,
        sum   INTEGER NOT NULL,
        bytes BLOB    NOT NULL,
        PRIMARY KEY (shard, below, part)
    ) STRICT;
";

/// The key of a turn.
pub(super) const fn turn_key(number: u32, first: Seq) -> i64 {
    (((number as u64) << SEQ_BITS) | first.0).cast_signed()
}

/// The first event of the turn with this key.
pub(super) const fn seq_of(key: i64) -> Seq {
    Seq(key.cast_unsigned() & SEQ_MAX.0)
}

/// Opens a connection with the journal's settings; makes the file where `flags` say so.
pub(super) fn connect(file: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_timeout(BUSY_MAX)?;
    // FULL syncs the log before a commit returns. Checkpoints are ours, because SQLite's own would hide a failed sync.
    // No mmap: a damaged file must be an error, not a signal.
    conn.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -16384;
         PRAGMA temp_store = MEMORY; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;",
    )?;
    conn.set_prepared_statement_cache_capacity(32);
    Ok(conn)
}

/// The format of an opened file; 0 where it has none yet.
pub(super) fn format(conn: &Connection) -> rusqlite::Result<u32> {
    conn.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// How many tables, indices and the like the file has.
pub(super) fn objects(conn: &Connection) -> rusqlite::Result<u32> {
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

/// Makes the tables in one transaction.
pub(super) fn create(conn: &Connection, meta: &Meta) -> rusqlite::Result<()> {
    let transaction = conn.unchecked_transaction()?;
    transaction.execute_batch(TABLES)?;
    meta.insert(&transaction)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// Switches the file to a write-ahead log.
pub(super) fn use_wal(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |_row| Ok(()))
}
