//! What is asked, and what it comes to.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::players::Owner;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// `SetObjects`: all of it, or nothing.
    SetObjects {
        /// Whose.
        owner: Owner,
        /// Which, and what they become; a later one of a name comes after an earlier one.
        changes: Vec<Change>,
        /// The version that was read before, where another writer's change in between is to be noticed.
        expected: Option<u32>,
    },
}

/// One object, and what it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub name: Arc<str>,
    /// What it becomes.
    pub becomes: Becomes,
}

/// What an object becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Becomes {
    /// This text of JSON.
    Json(Arc<str>),
    /// Nothing: it goes.
    Gone,
}

/// What it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The profile's version now.
    pub version: u32,
    /// What became of each object, in the order they were named.
    pub done: Vec<(Arc<str>, Done)>,
}

/// What became of an object (`OperationTypes`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// There was none of that name.
    Created,
    /// There was one; also where it stayed the same.
    Updated,
    /// It is gone.
    Deleted,
    /// It was to go, and was not there.
    Nothing,
}
