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
        // Whoever came last would be the better host: the game's own order, which is read on the library's thread.
        command.args(arguments).env("PREFERS_LATE", "1");
        Player::start(command)
    };
    let host = start(&["found"]);
    for code in ["2", "4"] {
        host.until("what is no state is refused by a code", |words| {
            words[1] == "refused" && words[2] == code
        });
    }
    let way = ["join", host.session(), told(&host.started, "address")];
    let others: Vec<Player> = (0..2)
        .map(|_| {
            let player = start(&way);
            player.until("it is in", |words| words[1] == "stands" && told(words, "linked") != "0");
            player
        })
        .collect();
    host.says("nobody suits better", |words| words[1] == "nobody-better");
    for player in others.iter().chain([&host]) {
        player.until("three play, linked, and somebody could follow", |words| {
            plays(words, host.id(), "1", "3")
                && (told(words, "voters"), told(words, "linked"), told(words, "next")) == ("3", "2", "1")
                && counter(words) > 5
        });
        // Seed 000: the host has a hint for every client, each client one for each client but itself; and everybody has its role.
        let is_host = player.id() == host.id();
        let hints = if is_host { "2" } else { "1" };
        let role =
            ["2", "0", "1"][others.iter().position(|it| it.id() == player.id()).map_or(0, |at| at + 1)];
        player.until("it shows who is what", |words| {
            words[1] == "stands"
                && (told(words, "hints"), told(words, "counted"), told(words, "actors")) == (hints, "3", "2")
                && (told(words, "role"), told(words, "shows")) == (role, "1")
                && told(words, "sends") == "5000000"
                && told(words, "holds") != "0"
                && (!is_host || told(words, "handed") != "0")
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
    assert_eq!(heir, others[1].id(), "who came last, though the other has the lower channel");
    let (heir_of, client) =
        if others[0].id() == heir { (&others[0], &others[1]) } else { (&others[1], &others[0]) };
    let again = heir_of.says("the client has its actor already", |words| words[1] == "again");
    let actor = u64::from_str_radix(&client.id()[..2], 16).unwrap() + 1000;
    assert_eq!(again[2], actor.to_string(), "the one that its first host gave it");
    let progress = client.says("it is told how it goes on", |words| words[1] == "progress");
    assert_eq!((told(&progress, "stage"), told(&progress, "waits")), ("0", "once"), "the engine's first");
    let discarded = client.says("what it listed comes back", |words| words[1] == "discards");
    assert_eq!(discarded[2..], ["1", "4711"], "once, though it was listed twice");
    for player in &others {
        let words = player.until("they play on from where they were", |words| {
            plays(words, heir, "2", "2") && counter(words) > before
        });
        // Five stages, each of them twice.
        assert_eq!(told(&words, "called"), "10", "{words:?} after {migrated:?}");
        assert_eq!((told(&words, "once"), told(&words, "never")), ("1", "0"), "{words:?}");
    }
}

/// Seed 000: "the current host determines that a client in the lobby is a more suitable candidate, prior to commencing the game."
#[test]
fn a_game_in_c_moves_to_whoever_suits_better_while_its_players_gather() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(Path::new(env!("CARGO_MANIFEST_DIR")), folder.path());
    let start = |arguments: &[&str], nat| {
        let mut command = Command::new(&program);
        command.args(arguments).env("GATHERS", "1").env("NAT", nat);
        Player::start(command)
    };
    let host = start(&["found"], "3");
    let better = start(&["join", host.session(), told(&host.started, "address")], "1");
    for player in [&host, &better] {
        player.until("it moves, for that one suits better", |words| {
            words[1] == "migrated" && (told(words, "cause"), told(words, "epoch")) == ("0", "2")
        });
        player.until("the old host plays on as a client", |words| plays(words, better.id(), "2", "2"));
    }
}
