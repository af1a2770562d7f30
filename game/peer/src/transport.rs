//! Transports of a game's own, beside QUIC: a platform's relay, a browser's data channel. Where two players have no address for each
//! other, one of these makes the [`Link`] between them; the rules do not know which carries what they say.

use std::fmt;
use std::sync::Arc;

use mainstay_migration::PeerId;
use mainstay_wire::peer::{Malformed, Packet};

use crate::link::{Arrival, Arrivals, Ending, Link};
use crate::seat::Closing;

/// What makes links.
pub trait Transport: fmt::Debug + Send {
    /// This peer should have a link to that one, and none is heard: asked again each second until one stands ([`Inlet::up`]) or nobody
    /// wants it any more. Of two peers the one of the lower id is asked first. Called on the peer's own thread, which it must not hold up.
    fn dial(&mut self, peer: PeerId);
}

/// Where a transport puts what comes over its links. Each call waits for the peer's thread where 1,024 arrivals wait already, and panics in a
/// task of tokio's.
#[derive(Debug, Clone)]
pub struct Inlet(Arrivals);

/// Why nothing was put in.
#[derive(Debug, thiserror::Error)]
pub enum InletError {
    /// The peer has been dropped.
    #[error(transparent)]
    Closing(#[from] Closing),
    /// These bytes are no packet of peers: they are passed over, and the link goes on.
    #[error("what came from {from} over link {link} is no packet")]
    NotAPacket {
        /// Whose.
        from: PeerId,
        /// Over which.
        link: u64,
        /// What is wrong with it.
        source: Malformed,
    },
}

impl Inlet {
    pub(crate) const fn new(arrivals: Arrivals) -> Self {
        Self(arrivals)
    }

    /// A link stands: it was dialed, or the other end has dialed. Its transport vouches for who is at its end ([`Link::peer`]).
    ///
    /// # Errors
    /// The peer has been dropped.
    pub fn up(&self, link: Arc<dyn Link>) -> Result<(), Closing> {
        self.put(Arrival::Up(link))
    }

    /// A packet came over a link, whole, as it was given to the [`Link::send`] of the other end.
    ///
    /// # Errors
    /// The peer has been dropped; the bytes are no packet.
    pub fn packet(&self, link: &dyn Link, bytes: &[u8]) -> Result<(), InletError> {
        let (from, number) = (link.peer(), link.number());
        let packet =
            Packet::decode(bytes).map_err(|source| InletError::NotAPacket { from, link: number, source })?;
        Ok(self.put(Arrival::Packet { from, link: number, packet })?)
    }

    /// A link is no more.
    ///
    /// # Errors
    /// The peer has been dropped.
    pub fn down(&self, link: &dyn Link, why: Ending) -> Result<(), Closing> {
        self.put(Arrival::Down { peer: link.peer(), link: link.number(), why })
    }

    fn put(&self, arrival: Arrival) -> Result<(), Closing> {
        self.0.blocking_send(arrival).map_err(|_| Closing)
    }
}
