//! Any conversation to a prober of each protocol: it never panics, and never keeps more text than its limit.

use crate::packets;
use mainstay_query::{DATAGRAM_BYTES_MAX, Probe, Protocol, Step, TEXT_BYTES_MAX};

/// The nonce of the seeds, so that recorded answers are answers.
const NONCE: u32 = 0x0102_0304;

/// Feeds one input; panics where a promise is broken.
pub fn run(bytes: &[u8]) {
    let Some((which, rest)) = bytes.split_first() else { return };
    let protocol = match which % 5 {
        0 => Protocol::Sqp,
        1 => Protocol::A2s,
        2 => Protocol::Quake3,
        3 => Protocol::Teeworlds,
        _ => match "udp:4f45:4f".parse() {
            Ok(protocol) => protocol,
            Err(error) => panic!("{error}"),
        },
    };
    let Probe::Datagrams(mut prober) = protocol.probe(NONCE) else {
        panic!("{protocol} is asked by datagrams")
    };
    assert!(prober.start().len() <= DATAGRAM_BYTES_MAX);
    for packet in packets(rest) {
        match prober.receive(packet) {
            Step::Send(packet) => assert!(packet.len() <= DATAGRAM_BYTES_MAX),
            Step::Done(answer) => {
                for text in [answer.name, answer.map].into_iter().flatten() {
                    assert!(text.len() <= TEXT_BYTES_MAX);
                }
            }
            Step::Wait | Step::Refused(_) => {}
        }
    }
}
