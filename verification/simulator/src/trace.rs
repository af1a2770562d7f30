//! What a world did, as one number always and as text on request. The same seed gives the same bytes.

use std::fmt::{self, Write as _};

use crate::agenda::Micros;
use crate::random::mix;

/// Whether a trace is kept as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// Only its hash.
    None,
    /// One line a step, kept for [`crate::Report::trace`].
    Lines,
}

/// The steps so far.
#[derive(Debug)]
pub struct Trace {
    hash: u64,
    text: Option<String>,
}

impl Trace {
    /// Of nothing.
    #[must_use]
    pub const fn new(text: Text) -> Self {
        let text = match text {
            Text::None => None,
            Text::Lines => Some(String::new()),
        };
        Self { hash: 0, text }
    }

    /// Takes a number into the hash.
    pub const fn number(&mut self, number: u64) {
        self.hash = mix(self.hash ^ number).wrapping_add(number);
    }

    /// Adds a line, where text is kept; `words` is not evaluated otherwise.
    pub fn line(&mut self, now: Micros, words: impl FnOnce() -> Words) {
        let Some(text) = &mut self.text else { return };
        let Words { who, what } = words();
        let (seconds, micros) = (now / 1_000_000, now % 1_000_000);
        writeln!(text, "{seconds:>5}.{micros:06}  {who:<10} {what}").expect("a String takes every write");
    }

    /// The hash of every number so far.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// The text, where it is kept.
    #[must_use]
    pub fn into_text(self) -> Option<String> {
        self.text
    }
}

/// One line of a trace.
#[derive(Debug)]
pub struct Words {
    /// Who did or saw it.
    pub who: String,
    /// What it was.
    pub what: String,
}

/// A line of a trace.
pub fn words(who: impl fmt::Display, what: impl fmt::Display) -> Words {
    Words { who: who.to_string(), what: what.to_string() }
}
