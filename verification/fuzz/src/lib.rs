//! Fuzz targets: what reads bytes from outside is fed any bytes.
//!
//! Each module is one target, a plain function from an input to a panic or none. `fuzz_targets/` hands them to libFuzzer
//! for as long as one likes; `tests/replay.rs` feeds them the seeds, and inputs near the seeds, in every `./check`.

pub mod config;
pub mod lobby_words;
pub mod peer_packets;
pub mod peer_streams;
pub mod playfab_bodies;
pub mod query_codecs;
pub mod query_prober;
pub mod query_responder;
pub mod session_inputs;
pub mod tugboat_game;

/// The input cut into packets: a length of two bytes, big-endian, and as many bytes each, the last as long as the input lasts.
pub fn packets(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (length, tail) = rest.split_first_chunk::<2>()?;
        let (packet, tail) = tail.split_at(usize::from(u16::from_be_bytes(*length)).min(tail.len()));
        rest = tail;
        Some(packet)
    })
}
