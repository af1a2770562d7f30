//! What is kept of builds that are given to machines: their lists, and what their folders were when they were hashed.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use mainstay_core::BuildId;
use mainstay_journal::durable;
use mainstay_wire::builds::ContentHash;
use sha2::{Digest as _, Sha256};

use super::sweep::file_name;
use super::{FILE_MODE, Store, StoreError, touch};
use crate::publish::Shelf;

impl Store {
    /// Whether a folder is one that a version was laid out in.
    pub(crate) fn holds(&self, folder: &Path) -> bool {
        folder.starts_with(self.root.join("releases"))
    }

    /// Keeps a list of files under its hash.
    ///
    /// # Errors
    /// The disk.
    pub(crate) fn keep_manifest(&self, bytes: &[u8]) -> io::Result<ContentHash> {
        let hash = ContentHash::of(Sha256::digest(bytes).into());
        let name = hash.to_string();
        if !self.is_here(&name)? {
            self.keep_bytes(bytes, &name)?;
        }
        Ok(hash)
    }

    /// Keeps bytes of an image under their hash, as they are read; says whether they are what was said of them.
    ///
    /// # Errors
    /// The disk, and where there is no room.
    pub(crate) fn keep_blob(
        &self,
        wanted: ContentHash,
        bytes: &mut dyn io::Read,
    ) -> Result<bool, StoreError> {
        let name = wanted.to_string();
        if self.is_here(&name)? {
            return Ok(true);
        }
        self.room(0)?;
        let unfinished = self.root.join("uploads").join(format!("blob-{name}"));
        let (mut file, mut hash) = (File::create(&unfinished)?, Sha256::new());
        let mut step = vec![0; 256 << 10];
        loop {
            let read = bytes.read(&mut step)?;
            let Some(read) = step.get(..read).filter(|read| !read.is_empty()) else { break };
            hash.update(read);
            file.write_all(read)?;
        }
        if ContentHash::of(hash.finalize().into()) != wanted {
            fs::remove_file(unfinished)?;
            return Ok(false);
        }
        self.keep(&unfinished, &name)?;
        Ok(true)
    }

    /// A folder that an image from a registry is brought into; empty.
    ///
    /// # Errors
    /// The disk.
    pub(crate) fn workplace(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.root.join("uploads").join(name);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(folder),
        }
    }

    /// An object and its size, where there is one.
    ///
    /// # Errors
    /// The disk.
    pub(crate) fn open_object(&self, hash: ContentHash) -> io::Result<Option<(File, u64)>> {
        match File::open(self.object(&hash.to_string())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => {
                let file = opened?;
                touch(&file)?;
                let size = file.metadata()?.len();
                Ok(Some((file, size)))
            }
        }
    }

    fn shelf_file(&self, build: BuildId) -> PathBuf {
        self.root.join("published").join(format!("{}.json", build.number()))
    }

    /// What a build's folder was when it was last published. What cannot be read is as if it had never been.
    ///
    /// # Errors
    /// The disk.
    pub(crate) fn shelf(&self, build: BuildId) -> io::Result<Option<Shelf>> {
        match fs::read(self.shelf_file(build)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps it, whole or not at all.
    ///
    /// # Errors
    /// The disk.
    pub(crate) fn keep_shelf(&self, build: BuildId, shelf: &Shelf) -> io::Result<()> {
        let name = file_name(&self.shelf_file(build));
        durable::write(&self.root.join("published"), &name, &serde_json::to_vec(shelf)?, FILE_MODE)
    }
}
