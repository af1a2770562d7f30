//! Which test shows which sentence of the specification.
//!
//! Requirements stand in `conformance/*.txt`, one a line: `# heading`, `~ a sentence that asks for nothing`, `a sentence`,
//! or `{phrase} a sentence`; `! what is missing` below one that is not shown, or in part. A test shows a sentence if the comment above it quotes at least half of the sentence (`…` and
//! `[…]` leave something out), or holds its phrase. The table is `docs/conformance.md`.

use std::fmt::Write as _;

use crate::tree::{File, Tree};

/// Where the table stands.
pub const TABLE: &str = "docs/conformance.md";

/// The specifications, in the table's order: file and title.
const SOURCES: &[(&str, &str)] = &[
    ("seed-000", "Seed 000: host migration"),
    ("seed-001", "Seed 001: game server events"),
    ("seed-002", "Seed 002: game server lifecycle"),
    ("seed-003", "Seed 003: server hold"),
    ("seed-004", "Seed 004: server backfill tickets"),
    ("multiplay", "Multiplay surfaces (reference, sections 1 to 3)"),
    ("playfab", "PlayFab's matchmaking (reference, sections 1 to 5)"),
];

/// Shortest quotation that counts, in characters: less could stand in any comment.
const QUOTE_CHARS_MIN: usize = 20;

/// One line of a specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A part's title.
    Heading(String),
    /// It explains or recommends; there is nothing to show.
    Remark(String),
    /// It is to be shown by a test that quotes it, or that holds the phrase.
    Requirement {
        /// What the comment of a test may hold instead of the sentence.
        phrase: Option<String>,
        /// The sentence.
        text: String,
        /// What is missing before it is shown.
        missing: Option<String>,
    },
}

/// A test and the comment above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// Its file.
    pub path: String,
    /// Its name.
    pub name: String,
    /// The comment, one line.
    pub comment: String,
}

/// Reads a specification.
#[must_use]
pub fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for line in text.lines().filter(|text| !text.trim().is_empty()) {
        match (line.strip_prefix("! "), lines.last_mut()) {
            (Some(what), Some(Line::Requirement { missing, .. })) => *missing = Some(what.to_owned()),
            (Some(_) | None, _) => lines.push(self::line(line)),
        }
    }
    lines
}

fn line(line: &str) -> Line {
    if let Some(title) = line.strip_prefix("# ") {
        return Line::Heading(title.to_owned());
    }
    if let Some(remark) = line.strip_prefix("~ ") {
        return Line::Remark(remark.to_owned());
    }
    // A phrase may have braces of its own: `{GET /fleets/{id}} …`.
    let (phrase, text) = match line.strip_prefix('{').and_then(|rest| rest.split_once("} ")) {
        Some((phrase, text)) => (Some(phrase.to_owned()), text),
        None => (None, line),
    };
    Line::Requirement { phrase, text: text.to_owned(), missing: None }
}

/// The tests of a Rust file that have a comment.
#[must_use]
pub fn tests(file: &File) -> Vec<Test> {
    let mut found = Vec::new();
    let (mut comment, mut is_test) = (String::new(), false);
    for line in file.text.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            comment.push(' ');
            comment.push_str(text.trim());
        } else if line.starts_with("#[") {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        } else {
            let name = line.split("fn ").nth(1).and_then(|rest| rest.split(['(', '<']).next());
            if let Some(name) = name.filter(|_| is_test && !comment.is_empty()) {
                found.push(Test {
                    path: file.path.clone(),
                    name: name.to_owned(),
                    comment: comment.trim().to_owned(),
                });
            }
            comment.clear();
            is_test = false;
        }
    }
    found
}

/// A comment as it is compared, made once: there are many sentences.
#[derive(Debug)]
pub struct Said {
    plain: String,
    quotes: Vec<String>,
}

impl Said {
    /// What that comment says.
    #[must_use]
    pub fn of(comment: &str) -> Self {
        Self { plain: plain(comment), quotes: quotes(comment).iter().map(|quote| plain(quote)).collect() }
    }

    /// Whether it quotes the sentence or holds its phrase.
    #[must_use]
    pub fn shows(&self, asked: &Asked) -> bool {
        let sentence = match asked {
            Asked::Phrase(phrase) => return holds(&self.plain, phrase),
            Asked::Sentence(sentence) => sentence,
        };
        if self.quotes.iter().any(|quote| quote.contains(sentence)) {
            return true;
        }
        // A few words stand in several sentences: only who quotes most of one means it.
        let quoted = self.quotes.iter().map(|quote| (quote.chars().count(), quote));
        let parts = quoted.filter(|(chars, quote)| *chars >= QUOTE_CHARS_MIN && sentence.contains(*quote));
        parts.map(|(chars, _)| chars).sum::<usize>() * 2 >= sentence.chars().count()
    }
}

/// What a comment is asked for, as it is compared.
#[derive(Debug)]
pub enum Asked {
    /// These words, where a sentence has a phrase.
    Phrase(String),
    /// Most of it, quoted.
    Sentence(String),
}

impl Asked {
    /// Of a sentence.
    #[must_use]
    pub fn of(phrase: Option<&str>, sentence: &str) -> Self {
        phrase.map_or_else(|| Self::Sentence(plain(sentence)), |phrase| Self::Phrase(plain(phrase)))
    }
}

/// Whether a phrase stands in a comment by itself: `GET /fleets` is not in `GET /fleets/{id}`.
fn holds(comment: &str, phrase: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '/' || c == '-';
    comment.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&comment[..at], &comment[at + phrase.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

/// The quoted parts of a comment, cut where something is left out.
fn quotes(comment: &str) -> Vec<String> {
    let comment = comment.replace(['“', '”'], "\"");
    let quoted = comment.split('"').skip(1).step_by(2);
    quoted.flat_map(|quote| quote.split(['…', '[', ']']).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Without what differs between two ways of writing the same words.
fn plain(text: &str) -> String {
    let text = text.replace('’', "'").replace('`', "").to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_matches(['.', ',', ';', ' ']).to_owned()
}

/// The table.
///
/// # Errors
/// A specification is missing.
pub fn table(tree: &Tree) -> Result<String, String> {
    let tests: Vec<(Said, Test)> =
        tree.rust().flat_map(tests).map(|test| (Said::of(&test.comment), test)).collect();
    let mut out = String::from(
        "# Conformance\n\nEvery sentence of the specifications for hosting, host migration and matchmaking, and the tests that show it. Made by\n\
         `cargo run -p mainstay-tidy` from the comments above the tests; a test of the house rules compares.\n",
    );
    for (source, title) in SOURCES {
        let path = format!("verification/tidy/conformance/{source}.txt");
        let lines = lines(&tree.file(&path).ok_or(format!("{path} is missing"))?.text);
        write_source(&mut out, title, &lines, &tests).map_err(|error| error.to_string())?;
    }
    Ok(out)
}

fn write_source(out: &mut String, title: &str, lines: &[Line], tests: &[(Said, Test)]) -> std::fmt::Result {
    let shown_by = |phrase: Option<&str>, text: &str| -> Vec<&Test> {
        let asked = Asked::of(phrase, text);
        let shown = tests.iter().filter(|(said, _)| said.shows(&asked));
        shown.map(|(_, test)| test).collect()
    };
    let requirements: Vec<bool> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Requirement { phrase, text, missing } => {
                Some(missing.is_none() && !shown_by(phrase.as_deref(), text).is_empty())
            }
            Line::Heading(_) | Line::Remark(_) => None,
        })
        .collect();
    let shown = requirements.iter().filter(|is_shown| **is_shown).count();
    writeln!(out, "\n## {title}\n\n{shown} of {} are shown by a test.\n", requirements.len())?;
    writeln!(out, "| sentence | shown by |\n|---|---|")?;
    for line in lines {
        match line {
            Line::Heading(title) => writeln!(out, "| **{title}** | |")?,
            Line::Remark(text) => writeln!(out, "| *{}* | (asks for nothing) |", cell(text))?,
            Line::Requirement { phrase, text, missing } => {
                let links: Vec<String> = shown_by(phrase.as_deref(), text)
                    .iter()
                    .map(|test| format!("[{}](../{})", test.name, test.path))
                    .collect();
                let shown = match missing {
                    Some(what) => format!(
                        "{}**not yet**: {}",
                        links.iter().map(|link| format!("{link}, ")).collect::<String>(),
                        cell(what)
                    ),
                    None if links.is_empty() => "**not yet**".to_owned(),
                    None => links.join(", "),
                };
                let phrase = phrase.as_ref().map_or_else(String::new, |phrase| format!("`{phrase}` "));
                writeln!(out, "| {}{} | {shown} |", cell(&phrase), cell(text))?;
            }
        }
    }
    Ok(())
}

fn cell(text: &str) -> String {
    // What is in angle brackets would be taken for a tag, and not be seen.
    text.replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod unit {
    use super::*;

    fn shows(comment: &str, phrase: Option<&str>, sentence: &str) -> bool {
        Said::of(comment).shows(&Asked::of(phrase, sentence))
    }

    #[test]
    fn a_line_is_a_heading_a_remark_or_a_requirement() {
        let text = "# Stop\n~ See below.\n\nIt stops.\n{GET /fleets/{id}} one fleet\n! its size\n";
        let expected = [
            Line::Heading("Stop".into()),
            Line::Remark("See below.".into()),
            Line::Requirement { phrase: None, text: "It stops.".into(), missing: None },
            Line::Requirement {
                phrase: Some("GET /fleets/{id}".into()),
                text: "one fleet".into(),
                missing: Some("its size".into()),
            },
        ];
        assert_eq!(lines(text), expected);
    }

    #[test]
    fn a_comment_shows_what_it_quotes_and_nothing_else() {
        let sentence = "The server has been reserved (the server transitions to the RESERVED state)";
        let cases = [
            ("\"The server has been reserved (the server transitions to the RESERVED state)\"", true),
            ("\"The server has been reserved (the server […]\" and more", true),
            ("\"The server has been reserved […]\" and more", false),
            ("\"[…] the server transitions to the RESERVED state)\"", true),
            ("\"The server has been reserved […] the server transitions to the\"", true),
            ("\"[…] transitions to the RESERVED state)\"", false),
            ("\"The server has been allocated […] transitions to the RESERVED state)\"", false),
            ("“the server transitions to\nthe RESERVED state”", true),
            ("The server has been reserved, in our own words", false),
            ("\"The server has\"", false),
            ("\"The server has been allocated (the server transitions to the ALLOCATED state)\"", false),
        ];
        for (comment, expected) in cases {
            assert_eq!(shows(comment, None, sentence), expected, "{comment}");
        }
        assert!(shows("`GET /fleets/{id}`: 404", Some("GET /fleets/{id}"), "one fleet"));
        assert!(!shows("`GET /fleets`: 404", Some("GET /fleets/{id}"), "one fleet"));
        assert!(!shows("`GET /fleets/{id}`: 404", Some("GET /fleets"), "all fleets"));
        let other_apostrophes = "don’t \"Game Server Hosting won’t keep it\"";
        assert!(shows(other_apostrophes, None, "Game Server Hosting won't keep it."));
    }

    #[test]
    fn what_is_missing_is_told_and_not_counted_as_shown() {
        let test = |name: &str, comment: &str| {
            let test = Test { path: "a.rs".into(), name: name.into(), comment: comment.into() };
            (Said::of(comment), test)
        };
        let tests = [test("stops", "\"It stops.\""), test("sizes", "\"It has a size.\"")];
        let mut out = String::new();
        let lines = lines("It stops.\nIt has a size.\n! of <two>\nIt starts.\n! all\nIt ends.\n");
        write_source(&mut out, "A seed", &lines, &tests).unwrap();
        for row in [
            "1 of 4 are shown by a test.",
            "| It stops. | [stops](../a.rs) |",
            "| It has a size. | [sizes](../a.rs), **not yet**: of &lt;two> |",
            "| It starts. | **not yet**: all |",
            "| It ends. | **not yet** |",
        ] {
            assert!(out.lines().any(|line| line == row), "{row}\n{out}");
        }
    }

    #[test]
    fn tests_are_found_with_their_comments() {
        let text = "/// \"A.\"\n/// \"B.\"\n#[test]\nfn one() {}\n\n/// No test.\nfn helper() {}\n#[tokio::test]\nasync fn bare() {}\n/// \"C.\"\n#[tokio::test(flavor = \"x\")]\nasync fn two() {}\n";
        let file = File { path: "x/tests/a.rs".into(), text: text.into() };
        let found: Vec<(String, String)> =
            tests(&file).into_iter().map(|test| (test.name, test.comment)).collect();
        let expected = [("one", "\"A.\" \"B.\""), ("two", "\"C.\"")];
        assert_eq!(found, expected.map(|(name, comment)| (name.to_owned(), comment.to_owned())));
    }
}
