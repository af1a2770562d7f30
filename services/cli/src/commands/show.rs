//! `mainstay show`: whatever has an id, for who has nothing else of it.

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

use super::{every, segment};
use crate::arguments::Output;
use crate::client::Client;
use crate::failure::{Exit, Failure};
use crate::output::{self, Shape};

/// What has ids or names, and where it is asked about; in the order in which one is looked for.
const KINDS: [(&str, &str); 6] = [
    ("server", "/v1/servers"),
    ("allocation", "/v1/allocations"),
    ("machine", "/v1/machines"),
    ("fleet", "/v1/fleets"),
    ("session", "/v1/sessions"),
    ("queue", "/v1/queues"),
];

/// What queues have, likewise.
const OF_QUEUES: [(&str, &str); 2] = [("ticket", "tickets"), ("match", "matches")];

pub fn run(id: &str, data_dir: &Path, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(data_dir)?;
    let (kind, path) = place(&client, id)?;
    output::look(&Shape::One, format, &|| {
        let mut found = client.get(&path)?;
        if let Some(fields) = found.as_object_mut() {
            fields.insert("kind".to_owned(), kind.into());
        }
        Ok(found)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What it is, and where.
fn place(client: &Client, id: &str) -> Result<(&'static str, String), Failure> {
    for (kind, nouns) in KINDS {
        let path = format!("{nouns}/{}", segment(id));
        if found(client.get(&path))? {
            return Ok((kind, path));
        }
    }
    let queues = every(client, "/v1/queues")?;
    for queue in queues.as_array().into_iter().flatten().filter_map(|queue| queue["name"].as_str()) {
        for (kind, nouns) in OF_QUEUES {
            let path = format!("/v1/queues/{}/{nouns}/{}", segment(queue), segment(id));
            if found(client.get(&path))? {
                return Ok((kind, path));
            }
        }
    }
    let what = format!("nothing has the id or name {id}");
    let fix = "lists show ids: mainstay server list, mainstay ticket list; tickets and matches that ended are remembered for some minutes";
    Err(Failure::new(Exit::NotFound, "MS-U048", what)
        .why("no server, allocation, machine, fleet, session, queue, ticket or match answers to it")
        .fix(fix))
}

/// Whether there is such a thing: an id of another kind is refused, and is none either.
fn found(asked: Result<Value, Failure>) -> Result<bool, Failure> {
    match asked {
        Ok(_) => Ok(true),
        Err(failure) => match failure.exit {
            Exit::NotFound | Exit::Usage => Ok(false),
            Exit::Failed | Exit::Denied | Exit::Refused | Exit::TimedOut | Exit::Unreachable => Err(failure),
        },
    }
}
