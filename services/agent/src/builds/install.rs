//! From a configuration's revision to an install that servers start from: what follows what, whatever is here already.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use mainstay_core::slot::{ConfigurationRef, Spec};
use mainstay_wire::builds::{ContentHash, MANIFEST_BYTES_MAX, Manifest};

use super::Builds;
use super::cache::{Form, Object, Reference};
use super::failure::BuildError;
use super::fetch::{Line, Size, on_disk};

/// How many files of a build come at once: enough that small files do not wait for each other's round trips, few enough that
/// what has come of a large one is not spread thin.
const FETCHES_AT_ONCE_MAX: usize = 4;
/// The control plane hears of progress after so many bytes more.
const TELL_EVERY_BYTES: u64 = 4 << 20;

/// What servers start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Installed {
    /// Its files at their paths.
    pub(crate) folder: PathBuf,
    /// Its manifest's hash; `None` for what is no install of ours.
    pub(crate) manifest: Option<ContentHash>,
}

impl Installed {
    /// What is on this machine's disk already, where the specification says.
    pub(crate) fn in_place(spec: &Spec) -> Self {
        Self { folder: PathBuf::from(&spec.launch.folder), manifest: None }
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
            Reference { form: Form::Image, .. } => Err(BuildError::NoImages(spec.launch.folder.clone())),
            Reference { form: Form::Files | Form::InPlace, .. } => Ok(Installed::in_place(spec)),
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
        let installed = Installed { folder: self.cache().install(hash), manifest: Some(hash) };
        self.will_be(configuration, installed.clone());
        let manifest = Arc::new(Manifest::read(&self.list(hash, line).await?)?);
        let all = manifest.bytes();
        self.change(configuration, |entry| entry.all = Some(all));
        let listed = Arc::clone(&manifest);
        if on_disk(self.cache(), move |cache| cache.check(hash, &listed)).await? {
            return Ok(installed);
        }
        self.objects(configuration, &manifest, line).await?;
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
    async fn list(&self, hash: ContentHash, line: &mut Option<Line>) -> Result<Vec<u8>, BuildError> {
        if let Some(bytes) = on_disk(self.cache(), move |cache| cache.manifest(hash)).await? {
            return Ok(bytes);
        }
        let most = u64::try_from(MANIFEST_BYTES_MAX).unwrap_or(u64::MAX);
        let (line, object) = (self.line(line).await?, Object::list(hash));
        line.fetch(self.cache(), object, Size::AtMost(most), &|_| {}).await?;
        let bytes = on_disk(self.cache(), move |cache| cache.manifest(hash)).await?;
        bytes.ok_or_else(|| BuildError::Damaged { path: "the list of files".to_owned() })
    }

    /// Fetches every object of a list that is not here.
    async fn objects(
        self: &Arc<Self>,
        configuration: ConfigurationRef,
        manifest: &Arc<Manifest>,
        line: &mut Option<Line>,
    ) -> Result<(), BuildError> {
        let listed = Arc::clone(manifest);
        let missing = on_disk(self.cache(), move |cache| Ok(cache.missing(&listed))).await?;
        let needed: u64 = missing.iter().map(|(_, size)| size).sum();
        if missing.is_empty() {
            return Ok(());
        }
        self.make_room(needed).await?;
        let done = AtomicU64::new(manifest.bytes().saturating_sub(needed));
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
