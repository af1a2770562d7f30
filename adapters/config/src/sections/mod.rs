//! The sections of a file, each in its module: from nodes to values of the model, problems recorded on the way.

pub(crate) mod builds;
pub(crate) mod checks;
pub(crate) mod configurations;
pub(crate) mod fleets;
pub(crate) mod limits;
pub(crate) mod lobbies;
pub(crate) mod machines;
pub(crate) mod playfab;
pub(crate) mod providers;
pub(crate) mod query;
pub(crate) mod queues;

use crate::codes::Code;
use crate::limits::NAME_CHARS_MAX;
use crate::place::{Place, Sourced};
use crate::problem::{Problem, quote};
use crate::read::{Check, Keys};
use crate::tree::{Node, Value};

/// The keys of a file.
pub(crate) const TOP: Keys = Keys {
    known: &[
        "version",
        "builds",
        "buildConfigurations",
        "fleets",
        "machines",
        "providers",
        "queues",
        "playfab",
        "lobbies",
    ],
    later: &[
        ("sessions", "hold host migration settings"),
        ("webhooks", "hold webhooks"),
        ("import", "name more files"),
    ],
};

/// The name of an entry, if it is a usable one.
pub(crate) fn name(check: &mut Check<'_>, what: &str, key: &Node) -> Option<Sourced<String>> {
    let text = match &key.value {
        Value::Scalar(text) => text.clone(),
        Value::Null => String::new(),
        Value::List(_) | Value::Map(_) => {
            crate::read::wrong_shape(check, &format!("the name of a {what}"), &key.place, key, "a name");
            return None;
        }
    };
    let long = text.chars().nth(NAME_CHARS_MAX).is_some();
    let reason = if text.trim().is_empty() {
        Some("it is empty".to_owned())
    } else if long {
        Some(format!("it has {} characters; the limit is {NAME_CHARS_MAX}", text.chars().count()))
    } else if text.chars().any(char::is_control) {
        Some("it has control characters".to_owned())
    } else {
        None
    };
    if let Some(reason) = reason {
        check.report(|sources| {
            Problem::new(Code::BadName, format!("a {what} cannot be called {}", quote(&text)))
                .at(sources, &key.place, "not usable as a name")
                .why(reason)
                .fix(format!("give the {what} another name"))
        });
        return None;
    }
    Some(Sourced::written(text, key.place.clone()))
}

/// A name as it is written, whether or not it can be used.
pub(crate) fn written(key: &Node) -> String {
    match &key.value {
        Value::Scalar(text) => text.clone(),
        Value::Null | Value::List(_) | Value::Map(_) => String::new(),
    }
}

/// Records that a value is understood but changes nothing.
pub(crate) fn no_effect(check: &mut Check<'_>, what: String, place: &Place, why: &str) {
    check.report(|sources| {
        Problem::new(Code::HasNoEffect, what)
            .at(sources, place, "changes nothing here")
            .why(why)
            .fix("remove it")
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SourceFile, load};

    fn manual() -> String {
        let path = format!("{}/../../docs/reference/config.md", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn the_manual_names_every_key() {
        let manual = manual();
        let all = [
            TOP,
            builds::KEYS,
            configurations::KEYS,
            configurations::STOP,
            configurations::RESTART,
            limits::LIMITS,
            limits::CAPS,
            query::KEYS,
            fleets::KEYS,
            fleets::REGION,
            fleets::USAGE,
            machines::KEYS,
            fleets::TTL,
            fleets::LOST,
            providers::KEYS,
            playfab::KEYS,
            playfab::ALLOCATE,
            lobbies::KEYS,
        ];
        for key in all.iter().flat_map(|keys| keys.known.iter().chain(keys.later.iter().map(|(key, _)| key)))
        {
            assert!(manual.contains(&format!("`{key}`")), "{key} is not in the manual");
        }
        for service in lobbies::SERVICES {
            assert!(manual.contains(&format!("`{service}`")), "{service} is not in the manual");
        }
        for key in queues::keys() {
            assert!(manual.contains(&format!("`{key}`")), "{key} is not in the manual");
        }
    }

    #[test]
    fn the_examples_of_the_manual_load() {
        let manual = manual();
        let blocks: Vec<&str> =
            manual.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(!blocks.is_empty());
        for block in blocks {
            let accepted =
                load(&[SourceFile::new("config.md", block)]).unwrap_or_else(|refused| panic!("{refused}"));
            assert_eq!(accepted.warnings, []);
        }
    }
}
