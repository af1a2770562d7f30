//! The machine's one disk budget, in hands: finds what takes room, asks the rules ([`mainstay_supervisor::disk`]) what goes,
//! and deletes it.
//!
//! Counted are the installs of builds that were fetched, and of every slot its core dumps, its evidence, its output and the
//! game's own logs. A slot's home and working directory are the game's, and counted nowhere.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use mainstay_core::Timestamp;
use mainstay_runtime::{Clock, slot_files};
use mainstay_supervisor::disk::{Item, Kind, Room, Standing, plan};
pub use mainstay_wire::agent::DiskUse;
use mainstay_wire::agent::Fill;
use mainstay_wire::builds::ContentHash;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::brain::Brain;
use crate::builds::{Builds, Cache};
use crate::config::DiskLimits;

/// How often the disk is looked at: a game that logs 10 MB a second has written 600 MB until then, below what is kept free.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// A log that was written within this time is deleted only where the disk would else be full: somebody may look for it.
const LOG_FRESH: Duration = Duration::from_secs(3_600);
/// A log that was written within this time is being written: it is never deleted under its game, which would give nothing back.
const LOG_OPEN: Duration = Duration::from_secs(60);

/// How often a full disk is looked at: a session that waits for room waits no longer than this.
const FULL_LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often a full one is looked at before what may go is deleted again: about once a minute, too.
const LOOKS_WHILE_FULL: u32 = 60;
/// A disk is no longer full once it has this much free, and nobody has met it full for [`QUIET`]: what the journal keeps
/// beside its reserve before it takes everything again, so that one does not say "room" while the other still refuses.
const ROOM_AGAIN_BYTES: u64 = 4 << 20;
/// Whoever waits for room tries again each second: five such tries have gone well.
const QUIET: Duration = Duration::from_secs(5);

/// The code under which a full disk is told.
pub(crate) const FULL_CODE: &str = "MS-S439";

/// The disk.
pub(crate) struct Disk {
    data_dir: PathBuf,
    limits: DiskLimits,
    clock: Arc<dyn Clock>,
    last: Mutex<DiskUse>,
    /// Whether it is full, and when that was last met, since boot.
    fill: watch::Sender<(Fill, Duration)>,
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk")
            .field("data_dir", &self.data_dir)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// What an item is on the disk.
#[derive(Debug)]
enum Place {
    Install(ContentHash),
    /// What several installs share: it goes with the last of them.
    Shared,
    /// A file of a slot, by the slot's folder and its path there.
    File(PathBuf, String),
    /// The evidence of one run.
    Evidence(PathBuf),
}

/// What did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Short {
    /// How many of the bytes that were asked for.
    pub(crate) bytes: u64,
    /// Whether it is the disk itself, or the budget.
    pub(crate) limit: &'static str,
}

impl Disk {
    pub(crate) fn new(data_dir: &Path, limits: DiskLimits, clock: Arc<dyn Clock>) -> Self {
        let fill = watch::Sender::new((Fill::Room, Duration::ZERO));
        Self { data_dir: data_dir.to_owned(), limits, clock, last: Mutex::default(), fill }
    }

    /// Whether it is full.
    pub(crate) fn fill(&self) -> Fill {
        self.fill.borrow().0
    }

    /// Somebody could not write for want of room. Said once, however many meet it, until there is room again.
    pub(crate) fn met_full(&self, who: &dyn std::fmt::Display) {
        let now = self.clock.since_boot();
        let before = self.fill.send_replace((Fill::Full, now));
        if before.0 == Fill::Room {
            tracing::error!(
                code = FULL_CODE,
                dir = %self.data_dir.display(),
                met = %who,
                "this machine's disk is full: its servers go on, and what is to start waits; make room on it"
            );
        }
    }

    /// Notes that there is room again, where there is.
    fn look_for_room(&self) -> io::Result<Fill> {
        let disk = rustix::fs::statvfs(&self.data_dir)?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let now = self.clock.since_boot();
        let cleared = self.fill.send_if_modified(|(fill, met)| {
            let is_over =
                *fill == Fill::Full && free >= ROOM_AGAIN_BYTES && now.saturating_sub(*met) >= QUIET;
            if is_over {
                *fill = Fill::Room;
            }
            is_over
        });
        if cleared {
            tracing::warn!(code = FULL_CODE, free, "this machine's disk has room again: everything goes on");
        }
        Ok(self.fill())
    }

    /// What took room when it was last looked at.
    pub(crate) fn last(&self) -> DiskUse {
        DiskUse { fill: self.fill(), ..*self.last.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    /// The time, for whoever notes when something was used.
    pub(crate) fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.clock.now().unix_ms())
    }

    /// Deletes what has to go so that `incoming` more bytes fit. Blocks.
    ///
    /// # Errors
    /// What could not be looked at. What could not be deleted is logged, and counted next time again.
    pub(crate) fn sweep(
        &self,
        cache: &Cache,
        needed: &BTreeSet<ContentHash>,
        incoming: u64,
    ) -> io::Result<Result<(), Short>> {
        let (items, places) = self.look(cache, needed)?;
        let disk = rustix::fs::statvfs(&self.data_dir)?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        let budget = self.limits.budget.unwrap_or(bytes(disk.f_blocks) / 2);
        let room = Room { budget, free: bytes(disk.f_bavail), free_min: self.limits.free_min, incoming };
        let plan = plan(&items, room);
        let (mut deleted, mut gone) = (0, BTreeSet::new());
        let planned = plan.delete.iter().filter_map(|&n| Some((n, items.get(n)?, places.get(n)?)));
        for (number, item, place) in planned {
            match place.delete(cache, needed) {
                Ok(()) => {
                    tracing::info!(
                        ?place,
                        bytes = item.bytes,
                        "deleted: the machine's disk budget is used up"
                    );
                    deleted += item.bytes;
                    gone.insert(number);
                }
                Err(error) => tracing::error!(code = "MS-S437", ?place, %error, "could not be deleted"),
            }
        }
        let sum = |kind| {
            let of_kind =
                items.iter().zip(0..).filter(|(item, place)| item.kind == kind && !gone.contains(place));
            of_kind.map(|(item, _)| item.bytes).sum()
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = DiskUse {
            builds: sum(Kind::Build),
            cores: sum(Kind::Core),
            evidence: sum(Kind::Evidence),
            logs: sum(Kind::Log),
            budget,
            free: room.free.saturating_add(deleted),
            deleted: last.deleted + deleted,
            fill: Fill::Room,
        };
        let limit = if room.free_min + incoming > room.free + deleted {
            "the disk has no more, beside what is kept free"
        } else {
            "the machine's disk budget has no more"
        };
        Ok(if plan.short == 0 { Ok(()) } else { Err(Short { bytes: plan.short, limit }) })
    }

    /// Everything that counts.
    fn look(&self, cache: &Cache, needed: &BTreeSet<ContentHash>) -> io::Result<(Vec<Item>, Vec<Place>)> {
        let (mut items, mut places) = (Vec::new(), Vec::new());
        let mut add = |kind, bytes, used: SystemTime, standing, place| {
            let used = used.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let used = Timestamp::from_unix_ms(u64::try_from(used.as_millis()).unwrap_or(u64::MAX));
            items.push(Item { kind, bytes, used, standing });
            places.push(place);
        };
        for kept in cache.kept().map_err(io::Error::other)? {
            let standing = if needed.contains(&kept.manifest) { Standing::Needed } else { Standing::Spare };
            add(Kind::Build, kept.bytes, kept.used, standing, Place::Install(kept.manifest));
        }
        let shared = cache.shared_bytes().map_err(io::Error::other)?;
        add(Kind::Build, shared, self.now(), Standing::Needed, Place::Shared);
        let before = |age| self.now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH);
        let (fresh, open) = (before(LOG_FRESH), before(LOG_OPEN));
        for slot in slots(&self.data_dir)? {
            let mut evidence: Option<(&str, u64, SystemTime)> = None;
            let files = slot_files::list(&slot)?.unwrap_or_default();
            for file in &files {
                let run = file.path.strip_prefix("evidence/").and_then(|rest| rest.split_once('/'));
                let place = Place::File(slot.clone(), file.path.clone());
                match run {
                    Some((_, "core")) => add(Kind::Core, file.size, file.modified, Standing::Spare, place),
                    Some((run, _)) => {
                        // By path: the files of one run stand together.
                        match &mut evidence {
                            Some((of, bytes, _)) if *of == run => *bytes += file.size,
                            other => {
                                if let Some((run, bytes, used)) =
                                    other.replace((run, file.size, file.modified))
                                {
                                    let place = Place::Evidence(slot.join("evidence").join(run));
                                    add(Kind::Evidence, bytes, used, Standing::Spare, place);
                                }
                            }
                        }
                    }
                    None => {
                        let rotated = file.path.starts_with("output/");
                        let standing = if is_written(&file.path) || (file.modified >= open && !rotated) {
                            Standing::Needed
                        } else if file.modified >= fresh {
                            Standing::Fresh
                        } else {
                            Standing::Spare
                        };
                        add(Kind::Log, file.size, file.modified, standing, place);
                    }
                }
            }
            if let Some((run, bytes, used)) = evidence {
                let place = Place::Evidence(slot.join("evidence").join(run));
                add(Kind::Evidence, bytes, used, Standing::Spare, place);
            }
        }
        Ok((items, places))
    }
}

impl Place {
    fn delete(&self, cache: &Cache, needed: &BTreeSet<ContentHash>) -> io::Result<()> {
        match self {
            Self::Install(manifest) => {
                let swept = cache.forget(*manifest).and_then(|()| cache.sweep(needed));
                swept.map_err(io::Error::other).map(drop)
            }
            Self::Shared => Ok(()),
            Self::File(slot, path) => slot_files::remove(slot, path).map(drop),
            // The folder is the agent's own: no game can put a link into it.
            Self::Evidence(folder) => std::fs::remove_dir_all(folder),
        }
    }
}

/// Whether the holder writes it now: the rotated ones have a number.
fn is_written(path: &str) -> bool {
    matches!(path, "output/stdout.log" | "output/stderr.log")
}

/// The folders of this machine's slots.
fn slots(data_dir: &Path) -> io::Result<Vec<PathBuf>> {
    match std::fs::read_dir(data_dir.join("slots")) {
        Ok(slots) => slots.map(|slot| slot.map(|slot| slot.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Looks at the disk for as long as the agent lives, and forgets builds that nobody names any more.
pub(crate) async fn watch(builds: Arc<Builds>, brain: Brain) {
    let disk = builds.disk();
    let mut fill = disk.fill.subscribe();
    loop {
        let Ok(specs) = brain.specs().await else { return };
        builds.keep_only(&specs.iter().map(|spec| spec.configuration).collect());
        if let Err(error) = builds.sweep().await {
            tracing::error!(code = %error.code(), %error, "the machine's disk could not be looked at");
        }
        builds.tell();
        for _ in 0..LOOKS_WHILE_FULL {
            match disk.fill() {
                Fill::Room => {
                    let full = fill.wait_for(|(fill, _)| *fill == Fill::Full);
                    // Met: what may go goes at once. Renewed: what was needed may be so no more.
                    tokio::select! {
                        _met = full => {}
                        () = builds.renewed() => {}
                        () = sleep(LOOK_EVERY) => {}
                    }
                    break;
                }
                Fill::Full => {
                    sleep(FULL_LOOK_EVERY).await;
                    let looker = Arc::clone(&disk);
                    let looked = tokio::task::spawn_blocking(move || looker.look_for_room()).await;
                    match looked {
                        Ok(Ok(Fill::Room)) => break,
                        Ok(Ok(Fill::Full)) => {}
                        Ok(Err(error)) => tracing::debug!(%error, "the full disk could not be looked at"),
                        // Our own end, or our own bug: either way this look is over.
                        Err(_ended) => {}
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use mainstay_core::{FleetNumber, ServerId};
    use mainstay_runtime::SystemClock;
    use mainstay_wire::builds::{Manifest, ManifestFile};
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::builds::Object;
    use crate::os::slot_dirs::SlotDirs;

    const MIB: usize = 1 << 20;

    /// An install of one file of 1 MiB, made of `byte`.
    fn install(cache: &Cache, byte: u8, used_s: u64) -> ContentHash {
        let bytes = vec![byte; MIB];
        let hash = |bytes: &[u8]| ContentHash::of(Sha256::digest(bytes).into());
        let file =
            ManifestFile { path: "f".into(), size: MIB as u64, sha256: hash(&bytes), executable: false };
        let manifest = Manifest::of(vec![file], vec![]).unwrap();
        for (hash, bytes) in [(hash(&bytes), bytes), (hash(&manifest.write()), manifest.write())] {
            std::io::Write::write_all(&mut cache.append(Object::list(hash)).unwrap(), &bytes).unwrap();
            cache.keep(Object::list(hash)).unwrap();
        }
        let list = hash(&manifest.write());
        cache.lay_out(list, &manifest).unwrap();
        cache.touch(list, SystemTime::UNIX_EPOCH + Duration::from_secs(used_s)).unwrap();
        list
    }

    fn write(path: &Path, age: Duration) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![b'x'; MIB]).unwrap();
        let then = SystemTime::now().checked_sub(age).unwrap();
        fs::File::options().append(true).open(path).unwrap().set_modified(then).unwrap();
    }

    /// Issue 3, section 10: "one disk budget a machine for game logs, cores, evidence and old builds".
    #[test]
    fn what_is_over_the_budget_goes_in_its_order_and_what_is_needed_stays() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::of(dir.path());
        cache.open().unwrap();
        let (old, newer, needed) = (install(&cache, 1, 10), install(&cache, 2, 20), install(&cache, 3, 5));
        let slot = SlotDirs::of(dir.path(), ServerId::of(FleetNumber::new(1).unwrap(), 1));
        let day = Duration::from_secs(86_400);
        let (core, evidence) = (slot.evidence.join("7/core"), slot.evidence.join("7/stdout.log"));
        let (rotated, written) = (slot.output.join("stdout.1.log"), slot.output.join("stdout.log"));
        let (aged, fresh) = (slot.logs.join("old.log"), slot.logs.join("now.log"));
        let (closed, turned) = (slot.logs.join("closed.log"), slot.output.join("stdout.2.log"));
        for path in [&core, &evidence, &rotated, &written, &aged] {
            write(path, day);
        }
        write(&fresh, Duration::ZERO);
        write(&turned, Duration::ZERO);
        write(&closed, LOG_OPEN * 2);
        std::os::unix::fs::symlink("/etc/passwd", slot.logs.join("link")).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let needs = BTreeSet::from([needed]);
        let sweep = |mib: u64, incoming: u64| {
            let limits = DiskLimits { budget: Some(mib << 20), free_min: 0 };
            let disk = Disk::new(dir.path(), limits, Arc::clone(&clock));
            let done = disk.sweep(&cache, &needs, incoming << 20).unwrap();
            (done, disk.last())
        };
        let (done, seen) = sweep(11, 0);
        assert_eq!(done, Ok(()));
        let mib = |count: u64| count << 20;
        assert_eq!((seen.builds, seen.cores, seen.evidence, seen.logs), (mib(3), mib(1), mib(1), mib(6)));
        assert_eq!(seen.deleted, 0);
        // A build comes: the one that was used longest ago goes for it.
        assert_eq!(sweep(11, 1).0, Ok(()));
        assert!(!cache.install(old).exists() && cache.install(newer).exists());
        // More than can be had: nothing goes.
        let (done, seen) = sweep(10, 7);
        assert!(done.is_err_and(|short| short.bytes == 2 << 20), "{seen:?}");
        assert!(cache.install(newer).exists() && core.exists());
        let gone = |paths: &[&Path]| paths.iter().all(|path| !path.exists());
        assert_eq!(sweep(8, 0).0, Ok(()));
        assert!(gone(&[&cache.install(newer), &core]) && evidence.exists());
        assert_eq!(sweep(7, 0).0, Ok(()));
        assert!(gone(&[&evidence]) && rotated.exists() && aged.exists());
        assert_eq!(sweep(0, 0).0.unwrap_err().bytes, 5 << 20);
        assert!(gone(&[&rotated, &aged]));
        assert!(closed.exists() && turned.exists(), "of the last hour");
        // A disk that would be full: those that nobody writes go too.
        let limits = DiskLimits { budget: None, free_min: u64::MAX >> 1 };
        let disk = Disk::new(dir.path(), limits, Arc::clone(&clock));
        disk.sweep(&cache, &needs, 0).unwrap().unwrap_err();
        assert!(gone(&[&closed, &turned]));
        assert!(cache.install(needed).exists() && written.exists() && fresh.exists());
        assert!(Path::new("/etc/passwd").exists());
    }
}
