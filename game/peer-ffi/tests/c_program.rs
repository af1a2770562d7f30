//! A game in C on the library as it is linked: three processes, whose host is killed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking; unwrap says where")]

mod c;

use std::path::Path;
use std::process::Command;

use c::{Player, compile, counter, told};

/// How such a line has it where that host leads so many.
fn plays(words: &[String], host: &str, epoch: &str, members: &str) -> bool {
    words[1] == "stands"
        && (told(words, "host"), told(words, "epoch"), told(words, "members")) == (host, epoch, members)
}

/// Issue 5: "A C ABI (`game/peer-ffi`, header generated) so that engines that are not Rust can link it, with a C program that
/// migrates in a test."
#[test]
fn a_game_in_c_outlives_its_host() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(Path::new(env!("CARGO_MANIFEST_DIR")), folder.path());
    let start = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments);
        Player::start(command)
    };
    let host = start(&["found"]);
    let way = ["join", host.session(), told(&host.started, "address")];
    let others: Vec<Player> = (0..2).map(|_| start(&way)).collect();
    for player in others.iter().chain([&host]) {
        player.until("three play, linked, and somebody could follow", |words| {
            plays(words, host.id(), "1", "3")
                && (told(words, "linked"), told(words, "next")) == ("2", "1")
                && counter(words) > 5
        });
    }
    let before = counter(&others[0].until("a state is heard", |words| words[1] == "stands"));
    drop(host);
    let migrated: Vec<Vec<String>> = others
        .iter()
        .map(|player| {
            player.until("it moves", |words| {
                words[1] == "migrated" && (told(words, "cause"), told(words, "epoch")) == ("2", "2")
            })
        })
        .collect();
    let after = others[0].until("it has a host", |words| words[1] == "stands" && told(words, "epoch") == "2");
    let heir = told(&after, "host");
    assert!(others.iter().any(|player| player.id() == heir), "one of the two: {after:?}");
    let (heir_of, client) =
        if others[0].id() == heir { (&others[0], &others[1]) } else { (&others[1], &others[0]) };
    let again = heir_of.says("the client has its actor already", |words| words[1] == "again");
    let actor = u64::from_str_radix(&client.id()[..2], 16).unwrap() + 1000;
    assert_eq!(again[2], actor.to_string(), "the one that its first host gave it");
    let discarded = client.says("what it listed comes back", |words| words[1] == "discards");
    assert_eq!(discarded[2..], ["1", "4711"], "once, though it was listed twice");
    for player in &others {
        let words = player.until("they play on from where they were", |words| {
            plays(words, heir, "2", "2") && counter(words) > before
        });
        // Five stages, each of them twice.
        assert_eq!(told(&words, "called"), "10", "{words:?} after {migrated:?}");
    }
}
