//! Gives machines what their servers run: turns a build into a manifest, and hashes into bytes.
//!
//! A build named by a folder of the control plane is *published* when a machine first asks for it: its files are listed and
//! hashed, and stay where they are. What was hashed is remembered by size, times and inode, so that looking again costs a
//! look at each file and no reading. A folder that is found changed (when a machine asks, at a start, or when a file that is
//! to be sent is no longer what was hashed) is a new version of its build, and a new revision of everything that starts it:
//! machines never run two different things under one name.
//!
//! ```text
//! published/BUILD.json    a folder's files as they were hashed, and the hash of their manifest
//! objects/…               manifests, beside the files that were uploaded (crate::store)
//! ```

mod blob;
mod image;
mod refusal;
mod scan;
mod sweep;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use mainstay_config::Private;
use mainstay_core::slot::{ConfigurationRef, Spec};
use mainstay_core::{BuildId, Timestamp};
use mainstay_fleet::catalog::{Catalog, CatalogCommand, Edit, Release};
use mainstay_runtime::{Clock, Handle};
use mainstay_wire::builds::{ContentHash, Resolved};

pub(crate) use self::blob::Blob;
pub(crate) use self::refusal::Unpublished;
pub(crate) use self::scan::Shelf;
#[cfg(test)]
use self::scan::Stamped;
use self::scan::scan;
use crate::editor::Editor;
use crate::store::{Store, for_machines};

/// Folders below this are what the system's package manager installs: every machine has them by itself, so they are never
/// copied (`buildPath: /usr/games`).
const INSTALLED: &str = "/usr";
/// Who changes the catalog where a folder was found changed.
const ITSELF: &str = "publisher";

/// The publisher. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Publisher(Arc<Inner>);

struct Inner {
    store: Option<Store>,
    catalog: Handle<Catalog>,
    editor: Editor,
    clock: Arc<dyn Clock>,
    /// What no machine is given, whatever the configuration says.
    private: Arc<Private>,
    /// One look at a build's folder at a time.
    shelves: Mutex<BTreeMap<BuildId, Arc<tokio::sync::Mutex<Option<Shelf>>>>>,
    /// Where bytes are that are in no object.
    blobs: RwLock<BTreeMap<ContentHash, Blob>>,
}

impl Publisher {
    pub(crate) fn new(
        store: Option<Store>,
        catalog: Handle<Catalog>,
        editor: Editor,
        (clock, private): (Arc<dyn Clock>, Arc<Private>),
    ) -> Self {
        let (shelves, blobs) = (Mutex::default(), RwLock::default());
        Self(Arc::new(Inner { store, catalog, editor, clock, private, shelves, blobs }))
    }

    /// Whether a build configuration has no newer revision, so that its build's files now are those it is to run.
    ///
    /// # Errors
    /// Where the catalog gives no answer.
    pub(crate) async fn is_newest(&self, revision: ConfigurationRef) -> Result<bool, Unpublished> {
        let is = move |catalog: &Catalog| {
            catalog.configuration(revision.id).is_some_and(|spec| spec.configuration == revision)
        };
        Ok(self.0.catalog.query(move |catalog, _| is(catalog)).await?)
    }

    /// What a specification's build is made of.
    ///
    /// # Errors
    /// Why machines cannot have it, or not yet.
    pub(crate) async fn resolve(&self, spec: &Spec) -> Result<Resolved, Unpublished> {
        let folder = PathBuf::from(&spec.launch.folder);
        if spec.launch.folder.is_empty() {
            return Err(Unpublished::NoFiles);
        }
        if let Some(image) = spec.launch.image() {
            let store = self.0.store.clone().ok_or(Unpublished::NoStore)?;
            return self.imported(store, spec.build, image).await.map(Resolved::Image);
        }
        if folder.starts_with(INSTALLED) {
            return Ok(Resolved::InPlace);
        }
        let store = self.0.store.clone().ok_or(Unpublished::NoStore)?;
        if store.holds(&folder) {
            return self.uploaded(store, spec.build).await.map(Resolved::Files);
        }
        self.published(store, spec.build, &folder).await.map(Resolved::Files)
    }

    /// What a revision before the newest is made of, for a machine whose server has it to the end of its session: what is on every
    /// machine, and an uploaded version, which its folder names. What a folder or an image held before, nobody knows any more.
    ///
    /// # Errors
    /// Why machines cannot have it.
    pub(crate) async fn resolve_older(&self, spec: &Spec) -> Result<Resolved, Unpublished> {
        let folder = PathBuf::from(&spec.launch.folder);
        let store = self.0.store.clone().ok_or(Unpublished::NoStore)?;
        let version = folder.file_name().and_then(|name| name.to_str()?.parse::<ContentHash>().ok());
        match (spec.launch.image(), version) {
            (None, _) if folder.starts_with(INSTALLED) => Ok(Resolved::InPlace),
            (None, Some(version)) if store.holds(&folder) => {
                listed(store, *version.bytes()).await.map(Resolved::Files)
            }
            (None | Some(_), _) => Err(Unpublished::Newer),
        }
    }

    /// The manifest of a build's newest uploaded version, in the form machines read.
    async fn uploaded(&self, store: Store, build: BuildId) -> Result<ContentHash, Unpublished> {
        let release = self.0.catalog.query(move |catalog, _| catalog.build(build)?.release).await?;
        listed(store, release.ok_or(Unpublished::NoFiles)?.manifest).await
    }

    /// The manifest of an image as it is now. An image in a registry is looked for once a start: its name is asked for no more
    /// than that.
    async fn imported(&self, store: Store, build: BuildId, image: &str) -> Result<ContentHash, Unpublished> {
        let shelf = self.shelf(build);
        let mut shelf = shelf.lock().await;
        let looked = shelf.take().filter(|known| known.folder == Path::new(image));
        if let Some(known) = looked.filter(|_| !image::is_here(image)) {
            let hash = known.manifest;
            *shelf = Some(known);
            return Ok(hash);
        }
        let (named, keeping) = (image.to_owned(), store.clone());
        let (found, before) = blocking(move || {
            let before = keeping.shelf(build)?.filter(|known| known.folder == Path::new(&named));
            Ok((image::import(&keeping, &named)?, before.map(|known| known.manifest)))
        })
        .await?;
        let is_newer = before.is_some_and(|before| before != found.manifest);
        if is_newer {
            self.changed(build, Path::new(image), found.files, found.bytes, found.manifest).await?;
        }
        let kept = Shelf { folder: PathBuf::from(image), manifest: found.manifest, files: Vec::new() };
        let keep = kept.clone();
        blocking(move || Ok(store.keep_shelf(build, &keep)?)).await?;
        *shelf = Some(kept);
        if is_newer { Err(Unpublished::Newer) } else { Ok(found.manifest) }
    }

    /// The manifest of a folder as it is now. One that has changed since it was published is a new version.
    async fn published(
        &self,
        store: Store,
        build: BuildId,
        folder: &Path,
    ) -> Result<ContentHash, Unpublished> {
        let shelf = self.shelf(build);
        let mut shelf = shelf.lock().await;
        let known = match shelf.take() {
            Some(known) => Some(known),
            None => {
                let store = store.clone();
                blocking(move || Ok(store.shelf(build)?)).await?
            }
        };
        let before = known.as_ref().filter(|known| known.folder == folder).map(|known| known.manifest);
        let excluded =
            self.0.catalog.query(move |catalog, _| Some(catalog.build(build)?.declared.excluded.clone()));
        let excluded = excluded.await?.unwrap_or_default();
        let (looked, now, keeping) = (folder.to_owned(), self.0.clock.now(), store.clone());
        let private = Arc::clone(&self.0.private);
        let (found, manifest) = blocking(move || {
            let (found, manifest) = scan(&looked, &excluded, known.as_ref(), (now, &private))?;
            keeping.keep_manifest(&manifest.write())?;
            Ok((found, manifest))
        })
        .await?;
        let hash = found.manifest;
        if before.is_some_and(|before| before != hash) {
            let files = u32::try_from(manifest.files().len()).unwrap_or(u32::MAX);
            self.changed(build, folder, files, manifest.bytes(), hash).await?;
        }
        self.put(folder, &found);
        let kept = found.clone();
        blocking(move || Ok(store.keep_shelf(build, &kept)?)).await?;
        *shelf = Some(found);
        if before.is_some_and(|before| before != hash) {
            return Err(Unpublished::Newer);
        }
        Ok(hash)
    }

    /// Other files in the same folder: a new version of the build, durable before anybody gets a byte of it.
    async fn changed(
        &self,
        build: BuildId,
        folder: &Path,
        files: u32,
        bytes: u64,
        hash: ContentHash,
    ) -> Result<(), Unpublished> {
        tracing::warn!(%build, folder = %folder.display(), code = "MS-S644", "a build's folder has changed: it is the build's next version");
        let files = Release { version: 0, manifest: *hash.bytes(), files, bytes };
        let folder = folder.to_string_lossy().into_owned();
        let release = CatalogCommand::Release { build, files, folder, edit: Edit::by(ITSELF) };
        Ok(self.0.editor.change(release).await?)
    }

    /// Bytes by their hash.
    ///
    /// # Errors
    /// Where no published build has them, or no longer has.
    pub(crate) async fn open(&self, hash: ContentHash) -> Result<(std::fs::File, u64), Unpublished> {
        let store = self.0.store.clone().ok_or(Unpublished::NoStore)?;
        let blob = self.blob(hash);
        let opened = blocking(move || match store.open_object(hash)? {
            Some(file) => Ok(file),
            None if store.is_damaged(&hash.to_string()) => Err(Unpublished::Damaged(hash)),
            None => blob.ok_or(Unpublished::Unknown)?.open(),
        })
        .await;
        if let Err(Unpublished::Changed { folder }) = &opened {
            self.look_again(folder.clone());
        }
        opened
    }

    /// What was sent as the bytes of a hash, whole, was something else: an object is set aside.
    pub(crate) async fn was_not(&self, hash: ContentHash, found: ContentHash) {
        let set_aside = match self.0.store.clone() {
            Some(store) => blocking(move || Ok(store.set_aside(&hash.to_string())?)).await,
            None => Err(Unpublished::NoStore),
        };
        let set_aside = set_aside.err().map(|error| error.to_string());
        tracing::error!(%hash, %found, set_aside, code = "MS-S648", "bytes of a build were damaged on this disk");
    }

    /// Looks at every folder that was published, so that a change made while the control plane was away is found, and
    /// machines can go on fetching at once.
    pub(crate) async fn look_at_all(&self) {
        let Some(store) = self.0.store.clone() else { return };
        let known = self.0.catalog.query(|catalog, _| {
            let of =
                |build: &mainstay_fleet::catalog::Build| (build.id, PathBuf::from(&build.declared.folder));
            catalog.builds().map(of).collect::<Vec<_>>()
        });
        let Ok(builds) = known.await else { return };
        for (build, folder) in builds {
            let looked = store.clone();
            let was_published = blocking(move || Ok(looked.shelf(build)?)).await;
            match was_published {
                Ok(Some(shelf)) if shelf.folder == folder && !shelf.files.is_empty() => {
                    self.look(store.clone(), build, &folder).await;
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%build, code = error.code(), %error, "what was published of a build cannot be read")
                }
            }
        }
    }

    async fn look(&self, store: Store, build: BuildId, folder: &Path) {
        match self.published(store, build, folder).await {
            Ok(_) | Err(Unpublished::Newer) => {}
            Err(error) => {
                tracing::warn!(%build, code = error.code(), %error, "a build's folder cannot be given to machines; those that have it go on");
            }
        }
    }

    fn look_again(&self, folder: PathBuf) {
        let publisher = self.clone();
        tokio::spawn(async move {
            let Some(store) = publisher.0.store.clone() else { return };
            let named = folder.clone();
            let is = move |build: &mainstay_fleet::catalog::Build| Path::new(&build.declared.folder) == named;
            let build = publisher
                .0
                .catalog
                .query(move |catalog, _| catalog.builds().find(|build| is(build)).map(|build| build.id))
                .await;
            if let Ok(Some(build)) = build {
                publisher.look(store, build, &folder).await;
            }
        });
    }

    fn shelf(&self, build: BuildId) -> Arc<tokio::sync::Mutex<Option<Shelf>>> {
        let mut shelves: MutexGuard<'_, _> = self.0.shelves.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(shelves.entry(build).or_default())
    }

    fn blob(&self, hash: ContentHash) -> Option<Blob> {
        self.0.blobs.read().unwrap_or_else(PoisonError::into_inner).get(&hash).cloned()
    }

    fn put(&self, folder: &Path, shelf: &Shelf) {
        let mut blobs = self.0.blobs.write().unwrap_or_else(PoisonError::into_inner);
        blobs.retain(|_, blob| blob.folder() != folder);
        blobs.extend(shelf.files.iter().map(|file| (file.sha256, Blob::of(folder, file))));
    }
}

/// An uploaded version's manifest, in the form machines read.
async fn listed(store: Store, version: [u8; 32]) -> Result<ContentHash, Unpublished> {
    blocking(move || {
        let manifest = for_machines(store.manifest(&version)?)?;
        Ok(store.keep_manifest(&manifest.write())?)
    })
    .await
}

/// Work that waits for the disk, on a thread of its own.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Unpublished> + Send + 'static,
) -> Result<T, Unpublished> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panicked| Err(Unpublished::Bug(panicked.to_string())))
}

/// Whether a time lies so far back that a change made since shows in it: file systems keep times of some milliseconds.
fn is_settled(time_ns: i64, now: Timestamp) -> bool {
    const SETTLED_MS: i64 = 2_000;
    time_ns / 1_000_000 + SETTLED_MS < i64::try_from(now.unix_ms()).unwrap_or(i64::MAX)
}
