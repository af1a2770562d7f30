//! Launch parameters: one line, split into arguments as a shell would without doing anything else a shell does, and
//! the `$$variables$$` in them. Splitting comes before substitution, so a value with spaces stays in its argument.
//!
//! It stands here because two rooms must read a line alike: the one that checks a configuration file, and the agent
//! that starts the process.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A command line, split.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CommandLine {
    text: String,
    arguments: Vec<Vec<Piece>>,
}

/// Part of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// As written.
    Text(String),
    /// `$$name$$`.
    Variable(String),
}

/// A quote that is never closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnclosedQuote {
    /// Characters before the quote.
    pub offset: usize,
    /// The quote.
    pub quote: char,
}

impl fmt::Display for UnclosedQuote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the quote {} at character {} is never closed", self.quote, self.offset + 1)
    }
}

impl core::error::Error for UnclosedQuote {}

impl CommandLine {
    /// Splits a line. Spaces, tabs and line breaks separate arguments; `'…'` keeps everything; `"…"` keeps everything
    /// but a backslash before `"` or `\`; outside quotes a backslash keeps the next space, quote or backslash, and is
    /// itself elsewhere, so that Windows paths survive.
    ///
    /// # Errors
    /// A quote that is never closed.
    pub fn parse(text: &str) -> Result<Self, UnclosedQuote> {
        let mut arguments = Vec::new();
        let mut argument: Option<String> = None;
        let mut chars = text.chars().enumerate().peekable();
        while let Some((offset, c)) = chars.next() {
            match c {
                ' ' | '\t' | '\n' | '\r' => arguments.extend(argument.take()),
                quote @ ('\'' | '"') => {
                    let word = argument.get_or_insert_default();
                    loop {
                        match chars.next().ok_or(UnclosedQuote { offset, quote })? {
                            (_, c) if c == quote => break,
                            (_, '\\') if quote == '"' => {
                                let escaped = chars.next_if(|&(_, c)| matches!(c, '"' | '\\'));
                                word.push(escaped.map_or('\\', |(_, c)| c));
                            }
                            (_, c) => word.push(c),
                        }
                    }
                }
                '\\' => {
                    let escaped = chars.next_if(|&(_, c)| matches!(c, ' ' | '\'' | '"' | '\\'));
                    argument.get_or_insert_default().push(escaped.map_or('\\', |(_, c)| c));
                }
                c => argument.get_or_insert_default().push(c),
            }
        }
        arguments.extend(argument);
        let arguments = arguments.iter().map(|argument| pieces(argument)).collect();
        Ok(Self { text: text.to_owned(), arguments })
    }

    /// As written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The arguments in pieces.
    pub fn arguments(&self) -> &[Vec<Piece>] {
        &self.arguments
    }

    /// The names of the variables used, in order, repeats included.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().flatten().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Variable(name) => Some(name.as_str()),
        })
    }

    /// The arguments with each variable's value; a name that `value_of` does not know stays as written.
    pub fn expand(&self, value_of: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let expand = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Variable(name) => value_of(name).unwrap_or_else(|| format!("$${name}$$")),
        };
        self.arguments.iter().map(|argument| argument.iter().map(expand).collect()).collect()
    }
}

/// As written.
impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Splits text at its variables: `$$`, at least one letter, digit, `_`, `-` or `.`, `$$`.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("$$") {
        literal.push_str(before);
        let name_end = after.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
        let (name, tail) = after.split_at(name_end.unwrap_or(after.len()));
        match tail.strip_prefix("$$") {
            Some(tail) if !name.is_empty() => {
                if !literal.is_empty() {
                    pieces.push(Piece::Text(core::mem::take(&mut literal)));
                }
                pieces.push(Piece::Variable(name.to_owned()));
                rest = tail;
            }
            Some(_) | None => {
                literal.push_str("$$");
                rest = after;
            }
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(Piece::Text(literal));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Vec<String> {
        let value_of = |name: &str| match name {
            "port" => Some("9000".to_owned()),
            "log_dir" => Some("/var/a b/".to_owned()),
            _ => None,
        };
        CommandLine::parse(text).unwrap().expand(value_of)
    }

    #[test]
    fn arguments_split_like_a_shell() {
        let rows: &[(&str, &[&str])] = &[
            ("", &[]),
            ("  a\tb\n c ", &["a", "b", "c"]),
            ("-log $$log_dir$$/x.log", &["-log", "/var/a b//x.log"]),
            ("'sv_name probe; sv_port $$port$$; sv_map dm1'", &["sv_name probe; sv_port 9000; sv_map dm1"]),
            (r#"a"b c"d'e f'"#, &["ab cde f"]),
            (r#""" ''"#, &["", ""]),
            (r#""a \"b\" \n""#, &[r#"a "b" \n"#]),
            (r"C:\games\x a\ b", &[r"C:\games\x", "a b"]),
            ("$$port$$$$port$$", &["90009000"]),
            ("$$unknown$$ $$ $$$$ $$a b$$", &["$$unknown$$", "$$", "$$$$", "$$a", "b$$"]),
            ("cost$$5", &["cost$$5"]),
        ];
        for (text, want) in rows {
            assert_eq!(expanded(text), *want, "{text}");
        }
    }

    #[test]
    fn an_unclosed_quote_is_refused_at_its_place() {
        assert_eq!(CommandLine::parse("a 'b").unwrap_err(), UnclosedQuote { offset: 2, quote: '\'' });
        assert_eq!(CommandLine::parse("é\"\\\"").unwrap_err(), UnclosedQuote { offset: 1, quote: '"' });
    }
}
