//! The server's log: lines for people and tests, to a file or to stdout.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// The most lines in one second; the rest are counted, so that a flood of joins does not fill the disk.
const LINES_PER_SECOND_MAX: u32 = 100;

/// An open log.
#[derive(Debug)]
pub(crate) struct Log {
    out: Out,
    second: u64,
    lines: u32,
    broken: bool,
}

#[derive(Debug)]
enum Out {
    Stdout,
    File(File),
}

impl Log {
    /// Opens a log for appending, or stdout.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Self> {
        let out = match path {
            None => Out::Stdout,
            Some(path) => Out::File(OpenOptions::new().append(true).create(true).open(path)?),
        };
        Ok(Self { out, second: 0, lines: 0, broken: false })
    }

    /// Writes one line, with the seconds since the start before it. A log that cannot be written does not stop the game:
    /// that is said once on stderr.
    pub(crate) fn line(&mut self, now: Duration, text: impl Display) {
        if self.second != now.as_secs() {
            let dropped = self.lines.saturating_sub(LINES_PER_SECOND_MAX);
            (self.second, self.lines) = (now.as_secs(), 0);
            if dropped > 0 {
                self.write(now, format_args!("log dropped={dropped} lines in one second"));
            }
        }
        self.lines = self.lines.saturating_add(1);
        if self.lines <= LINES_PER_SECOND_MAX {
            self.write(now, text);
        }
    }

    fn write(&mut self, now: Duration, text: impl Display) {
        let line = format!("{:.3} {text}\n", now.as_secs_f64());
        let written = match &mut self.out {
            Out::Stdout => io::stdout().lock().write_all(line.as_bytes()),
            Out::File(file) => file.write_all(line.as_bytes()),
        };
        match written {
            Err(error) if !self.broken => {
                self.broken = true;
                eprintln!("tugboat: cannot write the log, the game goes on without: {error}");
            }
            Err(_) => {}
            Ok(()) => self.broken = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = Log::open(Some(&path)).unwrap();
        for number in 0..150 {
            log.line(Duration::ZERO, number);
        }
        log.line(Duration::from_millis(1250), "calm again");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 102);
        assert!(text.ends_with("1.250 log dropped=50 lines in one second\n1.250 calm again\n"), "{text}");
    }
}
