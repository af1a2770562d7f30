//! What can go wrong with the history. None of it touches the journal.

use crate::error::{Cause, ReadError};
use crate::types::{Seq, ShardName};

/// Why the history was not opened, followed or read.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Written by a newer Mainstay.
    #[error(
        "history has format {found}; this program reads up to {known}: use the newer program, or delete it (MS-J005)"
    )]
    Format {
        /// Its format.
        found: u32,
        /// The newest known here.
        known: u32,
    },
    /// The journal could not be read.
    #[error("history cannot follow the journal")]
    Read {
        /// What the journal said.
        #[source]
        cause: ReadError,
    },
    /// A turn could not be told.
    #[error("history cannot tell of shard {shard}, event {at} (MS-J017)")]
    Tell {
        /// Which shard.
        shard: ShardName,
        /// The turn's first event.
        at: Seq,
        /// What does not fit.
        #[source]
        cause: Cause,
    },
    /// The file failed.
    #[error("history cannot be read or written; it may be deleted, no state is lost with it (MS-J018)")]
    Io {
        /// What the store said.
        #[source]
        cause: Cause,
    },
}

impl HistoryError {
    pub(super) fn read(cause: ReadError) -> Self {
        Self::Read { cause }
    }
}

impl From<rusqlite::Error> for HistoryError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Io { cause: error.into() }
    }
}
