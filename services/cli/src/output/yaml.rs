//! JSON's values in YAML's block style. Every text stands in quotes, as JSON writes it, which is YAML too: none is taken for a
//! number, a date or a `no`.

use std::fmt::Write as _;

use serde_json::Value;

/// A value as a document.
pub fn document(value: &Value) -> String {
    let mut text = String::new();
    match inline(value) {
        Some(plain) => text = format!("{plain}\n"),
        None => block(value, 0, &mut text),
    }
    text
}

/// What stands on its key's line.
fn inline(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) if items.is_empty() => Some("[]".to_owned()),
        Value::Object(fields) if fields.is_empty() => Some("{}".to_owned()),
        Value::Array(_) | Value::Object(_) => None,
        Value::String(text) => Some(quoted(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
    }
}

/// A text in quotes. JSON leaves characters as they are that readers of YAML refuse, or take for the end of a line.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for c in Value::from(text).to_string().chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                let _infallible = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted
}

/// What stands on lines of its own, from where its first begins.
fn block(value: &Value, depth: usize, text: &mut String) {
    let deep = "  ".repeat(depth);
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        let indent = if index == 0 { "" } else { &deep };
        let _infallible = write!(text, "{indent}- ");
        child(item, depth, text, Begins::Here);
    }
    for (index, (key, item)) in value.as_object().into_iter().flatten().enumerate() {
        let indent = if index == 0 { "" } else { &deep };
        let _infallible = write!(text, "{indent}{}:", key_of(key));
        child(item, depth, text, Begins::Below);
    }
}

/// Where an item's lines begin.
enum Begins {
    /// Behind a dash.
    Here,
    /// On the line below its key.
    Below,
}

fn child(item: &Value, depth: usize, text: &mut String, begins: Begins) {
    match (inline(item), begins) {
        (Some(plain), Begins::Here) => {
            let _infallible = writeln!(text, "{plain}");
        }
        (Some(plain), Begins::Below) => {
            let _infallible = writeln!(text, " {plain}");
        }
        (None, Begins::Here) => block(item, depth + 1, text),
        (None, Begins::Below) => {
            let _infallible = write!(text, "\n{}", "  ".repeat(depth + 1));
            block(item, depth + 1, text);
        }
    }
}

/// A key as it is where that is plain, else in quotes: `no` and `12` are no names to YAML.
fn key_of(key: &str) -> String {
    let plain = key.len() > 3 && key.bytes().all(|byte| byte.is_ascii_alphabetic());
    let word = ["true", "false", "null"].iter().any(|word| key.eq_ignore_ascii_case(word));
    let short = ["id", "to", "at", "ip", "pid", "why"].contains(&key);
    if (plain && !word) || short { key.to_owned() } else { quoted(key) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_that_json_says_is_written_in_blocks() {
        let value = json!({
            "id": "no", "none": null, "flags": [true, 1.5, "1"], "empty": {}, "list": [],
            "nested": [[1, 2], { "deep": { "text": "a: b\n\"c\"" } }], "a b": 1, "no": 2,
        });
        let written = "\"a b\": 1\nempty: {}\nflags:\n  - true\n  - 1.5\n  - \"1\"\nid: \"no\"\nlist: []\nnested:\n  - - 1\n    - 2\n  - deep:\n      text: \"a: b\\n\\\"c\\\"\"\n\"no\": 2\nnone: null\n";
        assert_eq!(document(&value), written);
        assert_eq!(document(&json!([])), "[]\n");
        assert_eq!(
            document(&json!({ "\u{7f}": "é\u{85}\u{9f}\u{2028}" })),
            "\"\\u007f\": \"é\\u0085\\u009f\\u2028\"\n"
        );
    }
}
