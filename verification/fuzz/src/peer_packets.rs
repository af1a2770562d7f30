//! Any conversation to a peer of a session: what can be read is written again as the same bytes, and whatever is said, by a
//! member or a stranger, the rules neither panic nor go back to an earlier host: without a lobby, and under one.
//!
//! A packet begins with its sender and the time before it, in units of 16 ms. Every signature is taken for genuine, so that what
//! lies behind that check is reached.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{
    Admission, Arbiter, CanBeHost, Certificate, Config, Epoch, Grant, Input, Kind, Level, MEMBERS_MAX,
    Migratable, Order, Output, Pass, PeerId, Piece, Proof, Session, SessionId, Signature, Support, Tick,
    WithoutMajority,
};
use mainstay_wire::peer::{PACKET_BYTES_MAX, Packet};

use crate::packets;

/// The session of the golden packets.
const SESSION: SessionId = SessionId(7);
/// The peer that listens; those of the golden packets are 10 to 13.
const ME: PeerId = PeerId(0xa);

#[derive(Debug)]
struct Gullible;

impl mainstay_migration::Keys for Gullible {
    fn sign(&self, _words: &[u8]) -> Signature {
        Signature(vec![1])
    }

    fn is_by(&self, _signer: PeerId, _words: &[u8], _signature: &Signature) -> bool {
        true
    }

    fn is_of_lobby(&self, _grant: &Grant, _signature: &Signature) -> bool {
        true
    }

    fn is_pass(&self, _session: SessionId, _peer: PeerId, _pass: &Pass) -> bool {
        true
    }
}

/// Feeds one input; panics where a promise is broken.
pub fn run(bytes: &[u8]) {
    let now = Timestamp::from_unix_ms(1);
    let expires = Timestamp::from_unix_ms(u64::MAX);
    let pass = Pass { expires, player: b"ann".to_vec(), signature: Signature(vec![1]) };
    let config = Config {
        me: ME,
        session: SESSION,
        arbiter: Arbiter::Majority,
        order: Order::Documented,
        migratable: Migratable::Yes,
        without_majority: WithoutMajority::Fork,
        level: Level::Asynchronous,
        size: MEMBERS_MAX,
        support: Support::Supported,
        admission: Some(Admission { pass, as_of: now, at: now }),
        keys: Arc::new(Gullible),
    };
    let proof = Proof::Lobby(Signature(vec![1]));
    let certificate = Certificate { epoch: Epoch::FIRST, host: ME, proof };
    let under_lobby = Session::found_certified(now, config.clone(), &certificate);
    converse(Session::found(now, config), now, bytes);
    converse(under_lobby.expect("every grant is believed"), now, bytes);
}

/// One conversation with a session that begins now.
fn converse(mut session: Session, mut now: Timestamp, bytes: &[u8]) {
    session.handle(now, Input::Suitable(CanBeHost::Yes));
    for (number, said) in (1_u64..).zip(packets(bytes)) {
        let [from, waited, packet @ ..] = said else { continue };
        now = now + Duration::from_millis(16 * u64::from(*waited));
        session.handle(now, Input::Wake);
        let read = Packet::decode(packet);
        assert!(packet.len() <= PACKET_BYTES_MAX || read.is_err());
        let Ok(read) = read else { continue };
        assert_eq!(read.encode(), packet, "one form for each value: {read:?}");
        let Packet::Protocol(message) = read else { continue };
        let before = session.stamp();
        session.handle(now, Input::Message { from: PeerId(0xa + u128::from(from % 4)), message });
        assert!(session.stamp() >= before, "{before:?} and then {:?}", session.stamp());
        let piece = Piece { tick: Tick(number), kind: Kind::Snapshot, bytes: vec![0; 8] };
        session.handle(now, Input::State(piece));
        for output in session.take_outputs() {
            if let Output::Send { message, .. } = output {
                let bytes = Packet::Protocol(message).encode();
                assert!(bytes.len() <= PACKET_BYTES_MAX, "{} bytes", bytes.len());
                assert!(Packet::decode(&bytes).is_ok(), "what one peer says another reads: {bytes:?}");
            }
        }
    }
}
