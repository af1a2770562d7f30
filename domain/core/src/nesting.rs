//! How deep JSON may nest that callers send, and that others are told.

/// The most lists and objects inside one another. What rules read is three or four deep. Readers stop at 128 levels, as `serde_json` does, and
/// what is told stands inside answers, lists of them, and payloads of servers, which have levels of their own.
pub const NESTING_MAX: usize = 32;

/// How many lists and objects of a text of JSON are inside one another; 0 for a text, a number, a word. Of what is no JSON it
/// says nothing.
#[must_use]
pub fn nesting(json: &str) -> usize {
    let (mut level, mut deepest) = (0_usize, 0);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                level += 1;
                deepest = deepest.max(level);
            }
            b']' | b'}' => level = level.saturating_sub(1),
            b'"' => skip_text(&mut bytes),
            _ => {}
        }
    }
    deepest
}

/// Up to the quote that ends a text.
fn skip_text(bytes: &mut core::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_objects_count_and_texts_do_not() {
        for (json, levels) in [
            ("5", 0),
            (r#""[[[""#, 0),
            ("{}", 1),
            (r#"{"a":[1,{"b":[]}],"c":[[]]}"#, 4),
            (r#"{"[\"{[":["\\",[]]}"#, 3),
            ("[[],[],[]]", 2),
        ] {
            assert_eq!(nesting(json), levels, "{json}");
        }
    }
}
