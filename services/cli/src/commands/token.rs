//! `mainstay token`.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::{every, segment};
use crate::arguments::{Output, Reader, TokenVerb};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{self, Column};

const COLUMNS: &[Column] = &[
    ("id", "/id"),
    ("state", "/state"),
    ("expires", "/expiresAt"),
    ("left", "/usesLeft"),
    ("uses", "/uses"),
    ("fleet", "/fleetId"),
    ("region", "/regionId"),
];

pub fn run(verb: &TokenVerb, data_dir: &Path, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(data_dir)?;
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
    let beyond = client.ports().listening.agents.iter().find(|url| url.starts_with("https"));
    let (uses, until) = (&made["uses"], made["expiresAt"].as_str().unwrap_or_default());
    eprintln!(
        "good for {uses} machines until {until}; this is the only time it is shown. On the other machine:"
    );
    match beyond {
        Some(url) => eprintln!(
            "  mainstay agent --join {} --token-file FILE",
            url.replace("[::]", "HOST").replace("0.0.0.0", "HOST")
        ),
        None => eprintln!(
            "  this instance is heard on its own host alone: start it with --listen :: so that other machines reach it"
        ),
    }
    Ok(())
}
