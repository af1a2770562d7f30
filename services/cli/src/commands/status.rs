//! `mainstay status`.

use std::path::Path;
use std::process::ExitCode;

use crate::arguments::Format;
use crate::client::Client;
use crate::failure::Failure;
use crate::output;

pub fn run(data_dir: &Path, format: Format) -> Result<ExitCode, Failure> {
    let client = Client::of(data_dir)?;
    output::one(&client.get("/v1/status")?, format)?;
    Ok(ExitCode::SUCCESS)
}
