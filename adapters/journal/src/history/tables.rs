//! The tables of `history.sqlite`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mainstay_core::Timestamp;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, TransactionBehavior, params};

use super::{About, Happened, HistoryError, HistoryRow, SUBJECTS_MAX, Told};
use crate::durable;
use crate::types::{Seq, ShardName};

/// 1 kept the subjects of all rows in one tree.
const FORMAT: u32 = 2;
/// A lot is 8,192 rows: the part of `named` that grows is a megabyte, which stays in memory however long the history is, and a
/// subject of a million rows is looked for in 122 lots.
const LOT_BITS: u32 = 13;
/// What a connection keeps of the file, in KiB: some lots. With SQLite's two megabytes most pages of a busy second were read and
/// written several times.
const CACHE_KIB: i64 = 8 * 1_024;
/// After so many written pages, 16 MiB, the log is copied into the file. That takes two syncs, and the journal's own wait for them.
const CHECKPOINT_PAGES: u32 = 4_096;
/// How long a reader waits for a page being written.
const BUSY_MAX: Duration = Duration::from_secs(5);
/// Between the subjects of a row; printed ids have no line breaks.
const BETWEEN: &str = "\n";

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS history (
        id       INTEGER PRIMARY KEY AUTOINCREMENT,
        shard    TEXT    NOT NULL,
        seq      INTEGER NOT NULL,
        at       INTEGER NOT NULL,
        kind     TEXT    NOT NULL,
        subjects TEXT    NOT NULL,
        detail   TEXT    NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS named (
        lot     INTEGER NOT NULL,
        subject TEXT    NOT NULL,
        row     INTEGER NOT NULL,
        PRIMARY KEY (lot, subject, row)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS history_shard_at ON history (shard, at);
    CREATE TABLE IF NOT EXISTS followed (
        shard TEXT    PRIMARY KEY,
        next  INTEGER NOT NULL
    ) STRICT;
";

/// Opens or makes the file; a damaged one is put aside.
pub(super) fn open(file: &Path) -> Result<Connection, HistoryError> {
    match prepare(file) {
        Err(Unprepared::Sqlite(error)) if is_damage(&error) => {
            put_aside(file).map_err(|error| HistoryError::Io { cause: error.into() })?;
            tracing::warn!(file = %file.display(), %error, "the history was damaged; it is put aside and begins anew");
            prepare(file).map_err(Into::into)
        }
        prepared => prepared.map_err(Into::into),
    }
}

enum Unprepared {
    Newer(u32),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Unprepared {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Unprepared> for HistoryError {
    fn from(unprepared: Unprepared) -> Self {
        match unprepared {
            Unprepared::Newer(found) => Self::Format { found, known: FORMAT },
            Unprepared::Sqlite(error) => error.into(),
        }
    }
}

fn prepare(file: &Path) -> Result<Connection, Unprepared> {
    let mut conn = Connection::open(file)?;
    conn.busy_timeout(BUSY_MAX)?;
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |_row| Ok(()))?;
    // What a power cut takes is followed again: no sync for each page.
    conn.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA cell_size_check = ON;")?;
    conn.pragma_update(None, "cache_size", -CACHE_KIB)?;
    conn.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    if found_format(&conn)? != FORMAT {
        come_to_format(&mut conn)?;
    }
    Ok(conn)
}

fn found_format(conn: &Connection) -> rusqlite::Result<u32> {
    conn.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Makes the tables of a new file, or brings those of an older format over: some seconds for a million rows, once.
fn come_to_format(conn: &mut Connection) -> Result<(), Unprepared> {
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another connection may have been first.
    let found = found_format(&transaction)?;
    if found > FORMAT {
        return Err(Unprepared::Newer(found));
    }
    transaction.execute_batch(TABLES)?;
    if found == 1 {
        let lots =
            format!("INSERT INTO named SELECT row >> {LOT_BITS}, subject, row FROM subjects ORDER BY 1");
        transaction.execute(&lots, [])?;
        transaction.execute("DROP TABLE subjects", [])?;
    }
    transaction.pragma_update(None, "user_version", FORMAT)?;
    Ok(transaction.commit()?)
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

fn put_aside(file: &Path) -> io::Result<()> {
    let with = |suffix: &str| {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    for beside in [with("-wal"), with("-shm")] {
        match fs::remove_file(beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    durable::rename(file, &with(".damaged"))
}

pub(super) fn followed(conn: &Connection, shard: &ShardName) -> rusqlite::Result<Option<Seq>> {
    conn.prepare_cached("SELECT next FROM followed WHERE shard = ?1")?
        .query_row([shard.as_str()], |row| Ok(Seq(row.get::<_, i64>(0)?.cast_unsigned())))
        .optional()
}

pub(super) fn set_followed(conn: &Connection, shard: &ShardName, next: Seq) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO followed (shard, next) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET next = excluded.next";
    conn.prepare_cached(sql)?.execute(params![shard.as_str(), next.0.cast_signed()]).map(|_one| ())
}

pub(super) fn insert(
    conn: &Connection,
    shard: &ShardName,
    seq: Seq,
    at: Timestamp,
    told: &Told,
) -> rusqlite::Result<()> {
    let Told { index: _, kind, subjects, detail } = told;
    let subjects = &subjects[..subjects.len().min(SUBJECTS_MAX)];
    let sql = "INSERT INTO history (shard, seq, at, kind, subjects, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let (seq, at) = (seq.0.cast_signed(), at.unix_ms().cast_signed());
    let values = params![shard.as_str(), seq, at, kind, subjects.join(BETWEEN), detail];
    let row = conn.prepare_cached(sql)?.insert(values)?;
    let mut name =
        conn.prepare_cached("INSERT OR IGNORE INTO named (lot, subject, row) VALUES (?1, ?2, ?3)")?;
    subjects.iter().try_for_each(|subject| name.execute(params![lot_of(row), subject, row]).map(|_one| ()))
}

/// Where the subjects of a row are kept.
const fn lot_of(row: i64) -> i64 {
    row >> LOT_BITS
}

/// The lots there are, from the oldest to the newest.
fn lots(conn: &Connection) -> rusqlite::Result<Option<(i64, i64)>> {
    let sql = "SELECT (SELECT min(id) FROM history), (SELECT max(id) FROM history)";
    let (first, last): (Option<i64>, Option<i64>) =
        conn.prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(first.zip(last).map(|(first, last)| (lot_of(first), lot_of(last))))
}

/// A row that is not kept: its id, and its subjects as they are written.
pub(super) type Outlived = (i64, String);

/// Rows have rising ids, so no more than so many are newer than this.
const TOO_MANY: &str =
    "SELECT id, subjects FROM history WHERE id <= (SELECT max(id) FROM history) - ?1 ORDER BY id LIMIT ?2";
/// Shard by shard, because that is how rows are found by age: this is asked each second, and a history has a million.
const TOO_OLD: &str = "SELECT id, subjects FROM followed CROSS JOIN history ON history.shard = followed.shard WHERE at < ?1 LIMIT ?2";

/// Some of the rows that are older than `cut`, or more than `rows_max`: `step` at most.
pub(super) fn outlived(
    conn: &Connection,
    cut: i64,
    rows_max: i64,
    step: usize,
) -> rusqlite::Result<Vec<Outlived>> {
    let mut found = Vec::new();
    for (sql, bound) in [(TOO_MANY, rows_max), (TOO_OLD, cut)] {
        let left = i64::try_from(step - found.len()).unwrap_or(i64::MAX);
        let mut rows = conn.prepare_cached(sql)?;
        for row in rows.query_map([bound, left], |row| Ok((row.get(0)?, row.get(1)?)))? {
            found.push(row?);
        }
    }
    Ok(found)
}

/// Deletes a row, and where it is found.
pub(super) fn forget(conn: &Connection, (id, subjects): &Outlived) -> rusqlite::Result<()> {
    let mut name = conn.prepare_cached("DELETE FROM named WHERE lot = ?1 AND subject = ?2 AND row = ?3")?;
    subjects
        .split(BETWEEN)
        .try_for_each(|subject| name.execute(params![lot_of(*id), subject, id]).map(|_one| ()))?;
    conn.prepare_cached("DELETE FROM history WHERE id = ?1")?.execute([id]).map(|_one| ())
}

/// Which rows are looked for.
pub(super) enum Bounds {
    /// With ids below this.
    Before(i64),
    /// From the first time, and before the second.
    Times(Timestamp, Timestamp),
}

pub(super) fn find(
    conn: &Connection,
    about: About<'_>,
    bounds: Bounds,
    rows_max: u32,
) -> Result<Vec<HistoryRow>, HistoryError> {
    let (bound, from, to) = match bounds {
        Bounds::Before(id) => ("id", i64::MIN, id),
        Bounds::Times(from, to) => ("at", from.unix_ms().cast_signed(), to.unix_ms().cast_signed()),
    };
    let query = |tables: &str, named: &str| {
        format!(
            "SELECT id, shard, seq, at, kind, subjects, detail FROM {tables}
             WHERE {bound} >= ?1 AND {bound} < ?2 {named} ORDER BY id DESC LIMIT ?3"
        )
    };
    let rows: rusqlite::Result<Vec<HistoryRow>> = match about {
        About::Everything => conn
            .prepare_cached(&query("history", ""))?
            .query_map(params![from, to, rows_max], row_of)?
            .collect(),
        About::Shard(shard) => conn
            .prepare_cached(&query("history", "AND shard = ?4"))?
            .query_map(params![from, to, rows_max, shard], row_of)?
            .collect(),
        About::Subject(subject) => {
            // The same row by another name: in this order rows come as they are asked for, without sorting.
            let sql = query("named CROSS JOIN history ON id = row", "AND subject = ?4 AND lot = ?5")
                .replace("ORDER BY id", "ORDER BY row");
            let mut of_lot = conn.prepare_cached(&sql)?;
            let mut found = Vec::new();
            let (oldest, newest) = lots(conn)?.unwrap_or((0, -1));
            for lot in (oldest..=newest).rev() {
                let left = i64::from(rows_max) - i64::try_from(found.len()).unwrap_or(i64::MAX);
                if left <= 0 {
                    break;
                }
                for row in of_lot.query_map(params![from, to, left, subject, lot], row_of)? {
                    found.push(row?);
                }
            }
            Ok(found)
        }
    };
    Ok(rows?)
}

pub(super) fn count(
    conn: &Connection,
    about: About<'_>,
    from: Timestamp,
    to: Timestamp,
    step: u64,
) -> Result<Vec<Happened>, HistoryError> {
    let (from_ms, to_ms, step) =
        (from.unix_ms().cast_signed(), to.unix_ms().cast_signed(), step.cast_signed());
    let counted = |tables: &str, named: &str| {
        format!(
            "WITH RECURSIVE lots (lot) AS (
                 SELECT min(id) >> {LOT_BITS} FROM history UNION ALL
                 SELECT lot + 1 FROM lots WHERE lot < (SELECT max(id) FROM history) >> {LOT_BITS}
             )
             SELECT ?1 + (at - ?1) / ?3 * ?3, kind, count(*) FROM {tables}
             WHERE at >= ?1 AND at < ?2 {named} GROUP BY 1, 2 ORDER BY 1, 2"
        )
    };
    let happened = |row: &Row<'_>| {
        Ok(Happened {
            at: Timestamp::from_unix_ms(row.get::<_, i64>(0)?.cast_unsigned()),
            kind: row.get(1)?,
            count: row.get::<_, i64>(2)?.cast_unsigned(),
        })
    };
    let rows: rusqlite::Result<Vec<Happened>> = match about {
        About::Everything => conn
            .prepare_cached(&counted("history", ""))?
            .query_map(params![from_ms, to_ms, step], happened)?
            .collect(),
        About::Shard(shard) => conn
            .prepare_cached(&counted("history", "AND shard = ?4"))?
            .query_map(params![from_ms, to_ms, step, shard], happened)?
            .collect(),
        About::Subject(subject) => conn
            .prepare_cached(&counted(
                "lots CROSS JOIN named ON named.lot = lots.lot CROSS JOIN history ON id = row",
                "AND subject = ?4",
            ))?
            .query_map(params![from_ms, to_ms, step, subject], happened)?
            .collect(),
    };
    Ok(rows?)
}

fn row_of(row: &Row<'_>) -> rusqlite::Result<HistoryRow> {
    let subjects: String = row.get(5)?;
    Ok(HistoryRow {
        id: row.get(0)?,
        shard: row.get(1)?,
        seq: Seq(row.get::<_, i64>(2)?.cast_unsigned()),
        at: Timestamp::from_unix_ms(row.get::<_, i64>(3)?.cast_unsigned()),
        kind: row.get(4)?,
        subjects: subjects.split(BETWEEN).filter(|subject| !subject.is_empty()).map(Into::into).collect(),
        detail: row.get(6)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scan of a full history each second took more than a third of a core.
    #[test]
    fn what_is_not_kept_is_found_without_reading_what_is() {
        let dir = tempfile::tempdir().unwrap();
        let conn = prepare(&dir.path().join("history.sqlite")).unwrap_or_else(|_| panic!("a new file"));
        for sql in [TOO_MANY, TOO_OLD] {
            let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let steps = plan.query_map([0, 0], |row| row.get::<_, String>(3)).unwrap();
            let steps: Vec<String> = steps.collect::<Result<_, _>>().unwrap();
            assert!(steps.iter().any(|step| step.starts_with("SEARCH history")), "{steps:?}");
            assert!(!steps.iter().any(|step| step.starts_with("SCAN history")), "{steps:?}");
        }
    }
}
