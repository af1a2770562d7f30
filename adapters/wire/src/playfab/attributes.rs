//! What the rules of a queue find in a player's attributes.
//!
//! A rule of source `User` has a dotted path into the object that came with the ticket: `Skill`, `nestExample.exp`. One of source
//! `PlayerEntity` has a JSONPath into the player's stored objects, whose first step is the object's name:
//! `$.playerSkill.skillDetail.mu`. Source: *Specifying attributes and matchmaking rules* of PlayFab's documentation.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_matchmaking::spec::{QueueSpec, RuleKind, Source};
use mainstay_matchmaking::{Amount, Attributes, Value as Found};
use serde_json::{Map, Value};

/// What a JSONPath begins with; a path may do without.
pub(super) const ROOT: &str = "$.";

/// A player's stored objects, by name.
pub type Stored = BTreeMap<String, Value>;

/// Reads a player's attributes for the rules of a queue. What is wrong with them, the rules say: here nothing is refused.
#[must_use]
pub fn attributes(spec: &QueueSpec, sent: Option<&Value>, stored: &Stored) -> Attributes {
    let values = spec.rules.iter().map(|rule| {
        let attribute = rule.kind.attribute()?;
        let path = steps(&attribute.path);
        let value = match attribute.source {
            Source::User => at(sent?, path.split('.')),
            Source::PlayerEntity => {
                let (object, rest) =
                    path.split_once('.').map_or((path, None), |(object, rest)| (object, Some(rest)));
                let object = stored.get(object)?;
                rest.map_or(Some(object), |rest| at(object, rest.split('.')))
            }
        };
        value.filter(|value| !value.is_null()).map(|value| found(&rule.kind, value))
    });
    Attributes { raw: sent.map(|sent| sent.to_string().into()), values: values.collect() }
}

/// What of a player's attributes, as they were sent, the rules read where its game looks for more players: all but latencies, since a
/// game is where it is.
#[must_use]
pub fn read_in_a_game(spec: &QueueSpec, sent: &Value) -> Value {
    let mut read = Map::new();
    for kind in spec.rules.iter().map(|rule| &rule.kind).filter(|kind| !is_of_regions(kind)) {
        let Some(attribute) = kind.attribute().filter(|it| it.source == Source::User) else { continue };
        let path = steps(&attribute.path);
        if let Some(value) = at(sent, path.split('.')) {
            put(&mut read, path, value);
        }
    }
    Value::Object(read)
}

/// Puts a value where it was found, beside or over what was found there or below before.
fn put(read: &mut Map<String, Value>, path: &str, value: &Value) {
    let Some((first, rest)) = path.split_once('.') else {
        read.insert(path.to_owned(), value.clone());
        return;
    };
    if let Value::Object(inner) = read.entry(first).or_insert_with(|| Value::Object(Map::new())) {
        put(inner, rest, value);
    }
}

fn steps(path: &str) -> &str {
    path.strip_prefix(ROOT).unwrap_or(path)
}

fn at<'a, 'p>(object: &'a Value, mut path: impl Iterator<Item = &'p str>) -> Option<&'a Value> {
    path.try_fold(object, |value, step| value.get(step))
}

fn found(kind: &RuleKind, value: &Value) -> Found {
    match value {
        Value::String(text) => Found::Text(text.as_str().into()),
        Value::Number(number) => {
            let amount = number.as_f64().and_then(Amount::from_f64);
            amount.map_or(Found::Other("a number beyond what rules compare"), Found::Number)
        }
        Value::Array(values) if is_of_regions(kind) => latencies(values),
        Value::Array(values) => texts(values),
        Value::Object(_) => Found::Other("an object"),
        Value::Bool(_) => Found::Other("true or false"),
        Value::Null => Found::Other("null"),
    }
}

const fn is_of_regions(kind: &RuleKind) -> bool {
    matches!(kind, RuleKind::RegionSelection { .. })
}

fn texts(values: &[Value]) -> Found {
    let texts: Option<Arc<[Arc<str>]>> = values.iter().map(|value| value.as_str().map(Arc::from)).collect();
    texts.map_or(Found::Other("a list of something else"), Found::Texts)
}

/// "An array of objects with the two fields region and latency"; a latency is a number of milliseconds. Of what is no such array, the
/// first fault is told.
fn latencies(values: &[Value]) -> Found {
    let measured: Result<Arc<[_]>, _> = values.iter().map(measured).collect();
    measured.map_or_else(Found::Other, Found::Latencies)
}

fn measured(element: &Value) -> Result<(Arc<str>, u32), &'static str> {
    let fields = element.as_object().ok_or("a list with an element that is no object")?;
    let has_any = |names: [&str; 2]| names.iter().any(|name| fields.contains_key(*name));
    if has_any(["Region", "Latency"]) && !has_any(["region", "latency"]) {
        return Err("a list of `Region` and `Latency`, which are written small");
    }
    let region = fields.get("region").and_then(Value::as_str);
    let region = region.ok_or("a list with an element whose `region` is no text")?;
    if region.is_empty() {
        return Err("a list with an element whose `region` is empty");
    }
    let latency = fields.get("latency").and_then(Value::as_f64);
    let latency = latency.ok_or("a list with an element whose `latency` is no number")?;
    if latency < 0.0 {
        return Err("a list with an element whose `latency` is negative");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is bounded, and not negative"
    )]
    let latency = latency.min(f64::from(u32::MAX)).ceil() as u32;
    Ok((Arc::from(region), latency))
}
