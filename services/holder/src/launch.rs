//! The one start of the game: fork, restrict, execute, and say which step failed.
//!
//! The holder has a single thread, so ordinary code may run between fork and exec. A step's failure comes back
//! through a pipe that a successful exec closes; nothing a game does can be mistaken for it.

use std::ffi::CString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{
    ForkResult, Gid, Pid, Uid, chdir, dup2_stderr, dup2_stdin, dup2_stdout, execve, fork, getpid, getppid,
    pipe2, setgroups, setresgid, setresuid, setsid,
};

use crate::record::{SpawnFailure, SpawnStage};
use crate::spec::{Identity, LaunchSpec, LimitedResource};

/// File mode mask of the game: the customary one. Its directories are closed to others by their own modes.
const UMASK: Mode = Mode::S_IWGRP.union(Mode::S_IWOTH);

/// A running game and the holder's ends of its standard streams, all non-blocking.
#[derive(Debug)]
pub(crate) struct Launched {
    pub pid: i32,
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// A path in the words of an error, with the system's error number kept.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub(crate) struct PathError {
    pub path: PathBuf,
    pub source: io::Error,
}

impl From<PathError> for io::Error {
    fn from(error: PathError) -> Self {
        Self::new(error.source.kind(), error)
    }
}

/// What exec needs, made before the fork.
struct Image {
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

/// Starts the game.
///
/// # Errors
/// The step that failed; no game code ran.
pub(crate) fn launch(spec: &LaunchSpec) -> Result<Launched, SpawnFailure> {
    let prepare = |error: io::Error| failure(SpawnStage::Prepare, &error);
    let image = image(spec).map_err(prepare)?;
    let (stdin_read, stdin) = pipe().map_err(prepare)?;
    let (stdout, stdout_write) = pipe().map_err(prepare)?;
    let (stderr, stderr_write) = pipe().map_err(prepare)?;
    let (failure_read, failure_write) = pipe().map_err(prepare)?;
    for end in [&stdin, &stdout, &stderr] {
        fcntl(end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map_err(|errno| prepare(errno.into()))?;
    }
    let holder = getpid();
    // SAFETY: the holder has one thread, so the child finds every lock free and may run any code.
    match unsafe { fork() }.map_err(|errno| prepare(errno.into()))? {
        ForkResult::Child => {
            let failure = become_game(spec, &image, holder, [&stdin_read, &stdout_write, &stderr_write]);
            report_and_die(failure_write, &failure)
        }
        ForkResult::Parent { child } => {
            drop((failure_write, stdin_read, stdout_write, stderr_write));
            match read_failure(failure_read)? {
                None => Ok(Launched { pid: child.as_raw(), stdin, stdout, stderr }),
                Some(failure) => Err(failure),
            }
        }
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe2(OFlag::O_CLOEXEC)?)
}

fn image(spec: &LaunchSpec) -> io::Result<Image> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
    let text = |bytes: &[u8]| {
        CString::new(bytes)
            .map_err(|_| invalid(format!("{:?} has a zero byte", String::from_utf8_lossy(bytes))))
    };
    let program = text(spec.executable.as_os_str().as_bytes())?;
    let mut arguments = vec![program.clone()];
    for argument in &spec.arguments {
        arguments.push(text(argument.as_bytes())?);
    }
    let mut environment = Vec::with_capacity(spec.environment.len());
    for (name, value) in &spec.environment {
        if name.is_empty() || name.contains('=') {
            return Err(invalid(format!("{name:?} cannot name an environment variable")));
        }
        environment.push(text(format!("{name}={value}").as_bytes())?);
    }
    Ok(Image { program, arguments, environment })
}

/// The child's side; returns only if a step failed.
fn become_game(spec: &LaunchSpec, image: &Image, holder: Pid, streams: [&OwnedFd; 3]) -> SpawnFailure {
    match steps(spec, holder, streams) {
        Ok(()) => {}
        Err((stage, error)) => return failure(stage, &error),
    }
    let Err(errno) = execve(&image.program, &image.arguments, &image.environment);
    failure(SpawnStage::Execute, &PathError { path: spec.executable.clone(), source: errno.into() }.into())
}

fn steps(spec: &LaunchSpec, holder: Pid, streams: [&OwnedFd; 3]) -> Result<(), (SpawnStage, io::Error)> {
    attach(streams).map_err(|errno| (SpawnStage::Prepare, errno.into()))?;
    umask(UMASK);
    join_groups(spec).map_err(|error| (SpawnStage::ControlGroup, error))?;
    if let Some(isolation) = &spec.isolation {
        crate::isolate::isolate(isolation).map_err(|error| (SpawnStage::Isolation, error))?;
    }
    limit(spec).map_err(|error| (SpawnStage::Limits, error))?;
    drop_identity(spec.identity).map_err(|errno| (SpawnStage::Identity, errno.into()))?;
    restrict(holder).map_err(|error| (SpawnStage::Restrict, error))?;
    chdir(&spec.working_dir).map_err(|errno| {
        (SpawnStage::WorkingDir, PathError { path: spec.working_dir.clone(), source: errno.into() }.into())
    })
}

/// A session of its own, the pipes as standard streams, signals as a program expects them: what the holder or its
/// starter ignores would stay ignored across exec.
fn attach([stdin, stdout, stderr]: [&OwnedFd; 3]) -> nix::Result<()> {
    setsid()?;
    dup2_stdin(stdin)?;
    dup2_stdout(stdout)?;
    dup2_stderr(stderr)?;
    for number in Signal::iterator().filter(|number| !matches!(number, Signal::SIGKILL | Signal::SIGSTOP)) {
        // SAFETY: restoring the default installs no handler.
        unsafe { signal(number, SigHandler::SigDfl) }?;
    }
    SigSet::empty().thread_set_mask()
}

/// The caller joins by the number 0, which is itself. Into a v1 `tasks` file the kernel then moves it without stopping
/// every fork and exit of the machine, which takes a grace period (15 ms measured) when nobody has moved lately.
fn join_groups(spec: &LaunchSpec) -> io::Result<()> {
    for file in spec.control_group.iter().flat_map(|group| &group.join) {
        std::fs::OpenOptions::new()
            .write(true)
            .open(file)
            .and_then(|mut group| group.write_all(b"0"))
            .map_err(|source| io::Error::from(PathError { path: file.clone(), source }))?;
    }
    Ok(())
}

fn limit(spec: &LaunchSpec) -> io::Result<()> {
    for limit in &spec.limits {
        let resource = match limit.resource {
            LimitedResource::OpenFiles => Resource::RLIMIT_NOFILE,
            LimitedResource::CoreBytes => Resource::RLIMIT_CORE,
            LimitedResource::Processes => Resource::RLIMIT_NPROC,
            LimitedResource::LockedBytes => Resource::RLIMIT_MEMLOCK,
        };
        setrlimit(resource, limit.soft, limit.hard).map_err(|errno| {
            let what = format!("{:?} {}..{}", limit.resource, limit.soft, limit.hard);
            io::Error::from(PathError { path: PathBuf::from(what), source: errno.into() })
        })?;
    }
    Ok(())
}

fn drop_identity(identity: Identity) -> nix::Result<()> {
    match identity {
        Identity::Inherited => Ok(()),
        Identity::Dropped { uid, gid } => {
            let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
            setgroups(&[])?;
            setresgid(gid, gid, gid)?;
            setresuid(uid, uid, uid)
        }
    }
}

/// After the identity, because a change of user clears the death signal; the parent is asked for again, because it
/// may have died before the signal was set.
fn restrict(holder: Pid) -> io::Result<()> {
    prctl::set_no_new_privs()?;
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    if getppid() != holder {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // SAFETY: only marks descriptors to be closed by exec; nothing is closed under an owner.
    let result = unsafe {
        libc::close_range(FIRST_UNSHARED_FD, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC.cast_signed())
    };
    Errno::result(result).map(drop).map_err(io::Error::from)
}

/// Descriptors from here on are the holder's own.
const FIRST_UNSHARED_FD: libc::c_uint = 3;

fn failure(stage: SpawnStage, error: &io::Error) -> SpawnFailure {
    SpawnFailure { stage, errno: errno_of(error), why: error.to_string() }
}

/// The number of an error, looked for below a path's words.
fn errno_of(error: &io::Error) -> i32 {
    let below = error.get_ref().and_then(|inner| inner.downcast_ref::<PathError>());
    match (error.raw_os_error(), below) {
        (Some(errno), _) => errno,
        (None, Some(inner)) => errno_of(&inner.source),
        (None, None) => libc::EINVAL,
    }
}

fn report_and_die(pipe: OwnedFd, failure: &SpawnFailure) -> ! {
    let mut pipe = std::fs::File::from(pipe);
    let written =
        serde_json::to_vec(failure).map_err(io::Error::from).and_then(|bytes| pipe.write_all(&bytes));
    // SAFETY: ends the child at once, without running what the holder registered for its own end.
    unsafe { libc::_exit(i32::from(written.is_err())) }
}

/// Empty means that exec closed the pipe.
fn read_failure(pipe: OwnedFd) -> Result<Option<SpawnFailure>, SpawnFailure> {
    let mut bytes = Vec::new();
    let prepare = |error: io::Error| failure(SpawnStage::Prepare, &error);
    std::fs::File::from(pipe).read_to_end(&mut bytes).map_err(prepare)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|error| prepare(error.into()))
}

/// Reads `oom_kill N` from a control group's file; the format of v1 and v2 is the same.
pub(crate) fn oom_kills(file: &Path) -> io::Result<u64> {
    let text = std::fs::read_to_string(file)?;
    let number = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
    number
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{}: no oom_kill", file.display())))
}
