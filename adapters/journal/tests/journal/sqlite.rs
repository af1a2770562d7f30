//! The SQLite store against the contract, and what only it promises.

use mainstay_journal::sqlite::{SqliteJournal, SqliteReader};
use tempfile::TempDir;

use crate::contract::contract;
use crate::fixture::Store;

/// A data directory of its own.
pub struct Sqlite {
    pub dir: TempDir,
}

impl Sqlite {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }
}

impl Store for Sqlite {
    type Journal = SqliteJournal;
    type Reader = SqliteReader;

    fn open(&mut self) -> SqliteJournal {
        SqliteJournal::open(self.dir.path()).unwrap()
    }

    fn reader(&mut self, journal: &SqliteJournal) -> SqliteReader {
        journal.reader().unwrap()
    }
}

contract!(Sqlite::new());
