//! A game in C on the C ABI of `game/peer`, as an engine that is not written in Rust links it: in a lobby over https, on a LAN without
//! any server, and behind real routers. What needs root, iproute2 and nftables says loudly where it did not run.

#[path = "../../../../game/peer-ffi/tests/c/mod.rs"]
mod c;

use std::path::{Path, PathBuf};
use std::process::Command;

// Linked, so that cargo builds what the program is linked with.
use mainstay_peer_ffi as _;
use mainstay_wan::nat::{Nat, Place};

use self::c::{Player, counter, told};
use crate::behind_routers::{World, network};
use crate::lan::Lan;
use crate::product::Home;
use crate::secure_lobby::{Beyond, MATCHING, Match, strangers};

/// Compiles the game.
fn game(home: &Home) -> PathBuf {
    let here = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../game/peer-ffi"));
    c::compile(here, home.path().parent().unwrap())
}

/// Where a program is bound: to the address of its host that others reach.
const ANYWHERE: (&str, &str) = ("BIND", "0.0.0.0:0");

fn start(mut command: Command, arguments: &[&str]) -> Player {
    command.args(arguments);
    Player::start(command)
}

/// Whether a line tells of a session as it is wanted: host, epoch, members.
fn stands(words: &[String], wanted: (&str, &str, &str)) -> bool {
    words[1] == "stands" && (told(words, "host"), told(words, "epoch"), told(words, "members")) == wanted
}

/// All of them play, have a say in who is host, are linked, and know who could be next.
#[track_caller]
fn settle(players: &[&Player], epoch: &str) {
    let (host, members) = (players[0].id(), players.len().to_string());
    let linked = (players.len() - 1).to_string();
    for player in players {
        player.until("all vote and are linked, and somebody could follow", |words| {
            stands(words, (host, epoch, &members))
                && told(words, "voters") == members
                && told(words, "linked") == linked
                && told(words, "next") == "1"
                && counter(words) > 5
        });
    }
}

/// The first of them is killed: the others go on from where they were, under a host that is certified or has a majority.
#[track_caller]
fn outlive(host: Player, others: &[&Player]) {
    let before = counter(&others[0].until("a state is heard", |words| words[1] == "stands"));
    let members = others.len().to_string();
    drop(host);
    let is_on = |words: &[String]| words[1] == "stands" && told(words, "epoch") == "2";
    let heir = told(&others[0].until("it has a host", is_on), "host").to_owned();
    assert!(others.iter().any(|player| player.id() == heir), "{heir}");
    for player in others {
        let words = player.until("they play on from where they were", |words| {
            stands(words, (&heir, "2", &members)) && counter(words) > before
        });
        assert_eq!(told(&words, "fork"), "0", "{words:?}");
        let moved = player.says("it was told so", |words| words[1] == "migrated");
        // Where a lobby answers nothing for two seconds, as on a busy machine, who survives goes on alone first, and is certified after.
        assert!(["1", "2"].contains(&told(&moved, "epoch")) && told(&moved, "cause") == "2", "{moved:?}");
    }
}

/// What a game says that does not come in.
#[track_caller]
fn is_kept_out(program: &Path, arguments: &[&str]) -> String {
    let ended = Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    said
}

/// Issue 5, section 5: "a C program that migrates in a test", here "online through the lobby"; and who comes to no session is told why.
#[test]
fn a_session_of_a_lobby_goes_on_in_c() {
    let home = Home::new();
    let program = game(&home);
    let Beyond { up, lobby, ca, tokens, .. } = Beyond::new(&home);
    let ca = ca.as_str();
    let host = start(Command::new(&program), &["open", &lobby, ca, &tokens[0]]);
    let session = host.session().to_owned();
    let others =
        [1, 2].map(|at: usize| start(Command::new(&program), &["enter", &session, &lobby, ca, &tokens[at]]));
    settle(&[&host, &others[0], &others[1]], "1");
    let seen = up.caller().get(&format!("/v1/sessions/{}", uuid::Uuid::parse_str(&session).unwrap())).json();
    assert_eq!((&seen["name"], &seen["size"]), (&"a game in C".into(), &64.into()), "{seen}");
    outlive(host, &others.each_ref());

    let [other, none] = strangers(&home);
    let (nowhere, nobody) = ("https://127.0.0.1:9", "00000000000000000000000000000007");
    for (arguments, why) in [
        (&["open", &lobby, &other, &tokens[0]][..], "status 16 code [] what answers at https://"),
        (&["open", &lobby, &none, &tokens[0]], "status 18 code [] there is no certificate"),
        (&["open", nowhere, ca, &tokens[0]], "status 15 code [] no lobby answers at https://127.0.0.1:9"),
        (&["open", &lobby, ca, &none], "status 13 code [MS-A"),
        // Ends of lines are in no header.
        (&["open", &lobby, ca, ca], "status 19 code [] https://"),
        (&["open", "games.example:7700:1", ca, &tokens[0]], "status 19 code [] games.example"),
        (&["enter", nobody, &lobby, ca, &tokens[0]], "status 13 code [MS-G001] the lobby refused"),
    ] {
        let said = is_kept_out(&program, arguments);
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
}

/// Issue 5, section 4: "create, search, join"; in C, of players whom somebody vouches for.
#[test]
fn a_session_of_a_lobby_is_found_by_its_mode_in_c() {
    let home = Home::new();
    let program = game(&home);
    let Beyond { up: _up, lobby, ca, tokens, .. } = Beyond::new(&home);
    let ca = ca.as_str();
    let run = |what: &str, mode: &str, at: usize| {
        start(Command::new(&program), &[what, mode, &lobby, ca, &tokens[at]])
    };
    let host = run("offer", "capture", 0);
    let elsewhere = run("offer", "duel", 1);
    let other = run("seek", "capture", 2);
    assert_eq!(other.session(), host.session());
    let listed = other.says("what it has found", |words| words[1] == "lists");
    let found = ["lists", "members", "size", "free", "epoch", "open", "migratable", "map"];
    let is = ["found-by-mode", "1", "64", "63", "1", "1", "1", "old+harbour&more"];
    assert_eq!(found.map(|name| told(&listed, name)), is, "{listed:?}");
    assert_eq!(
        (told(&listed, "none"), told(&listed, "short")),
        ("1", "11"),
        "nothing, and too short: {listed:?}"
    );
    settle(&[&host, &other], "1");
    outlive(host, &[&other]);
    assert_ne!(elsewhere.session(), other.session());
    for (arguments, why) in [
        (&["seek", "capture", &lobby, ca, ca][..], "status 19 code [] https://"),
        (&["seek", "cap\nture", &lobby, ca, &tokens[2]], "status 20 code [] attribute mode"),
        (
            &["offer", &"m".repeat(257), &lobby, ca, &tokens[2]],
            "status 20 code [] attribute mode has 257 bytes",
        ),
        (&["seek", "capture", "https://127.0.0.1:9", ca, &tokens[2]], "status 15 code [] no lobby answers"),
    ] {
        let said = is_kept_out(&program, arguments);
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
}

/// Issue 5, section 4: "a matchmaking queue may end in a lobby session whose members and tokens come from the match". Three games in
/// C come into it with nothing but the tokens of their seats, and all at once; nobody founded it.
#[test]
fn the_players_of_a_match_come_into_its_session_by_their_seats_in_c() {
    let home = Home::new();
    let program = game(&home);
    let players = Beyond::of(&home, MATCHING);
    let Match { session, seats } = players.matched();
    let (lobby, ca) = (players.lobby.as_str(), players.ca.as_str());
    let comes = |seat: &String| start(Command::new(&program), &["sit", &session, lobby, ca, seat]);
    let mut coming: Vec<Player> = std::thread::scope(|scope| {
        let all: Vec<_> = seats.iter().map(|seat| scope.spawn(|| comes(seat))).collect();
        all.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let first = coming[0].until("it has a host", |words| words[1] == "stands" && told(words, "epoch") == "1");
    let at = coming.iter().position(|player| player.id() == told(&first, "host")).unwrap();
    let host = coming.remove(at);
    settle(&[&host, &coming[0], &coming[1]], "1");
    outlive(host, &[&coming[0], &coming[1]]);

    // A seat's token opens the session of its match alone, and what is none opens nothing.
    let other = "f".repeat(32);
    for (session, token) in [(&other, &seats[0]), (&session, &players.tokens[0])] {
        let said = is_kept_out(&program, &["sit", session, lobby, ca, token]);
        assert!(said.contains("status 13 code [MS-A"), "{said}");
    }
}

/// Issue 5: "on a LAN without any server"; here in C.
#[test]
fn a_session_of_a_lan_is_found_and_goes_on_in_c() {
    let Some(lan) = Lan::new(3) else { return };
    let home = Home::new();
    let program = game(&home);
    let on = |host: usize| {
        let mut command = lan.run(host, &program);
        command.env(ANYWHERE.0, ANYWHERE.1);
        command
    };
    let host = start(on(1), &["announce", "harbour"]);
    let others = [2, 3].map(|at| start(on(at), &["find", "harbour"]));
    assert!(others.iter().all(|player| player.session() == host.session()));
    settle(&[&host, &others[0], &others[1]], "1");
    outlive(host, &others.each_ref());
}

/// Issue 5: "NAT class by STUN (RFC 5780)", and "a relay for the rest": a game in C knows both.
#[test]
fn a_game_in_c_knows_its_router_and_what_is_relayed() {
    let Some(network) = network(&[Place::Behind(Nat::Strict), Place::Behind(Nat::Moderate)]) else { return };
    let (home, program_home) = (Home::new(), Home::new());
    let program = game(&program_home);
    let relay = format!("{}:3480", network.host(0).address());
    let world = World::new(&network, &home, &["--relay", &relay]);
    let lobby = world.lobby();
    let on = |place: usize| {
        let mut command = network.host(place).command(&program);
        command.env(ANYWHERE.0, ANYWHERE.1);
        command
    };
    let host = start(on(1), &["open", &lobby]);
    let other = start(on(2), &["enter", host.session(), &lobby]);
    for (player, place, nat) in [(&host, 1, "3"), (&other, 2, "2")] {
        let words = player.until("it knows its router, and that it is carried", |words| {
            stands(words, (host.id(), "1", "2")) && (told(words, "nat"), told(words, "relayed")) == (nat, "1")
        });
        let router = network.host(place).address().to_string();
        assert_eq!(told(&words, "seen").split(':').next(), Some(router.as_str()), "{words:?}");
    }
}
