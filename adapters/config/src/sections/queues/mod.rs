//! `queues`: what matches players, in our words or as PlayFab's JSON pasted whole.
//!
//! YAML contains JSON, so one reader takes both; and PlayFab's own reader, which the calls over HTTP go through too, turns
//! them into rules. So a queue means the same by whichever door it came.

mod json;
mod shape;

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_matchmaking::spec::{Fault, QueueSpec};
use mainstay_wire::playfab::queue::MatchmakingQueueConfig;
use serde_json::Value as Json;

use self::json::Reading;
use crate::codes::Code;
use crate::model::Queue;
use crate::place::{Place, Sourced};
use crate::problem::{Problem, quote};
use crate::read::{Check, not_yet};
use crate::tree::{Node, Value};

/// What PlayFab's calls wrap a queue in.
const WRAPPER: &str = "MatchmakingQueue";

/// The name of a queue, as it is written.
pub(crate) fn name(node: &Node) -> Option<&Node> {
    entry(unwrapped(node), "Name")
}

/// A queue, if it is one that can be matched.
pub(crate) fn queue(check: &mut Check<'_>, name: Sourced<String>, key: &Node, node: &Node) -> Option<Queue> {
    let owner = format!("queue {}", quote(&name.value));
    let before = check.problems.len() + check.left_out;
    let mut reading = Reading { check, owner, places: BTreeMap::new() };
    let read = reading.object(&shape::QUEUE, &key.place, unwrapped(node));
    reading.servers_are_not_yet(&read, key);
    let Reading { owner, places, .. } = reading;
    let spec = match spec(read) {
        Ok(spec) => spec,
        // A key that was refused is missing now, which is no second problem.
        Err(_) if check.problems.len() + check.left_out > before => return None,
        Err(faults) => {
            for fault in faults {
                told(check, &owner, &places, &key.place, &fault);
            }
            return None;
        }
    };
    Some(Queue { name, spec: Arc::new(spec) })
}

impl Reading<'_, '_> {
    fn servers_are_not_yet(&mut self, read: &serde_json::Map<String, Json>, key: &Node) {
        let asked = read.get("ServerAllocationEnabled") == Some(&Json::Bool(true));
        for name in ["serverAllocationEnabled", "allocate"] {
            let Some(place) = self.places.get(name).filter(|_| asked || name == "allocate") else { continue };
            let key = Node { place: place.clone(), value: key.value.clone() };
            not_yet(self.check, &self.owner, &key, name, "give each match a server of a fleet");
        }
    }
}

fn spec(read: serde_json::Map<String, Json>) -> Result<QueueSpec, Vec<Fault>> {
    let unreadable = |error: serde_json::Error| vec![Fault { place: String::new(), what: error.to_string() }];
    let config = MatchmakingQueueConfig::read(Json::Object(read)).map_err(unreadable)?;
    QueueSpec::new(config.declared(Vec::new(), None)?)
}

fn told(check: &mut Check<'_>, owner: &str, places: &BTreeMap<String, Place>, whole: &Place, fault: &Fault) {
    let at = places.get(&fault.place).unwrap_or(whole);
    check.report(|sources| {
        let what = if fault.place.is_empty() { String::new() } else { format!(": {}", fault.place) };
        Problem::new(Code::BadQueue, format!("{owner} cannot match as it is written{what}"))
            .at(sources, at, "does not work out")
            .why(fault.what.clone())
            .fix("change it here; docs/reference/queues.md has the limits of every field")
    });
}

/// The queue itself, where a paste has it in the wrapper of PlayFab's call.
fn unwrapped(node: &Node) -> &Node {
    entry(node, WRAPPER).unwrap_or(node)
}

fn entry<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    let Value::Map(entries) = &node.value else { return None };
    let named = |key: &Node| match &key.value {
        Value::Scalar(text) => json::first(text, char::to_ascii_uppercase) == name,
        Value::Null | Value::List(_) | Value::Map(_) => false,
    };
    entries.iter().find(|(key, _)| named(key)).map(|(_, node)| node)
}

#[cfg(test)]
pub(super) fn keys() -> impl Iterator<Item = String> {
    let shapes = shape::RULES.iter().map(|(_, shape)| *shape).chain([&shape::QUEUE]);
    shapes.flat_map(|shape| shape.keys).map(|(key, _)| json::first(key, char::to_ascii_lowercase))
}
