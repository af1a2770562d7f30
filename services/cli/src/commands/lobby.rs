//! `mainstay lobby`: whose sessions migrate.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::{every, segment};
use crate::arguments::{LobbyVerb, OnOff, Output};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{self, Column};

const COLUMNS: &[Column] = &[
    ("service", "/service"),
    ("host migration", "/supportsHostMigration"),
    ("lease s", "/leaseSeconds"),
    ("key", "/lobbyKey"),
];

pub fn run(verb: &LobbyVerb, data_dir: &Path, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(data_dir)?;
    match verb {
        LobbyVerb::List => output::list(&every(&client, "/v1/lobbies")?, COLUMNS, format)?,
        LobbyVerb::Get { service } => output::one(&client.get(&path(service))?, format)?,
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
