//! `mainstay explain`: what a code means, and the way out. The page of codes is part of the binary.

use std::process::ExitCode;

use crate::failure::{Exit, Failure};
use crate::output;

const CODES: &str = include_str!("../../../../docs/reference/error-codes.md");

pub fn run(code: &str) -> Result<ExitCode, Failure> {
    let wanted = code.to_uppercase();
    let text = mainstay_config::explain(&wanted).map(str::to_owned).or_else(|| row(&wanted));
    match text {
        Some(text) => output::write(&format!("{wanted}\n  {text}\n"))?,
        None => {
            return Err(Failure::new(Exit::NotFound, "MS-U007", format!("no error has the code {wanted}"))
                .fix("codes look like MS-P006; the page of all: docs/reference/error-codes.md"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The row of a code in the page's tables.
fn row(code: &str) -> Option<String> {
    let line = CODES
        .lines()
        .find(|line| line.contains(&format!("| {code} |")) || line.contains(&format!("`{code}`")))?;
    let cells = line.split('|').map(str::trim).filter(|cell| !cell.is_empty() && !cell.contains(code));
    Some(cells.collect::<Vec<_>>().join("\n  "))
}
