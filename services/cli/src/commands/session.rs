//! `mainstay session`: games that players host.

use std::process::ExitCode;

use super::sure::sure;
use super::{every, segment};
use crate::arguments::{Output, SessionVerb};
use crate::client::Client;
use crate::failure::{Exit, Failure};
use crate::follow::Follow;
use crate::output::{self, Column, Shape};
use crate::target::Target;

const COLUMNS: &[Column] = &[
    ("session", "/id"),
    ("service", "/service"),
    ("name", "/name"),
    ("phase", "/phase"),
    ("epoch", "/epoch"),
    ("lease", "/lease"),
    ("free", "/free"),
    ("members", "/members"),
];
const MEMBERS: &[Column] = &[
    ("id", "/id"),
    ("player", "/player"),
    ("can be host", "/canBeHost"),
    ("joined", "/joined"),
    ("addresses", "/addresses"),
];

pub fn run(verb: &SessionVerb, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
    match verb {
        SessionVerb::List => output::look(&Shape::Rows(COLUMNS), format, &|| every(&client, "/v1/sessions"))?,
        SessionVerb::Get(session) => output::follow(Follow::of(&client, path(&session.id)), format)?,
        SessionVerb::Candidates(session) => {
            output::list(&client.get(&path(&session.id))?["members"], MEMBERS, format)?;
        }
        SessionVerb::Kick { session, peer } => {
            let key = key_of(&client, &session.id, peer)?;
            sure(&format!("throw {peer} out of session {} for ever", session.id), &client, format)?;
            client.delete(&format!("{}/members/{}", path(&session.id), segment(&key)))?;
        }
        SessionVerb::End(session) => {
            sure(&format!("end session {} for everybody in it", session.id), &client, format)?;
            client.delete(&path(&session.id))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn path(session: &str) -> String {
    format!("/v1/sessions/{}", segment(session))
}

/// The least that is taken for the beginning of an id: as much as the demo shows of one.
const ID_DIGITS_MIN: usize = 8;
/// How long an id is; a key is longer.
const ID_DIGITS: usize = 32;

/// The key of a member. Whoever is no member any more can be thrown out by its key alone.
fn key_of(client: &Client, session: &str, peer: &str) -> Result<String, Failure> {
    if peer.len() > ID_DIGITS || !peer.bytes().all(|it| it.is_ascii_hexdigit()) {
        return Ok(peer.to_owned());
    }
    if peer.len() < ID_DIGITS_MIN {
        let what = format!("`{peer}` is too little of a member's id");
        let fix =
            format!("write {ID_DIGITS_MIN} digits of it or more: mainstay session candidates {session}");
        return Err(Failure::new(Exit::Usage, "MS-U064", what).fix(fix));
    }
    let known = client.get(&path(session))?;
    let members = known["members"].as_array().into_iter().flatten();
    let begin = peer.to_ascii_lowercase();
    let mut meant = members.filter(|it| it["id"].as_str().is_some_and(|id| id.starts_with(&begin)));
    match (meant.next().and_then(|it| it["peer"].as_str()), meant.next()) {
        (Some(key), None) => Ok(key.to_owned()),
        (Some(_), Some(_)) => {
            let what = format!("the ids of several members of session {session} begin with {peer}");
            Err(Failure::new(Exit::Usage, "MS-U064", what).fix("write more of it"))
        }
        (None, _) => {
            let what = format!("nobody in session {session} has an id that begins with {peer}");
            Err(Failure::new(Exit::NotFound, "MS-U064", what).fix(format!(
                "mainstay session candidates {session}; who has gone meanwhile is named by its key"
            )))
        }
    }
}
