//! A small process that forks holders, so that a start costs a fork and not an exec.
//!
//! Loading this executable and binding its libraries takes 1.5 to 2 ms, and forking a large agent some more: time in
//! which a crashed session waits. The agent therefore keeps one spawner, which has been loaded already and waits for
//! launches on its standard input, a `SOCK_SEQPACKET` socket: one message is the path of a launch file with one
//! descriptor, the pipe for the [`StartReport`] line. Each forked holder is as if it had been started by itself. The
//! spawner knows nothing and may die at any moment; it ends when its agent does.

use std::fs::File;
use std::io::{self, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::ExitCode;

use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{ForkResult, dup2_stdin, dup2_stdout, fork, setsid};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};

use crate::protocol::{self, StartReport};
use crate::{EXIT_SYSTEM, IGNORED, close_inherited, complain, holder};

/// The word after `holder` that makes a process a spawner.
pub const SPAWNER_WORD: &str = "spawner";
/// Longest path of a launch file, in bytes: Linux's `PATH_MAX`.
pub(crate) const PATH_BYTES_MAX: usize = 4096;

/// One holder to be started.
struct Launch {
    file: PathBuf,
    report: OwnedFd,
}

/// Forks holders until the agent is gone. Must be called before the process has a second thread.
pub(crate) fn main() -> ExitCode {
    close_inherited();
    match prepare().and_then(|()| serve()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("spawner: {error}"));
            ExitCode::from(EXIT_SYSTEM)
        }
    }
}

/// What a terminal's Ctrl-C tells the agent is not for its holders, nor for what starts them. Ended children are taken
/// away by the kernel.
fn prepare() -> io::Result<()> {
    setsid()?;
    for ignored in IGNORED.into_iter().chain([Signal::SIGCHLD]) {
        // SAFETY: ignoring installs no handler.
        unsafe { signal(ignored, SigHandler::SigIgn) }?;
    }
    Ok(())
}

fn serve() -> io::Result<()> {
    while let Some(launch) = receive()? {
        // SAFETY: the process has one thread (see `main`), so the child finds every lock free.
        match unsafe { fork() } {
            Ok(ForkResult::Parent { .. }) => {}
            Ok(ForkResult::Child) => std::process::exit(become_holder(launch)),
            Err(errno) => refuse(launch.report, &crate::failed("fork", &io::Error::from(errno)))?,
        }
    }
    Ok(())
}

/// The next launch; `None` when the agent has closed its end. What is no launch is not answered: its starter reads the
/// end of its pipe.
fn receive() -> io::Result<Option<Launch>> {
    let stdin = io::stdin();
    loop {
        let mut path = [0; PATH_BYTES_MAX];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(
            stdin.as_fd(),
            &mut [IoSliceMut::new(&mut path)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        );
        let received = match received {
            Err(rustix::io::Errno::INTR) => continue,
            received => received?,
        };
        if received.bytes == 0 {
            return Ok(None);
        }
        let descriptor = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            RecvAncillaryMessage::ScmCredentials(_) | _ => None,
        });
        let is_whole = !received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC);
        if let Some(report) = descriptor.filter(|_| is_whole) {
            use std::os::unix::ffi::OsStrExt as _;
            let file = PathBuf::from(std::ffi::OsStr::from_bytes(&path[..received.bytes]));
            return Ok(Some(Launch { file, report }));
        }
    }
}

/// The child's side: from here on it is a holder like any other, and the socket is none of its business.
fn become_holder(launch: Launch) -> i32 {
    let taken = File::open("/dev/null").and_then(|null| {
        dup2_stdin(null)?;
        dup2_stdout(&launch.report)?;
        // SAFETY: restoring the default installs no handler.
        unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) }?;
        Ok(())
    });
    if let Err(error) = taken {
        complain(&format!("become a holder: {error}"));
        return EXIT_SYSTEM.into();
    }
    drop(launch.report);
    holder(&launch.file, |held, slot, spec| {
        let code = crate::detached(slot, spec);
        drop(held);
        code
    })
    .into()
}

fn refuse(report: OwnedFd, refusal: &StartReport) -> io::Result<()> {
    let line = protocol::encode(refusal)?;
    // A starter that no longer listens looks at the slot.
    drop(File::from(report).write_all(&line));
    Ok(())
}
