//! A tiny parent per game server, so that game servers and their exit codes outlive the agent.
//!
//! The agent (or the whole `mainstay up`) may be killed at any moment. The holder is a process of its own, the same
//! executable branching here before any runtime starts: no threads, no async, less than a megabyte. It starts the
//! game once ([`spec`]), keeps its standard streams ([`output`]), holds the lock on the slot ([`lock`]), reaps and
//! kills what the game leaves behind ([`process`]), writes the exit down ([`record`]) and then tells whoever is
//! connected ([`protocol`]). The agent's side is [`client`].
//!
//! A slot's run directory (mode 0700) holds the launch file (removed once read), `slot.lock`, `holder.sock`, `holder.json`, `exit.json`
//! and `holder.log` (what the holder itself had to complain about).

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use nix::libc;
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{ForkResult, dup2_stderr, dup2_stdin, dup2_stdout, fork, setsid};

use crate::protocol::StartReport;
use crate::spec::LaunchSpec;

pub mod client;
mod container;
mod guard;
mod hold;
pub mod isolate;
mod launch;
pub mod lock;
pub mod output;
mod peers;
pub mod process;
pub mod protocol;
pub mod record;
pub mod spawner;
pub mod spec;

/// Exit code: all is well.
const EXIT_DONE: u8 = 0;
/// Exit code: the arguments are wrong (sysexits.h `EX_USAGE`).
pub const EXIT_USAGE: u8 = 64;
/// Exit code: the launch file is unreadable, of another version or wrong (`EX_DATAERR`).
pub const EXIT_BAD_SPEC: u8 = 65;
/// Exit code: the holder's own work failed (`EX_OSERR`).
pub const EXIT_SYSTEM: u8 = 71;
/// Exit code: another holder has the slot (`EX_CANTCREAT`).
pub const EXIT_SLOT_TAKEN: u8 = 73;

/// Signals a holder ignores.
const IGNORED: [Signal; 4] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM, Signal::SIGPIPE];

/// Name of the file for what the holder itself has to complain about.
pub const COMPLAINT_FILE: &str = "holder.log";

/// Runs a holder: `arguments` are those after the word `holder`, namely the path of the launch file, whose directory
/// is the slot's run directory; or the word [`spawner::SPAWNER_WORD`], for a process that forks holders.
///
/// Must be called before the process has a second thread or an open descriptor of its own. Standard output gets one
/// [`StartReport`] line; the caller's process ends at once and the holder goes on detached.
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match arguments.as_slice() {
        [word] if word == spawner::SPAWNER_WORD => spawner::main(),
        [launch_file] => {
            close_inherited();
            ExitCode::from(holder(Path::new(launch_file), in_background))
        }
        _ => {
            let why = "usage: mainstay holder LAUNCH_FILE".to_owned();
            report(&StartReport::HolderFailed { why, errno: None });
            ExitCode::from(EXIT_USAGE)
        }
    }
}

/// Takes up a launch, and has it held by `hold`.
///
/// The lock comes before the launch: whoever finds a launch and a free lock may take both away, and a holder that is
/// late then starts nothing.
fn holder(launch_file: &Path, hold: impl FnOnce(lock::SlotLock, PathBuf, LaunchSpec) -> u8) -> u8 {
    let taken = slot_of(launch_file).and_then(|slot| Ok((lock::take(&slot)?, slot)));
    let (held, slot) = match taken {
        Ok((Some(held), slot)) => (held, slot),
        Ok((None, _)) => {
            report(&StartReport::SlotTaken);
            return EXIT_SLOT_TAKEN;
        }
        Err(error) => {
            report(&failed("take the slot", &error));
            return EXIT_SYSTEM;
        }
    };
    let read = LaunchSpec::read(launch_file);
    if let Err(error) = std::fs::remove_file(launch_file)
        && error.kind() != io::ErrorKind::NotFound
    {
        report(&failed("remove the launch file", &error));
        return EXIT_SYSTEM;
    }
    match read.map(|spec| (has_ended(&slot, spec.run), spec)) {
        Ok((Ok(false), spec)) => hold(held, slot, spec),
        // Another holder was quicker with the same run, and its game is over already: whoever looks finds its end.
        Ok((Ok(true), _)) => {
            report(&StartReport::SlotTaken);
            EXIT_SLOT_TAKEN
        }
        Ok((Err(error), _)) => {
            report(&failed("read the last exit", &error));
            EXIT_SYSTEM
        }
        Err(error) => {
            report(&failed("read the launch", &error));
            EXIT_BAD_SPEC
        }
    }
}

/// Whether a run's end is on record already. No run has two games: a launch that comes late, after a quicker holder's game
/// has come and gone, is refused here, under the slot's lock.
fn has_ended(slot: &Path, run: u64) -> io::Result<bool> {
    let exit: Option<record::ExitRecord> = record::read(slot, record::EXIT_FILE)?;
    Ok(exit.is_some_and(|exit| exit.run == run))
}

/// Ends the starter's child at once; the holder is its child's child.
fn in_background(held: lock::SlotLock, slot: PathBuf, spec: LaunchSpec) -> u8 {
    // SAFETY: the process has one thread (see `main`), so the child finds every lock free.
    match unsafe { fork() } {
        Ok(ForkResult::Parent { .. }) => EXIT_DONE,
        Ok(ForkResult::Child) => {
            let code = detached(slot, spec);
            drop(held);
            code
        }
        Err(errno) => {
            report(&failed("fork", &io::Error::from(errno)));
            EXIT_SYSTEM
        }
    }
}

/// The detached holder: from here on nobody waits for its exit code, the files say everything.
fn detached(slot: PathBuf, spec: LaunchSpec) -> u8 {
    let started = prepare(slot, spec).and_then(hold::start);
    let holder = match started {
        Ok(hold::Start::Holding(holder)) => holder,
        Ok(hold::Start::SpawnFailed(record)) => {
            report(&StartReport::SpawnFailed { record: *record });
            return EXIT_DONE;
        }
        Err(error) => {
            report(&failed("start the game", &error));
            return EXIT_SYSTEM;
        }
    };
    report(&StartReport::Started { status: holder.status() });
    let held = silence_stdout().and_then(|()| holder.hold());
    match held {
        Ok(()) => EXIT_DONE,
        Err(error) => {
            complain(&error.to_string());
            EXIT_SYSTEM
        }
    }
}

fn slot_of(launch_file: &Path) -> io::Result<PathBuf> {
    let file = std::fs::canonicalize(launch_file)?;
    let parent = file.parent().ok_or_else(|| io::Error::other("the launch file has no directory"))?;
    Ok(parent.to_owned())
}

/// A session of its own, the slot's directory, the socket, the child signal as a descriptor.
fn prepare(slot: PathBuf, spec: LaunchSpec) -> io::Result<hold::Prepared> {
    setsid()?;
    prctl::set_child_subreaper(true)?;
    std::fs::set_permissions(&slot, std::fs::Permissions::from_mode(0o700))?;
    std::env::set_current_dir(&slot)?;
    let complaints = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(COMPLAINT_FILE)?;
    dup2_stderr(&complaints)?;
    dup2_stdin(File::open("/dev/null")?)?;
    // Nobody stops a holder but its game's end. A terminal's Ctrl-C and a shutdown's SIGTERM reach the game on their
    // own way; the holder has to see how it takes them.
    for ignored in IGNORED {
        // SAFETY: ignoring installs no handler.
        unsafe { signal(ignored, SigHandler::SigIgn) }?;
    }
    let mut children = SigSet::empty();
    children.add(Signal::SIGCHLD);
    children.thread_block()?;
    let signals = SignalFd::with_flags(&children, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    // Relative, because an absolute path may exceed the 108 bytes of a socket address.
    match std::fs::remove_file(protocol::SOCKET_FILE) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(protocol::SOCKET_FILE)?;
    listener.set_nonblocking(true)?;
    let boot_id = process::boot_id()?;
    let holder = process::mark(rustix::process::getpid().as_raw_nonzero().get())?;
    Ok(hold::Prepared { slot, spec, listener, signals, boot_id, holder })
}

/// Descriptors that a careless starter leaked would otherwise live as long as the game.
fn close_inherited() {
    // SAFETY: by the contract of `main` nothing in this process owns a descriptor above the standard ones.
    let result = unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
    if result != 0 {
        complain("close_range failed; descriptors of the starter stay open in the holder");
    }
}

/// One line to whoever started us. If nobody reads it any more the files still say it.
fn report(message: &StartReport) {
    let written = protocol::encode(message).map_err(io::Error::from).and_then(|line| {
        let mut stdout = io::stdout().lock();
        stdout.write_all(&line)?;
        stdout.flush()
    });
    if let Err(error) = written {
        complain(&format!("report to the starter: {error}"));
    }
}

/// Ends the starter's wait: its pipe is closed, only the line stays.
fn silence_stdout() -> io::Result<()> {
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    Ok(dup2_stdout(null)?)
}

fn complain(why: &str) {
    // The last resort: if even standard error is closed there is nobody left to tell.
    drop(writeln!(io::stderr(), "mainstay holder: {why}"));
}

/// The holder's own trouble: what it was at, down to the number of what the system refused, which crosses a process as it is.
fn failed(what: &str, error: &(dyn std::error::Error + 'static)) -> StartReport {
    let mut why = what.to_owned();
    for error in std::iter::successors(Some(error), |error| error.source()) {
        let errno = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        if errno.is_some() {
            return StartReport::HolderFailed { why, errno };
        }
        why = format!("{why}: {error}");
    }
    StartReport::HolderFailed { why, errno: None }
}
