//! `mainstay server`.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::{every, segment};
use crate::arguments::{Format, ServerVerb};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{self, Column};

const COLUMNS: &[Column] = &[
    ("id", "/display"),
    ("status", "/status"),
    ("process", "/process"),
    ("pid", "/pid"),
    ("fleet", "/fleetName"),
    ("machine", "/machineDisplay"),
    ("ip", "/ip"),
    ("port", "/port"),
    ("query port", "/queryPort"),
    ("build configuration", "/buildConfigurationName"),
    ("allocation", "/allocationId"),
    ("held until", "/heldUntil"),
    ("detail", "/detail"),
];

pub fn run(verb: &ServerVerb, data_dir: &Path, format: Format) -> Result<ExitCode, Failure> {
    let client = Client::of(data_dir)?;
    match verb {
        ServerVerb::List { fleet, status } => {
            let filters: Vec<String> = [("fleet", fleet), ("status", status)]
                .into_iter()
                .filter_map(|(name, value)| Some(format!("{name}={}", segment(value.as_ref()?))))
                .collect();
            let query = if filters.is_empty() { String::new() } else { format!("?{}", filters.join("&")) };
            output::list(&every(&client, &format!("/v1/servers{query}"))?, COLUMNS, format)?;
        }
        ServerVerb::Get { id } => output::one(&client.get(&path(id))?, format)?,
        ServerVerb::Start { id } => act(&client, id, "start", format)?,
        ServerVerb::Stop { id } => act(&client, id, "stop", format)?,
        ServerVerb::Restart { id } => act(&client, id, "restart", format)?,
        ServerVerb::Release { id } => act(&client, id, "release", format)?,
        ServerVerb::Logs { id, lines } => {
            output::write(&client.get_text(&format!("{}/logs?lines={lines}", path(id)))?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn act(client: &Client, id: &str, action: &str, format: Format) -> Result<(), Failure> {
    client.post(&format!("{}/actions", path(id)), &json!({ "action": action }))?;
    output::one(&client.get(&path(id))?, format)
}

fn path(id: &str) -> String {
    format!("/v1/servers/{}", segment(id))
}
