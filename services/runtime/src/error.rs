//! Why the runtime gives no answer. Refusals by the rules are no errors: they are answers.

use mainstay_journal::{LeadError, LostWhy, ReadError, Seq, ShardName};

use crate::codec::CodecError;

/// Why a command or query has no answer. The caller may ask again, by the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The mailbox is full. Nothing was done.
    #[error("the shard's mailbox holds {limit} messages and takes no more")]
    Busy {
        /// Its size.
        limit: usize,
    },
    /// The journal's disk is full, and the command would grow what is stored. Nothing was done.
    #[error("the journal's disk is full; only what shrinks the state is still taken")]
    JournalFull,
    /// What was decided was not seen to become durable: whether it happened is unknown.
    #[error("the outcome is unknown: {}", words(*.0))]
    Lost(LostWhy),
    /// The shard takes no more messages, because the process ends. Nothing was done.
    #[error("the shard is stopping")]
    Stopping,
}

impl Error {
    /// Its code, explained by `mainstay explain`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "MS-J101",
            Self::JournalFull => "MS-J102",
            Self::Lost(_) => "MS-J103",
            Self::Stopping => "MS-J104",
        }
    }

    /// Whether it is sure that nothing was done.
    #[must_use]
    pub const fn nothing_was_done(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::JournalFull | Self::Stopping => true,
            Self::Lost(_) => false,
        }
    }

    /// The way out.
    #[must_use]
    pub const fn mend(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "ask again after the time in Retry-After",
            Self::JournalFull => {
                "free some space on the disk of the data directory; the journal goes on by itself"
            }
            Self::Lost(_) => "ask again with the same id: a repeat is answered with what exists",
            Self::Stopping => "ask again once the control plane is up",
        }
    }
}

const fn words(why: LostWhy) -> &'static str {
    match why {
        LostWhy::Fenced { .. } => "another node has taken the shard over",
        LostWhy::OutOfSequence => "what this node knew of the shard was not what the journal holds",
        LostWhy::UnknownOutcome => "the journal's store gave no answer",
        LostWhy::LeaseRanOut => "this node's lease ran out first",
        LostWhy::DeclaredDead => "another node has declared this one dead",
        LostWhy::SteppedDown => "this node has given the shard up",
        LostWhy::SyncFailed => "a write to the journal failed, and the process ends",
    }
}

/// Why a shard did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The leadership was not given.
    #[error("failed to take the leadership of shard {shard}")]
    Lead {
        /// Which shard.
        shard: ShardName,
        /// What the journal said.
        #[source]
        cause: LeadError,
    },
    /// Its turns could not be read.
    #[error("failed to read shard {shard}")]
    Read {
        /// Which shard.
        shard: ShardName,
        /// What the journal said.
        #[source]
        cause: ReadError,
    },
    /// A turn is not in a form this program knows.
    #[error("failed to decode shard {shard} at event {at}")]
    Decode {
        /// Which shard.
        shard: ShardName,
        /// Where.
        at: Seq,
        /// What does not fit.
        #[source]
        cause: CodecError,
    },
    /// The turns do not follow one another.
    #[error("shard {shard} holds event {found} where {expected} was to come")]
    Gap {
        /// Which shard.
        shard: ShardName,
        /// What was to come.
        expected: Seq,
        /// What came.
        found: Seq,
    },
    /// The journal thread has ended.
    #[error("the journal has ended")]
    JournalEnded,
}
