//! `mainstay bench`.

use std::process::ExitCode;

use crate::arguments::Passed;
use crate::failure::Failure;

pub fn run(arguments: &Passed) -> Result<ExitCode, Failure> {
    Ok(mainstay_bench::main(&arguments.arguments))
}
