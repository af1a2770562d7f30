//! Bodies are JSON objects.
//!
//! Left alone, serde takes a list for an object whose fields stand in order: `["start"]` for `{"action":"start"}`. No API
//! says so, and no caller means it.

use serde::de::{DeserializeOwned, Error as _};

/// A text without the mark (U+FEFF) that editors and writers of some systems set before it: JSON has none, and it says nothing in UTF-8.
#[must_use]
pub fn unmarked(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Reads a JSON object.
///
/// # Errors
/// What begins with anything but `{`, and what is not what `T` takes.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> serde_json::Result<T> {
    let body = unmarked(body);
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => serde_json::from_slice(body),
        Some(_) => Err(serde_json::Error::custom("a JSON object is needed, which begins with {")),
        None => Err(serde_json::Error::custom("a JSON object is needed, and the body is empty")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

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
    }
}
