//! The end of a server's output, read where its holder keeps it.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use mainstay_control::LogTail;
use mainstay_core::ServerId;
use mainstay_holder::output::tail;
use mainstay_holder::protocol::Stream;

/// The most read of each stream, in bytes: some 10,000 lines.
const TAIL_BYTES_MAX: usize = 1024 * 1024;

type OutputOf = Box<dyn Fn(ServerId) -> PathBuf + Send + Sync>;

/// The outputs of this machine's servers; none before its agent has started.
#[derive(Default)]
pub struct Outputs(OnceLock<OutputOf>);

impl Outputs {
    /// From now on they are there. The first word counts.
    pub fn are_at(&self, output: impl Fn(ServerId) -> PathBuf + Send + Sync + 'static) {
        let _first = self.0.set(Box::new(output));
    }
}

impl LogTail for Outputs {
    fn tail(&self, server: ServerId, lines: usize) -> io::Result<Option<String>> {
        let Some(output) = self.0.get() else { return Ok(None) };
        let folder = output(server);
        if !folder.is_dir() {
            return Ok(None);
        }
        let part = |name: &str, stream| -> io::Result<String> {
            let text = String::from_utf8_lossy(&tail(&folder, stream, TAIL_BYTES_MAX)?).into_owned();
            let all: Vec<&str> = text.lines().collect();
            let last = &all[all.len().saturating_sub(lines)..];
            Ok(last.iter().map(|line| format!("{name} {line}\n")).collect())
        };
        Ok(Some(format!("{}{}", part("out", Stream::Stdout)?, part("err", Stream::Stderr)?)))
    }
}
