//! A lobby for the demo alone: `mainstay up` in a folder that goes with it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failure::{Exit, Failure};

/// How long it has to start.
const STARTS_WITHIN: Duration = Duration::from_secs(30);
/// How long it has to stop.
const STOPS_WITHIN: Duration = Duration::from_secs(5);
/// How often it is looked at meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// What it is configured with: a lobby needs no fleet.
const CONFIGURATION: &str = "version: 1.0\n";

/// How many lines of what it said last are shown where it does not start.
const WORDS_MAX: usize = 8;

/// What it said last before it ended, if anything.
fn last_words(log: &Path) -> Option<String> {
    let log = std::fs::read_to_string(log).ok()?;
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(WORDS_MAX)..];
    (!last.is_empty()).then(|| last.join("\n       "))
}

/// The process. Dropped, it ends.
pub struct OwnLobby {
    process: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl OwnLobby {
    /// Starts one, and waits until it can be asked.
    pub fn start() -> Result<Self, Failure> {
        let refused = |error: &dyn std::fmt::Display| {
            Failure::new(Exit::Failed, "MS-U046", "cannot start a lobby for the demo").why(error).fix(
                "see the cause: it needs a folder for temporary files that can be written (TMPDIR) and two free ports; --lan plays without a lobby",
            )
        };
        let folder = tempfile::Builder::new().prefix("mainstay-demo").tempdir().map_err(|it| refused(&it))?;
        let file = folder.path().join("mainstay.yaml");
        std::fs::write(&file, CONFIGURATION).map_err(|error| refused(&error))?;
        let program = std::env::current_exe().map_err(|error| refused(&error))?;
        let mut command = Command::new(program);
        command.args(["up", "--ports", "auto", "--with-parent", "--data-dir"]);
        command.arg(folder.path().join("data")).arg(&file);
        let log = folder.path().join("up.log");
        let written = std::fs::File::create(&log).map_err(|error| refused(&error))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(written);
        let mut process = command.spawn().map_err(|error| refused(&error))?;
        let (said, heard) = sync_channel(1);
        if let Some(out) = process.stdout.take() {
            thread::spawn(move || {
                let mut lines = BufReader::new(out).lines().map_while(Result::ok);
                // Nobody waits any more where it took too long.
                let _late = lines.next().map(|line| said.send(line));
                lines.for_each(drop);
            });
        }
        let mut lobby = Self { process, url: String::new(), _folder: folder };
        let first = heard.recv_timeout(STARTS_WITHIN).map_err(|error| match last_words(&log) {
            Some(words) => refused(&words),
            None => refused(&error),
        })?;
        let ready: Value = serde_json::from_str(&first).map_err(|error| refused(&error))?;
        lobby.url = ready["api"].as_str().ok_or_else(|| refused(&first))?.to_owned();
        Ok(lobby)
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for OwnLobby {
    /// It stops when its standard input closes; nobody needs what it holds, so it is not waited for long.
    fn drop(&mut self) {
        self.process.stdin = None;
        let until = Instant::now() + STOPS_WITHIN;
        while matches!(self.process.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(LOOK_AGAIN);
        }
        // It has ended where it cannot be killed.
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}
