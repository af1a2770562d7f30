//! `mainstay session`: games that players host.

use std::process::ExitCode;

use super::sure::sure;
use super::{every, segment};
use crate::arguments::{Output, SessionVerb};
use crate::client::Client;
use crate::failure::Failure;
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
    ("peer", "/peer"),
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
            sure(&format!("throw {peer} out of session {} for ever", session.id), &client, format)?;
            client.delete(&format!("{}/members/{}", path(&session.id), segment(peer)))?;
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
