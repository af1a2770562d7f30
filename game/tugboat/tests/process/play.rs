//! Playing, being asked, being told: a server that behaves.

use std::fs;
use std::time::Duration;

use mainstay_tugboat::client::{Client, ClientError, look};
use mainstay_tugboat::message::Reason;
use mainstay_tugboat::world::Helm;
use nix::sys::signal::Signal;

use crate::server::{PATIENCE, Server, probe, until};

const AHEAD: Helm = Helm { throttle: 127, rudder: 20 };

#[test]
fn boats_sail_and_everyone_sees_the_same() {
    let mut server = Server::start(&["--port", "0"]);
    let game = server.game();
    let mut ann = Client::join(game, "ann", PATIENCE).unwrap();
    let mut bob = Client::join(game, "bob", PATIENCE).unwrap();
    assert_ne!(ann.boat(), bob.boat());
    ann.steer_until_taken(AHEAD, PATIENCE).unwrap();
    bob.steer_until_taken(Helm::default(), PATIENCE).unwrap();

    let begun = ann.state(PATIENCE).unwrap().world;
    let seen = until("ann's boat to have sailed", || {
        let seen = ann.steer_until_taken(AHEAD, PATIENCE).unwrap().world;
        bob.steer(Helm::default()).unwrap();
        let (before, after) = (&begun.boats()[&ann.boat()], &seen.boats()[&ann.boat()]);
        (before.at != after.at && after.speed == 127).then_some(seen)
    });
    assert_eq!(seen.boats()[&bob.boat()].at, begun.boats()[&bob.boat()].at, "bob lies still");

    let same_tick = until("a tick that both have seen", || {
        let one = ann.state(PATIENCE).unwrap();
        let mut other = bob.state(PATIENCE).unwrap();
        while other.world.tick() < one.world.tick() {
            other = bob.state(PATIENCE).unwrap();
        }
        (one.world.tick() == other.world.tick()).then_some((one, other))
    });
    assert_eq!(same_tick.0.hash, same_tick.1.hash);
    assert_eq!(same_tick.0.world, same_tick.1.world);
}

#[test]
fn a_seen_world_goes_on_as_the_servers_does() {
    let mut server = Server::start(&["--port", "0"]);
    let mut ann = Client::join(server.game(), "ann", PATIENCE).unwrap();
    let mut ours = ann.steer_until_taken(AHEAD, PATIENCE).unwrap().world;
    let theirs = until("a later tick", || {
        let theirs = ann.state(PATIENCE).unwrap().world;
        (theirs.tick() >= ours.tick() + 10).then_some(theirs)
    });
    while ours.tick() < theirs.tick() {
        ours.step(&[]);
    }
    assert_eq!(ours, theirs, "nothing but the last helm moves the world");
}

#[test]
fn queries_count_players_as_they_come_and_go() {
    for protocol in ["sqp", "a2s"] {
        let mut server =
            Server::start(&["--port", "0", "--query", protocol, "--name", "harbour 7", "--max-players", "2"]);
        let (game, query) = (server.game(), server.query());
        let players = |expected: u32| {
            until(&format!("{expected} players by {protocol}"), || {
                let answer = probe(protocol, query)?;
                assert_eq!(answer.max_players, Some(2));
                assert_eq!(answer.name.as_deref(), Some("harbour 7"));
                assert_eq!(answer.map.as_deref(), Some("harbour"));
                (answer.players == Some(expected)).then_some(())
            });
        };
        players(0);
        let ann = Client::join(game, "ann", PATIENCE).unwrap();
        players(1);
        let _bob = Client::join(game, "bob", PATIENCE).unwrap();
        players(2);
        let full = Client::join(game, "eve", PATIENCE);
        assert!(matches!(full, Err(ClientError::Refused(Reason::Full))));
        ann.leave().unwrap();
        players(1);
        players(0); // Bob says nothing more, and is dropped for it.
        assert!(server.log().contains("silent"), "{}", server.log());
    }
}

#[test]
fn the_allocation_is_followed_through_server_json() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("server.json");
    fs::write(&file, r#"{"allocatedUUID":"","port":"0","queryPort":"0","queryType":"a2s"}"#).unwrap();
    let mut server = Server::start_in(home, &[]);
    let (game, query) = (server.game(), server.query());
    assert!(probe("a2s", query).is_some(), "the query type of server.json");
    assert_eq!(look(game, PATIENCE).unwrap().allocation, None);

    let id = "7a1e6f0a-53c6-4d1e-9d35-0d6c3e0f8a11";
    fs::write(&file, format!(r#"{{"allocatedUUID":"{id}"}}"#)).unwrap();
    server.line(&format!("allocation id={id}"));
    assert_eq!(look(game, PATIENCE).unwrap().allocation.as_deref(), Some(id));

    fs::write(&file, r#"{"allocatedUUID":""}"#).unwrap();
    until("the end of the allocation", || look(game, PATIENCE).unwrap().allocation.is_none().then_some(()));
}

#[test]
fn signals_end_it_with_code_0() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut server = Server::start(&["--port", "0", "--query", "none"]);
        server.line("ready");
        server.signal(signal);
        assert_eq!(server.ended().code(), Some(0));
        assert!(server.log().contains(&format!("stopped by {signal}")));
    }
}

/// "Everything listens dual-stack" (issue 3, section 4).
#[test]
fn it_is_played_over_ipv4_and_ipv6() {
    let mut server = Server::start_everywhere(&["--port", "0"]);
    let port = server.game().port();
    let has_ipv6 = std::net::UdpSocket::bind((std::net::Ipv6Addr::LOCALHOST, 0)).is_ok();
    let addresses = ["127.0.0.1", "::1"];
    for address in &addresses[..if has_ipv6 { 2 } else { 1 }] {
        let game = std::net::SocketAddr::new(address.parse().unwrap(), port);
        look(game, PATIENCE).unwrap_or_else(|error| panic!("{game}: {error}"));
        Client::join(game, "ann", PATIENCE).unwrap().leave().unwrap();
    }
}

#[test]
fn a_taken_port_is_said() {
    let mut first = Server::start(&["--port", "0"]);
    let port = first.game().port().to_string();
    let mut second = Server::start(&["--port", &port]);
    assert_eq!(second.ended().code(), Some(1));
    let said = second.stderr();
    assert!(said.contains(&format!("failed to bind the game port, UDP 127.0.0.1:{port}")), "{said}");
    assert!(said.contains("MS-S211"), "{said}");
}

#[test]
fn wrong_arguments_are_code_2() {
    let mut server = Server::start(&["--fault", "nonsense"]);
    assert_eq!(server.ended().code(), Some(2));
    let said = server.stderr();
    assert!(said.contains("`nonsense` is no fault"), "{said}");
}

#[test]
fn nobody_playing_costs_next_to_nothing() {
    let mut server = Server::start(&["--port", "0"]);
    let game = server.game();
    let ann = Client::join(game, "ann", PATIENCE).unwrap();
    ann.leave().unwrap();
    server.line("left boat=1");
    // Ticks are counted, not time: a busy machine makes fewer of them, never more.
    let begun = look(game, PATIENCE).unwrap().world.tick();
    let start = std::time::Instant::now();
    let ended = until("three idle ticks", || {
        std::thread::sleep(Duration::from_millis(100));
        let tick = look(game, PATIENCE).unwrap().world.tick();
        (tick >= begun + 3).then_some(tick)
    });
    let seconds = u32::try_from(start.elapsed().as_secs()).unwrap();
    assert!(ended - begun <= seconds + 2, "{} ticks in {seconds} s", ended - begun);
}
