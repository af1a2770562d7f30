//! A line to one slot's holder: signals go out, the end of the game comes in.

use std::io;

use mainstay_holder::client::Connection;
use mainstay_holder::protocol::{self, Lines, Reply, Request, Target};
use mainstay_holder::record::ProcessMark;
use mainstay_supervisor::RunNumber;
use tokio::net::UnixStream;

/// How much is read from a holder at once: its answers are short.
const READ_BYTES: usize = 4096;

/// SIGKILL, by its number on every Linux.
const SIGKILL: i32 = 9;

/// A line to the holder of a run.
#[derive(Debug)]
pub(crate) struct Holding {
    /// Whose game it holds.
    pub(crate) run: RunNumber,
    /// The game's own process.
    pub(crate) pid: u32,
    /// The holder's process, below which everything of the slot runs.
    pub(crate) holder: ProcessMark,
    stream: UnixStream,
    lines: Lines,
    next_id: u64,
}

impl Holding {
    /// Takes over a line that has been greeted.
    ///
    /// # Errors
    /// The socket cannot be made asynchronous.
    pub(crate) fn new(connection: Connection) -> io::Result<Self> {
        let run = RunNumber::from_number(connection.status.run);
        let pid = u32::try_from(connection.status.game.pid).map_err(io::Error::other)?;
        let holder = connection.status.holder;
        let (stream, lines) = connection.into_stream();
        stream.set_nonblocking(true)?;
        // A number that no request of the greeting used.
        Ok(Self { run, pid, holder, stream: UnixStream::from_std(stream)?, lines, next_id: 1 << 32 })
    }

    /// Asks for a signal to the game's own process.
    ///
    /// # Errors
    /// The holder is gone; what became of the game is heard by [`Holding::next`].
    pub(crate) async fn signal(&mut self, number: i32) -> io::Result<()> {
        self.send(number, Target::Game).await
    }

    /// Asks for SIGKILL to the game and every descendant.
    ///
    /// # Errors
    /// As [`Holding::signal`].
    pub(crate) async fn kill(&mut self) -> io::Result<()> {
        self.send(SIGKILL, Target::Tree).await
    }

    async fn send(&mut self, number: i32, to: Target) -> io::Result<()> {
        let id = self.next_id;
        self.next_id += 1;
        let line = protocol::encode(&Request::Signal { id, number, to }).map_err(io::Error::other)?;
        let mut rest = &line[..];
        while !rest.is_empty() {
            self.stream.writable().await?;
            match self.stream.try_write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next thing the holder says; `None` once it is gone. May be dropped while waiting: nothing is lost.
    pub(crate) async fn next(&mut self) -> Option<Reply> {
        let mut buffer = [0; READ_BYTES];
        loop {
            if let Some(line) = self.lines.next_line() {
                match protocol::decode_reply(&line) {
                    Ok(reply) => return Some(reply),
                    Err(error) => {
                        tracing::warn!(run = %self.run, %error, "a holder's line makes no sense");
                        continue;
                    }
                }
            }
            if self.stream.readable().await.is_err() {
                return None;
            }
            match self.stream.try_read(&mut buffer) {
                Ok(0) => return None,
                Ok(read) => {
                    if let Err(error) = self.lines.push(&buffer[..read]) {
                        tracing::warn!(run = %self.run, %error, "a holder talks too much");
                        return None;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_gone) => return None,
            }
        }
    }
}
