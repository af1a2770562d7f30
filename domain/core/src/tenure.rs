//! Which process of which server, in which session: what is kept elsewhere for a game ends with this (record 0043).

use crate::{ClaimId, ServerId};

/// A process of a server, in the session the server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenure {
    /// The server.
    pub server: ServerId,
    /// The session: what the server is taken for.
    pub session: ClaimId,
    /// The run of the process, as its machine counts starts, from 1; `None` for whichever runs.
    pub run: Option<u64>,
}
