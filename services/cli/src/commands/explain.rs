//! `mainstay explain`: what a code means, and the way out. The page of codes is part of the binary.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::arguments::Output;
use crate::failure::{Exit, Failure};
use crate::output;

const CODES: &str = include_str!("../../../../docs/reference/error-codes.md");

pub fn run(code: &str, format: &Output) -> Result<ExitCode, Failure> {
    let wanted = code.to_uppercase();
    let text = mainstay_config::explain(&wanted).map(str::to_owned).or_else(|| row(&wanted));
    match text {
        Some(text) => {
            let words = |_: &Value| format!("{wanted}\n  {text}\n");
            output::told(&json!({ "code": wanted, "text": text }), &words, format)?;
        }
        None => {
            return Err(Failure::new(Exit::NotFound, "MS-U007", format!("no error has the code {wanted}"))
                .fix("codes look like MS-P006; the page of all: docs/reference/error-codes.md"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The row of a code in the page's table.
fn row(code: &str) -> Option<String> {
    let cells: Vec<&str> = cells(code)?.into_iter().filter(|cell| !cell.is_empty()).collect();
    Some(cells.join("\n  "))
}

/// How to mend what a code stands for, where the page has an answer.
pub fn mend(code: &str) -> Option<&'static str> {
    cells(code)?.get(1).copied().filter(|mend| !mend.is_empty())
}

/// What a code means, and how to mend it.
fn cells(code: &str) -> Option<Vec<&'static str>> {
    let line = CODES.lines().find_map(|line| line.strip_prefix(&format!("| `{code}` |")))?;
    Some(line.trim_end_matches('|').split(" | ").map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_a_meaning_and_where_there_is_one_a_way_out() {
        assert!(row("MS-J001").is_some_and(|text| text.contains("--data-dir")));
        assert!(mend("MS-J001").is_some());
        assert_eq!((row("MS-X999"), mend("MS-X999")), (None, None));
    }
}
