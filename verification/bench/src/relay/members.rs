//! Members of sessions of the lobby, as a game makes them, and their places at its relay.

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use mainstay_core::SessionId;
use mainstay_wire::lobby::{Asks, LobbyKey, PeerKey, bytes, text};
use mainstay_wire::relay::{FRAME_BYTES_MAX, Frame, Hail, OVERHEAD, Proof, SECRET_BYTES, Seat, Ticket};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::Failure;
use crate::instance::{Instance, wait};

/// What the relay lets one member send a second.
pub(super) const RATE_OF_ONE: u64 = 256 * 1024;
/// The largest packet it carries.
pub(super) const PACKET_BYTES_MAX: usize = FRAME_BYTES_MAX - OVERHEAD;
/// The number of its run, and when it was sent.
pub(super) const PACKET_BYTES_MIN: usize = 16;
/// How often a member hails: as players do, a third of the time that the relay knows it for.
const HAIL_EVERY: Duration = Duration::from_secs(20);
/// How long the relay's answer to a hail is waited for.
const HEARD_WITHIN: Duration = Duration::from_millis(200);

/// Two members of one session: the first sends to the second.
pub(super) struct Pair {
    pub(super) from: Member,
    pub(super) to: Member,
}

pub(super) struct Member {
    session: SessionId,
    key: PeerKey,
    ticket: Ticket,
    token: String,
    relay: SocketAddr,
    pub(super) socket: UdpSocket,
    /// When the relay has heard it, and by what proof.
    heard: Cell<Option<(Instant, Proof)>>,
}

/// An address of UDP that nobody has taken a moment ago.
pub(super) fn free_address() -> Result<SocketAddr, Failure> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

fn key_pair() -> Option<Ed25519KeyPair> {
    let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).ok()?;
    Ed25519KeyPair::from_pkcs8(made.as_ref()).ok()
}

/// Each two in a session of their own.
pub(super) fn pairs(instance: &Instance, relay: SocketAddr, count: u64) -> Result<Vec<Pair>, Failure> {
    let lobby = instance.get("/v1/lobbies/online")?;
    let lobby_key = lobby["lobbyKey"].as_str().and_then(bytes).map(LobbyKey).ok_or("the lobby has no key")?;
    let pair = |number: u64| -> Result<Pair, Failure> {
        let enter = |player: String, path: &str, of: &dyn Fn(Value) -> Value| {
            let pair = key_pair().ok_or("no key could be made")?;
            let key = PeerKey(pair.public_key().as_ref().try_into()?);
            let proof = text(pair.sign(&Asks { lobby: lobby_key }.signed_bytes()).as_ref());
            let member = json!({ "peer": text(&key.0), "proof": proof, "player": player, "canBeHost": true });
            Member::new(relay, key, &instance.post(path, &of(member))?)
        };
        let make = |member| json!({ "size": 2, "member": member });
        let from = enter(format!("from {number}"), "/v1/lobbies/online/sessions", &make)?;
        from.beat(instance)?;
        let path = format!("/v1/sessions/{}/members", from.session);
        let to = enter(format!("to {number}"), &path, &|member| json!({ "member": member }))?;
        Ok(Pair { from, to })
    };
    (0..count).map(pair).collect()
}

impl Pair {
    /// Both live, to the lobby and to its relay.
    pub(super) fn stay(&self, instance: &Instance) -> Result<(), Failure> {
        [&self.from, &self.to].into_iter().try_for_each(|member| {
            member.beat(instance)?;
            member.hail()
        })
    }

    /// What the relay is sent for the second.
    pub(super) fn seat(&self) -> Seat {
        Seat::of_key(self.to.session, &self.to.key)
    }
}

impl Member {
    fn new(relay: SocketAddr, key: PeerKey, given: &Value) -> Result<Self, Failure> {
        let of = |place: &str| given.pointer(place).and_then(Value::as_str).ok_or(format!("no {place}"));
        Ok(Self {
            session: of("/session/id")?.parse().map_err(|_| "the session's id is none")?,
            key,
            ticket: bytes(of("/relay/ticket")?).map(Ticket).ok_or("the ticket is none")?,
            token: of("/token")?.to_owned(),
            relay,
            socket: UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?,
            heard: Cell::new(None),
        })
    }

    fn beat(&self, instance: &Instance) -> Result<(), Failure> {
        let path = format!("/v1/sessions/{}/beats", self.session);
        instance.post_as(&format!("Bearer {}", self.token), &path, &json!({ "epoch": 1 })).map(drop)
    }

    /// Until the relay has heard it.
    fn hail(&self) -> Result<(), Failure> {
        let mut proof = match self.heard.get() {
            Some((at, _)) if at.elapsed() < HAIL_EVERY => return Ok(()),
            Some((_, proof)) => proof,
            None => Proof([0; SECRET_BYTES]),
        };
        self.socket.set_read_timeout(Some(HEARD_WITHIN))?;
        wait("the relay to hear a member", || {
            let Self { session, key: peer, ticket, .. } = *self;
            self.socket.send_to(&Frame::Hail(Hail { session, peer, ticket, proof }).encode(), self.relay)?;
            let mut buffer = [0; FRAME_BYTES_MAX];
            // What is late of the run before is passed over.
            while let Ok(length) = self.socket.recv(&mut buffer) {
                match Frame::decode(&buffer[..length]) {
                    Some(Frame::Heard { .. }) => {
                        self.heard.set(Some((Instant::now(), proof)));
                        return Ok(Some(()));
                    }
                    Some(Frame::Prove { proof: asked, .. }) => {
                        proof = asked;
                        break;
                    }
                    Some(Frame::Hail(_) | Frame::Carry { .. }) | None => {}
                }
            }
            Ok(None)
        })
    }

    pub(super) const fn relay(&self) -> SocketAddr {
        self.relay
    }
}
