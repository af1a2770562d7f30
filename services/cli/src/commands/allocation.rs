//! `mainstay allocation`. Creating waits until the server plays, because that is what a person wants to know.

use std::fs;
use std::io::{self, Read as _};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use mainstay_fleet::Request;
use serde_json::{Value, json};

use super::sure::sure;
use super::{every, segment};
use crate::arguments::{AllocationVerb, CreateArguments, Output};
use crate::client::Client;
use crate::failure::{Exit, Failure};
use crate::output::{self, Column, Shape};
use crate::target::Target;
use crate::up::data;

const COLUMNS: &[Column] = &[
    ("allocation", "/allocationId"),
    ("state", "/state"),
    ("fleet", "/fleetName"),
    ("server", "/serverDisplay"),
    ("ip", "/ipv4"),
    ("port", "/gamePort"),
    ("requested", "/requested"),
    ("fulfilled", "/fulfilled"),
    ("ended", "/ended"),
    ("why", "/endReason"),
];

/// How often a waiting allocation is looked at.
const POLL: Duration = Duration::from_millis(50);

pub fn run(verb: &AllocationVerb, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
    match verb {
        AllocationVerb::List { fleet } => {
            let filter = fleet.as_ref().map(|fleet| format!("?fleet={}", segment(fleet))).unwrap_or_default();
            output::look(&Shape::Rows(COLUMNS), format, &|| {
                every(&client, &format!("/v1/allocations{filter}"))
            })?;
        }
        AllocationVerb::Get { id } => output::look(&Shape::One, format, &|| client.get(&path(id)))?,
        AllocationVerb::Create(arguments) => create(&client, arguments, format)?,
        AllocationVerb::Delete { id } => {
            sure(&format!("end allocation {id}, whoever plays on its server"), &client, format)?;
            client.delete(&path(id))?;
            output::one(&client.get(&path(id))?, format)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn create(client: &Client, arguments: &CreateArguments, format: &Output) -> Result<(), Failure> {
    let id = match &arguments.id {
        Some(id) => id.clone(),
        None => data::uuid()?.to_string(),
    };
    let body = json!({
        "allocationId": id,
        "fleet": arguments.fleet,
        "region": arguments.region,
        "buildConfiguration": arguments.build_configuration,
        "payload": payload(arguments.payload.as_deref())?,
        "restart": arguments.restart,
    });
    client.post("/v1/allocations", &body)?;
    let began = Instant::now();
    loop {
        let allocation = client.get(&path(&id))?;
        match allocation.get("state").and_then(Value::as_str) {
            Some("waiting" | "placed") if !arguments.no_wait => {}
            Some("failed") => return Err(failed(&allocation)),
            Some(_) | None => return output::one(&allocation, format),
        }
        if began.elapsed() > Duration::from_secs(arguments.timeout) {
            return Err(Failure::new(
                Exit::TimedOut,
                "MS-U004",
                format!("allocation {id} does not play yet"),
            )
            .why(format!("waited {} s; it is {}", arguments.timeout, allocation["state"]))
            .fix(format!(
                "look again: mainstay allocation get {id}; give it up: mainstay allocation delete {id}"
            )));
        }
        thread::sleep(POLL);
    }
}

fn failed(allocation: &Value) -> Failure {
    let text = |field: &str| allocation.get(field).and_then(Value::as_str).unwrap_or("-").to_owned();
    let (exit, fix) = match allocation.get("serverDisplay").and_then(Value::as_str) {
        Some(server) => (Exit::Failed, format!("look at the server's output: mainstay server logs {server}")),
        None => {
            let fix = "free a server, raise maxServers, or let machines join: mainstay fleet get FLEET shows what there is";
            (Exit::TimedOut, fix.to_owned())
        }
    };
    Failure::new(exit, "MS-U005", format!("allocation {} failed", text("allocationId")))
        .why(text("endReason"))
        .fix(fix)
}

fn payload(given: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(given) = given else { return Ok(None) };
    let text = match given.strip_prefix('@') {
        Some(file) => read(file).map_err(|error| {
            Failure::new(Exit::Usage, "MS-U006", format!("cannot read {file}")).why(error)
        })?,
        None => given.to_owned(),
    };
    if text.len() > Request::PAYLOAD_MAX {
        return Err(Failure::new(Exit::Usage, "MS-U017", "the payload is too large")
            .why(format!("it has more than {} bytes", Request::PAYLOAD_MAX))
            .fix("keep it small, and let the game fetch the rest"));
    }
    Ok(Some(text))
}

/// At most one byte more than is allowed: enough to see that it is too much.
fn read(file: &str) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(file)?.take(Request::PAYLOAD_MAX as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

fn path(id: &str) -> String {
    format!("/v1/allocations/{}", segment(id))
}
