//! The agent's side: start a holder, find one again, talk to it.
//!
//! Everything here blocks, each call within a named time; [`Connection::into_stream`] gives the socket to an
//! asynchronous agent, which then reads with [`Lines`] and [`crate::protocol::decode_reply`].

use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

mod connection;
mod spawner;

pub use connection::{Connection, connect, connect_with};
pub use spawner::Spawner;

use connection::{read_line, unanswered};

use crate::protocol::{Lines, StartReport, Status, VERSIONS};
use crate::record::{self, EXIT_FILE, ExitRecord, HOLDER_FILE, HolderRecord};
use crate::spec::LaunchSpec;
use crate::{lock, process};

/// How long a holder may take from its start to its report: two forks, two execs and a few small files, on a
/// machine that starts two hundred of them at once.
pub const START_MS_MAX: u64 = 30_000;
/// How long a holder may take to answer: it only has to be scheduled.
pub const ANSWER_MS_MAX: u64 = 5_000;
/// Pause between two looks at a slot whose holder is just starting or ending, in milliseconds.
const LOOK_AGAIN_MS: u64 = 1;
/// Longest report line, in bytes: a record is below 2 kB.
const REPORT_BYTES_MAX: usize = 64 * 1024;

/// What went wrong on the agent's side.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The slot's files or directory.
    #[error("{what} {} (MS-S101)", path.display())]
    Files {
        /// The step.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The holder's executable did not start.
    #[error("start holder {} (MS-S102)", executable.display())]
    Executable {
        /// The program.
        executable: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another holder has the slot: adopt it instead.
    #[error("slot {} already has a holder (MS-S103)", slot.display())]
    SlotTaken {
        /// The slot's run directory.
        slot: PathBuf,
    },
    /// The holder gave up before the game started.
    #[error("holder of slot {} failed: {why} (MS-S104)", slot.display())]
    HolderFailed {
        /// The slot's run directory.
        slot: PathBuf,
        /// In its own words.
        why: String,
        /// What the system refused, where it did.
        #[source]
        source: Option<io::Error>,
    },
    /// The holder lives but does not answer.
    #[error("holder of slot {} did not answer within {waited_ms} ms (MS-S105)", slot.display())]
    Silent {
        /// The slot's run directory.
        slot: PathBuf,
        /// How long it was given.
        waited_ms: u64,
    },
    /// No common protocol version.
    #[error("holder speaks protocol versions {theirs:?}, this agent {VERSIONS:?} (MS-S106)")]
    NoCommonVersion {
        /// Its versions.
        theirs: Vec<u32>,
    },
    /// The connection broke or carried nonsense.
    #[error("talk to the holder of slot {} (MS-S107)", slot.display())]
    Talk {
        /// The slot's run directory.
        slot: PathBuf,
        /// What the system or the parser said.
        #[source]
        source: io::Error,
    },
}

/// The result of a start.
#[derive(Debug)]
pub enum Started {
    /// The game runs.
    Running(Status),
    /// No game code ran; the same record is in `exit.json`.
    SpawnFailed(ExitRecord),
}

/// What a look at a slot finds.
#[derive(Debug)]
pub enum Found {
    /// A holder with a running game.
    Running(Connection),
    /// The last run ended and its end is known.
    Exited(ExitRecord),
    /// The slot never ran.
    Nothing,
    /// The machine was restarted since the last start, and its end is not known: the machine's loss, no crash.
    OtherBoot(HolderRecord),
    /// The holder was killed and with it the game, so the end is not known: the machine's loss, no crash.
    HolderDead(HolderRecord),
}

/// Writes the launch file, starts a detached holder and waits for its report, at most [`START_MS_MAX`].
///
/// `executable` is the program and `words` its arguments before the launch file (for `mainstay`: `holder`). Killing
/// the caller at any moment leaves either no holder or a whole one, which [`adopt`] finds.
///
/// # Errors
/// See [`ClientError`]; [`Started::SpawnFailed`] is no error but the run's outcome.
pub fn spawn(
    executable: &Path,
    words: &[&str],
    slot: &Path,
    spec: &LaunchSpec,
) -> Result<Started, ClientError> {
    let launch_file = write_launch(slot, spec)?;
    let mut child = Command::new(executable)
        .args(words)
        .arg(&launch_file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .env_clear()
        .spawn()
        .map_err(|source| ClientError::Executable { executable: executable.to_owned(), source })?;
    let deadline = Instant::now() + Duration::from_millis(START_MS_MAX);
    let mut lines = Lines::new(REPORT_BYTES_MAX);
    let report = match &mut child.stdout {
        Some(stdout) => read_line(stdout, &mut lines, deadline),
        None => Err(io::Error::other("no pipe")),
    };
    remove_launch(&launch_file)?;
    // The parent of the detached holder ends right after its fork; without a report it may hang before it.
    let ended = if report.is_ok() { Ok(()) } else { child.kill() };
    ended
        .and_then(|()| child.wait())
        .map_err(|source| ClientError::Executable { executable: executable.to_owned(), source })?;
    let line = report.map_err(|source| unanswered(slot, START_MS_MAX, source))?;
    started(slot, &line)
}

/// The holder removes its launch once read, but only if it got that far; it may hold secrets.
fn remove_launch(launch_file: &Path) -> Result<(), ClientError> {
    match std::fs::remove_file(launch_file) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(ClientError::Files { what: "remove", path: launch_file.to_owned(), source })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// What a holder reported.
fn started(slot: &Path, line: &[u8]) -> Result<Started, ClientError> {
    let report = serde_json::from_slice(line)
        .map_err(|error| ClientError::Talk { slot: slot.to_owned(), source: error.into() })?;
    match report {
        StartReport::Started { status } => Ok(Started::Running(status)),
        StartReport::SpawnFailed { record } => Ok(Started::SpawnFailed(record)),
        StartReport::SlotTaken => Err(ClientError::SlotTaken { slot: slot.to_owned() }),
        StartReport::HolderFailed { why, errno } => Err(ClientError::HolderFailed {
            slot: slot.to_owned(),
            why,
            source: errno.map(io::Error::from_raw_os_error),
        }),
    }
}

const LAUNCH_PREFIX: &str = "launch.";
const LAUNCH_SUFFIX: &str = ".json";

fn write_launch(slot: &Path, spec: &LaunchSpec) -> Result<PathBuf, ClientError> {
    let files = |what, path: &Path| {
        let path = path.to_owned();
        move |source| ClientError::Files { what, path, source }
    };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(slot).map_err(files("make", slot))?;
    // One file a starter, so that a second one cannot change the file under the first.
    let name = format!("{LAUNCH_PREFIX}{}{LAUNCH_SUFFIX}", std::process::id());
    let launch_file = slot.join(&name);
    record::write_atomically(slot, &name, spec).map_err(files("write", &launch_file))?;
    Ok(launch_file)
}

/// Looks at a slot: whatever happened to the holder, the agent or the machine, one of [`Found`].
///
/// # Errors
/// [`ClientError::Silent`] if a holder lives but does not answer, or the files are unreadable.
pub fn adopt(slot: &Path) -> Result<Found, ClientError> {
    let deadline = Instant::now() + Duration::from_millis(ANSWER_MS_MAX);
    loop {
        if !is_held(slot)? {
            if !no_launch_left(slot)? {
                continue;
            }
            return without_holder(slot);
        }
        match connect(slot) {
            Ok(connection) => return Ok(Found::Running(connection)),
            // It is starting or ending: the lock tells which, in a moment.
            Err(ClientError::Talk { .. }) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(LOOK_AGAIN_MS));
            }
            Err(ClientError::Talk { .. }) => {
                return Err(ClientError::Silent { slot: slot.to_owned(), waited_ms: ANSWER_MS_MAX });
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_held(slot: &Path) -> Result<bool, ClientError> {
    lock::is_held(slot).map_err(|source| ClientError::Files {
        what: "ask the lock of",
        path: slot.to_owned(),
        source,
    })
}

/// Takes away launches that nobody has taken up: their starter was killed between writing one and the holder's lock, and
/// a holder that is late must find nothing to start. `false` where a holder was quicker.
fn no_launch_left(slot: &Path) -> Result<bool, ClientError> {
    let files = |what, path: &Path| {
        let path = path.to_owned();
        move |source| ClientError::Files { what, path, source }
    };
    let found = launches(slot).map_err(files("list", slot))?;
    if found.is_empty() {
        return Ok(true);
    }
    let Some(held) = lock::take(slot).map_err(files("take the lock of", slot))? else { return Ok(false) };
    for launch in launches(slot).map_err(files("list", slot))? {
        std::fs::remove_file(&launch).map_err(files("remove", &launch))?;
    }
    drop(held);
    Ok(true)
}

fn launches(slot: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(slot) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(LAUNCH_PREFIX) && name.ends_with(LAUNCH_SUFFIX) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// The lock is free, so the files are final: the holder wrote them before it let go.
fn without_holder(slot: &Path) -> Result<Found, ClientError> {
    let exit: Option<ExitRecord> = read_record(slot, EXIT_FILE)?;
    let holder: Option<HolderRecord> = read_record(slot, HOLDER_FILE)?;
    let boot_id = process::boot_id().map_err(|source| ClientError::Files {
        what: "read the boot id for",
        path: slot.to_owned(),
        source,
    })?;
    Ok(judge(holder, exit, &boot_id))
}

/// What the files of a slot without a holder mean.
fn judge(holder: Option<HolderRecord>, exit: Option<ExitRecord>, boot_id: &str) -> Found {
    match (holder, exit) {
        (Some(holder), Some(exit)) if exit.run == holder.run && exit.generation == holder.generation => {
            Found::Exited(exit)
        }
        (Some(holder), _) if holder.boot_id != boot_id => Found::OtherBoot(holder),
        (Some(holder), _) => Found::HolderDead(holder),
        (None, Some(exit)) => Found::Exited(exit),
        (None, None) => Found::Nothing,
    }
}

fn read_record<T: serde::de::DeserializeOwned>(slot: &Path, name: &str) -> Result<Option<T>, ClientError> {
    record::read(slot, name).map_err(|source| ClientError::Files {
        what: "read",
        path: slot.join(name),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Outcome, ProcessMark, RECORD_VERSION};

    fn holder(run: u64, boot_id: &str) -> HolderRecord {
        HolderRecord {
            version: RECORD_VERSION,
            generation: 1,
            run,
            boot_id: boot_id.to_owned(),
            holder: ProcessMark { pid: 10, start_ticks: 1 },
            game: None,
            own_uid: None,
            started_at_ms: 0,
        }
    }

    fn exit(run: u64, boot_id: &str) -> ExitRecord {
        ExitRecord {
            version: RECORD_VERSION,
            generation: 1,
            run,
            boot_id: boot_id.to_owned(),
            outcome: Outcome::Exited { code: 0 },
            game_pid: None,
            oom_kills: 0,
            started_at_ms: 0,
            ended_at_ms: 0,
            leftovers_killed: 0,
            leftovers_alive: 0,
            output_kept: None,
            output_bytes_lost: 0,
            last_signal_asked: None,
        }
    }

    #[test]
    fn the_files_of_a_slot_without_a_holder_mean_one_thing_each() {
        let cases = [
            (None, None, "nothing"),
            (Some(holder(2, "now")), Some(exit(2, "now")), "exited 2"),
            (Some(holder(2, "now")), Some(exit(1, "now")), "holder dead"),
            (Some(holder(2, "now")), None, "holder dead"),
            (Some(holder(2, "before")), Some(exit(1, "before")), "other boot"),
            (Some(holder(2, "before")), None, "other boot"),
            (Some(holder(2, "before")), Some(exit(2, "before")), "exited 2"),
            (None, Some(exit(1, "now")), "exited 1"),
        ];
        for (holder, exit, expected) in cases {
            let given = format!("{holder:?} {exit:?}");
            let found = match judge(holder, exit, "now") {
                Found::Nothing => "nothing".to_owned(),
                Found::Exited(record) => format!("exited {}", record.run),
                Found::OtherBoot(_) => "other boot".to_owned(),
                Found::HolderDead(_) => "holder dead".to_owned(),
                Found::Running(_) => "running".to_owned(),
            };
            assert_eq!(found, expected, "{given}");
        }
    }
}
