//! Keeps a journal short and its history told, on a thread of its own that the turns never wait for.
//!
//! Neither is anyone's promise: what is durable stays so while a compaction fails, and a history that fails loses no
//! state. So a failure here is logged, and tried again.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use mainstay_journal::history::{History, HistoryError, Pruned, Retention, Told};
use mainstay_journal::{
    COMPACT_EVENTS_MIN, Cause, Compacted, Compactor, Fold, Journal, Reader, ShardName, TurnRecord,
};

use crate::clock::Clock;
use crate::stories::Stories;

/// How far behind its shards the history may be: soon enough for somebody who asks "what just happened".
const HISTORY_INTERVAL: Duration = Duration::from_secs(1);
/// One look at the shards' lengths in this many rounds.
const COMPACT_EVERY: u32 = 10;

/// The empty state of a shard, as a fold; `None` where nobody knows the shard.
pub type EmptyFold = Box<dyn Fn(&ShardName) -> Option<Box<dyn Fold>> + Send>;

/// What of a turn is worth telling.
pub type Tell = Box<dyn Fn(&TurnRecord) -> Result<Vec<Told>, Cause> + Send>;

/// What is kept up.
pub struct UpkeepConfig<R, J> {
    /// Reads the journal for compactions, on a connection of its own.
    pub reader: R,
    /// Writes to it, for this thread alone.
    pub journal: J,
    /// What its shards are.
    pub empty: EmptyFold,
    /// Those that tell their story themselves.
    pub stories: Stories,
    /// The history; `None`: it is not told.
    pub history: Option<Chronicle<R>>,
    /// The one clock.
    pub clock: Arc<dyn Clock>,
}

impl<R, J> fmt::Debug for UpkeepConfig<R, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpkeepConfig").finish_non_exhaustive()
    }
}

/// How a history is told.
pub struct Chronicle<R> {
    /// Where it is kept.
    pub history: History,
    /// Reads the journal for it, on a connection of its own.
    pub reader: R,
    /// What is told.
    pub tell: Tell,
}

impl<R> fmt::Debug for Chronicle<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chronicle").finish_non_exhaustive()
    }
}

/// The thread; it ends when this is dropped, after the step it is in.
#[derive(Debug)]
pub struct Upkeep {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Upkeep {
    /// Starts it.
    ///
    /// # Errors
    /// Where the system has no thread to give.
    pub fn start<R: Reader + 'static, J: Reader + Journal + Clone + 'static>(
        config: UpkeepConfig<R, J>,
    ) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let body = move || {
            let mut rounds = Rounds::new(config);
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(HISTORY_INTERVAL) {
                rounds.round();
            }
            // What is durable by now is told before the end.
            rounds.tell();
        };
        let thread = std::thread::Builder::new().name("upkeep".to_owned()).spawn(body)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the journal's upkeep panicked; this is our bug");
        }
    }
}

struct Rounds<R, J> {
    heads: J,
    compactor: Compactor<R, J, Box<dyn Fold>>,
    empty: EmptyFold,
    stories: Stories,
    history: Option<Chronicle<R>>,
    telling: Telling,
    clock: Arc<dyn Clock>,
    round: u32,
}

/// How the last telling went: a full disk fails every round, and is worth one line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Telling {
    Goes,
    Fails,
}

impl<R: Reader, J: Journal + Clone> Rounds<R, J> {
    fn new(config: UpkeepConfig<R, J>) -> Self {
        let UpkeepConfig { reader, journal, empty, stories, history, clock } = config;
        let compactor = Compactor::new(reader, journal.clone(), COMPACT_EVENTS_MIN);
        Self { heads: journal, compactor, empty, stories, history, telling: Telling::Goes, clock, round: 0 }
    }

    fn round(&mut self) {
        self.tell();
        if self.round.is_multiple_of(COMPACT_EVERY) {
            self.compact();
        }
        self.round = self.round.wrapping_add(1);
    }

    fn tell(&mut self) {
        let Some(Chronicle { history, reader, tell }) = &mut self.history else { return };
        let mut follow = || -> Result<(), HistoryError> {
            history.follow(reader, &*tell)?;
            while history.prune(self.clock.now(), Retention::STANDARD)? == Pruned::Some {}
            Ok(())
        };
        let before = self.telling;
        self.telling = match follow() {
            Ok(()) => Telling::Goes,
            Err(error) => {
                if before == Telling::Goes {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "the history is not told; the state is whole; it is tried again each second"
                    );
                }
                Telling::Fails
            }
        };
        if (before, self.telling) == (Telling::Fails, Telling::Goes) {
            tracing::warn!("the history is told again");
        }
    }

    fn compact(&mut self) {
        let shards = match self.heads.heads() {
            Ok(heads) => heads.into_iter().map(|head| head.shard).collect::<Vec<_>>(),
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the journal's shards cannot be listed"
                );
                return;
            }
        };
        for shard in shards {
            let Some(fold) = (self.empty)(&shard) else { continue };
            match self.compactor.compact(&shard, || self.stories.source(&shard, fold)) {
                Ok(Compacted::NotDue { .. }) => {}
                Ok(Compacted::Done { covers_below, chunks }) => {
                    tracing::info!(%shard, %covers_below, chunks, "the journal is short again");
                }
                Err(error) => {
                    tracing::error!(%shard, error = &error as &dyn std::error::Error, "a compaction failed");
                }
            }
        }
    }
}
