//! The compactor: makes a journal short again, on a thread of its own.
//!
//! It writes a state's shortest story as the new snapshot, and deletes the turns it covers. Whose story that is is either the
//! shard's own, where its state lives in this process and can be told on another thread ([`Living`]), or that of a second state,
//! into which it replays what is durable on a connection of its own ([`Fold`]). Each write is one small step, with a
//! pause behind it in which the writer goes first.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use mainstay_core::{StateMachine, Timestamp};

use crate::error::{Cause, MaintainError, ReadError};
use crate::port::{FORGET_STEP_TURNS_MAX, Forgot, Head, Journal, PAGE_TURNS_MAX, Reader};
use crate::stored::Stored;
use crate::types::{Seq, ShardName, TurnRecord};

/// From this many events since the last snapshot on a shard is compacted: replaying them takes a fraction of a second at a
/// start, and writing a snapshot of 100,000 servers more often would write more than the turns themselves.
pub const COMPACT_EVENTS_MIN: u64 = 200_000;
/// After each step the writer goes first: a lock alone would let a busy compactor take it again at once.
const PAUSE: Duration = Duration::from_millis(1);

/// A state that is rebuilt from what is stored, and tells its own snapshot.
pub trait Fold {
    /// Takes one chunk of the snapshot it begins with.
    ///
    /// # Errors
    /// Where the bytes are no chunk.
    fn take_chunk(&mut self, chunk: &[u8]) -> Result<(), Cause>;

    /// Takes the next turn.
    ///
    /// # Errors
    /// Where the bytes are no turn.
    fn take_turn(&mut self, turn: &TurnRecord) -> Result<(), Cause>;

    /// The snapshot of the state now, in chunks of at most [`crate::SNAPSHOT_CHUNK_BYTES_MAX`] bytes; at least one.
    /// Each is made when it is asked for: all of them beside the state would be half as much again.
    fn chunks(&self) -> Box<dyn Iterator<Item = Vec<u8>> + '_>;
}

impl<F: Fold + ?Sized> Fold for Box<F> {
    fn take_chunk(&mut self, chunk: &[u8]) -> Result<(), Cause> {
        (**self).take_chunk(chunk)
    }

    fn take_turn(&mut self, turn: &TurnRecord) -> Result<(), Cause> {
        (**self).take_turn(turn)
    }

    fn chunks(&self) -> Box<dyn Iterator<Item = Vec<u8>> + '_> {
        (**self).chunks()
    }
}

/// The fold of a state machine whose events the journal stores, and whoever watches its turns.
#[derive(Debug)]
pub struct StoredFold<M, W = Unwatched> {
    state: M,
    watch: W,
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

/// Sees a state as it is rebuilt.
pub trait Watch<M: StateMachine> {
    /// The snapshot has been taken up to here, or nothing yet.
    fn snapshot(&mut self, state: &M);

    /// A turn has been taken: `state` is as these events left it.
    fn turn(&mut self, state: &M, at: Timestamp, events: &[M::Event]);
}

impl<M: StateMachine> Watch<M> for Unwatched {
    fn snapshot(&mut self, _: &M) {}

    fn turn(&mut self, _: &M, _: Timestamp, _: &[M::Event]) {}
}

impl<M: Stored> StoredFold<M> {
    /// Begins with an empty state.
    pub const fn new(empty: M) -> Self {
        Self { state: empty, watch: Unwatched }
    }
}

impl<M: Stored, W: Watch<M>> StoredFold<M, W> {
    /// Begins with an empty state, whose turns somebody watches.
    pub const fn watched(empty: M, watch: W) -> Self {
        Self { state: empty, watch }
    }

    /// Whom a turn concerns is for those who tell them: here they would only gather, a hundred bytes for each ticket of a queue.
    fn nobody_is_told(&mut self) {
        let _untold = self.state.take_touched();
    }

    /// The state, once everything is taken, and who watched it.
    pub fn into_parts(self) -> (M, W) {
        (self.state, self.watch)
    }

    /// The state, once everything is taken.
    pub fn into_state(self) -> M {
        self.state
    }
}

impl<M: Stored, W: Watch<M>> Fold for StoredFold<M, W> {
    fn take_chunk(&mut self, chunk: &[u8]) -> Result<(), Cause> {
        for (at, event) in M::load_story(chunk)? {
            self.state.apply(at, &event);
        }
        self.watch.snapshot(&self.state);
        self.nobody_is_told();
        Ok(())
    }

    fn take_turn(&mut self, turn: &TurnRecord) -> Result<(), Cause> {
        let events = M::load(&turn.bytes)?;
        for event in &events {
            self.state.apply(turn.at, event);
        }
        self.watch.turn(&self.state, turn.at, &events);
        self.nobody_is_told();
        Ok(())
    }

    fn chunks(&self) -> Box<dyn Iterator<Item = Vec<u8>> + '_> {
        Box::new(M::story_chunks(self.state.story()))
    }
}

/// The story of a state that lives, as it was in one moment.
pub struct Living {
    /// It holds every event below, and all of them are durable.
    pub below: Seq,
    /// When that was: no earlier than its last turn.
    pub at: Timestamp,
    /// As [`Fold::chunks`].
    pub chunks: Box<dyn Iterator<Item = Vec<u8>>>,
}

impl fmt::Debug for Living {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Living").field("below", &self.below).field("at", &self.at).finish_non_exhaustive()
    }
}

/// By what a shard is compacted.
#[derive(Debug)]
pub enum Source<F> {
    /// By its own state.
    Living(Living),
    /// By what is stored, into this empty state.
    Stored(F),
}

/// What became of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compacted {
    /// Too little has happened since the last snapshot.
    NotDue {
        /// How many events have.
        events: u64,
    },
    /// There is a new snapshot, and the turns it covers are deleted.
    Done {
        /// It covers everything below.
        covers_below: Seq,
        /// How many chunks it has.
        chunks: u32,
    },
}

/// Why a compaction ended early. What is stored is whole: the next one begins anew.
#[derive(Debug, thiserror::Error)]
pub enum CompactError {
    /// What is durable could not be read.
    #[error("compaction of shard {shard} failed to read")]
    Read {
        /// Which shard.
        shard: ShardName,
        /// What the store said.
        #[source]
        cause: ReadError,
    },
    /// What was read is nothing the state machine knows.
    #[error("compaction of shard {shard} failed to replay event {at}")]
    Replay {
        /// Which shard.
        shard: ShardName,
        /// The turn's first event, or where the snapshot ends.
        at: Seq,
        /// What does not fit.
        #[source]
        cause: Cause,
    },
    /// The snapshot was not written, or turns not deleted.
    #[error("compaction of shard {shard} failed to write")]
    Write {
        /// Which shard.
        shard: ShardName,
        /// What the store said.
        #[source]
        cause: MaintainError,
    },
}

/// Compacts shards of one journal. Lives on a thread of its own.
#[derive(Debug)]
pub struct Compactor<R, J, F> {
    reader: R,
    journal: J,
    events_min: u64,
    fold: PhantomData<fn() -> F>,
}

impl<R: Reader, J: Journal, F: Fold> Compactor<R, J, F> {
    /// `reader` and `journal` are handles of this thread on the same store; `events_min` is [`COMPACT_EVENTS_MIN`] but in
    /// tests.
    pub const fn new(reader: R, journal: J, events_min: u64) -> Self {
        Self { reader, journal, events_min, fold: PhantomData }
    }

    /// Compacts one shard where it is due. `source` is asked only then.
    ///
    /// # Errors
    /// See [`CompactError`].
    pub fn compact(
        &mut self,
        shard: &ShardName,
        source: impl FnOnce() -> Source<F>,
    ) -> Result<Compacted, CompactError> {
        let read = |cause| CompactError::Read { shard: shard.clone(), cause };
        let Some(head) = self.reader.head(shard).map_err(read)? else {
            return Ok(Compacted::NotDue { events: 0 });
        };
        // An earlier compaction may have been cut short between its snapshot and the deletion.
        self.forget(shard, head.replay_from())?;
        let events = head.next.0.saturating_sub(head.replay_from().0);
        if events == 0 || events < self.events_min {
            return Ok(Compacted::NotDue { events });
        }
        let (covers_below, chunks) = match source() {
            // A leader that another process has followed may know less than is stored.
            Source::Living(Living { below, .. }) if below <= head.replay_from() => {
                return Ok(Compacted::NotDue { events });
            }
            Source::Living(Living { below, at, chunks }) => (below, self.write(shard, below, at, chunks)?),
            Source::Stored(mut fold) => {
                let at = replay(&mut self.reader, &head, &mut fold)?;
                (head.next, self.write(shard, head.next, at, fold.chunks())?)
            }
        };
        self.forget(shard, covers_below)?;
        Ok(Compacted::Done { covers_below, chunks })
    }

    fn write(
        &mut self,
        shard: &ShardName,
        below: Seq,
        at: Timestamp,
        chunks: impl Iterator<Item = Vec<u8>>,
    ) -> Result<u32, CompactError> {
        let write = |cause| CompactError::Write { shard: shard.clone(), cause };
        for (index, chunk) in (0..).zip(chunks) {
            self.journal.write_snapshot_chunk(shard, below, index, &chunk).map_err(write)?;
            std::thread::sleep(PAUSE);
        }
        Ok(self.journal.finish_snapshot(shard, below, at).map_err(write)?.chunks)
    }

    fn forget(&mut self, shard: &ShardName, below: Seq) -> Result<(), CompactError> {
        let write = |cause| CompactError::Write { shard: shard.clone(), cause };
        while self.journal.forget(shard, below, FORGET_STEP_TURNS_MAX).map_err(write)? == Forgot::Some {
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }
}

/// Rebuilds a shard's state: the snapshot of `head`, then every turn up to `head.next`. Returns the time of the last turn.
/// This is also how a leader or a follower begins.
///
/// # Errors
/// See [`CompactError`]; nothing is written.
pub fn replay(
    reader: &mut impl Reader,
    head: &Head,
    fold: &mut impl Fold,
) -> Result<Timestamp, CompactError> {
    let shard = &head.shard;
    let read = |cause| CompactError::Read { shard: shard.clone(), cause };
    let undecodable = |at, cause| CompactError::Replay { shard: shard.clone(), at, cause };
    let mut last = Timestamp::EPOCH;
    if let Some(snapshot) = &head.snapshot {
        for index in 0..snapshot.chunks {
            let chunk = reader.snapshot_chunk(shard, snapshot, index).map_err(read)?;
            fold.take_chunk(&chunk).map_err(|cause| undecodable(snapshot.covers_below, cause))?;
        }
        last = snapshot.at;
    }
    let mut next = head.replay_from();
    while next < head.next {
        let page = reader.read(shard, next, PAGE_TURNS_MAX).map_err(read)?;
        for turn in page.iter().take_while(|turn| turn.first < head.next) {
            fold.take_turn(turn).map_err(|cause| undecodable(turn.first, cause))?;
            last = last.max(turn.at);
            next = turn.next();
        }
        if page.is_empty() {
            let what = "what was durable has gone";
            return Err(read(ReadError::Damaged { shard: shard.clone(), at: next, what }));
        }
    }
    Ok(last)
}
