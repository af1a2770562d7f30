//! The holder's connected clients: their lines in, their replies out, none of them able to hold up the game.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::protocol::{FailureCode, Lines, REPLY_BYTES_MAX, REQUEST_BYTES_MAX, Reply, Request, encode};

/// Connections served at once: the agent, one that replaces it, and a few people with tools.
pub(crate) const PEERS_MAX: usize = 8;

/// How long a slow client may take to read the exit: the file holds it anyway.
const FAREWELL_MS_MAX: u64 = 500;

/// One read from a client, in bytes.
const READ_BYTES: usize = 4096;

/// One client.
#[derive(Debug)]
pub(crate) struct Peer {
    stream: UnixStream,
    lines: Lines,
    unsent: Vec<u8>,
    greeted: bool,
}

/// What became of a client after its socket was looked at.
#[derive(Debug)]
pub(crate) enum Heard {
    /// These requests, or the reasons why a line was none.
    Requests(Vec<Result<Request, String>>),
    /// It is gone or of no further use.
    Gone,
}

impl Peer {
    pub(crate) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, lines: Lines::new(REQUEST_BYTES_MAX), unsent: Vec::new(), greeted: false })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    pub(crate) fn is_greeted(&self) -> bool {
        self.greeted
    }

    pub(crate) fn greet(&mut self) {
        self.greeted = true;
    }

    /// Reads once and cuts into lines.
    pub(crate) fn hear(&mut self) -> Heard {
        let mut buffer = [0; READ_BYTES];
        let read = match self.stream.read(&mut buffer) {
            Ok(0) => return Heard::Gone,
            Ok(read) => read,
            Err(error) if is_later(&error) => return Heard::Requests(Vec::new()),
            Err(_) => return Heard::Gone,
        };
        if self.lines.push(&buffer[..read]).is_err() {
            return Heard::Gone;
        }
        let mut requests = Vec::new();
        while let Some(line) = self.lines.next_line() {
            requests.push(crate::protocol::decode_request(&line).map_err(|error| error.to_string()));
        }
        Heard::Requests(requests)
    }

    /// Queues a reply and sends what fits; false if the client does not read and is to be dropped.
    pub(crate) fn say(&mut self, reply: &Reply) -> bool {
        match encode(reply) {
            Ok(line) => self.unsent.extend(line),
            Err(_) => return false,
        }
        self.flush() && self.unsent.len() <= REPLY_BYTES_MAX
    }

    /// Sends what fits; false if the client is gone.
    pub(crate) fn flush(&mut self) -> bool {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(0) => return false,
                Ok(written) => drop(self.unsent.drain(..written)),
                Err(error) if is_later(&error) => return true,
                Err(_) => return false,
            }
        }
        true
    }

    /// The last message; waits for a slow client, but not long. Whoever misses it reads the file.
    pub(crate) fn farewell(mut self, reply: &Reply) -> io::Result<()> {
        self.unsent.extend(encode(reply)?);
        self.stream.set_nonblocking(false)?;
        self.stream.set_write_timeout(Some(Duration::from_millis(FAREWELL_MS_MAX)))?;
        self.stream.write_all(&self.unsent)
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// A failure as a reply.
pub(crate) fn failed(id: Option<u64>, code: FailureCode, why: impl Into<String>) -> Reply {
    Reply::Failed { id, code, why: why.into() }
}
