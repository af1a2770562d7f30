//! Every error code that a user can meet has a row in `docs/reference/error-codes.md`, and every row a code.

use crate::Violation;
use crate::tree::{File, is_comment, lines_without_tests};
use std::collections::BTreeMap;

/// The page.
pub const PAGE: &str = "docs/reference/error-codes.md";

/// The rooms a code can belong to, by the letter after `MS-`.
const ROOMS: &str = "CPSJAUHMG";

/// How a code begins, and the crate that gives it its meaning. The longest beginning counts.
pub const OWNERS: &[(&str, &str)] = &[
    ("A", "mainstay-control"),
    ("A02", "mainstay-fleet"),
    ("A03", "mainstay-fleet"),
    ("C", "mainstay-config"),
    ("C2", "mainstay-query"),
    ("G", "mainstay-wire"),
    ("H", "mainstay-fleet"),
    ("J", "mainstay-journal"),
    ("J1", "mainstay-runtime"),
    ("M", "mainstay-control"),
    ("P", "mainstay-fleet"),
    ("S0", "mainstay-fleet"),
    ("S1", "mainstay-holder"),
    ("S20", "mainstay-query"),
    ("S21", "mainstay-tugboat"),
    ("S22", "mainstay-tugboat"),
    ("S23", "mainstay-peer"),
    ("S24", "mainstay-peer"),
    ("S25", "mainstay-peer"),
    ("S3", "mainstay-supervisor"),
    ("S4", "mainstay-agent"),
    ("S5", "mainstay-agent"),
    ("S6", "mainstay-control"),
    ("U0", "mainstay"),
    ("U1", "mainstay-wire"),
    ("U11", "mainstay-control"),
    ("U12", "mainstay-control"),
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

/// Codes in crates that neither own them nor may use the crate that does: two meanings of one code.
#[must_use]
pub fn borrowed<'a>(sources: impl Iterator<Item = &'a File>, arrows: &[(&str, &[&str])]) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in sources {
        let Some((folder, _)) = file.path.split_once("/src/") else { continue };
        let user = crate_in(folder);
        let below = arrows.iter().find(|(name, _)| *name == user).map_or(&[][..], |(_, below)| below);
        let lines = lines_without_tests(&file.text);
        for (number, line) in lines.into_iter().filter(|(_, line)| !is_comment(line)) {
            for code in codes(line).into_keys() {
                let owner = owner(&code);
                if owner.is_none_or(|owner| owner != user && !below.contains(&owner)) {
                    let owner = owner.unwrap_or("nobody");
                    found.push(Violation::new(
                        &file.path,
                        number,
                        format!("{code} is {owner}'s, not {user}'s"),
                    ));
                }
            }
        }
    }
    found
}

/// The crate that gives a code its meaning.
fn owner(code: &str) -> Option<&'static str> {
    let number = code.strip_prefix("MS-")?;
    OWNERS
        .iter()
        .filter(|(beginning, _)| number.starts_with(beginning))
        .max_by_key(|(beginning, _)| beginning.len())
        .map(|(_, owner)| *owner)
}

/// The name of the crate in a folder.
fn crate_in(folder: &str) -> String {
    match folder.rsplit('/').next() {
        Some("cli") | None => "mainstay".to_owned(),
        Some(name) => format!("mainstay-{name}"),
    }
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
    fn a_code_of_a_crate_that_is_out_of_reach_is_found() {
        let text = format!("// {0}\nlet a = \"{0}\";\n", code("S101"));
        let files =
            ["holder", "agent", "supervisor"].map(|name| file(&format!("x/{name}/src/lib.rs"), text.clone()));
        let arrows: &[(&str, &[&str])] = &[("mainstay-agent", &["mainstay-holder"])];
        let found: Vec<String> = borrowed(files.iter(), arrows).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("x/supervisor/src/lib.rs:2"));
    }

    #[test]
    fn the_longest_beginning_names_the_owner() {
        assert_eq!(owner(&code("C001")), Some("mainstay-config"));
        assert_eq!(owner(&code("C201")), Some("mainstay-query"));
        assert_eq!(owner(&code("S901")), None);
    }

    #[test]
    fn a_code_is_a_whole_word_of_a_known_room() {
        let text = format!("{}4 {} {}", code("C001"), code("Z001"), code("A12"));
        assert!(codes(&text).is_empty());
    }
}
