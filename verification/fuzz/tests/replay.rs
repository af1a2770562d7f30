//! The seeds of every target, and the inputs next to them: each seed cut short at every byte, and with every byte changed.
//! A target panics where a promise is broken.
#![expect(clippy::unwrap_used, reason = "a seed that cannot be read fails its test where it stands")]

use std::path::Path;
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

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

/// What the seeds of `session_inputs` say, packet by packet.
static SAID: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/session_inputs");
    let mut seeds: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    seeds.sort();
    let said = seeds.iter().flat_map(|seed| {
        let bytes = std::fs::read(seed).unwrap();
        mainstay_fuzz::packets(&bytes).map(<[u8]>::to_vec).collect::<Vec<_>>()
    });
    said.collect()
});

/// Something that is done: anything at all, or what a seed does with a byte of it changed.
fn any_doing() -> impl Strategy<Value = Vec<u8>> {
    let anything = (any::<u8>(), any::<u8>(), vec(any::<u8>(), 0..60));
    let said = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        prop_oneof![2 => Just(0), 1 => any::<u8>()],
    );
    prop_oneof![
        2 => anything.prop_map(|(what, whom, with)| [what, whom].into_iter().chain(with).collect()),
        3 => said.prop_map(|(which, at, mask)| {
            let mut said = which.get(&SAID).clone();
            if !said.is_empty() {
                let at = at.index(said.len());
                said[at] ^= mask;
            }
            said
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(16), ..ProptestConfig::default() })]

    /// I16 of reference/host-migration.md as a property of a session: whatever others say in whatever order, nothing panics, and what is kept has its limits.
    #[test]
    fn conversations_that_nobody_wrote(doings in vec(any_doing(), 1..40)) {
        let mut bytes = Vec::new();
        for doing in doings {
            bytes.extend(u16::try_from(doing.len()).unwrap().to_be_bytes());
            bytes.extend(doing);
        }
        mainstay_fuzz::session_inputs::run(&bytes);
    }
}
