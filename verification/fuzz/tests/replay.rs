//! The seeds of every target, and the inputs next to them: each seed cut short at every byte, and with every byte changed.
//! A target panics where a promise is broken.
#![expect(clippy::unwrap_used, reason = "a seed that cannot be read fails its test where it stands")]

use std::path::Path;

/// Feeds a target its seeds and their neighbours.
fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let seeds: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!seeds.is_empty(), "{} holds no seed", folder.display());
    for seed in seeds {
        let bytes = std::fs::read(&seed).unwrap();
        run(&bytes);
        for at in 0..bytes.len() {
            run(&bytes[..at]);
            let mut changed = bytes.clone();
            for mask in [0x01, 0x80, 0xff] {
                changed[at] = bytes[at] ^ mask;
                run(&changed);
            }
        }
    }
}

#[test]
fn config() {
    replay("config", mainstay_fuzz::config::run);
}

#[test]
fn lobby_words() {
    replay("lobby_words", mainstay_fuzz::lobby_words::run);
}

#[test]
fn peer_packets() {
    replay("peer_packets", mainstay_fuzz::peer_packets::run);
}

#[test]
fn peer_streams() {
    replay("peer_streams", mainstay_fuzz::peer_streams::run);
}

#[test]
fn playfab_bodies() {
    replay("playfab_bodies", mainstay_fuzz::playfab_bodies::run);
}

#[test]
fn query_codecs() {
    replay("query_codecs", mainstay_fuzz::query_codecs::run);
}

#[test]
fn query_prober() {
    replay("query_prober", mainstay_fuzz::query_prober::run);
}

#[test]
fn query_responder() {
    replay("query_responder", mainstay_fuzz::query_responder::run);
}

#[test]
fn session_inputs() {
    replay("session_inputs", mainstay_fuzz::session_inputs::run);
}

#[test]
fn tugboat_game() {
    replay("tugboat_game", mainstay_fuzz::tugboat_game::run);
}
