//! What a holder leaves on disk: who it is (`holder.json`) and how its game ended (`exit.json`).
//!
//! The files are the truth and the socket only news: whoever was away reads the files.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Name of the [`HolderRecord`] in the slot's run directory.
pub const HOLDER_FILE: &str = "holder.json";
/// Name of the [`ExitRecord`] in the slot's run directory.
pub const EXIT_FILE: &str = "exit.json";
/// Version of both records. Readers ignore fields they do not know; a field may be added, never changed.
pub const RECORD_VERSION: u32 = 1;
/// Longest record read, in bytes: both are below 2 kB, a longer file is not ours.
const RECORD_BYTES_MAX: u64 = 64 * 1024;
/// Space set aside for a record, in bytes: one block, twice the longest record.
const RESERVED_BYTES: u64 = 4096;

/// Who holds a slot. Written before the game starts and again when its pid is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderRecord {
    /// [`RECORD_VERSION`] of the writer.
    pub version: u32,
    /// Generation of the launch.
    pub generation: u64,
    /// Run number of the launch.
    pub run: u64,
    /// The kernel's boot id: another one means that everything of this record is gone.
    pub boot_id: String,
    /// The holder's process.
    pub holder: ProcessMark,
    /// The game's process and session; none until it started.
    pub game: Option<ProcessMark>,
    /// User of the game, if it has one of its own: every process of that user belongs to the slot.
    pub own_uid: Option<u32>,
    /// Wall clock at the start, unix milliseconds.
    pub started_at_ms: u64,
}

/// A process beyond doubt: pids are reused, a pid with its start time is not (within one boot).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMark {
    /// Process id.
    pub pid: i32,
    /// Start time in clock ticks since boot (`/proc/PID/stat`, field 22).
    pub start_ticks: u64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    /// [`RECORD_VERSION`] of the writer.
    pub version: u32,
    /// Generation of the launch.
    pub generation: u64,
    /// Run number of the launch.
    pub run: u64,
    /// The kernel's boot id during the run.
    pub boot_id: String,
    /// What happened.
    pub outcome: Outcome,
    /// Pid the game had; none if it never ran.
    pub game_pid: Option<i32>,
    /// Processes of the slot's control group killed for lack of memory during the run.
    pub oom_kills: u64,
    /// Wall clock at the start, unix milliseconds.
    pub started_at_ms: u64,
    /// Wall clock at the end, unix milliseconds.
    pub ended_at_ms: u64,
    /// Descendants that outlived the game and were killed.
    pub leftovers_killed: u32,
    /// Descendants that even SIGKILL did not end within the time allowed (stuck in the kernel).
    pub leftovers_alive: u32,
    /// What the run wrote and was kept; `None` where nobody counted.
    #[serde(default)]
    pub output_kept: Option<OutputKept>,
    /// Output that could not be kept (full disk), in bytes.
    pub output_bytes_lost: u64,
    /// The last signal a client asked the holder to send, if any: tells a stop of ours from a crash when the client
    /// died before it could note the stop.
    pub last_signal_asked: Option<i32>,
}

/// How much of a run's output is in its logs, in bytes: the logs go on over runs, and their last words may be another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputKept {
    /// Standard output.
    pub stdout: u64,
    /// Standard error.
    pub stderr: u64,
}

/// What happened to the game.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Outcome {
    /// It exited by itself.
    Exited {
        /// Exit code.
        code: i32,
    },
    /// A signal ended it.
    Killed {
        /// Signal number.
        signal: i32,
        /// The kernel wrote a core.
        core_dumped: bool,
    },
    /// It never ran: no game code was executed.
    SpawnFailure(SpawnFailure),
}

/// Which step of a start failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnFailure {
    /// The step.
    pub stage: SpawnStage,
    /// The system's error number.
    pub errno: i32,
    /// The step's object and the system's words, for people.
    pub why: String,
}

/// The steps of a start, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpawnStage {
    /// Opening the output files and pipes, or the fork itself.
    Prepare,
    /// Joining the control group.
    ControlGroup,
    /// The private mount namespace.
    Isolation,
    /// Setting a resource limit.
    Limits,
    /// Dropping to the slot's user.
    Identity,
    /// Tying the game's life to the holder's, no new privileges, signals.
    Restrict,
    /// Entering the working directory.
    WorkingDir,
    /// Executing the program: missing, not executable, wrong format.
    Execute,
}

impl ExitRecord {
    /// The kernel killed the game itself for lack of memory.
    #[must_use]
    pub fn out_of_memory(&self) -> bool {
        const SIGKILL: i32 = 9;
        match &self.outcome {
            Outcome::Killed { signal, .. } => self.oom_kills > 0 && *signal == SIGKILL,
            Outcome::Exited { .. } | Outcome::SpawnFailure(_) => false,
        }
    }
}

/// Sets disk space aside for the record `name`, so that a full disk cannot lose the exit of a game: what is written
/// later overwrites these blocks instead of asking for new ones.
///
/// # Errors
/// What the system said.
pub fn reserve(dir: &Path, name: &str) -> io::Result<()> {
    let mut file = open_temporary(dir, name)?;
    match fallocate(&file, FallocateFlags::empty(), 0, RESERVED_BYTES) {
        Ok(()) => Ok(()),
        // A file system without reservations; blocks that are written stay with the file as well.
        Err(Errno::OPNOTSUPP) => {
            std::io::copy(&mut io::repeat(b' ').take(RESERVED_BYTES), &mut file).map(drop)
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Writes `value` so that a reader sees the old or the whole new value, without waiting for the disk: for what means
/// nothing after a power cut, when every process is gone. A start waits for no sync but the agent's own.
///
/// # Errors
/// What the system said; the old file is then untouched.
#[expect(clippy::disallowed_methods, reason = "no record outlives the boot it is of")]
pub fn write_atomically<T: Serialize>(dir: &Path, name: &str, value: &T) -> io::Result<()> {
    write_temporary(dir, name, value)?;
    std::fs::rename(temporary(dir, name), dir.join(name))
}

/// Removes a record, if it is there.
///
/// # Errors
/// What the system said.
pub(crate) fn remove(dir: &Path, name: &str) -> io::Result<()> {
    match std::fs::remove_file(dir.join(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn write_temporary<T: Serialize>(dir: &Path, name: &str, value: &T) -> io::Result<File> {
    let mut bytes = serde_json::to_vec(value)?;
    bytes.push(b'\n');
    let mut file = open_temporary(dir, name)?;
    file.write_all(&bytes)?;
    file.set_len(bytes.len() as u64)?;
    Ok(file)
}

/// Opened without truncation, which would give reserved blocks back.
fn open_temporary(dir: &Path, name: &str) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(temporary(dir, name))
}

fn temporary(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.new"))
}

/// Reads a record; `None` if there is none, or if it makes no sense: a power cut may leave a record that was not waited
/// for empty, and whoever cannot read how a run ended knows as much as if nothing were written.
///
/// # Errors
/// The file is there and the system does not let us read it.
pub fn read<T: DeserializeOwned>(dir: &Path, name: &str) -> io::Result<Option<T>> {
    let file = match File::open(dir.join(name)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(RECORD_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_whole_or_none_whatever_stood_there_before() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read::<Vec<u32>>(dir.path(), "r").unwrap(), None);
        reserve(dir.path(), "r").unwrap();
        assert_eq!(read::<Vec<u32>>(dir.path(), "r").unwrap(), None, "a reservation is no record");
        write_atomically(dir.path(), "r", &vec![1, 22, 333]).unwrap();
        assert_eq!(read(dir.path(), "r").unwrap(), Some(vec![1, 22, 333]));
        write_atomically(dir.path(), "r", &vec![4]).unwrap();
        assert_eq!(read(dir.path(), "r").unwrap(), Some(vec![4]));
        for torn in ["", "[4", "{}", "\u{0}\u{0}"] {
            std::fs::write(dir.path().join("r"), torn).unwrap();
            assert_eq!(read::<Vec<u32>>(dir.path(), "r").unwrap(), None, "{torn:?}");
        }
        std::fs::write(dir.path().join("r"), format!("[{}1]", "1,".repeat(100_000))).unwrap();
        assert_eq!(read::<Vec<u32>>(dir.path(), "r").unwrap(), None, "longer than any record");
    }
}
