//! What peers of a session say to each other, as bytes: the protocol of `domain/migration`, the game's own messages, and
//! where others can be reached.
//!
//! A packet is a version, a number for what it is, and its fields one after the other, big-endian, without names: it goes
//! out ten times a second to everybody. `form` is the whole format, as one line a type. There is one form for each
//! value, so whatever can be read is written again as the same bytes; and every list has its limit.

mod form;
mod pack;
mod parity;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use mainstay_migration::{Given, MEMBERS_MAX, Message, PeerId, SessionId, Stamp};

use self::pack::{Packed, Reader};
pub use self::parity::{Gathering, lay_out};

/// The version that this program speaks. Peers agree on it before they say anything ([`ALPN`]); in each packet it tells
/// whoever looks at recorded bytes. Counted from the first release on: until then peers of one build play together.
pub const VERSION: u8 = 1;
/// What a QUIC handshake between peers agrees on.
pub const ALPN: &[u8] = b"mainstay-peer/1";
/// The longest packet in bytes: an announcement of every host of the largest session, each with its view and its votes.
pub const PACKET_BYTES_MAX: usize = 1 << 20;
/// The longest message of a game in bytes: what is longer is state.
pub const GAME_BYTES_MAX: usize = 64 * 1024;
/// How many addresses of one peer are told: those of its interfaces and the one it is seen at.
pub const ADDRESSES_MAX: usize = 8;
/// How many peers a book names: a session's members.
pub const CARDS_MAX: usize = MEMBERS_MAX;

/// One packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Packet {
    /// The protocol of host migration.
    Protocol(Message),
    /// How things stand in the game, of which migration knows no more than whom its sender obeys.
    Game(Game),
    /// Where peers can be reached.
    Book(Vec<Card>),
    /// What is said in the game and is to come through.
    Word(Word),
    /// To that member: what of its words the game of its sender was given, as long as that was the host.
    Heard {
        /// In which session.
        session: SessionId,
        /// Whatever the member said under this stamp or an earlier one and is not named here it was not given.
        stamp: Stamp,
        /// What it was.
        given: Given,
    },
}

/// A word of the game, a member's to its host or a host's to a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// In which session.
    pub session: SessionId,
    /// Whom its sender obeys.
    pub stamp: Stamp,
    /// A member's: its number among those, from 1 on. A host's: 0.
    pub number: u64,
    /// At most [`GAME_BYTES_MAX`].
    pub bytes: Vec<u8>,
}

/// A message of the game.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Game {
    /// In which session.
    pub session: SessionId,
    /// Whom its sender obeys.
    pub stamp: Stamp,
    /// At most [`GAME_BYTES_MAX`].
    pub bytes: Vec<u8>,
}

/// Where one peer can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Whom.
    pub peer: PeerId,
    /// At most [`ADDRESSES_MAX`], the likeliest first. They are hints: who answers there has to prove who it is.
    pub addresses: Vec<SocketAddr>,
}

/// Why bytes are no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// They end too soon.
    #[error("ends after {length} bytes, in the middle of a value")]
    Short {
        /// How many there are.
        length: usize,
    },
    /// They do not end where the packet does.
    #[error("has {rest} bytes after its end")]
    Long {
        /// How many are left.
        rest: usize,
    },
    /// More than [`PACKET_BYTES_MAX`].
    #[error("has {length} bytes, at most {PACKET_BYTES_MAX} are read")]
    Huge {
        /// How many there are.
        length: usize,
    },
    /// The pieces that came of it lie apart from each other, and are too many.
    #[error("comes in more than {max} pieces apart from each other")]
    Scattered {
        /// How many there may be.
        max: usize,
    },
    /// Another version than [`VERSION`].
    #[error("is of version {0}, this program speaks {VERSION}")]
    Version(u8),
    /// A number that stands for nothing.
    #[error("{number} is no {of}")]
    Choice {
        /// What it should be.
        of: &'static str,
        /// The number.
        number: u8,
    },
    /// A list that is longer than it may be.
    #[error("a list of {length}, at most {max} are read")]
    List {
        /// How long it says it is.
        length: usize,
        /// How long it may be.
        max: usize,
    },
    /// Members that are written out though they are those of the electorate.
    #[error("names the members of the electorate twice")]
    Twice,
    /// A map or a set whose keys are not in their order, or twice there.
    #[error("a map whose keys are not in order")]
    Order,
}

impl Packet {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        self.put(&mut out);
        out
    }

    /// From bytes.
    ///
    /// # Errors
    /// Why they are no packet.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > PACKET_BYTES_MAX {
            return Err(Malformed::Huge { length: bytes.len() });
        }
        let mut reader = Reader::new(bytes);
        let version = u8::take(&mut reader)?;
        if version != VERSION {
            return Err(Malformed::Version(version));
        }
        let packet = Self::take(&mut reader)?;
        reader.end()?;
        Ok(packet)
    }
}
