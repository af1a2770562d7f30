//! An agent from its start to its end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::ServerId;
use mainstay_core::slot::{Reading, Status};
use mainstay_holder::record;
use mainstay_journal::sqlite::SqliteJournal;
use mainstay_journal::{Fold, Limits, ShardName, StoredFold};
use mainstay_runtime::{
    Clock, JournalFailure, JournalHandle, JournalThread, MAILBOX_MAX, Shard, StoredCodec, Stories, Upkeep,
    UpkeepConfig,
};
use mainstay_supervisor::{Command, Supervisor};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::asks::Asks;
use crate::brain::Brain;
use crate::builds::Builds;
use crate::config::Config;
use crate::daemon::Daemon;
use crate::disk::{self, Disk, DiskUse};
use crate::doctor::Doctor;
use crate::error::Error;
use crate::hands::SlotHands;
use crate::os::ports::{TakenPorts, Transport};
use crate::os::{Capabilities, cgroup, uids};
use crate::roster::Roster;
use crate::slot::{Context, Ending, Ground};
use crate::statuses::Statuses;
use crate::uplink::Uplink;

/// The shard's name in the agent's journal.
const SHARD: &str = "agent";

/// How long the first look at the slots may keep the stream waiting: a holder answers within milliseconds, and one that
/// does not is reported later.
const FIRST_LOOK_MAX: Duration = Duration::from_secs(10);
/// How often a wait for slots looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How long SIGKILL may take to end what did not stop by itself.
const KILL_WITHIN: Duration = Duration::from_secs(10);

/// Where the boot is noted in which an agent last looked at every slot. A run that was live before another boot is lost, even
/// where the power took every record of it: nobody who plays in it is told that it began again.
const BOOT_FILE: &str = "boot.json";

/// Starts agents.
#[derive(Debug)]
pub struct Service;

impl Service {
    /// Opens what is durable, finds the games that still run, and speaks to the control plane from then on.
    ///
    /// # Errors
    /// See [`Error`]. Nothing that runs is touched by a start that fails.
    pub async fn start(config: Config, clock: Arc<dyn Clock>) -> Result<Handle, Error> {
        let Opened { config, roster, capabilities, inhabited, journal, boot_id, last_boot } =
            open(config).await?;
        for missing in &capabilities.missing {
            tracing::warn!("{missing}");
        }
        let ground = Ground::new(&config, capabilities, inhabited, Arc::clone(&clock));
        let disk = Disk::new(&config.data_dir, config.disk, Arc::clone(&clock));
        let builds = Arc::new(Builds::new(config.builds, config.plane.clone(), &config.data_dir, disk));
        let context = Arc::new(Context::new(ground, Arc::clone(&builds)));
        context.add_facts(roster.slots());
        let statuses = Arc::new(Statuses::default());
        let upkeep = upkeep(&config, &journal, &clock)?;
        let journal = JournalThread::start(Box::new(journal), Limits::STANDARD, Arc::clone(&clock))
            .map_err(|source| Error::Thread { source })?;
        let name = ShardName::new(SHARD).map_err(|source| Error::Shard { source })?;
        let shard = Shard::start(mainstay_runtime::Config {
            name,
            journal: journal.clone(),
            initial: Supervisor::new(),
            codec: StoredCodec,
            hands: SlotHands::new(Arc::clone(&context), Arc::clone(&statuses)),
            due: |_why| Command::Due,
            mailbox_max: MAILBOX_MAX,
        })
        .await
        .map_err(|source| Error::Rules { source })?;
        let brain = Brain::new(shard);
        context.meet(brain.clone());
        let is_another_boot = last_boot.is_some_and(|last| last != boot_id);
        let live = brain.live_runs().await.map_err(|_| Error::RulesEnded)?;
        context.tell_cut_off(if is_another_boot { live } else { BTreeMap::new() });
        // Before anything is deleted for want of room, what is known here counts as needed.
        for spec in brain.specs().await.map_err(|_| Error::RulesEnded)? {
            let _begun = builds.stead(&spec);
        }
        let sweeping = tokio::spawn(disk::watch(builds, brain.clone()));
        brain.report(Command::Resume).await.map_err(|_| Error::RulesEnded)?;
        let asks = Arc::new(Asks::default());
        let daemon = Daemon::new(Arc::clone(&context), brain.clone(), Arc::clone(&asks));
        let (dir, boot) = (config.data_dir.clone(), boot_id.clone());
        let uplink = Uplink {
            config,
            roster: Mutex::new(roster),
            context: Arc::clone(&context),
            brain: brain.clone(),
            statuses: Arc::clone(&statuses),
            asks: Arc::clone(&asks),
            boot_id,
        };
        let (seen, live) = (Arc::clone(&statuses), brain.clone());
        let uplink = tokio::spawn(async move {
            if first_look(&seen, &live).await {
                note_boot(dir, boot).await;
            }
            uplink.run().await;
        });
        Ok(Handle { context, brain, daemon, statuses, journal, upkeep, uplink, sweeping })
    }
}

/// A running agent.
#[derive(Debug)]
pub struct Handle {
    context: Arc<Context>,
    brain: Brain,
    daemon: Daemon,
    statuses: Arc<Statuses>,
    journal: JournalHandle,
    upkeep: Upkeep,
    uplink: JoinHandle<()>,
    sweeping: JoinHandle<()>,
}

impl Handle {
    /// How a slot stands.
    #[must_use]
    pub fn status(&self, server: ServerId) -> Option<Status> {
        self.statuses.get(server)
    }

    /// What was last read of a slot's game; `None` where none runs, or none has been checked yet.
    #[must_use]
    pub fn reading(&self, server: ServerId) -> Option<Reading> {
        self.statuses.reading(server)
    }

    /// What [`crate::daemon::serve`] answers games from.
    #[must_use]
    pub fn daemon(&self) -> Daemon {
        self.daemon.clone()
    }

    /// What `mainstay doctor` asks: its questions outlive this handle.
    #[must_use]
    pub fn doctor(&self) -> Doctor {
        Doctor::new(Arc::clone(&self.context), self.brain.clone())
    }

    /// Where slots' standard output and error are kept: a question that outlives this handle.
    pub fn outputs(&self) -> impl Fn(ServerId) -> PathBuf + Send + Sync + 'static {
        let context = Arc::clone(&self.context);
        move |server| context.ground.output_dir(server)
    }

    /// What takes room on this machine's disk, as it was when the agent last looked: at most a minute ago.
    #[must_use]
    pub fn disk_use(&self) -> DiskUse {
        self.context.builds.disk_use()
    }

    /// Waits until the agent can go on no longer, and says why: its journal failed. The caller ends the process; games
    /// play on, and the next agent finds them.
    pub async fn failed(&self) -> Arc<JournalFailure> {
        self.journal.failed().await
    }

    /// Ends the agent and leaves its games playing: the next agent adopts them.
    ///
    /// # Errors
    /// What was not durable yet is lost with the journal; the games are not.
    pub async fn leave(self) -> Result<(), Error> {
        self.uplink.abort();
        self.sweeping.abort();
        self.context.end.send_replace(Ending::Leave);
        self.brain.drain().await.map_err(|source| Error::Unfinished { source })?;
        let stopped = self.journal.stop().await.map_err(|failure| Error::Journal { failure });
        drop(self.upkeep);
        stopped
    }

    /// Stops every game, by its own stop ladder until `patience` ends and by SIGKILL after, and ends the agent. Sessions
    /// outlive it: the next agent starts them again, with the allocations they had.
    ///
    /// # Errors
    /// As [`Handle::leave`]; or games that not even SIGKILL ended.
    pub async fn stop_all(self, patience: impl Future<Output = ()>) -> Result<(), Error> {
        // First, so that no order starts again what is being stopped.
        self.uplink.abort();
        self.brain.report(Command::Park).await.map_err(|_| Error::RulesEnded)?;
        let quiet = tokio::select! {
            () = self.quiet() => true,
            () = patience => false,
        };
        if !quiet {
            self.context.end.send_replace(Ending::Kill);
            if timeout(KILL_WITHIN, self.quiet()).await.is_err() {
                let servers = self.brain.live().await.map_err(|_| Error::RulesEnded)?;
                self.leave().await?;
                return Err(Error::StillRunning { servers: servers.into_iter().collect() });
            }
        }
        self.sweep();
        self.leave().await
    }

    /// Takes away the control groups, which hold no process any more. The next agent makes them anew.
    fn sweep(&self) {
        if let Some(groups) = &self.context.ground.capabilities().groups
            && let Err(error) = groups.sweep(&[])
        {
            tracing::warn!(error = &error as &dyn std::error::Error, "control groups are left behind");
        }
    }

    /// Waits until no game is left; an agent whose rules have ended has none it could wait for.
    async fn quiet(&self) {
        while self.brain.live().await.is_ok_and(|live| !live.is_empty()) {
            sleep(LOOK_AGAIN).await;
        }
    }
}

/// Keeps the agent's journal short. It has no history: what its servers go through is told by the control plane's.
fn upkeep(config: &Config, journal: &SqliteJournal, clock: &Arc<dyn Clock>) -> Result<Upkeep, Error> {
    let reader = journal
        .reader()
        .map_err(|source| Error::OpenJournal { dir: config.data_dir.join("journal"), source })?;
    let empty = |shard: &ShardName| {
        (shard.as_str() == SHARD).then(|| -> Box<dyn Fold> { Box::new(StoredFold::new(Supervisor::new())) })
    };
    let config = UpkeepConfig {
        reader,
        journal: journal.clone(),
        empty: Box::new(empty),
        // Its state is small.
        stories: Stories::default(),
        history: None,
        clock: Arc::clone(clock),
    };
    Upkeep::start(config).map_err(|source| Error::Thread { source })
}

/// What an agent begins with.
struct Opened {
    /// With the directory's one true path: a game starts elsewhere, so none that it is given may be relative.
    config: Config,
    roster: Roster,
    capabilities: Capabilities,
    inhabited: uids::Inhabited,
    journal: SqliteJournal,
    boot_id: String,
    /// The one in which an agent last looked at every slot.
    last_boot: Option<String>,
}

/// Everything that blocks at the start.
async fn open(mut config: Config) -> Result<Opened, Error> {
    let opened = tokio::task::spawn_blocking(move || {
        let dir = &config.data_dir;
        let files = |what, path: &Path| {
            let path = path.to_owned();
            move |source| Error::Files { what, path, source }
        };
        std::fs::create_dir_all(dir).map_err(files("make", dir))?;
        let dir = dir.canonicalize().map_err(files("look at", dir))?;
        // First, for its lock: a second agent in the same directory ends here.
        let journal = SqliteJournal::open(&dir.join("journal"))
            .map_err(|source| Error::OpenJournal { dir: dir.join("journal"), source })?;
        let taken = TakenPorts::read().map_err(|source| Error::System { source })?;
        let is_free = |port| taken.is_free(port, Transport::Udp) && taken.is_free(port, Transport::Tcp);
        let roster = Roster::open(&dir, &config.machines, config.ports, is_free)?;
        let capabilities = Capabilities::find(&dir, cgroup::PARENT, Path::new(uids::REGISTRY))
            .map_err(|source| Error::System { source })?;
        let inhabited = uids::Inhabited::look().map_err(files("read", Path::new("/proc")))?;
        let boot_id = mainstay_holder::process::boot_id()
            .map_err(files("read", Path::new("/proc/sys/kernel/random/boot_id")))?;
        let last_boot = record::read(&dir, BOOT_FILE).map_err(files("read", &dir.join(BOOT_FILE)))?;
        crate::builds::Cache::of(&dir).open().map_err(|source| Error::Builds { source: Box::new(source) })?;
        config.data_dir = dir;
        Ok(Opened { config, roster, capabilities, inhabited, journal, boot_id, last_boot })
    });
    match opened.await {
        Ok(opened) => opened,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Cancelled: the process is ending.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Notes that what an earlier boot left behind has been looked at.
async fn note_boot(dir: PathBuf, boot: String) {
    let noted = tokio::task::spawn_blocking(move || crate::files::write(&dir, BOOT_FILE, &boot)).await;
    if let Ok(Err(error)) = noted {
        tracing::warn!(%error, "this boot could not be noted: games that another one ends may be started again unasked");
    }
}

/// Waits until every slot with a process has been looked at, so that the first word to the plane is about all of them; says
/// whether they were.
async fn first_look(statuses: &Statuses, brain: &Brain) -> bool {
    let looked = async {
        while let Ok(live) = brain.live().await
            && live.iter().any(|server| statuses.get(*server).is_none())
        {
            sleep(LOOK_AGAIN).await;
        }
    };
    let in_time = timeout(FIRST_LOOK_MAX, looked).await.is_ok();
    if !in_time {
        tracing::warn!("some slots could not be looked at yet; the control plane hears of them later");
    }
    in_time
}
