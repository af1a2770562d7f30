//! What carries packets between two peers, whatever it is made of: QUIC (`quic`), memory in a test, a browser's
//! data channel one day.
//!
//! A link sends and never waits. What it receives its maker puts into the one channel of its peer, as an `Arrival`; so the hands
//! read one queue, and a new transport is one file, here or in a game ([`transport`](crate::transport)).

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mainstay_migration::PeerId;
use mainstay_wire::peer::Packet;
use tokio::sync::mpsc;

/// How many arrivals wait to be read: what 64 peers say in a second. Behind them the transport holds back its senders.
pub(crate) const ARRIVALS_MAX: usize = 1024;

/// A way to one peer. What is sent over a link that has ended is lost, as on any network.
pub trait Link: fmt::Debug + Send + Sync {
    /// Who is at its end. The transport has proved it.
    fn peer(&self) -> PeerId;
    /// A number that no other link of this process has ([`number`]).
    fn number(&self) -> u64;
    /// Where its packets go, if its transport knows addresses.
    fn address(&self) -> Option<SocketAddr>;
    /// Whether a relay carries them.
    fn is_relayed(&self) -> bool;
    /// Sends and does not wait. Where more waits than the link takes, it says so and the packet is lost; one that may be lost anyway
    /// ([`Way::Datagram`]) counts as taken wherever it fits a datagram.
    ///
    /// # Errors
    /// Too much of its rank waits; the link has ended.
    fn send(&self, bytes: Bytes, way: Way, rank: Rank) -> Result<(), Obstacle>;
    /// How many datagrams have come over it, of whatever kind: it rises as long as the other end is heard.
    fn received(&self) -> u64;
    /// The present round trip.
    fn round_trip(&self) -> Duration;
    /// This peer has to do with who is at the other end: so far a link carries no more than a stranger needs, where its transport tells them
    /// apart. Said again it changes nothing.
    fn admit(&self) {}
    /// Ends it: the other end is told.
    fn close(&self);
}

/// A number for a link.
#[must_use]
pub fn number() -> u64 {
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

/// Which packets go first where a line does not carry all, the first of these first. Each has room of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// What the rules say, and where members are: little, and a host is found by it.
    Rules,
    /// States and deeds: much, and what a new host goes on from.
    State,
    /// What the game says.
    Game,
}

/// Why a packet is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// There is no link to that peer.
    NoLink,
    /// So much of its rank waits already.
    Full(Load),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLink => write!(f, "there is no link to it"),
            Self::Full(Load { messages, bytes }) => {
                write!(f, "{messages} messages of {bytes} bytes waited for its link, which takes no more")
            }
        }
    }
}

/// What waits for a link, of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// How many packets.
    pub messages: usize,
    /// Their bytes.
    pub bytes: usize,
}

/// How a packet travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// At once, and perhaps lost: what is said again anyway. A packet too long for that takes a stream, and gives way to a newer one where it has waited
    /// for a quarter of a second.
    Datagram,
    /// Again until it is there, as long as the link stands. Two packets may come in either order.
    Stream,
}

/// What came from outside.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nobody keeps them: each is taken apart at once")]
pub(crate) enum Arrival {
    /// A link stands.
    Up(Arc<dyn Link>),
    /// A packet came.
    Packet {
        /// Whose.
        from: PeerId,
        /// Over which link.
        link: u64,
        /// What.
        packet: Packet,
    },
    /// A link is no more.
    Down {
        /// Whose.
        peer: PeerId,
        /// Which.
        link: u64,
        /// Why.
        why: Ending,
    },
    /// Nobody could be reached at an address.
    Unreached {
        /// Who was expected there, if anybody.
        peer: Option<PeerId>,
        /// Where.
        address: SocketAddr,
        /// Why.
        why: Unreached,
    },
}

/// Why nobody was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreached {
    /// Nobody answered, or not whoever was expected.
    NoAnswer,
    /// Whoever is there speaks another version of what peers say to each other, or something else.
    OtherProtocol,
}

/// Why a link is no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The other end said so: evidence.
    Closed,
    /// Nothing came for so long that the transport gave it up: no evidence of anything.
    Silent,
    /// This end closed it.
    Ours,
}

/// Where links put what comes.
pub(crate) type Arrivals = mpsc::Sender<Arrival>;
