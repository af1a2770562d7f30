//! How a file begins: every module says why it exists, and a domain crate shuts out the world.

use crate::Violation;
use crate::tree::File;

/// Where a domain crate may derive `serde`: what passes through other programs unchanged.
const SERDE_IN_DOMAIN: &[&str] = &["domain/core/src/id.rs", "domain/core/src/generation.rs"];

/// A Rust file starts with `//!`.
#[must_use]
pub fn missing_story(file: &File) -> Option<Violation> {
    let starts = file.text.starts_with("//!") && file.text.lines().next().is_some_and(|line| line.len() > 5);
    (!starts).then(|| {
        Violation::new(&file.path, 1, "a module begins with `//!` and a sentence saying why it exists")
    })
}

/// A domain crate's `lib.rs` is `no_std` and forbids unsafe code before its first item.
#[must_use]
pub fn open_domain(file: &File) -> Vec<Violation> {
    let head: Vec<&str> = file
        .text
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("//!") || line.starts_with("#!["))
        .collect();
    ["#![no_std]", "#![forbid(unsafe_code)]"]
        .into_iter()
        .filter(|attribute| !head.contains(attribute))
        .map(|attribute| Violation::new(&file.path, 1, format!("a domain crate starts with {attribute}")))
        .collect()
}

/// In a domain crate the standard library is linked for tests alone.
#[must_use]
pub fn std_in_domain(file: &File) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut before = "";
    for (index, line) in file.text.lines().enumerate() {
        if line.trim() == "extern crate std;" && before.trim() != "#[cfg(test)]" {
            found.push(Violation::new(&file.path, index + 1, "std is for a domain crate's tests alone"));
        }
        before = line;
    }
    found
}

/// In a domain crate `serde` is named by ids and generations alone: what others see lives in `wire`, what the disk
/// keeps in `journal`.
#[must_use]
pub fn serde_in_domain(file: &File) -> Vec<Violation> {
    if SERDE_IN_DOMAIN.contains(&file.path.as_str()) {
        return Vec::new();
    }
    file.text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains("serde::") || line.contains("serde("))
        .map(|(index, _)| {
            Violation::new(
                &file.path,
                index + 1,
                "serde belongs to ids; wire and journal have types of their own",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File { path: "domain/x/src/lib.rs".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_module_without_a_story_is_found() {
        assert!(missing_story(&file("use a;\n")).is_some());
        assert!(missing_story(&file("//!\n")).is_some());
        assert!(missing_story(&file("//! Why.\n")).is_none());
    }

    #[test]
    fn an_attribute_after_the_first_item_does_not_count() {
        let late = file("//! Why.\n#![no_std]\nmod a;\n#![forbid(unsafe_code)]\n");
        assert_eq!(open_domain(&late).len(), 1);
        assert_eq!(open_domain(&file("//! Why.\n#![no_std]\n#![forbid(unsafe_code)]\n")), []);
    }

    #[test]
    fn std_and_serde_in_a_domain_crate_are_found() {
        assert_eq!(std_in_domain(&file("extern crate std;\n")).len(), 1);
        assert_eq!(std_in_domain(&file("#[cfg(test)]\nextern crate std;\n")), []);
        assert_eq!(serde_in_domain(&file("#[derive(serde::Serialize)]\n")).len(), 1);
    }
}
