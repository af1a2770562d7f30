//! `mainstay match`: who plays with whom, and where.

use std::process::ExitCode;

use super::every;
use super::queue::{MATCHES, found, meant};
use serde_json::Value;

use crate::arguments::{MatchVerb, Output};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{self, Column, Shape};
use crate::target::Target;

const COLUMNS: &[Column] = &[
    ("match", "/id"),
    ("formed", "/formed"),
    ("players", "/players"),
    ("regions", "/regions"),
    ("ip", "/server/ipv4Address"),
    ("server", "/server/serverId"),
];

const STEPS: &[Column] = &[("after s", "/afterSeconds"), ("what", "/what"), ("of", "/of"), ("at", "/at")];

/// The history is written behind what happens, some moments later.
const NOT_TOLD_YET: &str = "The history has nothing of it yet: ask again in a second.\n";

pub fn run(verb: &MatchVerb, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
    match verb {
        MatchVerb::List(of) => {
            let path = format!("{}/matches", meant(&client, of)?);
            output::look(&Shape::Rows(COLUMNS), format, &|| every(&client, &path))?;
        }
        MatchVerb::Get(one) => {
            let path = found(&client, one, MATCHES)?;
            output::look(&Shape::One, format, &|| client.get(&path))?;
        }
        MatchVerb::Waterfall(one) => {
            let path = format!("{}/waterfall", found(&client, one, MATCHES)?);
            let words = |told: &Value| match told["steps"].as_array() {
                Some(steps) if steps.is_empty() => NOT_TOLD_YET.to_owned(),
                Some(_) | None => output::table(&told["steps"], STEPS, format),
            };
            output::look(&Shape::Words(&words), format, &|| client.get(&path))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
