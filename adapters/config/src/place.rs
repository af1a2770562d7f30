//! Where a value came from. Plan tables and errors both show `file:line`, so every value that a person may have
//! written carries its place, and the sources stay with the loaded configuration to quote from.

use std::fmt;
use std::sync::Arc;

/// A spot in one of the loaded files.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file's name, as the caller gave it.
    pub file: Arc<str>,
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// Length in characters of what is meant, at least 1; never past the end of its first line.
    pub length: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Whether a value was written, and where, or is the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody wrote it: the reference's default.
    Default,
    /// Written here.
    File(Place),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(place) => write!(f, "{}:{}", place.file, place.line),
        }
    }
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
}

impl<T> Sourced<T> {
    /// A value nobody wrote.
    pub const fn default_of(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }

    /// A value written at `place`.
    pub const fn written(value: T, place: Place) -> Self {
        Self { value, origin: Origin::File(place) }
    }

    /// The same origin with another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Sourced<U> {
        Sourced { value: change(self.value), origin: self.origin }
    }

    /// Where it was written, unless it is a default.
    pub const fn place(&self) -> Option<&Place> {
        match &self.origin {
            Origin::Default => None,
            Origin::File(place) => Some(place),
        }
    }
}

/// One loaded text, measured once: a file of one long line would otherwise be counted again for each of its values.
#[derive(PartialEq, Eq)]
pub(crate) struct SourceText {
    pub(crate) name: Arc<str>,
    pub(crate) text: String,
    lines: Vec<Line>,
}

/// A line's first byte, and its width in characters without the line break.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Line {
    start: usize,
    width: u32,
}

impl SourceText {
    pub(crate) fn new(name: &str, text: String) -> Self {
        let mut start = 0;
        let lines = text
            .split('\n')
            .map(|line| {
                let width = as_u32(line.trim_end_matches('\r').chars().count());
                let measured = Line { start, width };
                start += line.len() + 1;
                measured
            })
            .collect();
        Self { name: Arc::from(name), text, lines }
    }

    /// The text of a line counted from 1, without its line break; empty past the end.
    pub(crate) fn line(&self, line: u32) -> &str {
        let index = (line as usize).saturating_sub(1);
        let Some(found) = self.lines.get(index) else { return "" };
        let end = self.lines.get(index + 1).map_or(self.text.len(), |next| next.start - 1);
        self.text.get(found.start..end).unwrap_or("").trim_end_matches('\r')
    }

    /// The place of `length` characters at line and column (both from 1), cut at the line's end.
    pub(crate) fn place(&self, line: u32, column: u32, length: u32) -> Place {
        let width = self.lines.get((line as usize).saturating_sub(1)).map_or(0, |line| line.width);
        let column = column.clamp(1, width.saturating_add(1));
        let room = width.saturating_add(1).saturating_sub(column).max(1);
        Place { file: self.name.clone(), line, column, length: length.clamp(1, room) }
    }

    /// The place of a byte offset, one character long.
    pub(crate) fn place_of_byte(&self, byte: usize) -> Place {
        let index = self.lines.partition_point(|line| line.start <= byte).saturating_sub(1);
        let start = self.lines.get(index).map_or(0, |line| line.start);
        let before = self.text.get(start..byte).map_or(0, |before| before.chars().count());
        self.place(as_u32(index + 1), as_u32(before + 1), 1)
    }
}

/// Files are at most a megabyte, so nothing in them is counted past 2^32.
fn as_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// All loaded texts.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Sources(pub(crate) Vec<Arc<SourceText>>);

impl Sources {
    /// The line a place is on; empty where the place names no loaded file.
    pub(crate) fn line(&self, place: &Place) -> &str {
        self.0.iter().find(|source| source.name == place.file).map_or("", |source| source.line(place.line))
    }

    /// The names of the loaded files, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|source| &*source.name)
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
