//! `mainstay fleet`.

use std::process::ExitCode;

use super::{every, segment};
use crate::arguments::{Look, Output};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{self, Column, Shape};
use crate::target::Target;

const COLUMNS: &[Column] = &[
    ("name", "/name"),
    ("id", "/id"),
    ("status", "/status"),
    ("regions", "/regions"),
    ("build configurations", "/buildConfigurations"),
    ("servers", "/servers/total"),
    ("allocated", "/servers/allocated"),
    ("online", "/servers/online"),
    ("available", "/servers/available"),
];

pub fn run(verb: &Look, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
    match verb {
        Look::List => output::look(&Shape::Rows(COLUMNS), format, &|| every(&client, "/v1/fleets"))?,
        Look::Get { id } => {
            output::look(&Shape::One, format, &|| client.get(&format!("/v1/fleets/{}", segment(id))))?
        }
    }
    Ok(ExitCode::SUCCESS)
}
