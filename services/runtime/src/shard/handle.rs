//! How the rest of a process speaks to a shard.

use std::time::Duration;

use mainstay_core::{StateMachine, Timestamp};
use mainstay_journal::{LostWhy, Seq};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};

use super::{Growth, Message, Reply, ShardEnd};
use crate::error::Error;

/// How often whoever may wait looks for room in a mailbox.
const ROOM_AGAIN: Duration = Duration::from_millis(5);

/// Speaks to one shard. Cheap to clone; the shard drains and ends when the last one is dropped.
pub struct Handle<S: StateMachine> {
    mailbox: mpsc::Sender<Message<S>>,
    mailbox_max: usize,
    end: watch::Receiver<Option<ShardEnd>>,
}

impl<S: StateMachine> Clone for Handle<S> {
    fn clone(&self) -> Self {
        Self { mailbox: self.mailbox.clone(), mailbox_max: self.mailbox_max, end: self.end.clone() }
    }
}

/// A [`Handle`] that does not keep its shard from ending.
pub(crate) struct WeakHandle<S: StateMachine> {
    mailbox: mpsc::WeakSender<Message<S>>,
    end: watch::Receiver<Option<ShardEnd>>,
}

impl<S: super::Runnable> WeakHandle<S> {
    /// Whether the shard has ended, or nobody else speaks to it any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.end.borrow().is_some() || self.mailbox.strong_count() == 0
    }

    /// Reads the state as [`Handle::query`] does, and up to which event it was read. For threads that may wait, which they do for so
    /// long at most, twice: for room in the mailbox, and until what was read is durable. `None` where it was not by then.
    pub(crate) fn read_blocking<T: Send + 'static>(
        &self,
        read: impl FnOnce(&S, Timestamp, Seq) -> T + Send + 'static,
        patience: Duration,
    ) -> Option<T> {
        let (answered, answer) = std::sync::mpsc::sync_channel(1);
        let query = move |state: &S, now: Timestamp, below: Seq| {
            let value = read(state, now, below);
            let held: super::Held = Box::new(move |outcome: Result<(), Error>| {
                let _gone = answered.send(outcome.map(|()| value));
            });
            held
        };
        let mut message = Message::Query(Box::new(query));
        let mut waited = Duration::ZERO;
        loop {
            match self.mailbox.upgrade()?.try_send(message) {
                Ok(()) => break,
                Err(TrySendError::Full(refused)) if waited < patience => message = refused,
                Err(TrySendError::Full(_) | TrySendError::Closed(_)) => return None,
            }
            std::thread::sleep(ROOM_AGAIN);
            waited += ROOM_AGAIN;
        }
        answer.recv_timeout(patience).ok()?.ok()
    }
}

impl<S: StateMachine> std::fmt::Debug for Handle<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("mailbox_max", &self.mailbox_max).finish_non_exhaustive()
    }
}

impl<S: super::Runnable> Handle<S> {
    pub(super) const fn new(
        mailbox: mpsc::Sender<Message<S>>,
        mailbox_max: usize,
        end: watch::Receiver<Option<ShardEnd>>,
    ) -> Self {
        Self { mailbox, mailbox_max, end }
    }

    /// Runs a command, and answers once everything it saw and did is durable. For callers who can be told to come back:
    /// a full mailbox is an error.
    ///
    /// # Errors
    /// See [`Error`]; a refusal by the rules is no error.
    pub async fn try_command(&self, command: S::Command, growth: Growth) -> Result<Reply<S>, Error> {
        let (reply, answer) = oneshot::channel();
        self.try_post(Message::Command { command, growth, reply })?;
        answer.await.map_err(|_| self.gone())?
    }

    /// As [`Handle::try_command`], for callers whose waiting is itself a limit (an agent's stream): waits for room.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn command(&self, command: S::Command, growth: Growth) -> Result<Reply<S>, Error> {
        let (reply, answer) = oneshot::channel();
        self.post(Message::Command { command, growth, reply }).await?;
        answer.await.map_err(|_| self.gone())?
    }

    /// As [`Handle::command`], but gives the answer as a future of its own as soon as the command has its place in the
    /// mailbox: commands of one caller keep their order, and none waits for the sync of the one before.
    ///
    /// # Errors
    /// [`Error::Stopping`] or [`Error::Lost`] where the shard has ended.
    pub async fn submit(
        &self,
        command: S::Command,
        growth: Growth,
    ) -> Result<impl Future<Output = Result<Reply<S>, Error>> + Send + use<S>, Error> {
        let (reply, answer) = oneshot::channel();
        self.post(Message::Command { command, growth, reply }).await?;
        let handle = self.clone();
        Ok(async move { answer.await.map_err(|_| handle.gone())? })
    }

    /// Reads the state as it is after every message before this one, and answers once that state is durable. Keep pages
    /// bounded: turns wait meanwhile. A full mailbox is an error.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn query<T: Send + 'static>(
        &self,
        read: impl FnOnce(&S, Timestamp) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let query = move |state: &S, now: Timestamp, _: Seq| {
            let value = read(state, now);
            let held: super::Held = Box::new(move |outcome: Result<(), Error>| {
                let _gone = reply.send(outcome.map(|()| value));
            });
            held
        };
        self.try_post(Message::Query(Box::new(query)))?;
        answer.await.map_err(|_| self.gone())?
    }

    /// The same shard, for whoever must not keep it from ending.
    pub(crate) fn downgrade(&self) -> WeakHandle<S> {
        WeakHandle { mailbox: self.mailbox.downgrade(), end: self.end.clone() }
    }

    /// Tells the state what was seen. Waits for room.
    ///
    /// # Errors
    /// [`Error::Stopping`] or [`Error::Lost`] where the shard has ended.
    pub async fn observe(&self, observation: S::Observation) -> Result<(), Error> {
        self.post(Message::Observe(observation)).await
    }

    /// Takes no more messages, and waits until everything taken before is durable and answered.
    ///
    /// # Errors
    /// [`Error::Lost`] where the leadership ended first.
    pub async fn drain(&self) -> Result<(), Error> {
        let (drained, done) = oneshot::channel();
        // A shard that has ended already takes no message: then the end itself tells how.
        let _ended = self.post(Message::Drain(drained)).await;
        let _ended = done.await;
        match self.ended().await {
            None => Ok(()),
            Some(why) => Err(Error::Lost(why)),
        }
    }

    /// Waits until the shard has ended: `None` where it was drained, else why its leadership was lost.
    pub async fn ended(&self) -> Option<LostWhy> {
        let mut end = self.end.clone();
        match end.wait_for(Option::is_some).await.map(|end| *end) {
            Ok(Some(ShardEnd::Lost(why))) => Some(why),
            // A sender dropped without a word is a task that panicked.
            Err(_) => Some(LostWhy::SteppedDown),
            Ok(Some(ShardEnd::Drained) | None) => None,
        }
    }

    fn try_post(&self, message: Message<S>) -> Result<(), Error> {
        self.mailbox.try_send(message).map_err(|error| match error {
            TrySendError::Full(_) => Error::Busy { limit: self.mailbox_max },
            TrySendError::Closed(_) => self.gone(),
        })
    }

    async fn post(&self, message: Message<S>) -> Result<(), Error> {
        self.mailbox.send(message).await.map_err(|_| self.gone())
    }

    fn gone(&self) -> Error {
        match *self.end.borrow() {
            Some(ShardEnd::Lost(why)) => Error::Lost(why),
            Some(ShardEnd::Drained) | None => Error::Stopping,
        }
    }
}
