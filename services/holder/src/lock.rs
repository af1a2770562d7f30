//! The lock on a slot: while a holder lives, no other can start, whatever any agent believes.
//!
//! An open-file-description lock, not `flock`: its owner can be asked for without taking it, so a look from outside
//! never makes a starting holder fail.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// Name of the lock file in the slot's run directory. It is never removed: a lock on a removed file locks nothing.
pub const LOCK_FILE: &str = "slot.lock";

/// A held lock; dropping it (or dying) releases it.
#[derive(Debug)]
pub struct SlotLock {
    _file: File,
}

/// Takes the lock, without waiting; `None` if another holder has it.
///
/// # Errors
/// The lock file cannot be opened or locked.
pub fn take(slot: &Path) -> io::Result<Option<SlotLock>> {
    let file = open(slot)?;
    match fcntl(&file, FcntlArg::F_OFD_SETLK(&whole_file())) {
        Ok(_) => Ok(Some(SlotLock { _file: file })),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Says whether a holder has the lock, without touching it.
///
/// # Errors
/// The lock file cannot be opened or asked.
pub fn is_held(slot: &Path) -> io::Result<bool> {
    match std::fs::metadata(slot.join(LOCK_FILE)) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    }
    let file = open(slot)?;
    let mut lock = whole_file();
    fcntl(&file, FcntlArg::F_OFD_GETLK(&mut lock)).map_err(io::Error::from)?;
    Ok(libc::c_int::from(lock.l_type) != libc::F_UNLCK)
}

fn open(slot: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(slot.join(LOCK_FILE))
}

/// A write lock from byte 0 to the end; the pid is zero, as open-file-description locks demand.
fn whole_file() -> libc::flock {
    #[expect(clippy::cast_possible_truncation, reason = "F_WRLCK is 1 and SEEK_SET 0 on every Linux")]
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}
