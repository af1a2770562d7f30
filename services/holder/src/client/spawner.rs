//! The agent's end of the spawner: the start of a holder by a message.

use std::fs::File;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sendmsg,
    socketpair,
};
use rustix::pipe::{PipeFlags, pipe_with};

use super::connection::{read_line, unanswered};
use super::{ClientError, REPORT_BYTES_MAX, START_MS_MAX, Started, remove_launch, started, write_launch};
use crate::protocol::Lines;
use crate::spawner::SPAWNER_WORD;
use crate::spec::LaunchSpec;

/// Starts holders through a process that has been loaded already; that process is started when it is first needed and
/// again whenever it is gone.
#[derive(Debug)]
pub struct Spawner {
    executable: PathBuf,
    words: Vec<String>,
    process: Mutex<Option<Process>>,
}

/// A running spawner.
#[derive(Debug)]
struct Process {
    child: Child,
    line: OwnedFd,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has nothing to lose, and must not stay a zombie. Both fail only for a process that is gone.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Spawner {
    /// `executable` is the program and `words` its arguments before `spawner` (for `mainstay`: `holder`).
    #[must_use]
    pub const fn new(executable: PathBuf, words: Vec<String>) -> Self {
        Self { executable, words, process: Mutex::new(None) }
    }

    /// As [`super::spawn`]: writes the launch file, has a detached holder started and waits for its report, at most
    /// [`START_MS_MAX`].
    ///
    /// # Errors
    /// As [`super::spawn`].
    pub fn spawn(&self, slot: &Path, spec: &LaunchSpec) -> Result<Started, ClientError> {
        let launch_file = write_launch(slot, spec)?;
        let reported = self.send(&launch_file).and_then(|report| {
            let deadline = Instant::now() + Duration::from_millis(START_MS_MAX);
            read_line(&mut File::from(report), &mut Lines::new(REPORT_BYTES_MAX), deadline).map_err(
                |source| {
                    // Whatever it is about, the next start gets a spawner that is known to work.
                    *self.lock() = None;
                    unanswered(slot, START_MS_MAX, source)
                },
            )
        });
        remove_launch(&launch_file)?;
        started(slot, &reported?)
    }

    /// The reading end of the pipe that the holder reports to.
    fn send(&self, launch_file: &Path) -> Result<OwnedFd, ClientError> {
        let failed = |source| ClientError::Executable { executable: self.executable.clone(), source };
        let (report, holders_end) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| failed(errno.into()))?;
        let mut process = self.lock();
        if let Some(running) = process.as_ref()
            && running.send(launch_file, holders_end.as_fd()).is_ok()
        {
            return Ok(report);
        }
        let fresh = process.insert(self.start().map_err(failed)?);
        fresh.send(launch_file, holders_end.as_fd()).map_err(failed)?;
        Ok(report)
    }

    fn start(&self) -> io::Result<Process> {
        let (line, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        set_socket_timeout(&line, Timeout::Send, Some(Duration::from_millis(START_MS_MAX)))?;
        let child = Command::new(&self.executable)
            .args(&self.words)
            .arg(SPAWNER_WORD)
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .env_clear()
            .spawn()?;
        Ok(Process { child, line })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    fn send(&self, launch_file: &Path, report: BorrowedFd<'_>) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let descriptors = [report];
        if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(io::Error::other("no space for a descriptor"));
        }
        let path = [IoSlice::new(launch_file.as_os_str().as_bytes())];
        sendmsg(&self.line, &path, &mut ancillary, SendFlags::NOSIGNAL)?;
        Ok(())
    }
}
