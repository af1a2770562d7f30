//! The end of a server's output, read where its holder keeps it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use mainstay_control::slot_files::{self, SlotFile};
use mainstay_control::{LogTail, OpenFile};
use mainstay_core::ServerId;
use mainstay_holder::output::tail;
use mainstay_holder::protocol::Stream;

/// The most read of each stream, in bytes: some 10,000 lines.
const TAIL_BYTES_MAX: usize = 1024 * 1024;

type OutputOf = Box<dyn Fn(ServerId) -> PathBuf + Send + Sync>;

/// The outputs of this machine's servers; none before its agent has started.
pub struct Outputs {
    output_of: OnceLock<OutputOf>,
    disk: PathBuf,
}

impl Outputs {
    /// On the disk of this folder.
    pub fn on(disk: &Path) -> Self {
        Self { output_of: OnceLock::new(), disk: disk.to_owned() }
    }

    /// A slot's folder: the one its output is in.
    fn slot(&self, server: ServerId) -> Option<PathBuf> {
        let output = self.output_of.get()?(server);
        output.parent().map(Path::to_owned)
    }

    /// From now on they are there. The first word counts.
    pub fn are_at(&self, output: impl Fn(ServerId) -> PathBuf + Send + Sync + 'static) {
        let _first = self.output_of.set(Box::new(output));
    }
}

impl LogTail for Outputs {
    fn tail(&self, server: ServerId, lines: usize) -> io::Result<Option<String>> {
        let Some(output) = self.output_of.get() else { return Ok(None) };
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

    fn files(&self, server: ServerId) -> io::Result<Option<Vec<SlotFile>>> {
        self.slot(server).map_or(Ok(None), |slot| slot_files::list(&slot))
    }

    fn open(&self, server: ServerId, path: &str) -> io::Result<Option<OpenFile>> {
        let Some(slot) = self.slot(server) else { return Ok(None) };
        slot_files::open(&slot, path)?.map(OpenFile::here).transpose()
    }

    fn free(&self) -> io::Result<u64> {
        slot_files::free(&self.disk)
    }
}
