//! Runs state machines on tokio: one mailbox, one order of turns and one journal, whatever the rules inside are.
//!
//! ```text
//! Handle ── mailbox (bounded) ──▶ shard task: Turn::run, encode ──▶ Writer ──▶ journal thread: append, sync
//!   ▲                              ▲    │ what is owed, derived                        │
//!   └───────── answers ────────────┴────┴──────── released, in order ◀─────────────────┘
//! ```
//!
//! The order (decide, apply, durable, *then* answer and effect) is the [`mainstay_journal::Writer`]'s; this crate is its
//! hand: it moves bytes and wakes sleepers. It is also the only crate that may read a clock.
#![deny(unsafe_code)]

mod clock;
mod codec;
mod error;
mod hands;
mod journal;
mod limits;
mod shard;
pub mod slot_files;
mod stories;
mod upkeep;

pub use clock::{
    Anchor, Beginning, Clock, Jump, MARK_INTERVAL, MarkError, OUTAGE_MIN, OneClock, Past, Readings,
    SystemClock, Wall,
};
pub use codec::{Codec, CodecError, StoredCodec};
pub use error::{Error, StartError};
pub use hands::{Hands, NoHands, TakenUp};
pub use journal::{JournalFailure, JournalHandle, JournalThread, Room, Tail, TailEvent};
pub use limits::{
    CHUNK_BYTES_MAX, CHUNK_COMMANDS_MAX, MAILBOX_MAX, RETRY_AFTER, SLEEP_MAX, SPACE_PROBE_INTERVAL,
    TAIL_BATCHES_MAX,
};
pub use shard::{Config, Growth, Handle, Reply, Runnable, Shard};
pub use stories::Stories;
pub use upkeep::{Chronicle, EmptyFold, Tell, Upkeep, UpkeepConfig};
