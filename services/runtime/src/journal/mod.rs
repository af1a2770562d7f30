//! The journal's own thread, and the door through which shards reach it.
//!
//! The port blocks on purpose, so it gets a thread: one for all shards of a journal. The [`Writer`] that holds the order
//! stands behind a lock that is held for hand-overs alone, never across a sync.

mod thread;

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use mainstay_journal::{
    Admission, AppendError, Journal, Leadership, LeaseError, Limits, LostWhy, Settled, TurnRecord, Writer,
};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use crate::clock::Clock;
use crate::error::StartError;
use crate::limits::TAIL_BATCHES_MAX;
use crate::stories::Stories;

/// Starts the thread that owns a journal.
#[derive(Debug)]
pub struct JournalThread;

/// Why a journal's thread ended before it was told to. The process must end, too: what it holds is no longer sure.
#[derive(Debug, thiserror::Error)]
pub enum JournalFailure {
    /// A write or a sync failed. Nothing that waited for it was answered as done.
    #[error("failed to make turns durable")]
    Append(#[source] AppendError),
    /// A successor declared this node dead.
    #[error("failed to keep this node's lease")]
    Lease(#[source] LeaseError),
    /// The thread panicked: our bug.
    #[error("the journal's thread ended by a bug of ours")]
    Panicked,
}

impl JournalFailure {
    /// Its code, explained by `mainstay explain`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Append(_) => "MS-J010",
            Self::Lease(_) => "MS-J014",
            Self::Panicked => "MS-J105",
        }
    }
}

/// Durable turns, as they become so.
pub type Tail = broadcast::Receiver<TailEvent>;

/// One durable batch of the tail: turns of any shards, in the order they were made durable in.
pub type TailEvent = Arc<[TurnRecord]>;

/// Reaches a journal's thread. Cheap to clone.
#[derive(Clone)]
pub struct JournalHandle {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for JournalHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JournalHandle").finish_non_exhaustive()
    }
}

/// Whether a journal takes what grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Everything is taken.
    Ample,
    /// Its disk is full, or it has ended: commands that grow are refused with [`crate::Error::JournalFull`] until there is
    /// room again.
    Full,
}

/// What a shard gets back by: its place among the shards, and its own number for what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) shard: usize,
    pub(crate) number: u64,
}

/// The end of a wait, as a shard hears of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Released {
    pub(crate) number: u64,
    pub(crate) outcome: Result<(), LostWhy>,
}

type Job = Box<dyn FnOnce(&mut dyn Journal) + Send>;

struct Shared {
    core: Mutex<Core>,
    work: Condvar,
    clock: Arc<dyn Clock>,
    stories: Stories,
    end: watch::Sender<Option<End>>,
    /// Told how long each append took.
    heard: OnceLock<Box<dyn Fn(Duration) + Send + Sync>>,
}

/// How the thread ended.
#[derive(Clone)]
enum End {
    Stopped,
    Failed(Arc<JournalFailure>),
}

struct Core {
    writer: Writer<Ticket>,
    /// Bounded by the shards: each has at most one under way.
    jobs: VecDeque<Job>,
    /// What is released goes out here; bounded by the writer's own limits.
    shards: Vec<mpsc::UnboundedSender<Vec<Released>>>,
    /// Places among them that nothing is released to any more.
    left: Vec<usize>,
    /// Shards that were not free to decide when they asked: woken whenever something settles.
    waiting: BTreeSet<usize>,
    /// Gone once the thread has ended: whoever follows is told so.
    tail: Option<broadcast::Sender<TailEvent>>,
    stopping: bool,
}

impl JournalThread {
    /// Starts the thread. It ends by [`JournalHandle::stop`], or by failing.
    ///
    /// # Errors
    /// Where the system has no thread to give.
    pub fn start(
        journal: Box<dyn Journal>,
        limits: Limits,
        clock: Arc<dyn Clock>,
    ) -> std::io::Result<JournalHandle> {
        let shared = Arc::new(Shared {
            core: Mutex::new(Core {
                writer: Writer::new(limits),
                jobs: VecDeque::new(),
                shards: Vec::new(),
                left: Vec::new(),
                waiting: BTreeSet::new(),
                tail: Some(broadcast::Sender::new(TAIL_BATCHES_MAX)),
                stopping: false,
            }),
            work: Condvar::new(),
            clock,
            stories: Stories::default(),
            end: watch::Sender::new(None),
            heard: OnceLock::new(),
        });
        thread::spawn(journal, Arc::clone(&shared))?;
        Ok(JournalHandle { shared })
    }
}

impl JournalHandle {
    /// Which of its shards tell their story themselves.
    #[must_use]
    pub fn stories(&self) -> Stories {
        self.shared.stories.clone()
    }

    /// Durable turns from now on, until the thread ends. A reader that lags more than [`TAIL_BATCHES_MAX`] batches is told so by its receiver,
    /// and reads the journal instead.
    #[must_use]
    pub fn tail(&self) -> Tail {
        match &self.lock().tail {
            Some(tail) => tail.subscribe(),
            // Ended: a channel without a sender says so at once.
            None => broadcast::channel(1).1,
        }
    }

    /// Waits until the thread fails; for ever where it does not. The caller ends the process.
    pub async fn failed(&self) -> Arc<JournalFailure> {
        let mut end = self.shared.end.subscribe();
        let failed = |end: &Option<End>| matches!(end, Some(End::Failed(_)));
        match end.wait_for(failed).await.map(|end| (*end).clone()) {
            Ok(Some(End::Failed(failure))) => failure,
            Ok(Some(End::Stopped) | None) | Err(_) => std::future::pending().await,
        }
    }

    /// Lets the thread end once everything accepted is durable, and waits for that.
    ///
    /// # Errors
    /// Where it failed before.
    pub async fn stop(&self) -> Result<(), Arc<JournalFailure>> {
        self.lock().stopping = true;
        self.shared.work.notify_one();
        let mut end = self.shared.end.subscribe();
        match end.wait_for(Option::is_some).await.map(|end| (*end).clone()) {
            Ok(Some(End::Failed(failure))) => Err(failure),
            Ok(Some(End::Stopped) | None) | Err(_) => Ok(()),
        }
    }

    /// Runs a piece of work on the journal between two batches. Keep each short: turns wait meanwhile.
    ///
    /// # Errors
    /// [`StartError::JournalEnded`] where the thread has ended.
    pub async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Journal) -> T + Send + 'static,
    ) -> Result<T, StartError> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |journal| {
            let _gone = answer.send(work(journal));
        });
        {
            let mut core = self.lock();
            if self.shared.end.borrow().is_some() {
                return Err(StartError::JournalEnded);
            }
            core.jobs.push_back(job);
        }
        self.shared.work.notify_one();
        answered.await.map_err(|_| StartError::JournalEnded)
    }

    /// Whether what grows is taken now.
    #[must_use]
    pub fn room(&self) -> Room {
        match self.lock().writer.admission() {
            Admission::Open | Admission::Wait => Room::Ample,
            Admission::ReserveOnly | Admission::Stalled | Admission::Ended => Room::Full,
        }
    }

    /// Tells `hear`, from now on, how long each batch took to become durable. On the journal's own thread: it must not
    /// block. The first to ask is told.
    pub fn hear_syncs(&self, hear: impl Fn(Duration) + Send + Sync + 'static) {
        let _first = self.shared.heard.set(Box::new(hear));
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    pub(crate) fn register(&self) -> (usize, mpsc::UnboundedReceiver<Vec<Released>>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut core = self.lock();
        if let Some(place) = core.left.pop()
            && let Some(shard) = core.shards.get_mut(place)
        {
            *shard = sender;
            return (place, receiver);
        }
        core.shards.push(sender);
        (core.shards.len() - 1, receiver)
    }

    /// A shard was drained: nothing of it is under way, and the next one may have its place. Every sync goes through all places.
    pub(crate) fn leave(&self, shard: usize) {
        let mut core = self.lock();
        core.waiting.remove(&shard);
        core.left.push(shard);
    }

    /// What a shard may decide now. One that may not decide everything is woken when something settles.
    pub(crate) fn admission(&self, shard: usize) -> Admission {
        let mut core = self.lock();
        let admission = core.writer.admission();
        if admission != Admission::Open {
            core.waiting.insert(shard);
        }
        admission
    }

    /// Gives a shard's leadership to the writer; what an earlier leadership of it still waited for is lost.
    pub(crate) fn lead(&self, leadership: &Leadership) -> Vec<Settled<Ticket>> {
        self.lock().writer.lead(leadership)
    }

    /// Hands turns and waits over to the writer, in one go. `work` says what waits for nothing: it goes the way of all that is
    /// released, behind what a sync has released just now and the shard has not heard of yet.
    pub(crate) fn hand_over<T>(
        &self,
        shard: usize,
        work: impl FnOnce(&mut Writer<Ticket>, Duration) -> (Vec<Released>, T),
    ) -> T {
        let boot = self.shared.clock.since_boot();
        let mut core = self.lock();
        let (free, done) = work(&mut core.writer, boot);
        if let Some(sender) = core.shards.get(shard).filter(|_| !free.is_empty()) {
            // A shard that has ended wants nothing more.
            let _ended = sender.send(free);
        }
        drop(core);
        self.shared.work.notify_one();
        done
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        self.shared.lock()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Core> {
        // A panic under this lock would leave the writer half changed; the thread's guard ends the process then.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
