//! What the README says works today, each line links to the test that proves it, and that test exists.
//!
//! A line is an item of the list under [`HEADING`]; a proof is a link whose text is a test's name and whose target is
//! the file it stands in.

use crate::Violation;
use crate::links::links;
use crate::tree::{File, Tree};

/// The section of the README that promises.
pub const HEADING: &str = "## What works today";

/// Lines of the section without a proof, and proofs that are not there.
#[must_use]
pub fn violations(readme: &File, tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    let items = items(&readme.text);
    if items.is_empty() {
        found.push(Violation::new(&readme.path, 0, format!("no list under `{HEADING}`")));
    }
    for (line, item) in items {
        let proofs = links(&item);
        if proofs.is_empty() {
            found.push(Violation::new(&readme.path, line, "says that something works and links to no test"));
        }
        for proof in proofs {
            let proved = tree.file(&proof.target).is_some_and(|file| has_test(&file.text, &proof.text));
            if !proved {
                found.push(Violation::new(
                    &readme.path,
                    line,
                    format!("{} has no test `{}`", proof.target, proof.text),
                ));
            }
        }
    }
    found
}

/// The items of the section's list, each with the line it starts on and its continuation lines.
fn items(text: &str) -> Vec<(usize, String)> {
    let mut items: Vec<(usize, String)> = Vec::new();
    let section = text.lines().enumerate().skip_while(|(_, line)| *line != HEADING).skip(1);
    for (index, line) in section.take_while(|(_, line)| !line.starts_with("## ")) {
        if line.starts_with("- ") {
            items.push((index + 1, line.to_owned()));
        } else if line.starts_with("  ")
            && let Some((_, item)) = items.last_mut()
        {
            item.push('\n');
            item.push_str(line);
        }
    }
    items
}

/// Whether `text` defines a test function `name`: one with a `test` attribute, or inside `proptest!`.
fn has_test(text: &str, name: &str) -> bool {
    let definition = format!("fn {name}(");
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    lines.iter().enumerate().any(|(index, line)| {
        line.contains(&definition)
            && lines[..index]
                .iter()
                .rev()
                .take_while(|before| before.starts_with("#[") || before.starts_with("//"))
                .any(|before| before.starts_with("#[test]") || before.starts_with("#[tokio::test"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_without_a_proof_is_found() {
        let test = File {
            path: "a/tests/b.rs".to_owned(),
            text: "#[test]\n#[expect(x, reason = \"y\")]\nfn proved() {}\nfn helper() {}\n".to_owned(),
        };
        let readme = File {
            path: "README.md".to_owned(),
            text: "# X\n## What works today\n- Good:\n  [`proved`](a/tests/b.rs)\n- None.\n\
                   - No test: [`helper`](a/tests/b.rs)\n- Gone: [`proved`](a/c.rs)\n## Next\n- Not ours.\n"
                .to_owned(),
        };
        let tree = Tree { root: "/".into(), files: vec![test] };
        let lines: Vec<usize> = violations(&readme, &tree).iter().map(|it| it.line).collect();
        assert_eq!(lines, [5, 6, 7]);
    }

    #[test]
    fn a_readme_that_promises_nothing_is_found() {
        let readme = File { path: "README.md".to_owned(), text: "# X\n".to_owned() };
        let tree = Tree { root: "/".into(), files: Vec::new() };
        assert_eq!(violations(&readme, &tree).len(), 1);
    }
}
