//! What the writer tells its hands.

use std::sync::Arc;

use crate::types::{Epoch, Seq, ShardName, TurnRecord};

/// What may be decided now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Every command.
    Open,
    /// The disk is full and the reserve is in use: only commands that do not grow state (deallocation, reports, stops);
    /// others are refused with a code.
    ReserveOnly,
    /// Too much waits for the sync: leave commands in the mailbox until the batch in flight is settled.
    Wait,
    /// The reserve too is used up: nothing, until [`crate::Journal::space`] finds room.
    Stalled,
    /// A sync failed: nothing ever again; the process must end.
    Ended,
}

/// Where a shard stands with this writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Never led here.
    NotLed,
    /// Led here.
    Leading {
        /// Under this epoch.
        epoch: Epoch,
        /// The number the next accepted event gets.
        next: Seq,
        /// The durable mark: everything up to and including this is in the journal.
        durable: Seq,
    },
    /// The leadership ended: drop the state, follow, read again.
    Lost(LostWhy),
}

/// Why a leadership, or one release, was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostWhy {
    /// Another leader has the shard. Nothing of the batch was written.
    Fenced {
        /// The epoch the shard is at.
        current: Epoch,
    },
    /// The journal's next number was another. Nothing of the batch was written.
    OutOfSequence,
    /// The append had no answer: turns in flight are durable or not.
    UnknownOutcome,
    /// The lease had run out before the read could be answered; the shard may still be led here.
    LeaseRanOut,
    /// A successor declared this node's incarnation dead.
    DeclaredDead,
    /// This node stepped down, or never led.
    SteppedDown,
    /// A write or sync failed: the process must end.
    SyncFailed,
}

/// A batch to append: whole or not at all. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Batch {
    /// To be named when reporting on it.
    pub number: u64,
    /// The turns, in order.
    pub turns: Arc<[TurnRecord]>,
}

/// What a sync brought.
#[derive(Debug)]
pub struct Durable<R> {
    /// The turns that are durable now: what event streams, history and followers are fed from.
    pub tail: Arc<[TurnRecord]>,
    /// What is released, in the order it was accepted in.
    pub settled: Vec<Settled<R>>,
}

/// The end of a wait.
#[derive(Debug, PartialEq, Eq)]
pub enum Settled<R> {
    /// What it was computed from is durable: let it go.
    Durable(R),
    /// It never may go as it is: tell the caller to ask again by the same id.
    Lost {
        /// Which shard.
        shard: ShardName,
        /// Why.
        why: LostWhy,
        /// What was held.
        release: R,
    },
}

/// Where a read went.
#[derive(Debug, PartialEq, Eq)]
pub enum Wait<R> {
    /// Durable already: let it go.
    Now(R),
    /// Comes back from a sync or a loss.
    Queued,
    /// May not be answered here.
    Lost {
        /// Why.
        why: LostWhy,
        /// What was to be held.
        release: R,
    },
}

/// A turn that was not taken.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused<R> {
    /// Why.
    pub why: RefusedWhy,
    /// What was to be released.
    pub release: R,
}

/// Why a turn was not taken. Each is a fault of the caller; the shard's state holds events that no journal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedWhy {
    /// The shard is not led here.
    #[error("the shard is not led by this process")]
    NotLeading,
    /// No event, or more bytes than the limit.
    #[error("a turn of {events} events in {bytes} bytes cannot be stored")]
    Size {
        /// How many events.
        events: u32,
        /// How many bytes.
        bytes: usize,
    },
    /// A sync failed earlier: the process must end.
    #[error("the journal has failed; the process must end")]
    Ended,
}
