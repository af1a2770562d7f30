//! A connection to a running holder: frames, their times, requests and answers.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{ANSWER_MS_MAX, ClientError};
use crate::protocol::{self, Lines, REPLY_BYTES_MAX, Reply, Request, SOCKET_FILE, Status, VERSIONS};
use crate::record::ExitRecord;

/// Connects to the holder of a slot and agrees on a version.
///
/// # Errors
/// [`ClientError::Talk`] if there is none, [`ClientError::NoCommonVersion`] if it speaks none of ours.
pub fn connect(slot: &Path) -> Result<Connection, ClientError> {
    connect_with(slot, VERSIONS)
}

/// As [`connect`], as an agent that speaks exactly `versions`.
///
/// # Errors
/// As [`connect`].
pub fn connect_with(slot: &Path, versions: &[u32]) -> Result<Connection, ClientError> {
    let talk = |source| ClientError::Talk { slot: slot.to_owned(), source };
    let stream = open_socket(slot).map_err(talk)?;
    let mut greeting = Greeting { slot: slot.to_owned(), stream, lines: Lines::new(REPLY_BYTES_MAX) };
    greeting.send(&Request::Hello { versions: versions.to_vec() })?;
    match greeting.receive(ANSWER_MS_MAX)? {
        Reply::Welcome { version, status } => Ok(Connection { version, status, next_id: 1, line: greeting }),
        Reply::Refused { versions } => Err(ClientError::NoCommonVersion { theirs: versions }),
        Reply::Status { .. }
        | Reply::Done { .. }
        | Reply::Failed { .. }
        | Reply::Tail { .. }
        | Reply::Exit { .. } => Err(talk(io::Error::new(
            io::ErrorKind::InvalidData,
            "the first reply is neither welcome nor refused",
        ))),
    }
}

/// Through the directory's descriptor: a socket address has only 108 bytes, a data directory may be deeper.
fn open_socket(slot: &Path) -> io::Result<UnixStream> {
    let dir = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).open(slot)?;
    UnixStream::connect(format!("/proc/self/fd/{}/{SOCKET_FILE}", dir.as_raw_fd()))
}

/// A connection to a holder.
#[derive(Debug)]
pub struct Connection {
    /// The version agreed on.
    pub version: u32,
    /// The status at the time of the welcome.
    pub status: Status,
    next_id: u64,
    line: Greeting,
}

/// The bare line: frames and their times.
#[derive(Debug)]
struct Greeting {
    slot: PathBuf,
    stream: UnixStream,
    lines: Lines,
}

impl Greeting {
    fn talk(&self, source: io::Error) -> ClientError {
        ClientError::Talk { slot: self.slot.clone(), source }
    }

    fn send(&mut self, request: &Request) -> Result<(), ClientError> {
        let line = protocol::encode(request).map_err(|error| self.talk(error.into()))?;
        let timeout = Some(Duration::from_millis(ANSWER_MS_MAX));
        let sent = self.stream.set_write_timeout(timeout).and_then(|()| self.stream.write_all(&line));
        sent.map_err(|source| self.talk(source))
    }

    fn receive(&mut self, wait_ms: u64) -> Result<Reply, ClientError> {
        let deadline = Instant::now() + Duration::from_millis(wait_ms);
        let line = read_line(&mut self.stream, &mut self.lines, deadline)
            .map_err(|source| unanswered(&self.slot, wait_ms, source))?;
        protocol::decode_reply(&line).map_err(|error| self.talk(error.into()))
    }
}

impl Connection {
    /// Sends one request; `make` gets the number that the answer will repeat.
    ///
    /// # Errors
    /// The connection broke.
    pub fn send(&mut self, make: impl FnOnce(u64) -> Request) -> Result<u64, ClientError> {
        let id = self.next_id;
        self.next_id += 1;
        self.line.send(&make(id))?;
        Ok(id)
    }

    /// The next reply or push, waiting at most `wait_ms`.
    ///
    /// # Errors
    /// [`ClientError::Silent`] when the time is up (the connection stays usable), [`ClientError::Talk`] when the
    /// holder is gone: look at the slot again with [`super::adopt`].
    pub fn receive(&mut self, wait_ms: u64) -> Result<Reply, ClientError> {
        self.line.receive(wait_ms)
    }

    /// Sends one request and waits for its answer, or for the exit if that comes first.
    ///
    /// # Errors
    /// As [`Self::receive`].
    pub fn ask(&mut self, make: impl FnOnce(u64) -> Request) -> Result<Reply, ClientError> {
        self.send(make)?;
        self.receive(ANSWER_MS_MAX)
    }

    /// Waits for the game's end, at most `wait_ms`.
    ///
    /// # Errors
    /// As [`Self::receive`].
    pub fn wait_exit(&mut self, wait_ms: u64) -> Result<ExitRecord, ClientError> {
        let deadline = Instant::now() + Duration::from_millis(wait_ms);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if let Reply::Exit { record } =
                self.receive(u64::try_from(left.as_millis()).unwrap_or(u64::MAX))?
            {
                return Ok(record);
            }
        }
    }

    /// The socket and the lines already read, for an asynchronous agent; the socket is blocking.
    #[must_use]
    pub fn into_stream(self) -> (UnixStream, Lines) {
        (self.line.stream, self.line.lines)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.stream.as_fd()
    }
}

/// A wait that ended without a line: the time was up, or the other side is gone.
pub(super) fn unanswered(slot: &Path, waited_ms: u64, source: io::Error) -> ClientError {
    if source.kind() == io::ErrorKind::TimedOut {
        return ClientError::Silent { slot: slot.to_owned(), waited_ms };
    }
    ClientError::Talk { slot: slot.to_owned(), source }
}

/// Reads until one whole line is there.
pub(super) fn read_line(
    from: &mut (impl io::Read + AsFd),
    lines: &mut Lines,
    deadline: Instant,
) -> io::Result<Vec<u8>> {
    let mut buffer = [0; 4096];
    loop {
        if let Some(line) = lines.next_line() {
            return Ok(line);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let mut fds = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, timeout) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => continue,
            Err(errno) => return Err(errno.into()),
        }
        match from.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => lines.push(&buffer[..read]).map_err(io::Error::other)?,
        }
    }
}
