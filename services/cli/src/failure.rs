//! Why a command failed, in the five parts that every error of Mainstay has, and the exit code that says it to programs.

use std::fmt;
use std::process::ExitCode;

/// Exit codes (docs/reference/cli.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It failed.
    Failed,
    /// The command line is wrong.
    Usage,
    /// There is no such thing.
    NotFound,
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
            Self::NotFound => 3,
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
