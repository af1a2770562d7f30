//! `mainstay show`: whatever has an id, for who has nothing else of it.

use std::process::ExitCode;

use super::queue::{Kind, MATCHES, TICKETS, names, sought};
use super::{is_there, segment};
use crate::arguments::Output;
use crate::client::Client;
use crate::failure::{Exit, Failure};
use crate::output::{self, Shape};
use crate::target::Target;

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
const OF_QUEUES: [Kind; 2] = [TICKETS, MATCHES];

pub fn run(id: &str, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
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
        if is_there(client, &path)? {
            return Ok((kind, path));
        }
    }
    if let Some(found) = sought(client, &names(client)?, &OF_QUEUES, id)? {
        return Ok(found);
    }
    let what = format!("nothing has the id or name {id}");
    let fix = "lists show ids: mainstay server list, mainstay ticket list; tickets and matches that ended are remembered for some minutes";
    Err(Failure::new(Exit::NotFound, "MS-U048", what)
        .why("no server, allocation, machine, fleet, session, queue, ticket or match answers to it")
        .fix(fix))
}
