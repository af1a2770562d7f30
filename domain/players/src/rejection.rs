//! Why objects were not stored.

use alloc::sync::Arc;

use mainstay_core::NESTING_MAX;

use crate::decide::{NAME_CHARS_MAX, OBJECT_BYTES_MAX, OBJECTS_MAX, STORED_BYTES_MAX};

/// Why not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// Another writer came first.
    #[error("the profile has version {found}, and {expected} was expected: read the objects again")]
    OtherVersion {
        /// What was expected.
        expected: u32,
        /// What there is.
        found: u32,
    },
    /// "Name of object. Restricted to a-Z, 0-9, '(', ')', '_', '-' and '.'."
    #[error("{name:?} is no object's name: 1 to {NAME_CHARS_MAX} letters, digits and ( ) _ - .")]
    Name {
        /// The name.
        name: Arc<str>,
    },
    /// An object is too large.
    #[error("object {name} has {bytes} bytes, at most {OBJECT_BYTES_MAX}")]
    TooLarge {
        /// Which.
        name: Arc<str>,
        /// How large it is.
        bytes: usize,
    },
    /// An object nests deeper than its readers follow.
    #[error("object {name} nests {levels} levels of lists and objects, at most {NESTING_MAX}")]
    TooDeep {
        /// Which.
        name: Arc<str>,
        /// How deep it nests.
        levels: usize,
    },
    /// Too many objects.
    #[error("{objects} objects of one owner, at most {OBJECTS_MAX}: delete one first")]
    TooMany {
        /// How many there would be.
        objects: usize,
    },
    /// All that may be stored is.
    #[error("objects take {bytes} bytes in all, at most {STORED_BYTES_MAX}: delete some first")]
    Full {
        /// How many there would be.
        bytes: usize,
    },
}
