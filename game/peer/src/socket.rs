//! The one UDP socket of a peer. QUIC plays over it; STUN asks over it how it is seen, for from another socket it would hear of
//! another mapping of its router; and a relay carries over it what does not get through otherwise. To QUIC a member behind a
//! relay has an address like all others ([`Seat::address`]), which stands for it here alone; as those are of IPv6, QUIC knows
//! every address by its name of IPv6.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use mainstay_migration::MEMBERS_MAX;
use mainstay_stun::{MESSAGE_BYTES_MAX, is_stun};
use mainstay_wire::relay::{FRAME_BYTES_MAX, Frame, Seat};
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::sync::mpsc;

use crate::udp;

/// How many messages that are not QUIC's wait to be read, of each kind. There is one question at a time: more are strangers'.
const SPOKEN_MAX: usize = 16;
/// How many relayed packets wait for QUIC: what it reads from the system at once, several times. More are lost, as on any network.
const CARRIED_MAX: usize = 256;
/// How many members are reached through relays: those of four full sessions.
const ROUTES_MAX: usize = 4 * MEMBERS_MAX;
/// How many relays are believed: one a session that a peer is in.
const RELAYS_MAX: usize = 16;

/// What QUIC is given as its socket.
#[derive(Debug)]
pub(crate) struct Socket {
    udp: Arc<dyn AsyncUdpSocket>,
    bound: SocketAddr,
    stun: mpsc::Sender<Vec<u8>>,
    relays: mpsc::Sender<Spoken>,
    carried: Mutex<Carried>,
}

/// What a relay says of itself.
#[derive(Debug)]
pub(crate) struct Spoken {
    pub(crate) from: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

/// What a socket hears that is not QUIC's.
#[derive(Debug)]
pub(crate) struct Heard {
    /// Of STUN responders.
    pub(crate) stun: mpsc::Receiver<Vec<u8>>,
    /// Of relays.
    pub(crate) relays: mpsc::Receiver<Spoken>,
}

/// What goes through relays.
#[derive(Debug, Default)]
struct Carried {
    /// Those of this peer's lobbies: nobody else has packets taken for another's.
    trusted: BTreeSet<SocketAddr>,
    /// Through which of them members are reached.
    routes: BTreeMap<Seat, SocketAddr>,
    /// What has come, until QUIC reads it.
    packets: VecDeque<(Seat, Vec<u8>)>,
}

impl Carried {
    fn learn(&mut self, seat: Seat, relay: SocketAddr) {
        if self.routes.len() >= ROUTES_MAX && !self.routes.contains_key(&seat) {
            // Whoever is still there is learned again with its next packet.
            self.routes.clear();
        }
        self.routes.insert(seat, relay);
    }
}

impl Socket {
    /// Binds it. Needs a tokio runtime to live in.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<(Arc<Self>, Heard)> {
        let udp = udp::wrap(UdpSocket::bind(address)?)?;
        let bound = udp.local_addr()?;
        let (stun, stun_heard) = mpsc::channel(SPOKEN_MAX);
        let (relays, relays_heard) = mpsc::channel(SPOKEN_MAX);
        let socket = Arc::new(Self { udp, bound, stun, relays, carried: Mutex::default() });
        Ok((socket, Heard { stun: stun_heard, relays: relays_heard }))
    }

    /// Sends a datagram that is not QUIC's. It is lost where the system does not take it at once.
    pub(crate) fn send(&self, to: SocketAddr, bytes: &[u8]) {
        if let Err(error) = self.pass(to, bytes) {
            tracing::debug!(%to, %error, "a datagram was not sent");
        }
    }

    /// A relay of a lobby that this peer is a member in.
    pub(crate) fn trust(&self, relay: SocketAddr) {
        let mut carried = self.carried();
        if carried.trusted.len() < RELAYS_MAX {
            carried.trusted.insert(canonical(relay));
        }
    }

    /// A member can be reached through that relay.
    pub(crate) fn route(&self, seat: Seat, relay: SocketAddr) {
        self.carried().learn(seat, relay);
    }

    fn pass(&self, to: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        let Some(destination) = self.as_sent(to) else { return Ok(()) };
        self.udp.try_send(&Transmit {
            destination,
            ecn: None,
            contents: bytes,
            segment_size: None,
            src_ip: None,
        })
    }

    /// An address as the system's socket has it, whatever name it comes by; `None` where that cannot reach it.
    fn as_sent(&self, to: SocketAddr) -> Option<SocketAddr> {
        match (canonical(to), self.bound) {
            (to, SocketAddr::V6(_)) => Some(named(to)),
            (to @ SocketAddr::V4(_), SocketAddr::V4(_)) => Some(to),
            (SocketAddr::V6(_), SocketAddr::V4(_)) => None,
        }
    }

    /// Sends QUIC's packets to a member through its relay.
    fn send_carried(&self, seat: Seat, transmit: &Transmit<'_>) -> io::Result<()> {
        let Some(relay) = self.carried().routes.get(&seat).copied() else { return Ok(()) };
        let each = transmit.segment_size.unwrap_or(transmit.contents.len()).max(1);
        for (sent, packet) in transmit.contents.chunks(each).enumerate() {
            match self.pass(relay, &Frame::Carry { seat, packet }.encode()) {
                // Nothing has left: QUIC tries all of it again.
                Err(error) if sent == 0 => return Err(error),
                // The rest is lost, as on any network.
                Err(_) => return Ok(()),
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Takes what is not QUIC's out of what was received. `false` where it is QUIC's.
    fn take(&self, from: SocketAddr, received: &[u8], each: usize) -> bool {
        // The system puts several datagrams of one sender into a buffer: nobody sends two kinds from one port.
        if is_stun(received) {
            for message in received.chunks(each).filter(|message| message.len() <= MESSAGE_BYTES_MAX) {
                // More than anybody asked for is lost.
                let _full = self.stun.try_send(message.to_vec());
            }
        } else if Frame::is_one(received) {
            let from = canonical(from);
            received.chunks(each).for_each(|datagram| self.take_frame(from, datagram));
        } else {
            return false;
        }
        true
    }

    fn take_frame(&self, from: SocketAddr, datagram: &[u8]) {
        let mut carried = self.carried();
        if datagram.len() > FRAME_BYTES_MAX || !carried.trusted.contains(&from) {
            return;
        }
        match Frame::decode(datagram) {
            Some(Frame::Carry { seat, packet }) => {
                if carried.packets.len() < CARRIED_MAX {
                    carried.packets.push_back((seat, packet.to_vec()));
                }
                // Whoever dials through a relay is answered through it.
                carried.learn(seat, from);
            }
            Some(Frame::Prove { .. } | Frame::Heard { .. }) => {
                // What is lost is said again.
                let _full = self.relays.try_send(Spoken { from, bytes: datagram.to_vec() });
            }
            Some(Frame::Hail(_)) | None => {}
        }
    }

    /// Gives QUIC what relays have carried here.
    fn give_carried(&self, buffers: &mut [IoSliceMut<'_>], metas: &mut [RecvMeta]) -> usize {
        let mut carried = self.carried();
        let mut given = 0;
        for (buffer, meta) in buffers.iter_mut().zip(metas) {
            let Some((seat, packet)) = carried.packets.pop_front() else { break };
            let Some(room) = buffer.get_mut(..packet.len()) else { continue };
            room.copy_from_slice(&packet);
            let (len, addr) = (packet.len(), seat.address());
            *meta = RecvMeta { addr, len, stride: len, ecn: None, dst_ip: None };
            given += 1;
        }
        given
    }

    /// Nothing under this lock panics.
    fn carried(&self) -> MutexGuard<'_, Carried> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An address by its name of IPv6.
fn named(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(address) => (address.ip().to_ipv6_mapped(), address.port()).into(),
        address @ SocketAddr::V6(_) => address,
    }
}

/// An address by the name that others know it by.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.udp).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        match Seat::at(transmit.destination) {
            Some(seat) => self.send_carried(seat, transmit),
            // Nothing gets there, as on any network.
            None => self.as_sent(transmit.destination).map_or(Ok(()), |destination| {
                self.udp.try_send(&Transmit { destination, ..transmit.clone() })
            }),
        }
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let given = self.give_carried(buffers, metas);
        if given > 0 {
            return Poll::Ready(Ok(given));
        }
        let count = ready!(self.udp.poll_recv(cx, buffers, metas))?;
        for (buffer, meta) in buffers.iter().zip(metas).take(count) {
            let received = buffer.get(..meta.len).unwrap_or_default();
            if self.take(meta.addr, received, meta.stride.max(1)) {
                meta.len = 0;
            }
            meta.addr = named(meta.addr);
        }
        // QUIC asks again at once, and is then given what was carried here.
        Poll::Ready(Ok(count))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(named(self.bound))
    }

    fn max_transmit_segments(&self) -> usize {
        self.udp.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.udp.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.udp.may_fragment()
    }
}
