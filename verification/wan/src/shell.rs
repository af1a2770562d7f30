//! The programs that make namespaces: iproute2 and nftables, by their own words.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::Failure;

/// Runs `ip` with these words.
pub(crate) fn ip(words: &str) -> Result<String, Failure> {
    run("ip", Command::new("ip").args(words.split(' ')), words, None)
}

/// Gives a namespace these rules.
pub(crate) fn nft(namespace: &str, rules: &str) -> Result<String, Failure> {
    run("nft", Command::new("ip").args(["netns", "exec", namespace, "nft", "-f", "-"]), rules, Some(rules))
}

fn run(
    program: &'static str,
    command: &mut Command,
    words: &str,
    input: Option<&str>,
) -> Result<String, Failure> {
    let failed = |source| Failure::Program { program, source };
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    if let (Some(input), Some(mut to)) = (input, child.stdin.take()) {
        to.write_all(input.as_bytes()).map_err(failed)?;
    }
    let done = child.wait_with_output().map_err(failed)?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    Err(Failure::Refused { words: format!("{program} {words}"), said })
}
