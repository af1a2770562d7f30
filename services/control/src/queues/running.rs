//! A queue's shard while it runs, whether the queue takes tickets or is removed: what ended in it can be asked about for a while.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use mainstay_core::Timestamp;
use mainstay_journal::ShardName;
use mainstay_matchmaking::{Command, Queue};
use mainstay_runtime::{Growth, Handle, Reply};

use super::passes::Passes;
use super::watched::Watched;
use super::{QUEUES_MAX, Rules};

/// A queue's shard.
#[derive(Debug, Clone)]
pub(crate) struct Running {
    pub(super) shard: Handle<Queue>,
    pub(super) watched: Watched,
    pub(super) passes: Passes,
}

/// By whom a queue's shard is still wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// It takes tickets, or still owes something.
    Works,
    /// It is removed, and by whoever was in a ticket a short while ago.
    AskedAbout,
    /// It is removed, and nobody any more.
    ByNobody,
}

impl Running {
    /// Asks; a full mailbox is an error. Answers once what was decided is durable.
    pub(crate) async fn ask(&self, command: Command) -> Result<Reply<Queue>, mainstay_runtime::Error> {
        let growth = growth(&command);
        self.shard.try_command(command, growth).await
    }

    /// Reads the state once it is durable.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Queue, Timestamp) -> T + Send + 'static,
    ) -> Result<T, mainstay_runtime::Error> {
        self.shard.query(read).await
    }

    /// Who waits for news of its tickets.
    pub(crate) const fn watched(&self) -> &Watched {
        &self.watched
    }

    /// By whom it is still wanted.
    pub(super) async fn wanted(&self) -> Result<Wanted, mainstay_runtime::Error> {
        let read = |queue: &Queue, now| match (queue.is_spent(), queue.is_asked_about(now)) {
            (false, _) => Wanted::Works,
            (true, true) => Wanted::AskedAbout,
            (true, false) => Wanted::ByNobody,
        };
        self.shard.query(read).await
    }

    pub(super) async fn rules(&self) -> Result<Option<Rules>, mainstay_runtime::Error> {
        let read = |queue: &Queue, _| Some(Rules { spec: queue.spec()?.clone(), form: queue.form() });
        self.shard.query(read).await
    }
}

/// What many look up and few change: replaced whole, so that readers hold no lock.
#[derive(Debug)]
pub(super) struct Listed<K, V>(RwLock<Arc<BTreeMap<K, V>>>);

impl<K: Ord + Clone, V: Clone> Listed<K, V> {
    pub(super) fn new() -> Self {
        Self(RwLock::default())
    }

    pub(super) fn now(&self) -> Arc<BTreeMap<K, V>> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut BTreeMap<K, V>) -> Option<V>) {
        let mut listed = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = BTreeMap::clone(&listed);
        change(&mut changed);
        *listed = Arc::new(changed);
    }
}

/// Ends the shards of removed queues that owe nobody anything, so that others have their places: those that can still be asked about only where
/// there is no room otherwise. Who sets such a queue again has it as the journal kept it.
pub(super) async fn let_go(shards: &Listed<ShardName, Running>) -> Result<(), mainstay_runtime::Error> {
    let mut asked_about = Vec::new();
    for (name, running) in &*shards.now() {
        match running.wanted().await? {
            Wanted::Works => {}
            Wanted::AskedAbout => asked_about.push((name.clone(), running.clone())),
            Wanted::ByNobody => end(shards, name, running).await?,
        }
    }
    for (name, running) in asked_about {
        if shards.now().len() < QUEUES_MAX {
            break;
        }
        end(shards, &name, &running).await?;
    }
    Ok(())
}

async fn end(
    shards: &Listed<ShardName, Running>,
    name: &ShardName,
    running: &Running,
) -> Result<(), mainstay_runtime::Error> {
    shards.change(|shards| shards.remove(name));
    running.shard.drain().await
}

/// What a command does to the size of what is stored.
const fn growth(command: &Command) -> Growth {
    match command {
        Command::Configure(_)
        | Command::CreateTicket { .. }
        | Command::CreateServerTicket { .. }
        | Command::JoinTicket { .. }
        | Command::CreateBackfill { .. } => Growth::Grows,
        // A game that is full ends its search, also on a full disk.
        Command::KeepBackfill { places, .. } => {
            if *places == 0 {
                Growth::Shrinks
            } else {
                Growth::Grows
            }
        }
        Command::Close
        | Command::Pause
        | Command::Resume
        | Command::CancelTicket { .. }
        | Command::CancelAllTickets { .. }
        | Command::CancelBackfill { .. }
        | Command::RenewBackfill { .. }
        | Command::TenureOver(_)
        | Command::CancelAllBackfills { .. }
        | Command::Placement { .. }
        | Command::Due => Growth::Shrinks,
    }
}
