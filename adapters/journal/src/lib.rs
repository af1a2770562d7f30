//! The durable event log behind one narrow port, and the order everything leaves the house in.
//!
//! A *shard* is one state machine with its own journal: an unbroken chain of *turns*. A turn carries the encoded events
//! of one command. [`Journal`] is the port: append with the expected sequence and epoch, read in pages, snapshots, lease.
//! Three adapters stand behind it: [`sqlite`] (the default, one data directory), [`postgres`] (past one machine) and
//! [`memory`] (the simulator's, with faults on command). One contract suite holds all three to the same story.
//!
//! [`Writer`] is the pure write-ahead order (no I/O, no clock): command, decide, apply, durable, *then* answer. The
//! runtime and the simulator are its two hands.
//!
//! Below [`stored`] everything is bytes: only that module knows what an event is. [`durable`] is for whoever keeps files beside a
//! journal.
#![forbid(unsafe_code)]

mod chain;
mod compact;
pub mod durable;
mod error;
mod examine;
pub mod history;
pub mod memory;
mod port;
pub mod postgres;
pub mod sqlite;
pub mod stored;
mod types;
mod walk;
mod writer;

pub use compact::{
    COMPACT_EVENTS_MIN, CompactError, Compacted, Compactor, Fold, Living, Source, StoredFold, Unwatched,
    Watch, replay,
};
pub use error::{AppendError, Cause, LeadError, LeaseError, MaintainError, OpenError, ReadError};
pub use examine::{Walked, walk};
pub use port::{
    Appended, EVENT_BYTES_MAX, FORGET_STEP_TURNS_MAX, Forgot, Head, Journal, LEASE, LEASE_RENEWED_EVERY,
    Leadership, Lease, PAGE_BYTES_MAX, PAGE_TURNS_MAX, Reader, SNAPSHOT_CHUNK_BYTES_MAX, SnapshotHead, Space,
};
pub use types::{Epoch, NameError, SHARD_NAME_BYTES_MAX, Seq, ShardName, TurnRecord};
pub use writer::{
    Admission, Batch, Durable, Limits, LostWhy, Refused, RefusedWhy, Settled, Standing, Turn, Wait, Writer,
};
