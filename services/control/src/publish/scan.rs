//! A folder becomes a manifest: every file hashed, unless it is plainly the one that was hashed before.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainstay_config::{Private, leaves_out};
use mainstay_core::Timestamp;
use mainstay_wire::builds::{ContentHash, FILES_MAX, LinkEntry, Manifest, ManifestFile, PATH_BYTES_MAX};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::is_settled;
use super::refusal::Unpublished;

/// How much is read at once.
const STEP: usize = 256 << 10;
/// How often a file is read anew that changes while it is read.
const READS_MAX: usize = 3;

/// What is remembered of a published folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shelf {
    pub(crate) folder: PathBuf,
    pub(crate) manifest: ContentHash,
    pub(crate) files: Vec<Stamped>,
}

/// A file as it was hashed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamped {
    pub(crate) path: String,
    pub(crate) sha256: ContentHash,
    pub(crate) stamp: Stamp,
    /// Whether the times lay far enough back when it was hashed that a change since would show in them.
    pub(crate) settled: bool,
}

/// What changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    size: u64,
    modified_ns: i64,
    changed_ns: i64,
    inode: u64,
    device: u64,
    mode: u32,
}

impl Stamp {
    pub(super) fn of(found: &Metadata) -> Self {
        // Until the year 2262.
        let ns = |seconds: i64, ns: i64| seconds.saturating_mul(1_000_000_000).saturating_add(ns);
        Self {
            size: found.len(),
            modified_ns: ns(found.mtime(), found.mtime_nsec()),
            changed_ns: ns(found.ctime(), found.ctime_nsec()),
            inode: found.ino(),
            device: found.dev(),
            mode: found.permissions().mode(),
        }
    }
}

/// Lists a folder, without what is left out of it and what is the control plane's own, and hashes what is not known.
pub(super) fn scan(
    folder: &Path,
    excluded: &[Arc<str>],
    known: Option<&Shelf>,
    (now, private): (Timestamp, &Private),
) -> Result<(Shelf, Manifest), Unpublished> {
    if private.holds(folder) {
        return Err(Unpublished::Private { folder: folder.to_owned() });
    }
    let unfit = |why: String| Unpublished::Unfit { folder: folder.to_owned(), why };
    let known: BTreeMap<&str, &Stamped> = known
        .filter(|known| known.folder == folder)
        .into_iter()
        .flat_map(|known| &known.files)
        .map(|file| (file.path.as_str(), file))
        .collect();
    let mut found = Found::default();
    walk(folder, "", &Left { excluded, private }, &mut found).map_err(|error| unfit(error.to_string()))?;
    let mut files = Vec::with_capacity(found.files.len());
    for path in found.files {
        let stamped = stamped(folder, path, &known, now);
        files.push(stamped.map_err(|(path, error)| unfit(format!("{path}: {error}")))?);
    }
    let listed = |file: &Stamped| ManifestFile {
        path: file.path.clone(),
        size: file.stamp.size,
        sha256: file.sha256,
        executable: file.stamp.mode & 0o111 != 0,
    };
    let manifest = Manifest::of(files.iter().map(listed).collect(), found.links);
    let manifest = manifest.map_err(|error| unfit(error.to_string()))?;
    let hash = ContentHash::of(Sha256::digest(manifest.write()).into());
    Ok((Shelf { folder: folder.to_owned(), manifest: hash, files }, manifest))
}

#[derive(Default)]
struct Found {
    files: Vec<String>,
    links: Vec<LinkEntry>,
}

/// What of a folder is not given to machines.
struct Left<'a> {
    excluded: &'a [Arc<str>],
    /// Whatever the configuration says.
    private: &'a Private,
}

fn walk(root: &Path, below: &str, left: &Left<'_>, found: &mut Found) -> io::Result<()> {
    let folder = root.join(below);
    let said = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
    for entry in fs::read_dir(&folder).map_err(said)? {
        let entry = entry.map_err(said)?;
        let name = entry.file_name();
        let shown = || folder.join(&name).display().to_string();
        let Some(name) = name.to_str() else {
            return Err(io::Error::other(format!("{} is no name in UTF-8", shown())));
        };
        let path = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
        if leaves_out(left.excluded, &path) {
            continue;
        }
        if path.len() > PATH_BYTES_MAX {
            return Err(io::Error::other(format!("{} is longer than {PATH_BYTES_MAX} bytes", shown())));
        }
        if found.files.len() + found.links.len() >= FILES_MAX {
            return Err(io::Error::other(format!("it has more than {FILES_MAX} files")));
        }
        let kind = entry.file_type().map_err(said)?;
        if kind.is_dir() {
            // Looked at as it is now, with what is mounted there.
            if !left.private.is(&fs::metadata(entry.path()).map_err(said)?) {
                walk(root, &path, left, found)?;
            }
        } else if kind.is_file() {
            found.files.push(path);
        } else if kind.is_symlink() {
            let target = fs::read_link(entry.path()).map_err(said)?;
            let target = target.to_string_lossy().into_owned();
            found.links.push(LinkEntry { path, target });
        } else {
            return Err(io::Error::other(format!("{} is neither a file, a folder nor a link", shown())));
        }
    }
    Ok(())
}

fn stamped(
    folder: &Path,
    path: String,
    known: &BTreeMap<&str, &Stamped>,
    now: Timestamp,
) -> Result<Stamped, (String, io::Error)> {
    let read = || -> io::Result<Stamped> {
        let mut file = File::open(folder.join(&path))?;
        for _ in 0..READS_MAX {
            let before = Stamp::of(&file.metadata()?);
            let same = known.get(path.as_str()).filter(|known| known.settled && known.stamp == before);
            if let Some(known) = same {
                return Ok(Stamped::clone(known));
            }
            let sha256 = hash(&mut file)?;
            if Stamp::of(&file.metadata()?) == before {
                let settled = is_settled(before.modified_ns.max(before.changed_ns), now);
                return Ok(Stamped { path: path.clone(), sha256, stamp: before, settled });
            }
            io::Seek::rewind(&mut file)?;
        }
        Err(io::Error::other("it changes while it is read"))
    };
    let done = read();
    done.map_err(|error| (path, error))
}

fn hash(file: &mut File) -> io::Result<ContentHash> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; STEP];
    loop {
        let read = file.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
            return Ok(ContentHash::of(hash.finalize().into()));
        };
        hash.update(bytes);
    }
}
