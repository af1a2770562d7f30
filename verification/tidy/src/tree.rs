//! The files of the repository as git sees them, and which parts of a Rust file are tests.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One text file.
#[derive(Debug, Clone)]
pub struct File {
    /// Relative to the root, with forward slashes.
    pub path: String,
    /// The whole content.
    pub text: String,
}

/// The repository's text files: those git tracks, and new ones it does not ignore.
#[derive(Debug)]
pub struct Tree {
    /// Absolute path of the root.
    pub root: PathBuf,
    /// In git's order.
    pub files: Vec<File>,
}

impl Tree {
    /// Reads the tree this crate stands in.
    ///
    /// # Errors
    /// When git cannot be run or refuses, or a listed file cannot be read: what and which.
    pub fn read() -> Result<Self, String> {
        // As it runs, not as it was compiled: one target folder may serve several clones.
        let here = std::env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR: run this by cargo")?;
        let root = Path::new(&here).join("../..");
        let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&root)
            .output()
            .map_err(|error| format!("git ls-files: {error}"))?;
        if !listed.status.success() {
            return Err(format!("git ls-files: {}", String::from_utf8_lossy(&listed.stderr)));
        }
        let mut files = Vec::new();
        for name in listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let path = String::from_utf8(name.to_vec()).map_err(|error| format!("file name: {error}"))?;
            match std::fs::read(root.join(&path)) {
                // Golden bytes and pictures have no lines to judge.
                Ok(bytes) => {
                    if let Ok(text) = String::from_utf8(bytes) {
                        files.push(File { path, text });
                    }
                }
                // Deleted, and the deletion not yet committed.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("{path}: {error}")),
            }
        }
        Ok(Self { root, files })
    }

    /// The Rust files.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// The Markdown files.
    pub fn markdown(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".md"))
    }

    /// A file by its path.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// Whether a Rust file holds tests alone.
#[must_use]
pub fn is_test_file(path: &str) -> bool {
    let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
    path.split('/').any(|part| part == "tests" || part == "benches")
        || stem == "tests"
        || stem.ends_with("_tests")
}

/// The numbered lines of a Rust file outside its `#[cfg(test)] mod … { … }` blocks. Relies on rustfmt: such a block
/// starts and ends in the first column.
#[must_use]
pub fn lines_without_tests(text: &str) -> Vec<(usize, &str)> {
    let mut kept = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let opens_tests = line == "#[cfg(test)]"
            && lines.peek().is_some_and(|(_, next)| next.starts_with("mod ") && next.ends_with('{'));
        if opens_tests {
            for (_, inner) in lines.by_ref() {
                if inner == "}" {
                    break;
                }
            }
        } else {
            kept.push((index + 1, line));
        }
    }
    kept
}

/// Whether a line is a comment from its first character on.
#[must_use]
pub fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_module_is_left_out_and_what_follows_it_is_kept() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        assert_eq!(lines_without_tests(text), [(1, "fn a() {}"), (6, "fn c() {}")]);
    }

    #[test]
    fn test_files_are_known_by_folder_or_name() {
        for (path, expected) in [
            ("domain/fleet/tests/laws.rs", true),
            ("domain/fleet/src/tests.rs", true),
            ("domain/fleet/src/placement_tests.rs", true),
            ("domain/fleet/src/placement.rs", false),
            ("domain/fleet/src/contests.rs", false),
        ] {
            assert_eq!(is_test_file(path), expected, "{path}");
        }
    }
}
