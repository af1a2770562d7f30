//! What can go wrong with a log, told apart by what the caller must do about it.

use std::path::PathBuf;

use crate::types::{Epoch, Seq, ShardName};

/// The cause below an error of ours: the store's own error.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why an append did not become durable.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another leader has taken the shard over: this leadership has ended; drop the shard's state.
    #[error(
        "append to shard {shard} under epoch {held}: the shard is at epoch {current}; another leader has it (MS-J006)"
    )]
    Fenced {
        /// Which shard.
        shard: ShardName,
        /// The epoch the turn carried.
        held: Epoch,
        /// The epoch the shard is at.
        current: Epoch,
    },
    /// The turn does not follow the last durable one: this leadership's state is not the journal's; drop it.
    #[error("append to shard {shard} at event {found}: the journal's next is {expected} (MS-J007)")]
    SequenceMismatch {
        /// Which shard.
        shard: ShardName,
        /// The number the journal would take.
        expected: Seq,
        /// The number the turn began with.
        found: Seq,
    },
    /// No space, the reserve included. Nothing was written; the same batch may be tried again once there is space.
    #[error(
        "the journal's disk is full and its reserve is used up; free some space, the journal goes on by itself (MS-J008)"
    )]
    Full {
        /// What the store said.
        #[source]
        cause: Cause,
    },
    /// The store was not reached and nothing was sent. Nothing was written; the same batch may be tried again.
    #[error("the journal's store cannot be reached; nothing was written (MS-J011)")]
    Unavailable {
        /// What the store said.
        #[source]
        cause: Cause,
    },
    /// Sent, and no answer: the turns may be durable or not. Ends the leadership of every shard in the batch.
    #[error(
        "an append to the journal has an unknown outcome; the leader steps down and reads again (MS-J009)"
    )]
    UnknownOutcome {
        /// What the store said.
        #[source]
        cause: Cause,
    },
    /// The store failed to write or sync. What the disk holds is no longer known to this process: it must end.
    #[error("the journal failed to write; this process ends, the next start reads what is durable (MS-J010)")]
    Io {
        /// What the store said.
        #[source]
        cause: Cause,
    },
}

/// Why a read gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Turns below the oldest kept one were asked for: start from the snapshot.
    #[error("events of shard {shard} below {oldest} are compacted away; start from its snapshot (MS-J013)")]
    Compacted {
        /// Which shard.
        shard: ShardName,
        /// The oldest event still held as a turn.
        oldest: Seq,
    },
    /// What is stored is not what was written.
    #[error(
        "the journal is damaged at shard {shard}, event {at}: {what}; restore the data directory from a copy (MS-J003)"
    )]
    Damaged {
        /// Which shard.
        shard: ShardName,
        /// Where.
        at: Seq,
        /// What does not fit.
        what: &'static str,
    },
    /// What the store holds about its shards is not what was written.
    #[error(
        "the journal's list of shards is damaged: {what}; restore the data directory from a copy (MS-J003)"
    )]
    DamagedList {
        /// What does not fit.
        what: &'static str,
    },
    /// The store's own structure is damaged, or it failed.
    #[error("the journal cannot be read (MS-J010)")]
    Io {
        /// What the store said.
        #[source]
        cause: Cause,
    },
}

/// Why a journal did not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has the data directory.
    #[error(
        "data directory {} is in use by another process; stop it, or choose another --data-dir (MS-J001)",
        dir.display()
    )]
    InUse {
        /// The directory.
        dir: PathBuf,
    },
    /// Acknowledged turns are gone.
    #[error(
        "journal {} ends at commit {found}, but commit {marked} was acknowledged: its tail is lost or damaged; \
         restore the data directory from a copy (MS-J002)",
        file.display()
    )]
    TailLost {
        /// The database file.
        file: PathBuf,
        /// The last commit it holds.
        found: u64,
        /// The last commit that was acknowledged.
        marked: u64,
    },
    /// What is stored is not what was written.
    #[error("journal {} is damaged: {what}; restore the data directory from a copy (MS-J003)", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What does not fit.
        what: &'static str,
    },
    /// The mark is missing or damaged, so nobody can tell whether acknowledged turns are gone.
    #[error(
        "mark {} {what}: whether acknowledged turns are gone cannot be told; restore the data directory from a \
         copy (MS-J004)",
        file.display()
    )]
    Mark {
        /// The mark's file.
        file: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Written by a newer Mainstay.
    #[error(
        "journal {} has format {found}; this program reads up to {known}: use the newer program (MS-J005)",
        file.display()
    )]
    Format {
        /// The file.
        file: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// The store failed.
    #[error("the journal at {place} does not open (MS-J010)")]
    Io {
        /// Which file or server.
        place: String,
        /// What the store said.
        #[source]
        cause: Cause,
    },
}

/// Why a node may not lead a shard now.
#[derive(Debug, thiserror::Error)]
pub enum LeadError {
    /// Another node leads it and its lease runs.
    #[error("shard {shard} is led by node {node}, whose lease runs {left_ms} ms more (MS-J012)")]
    Held {
        /// Which shard.
        shard: ShardName,
        /// Who leads it.
        node: String,
        /// How long its lease still runs, by the store's clock, in milliseconds.
        left_ms: u64,
    },
    /// This node's own incarnation was marked dead by a successor: start again with a new one.
    #[error("this node's incarnation {incarnation} was declared dead; restart the process (MS-J014)")]
    Dead {
        /// Which incarnation.
        incarnation: u64,
    },
    /// The store failed or holds damage.
    #[error("the leadership of shard {shard} was not granted (MS-J010)")]
    Io {
        /// Which shard.
        shard: ShardName,
        /// What the store said.
        #[source]
        cause: Cause,
    },
}

/// Why a lease was not renewed.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// This node's own incarnation was marked dead by a successor: every leadership has ended.
    #[error("this node's incarnation {incarnation} was declared dead; restart the process (MS-J014)")]
    Dead {
        /// Which incarnation.
        incarnation: u64,
    },
    /// The store was not reached or failed; try again while the lease runs.
    #[error("the node's lease was not renewed (MS-J011)")]
    Unavailable {
        /// What the store said.
        #[source]
        cause: Cause,
    },
}

/// Why a snapshot was not written or turns were not deleted.
#[derive(Debug, thiserror::Error)]
pub enum MaintainError {
    /// Only turns that a finished snapshot covers may go.
    #[error(
        "events of shard {shard} up to {asked} may not be deleted: its snapshot covers below {covered} (MS-J015)"
    )]
    NotCovered {
        /// Which shard.
        shard: ShardName,
        /// Up to where deletion was asked, exclusive.
        asked: Seq,
        /// Up to where the snapshot covers, exclusive.
        covered: Seq,
    },
    /// A chunk out of order, too large, or of a snapshot that covers nothing new or nothing durable.
    #[error("snapshot of shard {shard} refused: {what} (MS-J016)")]
    Misuse {
        /// Which shard.
        shard: ShardName,
        /// What does not fit.
        what: &'static str,
    },
    /// No space: nothing was written; try again later.
    #[error("no space for a snapshot; turns stay until there is (MS-J008)")]
    Full {
        /// What the store said.
        #[source]
        cause: Cause,
    },
    /// The store failed.
    #[error("the journal's snapshot work failed (MS-J010)")]
    Io {
        /// What the store said.
        #[source]
        cause: Cause,
    },
}
