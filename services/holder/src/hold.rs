//! The holder's life: one poll loop from the game's start to the record of its end.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signalfd::SignalFd;
use rustix::process::{WaitOptions, WaitStatus, wait};

mod serve;

use crate::container;
use crate::guard::Guard;
use crate::launch::{self, Launched};
use crate::output::Log;
use crate::peers::{PEERS_MAX, Peer};
use crate::process;
use crate::protocol::{Reply, Status, Stream};
use crate::record::{
    self, EXIT_FILE, ExitRecord, HOLDER_FILE, HolderRecord, Outcome, OutputKept, ProcessMark, RECORD_VERSION,
    SpawnFailure,
};
use crate::spec::{Identity, LaunchSpec};

/// Bytes read from a stream at once; one buffer on the stack, no heap per server.
const READ_BYTES: usize = 8 * 1024;
/// Bytes taken from a pipe after the game's end: what a pipe can hold, so a stuck descendant cannot keep us reading.
const DRAIN_BYTES_MAX: usize = 1024 * 1024;
/// Times `exit.json` is tried: a minute for a disk that comes back; afterwards the run counts as lost.
const RECORD_TRIES_MAX: u32 = 60;
/// Pause between two tries, in milliseconds.
const RECORD_RETRY_MS: u64 = 1_000;

/// What the loop needs, made before the game starts.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub slot: PathBuf,
    pub spec: LaunchSpec,
    pub listener: UnixListener,
    pub signals: SignalFd,
    pub boot_id: String,
    pub holder: ProcessMark,
}

/// The result of a start.
#[derive(Debug)]
pub(crate) enum Start {
    /// The game runs.
    Holding(Box<Holder>),
    /// No game code ran; the record says so.
    SpawnFailed(Box<ExitRecord>),
}

/// A holder with a running game.
#[derive(Debug)]
pub(crate) struct Holder {
    prepared: Prepared,
    game: ProcessMark,
    started_at_ms: u64,
    oom_kills_before: u64,
    stdin: Option<File>,
    input: Vec<u8>,
    stdout: Tap,
    stderr: Tap,
    peers: Vec<Peer>,
    last_signal_asked: Option<i32>,
    /// Of a game in a container: any other dies with its holder by itself.
    guard: Option<Guard>,
    /// The game's view of the file system, so that its last user is this process and not the game: taking a view down
    /// waits for the whole machine (0.5 to 5 ms), and until then the kernel tells nobody that a game has ended.
    _view: Option<File>,
}

/// One output pipe and the log it runs into.
#[derive(Debug)]
struct Tap {
    pipe: Option<File>,
    log: Log,
}

/// Who has something to say after a poll.
#[derive(Debug, Clone, Copy)]
enum Source {
    Signals,
    Listener,
    Stdout,
    Stderr,
    Stdin,
    Peer(usize),
}

/// Starts the game and notes it on disk.
///
/// # Errors
/// The holder's own work failed (output files, records); no game runs then.
pub(crate) fn start(prepared: Prepared) -> io::Result<Start> {
    let spec = &prepared.spec;
    let started_at_ms = now_ms();
    let oom_kills_before = oom_kills(spec);
    let stdout = Log::open(&spec.output, Stream::Stdout)?;
    let stderr = Log::open(&spec.output, Stream::Stderr)?;
    record::reserve(&prepared.slot, EXIT_FILE)?;
    // The last run's record has been read by whoever asked for this one. Renaming over it would make ext4 write the new
    // one out at once (auto_da_alloc): milliseconds that a crashed session waits.
    record::remove(&prepared.slot, HOLDER_FILE)?;
    let mut holder_record = holder_record(&prepared, started_at_ms);
    record::write_atomically(&prepared.slot, HOLDER_FILE, &holder_record)?;
    // Once the game runs, a full disk must not be what ends it; and a record of a run that was never started would read
    // as the loss of one.
    if let Err(error) = record::reserve(&prepared.slot, HOLDER_FILE) {
        record::remove(&prepared.slot, HOLDER_FILE)?;
        return Err(error);
    }
    let launched = launch::launch(spec).and_then(|launched| match &spec.container {
        None => Ok((launched, None)),
        Some(container) => {
            container::begin(spec, container, launched).map(|(game, guard)| (game, Some(guard)))
        }
    });
    let (launched, guard) = match launched {
        Ok(launched) => launched,
        Err(failure) => return spawn_failed(&prepared, started_at_ms, failure),
    };
    let Launched { pid, stdin, stdout: out, stderr: err } = launched;
    // Our own unreaped child, or our runtime's, of which we are the reaper: its entry in /proc stays until we reap it.
    let game = process::mark(pid)?;
    holder_record.game = Some(game);
    record::write_atomically(&prepared.slot, HOLDER_FILE, &holder_record)?;
    Ok(Start::Holding(Box::new(Holder {
        game,
        started_at_ms,
        oom_kills_before,
        stdin: Some(stdin.into()),
        input: Vec::new(),
        stdout: Tap::new(out, stdout),
        stderr: Tap::new(err, stderr),
        peers: Vec::new(),
        last_signal_asked: None,
        guard,
        // Without it everything works, only later.
        _view: File::open(format!("/proc/{pid}/ns/mnt")).ok(),
        prepared,
    })))
}

fn holder_record(prepared: &Prepared, started_at_ms: u64) -> HolderRecord {
    let own_uid = match prepared.spec.identity {
        Identity::Inherited => None,
        Identity::Dropped { uid, .. } => Some(uid),
    };
    HolderRecord {
        version: RECORD_VERSION,
        generation: prepared.spec.generation,
        run: prepared.spec.run,
        boot_id: prepared.boot_id.clone(),
        holder: prepared.holder,
        game: None,
        own_uid,
        started_at_ms,
    }
}

fn spawn_failed(prepared: &Prepared, started_at_ms: u64, failure: SpawnFailure) -> io::Result<Start> {
    process::kill_descendants()?;
    let record = ExitRecord {
        version: RECORD_VERSION,
        generation: prepared.spec.generation,
        run: prepared.spec.run,
        boot_id: prepared.boot_id.clone(),
        outcome: Outcome::SpawnFailure(failure),
        game_pid: None,
        oom_kills: 0,
        started_at_ms,
        ended_at_ms: now_ms(),
        leftovers_killed: 0,
        leftovers_alive: 0,
        output_kept: Some(OutputKept { stdout: 0, stderr: 0 }),
        output_bytes_lost: 0,
        last_signal_asked: None,
    };
    record::write_atomically(&prepared.slot, EXIT_FILE, &record)?;
    Ok(Start::SpawnFailed(Box::new(record)))
}

impl Holder {
    /// What clients are told.
    pub(crate) fn status(&self) -> Status {
        Status {
            generation: self.prepared.spec.generation,
            run: self.prepared.spec.run,
            holder: self.prepared.holder,
            game: self.game,
            boot_id: self.prepared.boot_id.clone(),
            started_at_ms: self.started_at_ms,
        }
    }

    /// Holds the game until it ends, empties the slot, writes the exit down and tells it.
    ///
    /// # Errors
    /// The loop's own calls failed, or the record could not be written; the game is then killed by our end.
    pub(crate) fn hold(mut self) -> io::Result<()> {
        let ended = loop {
            for source in self.wait()? {
                self.attend(source);
            }
            if let Some(status) = self.reap()? {
                break status;
            }
        };
        self.finish(ended)
    }

    /// Sleeps until somebody has something to say.
    fn wait(&self) -> io::Result<Vec<Source>> {
        let mut sources = vec![Source::Signals];
        let mut fds = vec![PollFd::new(self.prepared.signals.as_fd(), PollFlags::POLLIN)];
        if self.peers.len() < PEERS_MAX {
            sources.push(Source::Listener);
            fds.push(PollFd::new(self.prepared.listener.as_fd(), PollFlags::POLLIN));
        }
        for (source, tap) in [(Source::Stdout, &self.stdout), (Source::Stderr, &self.stderr)] {
            if let Some(pipe) = &tap.pipe {
                sources.push(source);
                fds.push(PollFd::new(pipe.as_fd(), PollFlags::POLLIN));
            }
        }
        if let Some(stdin) = self.stdin.as_ref().filter(|_| !self.input.is_empty()) {
            sources.push(Source::Stdin);
            fds.push(PollFd::new(stdin.as_fd(), PollFlags::POLLOUT));
        }
        for (index, peer) in self.peers.iter().enumerate() {
            let flags =
                if peer.has_unsent() { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
            sources.push(Source::Peer(index));
            fds.push(PollFd::new(peer.fd(), flags));
        }
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let is_ready = |fd: &PollFd<'_>| fd.revents().is_some_and(|found| !found.is_empty());
        // Backwards, so that dropping a peer leaves the indices of those still to come.
        Ok(sources
            .into_iter()
            .zip(&fds)
            .filter(|(_, fd)| is_ready(fd))
            .map(|(source, _)| source)
            .rev()
            .collect())
    }

    fn attend(&mut self, source: Source) {
        match source {
            // Only a wake-up: `reap` asks the kernel itself.
            Source::Signals => while let Ok(Some(_)) = self.prepared.signals.read_signal() {},
            Source::Listener => {
                if let Ok(peer) = self.prepared.listener.accept().and_then(|(stream, _)| Peer::new(stream)) {
                    self.peers.push(peer);
                }
            }
            Source::Stdout => self.stdout.run(READ_BYTES),
            Source::Stderr => self.stderr.run(READ_BYTES),
            Source::Stdin => self.feed(),
            Source::Peer(index) => self.serve(index),
        }
    }

    /// Reaps every child that ended; the game's own status ends the loop.
    fn reap(&self) -> io::Result<Option<WaitStatus>> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == self.game.pid => {
                    return Ok(Some(status));
                }
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn finish(mut self, status: WaitStatus) -> io::Result<()> {
        // Whatever goes wrong here, the exit itself must not be lost.
        if let Some(Err(error)) = self.guard.take().map(Guard::dismiss) {
            crate::complain(&format!("end the game's guard: {error}"));
        }
        let emptied = process::kill_descendants().unwrap_or_else(|error| {
            crate::complain(&format!("kill what the game left: {error}"));
            process::Emptied::default()
        });
        self.stdout.run(DRAIN_BYTES_MAX);
        self.stderr.run(DRAIN_BYTES_MAX);
        let record = ExitRecord {
            version: RECORD_VERSION,
            generation: self.prepared.spec.generation,
            run: self.prepared.spec.run,
            boot_id: self.prepared.boot_id.clone(),
            outcome: outcome(status),
            game_pid: Some(self.game.pid),
            oom_kills: oom_kills(&self.prepared.spec).saturating_sub(self.oom_kills_before),
            started_at_ms: self.started_at_ms,
            ended_at_ms: now_ms(),
            leftovers_killed: emptied.killed,
            leftovers_alive: emptied.alive,
            output_kept: Some(OutputKept { stdout: self.stdout.log.kept(), stderr: self.stderr.log.kept() }),
            output_bytes_lost: self.stdout.log.lost() + self.stderr.log.lost(),
            last_signal_asked: self.last_signal_asked,
        };
        write_record(&self.prepared.slot, &record)?;
        let reply = Reply::Exit { record };
        for peer in self.peers.into_iter().filter(Peer::is_greeted) {
            // Whoever does not read the news reads the file.
            drop(peer.farewell(&reply));
        }
        Ok(())
    }
}

impl Tap {
    fn new(pipe: OwnedFd, log: Log) -> Self {
        Self { pipe: Some(pipe.into()), log }
    }

    /// Moves what is there, up to about `bytes_max`, from the pipe to the log.
    fn run(&mut self, bytes_max: usize) {
        let mut buffer = [0; READ_BYTES];
        let mut moved = 0;
        while let Some(pipe) = self.pipe.as_mut().filter(|_| moved < bytes_max) {
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(read) => {
                    self.log.write(&buffer[..read]);
                    moved += read;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.pipe = None,
            }
        }
    }
}

fn outcome(status: WaitStatus) -> Outcome {
    /// Bit of a wait status that says a core was written (wait(2), WCOREDUMP).
    const CORE_BIT: i32 = 0x80;
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Outcome::Exited { code },
        (None, Some(signal)) => Outcome::Killed { signal, core_dumped: status.as_raw() & CORE_BIT != 0 },
        // Stops and continues are not waited for; the raw number then says what the kernel meant.
        (None, None) => Outcome::Exited { code: status.as_raw() },
    }
}

/// Tries again on a full or failing disk: nobody is told of an exit that is not on record.
fn write_record(slot: &Path, record: &ExitRecord) -> io::Result<()> {
    let mut tries = 0;
    loop {
        tries += 1;
        match record::write_atomically(slot, EXIT_FILE, record) {
            Ok(()) => return Ok(()),
            Err(error) if tries >= RECORD_TRIES_MAX => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(RECORD_RETRY_MS)),
        }
    }
}

/// Lost readings count as none: the exit itself must not depend on them.
fn oom_kills(spec: &LaunchSpec) -> u64 {
    let file = spec.control_group.as_ref().and_then(|group| group.oom_counter.as_ref());
    file.and_then(|file| launch::oom_kills(file).ok()).unwrap_or(0)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
