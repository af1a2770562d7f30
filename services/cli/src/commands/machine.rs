//! `mainstay machine`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::sure::sure;
use super::{every, segment};
use crate::arguments::{MachineVerb, Output};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{self, Column, Shape};
use crate::target::Target;

const COLUMNS: &[Column] = &[
    ("id", "/display"),
    ("name", "/name"),
    ("fleet", "/fleetName"),
    ("region", "/regionName"),
    ("status", "/state"),
    ("life", "/life"),
    ("agent", "/status"),
    ("ip", "/ipv4"),
    ("ipv6", "/ipv6"),
    ("servers", "/servers/total"),
    ("allocated", "/servers/allocated"),
    ("online", "/servers/online"),
    ("available", "/servers/available"),
];

pub fn run(verb: &MachineVerb, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
    match verb {
        MachineVerb::List => output::look(&Shape::Rows(COLUMNS), format, &|| every(&client, "/v1/machines"))?,
        MachineVerb::Get { id } => {
            output::look(&Shape::One, format, &|| client.get(&format!("/v1/machines/{}", segment(id))))?
        }
        MachineVerb::Drain { id } => act(&client, id, "drain", format)?,
        MachineVerb::Undrain { id } => act(&client, id, "undrain", format)?,
        MachineVerb::Remove { id } => {
            sure(&format!("take machine {id} out of its fleet"), &client, format)?;
            act(&client, id, "remove", format)?;
        }
        MachineVerb::Revoke { id } => {
            sure(&format!("end the credential of machine {id}"), &client, format)?;
            client.post(&format!("/v1/machines/{}/revoke", segment(id)), &Value::Null)?;
            output::one(&client.get(&format!("/v1/machines/{}", segment(id)))?, format)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Says whether it is done, or waits for somebody to go.
fn act(client: &Client, id: &str, action: &str, format: &Output) -> Result<(), Failure> {
    let path = format!("/v1/machines/{}/actions", segment(id));
    let answer = client.post(&path, &json!({ "action": action }))?;
    let deferred = answer["deferred"].as_bool().unwrap_or(false);
    let told = json!({ "id": id, "action": action, "deferred": deferred });
    output::one(&told, format)
}
