//! The list of a build's files: the build itself, for everybody who wants to check it.
//!
//! A manifest is JSON in one canonical form, so that the same files have the same hash wherever they were listed: entries
//! sorted by path, no spaces, `executable` always written. Modes are not kept beyond the executable bit, nor are owners or
//! times: a build is what is in its files, and machines give every file to themselves, read-only.
//!
//! Symbolic links are kept where they stay inside: a target is some `..` that go no higher than the build, then names of
//! the manifest, none of which is itself a link, except the last. By that rule no chain of links leads out.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::path::is_name;
use super::{ContentHash, FILE_BYTES_MAX, PATH_BYTES_MAX, PathError, checked_path};

/// The most files and links of a build: unpacked builds have thousands.
pub const FILES_MAX: usize = 50_000;
/// The most bytes of a build: the largest games have 200 GB; what is larger is a mistake.
pub const BUILD_BYTES_MAX: u64 = 512 << 30;
/// How much of a manifest is read: [`FILES_MAX`] entries of the longest paths.
pub const MANIFEST_BYTES_MAX: usize = 128 << 20;
/// What manifests of this form begin with.
const FORMAT: &str = "mainstay-build-1";

/// The list of a build's files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manifest {
    files: Vec<ManifestFile>,
    links: Vec<LinkEntry>,
}

/// A file of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestFile {
    /// Its path within the build.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// The hash of its bytes.
    pub sha256: ContentHash,
    /// Whether it may be run.
    pub executable: bool,
}

/// A symbolic link of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkEntry {
    /// Its path within the build.
    pub path: String,
    /// Where it leads, from the folder it is in.
    pub target: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: String,
    files: Vec<ManifestFile>,
    links: Vec<LinkEntry>,
}

/// What is wrong with a manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is no JSON of this form.
    #[error("it is no list of files of the form {FORMAT}: {0}")]
    Form(String),
    /// It is too long to be read.
    #[error("it has {0} bytes; at most {MANIFEST_BYTES_MAX} are read")]
    TooLong(usize),
    /// Nothing is in it.
    #[error("the build has no files")]
    Empty,
    /// Too many entries.
    #[error("the build has {0} files and links; at most {FILES_MAX} are taken")]
    TooMany(usize),
    /// A path that leaves the build.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Two entries of one path, or not in order.
    #[error("`{0}` stands twice, or not in its order")]
    Twice(String),
    /// One path is a folder of another.
    #[error("`{0}` is a file and a folder at once")]
    FileAndFolder(String),
    /// Too large a file.
    #[error("`{path}` has {size} bytes; a file has at most {FILE_BYTES_MAX}")]
    FileTooLarge {
        /// Which.
        path: String,
        /// How large it says it is.
        size: u64,
    },
    /// Too large a build.
    #[error("the build has more than {BUILD_BYTES_MAX} bytes")]
    TooLarge,
    /// One content with two sizes.
    #[error("`{0}` has another size than a file of the same bytes")]
    Sizes(String),
    /// A link that leads out, or nowhere.
    #[error("the link `{path}` leads to `{target}`, which is not within the build")]
    Link {
        /// Which.
        path: String,
        /// Where it leads.
        target: String,
    },
}

impl Manifest {
    /// Of entries in any order.
    ///
    /// # Errors
    /// Where a machine would refuse it.
    pub fn of(mut files: Vec<ManifestFile>, mut links: Vec<LinkEntry>) -> Result<Self, ManifestError> {
        files.sort_by(|one, other| one.path.cmp(&other.path));
        links.sort_by(|one, other| one.path.cmp(&other.path));
        let manifest = Self { files, links };
        manifest.check()?;
        Ok(manifest)
    }

    /// From what came, or was kept.
    ///
    /// # Errors
    /// Whatever is wrong with it; nothing of it is used then.
    pub fn read(bytes: &[u8]) -> Result<Self, ManifestError> {
        if bytes.len() > MANIFEST_BYTES_MAX {
            return Err(ManifestError::TooLong(bytes.len()));
        }
        let form = |error: serde_json::Error| ManifestError::Form(error.to_string());
        let Written { format, files, links } = serde_json::from_slice(bytes).map_err(form)?;
        if format != FORMAT {
            return Err(ManifestError::Form(format!(
                "it begins with {:?}",
                format.chars().take(40).collect::<String>()
            )));
        }
        let manifest = Self { files, links };
        manifest.check()?;
        Ok(manifest)
    }

    /// Its one form.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let written =
            Written { format: FORMAT.to_owned(), files: self.files.clone(), links: self.links.clone() };
        serde_json::to_vec(&written).expect("texts, numbers and truths are JSON, and a Vec takes them")
    }

    /// Its files, by path.
    #[must_use]
    pub fn files(&self) -> &[ManifestFile] {
        &self.files
    }

    /// Its links, by path.
    #[must_use]
    pub fn links(&self) -> &[LinkEntry] {
        &self.links
    }

    /// The sizes of its files together, in bytes, each content counted once: what a machine has to have room for.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let sizes: BTreeMap<(ContentHash, bool), u64> =
            self.files.iter().map(|file| ((file.sha256, file.executable), file.size)).collect();
        sizes.values().sum()
    }

    fn check(&self) -> Result<(), ManifestError> {
        let count = self.files.len() + self.links.len();
        if self.files.is_empty() {
            return Err(ManifestError::Empty);
        }
        if count > FILES_MAX {
            return Err(ManifestError::TooMany(count));
        }
        in_order(self.files.iter().map(|file| file.path.as_str()))?;
        in_order(self.links.iter().map(|link| link.path.as_str()))?;
        let files: BTreeSet<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        let links: BTreeSet<&str> = self.links.iter().map(|link| link.path.as_str()).collect();
        let mut folders = BTreeSet::new();
        for path in files.iter().chain(&links) {
            folders.extend(path.match_indices('/').filter_map(|(at, _)| path.get(..at)));
        }
        for path in files.iter().chain(&links) {
            if folders.contains(path) {
                return Err(ManifestError::FileAndFolder((*path).to_owned()));
            }
        }
        if let Some(both) = files.intersection(&links).next() {
            return Err(ManifestError::Twice((*both).to_owned()));
        }
        self.sizes()?;
        let known = Known { files: &files, links: &links, folders: &folders };
        self.links.iter().try_for_each(|link| known.check(link))
    }

    fn sizes(&self) -> Result<(), ManifestError> {
        let mut sizes: BTreeMap<ContentHash, u64> = BTreeMap::new();
        let mut all: u64 = 0;
        for file in &self.files {
            if file.size > FILE_BYTES_MAX {
                return Err(ManifestError::FileTooLarge { path: file.path.clone(), size: file.size });
            }
            if sizes.insert(file.sha256, file.size).is_some_and(|size| size != file.size) {
                return Err(ManifestError::Sizes(file.path.clone()));
            }
            // At most FILES_MAX files of at most FILE_BYTES_MAX bytes: below 2^50.
            all = all.saturating_add(file.size);
        }
        if all > BUILD_BYTES_MAX { Err(ManifestError::TooLarge) } else { Ok(()) }
    }
}

/// Every path is one, and each is after the one before it.
fn in_order<'a>(paths: impl Iterator<Item = &'a str>) -> Result<(), ManifestError> {
    let mut before = None;
    for path in paths {
        let path = checked_path(path)?;
        if before.is_some_and(|before| before >= path) {
            return Err(ManifestError::Twice(path.to_owned()));
        }
        before = Some(path);
    }
    Ok(())
}

/// What links may lead to.
struct Known<'a> {
    files: &'a BTreeSet<&'a str>,
    links: &'a BTreeSet<&'a str>,
    folders: &'a BTreeSet<&'a str>,
}

impl Known<'_> {
    fn check(&self, link: &LinkEntry) -> Result<(), ManifestError> {
        if self.leads_within(link) {
            return Ok(());
        }
        let cut = |text: &str| text.chars().take(100).collect();
        Err(ManifestError::Link { path: cut(&link.path), target: cut(&link.target) })
    }

    fn leads_within(&self, link: &LinkEntry) -> bool {
        if link.target.len() > PATH_BYTES_MAX {
            return false;
        }
        let mut at: Vec<&str> = link.path.split('/').collect();
        at.pop();
        let mut names = link.target.split('/').peekable();
        while names.peek() == Some(&"..") {
            names.next();
            if at.pop().is_none() {
                return false;
            }
        }
        for name in names {
            // What was reached so far is a folder of the build, and no link.
            let here = at.join("/");
            if !(is_name(name) && (here.is_empty() || self.folders.contains(here.as_str()))) {
                return false;
            }
            at.push(name);
        }
        let there = at.join("/");
        let is = |known: &BTreeSet<&str>| known.contains(there.as_str());
        there.is_empty() || is(self.files) || is(self.folders) || is(self.links)
    }
}

#[cfg(test)]
mod tests;
