//! The side that tells a peer how it is seen (RFC 5780, section 6).

use std::net::SocketAddr;

use crate::message::{Asked, MESSAGE_BYTES_MAX, Response, asked};

/// Where a responder listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// At one address and port: peers learn how they are seen, and nothing of their routers.
    One(SocketAddr),
    /// At two addresses of one family, at two ports of each: four sockets.
    Two {
        /// The address and port that peers are told of.
        primary: SocketAddr,
        /// The other address, and the other port.
        other: SocketAddr,
    },
}

/// The same, or the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The same.
    Same,
    /// The other.
    Other,
}

/// One of a responder's four sockets, seen from another: for [`Addresses::at`] from the primary address and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Corner {
    /// Which address.
    pub address: Side,
    /// Which port.
    pub port: Side,
}

impl Corner {
    /// The same address and port.
    pub const SAME: Self = Self { address: Side::Same, port: Side::Same };
    /// The other of both.
    pub const OTHER: Self = Self { address: Side::Other, port: Side::Other };

    /// Every one, the primary first.
    pub const ALL: [Self; 4] = [
        Self::SAME,
        Self { address: Side::Same, port: Side::Other },
        Self { address: Side::Other, port: Side::Same },
        Self::OTHER,
    ];

    /// What `step` leads to from here.
    const fn then(self, step: Self) -> Self {
        Self { address: self.address.then(step.address), port: self.port.then(step.port) }
    }
}

impl Side {
    const fn then(self, step: Self) -> Self {
        match (self, step) {
            (side, Self::Same) => side,
            (Self::Same, Self::Other) => Self::Other,
            (Self::Other, Self::Other) => Self::Same,
        }
    }
}

impl Addresses {
    /// The sockets to open.
    #[must_use]
    pub const fn corners(&self) -> &'static [Corner] {
        match self {
            Self::One(_) => &[Corner::SAME],
            Self::Two { .. } => &Corner::ALL,
        }
    }

    /// Where one of them listens; `None` where there is one address only.
    #[must_use]
    pub fn at(&self, corner: Corner) -> Option<SocketAddr> {
        match (*self, corner) {
            (Self::One(primary), Corner::SAME) => Some(primary),
            (Self::One(_), _) => None,
            (Self::Two { primary, other }, Corner { address, port }) => {
                let of = |side| if side == Side::Same { primary } else { other };
                Some(SocketAddr::new(of(address).ip(), of(port).port()))
            }
        }
    }
}

/// An answer, and the socket to send it from, to whoever asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Which socket.
    pub from: Corner,
    /// The datagram.
    pub bytes: Vec<u8>,
}

/// Answers Binding requests. It keeps nothing: each is answered by what it says and where it came from.
#[derive(Debug, Clone, Copy)]
pub struct Responder {
    addresses: Addresses,
}

impl Responder {
    /// At these addresses, as peers see them.
    #[must_use]
    pub const fn new(addresses: Addresses) -> Self {
        Self { addresses }
    }

    /// What is answered to a datagram that came to one of the sockets; `None` to what is no request, or is longer than
    /// [`MESSAGE_BYTES_MAX`].
    #[must_use]
    pub fn receive(&self, at: Corner, from: SocketAddr, bytes: &[u8]) -> Option<Reply> {
        if bytes.len() > MESSAGE_BYTES_MAX {
            return None;
        }
        let other = self.addresses.at(at.then(Corner::OTHER)).filter(|_| self.addresses.corners().len() > 1);
        match asked(bytes, &other) {
            Asked::Request(request) => {
                let corner = at.then(request.from);
                let origin = self.addresses.at(corner)?;
                let response =
                    Response { transaction: request.transaction, mapped: from, origin: Some(origin), other };
                Some(Reply { from: corner, bytes: response.encode() })
            }
            Asked::Refused(bytes) => Some(Reply { from: at, bytes }),
            Asked::Nothing => None,
        }
    }
}
