//! One problem in five parts, always in this order: what, where, why, fix, more. The same value prints as text and
//! serialises for `mainstay check -o json`.

use std::fmt;

use serde::Serialize;

use crate::codes::{Code, Severity};
use crate::place::{Place, Sources};

/// Widest quoted line in characters: fits a terminal beside the line numbers; longer lines are cut around the place.
const SNIPPET_CHARS_MAX: usize = 110;
/// Characters kept before the place when a line is cut.
const SNIPPET_LEAD: usize = 40;
/// Longest value of the user's quoted inside a sentence.
const QUOTE_CHARS_MAX: usize = 60;

/// A spot of a problem, with the line it is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Where.
    pub place: Place,
    /// The line there, made safe to print and cut to a width.
    pub line: String,
    /// Characters of `line` before the place.
    pub indent: usize,
    /// Characters of `line` that the place covers, at least 1.
    pub width: usize,
    /// What is wrong right there.
    pub label: String,
}

/// Something wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its code.
    pub code: Code,
    /// What is wrong, in one lower-case sentence.
    pub what: String,
    /// Where: the first mark is the place to mend, others are related.
    pub marks: Vec<Mark>,
    /// Why, with numbers.
    pub why: Vec<String>,
    /// An edit that mends it.
    pub fix: Option<String>,
    /// The keys that lead to the first place, or to what is missing there: `fleets`, `arena`, `usageSettings`, `[0]`, `memory`.
    /// Empty where a file as a whole is at fault.
    pub path: Vec<String>,
}

impl Problem {
    pub(crate) fn new(code: Code, what: impl Into<String>) -> Self {
        Self {
            code,
            what: safe(what.into()),
            marks: Vec::new(),
            why: Vec::new(),
            fix: None,
            path: Vec::new(),
        }
    }

    pub(crate) fn at(mut self, sources: &Sources, place: &Place, label: impl Into<String>) -> Self {
        self.marks.push(Mark::new(sources, place, safe(label.into())));
        self
    }

    pub(crate) fn why(mut self, why: impl Into<String>) -> Self {
        self.why.push(safe(why.into()));
        self
    }

    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(safe(fix.into()));
        self
    }

    /// What is missing at its first place.
    pub(crate) fn lacking(mut self, key: &str) -> Self {
        self.path = vec![key.to_owned()];
        self
    }

    /// How much it weighs.
    pub const fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// The form for `-o json`.
    pub fn report(&self) -> ProblemReport {
        ProblemReport {
            code: self.code.as_str(),
            severity: match self.severity() {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            what: self.what.clone(),
            places: self.marks.iter().map(Mark::report).collect(),
            why: self.why.clone(),
            fix: self.fix.clone(),
            more: format!("mainstay explain {}", self.code),
        }
    }
}

impl Mark {
    fn new(sources: &Sources, place: &Place, label: String) -> Self {
        let line = sources.line(place);
        let before = place.column as usize - 1;
        let short = line.chars().nth(SNIPPET_CHARS_MAX).is_none();
        let start = if short { 0 } else { before.saturating_sub(SNIPPET_LEAD) };
        let mut rest = line.chars().skip(start);
        let mut shown: String = rest.by_ref().take(SNIPPET_CHARS_MAX).map(printable).collect();
        let end = start + shown.chars().count();
        let mut indent = before.min(end) - start;
        if rest.next().is_some() {
            shown.push('…');
        }
        if start > 0 {
            shown.insert(0, '…');
            indent += 1;
        }
        let width = (place.length as usize).clamp(1, end.saturating_sub(before).max(1));
        Self { place: place.clone(), line: shown, indent, width, label }
    }

    fn report(&self) -> PlaceReport {
        PlaceReport {
            file: self.place.file.to_string(),
            line: self.place.line,
            column: self.place.column,
            length: self.place.length,
            snippet: self.line.clone(),
            label: self.label.clone(),
        }
    }
}

/// A file may hold terminal escapes; what we print of it may not.
fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => '\u{fffd}',
        c => c,
    }
}

/// Every sentence passes here: parsers and file names put raw characters into theirs.
fn safe(text: String) -> String {
    if text.chars().all(|c| printable(c) == c) { text } else { text.chars().map(printable).collect() }
}

/// The user's words in quotes, made safe to print and cut to a length.
pub(crate) fn quote(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTE_CHARS_MAX).map(printable).collect();
    if text.chars().nth(QUOTE_CHARS_MAX).is_some() {
        shown.push('…');
    }
    format!("\"{shown}\"")
}

/// A list of words in quotes, cut to ten.
pub(crate) fn quote_list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 10;
    let words: Vec<&str> = words.into_iter().collect();
    let text = words.iter().take(SHOWN).map(|word| quote(word)).collect::<Vec<_>>().join(", ");
    match words.len() {
        0 => "none".into(),
        all if all > SHOWN => format!("{text} and {} more", all - SHOWN),
        _ => text,
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}: {}", self.severity(), self.code, self.what)?;
        let gutter =
            self.marks.iter().map(|mark| mark.place.line.to_string().len()).max().unwrap_or(0).max(2);
        for mark in &self.marks {
            writeln!(f, "{:gutter$}┌─ {}", "", safe(mark.place.to_string()))?;
            writeln!(f, "{:>gutter$}│ {}", mark.place.line, mark.line)?;
            let carets = "^".repeat(mark.width);
            writeln!(f, "{:gutter$}│ {:indent$}{carets} {}", "", "", mark.label, indent = mark.indent)?;
        }
        for why in &self.why {
            writeln!(f, "{:gutter$}= {why}", "")?;
        }
        if let Some(fix) = &self.fix {
            writeln!(f, "{:gutter$}fix: {fix}", "")?;
        }
        write!(f, "{:gutter$}more: mainstay explain {}", "", self.code)
    }
}

/// A problem as `check -o json` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProblemReport {
    /// Such as `MS-C014`.
    pub code: &'static str,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// One sentence.
    pub what: String,
    /// First the place to mend, then related ones.
    pub places: Vec<PlaceReport>,
    /// Reasons, with numbers.
    pub why: Vec<String>,
    /// An edit that mends it, where one is known.
    pub fix: Option<String>,
    /// The command that says more.
    pub more: String,
}

/// A place as `check -o json` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaceReport {
    /// The file's name as given.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// In characters, counted from 1.
    pub column: u32,
    /// In characters.
    pub length: u32,
    /// The line, made safe to print and cut to a width.
    pub snippet: String,
    /// What is wrong right there.
    pub label: String,
}
