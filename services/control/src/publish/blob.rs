//! A file of a published folder, to be sent as what it was when it was hashed, or not at all.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::refusal::Unpublished;
use super::scan::{Stamp, Stamped};

/// A file of a published folder.
#[derive(Debug, Clone)]
pub(crate) struct Blob {
    folder: PathBuf,
    path: String,
    stamp: Stamp,
}

impl Blob {
    pub(super) fn of(folder: &Path, file: &Stamped) -> Self {
        Self { folder: folder.to_owned(), path: file.path.clone(), stamp: file.stamp }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file and its size, if it is what was hashed.
    pub(super) fn open(self) -> Result<(File, u64), Unpublished> {
        let changed = || Unpublished::Changed { folder: self.folder.clone() };
        let file = match File::open(self.folder.join(&self.path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(changed()),
            opened => opened?,
        };
        let found = file.metadata()?;
        if Stamp::of(&found) == self.stamp { Ok((file, found.len())) } else { Err(changed()) }
    }
}
