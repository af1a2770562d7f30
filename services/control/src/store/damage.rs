//! Objects whose bytes are no longer what their names say.
//!
//! Nobody reads all objects to find one: it shows when a machine fetches it, or its list is read. It is set aside then, so that
//! whatever asks for it is told, and not given it; and whoever keeps the same content again (an upload, a folder or an image
//! that is published anew) mends it, in every version that has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use mainstay_journal::durable;

use super::sweep::{below, file_name, listed};
use super::{Entry, Store, StoreError};

impl Store {
    fn damaged_file(&self, sha256: &str) -> PathBuf {
        self.root.join("damaged").join(sha256)
    }

    /// Sets an object aside that is not what its name says.
    ///
    /// # Errors
    /// The disk.
    pub(crate) fn set_aside(&self, sha256: &str) -> io::Result<()> {
        let _alone = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        match durable::rename(&self.object(sha256), &self.damaged_file(sha256)) {
            // Somebody was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed,
        }
    }

    /// Whether an object was found damaged, and nobody has kept its content again.
    pub(crate) fn is_damaged(&self, sha256: &str) -> bool {
        self.damaged_file(sha256).exists()
    }

    /// The names of the objects that were found damaged.
    pub(super) fn damaged(&self) -> io::Result<BTreeSet<String>> {
        Ok(listed(&self.root.join("damaged"))?.iter().map(|path| file_name(path)).collect())
    }

    /// What was found damaged, by its hash, with the files that it is of the builds' next versions, as `BUILD: PATH`.
    ///
    /// # Errors
    /// The disk.
    pub(crate) fn damage(&self) -> Result<BTreeMap<String, Vec<String>>, StoreError> {
        let mut damage: BTreeMap<String, Vec<String>> =
            self.damaged()?.into_iter().map(|name| (name, Vec::new())).collect();
        if damage.is_empty() {
            return Ok(damage);
        }
        for draft in below(&self.root.join("drafts"))? {
            if draft.extension().is_none_or(|suffix| suffix != "json") {
                continue;
            }
            let build = draft.parent().map(file_name).unwrap_or_default();
            let entry: Entry = serde_json::from_slice(&fs::read(draft)?).map_err(io::Error::from)?;
            if let Some(files) = entry.content.and_then(|content| damage.get_mut(&content.sha256)) {
                files.push(format!("{build}: {}", entry.path));
            }
        }
        Ok(damage)
    }

    /// The object is here again: in every version that has the damaged one, it takes its place. What runs from there keeps
    /// what it has opened.
    pub(super) fn mend(&self, sha256: &str) -> io::Result<()> {
        let damaged = self.damaged_file(sha256);
        let found = match fs::symlink_metadata(&damaged) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        if found.nlink() > 1 {
            for version in below(&self.root.join("releases"))? {
                self.relink(&version, found.ino(), sha256)?;
            }
        }
        fs::remove_file(damaged)
    }

    fn relink(&self, folder: &Path, damaged: u64, sha256: &str) -> io::Result<()> {
        for path in listed(folder)? {
            let found = fs::symlink_metadata(&path)?;
            if found.is_dir() {
                self.relink(&path, damaged, sha256)?;
            } else if found.ino() == damaged {
                let link = self.link(&self.object(sha256), &format!("mended-{sha256}"))?;
                durable::rename(&link, &path)?;
            }
        }
        Ok(())
    }
}
