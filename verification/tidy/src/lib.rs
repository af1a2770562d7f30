//! The house rules as tests.
//!
//! A rule that only a reviewer keeps is forgotten in the week he is away. Each rule here is a pure function from text
//! to [`Violation`]s, with a test of its own that plants a breach and sees it found; `tests/house.rs` runs every rule
//! over the tree. What is data (arrows, exceptions with their reasons) stands in tables at the top of its module.

pub mod arrows;
pub mod clock;
pub mod codes;
pub mod conformance;
pub mod headers;
pub mod lengths;
pub mod links;
pub mod lockfile;
pub mod seeds;
pub mod status;
pub mod tree;
pub mod words;

use std::fmt;

/// One breach of one rule: where, what, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The file, relative to the root of the repository.
    pub path: String,
    /// The line, counted from 1; 0 where the whole file is meant.
    pub line: usize,
    /// What is wrong, and what to do about it.
    pub what: String,
}

impl Violation {
    /// A breach at `path:line`.
    pub fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}
