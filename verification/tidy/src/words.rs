//! Words that do not belong into the tree: unfinished marks, silenced lints, one machine's paths, registries' hosts.
//!
//! The words are put together from halves, or this file would be its own first finding.

use crate::Violation;
use crate::tree::File;

/// In Rust files: word, and what to do instead.
pub const IN_RUST: &[(&str, &str)] = &[
    (concat!("TO", "DO"), "finish it, or name the gap in the README"),
    (concat!("FIX", "ME"), "mend it"),
    (concat!("to", "do!("), "finish it"),
    (concat!("unimplemented", "!("), "finish it"),
    (concat!("#[ign", "ore"), "a test that is not run proves nothing: mend it or delete it"),
    (concat!("#[all", "ow("), "use #[expect(lint, reason = \"…\")]: it fails when the reason is gone"),
    (concat!("#![all", "ow("), "use #![expect(lint, reason = \"…\")]: it fails when the reason is gone"),
    (concat!("assert!(", "true"), "an assertion that cannot fail proves nothing"),
];

/// In every text file: word, and what to do instead.
pub const EVERYWHERE: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "a path of one machine: use a relative path or an environment variable"),
    (concat!("/ro", "ot/"), "a path of one machine: use a relative path or an environment variable"),
    (concat!("index.crates", ".io"), "a registry's host: cargo knows where it is"),
    (concat!("static.crates", ".io"), "a registry's host: cargo knows where it is"),
    (concat!("pythonhosted", ".org"), "a registry's host: pip knows where it is"),
    (concat!("deb.debian", ".org"), "a registry's host: apt knows where it is"),
    (concat!("artifact", "ory"), "a registry's host: the package managers know where theirs is"),
];

/// Where `words` occur in a file.
#[must_use]
pub fn violations(file: &File, words: &[(&str, &str)]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for (word, mend) in words {
            if has_word(line, word) {
                found.push(Violation::new(&file.path, index + 1, format!("`{word}`: {mend}")));
            }
        }
    }
    found
}

/// Whether `line` holds `word`, not as the tail or head of a longer word.
fn has_word(line: &str, word: &str) -> bool {
    let joins = |edge: Option<char>, beyond: Option<char>| {
        [edge, beyond].into_iter().all(|c| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_'))
    };
    line.match_indices(word).any(|(at, _)| {
        let joined_before = joins(word.chars().next(), line[..at].chars().next_back());
        let joined_after = joins(word.chars().next_back(), line[at + word.len()..].chars().next());
        !joined_before && !joined_after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_where_it_stands_alone() {
        for words in [IN_RUST, EVERYWHERE] {
            for (word, _) in words {
                let file = File { path: "a.rs".to_owned(), text: format!("fine\n  x = {word} \n") };
                let found = violations(&file, words);
                assert!(found.iter().any(|it| it.line == 2), "{word}");
            }
        }
    }

    #[test]
    fn a_longer_word_is_no_finding() {
        let text = concat!("MASTO", "DON and MY_TO", "DO_LIST\n").to_owned();
        assert_eq!(violations(&File { path: "a.rs".to_owned(), text }, IN_RUST), []);
    }
}
