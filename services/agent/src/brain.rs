//! How the hands tell the rules what happened: nothing that was seen is lost while the process lives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::slot::{Incident, Session, Spec};
use mainstay_core::{AllocationId, Generation, ServerId};
use mainstay_runtime::{Error, Growth, Handle, RETRY_AFTER};
use mainstay_supervisor::laws;
use mainstay_supervisor::{Answer, Command, Life, Observation, Rejection, RunNumber, Slot, Supervisor};
use tokio::time::sleep;

/// How long a question waits where the mailbox is full.
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// Where the rules are. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Brain(Handle<Supervisor>);

/// Who sits in a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seat {
    /// The newest order that was obeyed.
    pub(crate) process: Generation,
    /// The run whose process is there to stay; `None` where none is, or where it is on its way down.
    pub(crate) run: Option<RunNumber>,
    /// The session it is for.
    pub(crate) session: Option<Session>,
}

/// The rules have ended, and so does whoever hears this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended;

impl Brain {
    pub(crate) const fn new(handle: Handle<Supervisor>) -> Self {
        Self(handle)
    }

    /// Tells what happened, until it is taken: while the disk is full, reports go on from the journal's reserve.
    pub(crate) async fn report(&self, command: Command) -> Result<(), Ended> {
        let mut said = false;
        loop {
            match self.0.command(command.clone(), Growth::Shrinks).await {
                Ok(Ok(Answer::Done | Answer::Orders(_))) => return Ok(()),
                Ok(Ok(Answer::Ignored(why))) => {
                    tracing::debug!(?command, ?why, "a report came late");
                    return Ok(());
                }
                Ok(Err(rejection)) => {
                    tracing::error!(%rejection, ?command, "a report was refused; this is our bug");
                    return Ok(());
                }
                Err(error @ (Error::Busy { .. } | Error::JournalFull)) => {
                    if !std::mem::replace(&mut said, true) {
                        tracing::error!(code = error.code(), %error, ?command, "a report waits");
                    }
                    sleep(RETRY_AFTER).await;
                }
                Err(Error::Lost(_) | Error::Stopping) => return Err(Ended),
            }
        }
    }

    /// Asks for something that may be refused.
    pub(crate) async fn ask(
        &self,
        command: Command,
        growth: Growth,
    ) -> Result<Result<Answer, Rejection>, Error> {
        self.0.command(command, growth).await
    }

    /// Tells what was seen.
    pub(crate) async fn see(&self, observation: Observation) -> Result<(), Ended> {
        self.0.observe(observation).await.map_err(|_| Ended)
    }

    /// Gives up every slot that is not among these.
    pub(crate) async fn forget_all_but(&self, kept: BTreeSet<ServerId>) -> Result<(), Ended> {
        let servers: Vec<ServerId> =
            self.servers().await?.into_iter().filter(|it| !kept.contains(it)).collect();
        if servers.is_empty() {
            return Ok(());
        }
        tracing::warn!(?servers, "slots are no longer this agent's: their processes are stopped");
        self.report(Command::ForgetSlots { servers }).await
    }

    /// Every slot.
    pub(crate) async fn servers(&self) -> Result<BTreeSet<ServerId>, Ended> {
        self.read(|state| state.slots().map(|(server, _)| server).collect()).await
    }

    /// Every known configuration: what slots name, and what orders to come may name.
    pub(crate) async fn specs(&self) -> Result<Vec<Arc<Spec>>, Ended> {
        self.read(|state| state.specs().cloned().collect()).await
    }

    /// The slots that have a process, or are owed one.
    pub(crate) async fn live(&self) -> Result<BTreeSet<ServerId>, Ended> {
        self.read(|state| {
            state.slots().filter(|(_, slot)| slot.live_run().is_some()).map(|(server, _)| server).collect()
        })
        .await
    }

    /// The runs of those slots.
    pub(crate) async fn live_runs(&self) -> Result<BTreeMap<ServerId, RunNumber>, Ended> {
        let number = |(server, slot): (ServerId, &Slot)| Some((server, slot.live_run()?.number));
        self.read(move |state| state.slots().filter_map(number).collect()).await
    }

    /// Looks whether every law of the rules holds; how many slots there are, and how many of them live.
    pub(crate) async fn broken_law(&self) -> Result<Result<(usize, usize), laws::Broken>, Ended> {
        self.read(|state| {
            let live = state.slots().filter(|(_, slot)| slot.live_run().is_some()).count();
            laws::all(state).map(|()| (state.slots().count(), live))
        })
        .await
    }

    /// What is known of a run that ended as nobody wished.
    pub(crate) async fn incident(&self, server: ServerId, run: RunNumber) -> Result<Option<Incident>, Ended> {
        self.read(move |state| state.slot(server).and_then(|slot| slot.incident(run)).cloned()).await
    }

    /// Who sits in a slot; `None` where the slot is not known.
    pub(crate) async fn seat(&self, server: ServerId) -> Result<Option<Seat>, Ended> {
        self.read(move |state| {
            let slot = state.slot(server)?;
            let run = match &slot.life {
                Life::Up { run, .. } => Some(run.number),
                Life::Fresh | Life::Down { .. } | Life::Resting { .. } | Life::Stopping { .. } => None,
            };
            let session = slot.order.allocation.clone();
            Some(Seat { process: slot.order.generation, run, session })
        })
        .await
    }

    /// The slot that a session is ordered for, and its payload.
    pub(crate) async fn session(
        &self,
        allocation: AllocationId,
    ) -> Result<Option<(ServerId, Session)>, Ended> {
        self.read(move |state| {
            state.slots().find_map(|(server, slot)| {
                let session = slot.order.allocation.as_ref()?;
                (session.allocation == allocation).then(|| (server, session.clone()))
            })
        })
        .await
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl Fn(&Supervisor) -> T + Copy + Send + 'static,
    ) -> Result<T, Ended> {
        loop {
            match self.0.query(move |state, _now| read(state)).await {
                Ok(value) => return Ok(value),
                Err(Error::Busy { .. } | Error::JournalFull) => sleep(BUSY_PAUSE).await,
                Err(Error::Lost(_) | Error::Stopping) => return Err(Ended),
            }
        }
    }

    /// Lets everything taken become durable, and ends.
    pub(crate) async fn drain(&self) -> Result<(), Error> {
        self.0.drain().await
    }
}
