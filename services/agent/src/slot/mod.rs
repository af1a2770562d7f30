//! One worker a slot: it does what its slot is owed, one thing after another, and tells what it sees.

pub(crate) mod ended;
pub(crate) mod evidence;
mod ground;
mod holding;
pub(crate) mod probe;
mod readings;
mod worker;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use mainstay_core::ServerId;
use mainstay_supervisor::RunNumber;
use tokio::sync::{Semaphore, SetOnce, watch};

use crate::brain::Brain;
use crate::builds::Builds;
use crate::events::Events;
use crate::roster::SlotFacts;

pub(crate) use ground::Ground;
pub(crate) use worker::Worker;

/// How many slots may be started or looked at at once: each takes a thread and a few syncs of the disk, and a host with
/// hundreds of slots starts them no sooner by doing all at once.
pub(crate) const WORK_AT_ONCE_MAX: usize = 16;

/// What all workers share.
#[derive(Debug)]
pub(crate) struct Context {
    /// Where the slots live.
    pub(crate) ground: Ground,
    /// Limits starts, looks and readings.
    work: Semaphore,
    /// Ends the workers; their games play on.
    pub(crate) end: watch::Sender<Ending>,
    /// Tells games what their files say.
    pub(crate) events: Events,
    /// What servers run.
    pub(crate) builds: Arc<Builds>,
    brain: SetOnce<Brain>,
    /// The runs that the machine's last reboot ended: no process and, after a power cut, no record of them may be left.
    cut_off: SetOnce<BTreeMap<ServerId, RunNumber>>,
    facts: RwLock<BTreeMap<ServerId, Arc<SlotFacts>>>,
}

/// What the workers are told about the agent's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Go on.
    NotYet,
    /// Whatever still runs is killed: the time for stopping by itself is over.
    Kill,
    /// Let go of everything as it is.
    Leave,
}

impl Context {
    pub(crate) fn new(ground: Ground, builds: Arc<Builds>) -> Self {
        Self {
            ground,
            work: Semaphore::new(WORK_AT_ONCE_MAX),
            end: watch::Sender::new(Ending::NotYet),
            events: Events::default(),
            builds,
            brain: SetOnce::new(),
            cut_off: SetOnce::new(),
            facts: RwLock::new(BTreeMap::new()),
        }
    }

    /// The rules exist after the hands do: they meet here, once.
    pub(crate) fn meet(&self, brain: Brain) {
        let _already = self.brain.set(brain);
    }

    /// The rules, once they are met.
    pub(crate) async fn brain(&self) -> Brain {
        self.brain.wait().await.clone()
    }

    /// Tells which runs a reboot ended, once it is known.
    pub(crate) fn tell_cut_off(&self, runs: BTreeMap<ServerId, RunNumber>) {
        let _already = self.cut_off.set(runs);
    }

    /// Whether a reboot ended a run; waits until that is known.
    pub(crate) async fn is_cut_off(&self, server: ServerId, run: RunNumber) -> bool {
        self.cut_off.wait().await.get(&server) == Some(&run)
    }

    /// What is known of a slot beyond its order.
    pub(crate) fn facts(&self, server: ServerId) -> Option<Arc<SlotFacts>> {
        self.facts.read().unwrap_or_else(PoisonError::into_inner).get(&server).cloned()
    }

    /// Takes what is known now. What was known stays: a slot that is being given up is still wound down.
    pub(crate) fn add_facts(&self, facts: BTreeMap<ServerId, SlotFacts>) {
        let facts = facts.into_iter().map(|(server, facts)| (server, Arc::new(facts)));
        self.facts.write().unwrap_or_else(PoisonError::into_inner).extend(facts);
    }

    /// Runs what blocks, a few slots at once.
    pub(crate) async fn blocking<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let permit = self.work.acquire().await;
        let done = tokio::task::spawn_blocking(work).await;
        drop(permit);
        match done {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Cancelled: the process is ending.
                Err(_) => std::future::pending().await,
            },
        }
    }
}
