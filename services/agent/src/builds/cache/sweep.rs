//! What of the builds on this disk takes how much room, and what nobody needs any more.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use mainstay_core::slot::ConfigurationRef;
use mainstay_journal::durable;
use mainstay_wire::builds::{ContentHash, ImageManifest, Manifest};

use super::{Cache, Object};
use crate::builds::failure::BuildError;

/// An install on the disk, for whoever decides what is deleted.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) manifest: ContentHash,
    /// What would be free without it: its files that no other install has.
    pub(crate) bytes: u64,
    /// When a server last started from it, or it was made.
    pub(crate) used: SystemTime,
}

impl Cache {
    /// Every install, with what would be free without it.
    pub(crate) fn kept(&self) -> Result<Vec<Kept>, BuildError> {
        let folder = self.root.join("installs");
        let failed = |source| BuildError::Files { what: "list", path: folder.clone(), source };
        let mut kept = Vec::new();
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Some(manifest) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let used = entry.metadata().and_then(|found| found.modified()).map_err(failed)?;
            let bytes = own_bytes(&entry.path()).map_err(failed)?;
            kept.push(Kept { manifest, bytes, used });
        }
        Ok(kept)
    }

    /// The bytes of files that several installs share: they go with the last of these.
    pub(crate) fn shared_bytes(&self) -> Result<u64, BuildError> {
        let folder = self.root.join("objects");
        let attempt = || -> io::Result<u64> {
            let mut bytes = 0;
            for part in fs::read_dir(&folder)? {
                for object in fs::read_dir(part?.path())? {
                    let found = object?.metadata()?;
                    if found.nlink() > 2 {
                        bytes += found.len();
                    }
                }
            }
            Ok(bytes)
        };
        attempt().map_err(BuildError::files("look at", &folder))
    }

    /// What must stay beside the installs: the lists of all of them, and everything of those that are wanted, whose objects
    /// may have come and not be laid out yet.
    fn wanted(&self, needed: &BTreeSet<ContentHash>) -> Result<BTreeSet<Object>, BuildError> {
        let mut wanted: BTreeSet<Object> = self
            .kept()?
            .iter()
            .map(|kept| kept.manifest)
            .chain(needed.iter().copied())
            .map(Object::list)
            .collect();
        for hash in needed {
            let Some(bytes) = self.manifest(*hash)? else { continue };
            if let Ok(manifest) = Manifest::read(&bytes) {
                wanted.extend(manifest.files().iter().map(Object::of));
            } else if let Ok(image) = ImageManifest::read(&bytes) {
                // An image that is unpacked needs its layers no more.
                let layers = image.blobs().into_iter().map(|(hash, _)| Object::list(hash));
                wanted.extend(layers.filter(|_| !self.install(*hash).is_dir()));
            }
        }
        Ok(wanted)
    }

    /// Deletes objects that no install has, and bytes that came for nothing that is needed; says how many that were.
    pub(crate) fn sweep(&self, needed: &BTreeSet<ContentHash>) -> Result<u64, BuildError> {
        let wanted = self.wanted(needed)?;
        let mut freed = 0;
        let mut sweep = |folder: &Path, spare: &dyn Fn(&fs::Metadata) -> bool| -> io::Result<()> {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                let found = entry.metadata()?;
                let object = entry.file_name().to_str().and_then(Object::read);
                let keep = object.is_some_and(|object| wanted.contains(&object));
                if found.is_file() && !keep && spare(&found) {
                    fs::remove_file(entry.path())?;
                    freed += found.len();
                }
            }
            Ok(())
        };
        let objects = self.root.join("objects");
        let mut attempt = || -> io::Result<()> {
            for folder in fs::read_dir(&objects)? {
                sweep(&folder?.path(), &|found| found.nlink() == 1)?;
            }
            sweep(&self.root.join("partial"), &|_| true)
        };
        attempt().map_err(BuildError::files("sweep", objects))?;
        Ok(freed)
    }

    /// Deletes references to configurations that are known no more. One that is being written meanwhile has another name until it is whole.
    pub(crate) fn keep_references(&self, known: &BTreeSet<ConfigurationRef>) -> Result<(), BuildError> {
        let keep: BTreeSet<PathBuf> = known.iter().map(|known| self.reference_file(*known)).collect();
        self.remove_references(|path| !keep.contains(path) && !is_unfinished(path))
    }

    /// Deletes what is left of references that were being written when the agent ended.
    pub(super) fn remove_unfinished_references(&self) -> Result<(), BuildError> {
        self.remove_references(is_unfinished)
    }

    fn remove_references(&self, goes: impl Fn(&Path) -> bool) -> Result<(), BuildError> {
        let folder = self.root.join("refs");
        for entry in fs::read_dir(&folder).map_err(BuildError::files("sweep", &folder))? {
            let path = entry.map_err(BuildError::files("sweep", &folder))?.path();
            if goes(&path) {
                super::remove(&path)?;
            }
        }
        Ok(())
    }
}

fn is_unfinished(path: &Path) -> bool {
    path.extension().is_some_and(|ends| ends == durable::UNFINISHED)
}

/// The bytes of an install's files that nothing but their object shares.
fn own_bytes(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        if found.is_dir() {
            bytes += own_bytes(&entry.path())?;
        } else if found.is_file() && found.nlink() <= 2 {
            bytes += found.len();
        }
    }
    Ok(bytes)
}
