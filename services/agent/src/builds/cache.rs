//! Builds on this machine's disk.
//!
//! ```text
//! <agent's directory>/builds/
//!     refs/CONFIGURATION-REVISION   which manifest a configuration's revision is; JSON
//!     objects/ab/HASH[x]            a file's bytes by their SHA-256, read-only; x: may be run
//!     partial/HASH[x]               bytes that have come so far
//!     making/MANIFEST/              an install on its way; whatever lies here at a start is deleted
//!     installs/MANIFEST/            an install: links to objects at their paths; whole, or not here
//! ```
//!
//! Nothing gets its name before it is synced and checked: an object when its hash is right, an install when all its
//! objects are linked. A machine that loses power has the install or has not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use mainstay_core::slot::ConfigurationRef;
use mainstay_journal::durable;
use mainstay_wire::builds::{ContentHash, ImageManifest, Manifest, ManifestFile, Resolved};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::failure::BuildError;

mod sweep;

/// Games of other users enter, and list nothing.
const WAY: u32 = 0o711;
/// Folders of an install.
const FOLDER: u32 = 0o755;
/// What is run, and what is only read.
const EXECUTABLE: u32 = 0o555;
const READABLE: u32 = 0o444;
/// What only the agent reads.
const OWN: u32 = 0o600;
/// How much is read at once when a file is hashed.
const HASH_STEP: usize = 256 << 10;
/// The longest reference read: it has some hundred bytes.
const REF_BYTES_MAX: u64 = 4_096;

/// The disk.
#[derive(Debug)]
pub(crate) struct Cache {
    root: PathBuf,
}

/// A file's bytes, and whether they may be run: two files where both are, since a mode belongs to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Object {
    pub(crate) hash: ContentHash,
    pub(crate) executable: bool,
}

/// What a configuration's revision is made of, as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Reference {
    pub(crate) form: Form,
    /// The hash of its manifest; none for what is on every machine's disk.
    pub(crate) manifest: Option<ContentHash>,
}

/// What a build is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Form {
    /// Files.
    Files,
    /// An OCI image.
    Image,
    /// A folder that every machine has.
    InPlace,
}

impl From<Resolved> for Reference {
    fn from(resolved: Resolved) -> Self {
        match resolved {
            Resolved::Files(hash) => Self { form: Form::Files, manifest: Some(hash) },
            Resolved::Image(hash) => Self { form: Form::Image, manifest: Some(hash) },
            Resolved::InPlace => Self { form: Form::InPlace, manifest: None },
        }
    }
}

impl Object {
    fn name(self) -> String {
        format!("{}{}", self.hash, if self.executable { "x" } else { "" })
    }

    pub(crate) fn of(file: &ManifestFile) -> Self {
        Self { hash: file.sha256, executable: file.executable }
    }

    /// A list of files, which nobody runs.
    pub(crate) const fn list(hash: ContentHash) -> Self {
        Self { hash, executable: false }
    }

    fn read(name: &str) -> Option<Self> {
        let (hash, executable) = match name.strip_suffix('x') {
            Some(hash) => (hash, true),
            None => (name, false),
        };
        Some(Self { hash: hash.parse().ok()?, executable })
    }
}

impl Cache {
    pub(crate) fn of(data_dir: &Path) -> Self {
        Self { root: data_dir.join("builds") }
    }

    /// Makes the folders, and deletes what a start before this one left unfinished but for bytes that came.
    pub(crate) fn open(&self) -> Result<(), BuildError> {
        for part in ["refs", "objects", "partial", "installs"] {
            let folder = self.root.join(part);
            durable::make_folder(&folder, WAY).map_err(BuildError::files("make", &folder))?;
            make(&folder, WAY)?;
        }
        self.remove_unfinished_references()?;
        remove(&self.root.join("making"))?;
        make(&self.root.join("making"), WAY)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn install(&self, manifest: ContentHash) -> PathBuf {
        self.root.join("installs").join(manifest.to_string())
    }

    /// Where an install is made.
    pub(crate) fn making(&self, manifest: ContentHash) -> PathBuf {
        self.root.join("making").join(manifest.to_string())
    }

    pub(crate) fn object(&self, object: Object) -> PathBuf {
        let name = object.name();
        let folder = name.get(..2).unwrap_or_default().to_owned();
        self.root.join("objects").join(folder).join(name)
    }

    pub(crate) fn partial(&self, object: Object) -> PathBuf {
        self.root.join("partial").join(object.name())
    }

    fn reference_file(&self, configuration: ConfigurationRef) -> PathBuf {
        let name = format!("{}-{}", configuration.id.number(), configuration.revision);
        self.root.join("refs").join(name)
    }

    /// What a configuration's revision is made of, where this machine has been told. A file that says nothing is as none.
    pub(crate) fn reference(&self, configuration: ConfigurationRef) -> Result<Option<Reference>, BuildError> {
        let path = self.reference_file(configuration);
        match read_short(&path, REF_BYTES_MAX) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(BuildError::Files { what: "read", path, source }),
        }
    }

    pub(crate) fn refer(&self, configuration: ConfigurationRef, to: Reference) -> Result<(), BuildError> {
        let path = self.reference_file(configuration);
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let text = serde_json::to_vec(&to).map_err(io::Error::from);
        text.and_then(|text| durable::write(&self.root.join("refs"), &name, &text, OWN))
            .map_err(BuildError::files("write", path))
    }

    /// Forgets what a configuration's revision is made of: it is asked for again.
    pub(crate) fn unrefer(&self, configuration: ConfigurationRef) -> Result<(), BuildError> {
        remove(&self.reference_file(configuration))
    }

    /// The objects of a list that are not here, with their sizes.
    pub(crate) fn missing(&self, manifest: &Manifest) -> Vec<(Object, u64)> {
        let all: BTreeMap<Object, u64> =
            manifest.files().iter().map(|file| (Object::of(file), file.size)).collect();
        all.into_iter().filter(|(object, _)| !self.object(*object).is_file()).collect()
    }

    /// What an image is made of that is not here, with its sizes.
    pub(crate) fn missing_blobs(&self, image: &ImageManifest) -> Vec<(Object, u64)> {
        let blobs = image.blobs().into_iter().map(|(hash, size)| (Object::list(hash), size));
        blobs.filter(|(object, _)| !self.object(*object).is_file()).collect()
    }

    /// The hash of bytes that have come so far, and how many they are.
    pub(crate) fn come(&self, object: Object) -> Result<(Sha256, u64), BuildError> {
        let path = self.partial(object);
        match File::open(&path) {
            Ok(file) => hash_of(file).map_err(BuildError::files("read", path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((Sha256::new(), 0)),
            Err(source) => Err(BuildError::Files { what: "read", path, source }),
        }
    }

    /// A file to which the bytes that come are added.
    pub(crate) fn append(&self, object: Object) -> Result<File, BuildError> {
        let path = self.partial(object);
        OpenOptions::new().create(true).append(true).open(&path).map_err(BuildError::files("write", path))
    }

    /// Throws away what has come.
    pub(crate) fn drop_partial(&self, object: Object) -> Result<(), BuildError> {
        remove(&self.partial(object))
    }

    /// Bytes whose hash is right become the object.
    pub(crate) fn keep(&self, object: Object) -> Result<(), BuildError> {
        let (from, to) = (self.partial(object), self.object(object));
        let mode = if object.executable { EXECUTABLE } else { READABLE };
        let attempt = || {
            let file = File::open(&from)?;
            file.set_permissions(Permissions::from_mode(mode))?;
            file.sync_all()?;
            durable::make_folder(to.parent().unwrap_or(&self.root), WAY)?;
            durable::rename(&from, &to)
        };
        attempt().map_err(BuildError::files("keep", &to))
    }

    /// A list of files that is here. One whose bytes changed is as none, and is deleted.
    pub(crate) fn manifest(&self, hash: ContentHash) -> Result<Option<Vec<u8>>, BuildError> {
        let path = self.object(Object::list(hash));
        let limit = u64::try_from(mainstay_wire::builds::MANIFEST_BYTES_MAX).unwrap_or(u64::MAX);
        let bytes = match read_short(&path, limit) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(BuildError::Files { what: "read", path, source }),
        };
        if ContentHash::of(Sha256::digest(&bytes).into()) == hash {
            return Ok(Some(bytes));
        }
        tracing::error!(code = "MS-S434", path = %path.display(), "a list of files changed on this disk; it is fetched again");
        remove(&path)?;
        Ok(None)
    }

    /// Lays a build's files out, and gives the install its name once all of it is on the disk.
    pub(crate) fn lay_out(&self, hash: ContentHash, manifest: &Manifest) -> Result<(), BuildError> {
        let unfinished = self.making(hash);
        remove(&unfinished)?;
        make(&unfinished, FOLDER)?;
        let mut folders = BTreeSet::from([unfinished.clone()]);
        let paths = manifest.files().iter().map(|file| &file.path);
        for path in paths.chain(manifest.links().iter().map(|link| &link.path)) {
            for (at, _) in path.match_indices('/') {
                let folder = unfinished.join(path.get(..at).unwrap_or_default());
                if !folders.contains(&folder) {
                    make(&folder, FOLDER)?;
                    folders.insert(folder);
                }
            }
        }
        for file in manifest.files() {
            let place = unfinished.join(&file.path);
            fs::hard_link(self.object(Object::of(file)), &place).map_err(BuildError::files("link", place))?;
        }
        for link in manifest.links() {
            let place = unfinished.join(&link.path);
            std::os::unix::fs::symlink(&link.target, &place).map_err(BuildError::files("link", place))?;
        }
        for folder in &folders {
            durable::sync_folder(folder).map_err(BuildError::files("sync", folder))?;
        }
        self.finish(hash)
    }

    /// An install that is whole and synced gets its name.
    pub(crate) fn finish(&self, hash: ContentHash) -> Result<(), BuildError> {
        let (from, to) = (self.making(hash), self.install(hash));
        durable::rename(&from, &to).map_err(BuildError::files("rename", &to))
    }

    /// Whether an install is here and every byte of it is what it should be. What is not is deleted, so that it is fetched
    /// and laid out again; games that run from it keep what they have open.
    pub(crate) fn check(&self, hash: ContentHash, manifest: &Manifest) -> Result<bool, BuildError> {
        let install = self.install(hash);
        if !install.is_dir() {
            return Ok(false);
        }
        let mut damaged = None;
        for file in manifest.files() {
            let object = Object::of(file);
            let path = self.object(object);
            let right = match File::open(&path) {
                Ok(file) => {
                    let (found, _) = hash_of(file).map_err(BuildError::files("read", &path))?;
                    ContentHash::of(found.finalize().into()) == object.hash
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                Err(source) => return Err(BuildError::Files { what: "read", path, source }),
            };
            let linked = right && is_same(&path, &install.join(&file.path));
            if !right {
                remove(&path)?;
            }
            if !linked {
                damaged.get_or_insert_with(|| file.path.clone());
            }
        }
        let led = |link: &mainstay_wire::builds::LinkEntry| {
            fs::read_link(install.join(&link.path)).is_ok_and(|target| target == Path::new(&link.target))
        };
        if let Some(link) = manifest.links().iter().find(|link| !led(link)) {
            damaged.get_or_insert_with(|| link.path.clone());
        }
        let Some(path) = damaged else { return Ok(true) };
        self.forget(hash)?;
        Err(BuildError::Damaged { path })
    }

    /// Takes an install away, whole: nobody starts from what is half gone.
    pub(crate) fn forget(&self, hash: ContentHash) -> Result<(), BuildError> {
        let (from, to) = (self.install(hash), self.making(hash));
        remove(&to)?;
        match durable::rename(&from, &to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(BuildError::Files { what: "remove", path: from, source: error });
            }
            Ok(()) | Err(_) => {}
        }
        remove(&to)
    }

    /// Notes that a server starts from it.
    pub(crate) fn touch(&self, hash: ContentHash, now: SystemTime) -> io::Result<()> {
        File::open(self.install(hash))?.set_modified(now)
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let mark = |path: &Path| fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()));
    matches!((mark(one), mark(other)), (Ok(one), Ok(other)) if one == other)
}

pub(super) fn hash_of(mut file: File) -> io::Result<(Sha256, u64)> {
    let (mut hash, mut size) = (Sha256::new(), 0);
    let mut buffer = vec![0; HASH_STEP];
    loop {
        let read = file.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
            return Ok((hash, size));
        };
        hash.update(bytes);
        size += bytes.len() as u64;
    }
}

fn read_short(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes a folder, whatever the mask of modes; who keeps something there syncs it.
pub(super) fn make(folder: &Path, mode: u32) -> Result<(), BuildError> {
    let attempt = || {
        DirBuilder::new().recursive(true).mode(mode).create(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(mode))
    };
    attempt().map_err(BuildError::files("make", folder))
}

/// Removes a file or a folder with all that is in it; what is not there is removed.
pub(super) fn remove(path: &Path) -> Result<(), BuildError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(BuildError::Files { what: "remove", path: path.to_owned(), source: error })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes bytes that came, on a thread that may wait for the disk.
pub(crate) fn write(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)
}
