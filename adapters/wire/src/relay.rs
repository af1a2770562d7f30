//! What peers and the relay of their lobby say to each other: datagrams over the sockets that peers play on.
//!
//! Whom routers keep apart sends through a relay, which carries packets that it cannot read. A member of a session hails it with
//! the ticket that joining gave, proves that it reads what is sent to its address, and can then send to every other member who
//! has hailed, by *seat*: a member's place in a session.
//!
//! No frame begins like STUN (0 to 3) or QUIC (64 to 127, 192 to 255): all three share a socket (RFC 9443).

use std::fmt;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};

use mainstay_core::SessionId;
use mainstay_lobby::PeerKey;
use mainstay_migration::PeerId;
use ring::digest::{SHA256, digest};

/// How many bytes a frame adds to what it carries: QUIC's largest packet still fits into Ethernet's.
pub const OVERHEAD: usize = 16;
/// The longest frame: what Ethernet carries, without the heads of IPv4 and UDP.
pub const FRAME_BYTES_MAX: usize = 1_472;
/// How long a ticket and a proof are: nobody guesses so much.
pub const SECRET_BYTES: usize = 16;

/// What a ticket is made of, besides the relay's own key.
const TICKET: &[u8] = b"mainstay relay ticket 1\0";
/// What a seat is made of.
const SEAT: &[u8] = b"mainstay relay seat 1\0";

const HAIL: u8 = 128;
const PROVE: u8 = 129;
const HEARD: u8 = 130;
const CARRY: u8 = 131;

/// A member's place in a session, to a relay and to whoever sends through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(pub [u8; 15]);

/// Shown by who hails: known to a lobby's relay and to one member, and never printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ticket(pub [u8; SECRET_BYTES]);

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a ticket")
    }
}

/// That who hails reads what is sent to its address: the relay's to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof(pub [u8; SECRET_BYTES]);

/// Who hails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hail {
    /// Of which session.
    pub session: SessionId,
    /// The member's key.
    pub peer: PeerKey,
    /// What joining gave it.
    pub ticket: Ticket,
    /// What the relay asked for; anything at first.
    pub proof: Proof,
}

/// One datagram to or from a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A member is here, and goes on to be.
    Hail(Hail),
    /// It has to say this, from the same address.
    Prove {
        /// Of which session.
        session: SessionId,
        /// What to say.
        proof: Proof,
    },
    /// The relay carries to it from now on.
    Heard {
        /// In which session.
        session: SessionId,
    },
    /// Something to be carried.
    Carry {
        /// To the relay: to whom. From the relay: from whom.
        seat: Seat,
        /// What, of which nobody here knows anything.
        packet: &'a [u8],
    },
}

impl Seat {
    /// Of that member.
    #[must_use]
    pub fn of(session: SessionId, peer: PeerId) -> Self {
        let whole = digest(&SHA256, &[SEAT, session.0.as_bytes(), &peer.0.to_be_bytes()].concat());
        Self(first(whole.as_ref()))
    }

    /// Of the member with that key: a peer is the first half of its key's SHA-256.
    #[must_use]
    pub fn of_key(session: SessionId, key: &PeerKey) -> Self {
        Self::of(session, PeerId(u128::from_be_bytes(first(digest(&SHA256, &key.0).as_ref()))))
    }

    /// An address that stands for it where addresses are wanted. It is of the half of the unique local ones that nobody has
    /// given a meaning (RFC 4193, section 3.1), so that no packet ever goes there.
    #[must_use]
    pub fn address(self) -> SocketAddr {
        let mut octets = [Self::NET; 16];
        octets.iter_mut().skip(1).zip(self.0).for_each(|(to, from)| *to = from);
        SocketAddrV6::new(Ipv6Addr::from(octets), Self::PORT, 0, 0).into()
    }

    /// The one that an address stands for.
    #[must_use]
    pub fn at(address: SocketAddr) -> Option<Self> {
        let SocketAddr::V6(address) = address else { return None };
        let [net, seat @ ..] = address.ip().octets();
        (net == Self::NET && address.port() == Self::PORT).then_some(Self(seat))
    }

    const NET: u8 = 0xfc;
    const PORT: u16 = 1;
}

impl Hail {
    /// What a ticket is signed over.
    #[must_use]
    pub fn ticket_of(session: SessionId, peer: &PeerKey) -> Vec<u8> {
        [TICKET, session.0.as_bytes(), &peer.0].concat()
    }
}

impl<'a> Frame<'a> {
    /// Whether a datagram may be one: the others on a peer's socket never are.
    #[must_use]
    pub fn is_one(datagram: &[u8]) -> bool {
        datagram.first().is_some_and(|kind| (HAIL..=CARRY).contains(kind))
    }

    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Hail(Hail { session, peer, ticket, proof }) => {
                [&[HAIL][..], session.0.as_bytes(), &peer.0, &ticket.0, &proof.0].concat()
            }
            Self::Prove { session, proof } => [&[PROVE][..], session.0.as_bytes(), &proof.0].concat(),
            Self::Heard { session } => [&[HEARD][..], session.0.as_bytes()].concat(),
            Self::Carry { seat, packet } => [&[CARRY][..], &seat.0, packet].concat(),
        }
    }

    /// From bytes; `None` for what is no frame.
    #[must_use]
    pub fn decode(datagram: &'a [u8]) -> Option<Self> {
        let (kind, mut rest) = datagram.split_first()?;
        if datagram.len() > FRAME_BYTES_MAX {
            return None;
        }
        let frame = match *kind {
            HAIL => Self::Hail(Hail {
                session: session(&mut rest)?,
                peer: PeerKey(field(&mut rest)?),
                ticket: Ticket(field(&mut rest)?),
                proof: Proof(field(&mut rest)?),
            }),
            PROVE => Self::Prove { session: session(&mut rest)?, proof: Proof(field(&mut rest)?) },
            HEARD => Self::Heard { session: session(&mut rest)? },
            CARRY => {
                return Some(Self::Carry { seat: Seat(field(&mut rest)?), packet: rest })
                    .filter(|_| !rest.is_empty());
            }
            _ => return None,
        };
        rest.is_empty().then_some(frame)
    }
}

/// The first bytes of a digest, which has more.
fn first<const N: usize>(digest: &[u8]) -> [u8; N] {
    std::array::from_fn(|at| digest.get(at).copied().unwrap_or_default())
}

fn field<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (field, left) = rest.split_first_chunk::<N>()?;
    *rest = left;
    Some(*field)
}

fn session(rest: &mut &[u8]) -> Option<SessionId> {
    field(rest).map(|bytes| SessionId(uuid::Uuid::from_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hail() -> Hail {
        Hail {
            session: SessionId(uuid::Uuid::from_u128(7)),
            peer: PeerKey([3; 32]),
            ticket: Ticket([4; 16]),
            proof: Proof([5; 16]),
        }
    }

    #[test]
    fn frames_are_as_they_were() {
        let session = hail().session;
        let seat = Seat::of_key(session, &hail().peer);
        let hex = |frame: Frame<'_>| -> String {
            frame.encode().iter().map(|byte| format!("{byte:02x}")).collect()
        };
        let id = "00000000000000000000000000000007";
        assert_eq!(
            hex(Frame::Hail(hail())),
            format!("80{id}{}{}{}", "03".repeat(32), "04".repeat(16), "05".repeat(16))
        );
        assert_eq!(
            hex(Frame::Prove { session, proof: Proof([5; 16]) }),
            format!("81{id}{}", "05".repeat(16))
        );
        assert_eq!(hex(Frame::Heard { session }), format!("82{id}"));
        let carried = hex(Frame::Carry { seat, packet: b"q" });
        assert_eq!(carried, "83751c13d4b583648e035391335cd27c71");
    }

    #[test]
    fn an_address_stands_for_a_seat_and_no_real_one_does() {
        let seat = Seat([9; 15]);
        assert_eq!(Seat::at(seat.address()), Some(seat));
        for real in ["192.0.2.1:1", "[fd00::1]:1", "[2001:db8::1]:1", "[fc00::1]:5555"] {
            assert_eq!(Seat::at(real.parse().unwrap()), None, "{real}");
        }
    }

    #[test]
    fn the_largest_packet_of_quic_fits_into_a_frame() {
        let packet = [0x40; FRAME_BYTES_MAX - OVERHEAD];
        let bytes = Frame::Carry { seat: Seat([0; 15]), packet: &packet }.encode();
        assert_eq!(bytes.len(), FRAME_BYTES_MAX);
        assert!(Frame::decode(&bytes).is_some() && Frame::decode(&[&bytes[..], &[0]].concat()).is_none());
        assert!(packet.len() >= 1_452, "what QUIC sends at most over IPv4");
    }

    proptest! {
        /// What can be read is written again as the same bytes, and neither STUN nor QUIC can be read.
        #[test]
        fn bytes_have_one_form(kind in any::<u8>(), rest in proptest::collection::vec(any::<u8>(), 0..120)) {
            let bytes = [&[kind][..], &rest].concat();
            if let Some(frame) = Frame::decode(&bytes) {
                prop_assert_eq!(frame.encode(), bytes.clone());
                prop_assert!(Frame::is_one(&bytes) && kind & 0xc0 == 0x80);
            }
        }
    }
}
