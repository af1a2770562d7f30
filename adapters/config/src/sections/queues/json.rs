//! A queue's nodes as the JSON that PlayFab's reader takes: unknown keys and values of a wrong kind are told on the way, each at
//! its place.

use std::collections::BTreeMap;

use mainstay_wire::nearest::nearest;
use mainstay_wire::playfab::queue::shape::{Is, OVERRIDE, RULES, Shape};
use serde_json::{Map, Number, Value as Json};

use crate::codes::Code;
use crate::place::Place;
use crate::problem::{Problem, quote};
use crate::read::{Check, key_text, list, mapping, wrong_shape};
use crate::scalar;
use crate::tree::{Node, Value};

/// Reads one queue.
pub(super) struct Reading<'c, 's> {
    pub(super) check: &'c mut Check<'s>,
    /// The queue, for sentences.
    pub(super) owner: String,
    /// Where the rules' faults point: `rule skill`, `team red`, or a key.
    pub(super) places: BTreeMap<String, Place>,
}

impl Reading<'_, '_> {
    /// A mapping of this shape; what is wrong in it is told and left out.
    pub(super) fn object(&mut self, shape: &Shape, key: &Place, node: &Node) -> Map<String, Json> {
        let owner = self.owned(shape);
        let mut read = Map::new();
        let mut spelt: BTreeMap<String, &Node> = BTreeMap::new();
        for (key, node) in mapping(self.check, &owner, key, node).unwrap_or_default() {
            let Some(written) = key_text(self.check, &owner, key) else { continue };
            if written.starts_with("x-") {
                continue;
            }
            let name = first(written, char::to_ascii_uppercase);
            let Some(is) = shape.get(&name) else {
                self.unknown(&owner, shape, key, written);
                continue;
            };
            if let Some(earlier) = spelt.insert(name.clone(), key) {
                self.spelt_twice(&owner, written, key, earlier);
                continue;
            }
            self.places.entry(first(written, char::to_ascii_lowercase)).or_insert_with(|| key.place.clone());
            if let Some(value) = self.value(is, &format!("{written} of {owner}"), &key.place, node) {
                read.insert(name, value);
            }
        }
        self.note(shape, key, &read);
        read
    }

    fn value(&mut self, is: Is, owner: &str, key: &Place, node: &Node) -> Option<Json> {
        if matches!(node.value, Value::Null) {
            return Some(Json::Null);
        }
        Some(match is {
            Is::Elsewhere => return None,
            Is::Text => Json::String(self.scalar(owner, key, node)?.to_owned()),
            Is::Number => {
                let text = self.scalar(owner, key, node)?;
                Json::Number(self.understood(number(text), owner, text, node, "a number", Code::BadNumber)?)
            }
            Is::Boolean => {
                let text = self.scalar(owner, key, node)?;
                let wanted = "true or false";
                Json::Bool(self.understood(
                    scalar::boolean(text),
                    owner,
                    text,
                    node,
                    wanted,
                    Code::NotAllowed,
                )?)
            }
            Is::Object(shape) => Json::Object(self.object(shape, key, node)),
            Is::List(of) => {
                let items = list(self.check, owner, key, node).iter();
                Json::Array(items.filter_map(|item| self.value(*of, owner, &item.place, item)).collect())
            }
            Is::Override => match node.value {
                Value::Map(_) => Json::Object(self.object(&OVERRIDE, key, node)),
                Value::Null | Value::Scalar(_) | Value::List(_) => {
                    return self.value(Is::Number, owner, key, node);
                }
            },
            Is::Rule => {
                let shape = self.rule(owner, key, node)?;
                Json::Object(self.object(shape, key, node))
            }
        })
    }

    /// The shape of a rule that says its type.
    fn rule(&mut self, owner: &str, key: &Place, node: &Node) -> Option<&'static Shape> {
        let entries = mapping(self.check, owner, key, node)?;
        let is_type =
            |key: &Node| matches!(&key.value, Value::Scalar(text) if text == "type" || text == "Type");
        let known = || RULES.iter().map(|(name, _)| *name);
        let Some((_, kind)) = entries.into_iter().find(|(key, _)| is_type(key)) else {
            self.check.report(|sources| {
                Problem::new(Code::MissingKey, format!("a rule of {} has no type", self.owner))
                    .at(sources, key, "type is missing here")
                    .lacking("type")
                    .fix(format!("add type: with one of {}", known().collect::<Vec<_>>().join(", ")))
            });
            return None;
        };
        let text = self.scalar(&format!("type of a rule of {}", self.owner), &kind.place, kind)?;
        let found = RULES.iter().find(|(name, _)| *name == text).map(|&(_, shape)| shape);
        if found.is_none() {
            self.check.report(|sources| {
                let what = format!("{} has a rule of type {}, which there is not", self.owner, quote(text));
                let problem = Problem::new(Code::NotAllowed, what)
                    .at(sources, &kind.place, "no type of rule")
                    .why(format!("known: {}", known().collect::<Vec<_>>().join(", ")));
                match nearest(text, known()) {
                    Some(name) => problem.fix(format!("did you mean {name}?")),
                    None => problem.fix("write one of the known types"),
                }
            });
        }
        found
    }

    fn scalar<'n>(&mut self, owner: &str, key: &Place, node: &'n Node) -> Option<&'n str> {
        match &node.value {
            Value::Scalar(text) => Some(text),
            Value::Null | Value::List(_) | Value::Map(_) => {
                wrong_shape(self.check, owner, key, node, "a single value");
                None
            }
        }
    }

    fn understood<T>(
        &mut self,
        read: Option<T>,
        owner: &str,
        text: &str,
        node: &Node,
        wanted: &str,
        code: Code,
    ) -> Option<T> {
        if read.is_none() {
            self.check.report(|sources| {
                Problem::new(code, format!("{owner} is {}", quote(text)))
                    .at(sources, &node.place, "cannot be used")
                    .why(format!("{wanted} is needed"))
                    .fix(format!("write {wanted}"))
            });
        }
        read
    }

    fn owned(&self, shape: &Shape) -> String {
        if shape.what == "queue" { self.owner.clone() } else { format!("{} of {}", shape.what, self.owner) }
    }

    /// Remembers where a rule or a team is, by its name.
    fn note(&mut self, shape: &Shape, key: &Place, read: &Map<String, Json>) {
        let kind = if shape.what == "team" {
            "team"
        } else if RULES.iter().any(|(name, _)| *name == shape.what) {
            "rule"
        } else {
            return;
        };
        let name = read.get("Name").and_then(Json::as_str).unwrap_or_default();
        self.places.entry(format!("{kind} {name}")).or_insert_with(|| key.clone());
    }

    /// A file may have a key in our spelling or in PlayFab's.
    fn spelt_twice(&mut self, owner: &str, written: &str, key: &Node, earlier: &Node) {
        self.check.report(|sources| {
            let what = format!("{owner} has {} in two spellings", quote(written));
            Problem::new(Code::DuplicateKey, what)
                .at(sources, &key.place, "written again here")
                .at(sources, &earlier.place, "first written here")
                .why("only one of them could count")
                .fix("keep one")
        });
    }

    fn unknown(&mut self, owner: &str, shape: &Shape, key: &Node, written: &str) {
        let known: Vec<String> =
            shape.keys().map(|(name, _)| first(name, char::to_ascii_lowercase)).collect();
        self.check.report(|sources| {
            let problem = Problem::new(Code::UnknownKey, format!("{owner} has no key {}", quote(written)))
                .at(sources, &key.place, "unknown key")
                .why(format!("known: {}", known.join(", ")));
            match nearest(written, known.iter().map(String::as_str)) {
                Some(word) => problem.fix(format!("did you mean {word}?")),
                None => problem.fix("remove it, or begin its name with x- if it is a note of your own"),
            }
        });
    }
}

/// A word with its first letter as a case has it.
pub(super) fn first(word: &str, case: fn(&char) -> char) -> String {
    let mut letters = word.chars();
    letters.next().map(|letter| case(&letter)).into_iter().chain(letters).collect()
}

/// A number as JSON has it; whole ones without a fraction, however they are written.
fn number(text: &str) -> Option<Number> {
    let text = text.trim();
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}
