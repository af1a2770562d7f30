//! `mainstay check`: everything that is wrong with configuration files, all at once.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mainstay_config::{Private, Problem, SourceFile, load_here};
use serde_json::{Value, json};

use crate::arguments::{CheckArguments, Output};
use crate::failure::{Exit, Failure};
use crate::output;

pub fn run(arguments: &CheckArguments, data_dir: &Path, format: &Output) -> Result<ExitCode, Failure> {
    let (problems, refused, left_out) = match load_here(&read(&arguments.files)?, &Private::of(data_dir)) {
        Ok(accepted) => (accepted.warnings, false, 0),
        Err(refused) => (refused.problems, true, refused.left_out),
    };
    let found = json!({
        "ok": !refused,
        "leftOut": left_out,
        "problems": problems.iter().map(Problem::report).collect::<Vec<_>>(),
    });
    let words = |_: &Value| {
        let told: String = problems.iter().map(|problem| format!("{problem}\n\n")).collect();
        match left_out {
            0 if problems.is_empty() => "no problems\n".to_owned(),
            0 => told,
            _more => format!("{told}and {left_out} more problems\n"),
        }
    };
    output::told(&found, &words, format)?;
    Ok(if refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Reads files as the configuration takes them.
pub fn read(files: &[PathBuf]) -> Result<Vec<SourceFile>, Failure> {
    let read = |file: &PathBuf| match std::fs::read(file) {
        Ok(bytes) => Ok(SourceFile::new(file.display().to_string(), bytes)),
        Err(error) => {
            Err(Failure::new(Exit::Usage, "MS-U006", format!("cannot read {}", file.display())).why(error))
        }
    };
    files.iter().map(read).collect()
}
