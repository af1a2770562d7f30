//! What happens to stored objects, durably.

use alloc::vec::Vec;

use crate::command::Change;
use crate::players::Owner;

/// What happened. A snapshot is one such event for each owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Objects were stored, or went.
    ObjectsSet {
        /// Whose.
        owner: Owner,
        /// The profile's version from now on.
        version: u32,
        /// Which, and what they became.
        changes: Vec<Change>,
    },
}
