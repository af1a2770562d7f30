//! Keeps what the game writes to its standard streams: appended over runs, bounded in size and number of files.
//!
//! `stdout.log` is being written, `stdout.1.log` is the newest rotated one. The game can never be blocked by its log:
//! what cannot be written (full disk) is read all the same, counted and dropped.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::libc;

use crate::protocol::Stream;
use crate::spec::Output;

/// One stream's files.
#[derive(Debug)]
pub(crate) struct Log {
    output: Output,
    stream: Stream,
    file: Option<File>,
    bytes: u64,
    kept: u64,
    lost: u64,
}

impl Log {
    /// Opens the current file at its end, so that the output of earlier runs stays.
    pub(crate) fn open(output: &Output, stream: Stream) -> io::Result<Self> {
        let file = append_to(&path(&output.dir, stream, 0))?;
        let bytes = file.metadata()?.len();
        Ok(Self { output: output.clone(), stream, file: Some(file), bytes, kept: 0, lost: 0 })
    }

    /// Keeps `bytes`; never fails, see [`Log::lost`].
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.bytes >= self.output.bytes_max || self.file.is_none() {
                self.file = self.rotate().ok();
            }
            let room =
                usize::try_from(self.output.bytes_max - self.bytes).unwrap_or(usize::MAX).min(rest.len());
            let Some(file) = &mut self.file else { break };
            match file.write(&rest[..room]) {
                Ok(0) => break,
                Ok(written) => {
                    self.bytes += written as u64;
                    self.kept += written as u64;
                    rest = &rest[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.lost += rest.len() as u64;
    }

    /// Bytes kept since it was opened: those of this run.
    pub(crate) fn kept(&self) -> u64 {
        self.kept
    }

    /// Bytes that could not be kept.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Moves every file one number up, drops the last, begins an empty one.
    #[expect(clippy::disallowed_methods, reason = "nobody is promised a game's output after a power cut")]
    fn rotate(&mut self) -> io::Result<File> {
        self.file = None;
        let name = |number| path(&self.output.dir, self.stream, number);
        let last = self.output.files_max - 1;
        for number in (0..last).rev() {
            ignore_missing(std::fs::rename(name(number), name(number + 1)))?;
        }
        if last == 0 {
            ignore_missing(std::fs::remove_file(name(0)))?;
        }
        let file = append_to(&name(0))?;
        self.bytes = file.metadata()?.len();
        Ok(file)
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o640).custom_flags(libc::O_NOFOLLOW).open(path)
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(()) | Err(_) => result,
    }
}

/// The file of a stream: number 0 is being written, higher numbers are older.
#[must_use]
pub fn path(dir: &Path, stream: Stream, number: u32) -> PathBuf {
    let name = match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    };
    dir.join(if number == 0 { format!("{name}.log") } else { format!("{name}.{number}.log") })
}

/// The newest `bytes` bytes of a stream, from the current file and the one before it.
///
/// # Errors
/// A file exists and cannot be read.
pub fn tail(dir: &Path, stream: Stream, bytes: usize) -> io::Result<Vec<u8>> {
    let newest = end_of(&path(dir, stream, 0), bytes)?;
    if newest.len() >= bytes {
        return Ok(newest);
    }
    let mut text = end_of(&path(dir, stream, 1), bytes - newest.len())?;
    text.extend(newest);
    Ok(text)
}

fn end_of(path: &Path, bytes: usize) -> io::Result<Vec<u8>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(bytes as u64)))?;
    let mut text = Vec::new();
    file.take(bytes as u64).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(dir: &Path, bytes_max: u64, files_max: u32) -> Output {
        Output { dir: dir.to_owned(), bytes_max, files_max }
    }

    #[test]
    fn size_and_number_of_files_are_bounded_and_the_newest_bytes_are_kept() {
        for (files_max, expected) in [(1, vec!["f"]), (2, vec!["f", "cde"]), (3, vec!["f", "cde", "9ab"])] {
            let dir = tempfile::tempdir().unwrap();
            let mut log = Log::open(&output(dir.path(), 3, files_max), Stream::Stdout).unwrap();
            for piece in ["012345", "6", "789a", "bcdef"] {
                log.write(piece.as_bytes());
            }
            assert_eq!(log.lost(), 0);
            let mut found = Vec::new();
            for number in 0..10 {
                if let Ok(text) = std::fs::read_to_string(path(dir.path(), Stream::Stdout, number)) {
                    found.push(text);
                }
            }
            assert_eq!(found, expected, "{files_max} files");
        }
    }

    #[test]
    fn a_later_run_appends_and_the_tail_reaches_into_the_file_before() {
        let dir = tempfile::tempdir().unwrap();
        for run in ["first ", "second ", "third"] {
            Log::open(&output(dir.path(), 10, 5), Stream::Stderr).unwrap().write(run.as_bytes());
        }
        assert_eq!(tail(dir.path(), Stream::Stderr, 100).unwrap(), b"first second third");
        assert_eq!(tail(dir.path(), Stream::Stderr, 12).unwrap(), b"second third");
        assert_eq!(tail(dir.path(), Stream::Stderr, 3).unwrap(), b"ird");
        assert_eq!(tail(dir.path(), Stream::Stdout, 3).unwrap(), b"");
    }

    #[test]
    fn a_link_in_place_of_the_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let precious = dir.path().join("precious");
        std::fs::write(&precious, "kept").unwrap();
        std::os::unix::fs::symlink(&precious, path(dir.path(), Stream::Stdout, 0)).unwrap();
        Log::open(&output(dir.path(), 10, 2), Stream::Stdout).unwrap_err();
        assert_eq!(std::fs::read_to_string(precious).unwrap(), "kept");
    }
}
