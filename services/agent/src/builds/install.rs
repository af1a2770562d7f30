//! From a configuration's revision to an install that servers start from: what follows what, whatever is here already.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use mainstay_core::slot::{ConfigurationRef, Spec};
use mainstay_wire::builds::{
    ContentHash, IMAGE_MANIFEST_BYTES_MAX, ImageConfig, ImageManifest, MANIFEST_BYTES_MAX, Manifest,
};

use super::Builds;
use super::cache::{Form, Object, Reference};
use super::failure::BuildError;
use super::fetch::{Line, Size, on_disk};

/// How many files of a build come at once: enough that small files do not wait for each other's round trips, few enough that
/// what has come of a large one is not spread thin.
const FETCHES_AT_ONCE_MAX: usize = 4;
/// How much larger an unpacked image may be than its layers, for whoever makes room: two to four times is what gzip makes of
/// programs.
const UNPACKED_TIMES: u64 = 4;
/// The control plane hears of progress after so many bytes more.
const TELL_EVERY_BYTES: u64 = 4 << 20;

/// What servers start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Installed {
    /// Its files at their paths.
    pub(crate) folder: PathBuf,
    /// Its manifest's hash; `None` for what is no install of ours.
    pub(crate) manifest: Option<ContentHash>,
    /// What its processes are given, where it is an image.
    pub(crate) image: Option<ImageConfig>,
}

impl Installed {
    /// What is on this machine's disk already, where the specification says.
    pub(crate) fn in_place(spec: &Spec) -> Self {
        Self { folder: PathBuf::from(&spec.launch.folder), manifest: None, image: None }
    }
}

impl Builds {
    /// One try. What it leaves behind is where the next one begins.
    pub(super) async fn install(self: &Arc<Self>, spec: &Arc<Spec>) -> Result<Installed, BuildError> {
        let configuration = spec.configuration;
        let mut line = None;
        let known = on_disk(self.cache(), move |cache| cache.reference(configuration)).await?;
        let reference = match known {
            Some(reference) => reference,
            None => {
                let reference = self.line(&mut line).await?.resolve(configuration).await?;
                on_disk(self.cache(), move |cache| cache.refer(configuration, reference)).await?;
                reference
            }
        };
        match reference {
            Reference { form: Form::Files, manifest: Some(hash) } => {
                let installed = self.files(configuration, hash, &mut line).await;
                if let Err(BuildError::Refused(_) | BuildError::Differs { .. }) = &installed {
                    // What the control plane cannot give, it may know by another hash since.
                    on_disk(self.cache(), move |cache| cache.unrefer(configuration)).await?;
                }
                installed
            }
            Reference { form: Form::Image, manifest: Some(hash) } => {
                let installed = self.image(configuration, hash, &mut line).await;
                if let Err(BuildError::Refused(_) | BuildError::Differs { .. }) = &installed {
                    on_disk(self.cache(), move |cache| cache.unrefer(configuration)).await?;
                }
                installed
            }
            Reference { form: Form::Files | Form::Image | Form::InPlace, .. } => {
                Ok(Installed::in_place(spec))
            }
        }
    }

    async fn line(&self, line: &mut Option<Line>) -> Result<Line, BuildError> {
        if let Some(open) = line {
            return Ok(open.clone());
        }
        let open = Line::open(&self.plane).await?;
        *line = Some(open.clone());
        Ok(open)
    }

    async fn files(
        self: &Arc<Self>,
        configuration: ConfigurationRef,
        hash: ContentHash,
        line: &mut Option<Line>,
    ) -> Result<Installed, BuildError> {
        let installed = Installed { folder: self.cache().install(hash), manifest: Some(hash), image: None };
        self.will_be(configuration, installed.clone());
        let manifest = Arc::new(Manifest::read(&self.list(hash, MANIFEST_BYTES_MAX, line).await?)?);
        let all = manifest.bytes();
        self.change(configuration, |entry| entry.all = Some(all));
        let listed = Arc::clone(&manifest);
        if on_disk(self.cache(), move |cache| cache.check(hash, &listed)).await? {
            return Ok(installed);
        }
        let listed = Arc::clone(&manifest);
        let missing = on_disk(self.cache(), move |cache| Ok(cache.missing(&listed))).await?;
        self.objects(configuration, missing, 0, line).await?;
        // Read back once more: what servers start from was right on the disk, not only on the line.
        on_disk(self.cache(), move |cache| {
            cache.lay_out(hash, &manifest)?;
            cache.check(hash, &manifest).map(drop)
        })
        .await?;
        Ok(installed)
    }

    /// Where an install will be is known before it is there.
    fn will_be(&self, configuration: ConfigurationRef, installed: Installed) {
        self.change(configuration, |entry| entry.installed = Some(Arc::new(installed)));
        self.settled.send_modify(|tick| *tick += 1);
    }

    /// The list of a build's files.
    async fn list(
        &self,
        hash: ContentHash,
        most: usize,
        line: &mut Option<Line>,
    ) -> Result<Vec<u8>, BuildError> {
        if let Some(bytes) = on_disk(self.cache(), move |cache| cache.manifest(hash)).await? {
            return Ok(bytes);
        }
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        let (line, object) = (self.line(line).await?, Object::list(hash));
        line.fetch(self.cache(), object, Size::AtMost(most), &|_| {}).await?;
        let bytes = on_disk(self.cache(), move |cache| cache.manifest(hash)).await?;
        bytes.ok_or_else(|| BuildError::Damaged { path: "the list of files".to_owned() })
    }

    /// An image: its manifest, its configuration and its layers, unpacked into one folder that processes see as their root.
    async fn image(
        self: &Arc<Self>,
        configuration: ConfigurationRef,
        hash: ContentHash,
        line: &mut Option<Line>,
    ) -> Result<Installed, BuildError> {
        super::image::can_run().map_err(BuildError::NoImages)?;
        let manifest = ImageManifest::read(&self.list(hash, IMAGE_MANIFEST_BYTES_MAX, line).await?)?;
        let all: u64 = manifest.blobs().iter().map(|(_, size)| size).sum();
        self.change(configuration, |entry| entry.all = Some(all));
        let whole = on_disk(self.cache(), move |cache| super::image::check(cache, hash)).await?;
        let config = match whole {
            Some(config) => config,
            None => {
                let listed = manifest.clone();
                let missing = on_disk(self.cache(), move |cache| Ok(cache.missing_blobs(&listed))).await?;
                // Unpacked, most layers are two to four times as large.
                self.objects(configuration, missing, all.saturating_mul(UNPACKED_TIMES), line).await?;
                on_disk(self.cache(), move |cache| super::image::install(cache, hash, &manifest)).await?
            }
        };
        let installed = Installed {
            folder: super::image::root(self.cache(), hash),
            manifest: Some(hash),
            image: Some(config),
        };
        self.will_be(configuration, installed.clone());
        Ok(installed)
    }

    /// Fetches objects that are not here; what follows them takes `more` bytes.
    async fn objects(
        self: &Arc<Self>,
        configuration: ConfigurationRef,
        missing: Vec<(Object, u64)>,
        more: u64,
        line: &mut Option<Line>,
    ) -> Result<(), BuildError> {
        let needed: u64 = missing.iter().map(|(_, size)| size).sum();
        self.make_room(needed.saturating_add(more)).await?;
        if missing.is_empty() {
            return Ok(());
        }
        let all = self.table().entries.get(&configuration).and_then(|entry| entry.all).unwrap_or(needed);
        let done = AtomicU64::new(all.saturating_sub(needed));
        let said = AtomicU64::new(0);
        let came = |bytes: u64| {
            let now = done.fetch_add(bytes, Ordering::Relaxed) + bytes;
            let before = said.load(Ordering::Relaxed);
            if now == bytes || now >= before + TELL_EVERY_BYTES {
                said.store(now, Ordering::Relaxed);
                self.change(configuration, |entry| {
                    entry.done = now;
                    entry.stuck = None;
                });
            }
        };
        came(0);
        let line = self.line(line).await?;
        let (line, came) = (&line, &came);
        let fetches = missing.into_iter().map(|(object, size)| async move {
            line.fetch(self.cache(), object, Size::Exactly(size), came).await
        });
        stream::iter(fetches).buffer_unordered(FETCHES_AT_ONCE_MAX).try_collect::<Vec<()>>().await?;
        Ok(())
    }
}
