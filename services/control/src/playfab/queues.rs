//! Queues, as the title configures them.

use std::sync::Arc;

use mainstay_matchmaking::spec::{Fault, QueueSpec};
use mainstay_matchmaking::{Queue, Rejection};
use mainstay_wire::playfab::answer::{Done, QueueAnswer, QueuesAnswer};
use mainstay_wire::playfab::queue::MatchmakingQueueConfig;
use mainstay_wire::playfab::request::{OfQueue, SetQueue};

use super::Face;
use super::door::Asked;
use super::refusal::Refusal;
use crate::queues::Queues;

impl Face {
    /// `GetMatchmakingQueue`.
    pub(super) async fn get_queue(&self, asked: &Asked) -> Result<QueueAnswer, Refusal> {
        self.title_only(asked)?;
        let of: OfQueue = asked.read()?;
        let shown = self.queue(&of.queue_name)?.open.read(shown).await?;
        Ok(QueueAnswer { matchmaking_queue: shown.ok_or(Rejection::QueueNotFound)? })
    }

    /// `ListMatchmakingQueues`.
    pub(super) async fn list_queues(&self, asked: &Asked) -> Result<QueuesAnswer, Refusal> {
        self.title_only(asked)?;
        let mut queues = Vec::new();
        for queue in self.queues.now().values() {
            // One that is removed meanwhile is not in the list.
            queues.extend(queue.read(shown).await?);
        }
        Ok(QueuesAnswer { queues })
    }

    /// `SetMatchmakingQueue`.
    pub(super) async fn set_queue(&self, asked: &Asked) -> Result<Done, Refusal> {
        self.title_only(asked)?;
        let set: SetQueue = asked.read()?;
        let sent =
            set.matchmaking_queue.ok_or_else(|| Refusal::field("MatchmakingQueue", "it is missing"))?;
        let read = MatchmakingQueueConfig::read(sent)
            .map_err(|error| Refusal::queue_config(&[fault("MatchmakingQueue", &error.to_string())]))?;
        let spec = checked(&read, &self.queues).map_err(|faults| Refusal::queue_config(&faults))?;
        self.queues.set(Arc::new(spec)).await?;
        Ok(Done {})
    }

    /// `RemoveMatchmakingQueue`.
    pub(super) async fn remove_queue(&self, asked: &Asked) -> Result<Done, Refusal> {
        self.title_only(asked)?;
        let of: OfQueue = asked.read()?;
        self.queue(&of.queue_name)?;
        self.queues.remove(&of.queue_name).await?;
        Ok(Done {})
    }
}

/// The queue as its shard has it.
fn shown(queue: &Queue, _: mainstay_core::Timestamp) -> Option<MatchmakingQueueConfig> {
    queue.spec().map(|spec| MatchmakingQueueConfig::of(spec))
}

fn checked(read: &MatchmakingQueueConfig, queues: &Queues) -> Result<QueueSpec, Vec<Fault>> {
    let allocation = queues.allocation(read.build()?)?;
    QueueSpec::new(read.declared(Vec::new(), allocation)?)
}

fn fault(place: &str, what: &str) -> Fault {
    Fault { place: place.to_owned(), what: what.to_owned() }
}
