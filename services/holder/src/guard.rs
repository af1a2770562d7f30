//! Ends a contained game whose holder has died.
//!
//! Any other game asks the kernel for this itself, between its change of user and its exec (`PDEATHSIG`). A game in a
//! container is executed by its runtime, from an image in which no program of ours need run, and a process can ask for
//! nobody but itself. So its holder forks a guard, which sleeps until the holder's end of a pipe closes: the kernel closes
//! it however the holder dies. What the guard costs is one process that shares its holder's memory.

use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};

use nix::fcntl::OFlag;
use nix::libc;
use nix::unistd::{ForkResult, dup2_stdin, dup2_stdout, fork, pipe2, setsid};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

/// The guard's first descriptor that it does not need: it has the pipe, the game, and where it may complain.
const FIRST_UNNEEDED_FD: libc::c_uint = 3;

/// A guard that watches. Dropped, it ends the game.
#[derive(Debug)]
pub(crate) struct Guard {
    process: OwnedFd,
    /// What the guard watches.
    _alive: OwnedFd,
}

impl Guard {
    /// Forks a guard of a game, which must be a child of the calling process that nobody has reaped.
    ///
    /// # Errors
    /// No process, no descriptor, or no such game.
    pub(crate) fn post(game: i32) -> io::Result<Self> {
        let gone = || io::Error::from_raw_os_error(libc::ESRCH);
        let game = pidfd_open(Pid::from_raw(game).ok_or_else(gone)?, PidfdFlags::empty())?;
        let (watched, alive) = pipe2(OFlag::O_CLOEXEC)?;
        // SAFETY: the holder has one thread, so the child finds every lock free and may run any code.
        match unsafe { fork() }? {
            ForkResult::Child => {
                let watched = watch(&watched, &game);
                if let Err(error) = &watched {
                    crate::complain(&format!("the game is not guarded: {error}"));
                }
                // SAFETY: ends the child at once, without running what the holder registered for its own end.
                unsafe { libc::_exit(i32::from(watched.is_err())) }
            }
            ForkResult::Parent { child } => {
                let guard = Pid::from_raw(child.as_raw()).ok_or_else(gone)?;
                Ok(Self { process: pidfd_open(guard, PidfdFlags::empty())?, _alive: alive })
            }
        }
    }

    /// Ends the guard of a game that has ended.
    ///
    /// # Errors
    /// What the system said; a guard that is gone already is none.
    pub(crate) fn dismiss(self) -> io::Result<()> {
        match pidfd_send_signal(&self.process, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(errno) => return Err(errno.into()),
        }
        loop {
            match waitid(WaitId::PidFd(self.process.as_fd()), WaitIdOptions::EXITED) {
                Ok(_) | Err(rustix::io::Errno::CHILD) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

/// The guard's life, in a session of its own: what is sent to the holder's is not for it. It keeps nothing open of what it
/// was forked with, the slot's lock and the holder's own end of the pipe least of all.
fn watch(watched: &OwnedFd, game: &OwnedFd) -> io::Result<()> {
    setsid()?;
    dup2_stdin(watched)?;
    dup2_stdout(game)?;
    // SAFETY: nothing that this process still uses owns a descriptor from here on.
    let closed = unsafe { libc::close_range(FIRST_UNNEEDED_FD, libc::c_uint::MAX, 0) };
    if closed != 0 {
        return Err(io::Error::last_os_error());
    }
    // Nothing is ever written: this returns when the other end is closed.
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    match pidfd_send_signal(io::stdout().as_fd(), Signal::KILL) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
