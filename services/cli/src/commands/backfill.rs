//! `mainstay backfill`: games that want more players.

use std::process::ExitCode;

use super::queue::{meant, read_json};
use super::ticket::{listed, path};
use super::{every, segment};
use crate::arguments::{BackfillVerb, OneTicket, Output};
use crate::client::Client;
use crate::failure::{Exit, Failure};
use crate::follow::Follow;
use crate::output::{self, Column, Shape};
use crate::target::Target;

const COLUMNS: &[Column] = &[
    ("ticket", "/id"),
    ("status", "/status"),
    ("server", "/server/serverId"),
    ("region", "/server/region"),
    ("players", "/players"),
    ("places", "/places"),
    ("created", "/created"),
    ("match", "/matchId"),
    ("why", "/cancellationReason"),
];

pub fn run(verb: &BackfillVerb, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
    match verb {
        BackfillVerb::List(list) => {
            let path = listed(&client, list, "backfills")?;
            output::look(&Shape::Rows(COLUMNS), format, &|| every(&client, &path))?;
        }
        BackfillVerb::Get(one) => {
            let path = game(&client, one)?;
            output::follow(Follow::of(&client, path), format)?;
        }
        BackfillVerb::Create { of, file } => {
            let queue = meant(&client, of)?;
            output::one(&client.post(&format!("{queue}/backfills"), &read_json(file)?)?, format)?;
        }
        BackfillVerb::Cancel(one) => {
            let path = game(&client, one)?;
            client.delete(&path)?;
            output::one(&client.get(&path)?, format)?;
        }
        BackfillVerb::CancelAll(of_player) => {
            let queue = meant(&client, &of_player.of)?;
            client.delete(&format!("{queue}/backfills?player={}", segment(&of_player.player)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Where a game's ticket is: one of players is not meant.
fn game(client: &Client, one: &OneTicket) -> Result<String, Failure> {
    let path = path(client, one)?;
    if client.get(&path)?.get("server").is_some() {
        return Ok(path);
    }
    let id = &one.id;
    let what = format!("{id} is a ticket of players, and no game's");
    Err(Failure::new(Exit::NotFound, "MS-U048", what).fix(format!("look at it: mainstay ticket get {id}")))
}
