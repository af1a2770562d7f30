//! Matchmaking queues: one shard each in the journal, and the list of those that are open.
//!
//! A queue's own shard is where it is configured: no other list knows it. Whoever configures it, a file or a call, comes
//! through [`Queues::set`], and the last one is right. What a file does not name stays as it is.

mod arrivals;
mod builds;
mod changes;
mod hosts;
mod needs;
mod passes;
mod payload;
mod placement;
mod reach;
mod running;
mod watched;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use mainstay_core::Timestamp;
use mainstay_journal::{ReadError, ShardName};
use mainstay_matchmaking::spec::{Fault, PlayFabBuild, QueueSpec, ServerAllocation, Venue};
use mainstay_matchmaking::{Command, Hold, Lease, Queue, Rejection};
use mainstay_runtime::{Growth, JournalHandle, MAILBOX_MAX, Reply, Shard, StoredCodec};
use mainstay_wire::playfab::queue::MatchmakingQueueConfig;
use tokio::sync::Mutex;
use uuid::Uuid;

pub(crate) use self::arrivals::{NotTaken, Sent, members};
pub use self::builds::{BuildTarget, Builds};
use self::changes::Changes;
use self::hosts::Plays;
pub(crate) use self::hosts::{Hosts, NotAdmitted};
pub(crate) use self::needs::Need;
pub use self::needs::Needed;
pub(crate) use self::passes::Passes;
pub(crate) use self::placement::Placement;
pub(crate) use self::running::Running;
use self::running::{Listed, Wanted, let_go};
use self::watched::QueueHands;
pub(crate) use self::watched::{News, Watched, Watching};
use crate::declare::named;
use crate::objects::Objects;

/// What the names of queues' shards begin with; the UUID of the queue's name follows.
pub(crate) const QUEUE_PREFIX: &str = "queue/";
/// The most queues, with those that were removed and still give servers back: each is a task, an engine and a place in every look at all
/// of them. A title has tens.
pub(crate) const QUEUES_MAX: usize = 1_000;
/// Queues' names may have capitals, and be as long as the name of a shard, so shards are called by a UUID of them.
const NAMES: Uuid = Uuid::from_u128(0x3d0f_51b4_8e6b_4c0e_a1f9_27c4_6b0a_94de);

/// The queues of a running control plane.
#[derive(Debug, Clone)]
pub(crate) struct Queues(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    journal: JournalHandle,
    placement: Placement,
    hosts: Hosts,
    builds: Builds,
    /// What players have stored.
    objects: Objects,
    /// Those that take tickets, by name.
    open: Listed<Arc<str>, OpenQueue>,
    /// Every shard that runs, also of queues that were removed: a shard is led once, and what ended in it can be asked about.
    shards: Listed<ShardName, Running>,
    /// Locked while a queue is opened or changed.
    changing: Mutex<()>,
}

/// A queue that takes tickets.
#[derive(Debug, Clone)]
pub(crate) struct OpenQueue {
    running: Running,
    rules: Arc<RwLock<Rules>>,
}

/// What attributes are read by. Kept beside the shard, so that a ticket costs one turn and not two.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) spec: Arc<QueueSpec>,
    pub(crate) form: u32,
}

/// Why a queue did not open or change.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// There are too many.
    #[error("there are {QUEUES_MAX} queues: no more are opened before some are removed (MS-M005)")]
    TooMany,
    /// The rules refuse it.
    #[error(transparent)]
    Refused(#[from] Rejection),
    /// Its shard did not start.
    #[error("the queue's shard did not start")]
    Start(#[from] mainstay_runtime::StartError),
    /// It gave no answer: ask again.
    #[error(transparent)]
    Runtime(#[from] mainstay_runtime::Error),
    /// The journal did not say which queues there are.
    #[error("the journal did not list its shards")]
    Read(#[from] ReadError),
}

/// Why a game that is asked for cannot be waited for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoLease {
    /// The allocation that its server is named by has ended.
    #[error("the allocation that the server is named by has ended, so nobody can join its game")]
    Over,
    /// The allocation that its server is named by has none yet, or that does not run yet, as far as its machine has said.
    #[error("the allocation that the server is named by does not play yet, so nothing would end its search")]
    NotYet,
    /// No lease is as long.
    #[error(transparent)]
    Refused(#[from] Rejection),
    /// A fleet gave no answer.
    #[error(transparent)]
    Unanswered(#[from] mainstay_runtime::Error),
}

impl Queues {
    /// Opens every queue that the journal holds.
    ///
    /// # Errors
    /// Where the journal or a shard does not open.
    pub(crate) async fn open(
        journal: JournalHandle,
        placement: Placement,
        (builds, objects): (Builds, Objects),
    ) -> Result<Self, QueueError> {
        let heads = journal.work(|journal| journal.heads()).await??;
        let hosts = Hosts::new(placement.fleets().clone(), placement.clock(), &journal);
        let queues = Self(Arc::new(Inner {
            journal,
            placement,
            hosts,
            builds,
            objects,
            open: Listed::new(),
            shards: Listed::new(),
            changing: Mutex::new(()),
        }));
        for head in heads.into_iter().filter(|head| head.shard.as_str().starts_with(QUEUE_PREFIX)) {
            let running = queues.start(head.shard.clone()).await?;
            if running.wanted().await? == Wanted::ByNobody {
                running.shard.drain().await?;
                continue;
            }
            queues.list(&running).await?;
            queues.0.shards.change(|shards| shards.insert(head.shard, running));
        }
        Ok(queues)
    }

    /// Those that take tickets, by name.
    pub(crate) fn now(&self) -> Arc<BTreeMap<Arc<str>, OpenQueue>> {
        self.0.open.now()
    }

    /// The servers that games run on here.
    pub(crate) fn hosts(&self) -> &Hosts {
        &self.0.hosts
    }

    /// What a backfill ticket lives by that a service account or a server from elsewhere asks for: a process hosted here, where
    /// the server it names is a live allocation; else the lease that was asked for, if one was. One that could not be is refused in either case.
    ///
    /// # Errors
    /// See [`NoLease`].
    pub(crate) async fn lease(&self, server: Option<&str>, within: Option<u32>) -> Result<Lease, NoLease> {
        let asked = within.map(Lease::renewed).transpose()?;
        let plays = match server {
            Some(server) => self.hosts().of_allocation(server).await?,
            None => Plays::Elsewhere,
        };
        match plays {
            Plays::Here(tenure) => Ok(Lease::Hosted(tenure)),
            // Nobody would withdraw it before its time is up.
            Plays::Over => Err(NoLease::Over),
            Plays::NotYet => Err(NoLease::NotYet),
            Plays::Elsewhere => Ok(asked.unwrap_or(Lease::Free)),
        }
    }

    /// One of them.
    pub(crate) fn named(&self, name: &str) -> Option<OpenQueue> {
        self.now().get(name).cloned()
    }

    /// One of them, or one that is removed, for as long as something that ended in it can be asked about: whoever was matched a moment
    /// before it was removed has its match all the same.
    ///
    /// # Errors
    /// Where the shard of a removed one gives no answer.
    pub(crate) async fn kept(&self, name: &str) -> Result<Option<Running>, mainstay_runtime::Error> {
        if let Some(open) = self.named(name) {
            return Ok(Some(open.running));
        }
        let Some(running) = self.0.shards.now().get(&shard_name(name)).cloned() else { return Ok(None) };
        Ok((running.wanted().await? != Wanted::ByNobody).then_some(running))
    }

    /// A queue that came over HTTP, with what its matches get their servers of.
    ///
    /// # Errors
    /// What it lacks; and where its build stands for nothing here, or for a fleet, build configuration or region that is not there.
    pub(crate) fn checked(&self, config: &MatchmakingQueueConfig) -> Result<QueueSpec, Vec<Fault>> {
        // Every fault at once: what the servers lack, and what the rules do.
        let allocation = self.allocation(config);
        let spec = config.spec(allocation.clone().unwrap_or_default());
        Fault::both(allocation, spec).map(|(_, spec)| spec)
    }

    fn allocation(&self, config: &MatchmakingQueueConfig) -> Result<Option<ServerAllocation>, Vec<Fault>> {
        let build = config.build()?;
        // What a queue shows can be set again: also a build that a file has mapped for it since the start.
        let allocation = match self.0.builds.allocation(build.clone()) {
            Ok(allocation) => allocation,
            Err(unmapped) => Some(self.allocation_by(&config.name, build.as_ref()).ok_or(unmapped)?),
        };
        if let Some(allocation) = &allocation {
            self.0.placement.check(allocation, &config.regions).map_err(|fault| vec![fault])?;
        }
        Ok(allocation)
    }

    /// Of what a queue has its servers now, if it calls that so.
    fn allocation_by(&self, queue: &str, build: Option<&PlayFabBuild>) -> Option<ServerAllocation> {
        match self.named(queue)?.rules().spec.venue.clone()? {
            Venue::Server(known) if known.build.as_ref() == build => Some(known),
            Venue::Server(_) | Venue::Session { .. } => None,
        }
    }

    /// The server that a group has which waits for it, and whose game has not called ready.
    ///
    /// # Errors
    /// Where its fleet gives no answer.
    pub(crate) async fn not_ready(&self, hold: &Hold) -> Result<Option<u64>, mainstay_runtime::Error> {
        match &*hold.venue {
            Venue::Server(of) => self.0.placement.not_ready(&of.fleet, hold.asked()).await,
            Venue::Session { .. } => Ok(None),
        }
    }

    /// How PlayFab's builds are mapped for whoever sets queues by calls.
    pub(crate) fn builds(&self) -> &Builds {
        &self.0.builds
    }

    /// Has a queue match by this from now on, whether it was there or not.
    ///
    /// # Errors
    /// See [`QueueError`].
    pub(crate) async fn set(&self, spec: Arc<QueueSpec>) -> Result<(), QueueError> {
        let _changing = self.0.changing.lock().await;
        let (name, shards) = (shard_name(&spec.name), &self.0.shards);
        if shards.now().len() >= QUEUES_MAX && !shards.now().contains_key(&name) {
            let_go(shards).await?;
        }
        let known = shards.now().get(&name).cloned();
        let running = match known {
            Some(running) => running,
            None if shards.now().len() >= QUEUES_MAX => return Err(QueueError::TooMany),
            None => {
                let running = self.start(name.clone()).await?;
                shards.change(|shards| shards.insert(name, running.clone()));
                running
            }
        };
        running.shard.command(Command::Configure(spec), Growth::Grows).await??;
        Ok(self.list(&running).await?)
    }

    /// Has each of these queues match so from now on; others stay as they are.
    ///
    /// # Errors
    /// Where one does not take it; those before it have.
    pub(crate) async fn set_all(&self, specs: Vec<Arc<QueueSpec>>) -> Result<(), QueueError> {
        for spec in specs {
            self.set(spec).await?;
        }
        Ok(())
    }

    /// Removes a queue: its tickets are cancelled.
    ///
    /// # Errors
    /// See [`QueueError`]; [`Rejection::QueueNotFound`] where there is none.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), QueueError> {
        let _changing = self.0.changing.lock().await;
        let queue = self.named(name).ok_or(Rejection::QueueNotFound)?;
        queue.running.shard.command(Command::Close, Growth::Shrinks).await??;
        self.0.open.change(|open| open.remove(name));
        Ok(())
    }

    /// Waits until everything accepted is durable and answered.
    ///
    /// # Errors
    /// Where a shard's leadership ended first.
    pub(crate) async fn drain(&self) -> Result<(), mainstay_runtime::Error> {
        let _changing = self.0.changing.lock().await;
        for running in self.0.shards.now().values() {
            running.shard.drain().await?;
        }
        Ok(())
    }

    /// Lists a queue, if it takes tickets.
    async fn list(&self, running: &Running) -> Result<(), mainstay_runtime::Error> {
        if let Some(rules) = running.rules().await? {
            let name = Arc::clone(&rules.spec.name);
            let rules = Arc::new(RwLock::new(rules));
            let queue = OpenQueue { running: running.clone(), rules };
            self.0.open.change(|open| open.insert(name, queue));
        }
        Ok(())
    }

    async fn start(&self, name: ShardName) -> Result<Running, mainstay_runtime::StartError> {
        let (watched, passes, called) = (Watched::default(), Passes::new(), name.clone());
        let (owed, hanging) = (Changes::new(), Changes::new());
        let shard = Shard::start(mainstay_runtime::Config {
            name,
            journal: self.0.journal.clone(),
            initial: Queue::new(crate::shards::seed()),
            codec: StoredCodec,
            hands: QueueHands::new(watched.clone(), passes.clone(), owed.clone(), hanging.clone()),
            due: |_why| Command::Due,
            mailbox_max: MAILBOX_MAX,
        });
        let shard = shard.await?;
        self.0.journal.stories().tell(called, &shard, Queue::told);
        // They end with the shard.
        tokio::spawn(self.0.placement.clone().run(shard.clone(), owed));
        let (placement, hosts, watching) = (self.0.placement.clone(), self.0.hosts.clone(), shard.clone());
        tokio::spawn(async move {
            placement.begun().await;
            hosts.watch(watching, hanging).await;
        });
        Ok(Running { shard, watched, passes })
    }
}

impl OpenQueue {
    /// Asks; a full mailbox is an error. Answers once what was decided is durable.
    pub(crate) async fn ask(&self, command: Command) -> Result<Reply<Queue>, mainstay_runtime::Error> {
        self.running.ask(command).await
    }

    /// What attributes are read by, as far as it is known here.
    pub(crate) fn rules(&self) -> Rules {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Learns it anew, for whoever was refused with [`Rejection::OtherForm`].
    pub(crate) async fn learn(&self) -> Result<Result<(), Rejection>, mainstay_runtime::Error> {
        let Some(rules) = self.running.rules().await? else { return Ok(Err(Rejection::QueueNotFound)) };
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
        Ok(Ok(()))
    }

    /// Reads the state once it is durable.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Queue, Timestamp) -> T + Send + 'static,
    ) -> Result<T, mainstay_runtime::Error> {
        self.running.read(read).await
    }

    /// How long its looks took.
    pub(crate) const fn passes(&self) -> &Passes {
        &self.running.passes
    }
}

fn shard_name(queue: &str) -> ShardName {
    let name = format!("{QUEUE_PREFIX}{}", named(NAMES, queue));
    ShardName::new(&name).expect("`queue/` and a UUID is a shard name")
}
