//! Any pieces of a stream between peers, in any order: they become a packet of a length that is read, or nothing, and never panic.
//!
//! A piece begins with its place on the stream, in three bytes, big-endian.

use mainstay_wire::peer::{Gathering, PACKET_BYTES_MAX};

/// Feeds one input; panics where a promise is broken.
pub fn run(bytes: &[u8]) {
    let mut gathering = Gathering::default();
    for said in crate::packets(bytes) {
        let Some((&[high, middle, low], piece)) = said.split_first_chunk() else { continue };
        if let Ok(Some(packet)) = gathering.take(u32::from_be_bytes([0, high, middle, low]).into(), piece) {
            assert!(packet.len() <= PACKET_BYTES_MAX, "{} bytes", packet.len());
        }
    }
}
