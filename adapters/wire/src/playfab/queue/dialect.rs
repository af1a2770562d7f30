//! The documentation's way of writing a queue, turned into the API's.
//!
//! One list `Rules`, whose elements name their `Type`; one `Expansion` with a `Type` of its own; and `MaxDifference` for
//! `Difference` (*Rule weights*). Overrides as bare numbers are read wherever overrides are.

use serde::de::Error as _;
use serde_json::{Map, Value};

/// Where the API has the rules of a type.
enum Home {
    List(&'static str),
    Single(&'static str),
}

fn home(kind: &str) -> Option<Home> {
    Some(match kind {
        "StringEqualityRule" => Home::List("StringEqualityRules"),
        "DifferenceRule" => Home::List("DifferenceRules"),
        "SetIntersectionRule" => Home::List("SetIntersectionRules"),
        "MatchTotalRule" => Home::List("MatchTotalRules"),
        "TeamDifferenceRule" => Home::List("TeamDifferenceRules"),
        "RegionSelectionRule" => Home::Single("RegionSelectionRule"),
        "TeamSizeBalanceRule" => Home::Single("TeamSizeBalanceRule"),
        "TeamTicketSizeSimilarityRule" => Home::Single("TeamTicketSizeSimilarityRule"),
        _ => return None,
    })
}

/// A queue in the API's dialect, from either.
pub(super) fn typed(queue: Value) -> Result<Value, serde_json::Error> {
    let Value::Object(mut fields) = queue else {
        return Err(serde_json::Error::custom("a queue is an object"));
    };
    match fields.remove("Rules") {
        None | Some(Value::Null) => {}
        Some(Value::Array(rules)) => rules.into_iter().try_for_each(|rule| put(&mut fields, rule))?,
        Some(_) => return Err(serde_json::Error::custom("Rules is a list")),
    }
    Ok(Value::Object(fields))
}

fn put(queue: &mut Map<String, Value>, rule: Value) -> Result<(), serde_json::Error> {
    let Value::Object(mut rule) = rule else {
        return Err(serde_json::Error::custom("an element of Rules is an object"));
    };
    let kind = match rule.remove("Type") {
        Some(Value::String(kind)) => kind,
        Some(_) | None => return Err(serde_json::Error::custom("an element of Rules has a Type")),
    };
    let Some(home) = home(&kind) else {
        return Err(serde_json::Error::custom(format_args!("there is no rule of Type {kind}")));
    };
    if let Some(difference) = rule.remove("MaxDifference") {
        rule.entry("Difference").or_insert(difference);
    }
    expansion(&mut rule)?;
    match home {
        Home::Single(name) => {
            if queue.get(name).is_some_and(|it| !it.is_null()) {
                return Err(serde_json::Error::custom(format_args!("a queue has at most one {kind}")));
            }
            queue.insert(name.to_owned(), Value::Object(rule));
        }
        Home::List(name) => {
            let mut list = match queue.remove(name) {
                Some(Value::Array(list)) => list,
                Some(_) | None => Vec::new(),
            };
            list.push(Value::Object(rule));
            queue.insert(name.to_owned(), Value::Array(list));
        }
    }
    Ok(())
}

/// `Expansion` with a `Type` becomes the expansion of that type; the two rules that have one kind alone keep theirs.
fn expansion(rule: &mut Map<String, Value>) -> Result<(), serde_json::Error> {
    let Some(Value::Object(expansion)) = rule.get_mut("Expansion") else { return Ok(()) };
    let Some(kind) = expansion.remove("Type") else { return Ok(()) };
    let name = match kind.as_str() {
        Some("Linear") => "LinearExpansion",
        Some("Custom")
            if ["EnabledOverrides", "MinOverrides", "MaxOverrides"]
                .iter()
                .any(|it| expansion.contains_key(*it)) =>
        {
            return Ok(());
        }
        Some("Custom") => "CustomExpansion",
        Some(_) | None => {
            return Err(serde_json::Error::custom(format_args!(
                "an Expansion is Linear or Custom, not {kind}"
            )));
        }
    };
    if let Some(expansion) = rule.remove("Expansion") {
        rule.insert(name.to_owned(), expansion);
    }
    Ok(())
}
