//! What nothing refers to is deleted, once it has lain for so long that nobody can be about to.
//!
//! An object stays while a version's folder links to it, a build's next version names it, or it is, or is named by, the list
//! of what machines are given. A version stays while it is its build's newest or a server may still be started from its
//! folder. Whatever cannot be read stops the sweep: nothing is deleted on a guess.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

use mainstay_core::BuildId;
use mainstay_journal::durable;
use mainstay_wire::builds::{ContentHash, ImageManifest};
use sha2::{Digest as _, Sha256};

use super::{Entry, Store, StoreError, hex};
use crate::publish::Shelf;

/// How long what nothing refers to stays, since it was last written or asked for: a day, in which an upload that broke off
/// goes on, and a machine fetches the rest of what it began with.
pub(crate) const UNUSED_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// The end of the name of a version's folder that is not whole, or not any more.
const UNFINISHED: &str = "new";

/// What the control plane refers to.
#[derive(Debug, Clone, Default)]
pub(crate) struct InUse {
    /// The builds there are.
    pub(crate) builds: BTreeSet<BuildId>,
    /// The manifests of their newest versions.
    pub(crate) versions: BTreeSet<[u8; 32]>,
    /// Every folder that a server may be started from.
    pub(crate) folders: BTreeSet<PathBuf>,
}

/// What was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Swept {
    pub(crate) versions: u64,
    pub(crate) files: u64,
    /// Of the files.
    pub(crate) bytes: u64,
}

impl Store {
    /// Deletes what nothing refers to and nobody has touched for [`UNUSED_KEPT`].
    ///
    /// # Errors
    /// Something could not be read, or deleted.
    pub(crate) fn sweep(&self, in_use: &InUse, now: SystemTime) -> Result<Swept, StoreError> {
        let since = now.checked_sub(UNUSED_KEPT).unwrap_or(SystemTime::UNIX_EPOCH);
        let is_old = |found: &Metadata| found.modified().is_ok_and(|modified| modified < since);
        let mut swept = Swept::default();
        self.sweep_versions(in_use, &is_old, &mut swept)?;
        self.sweep_of_builds(in_use, &is_old)?;
        self.sweep_uploads(&is_old, &mut swept)?;
        let named = self.named()?;
        let mut folders = listed(&self.root.join("objects"))?;
        folders.push(self.root.join("damaged"));
        for folder in folders {
            for object in listed(&folder)? {
                let name = file_name(&object);
                // Nobody writes it or begins to refer to it between the look and the end.
                let _alone = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
                let found = fs::symlink_metadata(&object)?;
                if found.nlink() == 1 && is_old(&found) && !named.contains(&name) {
                    fs::remove_file(&object)?;
                    swept.files += 1;
                    swept.bytes += found.len();
                }
            }
        }
        Ok(swept)
    }

    /// Versions that are no build's newest, and that no server is started from.
    fn sweep_versions(
        &self,
        in_use: &InUse,
        is_old: &dyn Fn(&Metadata) -> bool,
        swept: &mut Swept,
    ) -> io::Result<()> {
        let newest: BTreeSet<String> = in_use.versions.iter().map(|hash| hex(hash)).collect();
        for of_build in listed(&self.root.join("releases"))? {
            let is_known =
                in_use.builds.iter().any(|build| build.number().to_string() == file_name(&of_build));
            for version in listed(&of_build)? {
                let is_newest = is_known && newest.contains(&file_name(&version));
                if is_newest || in_use.folders.contains(&version) || !is_old(&fs::metadata(&version)?) {
                    continue;
                }
                let unfinished = version.with_extension(UNFINISHED);
                if unfinished != version {
                    // Under its name it is whole or not there.
                    durable::rename(&version, &unfinished)?;
                }
                fs::remove_dir_all(unfinished)?;
                swept.versions += 1;
            }
        }
        Ok(())
    }

    /// What is kept of builds that are gone.
    fn sweep_of_builds(&self, in_use: &InUse, is_old: &dyn Fn(&Metadata) -> bool) -> io::Result<()> {
        let is_known = |path: &Path| {
            let number = file_name(&path.with_extension(""));
            in_use.builds.iter().any(|build| build.number().to_string() == number)
        };
        for path in
            listed(&self.root.join("drafts"))?.into_iter().chain(listed(&self.root.join("published"))?)
        {
            let found = fs::symlink_metadata(&path)?;
            if !is_known(&path) && is_old(&found) {
                if found.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
            }
        }
        Ok(())
    }

    /// Uploads and fetches that broke off and did not go on.
    fn sweep_uploads(&self, is_old: &dyn Fn(&Metadata) -> bool, swept: &mut Swept) -> io::Result<()> {
        for path in listed(&self.root.join("uploads"))? {
            let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            let found = match fs::symlink_metadata(&path) {
                // It has become an object meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                found => found?,
            };
            if busy.contains(&path) || !is_old(&found) {
                continue;
            }
            if found.is_dir() {
                fs::remove_dir_all(&path)?
            } else {
                fs::remove_file(&path)?
            }
            swept.files += 1;
            swept.bytes += found.len();
        }
        Ok(())
    }

    /// The names of the objects that something here refers to, beside those that a version links to.
    fn named(&self) -> Result<BTreeSet<String>, StoreError> {
        let mut named = BTreeSet::new();
        for draft in below(&self.root.join("drafts"))? {
            if draft.extension().is_some_and(|suffix| suffix == "json") {
                let entry: Entry = serde_json::from_slice(&fs::read(draft)?).map_err(io::Error::from)?;
                named.extend(entry.content.map(|content| content.sha256));
            }
        }
        for version in below(&self.root.join("releases"))? {
            let name = file_name(&version);
            let Ok(hash) = name.parse::<ContentHash>() else { continue };
            // What machines are given of it is another list of the same files.
            let for_machines = super::release::for_machines(self.manifest(hash.bytes())?);
            named.extend(for_machines.map(|manifest| hex(&Sha256::digest(manifest.write()))));
            named.insert(name);
        }
        for published in listed(&self.root.join("published"))? {
            if published.extension().is_none_or(|suffix| suffix != "json") {
                continue;
            }
            let shelf: Shelf = serde_json::from_slice(&fs::read(published)?).map_err(io::Error::from)?;
            let image = match fs::read(self.object(&shelf.manifest.to_string())) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                bytes => ImageManifest::read(&bytes?).ok(),
            };
            let layers = image.iter().flat_map(ImageManifest::blobs).map(|(blob, _)| blob.to_string());
            named.extend(layers.chain([shelf.manifest.to_string()]));
        }
        Ok(named)
    }
}

/// What lies in a folder.
pub(super) fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// What lies in the folders of a folder.
pub(super) fn below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(listed(folder)?.iter().map(|folder| listed(folder)).collect::<io::Result<Vec<_>>>()?.concat())
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
