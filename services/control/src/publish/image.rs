//! Container images: from a folder of the OCI image layout, from such a folder packed by tar, or from a registry by way of
//! skopeo(1). Whatever it is, its manifest, its configuration and its layers become objects, each checked against its hash.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use mainstay_wire::admin::IMAGE_TO_COME;
use mainstay_wire::builds::{ContentHash, IMAGE_MANIFEST_BYTES_MAX, ImageManifest};
use serde::Deserialize;

use super::refusal::Unpublished;
use crate::store::{Store, StoreError};

/// The annotation that names an image within a layout.
const NAME: &str = "org.opencontainers.image.ref.name";
/// How deep an index of indices is followed: builders make one below the first.
const INDEX_DEPTH_MAX: usize = 4;
/// The most entries of an archive that are looked at.
const ENTRIES_MAX: usize = 10_000;
/// What skopeo calls the image it brings.
const BROUGHT: &str = "brought";

/// An image that is here now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Imported {
    pub(super) manifest: ContentHash,
    /// How many layers.
    pub(super) files: u32,
    /// Their bytes.
    pub(super) bytes: u64,
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Entry>,
}

#[derive(Deserialize, Clone)]
struct Entry {
    #[serde(rename = "mediaType", default)]
    media_type: String,
    digest: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    platform: Option<Platform>,
}

#[derive(Deserialize, Clone)]
struct Platform {
    architecture: String,
    os: String,
}

/// Whether it is on this disk, so that looking at it again costs nothing.
pub(super) fn is_here(image: &str) -> bool {
    !image.starts_with("docker://")
}

/// Brings an image into the store.
pub(super) fn import(store: &Store, image: &str) -> Result<Imported, Unpublished> {
    let why = |why: String| Unpublished::Image { image: image.to_owned(), why };
    if image == IMAGE_TO_COME {
        return Err(why(
            "it is not uploaded yet: PUT …/files, send its bytes, and POST …/versions".to_owned()
        ));
    }
    if let Some(rest) = image.strip_prefix("oci:") {
        let (folder, name) = named(rest);
        return Source::Layout(folder).bring(store, name).map_err(|error| error.told(why));
    }
    if let Some(rest) = image.strip_prefix("oci-archive:") {
        let (file, name) = named(rest);
        return Source::Archive(file).bring(store, name).map_err(|error| error.told(why));
    }
    let folder = store.workplace(BROUGHT)?;
    copy(image, &folder).map_err(|error| why(error.to_string()))?;
    let brought = Source::Layout(folder).bring(store, Some(BROUGHT)).map_err(|error| error.told(why));
    store.workplace(BROUGHT)?;
    brought
}

/// A path, and the image's name within it: what follows the last colon, where no `/` does.
fn named(rest: &str) -> (PathBuf, Option<&str>) {
    match rest.rsplit_once(':') {
        Some((path, name)) if !name.contains('/') => (PathBuf::from(path), Some(name)),
        Some(_) | None => (PathBuf::from(rest), None),
    }
}

/// The registry is skopeo's business: it knows their ways of asking who one is, and the host's own logins.
fn copy(image: &str, folder: &Path) -> io::Result<()> {
    let to = format!("oci:{}:{BROUGHT}", folder.display());
    let copied = Command::new("skopeo").args(["copy", "--quiet", "--", image, &to]).output();
    match copied {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            Err(io::Error::other(format!("skopeo: {}", said.trim().chars().take(300).collect::<String>())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(io::Error::other("images in registries are fetched by skopeo, which is not installed here"))
        }
        Err(error) => Err(error),
    }
}

/// Why it cannot be brought.
enum Wrong {
    Why(String),
    Store(StoreError),
}

impl Wrong {
    fn told(self, why: impl FnOnce(String) -> Unpublished) -> Unpublished {
        match self {
            Self::Why(text) => why(text),
            Self::Store(error) => error.into(),
        }
    }
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Self {
        Self::Why(error.to_string())
    }
}

impl From<StoreError> for Wrong {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<mainstay_wire::builds::ImageError> for Wrong {
    fn from(error: mainstay_wire::builds::ImageError) -> Self {
        Self::Why(error.to_string())
    }
}

enum Source {
    Layout(PathBuf),
    Archive(PathBuf),
}

impl Source {
    fn bring(&self, store: &Store, name: Option<&str>) -> Result<Imported, Wrong> {
        let index = self.small("index.json")?;
        let mut index: Index = json(&index)?;
        let mut entry = chosen(&index.manifests, name)?;
        for _ in 0..INDEX_DEPTH_MAX {
            if !entry.media_type.contains("index") && !entry.media_type.contains("manifest.list") {
                break;
            }
            index = json(&self.small(&blob(digest(&entry.digest)?))?)?;
            entry = chosen(&index.manifests, None)?;
        }
        let manifest = digest(&entry.digest)?;
        let image = ImageManifest::read(&self.small(&blob(manifest))?)?;
        let mut wanted = image.blobs();
        wanted.push((manifest, u64::try_from(IMAGE_MANIFEST_BYTES_MAX).unwrap_or(u64::MAX)));
        self.keep(store, &wanted)?;
        let bytes = image.blobs().iter().map(|(_, size)| size).sum();
        Ok(Imported { manifest, files: u32::try_from(image.layers.len()).unwrap_or(u32::MAX), bytes })
    }

    /// A file that is small: an index or a manifest.
    fn small(&self, path: &str) -> Result<Vec<u8>, Wrong> {
        let mut found = None;
        self.each(
            &mut |there, bytes| {
                if there == path && found.is_none() {
                    let mut read = Vec::new();
                    let limit = u64::try_from(IMAGE_MANIFEST_BYTES_MAX).unwrap_or(u64::MAX);
                    bytes.take(limit).read_to_end(&mut read)?;
                    found = Some(read);
                }
                Ok(())
            },
            &[path.to_owned()],
        )?;
        found.ok_or_else(|| Wrong::Why(format!("it has no {path}")))
    }

    /// Every blob that is wanted becomes an object.
    fn keep(&self, store: &Store, wanted: &[(ContentHash, u64)]) -> Result<(), Wrong> {
        let paths: BTreeMap<String, (ContentHash, u64)> =
            wanted.iter().map(|(hash, size)| (blob(*hash), (*hash, *size))).collect();
        let mut kept = 0;
        let list: Vec<String> = paths.keys().cloned().collect();
        self.each(
            &mut |there, bytes| {
                if let Some((hash, size)) = paths.get(there) {
                    if !store.keep_blob(*hash, &mut bytes.take(*size))? {
                        return Err(Wrong::Why(format!("{there} is not what its name says")));
                    }
                    kept += 1;
                }
                Ok(())
            },
            &list,
        )?;
        if kept < paths.len() {
            return Err(Wrong::Why(format!(
                "{} of the {} files it names are missing",
                paths.len() - kept,
                paths.len()
            )));
        }
        Ok(())
    }

    /// Shows files by their paths; of a folder those that are asked for, of an archive all.
    fn each(
        &self,
        show: &mut dyn FnMut(&str, &mut dyn Read) -> Result<(), Wrong>,
        asked: &[String],
    ) -> Result<(), Wrong> {
        match self {
            Self::Layout(folder) => {
                for path in asked {
                    match File::open(folder.join(path)) {
                        Ok(mut file) => show(path, &mut file)?,
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                        Err(error) => return Err(Wrong::Why(format!("{path}: {error}"))),
                    }
                }
            }
            Self::Archive(file) => {
                let opened =
                    File::open(file).map_err(|error| Wrong::Why(format!("{}: {error}", file.display())))?;
                let mut archive = tar::Archive::new(io::BufReader::new(opened));
                for (n, entry) in archive.entries()?.enumerate() {
                    if n >= ENTRIES_MAX {
                        return Err(Wrong::Why(format!("it has more than {ENTRIES_MAX} entries")));
                    }
                    let mut entry = entry?;
                    if !entry.header().entry_type().is_file() {
                        continue;
                    }
                    let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                    show(path.strip_prefix("./").unwrap_or(&path), &mut entry)?;
                }
            }
        }
        Ok(())
    }
}

/// The image of a name; without one, that of this machine's kind, or the only one.
fn chosen(entries: &[Entry], name: Option<&str>) -> Result<Entry, Wrong> {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let fits = |entry: &&Entry| match name {
        Some(name) => entry.annotations.get(NAME).is_some_and(|found| found == name),
        None => entry.platform.as_ref().is_none_or(|it| it.os == "linux" && it.architecture == architecture),
    };
    let mut found = entries.iter().filter(fits);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one.clone()),
        (Some(_), Some(_)) => Err(Wrong::Why("it has several images: name one, after a colon".to_owned())),
        (None, _) => Err(Wrong::Why(match name {
            Some(name) => format!("it has no image `{name}`"),
            None => format!("it has no image for linux on {architecture}"),
        })),
    }
}

fn blob(hash: ContentHash) -> String {
    format!("blobs/sha256/{hash}")
}

fn digest(text: &str) -> Result<ContentHash, Wrong> {
    let hash = text.strip_prefix("sha256:").and_then(|hash| hash.parse().ok());
    hash.ok_or_else(|| Wrong::Why("it names something by another hash than sha256".to_owned()))
}

fn json<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, Wrong> {
    serde_json::from_slice(bytes).map_err(|error| Wrong::Why(format!("its index: {error}")))
}
