//! Every error code that a user can meet has a row in `docs/reference/error-codes.md`, and every row a code.

use crate::Violation;
use crate::tree::{File, is_comment, lines_without_tests};
use std::collections::BTreeMap;

/// The page.
pub const PAGE: &str = "docs/reference/error-codes.md";

/// The rooms a code can belong to, by the letter after `MS-`.
const ROOMS: &str = "CPSJAU";

/// Crates that name a code of a crate below them: the folder, and the codes.
pub const PASSED_ON: &[(&str, &[&str])] = &[
    // The journal's thread ends with the journal's own error, and the process with that code.
    ("services/runtime", &[concat!("MS-", "J010"), concat!("MS-", "J014")]),
    // The example in the help of `mainstay explain`.
    ("services/cli", &[concat!("MS-", "P006")]),
];

/// A code's length: `MS-`, a letter, three digits.
const LENGTH: usize = 7;

/// The codes in a text, with the line each first stands on.
#[must_use]
pub fn codes(text: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        for (at, _) in line.match_indices("MS-") {
            let Some(code) = line.get(at..at + LENGTH) else { continue };
            let (letter, digits) = code[3..].split_at(1);
            let ends = !line[at + LENGTH..].starts_with(|c: char| c.is_ascii_alphanumeric());
            if ends && ROOMS.contains(letter) && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                found.entry(code.to_owned()).or_insert(index + 1);
            }
        }
    }
    found
}

/// Codes without a row, rows without a code, and rows out of order.
#[must_use]
pub fn violations<'a>(sources: impl Iterator<Item = &'a File>, page: &File) -> Vec<Violation> {
    let rows: BTreeMap<String, usize> = codes(
        &page
            .text
            .lines()
            .map(|line| if line.starts_with("| `MS-") { line } else { "" })
            .collect::<Vec<_>>()
            .join("\n"),
    );
    let mut found = Vec::new();
    let mut used = BTreeMap::new();
    for file in sources {
        for (code, line) in codes(&file.text) {
            if !rows.contains_key(&code) && !used.contains_key(&code) {
                found.push(Violation::new(&file.path, line, format!("{code} has no row in {PAGE}")));
            }
            used.entry(code).or_insert(line);
        }
    }
    for (code, line) in &rows {
        if !used.contains_key(code) {
            found.push(Violation::new(&page.path, *line, format!("no code says {code} any more")));
        }
    }
    let mut by_line: Vec<_> = rows.iter().collect();
    by_line.sort_by_key(|(_, line)| **line);
    for pair in by_line.windows(2) {
        if pair[0].0 > pair[1].0 {
            found.push(Violation::new(&page.path, *pair[1].1, format!("{} stands out of order", pair[1].0)));
        }
    }
    found
}

/// Codes that two crates give out, but for those of [`PASSED_ON`]: a code has one meaning, so one crate defines it.
#[must_use]
pub fn shared<'a>(sources: impl Iterator<Item = &'a File>) -> Vec<Violation> {
    let mut owners: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut found = Vec::new();
    for file in sources {
        let Some((owner, _)) = file.path.split_once("/src/") else { continue };
        let lines = lines_without_tests(&file.text);
        for (number, line) in lines.into_iter().filter(|(_, line)| !is_comment(line)) {
            let passes_on = |code: &String| {
                PASSED_ON.iter().any(|(folder, list)| *folder == owner && list.contains(&code.as_str()))
            };
            for code in codes(line).into_keys().filter(|code| !passes_on(code)) {
                let (first, place) = owners
                    .entry(code.clone())
                    .or_insert_with(|| (owner.to_owned(), format!("{}:{number}", file.path)));
                if first != owner {
                    found.push(Violation::new(&file.path, number, format!("{code} is {place}'s already")));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: String) -> File {
        File { path: path.to_owned(), text }
    }

    /// A code put together, or this file would use it.
    fn code(number: &str) -> String {
        format!("MS-{number}")
    }

    #[test]
    fn a_code_without_a_row_and_a_row_without_a_code_are_found() {
        let source = file("a.rs", format!("\"{}\" and \"{}\" and MS-Cxxx", code("C001"), code("C002")));
        let page = file(
            PAGE,
            format!("see {}\n| `{}` | a |\n| `{}` | b |\n", code("C002"), code("C003"), code("C001")),
        );
        let found: Vec<String> =
            violations([&source].into_iter(), &page).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("a.rs:1"));
        assert!(found[1].contains("any more"));
        assert!(found[2].contains("out of order"));
    }

    #[test]
    fn a_code_of_two_crates_is_found() {
        let line = format!("let a = \"{}\";\n", code("C001"));
        let files = [
            file("a/src/x.rs", line.clone()),
            file("a/src/y.rs", line.clone()),
            file("b/src/z.rs", format!("// {}\n{line}", code("C001"))),
        ];
        let found: Vec<String> = shared(files.iter()).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("b/src/z.rs:2") && found[0].contains("a/src/x.rs:1"));
    }

    #[test]
    fn a_code_is_a_whole_word_of_a_known_room() {
        let text = format!("{}4 {} {}", code("C001"), code("Z001"), code("A12"));
        assert!(codes(&text).is_empty());
    }
}
