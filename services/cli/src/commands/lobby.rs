//! `mainstay lobby`: whose sessions migrate.

use std::process::ExitCode;

use serde_json::json;

use super::{every, segment};
use crate::arguments::{LobbyVerb, OnOff, Output};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{self, Column, Shape};
use crate::target::Target;

const COLUMNS: &[Column] = &[
    ("service", "/service"),
    ("host migration", "/supportsHostMigration"),
    ("lease s", "/leaseSeconds"),
    ("key", "/lobbyKey"),
];

pub fn run(verb: &LobbyVerb, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
    match verb {
        LobbyVerb::List => output::look(&Shape::Rows(COLUMNS), format, &|| every(&client, "/v1/lobbies"))?,
        LobbyVerb::Get { service } => output::look(&Shape::One, format, &|| client.get(&path(service)))?,
        LobbyVerb::Set { service, supports_host_migration } => {
            let body = json!({ "supportsHostMigration": *supports_host_migration == OnOff::On });
            client.put(&path(service), "application/json", None, body.to_string().as_bytes())?;
            output::one(&client.get(&path(service))?, format)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn path(service: &str) -> String {
    format!("/v1/lobbies/{}", segment(service))
}
