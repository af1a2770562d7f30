//! The files of uploaded builds on the control plane's disk, by their content.
//!
//! ```text
//! objects/ab/abcd…           a file's bytes, named by their SHA-256; read-only, shared by every build and version
//! drafts/BUILD/HASH.json     one file of a build as it will be in the next version; HASH is of its path
//! uploads/BUILD-HASH         bytes of a file that have come so far; an upload goes on from their number
//! damaged/abcd…              an object that was found not to be what its name says, until somebody keeps its content again
//! published/BUILD.json       a folder's files as they were hashed for machines elsewhere (crate::publish)
//! releases/BUILD/MANIFEST/   a version's files at their paths: links to objects, for machines that share this disk
//! ```
//!
//! A version is its manifest: the sorted list of its files with size, SHA-256 and MD5, itself an object. Whoever has the
//! manifest's hash, which the catalog keeps, can fetch and verify every byte of the version. Nothing here is promised
//! before it is synced.

mod damage;
mod draft;
mod published;
mod release;
mod sweep;
mod upload;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use mainstay_core::BuildId;
use mainstay_journal::durable::{make_folder, sync_folder};
pub(crate) use mainstay_wire::builds::{FILE_BYTES_MAX, FILES_MAX, PATH_BYTES_MAX};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub(crate) use release::for_machines;
pub(crate) use sweep::{InUse, Swept};
pub(crate) use upload::{Offset, Progress};

/// What uploads leave free on the disk, for the journal that lives there too.
pub(crate) const FREE_BYTES_MIN: u64 = 512 << 20;
/// Games of other users read what lies in its folders.
const FOLDER_MODE: u32 = 0o755;
/// And the store's own notes.
const FILE_MODE: u32 = 0o644;
/// How much of a manifest is read: [`FILES_MAX`] entries of the longest paths.
const MANIFEST_BYTES_MAX: u64 = 128 << 20;

/// The store.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    root: Arc<Path>,
    /// Uploads that are being written: two writers of one file would mix its bytes.
    busy: Arc<Mutex<std::collections::BTreeSet<PathBuf>>>,
    /// Held by whoever gives an object its name, refers to one that is there, or takes one away.
    objects: Arc<Mutex<()>>,
}

/// A file of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Its path within the build.
    pub(crate) path: String,
    /// Its bytes, once they are there.
    pub(crate) content: Option<Content>,
}

/// What is known of bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Content {
    pub(crate) size: u64,
    pub(crate) sha256: String,
    /// What Multiplay's clients compare with.
    pub(crate) md5: String,
}

/// Why the store does not do it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// A path that leaves the build, or that no disk takes.
    #[error(
        "`{0}` is no path within a build: 1 to {PATH_BYTES_MAX} bytes of names with `/` between, without `..`"
    )]
    Path(String),
    /// Too many files.
    #[error("the build has {FILES_MAX} files, which is the most")]
    TooManyFiles,
    /// Too large a file.
    #[error("the file has more than {FILE_BYTES_MAX} bytes")]
    TooLarge,
    /// The disk has no room.
    #[error("the control plane's disk has {free} bytes free, and uploads leave {FREE_BYTES_MIN}")]
    NoRoom { free: u64 },
    /// The bytes do not continue where the last ended.
    #[error("{have} bytes have come; the upload goes on from there, not from {sent}")]
    Elsewhere { have: u64, sent: u64 },
    /// Somebody else writes the same file.
    #[error("the file is being uploaded by another call")]
    Busy,
    /// The bytes are others than were promised.
    #[error("the bytes have another {kind} than was said: {found}")]
    Differs { kind: &'static str, found: String },
    /// No such file.
    #[error("the build has no file `{0}`")]
    Unknown(String),
    /// Files without bytes.
    #[error("{missing} of {all} files are not uploaded yet, the first is `{first}`")]
    Incomplete { missing: usize, all: usize, first: String },
    /// A version of nothing.
    #[error("the build has no files")]
    Empty,
    /// One path is a folder of another.
    #[error("`{0}` is a file and a folder at once")]
    FileAndFolder(String),
    /// The disk failed.
    #[error("the store failed: {0}")]
    Disk(#[from] io::Error),
}

impl Store {
    /// The store of a folder, made where there is none.
    ///
    /// # Errors
    /// Where the folder cannot be made.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        for part in ["objects", "damaged", "drafts", "uploads", "releases", "published"] {
            make_folder(&root.join(part), FOLDER_MODE)?;
            // A process that ended before it synced what it had made left that to us.
            sync_folder(&root.join(part))?;
        }
        sync_folder(root)?;
        Ok(Self { root: root.into(), busy: Arc::default(), objects: Arc::default() })
    }

    fn object(&self, sha256: &str) -> PathBuf {
        let (folder, _) = sha256.split_at_checked(2).unwrap_or((sha256, ""));
        self.root.join("objects").join(folder).join(sha256)
    }

    /// Whether an object is here; it counts as used now, so that it stays for whoever begins to refer to it.
    fn is_here(&self, sha256: &str) -> io::Result<bool> {
        let _alone = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        match File::open(self.object(sha256)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            opened => touch(&opened?).map(|()| true),
        }
    }

    fn drafts(&self, build: BuildId) -> PathBuf {
        self.root.join("drafts").join(build.number().to_string())
    }

    fn draft(&self, build: BuildId, path: &str) -> PathBuf {
        self.drafts(build).join(format!("{}.json", hash(path.as_bytes())))
    }

    fn part(&self, build: BuildId, path: &str) -> PathBuf {
        self.root.join("uploads").join(format!("{}-{}", build.number(), hash(path.as_bytes())))
    }

    /// A second name of a file, to be moved to where it belongs. One call at a time for a name.
    fn link(&self, file: &Path, name: &str) -> io::Result<PathBuf> {
        let link = self.root.join("uploads").join(name);
        match fs::remove_file(&link) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        fs::hard_link(file, &link)?;
        Ok(link)
    }

    /// Refuses where so many more bytes would leave too little.
    fn room(&self, more: u64) -> Result<(), StoreError> {
        let found = rustix::fs::statvfs(&*self.root).map_err(io::Error::from)?;
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        if free < FREE_BYTES_MIN.saturating_add(more) { Err(StoreError::NoRoom { free }) } else { Ok(()) }
    }
}

/// A path of names, relative, that stays within its build.
fn checked(path: &str) -> Result<&str, StoreError> {
    mainstay_wire::builds::checked_path(path).map_err(|error| StoreError::Path(error.0))
}

fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String does not fail.
        let _written = write!(text, "{byte:02x}");
        text
    })
}

/// Notes, by the file system's own clock, that a file is used.
fn touch(file: &File) -> io::Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    Ok(futimens(file, &Timestamps { last_access: now, last_modification: now })?)
}

#[cfg(test)]
mod tests;
