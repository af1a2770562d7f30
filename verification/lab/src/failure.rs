//! Why the laboratory could not be set up, and running the programs that set it up.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How much of what a failed program said is shown, in characters from the end.
const SAID_MAX: usize = 2_000;

/// Why there is no laboratory.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A program could not be run, or failed.
    #[error("`{program}` {how}; ./check installs what the laboratory needs")]
    Program {
        /// Its name.
        program: String,
        /// What happened, with the end of what it said.
        how: String,
    },
    /// A file could not be made or read.
    #[error("cannot {what} {}", path.display())]
    Files {
        /// What was attempted.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A program's answer has not what it should have.
    #[error("{0}")]
    Missing(String),
}

/// For `map_err`: an error about a file.
pub(crate) fn files(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LabError {
    let path = path.to_owned();
    move |source| LabError::Files { what, path, source }
}

/// Runs a program to its end and gives its standard output.
pub(crate) fn run(command: &mut Command) -> Result<String, LabError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |how: String| LabError::Program { program: program.clone(), how };
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| failed(format!("does not run: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let said = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
    Err(failed(format!("ended with {}, saying:\n{}", output.status, tail(&said, SAID_MAX))))
}

/// The last characters of a text.
#[must_use]
pub fn tail(text: &str, characters: usize) -> &str {
    let skipped = text.chars().count().saturating_sub(characters);
    text.char_indices().nth(skipped).map_or("", |(at, _)| &text[at..])
}
