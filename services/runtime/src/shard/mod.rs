//! One shard: a state machine, its mailbox and its turns.

mod handle;
mod replay;
mod turns;

use mainstay_core::{StateMachine, Timestamp};
use mainstay_journal::{Seq, ShardName};
use tokio::sync::{mpsc, oneshot};

use crate::codec::Codec;
use crate::error::{Error, StartError};
use crate::hands::Hands;
use crate::journal::JournalHandle;

pub use handle::Handle;

/// What a shard is made of.
pub struct Config<S: StateMachine, C, H> {
    /// Its name in the journal.
    pub name: ShardName,
    /// Its journal.
    pub journal: JournalHandle,
    /// The state before the first event.
    pub initial: S,
    /// The stored form of its events.
    pub codec: C,
    /// What carries out its effects.
    pub hands: H,
    /// The command that a deadline becomes.
    pub due: fn(S::Why) -> S::Command,
    /// How many messages its mailbox holds; [`crate::MAILBOX_MAX`] in the product.
    pub mailbox_max: usize,
}

impl<S: StateMachine, C, H> std::fmt::Debug for Config<S, C, H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A state machine whose parts may travel to the task that runs it.
pub trait Runnable:
    StateMachine<
        Command: Send + 'static,
        Event: Send + 'static,
        Answer: Send + 'static,
        Rejection: Send + 'static,
        Observation: Send + 'static,
        Target: Send + 'static,
        Why: Send + 'static,
    > + Send
    + 'static
{
}

impl<S> Runnable for S where
    S: StateMachine<
            Command: Send + 'static,
            Event: Send + 'static,
            Answer: Send + 'static,
            Rejection: Send + 'static,
            Observation: Send + 'static,
            Target: Send + 'static,
            Why: Send + 'static,
        > + Send
        + 'static
{
}

/// What the rules said.
pub type Reply<S> = Result<<S as StateMachine>::Answer, <S as StateMachine>::Rejection>;

/// What a command does to the size of what is stored: asked when the disk is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// It may store more. Refused while the disk is full.
    Grows,
    /// It ends something, or reports. Taken from the reserve while the disk is full.
    Shrinks,
}

/// Starts shards.
#[derive(Debug)]
pub struct Shard;

impl Shard {
    /// Takes the leadership of a shard, replays it, and runs it on a task of its own until it is drained or lost.
    ///
    /// # Errors
    /// Where the leadership is not given, or what is stored cannot be read.
    pub async fn start<S, C, H>(config: Config<S, C, H>) -> Result<Handle<S>, StartError>
    where
        S: Runnable + Clone,
        C: Codec<S>,
        H: Hands<S>,
    {
        let (state, leadership) =
            replay::replay(&config.journal, config.name, &config.initial, &config.codec).await?;
        let journal = config.journal;
        journal.clock().not_below(leadership.head.last_at);
        let (index, released) = journal.register();
        let lost = journal.lead(&leadership);
        debug_assert!(lost.is_empty(), "a shard that is only starting has nothing to lose");
        let (sender, mailbox) = mpsc::channel(config.mailbox_max);
        let (ended, end) = tokio::sync::watch::channel(None);
        let places = journal.clone();
        let shard = turns::Turns {
            name: leadership.head.shard.clone(),
            index,
            journal,
            state,
            codec: config.codec,
            hands: config.hands,
            due: config.due,
            decided: leadership.head.next.before(),
            inbox: std::collections::VecDeque::new(),
            pending: std::collections::VecDeque::new(),
            next_number: 0,
            draining: Vec::new(),
            due_retry: None,
            lost: None,
        };
        tokio::spawn(async move {
            let why = shard.run(mailbox, released).await;
            match why {
                ShardEnd::Drained => places.leave(index),
                // What was lost may still be told.
                ShardEnd::Lost(_) => {}
            }
            ended.send_replace(Some(why));
        });
        Ok(Handle::new(sender, config.mailbox_max, end))
    }
}

/// How a shard's task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShardEnd {
    Drained,
    Lost(mainstay_journal::LostWhy),
}

/// What arrives in a mailbox.
pub(crate) enum Message<S: StateMachine> {
    Command { command: S::Command, growth: Growth, reply: oneshot::Sender<Result<Reply<S>, Error>> },
    Observe(S::Observation),
    Query(Query<S>),
    Drain(oneshot::Sender<()>),
}

/// Reads the state, which holds every event below that number, and holds what it read until that is durable.
pub(crate) type Query<S> = Box<dyn FnOnce(&S, Timestamp, Seq) -> Held + Send>;

/// Lets go of an answer, or says why there is none.
pub(crate) type Held = Box<dyn FnOnce(Result<(), Error>) + Send>;
