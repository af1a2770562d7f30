//! Queues, as the title configures them.

use std::sync::Arc;

use mainstay_matchmaking::{Queue, Rejection};
use mainstay_wire::playfab::answer::{Done, QueueAnswer, QueuesAnswer};
use mainstay_wire::playfab::queue::MatchmakingQueueConfig;
use mainstay_wire::playfab::request::{OfQueue, SetQueue};

use super::Face;
use super::door::Asked;
use super::members::Named;
use super::refusal::Refusal;

impl Face {
    /// These calls' `QueueName` is optional, and their only error of their own that there is no such queue.
    fn named_queue(&self, of: &OfQueue) -> Result<Named, Refusal> {
        if of.queue_name.is_empty() {
            Err(Rejection::QueueNotFound.into())
        } else {
            self.queue(&of.queue_name)
        }
    }

    /// `GetMatchmakingQueue`.
    pub(super) async fn get_queue(&self, asked: &Asked) -> Result<QueueAnswer, Refusal> {
        self.title_only(asked)?;
        let of: OfQueue = asked.read()?;
        let shown = self.named_queue(&of)?.open.read(shown).await?;
        Ok(QueueAnswer { matchmaking_queue: shown.ok_or(Rejection::QueueNotFound)? })
    }

    /// `ListMatchmakingQueues`.
    pub(super) async fn list_queues(&self, asked: &Asked) -> Result<QueuesAnswer, Refusal> {
        self.title_only(asked)?;
        let _nothing: serde::de::IgnoredAny = asked.read()?;
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
        let read = MatchmakingQueueConfig::read(sent).map_err(|faults| Refusal::queue_config(&faults))?;
        let spec = self.queues.checked(&read).map_err(|faults| Refusal::queue_config(&faults))?;
        self.queues.set(Arc::new(spec)).await?;
        Ok(Done {})
    }

    /// `RemoveMatchmakingQueue`.
    pub(super) async fn remove_queue(&self, asked: &Asked) -> Result<Done, Refusal> {
        self.title_only(asked)?;
        let of: OfQueue = asked.read()?;
        self.named_queue(&of)?;
        self.queues.remove(&of.queue_name).await?;
        Ok(Done {})
    }
}

/// The queue as its shard has it.
fn shown(queue: &Queue, _: mainstay_core::Timestamp) -> Option<MatchmakingQueueConfig> {
    queue.spec().map(|spec| MatchmakingQueueConfig::of(spec))
}
