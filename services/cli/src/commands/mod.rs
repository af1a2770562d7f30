//! The commands that speak to a running instance or to files, one noun a file.

pub mod account;
pub mod agent;
pub mod allocation;
pub mod apply;
pub mod backfill;
pub mod bench;
pub mod check;
pub mod context;
pub mod demo;
pub mod doctor;
pub mod draw;
pub mod explain;
pub mod fleet;
pub mod lobby;
pub mod machine;
pub mod matches;
pub mod queue;
pub mod server;
pub mod session;
pub mod show;
pub mod status;
mod sure;
pub mod ticket;
pub mod token;

use serde_json::Value;

use crate::client::Client;
use crate::failure::{Exit, Failure};

/// How many rows a page has; the API's most.
const PAGE: u32 = 500;

/// Every page of a list.
fn every(client: &Client, path: &str) -> Result<Value, Failure> {
    let mut rows = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let joint = if path.contains('?') { '&' } else { '?' };
        let after = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let page = client.get(&format!("{path}{joint}limit={PAGE}{after}"))?;
        rows.extend(page.get("items").and_then(Value::as_array).into_iter().flatten().cloned());
        cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        if cursor.is_none() {
            return Ok(Value::Array(rows));
        }
    }
}

/// Whether there is something: an id of another kind is refused, and is none either.
fn is_there(client: &Client, path: &str) -> Result<bool, Failure> {
    match client.get(path) {
        Ok(_) => Ok(true),
        Err(failure) => match failure.exit {
            Exit::NotFound | Exit::Usage => Ok(false),
            Exit::Failed | Exit::Gone | Exit::Denied | Exit::Refused | Exit::TimedOut | Exit::Unreachable => {
                Err(failure)
            }
        },
    }
}

/// A path segment: what a person typed, percent-encoded.
fn segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}
