//! Bodies are JSON objects.
//!
//! Left alone, serde takes a list for an object whose fields stand in order: `["start"]` for `{"action":"start"}`. No API
//! says so, and no caller means it.

mod strict;

use serde::de::{DeserializeOwned, Error as _};

use self::strict::Strict;

/// A text without the mark (U+FEFF) that editors and writers of some systems set before it: JSON has none, and it says nothing in UTF-8.
#[must_use]
pub fn unmarked(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Reads a JSON object, and the objects in it.
///
/// # Errors
/// What begins with anything but `{`, a list where an object stands in `T`, and whatever else `T` does not take.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> serde_json::Result<T> {
    let body = unmarked(body);
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => {
            let mut reader = serde_json::Deserializer::from_slice(body);
            let read = T::deserialize(Strict(&mut reader))?;
            reader.end().map(|()| read)
        }
        Some(_) => Err(serde_json::Error::custom("a JSON object is needed, which begins with {")),
        None => Err(serde_json::Error::custom("a JSON object is needed, and the body is empty")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Action {
        action: String,
    }

    #[test]
    fn only_an_object_is_one() {
        let start = Action { action: "start".to_owned() };
        for written in [&b" \n{\"action\":\"start\"}"[..], b"\xef\xbb\xbf{\"action\":\"start\"}"] {
            assert_eq!(read::<Action>(written).unwrap(), start);
        }
        for other in [&b"[\"start\"]"[..], b"\"start\"", b"5", b"null", b"", b"  ", b"\xff"] {
            let error = read::<Action>(other).unwrap_err().to_string();
            assert!(error.contains("JSON object"), "{error}");
        }
        assert!(read::<Action>(b"{").is_err());
        assert!(read::<Action>(b"{\"action\":\"start\"} {}").is_err(), "one alone");
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Party {
        players: Vec<Player>,
        #[serde(default)]
        server: Option<Player>,
        #[serde(default)]
        by_team: BTreeMap<String, Player>,
        #[serde(default)]
        lease: Option<Lease>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Player {
        id: String,
        #[serde(default)]
        attributes: Value,
        #[serde(default)]
        places: (u8, u8),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Lease {
        Free,
        Renewed { within: u32 },
        By(Player),
    }

    /// A list of players each a list was a ticket of players.
    #[test]
    fn a_list_is_no_object_wherever_it_stands() {
        let read = |body: &str| read::<Party>(body.as_bytes());
        let taken = r#"{"players":[{"id":"ann","attributes":{"a":[["x",{}],1]},"places":[1,2]}],"server":null,
            "byTeam":{"red":{"id":"bob"}},"lease":{"renewed":{"within":5}}}"#;
        let party = read(taken).unwrap();
        assert_eq!(party.players[0].attributes, serde_json::json!({ "a": [["x", {}], 1] }));
        assert_eq!(party.players[0].places, (1, 2), "what is a list is read from one");
        assert_eq!(party.lease, Some(Lease::Renewed { within: 5 }));
        assert_eq!(read(r#"{"players":[],"lease":"free"}"#).unwrap().lease, Some(Lease::Free));
        for (listed, column) in [
            (r#"{"players":[["ann",{},[1,2]]]}"#, 13),
            (r#"{"players":[],"server":["ann",{},[1,2]]}"#, 24),
            (r#"{"players":[],"byTeam":{"red":["ann",{},[1,2]]}}"#, 31),
            (r#"{"players":[],"lease":{"renewed":[5]}}"#, 34),
            (r#"{"players":[],"lease":{"by":["ann",{},[1,2]]}}"#, 29),
        ] {
            let error = read(listed).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("invalid type: sequence, expected an object at line 1 column {column}"),
                "{listed}"
            );
        }
    }
}
