//! A version: its manifest, and its files at their paths.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::PoisonError;

use mainstay_core::BuildId;
use mainstay_journal::durable::{self, make_folder, sync_folder};
use mainstay_wire::builds::{Manifest, ManifestError, ManifestFile};
use sha2::{Digest as _, Sha256};

use super::{Content, Entry, FOLDER_MODE, MANIFEST_BYTES_MAX, Store, StoreError, hex};

/// A version as it is on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    /// SHA-256 of its manifest.
    pub(crate) manifest: [u8; 32],
    /// How many files.
    pub(crate) files: u32,
    /// Their bytes together.
    pub(crate) bytes: u64,
    /// Where its files are at their paths.
    pub(crate) folder: PathBuf,
}

impl Store {
    /// Makes a version of the files there are. The same files are the same version.
    ///
    /// # Errors
    /// No files, files without bytes, a path that is a file and a folder at once, and the disk.
    pub(crate) fn release(&self, build: BuildId) -> Result<Version, StoreError> {
        let entries = self.list(build)?;
        let whole = complete(&entries)?;
        let text = serde_json::to_vec(&entries).map_err(io::Error::from)?;
        let manifest: [u8; 32] = Sha256::digest(&text).into();
        let name = hex(&manifest);
        let folder = self.root.join("releases").join(build.number().to_string()).join(&name);
        let bytes = whole.iter().map(|(_, content)| content.size).sum();
        let files = u32::try_from(whole.len()).unwrap_or(u32::MAX);
        if !self.is_here(&name)? {
            self.room(text.len() as u64)?;
            self.keep_bytes(&text, &name)?;
        }
        if !folder.is_dir() {
            self.lay_out(&whole, &folder)?;
        }
        Ok(Version { manifest, files, bytes, folder })
    }

    /// The files of a version, by its manifest's hash.
    ///
    /// # Errors
    /// Where there is no such manifest, it is not what its name says, and the disk.
    pub(crate) fn manifest(&self, hash: &[u8; 32]) -> Result<Vec<Entry>, StoreError> {
        let mut text = Vec::new();
        let file = fs::File::open(self.object(&hex(hash)))?;
        file.take(MANIFEST_BYTES_MAX).read_to_end(&mut text)?;
        let found = hex(&Sha256::digest(&text));
        if found != hex(hash) {
            self.set_aside(&hex(hash))?;
            return Err(StoreError::Differs { kind: "SHA-256", found });
        }
        Ok(serde_json::from_slice(&text).map_err(io::Error::from)?)
    }

    pub(super) fn keep_bytes(&self, bytes: &[u8], name: &str) -> io::Result<()> {
        let unfinished = self.root.join("uploads").join(format!("manifest-{name}"));
        fs::write(&unfinished, bytes)?;
        self.keep(&unfinished, name)
    }

    /// Links every file at its path, in a folder that gets its name only once it is whole.
    fn lay_out(&self, files: &[(&str, &Content)], folder: &std::path::Path) -> Result<(), StoreError> {
        let unfinished = folder.with_extension("new");
        match fs::remove_dir_all(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
        {
            let _alone = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
            folder.parent().map_or(Ok(()), |above| make_folder(above, FOLDER_MODE))?;
        }
        fs::create_dir_all(&unfinished)?;
        let mut folders = BTreeSet::from([unfinished.clone()]);
        for (path, content) in files {
            let place = unfinished.join(path);
            if let Some(parent) = place.parent() {
                fs::create_dir_all(parent)?;
                let within = parent.ancestors().take_while(|above| above.starts_with(&unfinished));
                folders.extend(within.map(std::path::Path::to_owned));
            }
            fs::hard_link(self.object(&content.sha256), place)?;
        }
        folders.iter().try_for_each(|folder| sync_folder(folder))?;
        Ok(durable::rename(&unfinished, folder)?)
    }
}

/// The list of a version's files that machines are given.
///
/// # Errors
/// One that they would refuse.
pub(crate) fn for_machines(entries: Vec<Entry>) -> Result<Manifest, ManifestError> {
    let file = |entry: Entry| {
        let content = entry.content?;
        let sha256 = content.sha256.parse().ok()?;
        Some(ManifestFile { path: entry.path, size: content.size, sha256, executable: true })
    };
    Manifest::of(entries.into_iter().filter_map(file).collect(), Vec::new())
}

/// Every file with its bytes.
fn complete(entries: &[Entry]) -> Result<Vec<(&str, &Content)>, StoreError> {
    let first = entries.iter().find(|entry| entry.content.is_none());
    if let Some(first) = first {
        let missing = entries.iter().filter(|entry| entry.content.is_none()).count();
        return Err(StoreError::Incomplete { missing, all: entries.len(), first: first.path.clone() });
    }
    if entries.is_empty() {
        return Err(StoreError::Empty);
    }
    let paths: BTreeSet<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    for path in &paths {
        let mut above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        if let Some(folder) = above.find(|folder| paths.contains(folder)) {
            return Err(StoreError::FileAndFolder(folder.to_owned()));
        }
    }
    Ok(entries.iter().filter_map(|entry| Some((entry.path.as_str(), entry.content.as_ref()?))).collect())
}
