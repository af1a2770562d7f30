//! The holder's protocol: one JSON object a line, both ways, over the Unix socket [`SOCKET_FILE`].
//!
//! A holder lives as long as its game, through any number of agent upgrades, so old holders and new agents (and the
//! other way round, after a downgrade) must understand each other:
//! * the client's first line is `hello` with every version it speaks; the holder answers `welcome` with the highest
//!   version both speak and its status, or `refused` with its own versions;
//! * readers ignore fields they do not know; a request of an unknown type is answered `failed` with code
//!   `unknown_request` and the connection goes on;
//! * version 1 is the floor: later holders and agents keep speaking it, so nobody is ever orphaned by an upgrade.
//!
//! The exit is pushed to every connected client, once `exit.json` is written; then the holder ends.

use serde::{Deserialize, Serialize};

use crate::record::{ExitRecord, ProcessMark};

/// Name of the socket in the slot's run directory (mode 0700).
pub const SOCKET_FILE: &str = "holder.sock";
/// Versions this code speaks, oldest first.
pub const VERSIONS: &[u32] = &[1];
/// Longest request line a holder reads, in bytes: the longest is a line for the game's stdin.
pub const REQUEST_BYTES_MAX: usize = 16 * 1024;
/// Longest reply line a client reads, in bytes: a tail of [`TAIL_BYTES_MAX`], each byte escaped to six.
pub const REPLY_BYTES_MAX: usize = 1024 * 1024;
/// Most output bytes answered to one `tail`.
pub const TAIL_BYTES_MAX: usize = 128 * 1024;

/// What a client asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// First line of every connection.
    Hello {
        /// Every version the client speaks.
        versions: Vec<u32>,
    },
    /// Asks for the status.
    Status {
        /// Number the answer repeats.
        id: u64,
    },
    /// Sends a signal.
    Signal {
        /// Number the answer repeats.
        id: u64,
        /// Signal number.
        number: i32,
        /// To whom.
        to: Target,
    },
    /// Writes one line to the game's standard input.
    Input {
        /// Number the answer repeats.
        id: u64,
        /// The line, without its end.
        line: String,
    },
    /// Asks for the newest output.
    Tail {
        /// Number the answer repeats.
        id: u64,
        /// Which stream.
        stream: Stream,
        /// How many bytes at most, up to [`TAIL_BYTES_MAX`].
        bytes: usize,
    },
}

/// To whom a signal goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The game's own process.
    Game,
    /// The game and every descendant, whatever session it moved to.
    Tree,
}

/// A standard stream of the game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// What a holder says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reply {
    /// Answer to `hello`.
    Welcome {
        /// The version that both speak from here on.
        version: u32,
        /// The holder's status.
        status: Status,
    },
    /// Answer to a `hello` without a common version; the holder closes the connection.
    Refused {
        /// Every version the holder speaks.
        versions: Vec<u32>,
    },
    /// Answer to `status`.
    Status {
        /// The request's number.
        id: u64,
        /// The holder's status.
        status: Status,
    },
    /// A request was carried out.
    Done {
        /// The request's number.
        id: u64,
    },
    /// A request was not carried out.
    Failed {
        /// The request's number; none if the line was not understood.
        id: Option<u64>,
        /// What kind of failure.
        code: FailureCode,
        /// Why, for people.
        why: String,
    },
    /// Answer to `tail`.
    Tail {
        /// The request's number.
        id: u64,
        /// The output; bytes that are not UTF-8 are replaced.
        text: String,
    },
    /// The game ended and `exit.json` says how. Pushed; the holder ends after it.
    Exit {
        /// The same record as in `exit.json`.
        record: ExitRecord,
    },
}

/// Kinds of failed requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// The line is no request of the agreed version.
    UnknownRequest,
    /// A request came before `hello`.
    HelloFirst,
    /// The signal's number has no name on this system.
    UnknownSignal,
    /// The game's standard input is full or closed.
    InputClosed,
    /// The system refused.
    System,
    /// A code of a later version.
    #[serde(other)]
    Other,
}

/// What a holder is and holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Generation of the launch.
    pub generation: u64,
    /// Run number of the launch.
    pub run: u64,
    /// The holder's process.
    pub holder: ProcessMark,
    /// The game's process.
    pub game: ProcessMark,
    /// The kernel's boot id.
    pub boot_id: String,
    /// Wall clock at the start, unix milliseconds.
    pub started_at_ms: u64,
}

/// The one line a starting holder writes to whoever started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StartReport {
    /// The game runs.
    Started {
        /// The holder's status.
        status: Status,
    },
    /// The game never ran; `exit.json` says so too.
    SpawnFailed {
        /// The same record as in `exit.json`.
        record: ExitRecord,
    },
    /// Another holder has the slot.
    SlotTaken,
    /// The holder could not do its own work (launch file, run directory, socket).
    HolderFailed {
        /// What it was at, for people; without `errno` also why.
        why: String,
        /// The system's error number, where the system refused something. Holders of before send none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        errno: Option<i32>,
    },
}

/// The highest version that both sides speak.
#[must_use]
pub fn agree(theirs: &[u32], ours: &[u32]) -> Option<u32> {
    ours.iter().copied().filter(|version| theirs.contains(version)).max()
}

/// One message as a line.
///
/// # Errors
/// None for the types of this module (no map with non-string keys); the parser's type demands it.
pub fn encode<T: Serialize>(message: &T) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// A request line to a message.
///
/// # Errors
/// The line is no request of this version.
pub fn decode_request(line: &[u8]) -> serde_json::Result<Request> {
    serde_json::from_slice(line)
}

/// A reply line to a message.
///
/// # Errors
/// The line is no reply of this version.
pub fn decode_reply(line: &[u8]) -> serde_json::Result<Reply> {
    serde_json::from_slice(line)
}

/// Bytes to lines, with a limit: what both ends read with.
#[derive(Debug)]
pub struct Lines {
    buffer: Vec<u8>,
    line_bytes_max: usize,
}

/// A peer sent a line longer than the limit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line longer than {line_bytes_max} bytes")]
pub struct LineTooLong {
    /// The limit.
    pub line_bytes_max: usize,
}

impl Lines {
    /// An empty buffer for lines of at most `line_bytes_max` bytes.
    #[must_use]
    pub fn new(line_bytes_max: usize) -> Self {
        Self { buffer: Vec::new(), line_bytes_max }
    }

    /// Adds bytes as they were read.
    ///
    /// # Errors
    /// The unfinished line outgrew the limit; the connection is of no further use.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), LineTooLong> {
        self.buffer.extend_from_slice(bytes);
        let start = self.buffer.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if self.buffer.len() - start > self.line_bytes_max {
            return Err(LineTooLong { line_bytes_max: self.line_bytes_max });
        }
        Ok(())
    }

    /// The next whole line, without its end.
    pub fn next_line(&mut self) -> Option<Vec<u8>> {
        let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
        let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
        line.pop();
        Some(line)
    }
}
