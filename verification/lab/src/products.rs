//! The programs of this workspace that go into the machine, as cargo has just built them.
//!
//! Cargo is asked, not the target folder: a leftover of yesterday proves nothing. Where everything is built (as in
//! `./check`, whose command this is) the answer takes a moment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::failure::{LabError, run};

/// How the names begin of what cargo and its test runner tell a running test.
const TOLD_TO_TESTS: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "NEXTEST"];

/// Programs by kind and name: `("bin", "mainstay")`, `("test", "os")`, `("example", "slot_holder")`.
#[derive(Debug, Clone)]
pub struct Products(BTreeMap<(String, String), PathBuf>);

/// The part of cargo's messages that is read.
#[derive(Debug, Deserialize)]
struct Message {
    reason: String,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

/// A program's unit tests are a program of the same kind and name, with `test` set.
#[derive(Debug, Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

impl Products {
    /// Builds all of the workspace, tests included, with `cargo`.
    ///
    /// # Errors
    /// It does not build.
    pub fn build(cargo: &str, workspace: &Path) -> Result<Self, LabError> {
        let mut command = Command::new(cargo);
        command
            .args(["test", "--workspace", "--no-run", "--locked", "--quiet", "--message-format=json"])
            .current_dir(workspace);
        // What cargo tells a test of its own crate is no setting of a build; build scripts that look at it run again.
        for name in std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()) {
            if TOLD_TO_TESTS.iter().any(|prefix| name.starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        let messages = run(&mut command)?;
        Ok(Self(messages.lines().filter_map(Self::program).collect()))
    }

    /// A line of cargo's that tells of a program; others are passed over.
    fn program(line: &str) -> Option<((String, String), PathBuf)> {
        let message: Message = serde_json::from_str(line).ok()?;
        let (target, executable) = (message.target?, message.executable?);
        let kind = target.kind.into_iter().next()?;
        let is_unit_tests = message.profile?.test && kind != "test";
        let is_wanted = message.reason == "compiler-artifact" && !is_unit_tests;
        is_wanted.then_some(((kind, target.name), executable))
    }

    /// One of them.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn get(&self, kind: &str, name: &str) -> Result<PathBuf, LabError> {
        let key = (kind.to_owned(), name.to_owned());
        let missing = || LabError::Missing(format!("cargo built no {kind} of the name {name}"));
        self.0.get(&key).cloned().ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_read_from_cargos_messages_and_nothing_else_is() {
        let line = r#"{"reason":"compiler-artifact","target":{"kind":["test"],"name":"os"},"profile":{"test":true},"executable":"/t/os-1"}"#;
        let key = ("test".to_owned(), "os".to_owned());
        assert_eq!(Products::program(line), Some((key, PathBuf::from("/t/os-1"))));
        for line in [
            "",
            "talk",
            r#"{"reason":"build-finished","success":true}"#,
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"os"},"profile":{"test":false},"executable":null}"#,
            r#"{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"os"},"profile":{"test":true},"executable":"/t/os-2"}"#,
        ] {
            assert_eq!(Products::program(line), None, "{line}");
        }
    }
}
