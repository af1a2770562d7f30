//! Opens a data directory, and refuses what it cannot vouch for.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::core::Core;
use super::heads::{ListFault, Meta, load};
use super::mark::{Mark, Marked};
use super::reserve::Reserve;
use super::schema::{FORMAT, connect, create, format, objects, use_wal};
use crate::durable::make_folder;
use crate::error::OpenError;

/// The lock on a data directory, held while this lives.
#[derive(Debug)]
pub(super) struct DirLock {
    _file: File,
}

impl DirLock {
    fn take(dir: &Path) -> Result<Self, OpenError> {
        let path = dir.join("journal.lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| fault(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse { dir: dir.to_owned() }),
            Err(TryLockError::Error(error)) => Err(fault(&path, error)),
        }
    }
}

/// What of a journal a directory holds.
enum Found {
    /// Nothing, or a making that was cut short before anything was acknowledged.
    Fresh,
    /// A journal, with what its mark says.
    Journal(Marked),
}

/// See [`super::SqliteJournal::open`].
pub(super) fn open(dir: &Path) -> Result<(DirLock, Core), OpenError> {
    make_private(dir).map_err(|error| fault(dir, error))?;
    let lock = DirLock::take(dir)?;
    let file = dir.join("journal.db");
    let sqlite = |error: rusqlite::Error| fault(&file, error);
    let (conn, found) = find(dir, &file)?;
    let marked = match found {
        Found::Fresh => {
            make(&conn).map_err(sqlite)?;
            None
        }
        Found::Journal(marked) => Some(marked),
    };
    let list = load(&conn).map_err(|error| list_fault(&file, error))?;
    if let Some(marked) = marked {
        compare(&file, &list.0, marked)?;
    }
    let mark = Mark::open(dir, Marked::from(&list.0)).map_err(|error| fault(&Mark::path(dir), error))?;
    let reserve = Reserve::open(dir).map_err(|error| fault(&dir.join("journal.reserve"), error))?;
    Ok((lock, Core::new(conn, file, list, mark, reserve)))
}

/// A journal holds payloads: its folder is its owner's alone, whatever the folder above is open to.
fn make_private(dir: &Path) -> io::Result<()> {
    make_folder(dir, PRIVATE)?;
    fs::set_permissions(dir, Permissions::from_mode(PRIVATE))
}

/// Entered by the owner alone.
const PRIVATE: u32 = 0o700;

fn find(dir: &Path, file: &Path) -> Result<(Connection, Found), OpenError> {
    let sqlite = |error: rusqlite::Error| fault(file, error);
    let damaged = |what| Err(OpenError::Damaged { file: file.to_owned(), what });
    let marked = Mark::read(dir)?;
    let exists = file.try_exists().map_err(|error| fault(file, error))?;
    match (exists, marked) {
        (false, Some(_)) => return damaged("it is gone, but its mark is there"),
        (false, None) if dir.join("journal.db-wal").exists() => {
            return damaged("it is gone, but its log is there");
        }
        (false, None) | (true, _) => {}
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let conn = connect(file, flags).map_err(sqlite)?;
    let found = format(&conn).map_err(sqlite)?;
    if found > FORMAT {
        return Err(OpenError::Format { file: file.to_owned(), found, known: FORMAT });
    }
    match marked {
        Some(_) if found != FORMAT => damaged("its format number is not the one that was written"),
        Some(marked) => Ok((conn, Found::Journal(marked))),
        None if found == 0 && objects(&conn).map_err(sqlite)? == 0 => Ok((conn, Found::Fresh)),
        None => match load(&conn) {
            // Made, but the mark was not: nothing was ever appended.
            Ok((meta, _none)) if meta.commits == 0 => Ok((conn, Found::Journal(Marked::from(&meta)))),
            Ok(_) | Err(_) => Err(OpenError::Mark { file: Mark::path(dir), what: "is missing" }),
        },
    }
}

fn make(conn: &Connection) -> rusqlite::Result<()> {
    use_wal(conn)?;
    let journal = conn.query_row("SELECT randomblob(16)", [], |row| row.get(0))?;
    create(conn, &Meta { journal, commits: 0, shards: 0, heads: 0 })
}

pub(super) fn compare(file: &Path, meta: &Meta, marked: Marked) -> Result<(), OpenError> {
    let damaged = |what| Err(OpenError::Damaged { file: file.to_owned(), what });
    if meta.journal != marked.journal {
        return damaged("its mark is another journal's");
    }
    if meta.commits < marked.commits {
        return Err(OpenError::TailLost {
            file: file.to_owned(),
            found: meta.commits,
            marked: marked.commits,
        });
    }
    if meta.commits == marked.commits && meta.heads != marked.heads {
        return damaged("its shards are not those of its mark");
    }
    Ok(())
}

fn fault(place: &Path, cause: impl Into<crate::error::Cause>) -> OpenError {
    OpenError::Io { place: place.display().to_string(), cause: cause.into() }
}

pub(super) fn list_fault(file: &Path, error: ListFault) -> OpenError {
    match error {
        ListFault::Damaged(what) => OpenError::Damaged { file: file.to_owned(), what },
        ListFault::Sqlite(error) => fault(file, error),
    }
}
