//! What PlayFab's API specification says of results: every field that has to be there, and no other, each of its type.

use std::sync::OnceLock;

use serde_json::{Map, Value};

/// The calls of matching.
pub const MATCH_CALLS: [&str; 18] = [
    "CancelAllMatchmakingTicketsForPlayer",
    "CancelAllServerBackfillTicketsForPlayer",
    "CancelMatchmakingTicket",
    "CancelServerBackfillTicket",
    "CreateMatchmakingTicket",
    "CreateServerBackfillTicket",
    "CreateServerMatchmakingTicket",
    "GetMatch",
    "GetMatchmakingQueue",
    "GetMatchmakingTicket",
    "GetQueueStatistics",
    "GetServerBackfillTicket",
    "JoinMatchmakingTicket",
    "ListMatchmakingQueues",
    "ListMatchmakingTicketsForPlayer",
    "ListServerBackfillTicketsForPlayer",
    "RemoveMatchmakingQueue",
    "SetMatchmakingQueue",
];

fn table() -> &'static Value {
    static TABLE: OnceLock<Value> = OnceLock::new();
    TABLE.get_or_init(|| serde_json::from_str(include_str!("results.json")).unwrap())
}

/// Whether a result is one of its call.
pub fn judge(call: &str, data: &Value) -> Result<(), String> {
    let kind = table()["results"][call].as_str().ok_or_else(|| format!("no call {call} in the table"))?;
    of(kind, data, kind)
}

/// Whether an error has the published envelope.
pub fn judge_error(error: &Value) -> Result<(), String> {
    let is_http = error["code"].as_u64().is_some_and(|code| (400..600).contains(&code));
    let texts = ["status", "error", "errorMessage"].iter().all(|name| error[*name].is_string());
    let lists = |details: &Map<String, Value>| details.values().all(is_texts);
    let details = error.get("errorDetails").is_none_or(|it| it.as_object().is_some_and(lists));
    if is_http && texts && details { Ok(()) } else { Err("no published error".to_owned()) }
}

fn is_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|texts| texts.iter().all(Value::is_string))
}

fn of(kind: &str, value: &Value, at: &str) -> Result<(), String> {
    if let Some(kind) = kind.strip_suffix('?') {
        return if value.is_null() { Ok(()) } else { of(kind, value, at) };
    }
    if let Some(kind) = kind.strip_suffix("[]") {
        let list = value.as_array().ok_or_else(|| format!("{at} is no list"))?;
        return list.iter().try_for_each(|item| of(kind, item, at));
    }
    if let Some(kind) = kind.strip_suffix("{}") {
        let map = value.as_object().ok_or_else(|| format!("{at} is no map"))?;
        return map.values().try_for_each(|item| of(kind, item, at));
    }
    let whole = || value.as_i64().is_some_and(|number| i32::try_from(number).is_ok());
    let fits = match kind {
        "String" => value.is_string(),
        "Boolean" => value.is_boolean(),
        "int32" => whole(),
        "uint32" => value.as_u64().is_some_and(|number| u32::try_from(number).is_ok()),
        "double" => value.is_number(),
        // Any value; of a missing one it would not be said that it is there.
        "object" => !value.is_null(),
        "DateTime" => value.as_str().is_some_and(is_date),
        _ => return object(kind, value, at),
    };
    if fits { Ok(()) } else { Err(format!("{at} is no {kind}")) }
}

/// ISO 8601 in UTC, with at most six digits after the point, which is what the SDK for C# reads.
fn is_date(text: &str) -> bool {
    let digits =
        text.strip_suffix('Z').map(|text| text.split_once('.').map_or(0, |(_, digits)| digits.len()));
    digits.is_some_and(|digits| digits <= 6) && text.parse::<jiff::Timestamp>().is_ok()
}

fn object(kind: &str, value: &Value, at: &str) -> Result<(), String> {
    match &table()["types"][kind] {
        Value::Array(words) if words.contains(value) => Ok(()),
        Value::Array(_) => Err(format!("{at} is none of the words of {kind}")),
        Value::Object(fields) => {
            let object = value.as_object().ok_or_else(|| format!("{at} is no {kind}"))?;
            if let Some(unknown) = object.keys().find(|name| !fields.contains_key(*name)) {
                return Err(format!("{at}.{unknown} is not in {kind}"));
            }
            fields.iter().try_for_each(|(name, kind)| {
                let value = object.get(name).unwrap_or(&Value::Null);
                of(kind.as_str().unwrap(), value, &format!("{at}.{name}"))
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(format!("{kind} is not in the table"))
        }
    }
}
