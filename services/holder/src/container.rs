//! The start of a game in a container: its runtime makes the process and ends, and the process is ours.
//!
//! `runc create` leaves a process that waits, whose parent it was; since the holder is a subreaper, that process becomes the
//! holder's own child when runc ends. So the pid that is told is the game's, its exit code and its signal come from the
//! kernel and not through a runtime's words for them, and no runtime stays in memory beside each game: only a [`Guard`],
//! without which a game would outlive its holder.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::libc;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, waitpid};

use crate::guard::Guard;
use crate::launch::Launched;
use crate::process;
use crate::record::{SpawnFailure, SpawnStage};
use crate::spec::{ContainerStart, LaunchSpec};

/// How long a runtime may take for either step: it mounts a handful of file systems (some 50 ms measured), and a machine that
/// starts hundreds at once takes its time.
const STEP_WITHIN: Duration = Duration::from_secs(30);
/// Pause between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(2);
/// How much of a runtime's complaint is kept: its last words name the cause.
const SAID_BYTES_MAX: usize = 2_048;

/// Waits for the runtime that [`crate::launch::launch`] has started, and lets the process go that it made.
///
/// # Errors
/// What the runtime said; no game code ran.
pub(crate) fn begin(
    spec: &LaunchSpec,
    container: &ContainerStart,
    runtime: Launched,
) -> Result<(Launched, Guard), SpawnFailure> {
    let Launched { pid, stdin, stdout, stderr } = runtime;
    let ended = wait_for(pid).map_err(|error| failure(&format!("wait for it: {error}")))?;
    if ended.exit_status() != Some(0) {
        let said = File::from(stderr);
        return Err(failure(&format!("create: {}", last_words(said))));
    }
    let made = pid_in(&container.pid_file);
    let made = made.map_err(|error| failure(&format!("read {}: {error}", container.pid_file.display())))?;
    // What was made and never became the game is killed with every other descendant by whoever called us.
    let guard = Guard::post(made).map_err(|error| failure(&format!("guard it: {error}")))?;
    start(spec, container).map_err(|why| failure(&why))?;
    Ok((Launched { pid: made, stdin, stdout, stderr }, guard))
}

/// Reaps the runtime. One that takes too long is killed, with what it made.
fn wait_for(pid: i32) -> io::Result<WaitStatus> {
    let Some(runtime) = Pid::from_raw(pid) else { return Err(io::Error::from_raw_os_error(libc::ESRCH)) };
    let deadline = Instant::now() + STEP_WITHIN;
    loop {
        match waitpid(Some(runtime), WaitOptions::NOHANG) {
            Ok(Some((_, status))) => return Ok(status),
            Ok(None) if Instant::now() >= deadline => process::send(pid, Signal::KILL)?,
            Ok(None) => {}
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        std::thread::sleep(LOOK);
    }
}

fn start(spec: &LaunchSpec, container: &ContainerStart) -> Result<(), String> {
    let mut runtime = Command::new(&spec.executable);
    runtime.args(&container.start).env_clear().current_dir(&spec.working_dir);
    let mut runtime = runtime
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("start: {error}"))?;
    let said = runtime.stderr.take();
    let pid = i32::try_from(runtime.id()).map_err(|error| format!("start: {error}"))?;
    let ended = wait_for(pid).map_err(|error| format!("start: {error}"))?;
    if ended.exit_status() == Some(0) {
        return Ok(());
    }
    let said = said.map(|pipe| last_words(File::from(std::os::fd::OwnedFd::from(pipe)))).unwrap_or_default();
    Err(format!("start: {said}"))
}

fn pid_in(file: &Path) -> io::Result<i32> {
    let text = std::fs::read_to_string(file)?;
    let pid = text.trim().parse::<i32>().ok().filter(|pid| *pid > 1);
    pid.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{text:?} is no pid")))
}

/// What stands in a pipe whose writer has ended.
fn last_words(mut pipe: File) -> String {
    let mut said = Vec::new();
    let mut piece = [0; SAID_BYTES_MAX];
    // What is there is there at once; the pipe may be one that never blocks, or one that a descendant still holds open.
    while let Ok(read) = pipe.read(&mut piece) {
        if read == 0 || said.len() > 16 * SAID_BYTES_MAX {
            break;
        }
        said.extend(piece.iter().take(read));
    }
    let from = said.len().saturating_sub(SAID_BYTES_MAX);
    let text = String::from_utf8_lossy(said.get(from..).unwrap_or_default());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn failure(why: &str) -> SpawnFailure {
    SpawnFailure { stage: SpawnStage::Execute, errno: libc::ENOEXEC, why: format!("the container: {why}") }
}
