//! The agent's own tests of control groups and measurements, unchanged, where the kernel has version 2.

use std::process::Command;

use crate::wire;

/// Where the host put the tests, with the holder beside them as in a target folder.
const TESTS: &str = "/lab/deps/os";

fn tests() -> Vec<String> {
    let said = crate::run(
        Command::new(TESTS).args(["groups::", "--test-threads=1", "--nocapture"]).current_dir("/tmp"),
    );
    assert!(!said.contains("SKIPPED") && !said.contains("MISSING"), "not everything could be had:\n{said}");
    said.lines()
        .filter_map(|line| line.strip_prefix("test ")?.split_once(" ... ").map(|(name, _)| name.to_owned()))
        .collect()
}

pub fn run() {
    let unified =
        std::fs::read_to_string("/sys/fs/cgroup/cgroup.controllers").expect("one hierarchy for all");
    for controller in ["cpu", "memory"] {
        assert!(unified.split_whitespace().any(|name| name == controller), "{unified}");
    }
    wire::holds("version 2 offers cpu and memory");
    for name in tests() {
        wire::holds(name);
    }
}
