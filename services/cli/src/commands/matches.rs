//! `mainstay match`: who plays with whom, and where.

use std::path::Path;
use std::process::ExitCode;

use super::queue::meant;
use super::{every, segment};
use crate::arguments::{MatchVerb, Output};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{self, Column};

const COLUMNS: &[Column] = &[
    ("match", "/id"),
    ("formed", "/formed"),
    ("players", "/players"),
    ("regions", "/regions"),
    ("ip", "/server/ipv4Address"),
    ("server", "/server/serverId"),
];

const STEPS: &[Column] = &[("after s", "/afterSeconds"), ("what", "/what"), ("of", "/of"), ("at", "/at")];

pub fn run(verb: &MatchVerb, data_dir: &Path, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(data_dir)?;
    match verb {
        MatchVerb::List(of) => {
            let matches = every(&client, &format!("{}/matches", meant(&client, of)?))?;
            output::list(&matches, COLUMNS, format)?;
        }
        MatchVerb::Get(one) => {
            let path = format!("{}/matches/{}", meant(&client, &one.of)?, segment(&one.id));
            output::one(&client.get(&path)?, format)?;
        }
        MatchVerb::Waterfall(one) => {
            let path = format!("{}/matches/{}/waterfall", meant(&client, &one.of)?, segment(&one.id));
            let told = client.get(&path)?;
            output::told(&told, &|told| output::table(&told["steps"], STEPS), format)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
