//! What a build's next version will be made of.

use std::fs;
use std::io;
use std::sync::PoisonError;

use mainstay_core::BuildId;
use mainstay_journal::durable::{self, make_folder, sync_folder};

use super::sweep::file_name;
use super::{Entry, FILE_MODE, FILES_MAX, FOLDER_MODE, Store, StoreError, checked};

impl Store {
    /// Names a file of a build. One that is known keeps its bytes until others have come whole.
    ///
    /// # Errors
    /// A path that is none, too many files, and the disk.
    pub(crate) fn name(&self, build: BuildId, path: &str) -> Result<Entry, StoreError> {
        let path = checked(path)?;
        if let Some(known) = self.entry(build, path)? {
            return Ok(known);
        }
        {
            let _alone = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
            make_folder(&self.drafts(build), FOLDER_MODE)?;
        }
        if fs::read_dir(self.drafts(build))?.count() >= FILES_MAX {
            return Err(StoreError::TooManyFiles);
        }
        self.room(0)?;
        let entry = Entry { path: path.to_owned(), content: None };
        self.write(build, &entry)?;
        Ok(entry)
    }

    /// A file of a build. One whose bytes were found damaged has none.
    ///
    /// # Errors
    /// The disk.
    pub(super) fn entry(&self, build: BuildId, path: &str) -> Result<Option<Entry>, StoreError> {
        match fs::read(self.draft(build, path)) {
            Ok(bytes) => {
                let entry: Entry = serde_json::from_slice(&bytes).map_err(io::Error::from)?;
                let content = entry.content.filter(|content| !self.is_damaged(&content.sha256));
                Ok(Some(Entry { content, ..entry }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whole or not at all.
    pub(super) fn write(&self, build: BuildId, entry: &Entry) -> io::Result<()> {
        let name = file_name(&self.draft(build, &entry.path));
        durable::write(&self.drafts(build), &name, &serde_json::to_vec(entry)?, FILE_MODE)
    }

    /// Every file, by path. Those whose bytes were found damaged have none.
    ///
    /// # Errors
    /// The disk.
    pub(crate) fn list(&self, build: BuildId) -> Result<Vec<Entry>, StoreError> {
        let folder = match fs::read_dir(self.drafts(build)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened?,
        };
        let (mut entries, damaged) = (Vec::new(), self.damaged()?);
        for file in folder {
            let file = file?.path();
            if file.extension().is_some_and(|suffix| suffix == "json") {
                let entry: Entry = serde_json::from_slice(&fs::read(file)?).map_err(io::Error::from)?;
                let content = entry.content.filter(|content| !damaged.contains(&content.sha256));
                entries.push(Entry { content, ..entry });
            }
        }
        entries.sort_by(|one: &Entry, other: &Entry| one.path.cmp(&other.path));
        Ok(entries)
    }

    /// A file is no longer in the next version. Versions there are keep it.
    ///
    /// # Errors
    /// Where there is none, and the disk.
    pub(crate) fn remove(&self, build: BuildId, path: &str) -> Result<(), StoreError> {
        match fs::remove_file(self.draft(build, path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(StoreError::Unknown(path.chars().take(100).collect()))
            }
            removed => {
                removed?;
                Ok(sync_folder(&self.drafts(build))?)
            }
        }
    }

    /// A build that is gone has no next version. Its objects stay: another build may have the same.
    ///
    /// # Errors
    /// The disk.
    pub(crate) fn forget(&self, build: BuildId) -> Result<(), StoreError> {
        match fs::remove_dir_all(self.drafts(build)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
