//! What servers run, on this machine's own disk: fetched from the control plane by content hash, checked, and started from
//! only when it is whole.
//!
//! ```text
//! spec ──▶ Builds ──▶ one task a configuration's revision:
//!                       its manifest's hash      (reference on disk, else Resolve)
//!                       its manifest             (object, else Fetch)
//!                       every file of it         (objects, else Fetch from where the last try ended)
//!                       an install               (links to objects, renamed into place whole)
//! worker ─▶ Builds::stead: Ready, or "waiting for its build, n of m bytes"
//! ```
//!
//! A fetch that fails is the machine's trouble, never a game's: the server waits, the try is repeated with growing pauses,
//! and the control plane is told how far it is and why it stands. Games that run play on whatever happens here.
//! [`cache`] is the disk, [`fetch`] the line, [`install`] what follows what.

mod cache;
mod failure;
mod fetch;
pub(crate) mod image;
mod install;
#[cfg(test)]
mod tests;
mod unpack;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::MachineId;
use mainstay_core::slot::{ConfigurationRef, Spec};
use mainstay_wire::agent::{Install, InstallStage};
use mainstay_wire::builds::ContentHash;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::sleep;

pub(crate) use self::cache::Cache;
#[cfg(test)]
pub(crate) use self::cache::Object;
use self::failure::BuildError;
pub(crate) use self::install::Installed;
use crate::config::{BuildSource, Plane};
use crate::disk::{Disk, DiskUse};

/// How many installs go on at once: the line is what limits them, and one that is whole early is worth more than two that
/// are half.
const INSTALLS_AT_ONCE_MAX: usize = 1;
/// The first pause after a failure, and the longest: a plane that was away is found again soon, and a build that is wrong is
/// looked at again while somebody mends it.
const AGAIN_MIN: Duration = Duration::from_millis(500);
const AGAIN_MAX: Duration = Duration::from_secs(30);

/// The builds of this machine.
#[derive(Debug)]
pub(crate) struct Builds {
    source: BuildSource,
    plane: Plane,
    cache: Arc<Cache>,
    table: Mutex<Table>,
    /// Ticks when an install's folder becomes known or whole: servers that wait for it look again.
    settled: watch::Sender<u64>,
    /// Ticks when there is something to tell the control plane.
    told: watch::Sender<u64>,
    /// Told when other specifications are known: builds that were needed may be so no more.
    renewed: Notify,
    places: Semaphore,
    disk: Arc<Disk>,
}

#[derive(Debug, Default)]
struct Table {
    /// What each machine's newest specifications name.
    wanted: BTreeMap<MachineId, BTreeSet<ConfigurationRef>>,
    entries: BTreeMap<ConfigurationRef, Entry>,
}

/// How far one configuration's revision is.
#[derive(Debug, Clone, Default)]
struct Entry {
    /// Where it will be, once that is known.
    installed: Option<Arc<Installed>>,
    /// Whether servers may start from it.
    whole: Whole,
    done: u64,
    all: Option<u64>,
    /// Why it does not go on: a code, and the rest.
    stuck: Option<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Whole {
    #[default]
    NotYet,
    Yes,
}

/// What a server starts from.
#[derive(Debug, Clone)]
pub(crate) enum Stead {
    /// It is whole.
    Ready(Arc<Installed>),
    /// It is on its way; where it will be is known already.
    Known(Arc<Installed>),
    /// It is on its way.
    Unknown,
}

impl Builds {
    pub(crate) fn new(source: BuildSource, plane: Plane, data_dir: &Path, disk: Disk) -> Self {
        Self {
            source,
            plane,
            cache: Arc::new(Cache::of(data_dir)),
            table: Mutex::default(),
            settled: watch::Sender::new(0),
            told: watch::Sender::new(0),
            renewed: Notify::new(),
            places: Semaphore::new(INSTALLS_AT_ONCE_MAX),
            disk: Arc::new(disk),
        }
    }

    /// The disk.
    pub(crate) fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    /// Ticks when a server that waits may look again.
    pub(crate) fn settled(&self) -> watch::Receiver<u64> {
        self.settled.subscribe()
    }

    /// Ticks when there is something to tell.
    pub(crate) fn told(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
    }

    /// What a machine's servers may be asked to run from now on is fetched before they are.
    pub(crate) fn want(self: &Arc<Self>, machine: MachineId, specs: &[Arc<Spec>]) {
        let specs: Vec<Arc<Spec>> =
            specs.iter().filter(|spec| !self.is_in_place(spec)).map(Arc::clone).collect();
        if specs.is_empty() && self.source == BuildSource::InPlace {
            return;
        }
        let wanted: BTreeSet<ConfigurationRef> = specs.iter().map(|spec| spec.configuration).collect();
        self.table().wanted.insert(machine, wanted);
        for spec in &specs {
            let _begun = self.stead(spec);
        }
        self.told.send_modify(|tick| *tick += 1);
    }

    /// What a configuration starts from; begins to fetch it where nobody has.
    pub(crate) fn stead(self: &Arc<Self>, spec: &Arc<Spec>) -> Stead {
        if self.is_in_place(spec) {
            return Stead::Ready(Arc::new(Installed::in_place(spec)));
        }
        let mut table = self.table();
        if let Some(entry) = table.entries.get(&spec.configuration) {
            return match (&entry.installed, entry.whole) {
                (Some(installed), Whole::Yes) => Stead::Ready(Arc::clone(installed)),
                (Some(installed), Whole::NotYet) => Stead::Known(Arc::clone(installed)),
                (None, _) => Stead::Unknown,
            };
        }
        table.entries.insert(spec.configuration, Entry::default());
        drop(table);
        let (builds, spec) = (Arc::clone(self), Arc::clone(spec));
        tokio::spawn(async move { builds.bring(spec).await });
        Stead::Unknown
    }

    /// Whether it is started where the specification says: a folder, by an agent that shares the control plane's disk. Images
    /// are fetched and unpacked by every agent.
    fn is_in_place(&self, spec: &Spec) -> bool {
        self.source == BuildSource::InPlace && spec.launch.image().is_none()
    }

    /// Where a configuration's files are, as far as that is known: for whoever looks at what was run.
    pub(crate) fn folder(&self, spec: &Spec) -> Option<PathBuf> {
        if self.is_in_place(spec) {
            return Some(PathBuf::from(&spec.launch.folder));
        }
        let table = self.table();
        let installed = table.entries.get(&spec.configuration)?.installed.as_ref()?;
        Some(installed.folder.clone())
    }

    /// Forgets what no specification names any more; what it left on the disk is deleted when room is needed.
    pub(crate) fn keep_only(&self, known: &BTreeSet<ConfigurationRef>) {
        self.table().entries.retain(|configuration, _| known.contains(configuration));
    }

    /// Makes room for a build that comes.
    async fn make_room(&self, needed: u64) -> Result<(), BuildError> {
        self.swept(needed).await?.map_err(|short| BuildError::NoRoom {
            needed,
            room: needed.saturating_sub(short.bytes),
            why: short.limit,
        })
    }

    /// Deletes what the machine's disk budget says has to go, and references to what is known no more.
    ///
    /// # Errors
    /// The disk.
    pub(crate) async fn sweep(&self) -> Result<(), BuildError> {
        let known: BTreeSet<ConfigurationRef> = self.table().entries.keys().copied().collect();
        fetch::on_disk(&self.cache, move |cache| cache.keep_references(&known)).await?;
        // Nothing comes, so nothing can be short by anything but what must stay.
        let _short = self.swept(0).await?;
        Ok(())
    }

    async fn swept(&self, incoming: u64) -> Result<Result<(), crate::disk::Short>, BuildError> {
        let installed = |entry: &Entry| entry.installed.as_ref().and_then(|installed| installed.manifest);
        let (mut needed, mut untold) = (BTreeSet::<ContentHash>::new(), Vec::new());
        for (configuration, entry) in &self.table().entries {
            match installed(entry) {
                Some(manifest) => needed.extend([manifest]),
                None => untold.push(*configuration),
            }
        }
        let disk = Arc::clone(&self.disk);
        fetch::on_disk(&self.cache, move |cache| {
            // Not looked at since this agent's start, and needed all the same: one build is checked after the other.
            for configuration in untold {
                needed.extend(cache.reference(configuration)?.and_then(|reference| reference.manifest));
            }
            disk.sweep(cache, &needed, incoming).map_err(BuildError::files("look at", cache.root()))
        })
        .await
    }

    /// The machine's disk.
    pub(crate) fn disk(&self) -> Arc<Disk> {
        Arc::clone(&self.disk)
    }

    /// Other specifications are known from now on.
    pub(crate) fn renew(&self) {
        self.renewed.notify_one();
    }

    /// Waits until other specifications are known.
    pub(crate) async fn renewed(&self) {
        self.renewed.notified().await;
    }

    /// There is something to tell the control plane.
    pub(crate) fn tell(&self) {
        self.told.send_modify(|tick| *tick += 1);
    }

    /// What takes room on this machine, as it was when it was last looked at.
    pub(crate) fn disk_use(&self) -> DiskUse {
        self.disk.last()
    }

    /// Notes that a server starts from an install.
    pub(crate) fn used(&self, installed: &Installed) {
        if let Some(manifest) = installed.manifest
            && let Err(error) = self.cache.touch(manifest, self.disk.now())
        {
            tracing::warn!(%manifest, %error, "that a build was used could not be noted; it seems older than it is");
        }
    }

    /// How far everything is that a machine's specifications name.
    pub(crate) fn progress(&self, machine: MachineId) -> Vec<Install> {
        let table = self.table();
        let wanted = table.wanted.get(&machine).into_iter().flatten();
        let install = |configuration: &ConfigurationRef| {
            let entry = table.entries.get(configuration)?;
            let stage = match (entry.whole, &entry.stuck) {
                (Whole::Yes, _) => InstallStage::Complete,
                (Whole::NotYet, Some((code, detail))) => {
                    InstallStage::Stuck { code: code.clone(), detail: detail.clone() }
                }
                (Whole::NotYet, None) => InstallStage::Coming,
            };
            Some(Install {
                configuration: *configuration,
                bytes_done: entry.done,
                bytes_all: entry.all,
                stage,
            })
        };
        wanted.filter_map(install).collect()
    }

    /// Brings one configuration's revision here, however often it takes, for as long as it is wanted.
    async fn bring(self: Arc<Self>, spec: Arc<Spec>) {
        let configuration = spec.configuration;
        let mut pause = AGAIN_MIN;
        loop {
            let attempt = {
                // Never closed.
                let _place = self.places.acquire().await.ok();
                self.install(&spec).await
            };
            match attempt {
                Ok(installed) => {
                    self.change(configuration, |entry| {
                        entry.installed = Some(Arc::new(installed));
                        entry.whole = Whole::Yes;
                        entry.done = entry.all.unwrap_or(entry.done);
                        entry.stuck = None;
                    });
                    self.settled.send_modify(|tick| *tick += 1);
                    return;
                }
                Err(error) => self.stuck(&spec, &error, pause),
            }
            if !self.table().entries.contains_key(&configuration) {
                return;
            }
            sleep(pause).await;
            pause = (pause * 2).min(AGAIN_MAX);
        }
    }

    fn stuck(&self, spec: &Spec, error: &BuildError, again: Duration) {
        let why = crate::slot::ended::in_full(error);
        tracing::warn!(
            code = %error.code(), configuration = %spec.name, error = %why, again_in_ms = again.as_millis(),
            "a build is not here yet; its servers wait"
        );
        let detail = format!("{why}; {}", error.mend());
        let cut = detail.chars().take(DETAIL_CHARS_MAX).collect();
        self.change(spec.configuration, |entry| entry.stuck = Some((error.code().into_owned(), cut)));
    }

    /// Notes how far it is.
    fn change(&self, configuration: ConfigurationRef, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.table().entries.get_mut(&configuration) {
            change(entry);
        }
        self.told.send_modify(|tick| *tick += 1);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing under this lock can panic half-way.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How much of a reason is told: a sentence or two, below what a message takes ([`mainstay_wire::agent::DETAIL_BYTES_MAX`]
/// bytes, of at most four a character).
const DETAIL_CHARS_MAX: usize = 250;
