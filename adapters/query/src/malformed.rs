//! Why bytes from outside were refused.

/// An answer that is not what its protocol allows. It says what was read, and what was wrong with it in numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The datagram is longer than the protocol allows.
    #[error("the answer has {bytes} bytes, and at most {max} are allowed")]
    Oversize {
        /// Its length.
        bytes: usize,
        /// The protocol's limit.
        max: usize,
    },
    /// The datagram, or a part of it, ends too early.
    #[error("the answer ends within {what}: {needed} bytes needed, {left} left")]
    Short {
        /// What was being read.
        what: &'static str,
        /// How many bytes it takes.
        needed: usize,
        /// How many there were.
        left: usize,
    },
    /// A text without its closing byte.
    #[error("{what} has no closing byte within the {left} bytes left")]
    Unterminated {
        /// What was being read.
        what: &'static str,
        /// How many bytes were searched.
        left: usize,
    },
    /// A field with a value that the protocol does not know.
    #[error("{what} is {found:#x}, which is not among the known values")]
    Unknown {
        /// The field.
        what: &'static str,
        /// Its value.
        found: u32,
    },
    /// A number written as text that is none.
    #[error("{what} is not a number between 0 and 4294967295")]
    NotANumber {
        /// The field.
        what: &'static str,
    },
    /// More of something than is allowed.
    #[error("the answer holds {found} {what}, and at most {max} are allowed")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many the answer claims.
        found: usize,
        /// The limit.
        max: usize,
    },
    /// An answer over several datagrams, which no known server sends for what we ask.
    #[error("the answer comes in several datagrams (this is number {number}), which is not supported")]
    Split {
        /// This datagram's number, from 0.
        number: u32,
    },
}

impl Malformed {
    /// The code under which the manual explains this problem.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "MS-S201"
    }
}
