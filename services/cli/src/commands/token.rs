//! `mainstay token`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::sure::sure;
use super::{every, segment};
use crate::arguments::{Output, Reader, TokenVerb};
use crate::client::{At, Client};
use crate::failure::Failure;
use crate::output::{self, Column};
use crate::target::Target;

const COLUMNS: &[Column] = &[
    ("id", "/id"),
    ("state", "/state"),
    ("expires", "/expiresAt"),
    ("left", "/usesLeft"),
    ("uses", "/uses"),
    ("fleet", "/fleetId"),
    ("region", "/regionId"),
];

pub fn run(verb: &TokenVerb, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
    match verb {
        TokenVerb::Create { ttl, uses, fleet, region, credential_ttl } => {
            let mut body = json!({
                "ttlSeconds": ttl.as_secs(),
                "uses": uses,
                "credentialTtlSeconds": credential_ttl.as_secs(),
            });
            for (name, value) in [("fleet", fleet), ("region", region)] {
                if let Some(value) = value {
                    body[name] = Value::from(value.as_str());
                }
            }
            let made = client.post("/v1/join-tokens", &body)?;
            created(&made, &client, format)?;
        }
        TokenVerb::List => output::list(&every(&client, "/v1/join-tokens")?, COLUMNS, format)?,
        TokenVerb::Revoke { id } => {
            sure(&format!("revoke join token {id}"), &client, format)?;
            client.delete(&format!("/v1/join-tokens/{}", segment(id)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The token alone on standard output, so that `> token` is a token file; what to do with it on standard error.
fn created(made: &Value, client: &Client, format: &Output) -> Result<(), Failure> {
    output::told(made, &|made| format!("{}\n", made["token"].as_str().unwrap_or_default()), format)?;
    if format.reader() == Reader::Program {
        return Ok(());
    }
    let (uses, until) = (&made["uses"], made["expiresAt"].as_str().unwrap_or_default());
    format.hint(&format!(
        "good for {uses} machines until {until}; this is the only time it is shown. On the other machine:"
    ));
    match join(client.at()) {
        Some(url) => format.hint(&format!("  mainstay agent --join {url} --token-file FILE")),
        None => format.hint(
            "  this instance is heard on its own host alone: start it with --listen :: so that other machines reach it"
        ),
    }
    Ok(())
}

/// Where agents on other machines connect; of an instance elsewhere, at the port that is usual.
fn join(at: &At) -> Option<String> {
    match at {
        At::Here(ports) => {
            let beyond = ports.listening.agents.iter().find(|url| url.starts_with("https"));
            beyond.map(|url| url.replace("[::]", "HOST").replace("0.0.0.0", "HOST"))
        }
        At::There(url) => Some(format!("https://{}:7421", url.host())),
    }
}
