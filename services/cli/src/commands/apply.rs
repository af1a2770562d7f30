//! `mainstay apply`: a file's configuration becomes a running instance's.

use std::process::ExitCode;

use serde_json::Value;

use super::segment;
use crate::arguments::{ApplyArguments, Output};
use crate::client::Client;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::target::Target;

pub fn run(arguments: &ApplyArguments, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
    let unreadable = |error: std::io::Error| {
        Failure::new(Exit::Usage, "MS-U006", format!("cannot read {}", arguments.file.display())).why(error)
    };
    let text = std::fs::read(&arguments.file).map_err(unreadable)?;
    // Relative build paths count from the file's own folder, wherever the control plane was started.
    let name = std::path::absolute(&arguments.file).map_err(unreadable)?;
    let dry_run = if arguments.dry_run { "&dryRun=true" } else { "" };
    let path = format!("/v1/configuration?name={}{dry_run}", segment(&name.to_string_lossy()));
    let taken = client.put(&path, "application/yaml", arguments.if_revision, &text)?;
    for warning in taken["warnings"].as_array().into_iter().flatten() {
        eprintln!("{}", one_line(warning));
    }
    output::one(&taken, format)?;
    Ok(ExitCode::SUCCESS)
}

/// A problem of a configuration in one line: its code, what it is, where, and how it is mended.
pub fn one_line(problem: &Value) -> String {
    let text = |pointer: &str| problem.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let number = |pointer: &str| problem.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    let place = match text("/places/0/file") {
        "" => String::new(),
        file => format!(" at {file}:{}:{}", number("/places/0/line"), number("/places/0/column")),
    };
    let fix = match text("/fix") {
        "" => String::new(),
        fix => format!("; fix: {fix}"),
    };
    let kind = match (text("/severity"), text("/code"), text("/place")) {
        ("", "", place) => place.to_owned(),
        (severity, code, _) => format!("{severity} {code}"),
    };
    format!("{kind}: {}{place}{fix}", text("/what"))
}
