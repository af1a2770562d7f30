//! Why a command failed, in the five parts that every error of Mainstay has, and the exit code that says it to programs.

use std::fmt;
use std::process::ExitCode;

use crate::commands::explain;

/// Exit codes (docs/reference/cli.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It failed.
    Failed,
    /// The command line is wrong.
    Usage,
    /// There is no such thing.
    NotFound,
    /// There was, and it is over.
    Gone,
    /// Not allowed.
    Denied,
    /// The state of things forbids it.
    Refused,
    /// It took too long.
    TimedOut,
    /// Nothing answers.
    Unreachable,
}

impl Exit {
    /// The code for the shell.
    #[must_use]
    pub fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound | Self::Gone => 3,
            Self::Denied => 4,
            Self::Refused => 5,
            Self::TimedOut => 6,
            Self::Unreachable => 7,
        })
    }
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What it means to programs.
    pub exit: Exit,
    /// Its code, such as MS-U001; empty where the text already carries one.
    pub code: String,
    /// What.
    pub what: String,
    /// Why, with numbers.
    pub why: Option<String>,
    /// The way out.
    pub fix: Option<String>,
}

impl Failure {
    /// A failure with its code.
    pub fn new(exit: Exit, code: &str, what: impl Into<String>) -> Self {
        Self { exit, code: code.into(), what: what.into(), why: None, fix: None }
    }

    /// A command does not take a flag, for this reason.
    pub fn flag(what: &str) -> Self {
        Self::new(Exit::Usage, "MS-U050", what)
    }

    /// Adds why.
    #[must_use]
    pub fn why(mut self, why: impl fmt::Display) -> Self {
        self.why = Some(why.to_string());
        self
    }

    /// Adds the way out.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.code.is_empty() {
            write!(f, "{}", self.what)?;
        } else {
            write!(f, "error {}: {}", self.code, self.what)?;
        }
        if let Some(why) = &self.why {
            write!(f, "\n  why: {why}")?;
        }
        if let Some(fix) = &self.fix {
            write!(f, "\n  fix: {fix}")?;
        }
        if !self.code.is_empty() {
            write!(f, "\n  more: mainstay explain {}", self.code)?;
        }
        Ok(())
    }
}

/// A failure of a part, whose reason is the chain of its causes. It carries the code of the innermost cause that has
/// one, and that code's way out: what happened is worth more than where it was noticed.
pub fn failed(what: &str, error: &dyn std::error::Error) -> Failure {
    failed_as(what, error, "MS-U021")
}

/// The same of an error that has a code of its own, where none of its causes has one.
pub fn failed_as(what: &str, error: &dyn std::error::Error, code: &str) -> Failure {
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        why = format!("{why}: {error}");
        cause = error.source();
    }
    let code = last_code(&why).unwrap_or(code).to_owned();
    let mut failure = Failure::new(Exit::Failed, &code, what).why(why);
    failure.fix = explain::mend(&code).map(str::to_owned);
    failure
}

/// The last code in a text, written as errors write it: `(MS-J001)`.
fn last_code(text: &str) -> Option<&str> {
    let (_, rest) = text.rsplit_once("(MS-")?;
    let digits = rest.find(')')?;
    let start = text.len() - rest.len() - "MS-".len();
    text.get(start..start + "MS-".len() + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_code_is_the_one_that_is_told() {
        let rows = [
            ("disk full (MS-J004)", Some("MS-J004")),
            ("open (MS-J002): in use (MS-J001): errno 11", Some("MS-J001")),
            ("nothing", None),
            ("(MS-", None),
        ];
        for (text, code) in rows {
            assert_eq!(last_code(text), code, "{text}");
        }
    }

    #[test]
    fn a_failed_part_says_the_way_out_of_its_cause() {
        let failure = failed("the journal does not open", &std::io::Error::other("in use (MS-J001)"));
        assert_eq!(failure.code, "MS-J001");
        assert!(failure.fix.is_some());
    }
}
