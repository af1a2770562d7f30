//! What a game asks of its host, from a real game through the local daemon and the agent's stream to the control plane,
//! and back: holds (seed 003), reservations, ready and payload.

use serde_json::Value;

use crate::allocations::fleet_of;
use crate::caller::new_id;
use crate::game::{Game, Idle, Settings};
use crate::product::{Home, Product, until};

/// The newest line of the game's output that has this text.
#[track_caller]
fn line(up: &Product<'_>, server: &Value, text: &str) -> String {
    until(&format!("{text:?} in the game's output"), || {
        up.output_of(server).lines().rfind(|line| line.contains(text)).map(str::to_owned)
    })
}

/// How often this text is in the game's output.
fn count(up: &Product<'_>, server: &Value, text: &str) -> usize {
    up.output_of(server).lines().filter(|line| line.contains(text)).count()
}

#[track_caller]
fn status(up: &Product<'_>, server: &Value, status: &str) -> Value {
    until(&format!("status {status}"), || {
        Some(up.server(&server["id"].to_string())).filter(|seen| seen["status"] == status)
    })
}

/// Seed 003: "A server hold can be created, viewed and removed by executing the relevant endpoint on the Local Proxy"; "the
/// server in question transitions into the HELD state"; allocating expires it, and "the platform does not move the server
/// back into the HELD state". On the way: `localProxyUrl has no trailing slash`.
#[test]
fn a_game_holds_its_server_and_the_control_plane_knows() {
    let (home, game) = (Home::new(), Game::new(Idle::Running, ""));
    let up = home.up(&[game.file()]);
    let server = up.servers()[0].clone();
    up.pid_when(&server["id"].to_string(), "ONLINE");

    // `localProxyUrl has no trailing slash`: the Go SDK would ask for `//v1/…` and not start.
    let told =
        std::fs::read(home.path().join(format!("agent/slots/{}/home/server.json", server["id"]))).unwrap();
    let told: Value = serde_json::from_slice(&told).unwrap();
    let url = told["localProxyUrl"].as_str().unwrap();
    assert!(url.starts_with("http://127.0.0.1:") && !url.ends_with('/'), "{told}");
    assert_eq!(url, up.file("ports.json")["multiplay"]);

    game.command(&server, "held");
    line(&up, &server, "asked held: none");
    game.command(&server, "hold=10m");
    line(&up, &server, "asked hold: until=");
    status(&up, &server, "HELD");
    game.command(&server, "release");
    line(&up, &server, "asked release: done");
    status(&up, &server, "ONLINE");

    game.command(&server, "keep-held=10m");
    status(&up, &server, "HELD");
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    assert!((200..300).contains(&caller.allocate(&fleet, &id).status));
    status(&up, &server, "ALLOCATED");
    line(&up, &server, &format!("allocation id={id}"));
    game.command(&server, "hold=10m");
    let refused = line(&up, &server, "asked hold: no: ");
    assert!(refused.contains("409"), "{refused}");
    assert_eq!(caller.delete(&format!("{}/{id}", caller.allocations(&fleet.id))).status, 204);
    status(&up, &server, "ONLINE");
    game.command(&server, "held");
    until("no hold came back", || (count(&up, &server, "asked held: none") == 2).then_some(()));
}

/// Seed 003: "The server hold period is periodically checked by the server and refreshed if necessary"; "the server must
/// create a new hold" once a session is over; "The server hold is removed if the capacity is no longer required". All three
/// are the SDK's, on its own thread.
#[test]
fn the_sdk_refreshes_a_hold_makes_it_anew_and_ends_it() {
    let (home, game) = (Home::new(), Game::new(Idle::Running, ""));
    let up = home.up(&[game.file()]);
    let server = up.servers()[0].clone();
    up.pid_when(&server["id"].to_string(), "ONLINE");
    game.command(&server, "keep-held=9s");
    let first = status(&up, &server, "HELD")["heldUntil"].clone();
    let later = until("the hold was refreshed before it ended", || {
        let seen = up.server(&server["id"].to_string());
        (seen["status"] == "HELD" && seen["heldUntil"] != first).then_some(seen)
    });
    assert!(instant(&later["heldUntil"]) > instant(&first), "{later} after {first}");

    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    assert!((200..300).contains(&caller.allocate(&fleet, &id).status));
    status(&up, &server, "ALLOCATED");
    until("a check that finds a session", || {
        up.output_of(&server)
            .lines()
            .any(|line| line.contains("keep-held: no:") && line.contains("409"))
            .then_some(())
    });
    assert_eq!(caller.delete(&format!("{}/{id}", caller.allocations(&fleet.id))).status, 204);
    status(&up, &server, "HELD");

    game.command(&server, "release");
    status(&up, &server, "ONLINE");
    let checks = count(&up, &server, "asked keep-held: none");
    until("another check, which holds nothing", || {
        (count(&up, &server, "asked keep-held: none") > checks).then_some(())
    });
    assert_eq!(up.server(&server["id"].to_string())["status"], "ONLINE");
}

fn instant(shown: &Value) -> jiff::Timestamp {
    shown.as_str().unwrap().parse().unwrap()
}

/// Seed 003, of real processes: "The server exits itself with any return code" leaves the hold, and the next process reads,
/// refreshes and releases it; a manual stop, a manual restart, another build configuration and the timeout end one.
#[test]
fn a_hold_outlives_its_process_and_ends_as_the_seed_says() {
    let (home, game) = (Home::new(), Game::new(Idle::Running, ""));
    let file = std::fs::read_to_string(game.file()).unwrap();
    let (before, rest) = file.split_once("  plain:\n").unwrap();
    let (plain, fleets) = rest.split_once("fleets:\n").unwrap();
    let fleets = fleets.replace("[plain]", "[plain, other]");
    let both = format!("{before}  plain:\n{plain}  other:\n{plain}fleets:\n{fleets}");
    std::fs::write(game.file(), both).unwrap();
    let up = home.up(&[game.file()]);
    let server = up.servers()[0].clone();
    let id = server["id"].to_string();
    let held = || {
        game.command(&server, "hold=10m");
        status(&up, &server, "HELD");
    };
    let next = |before: i32, shown: &str| {
        until(&format!("another process, {shown}"), || {
            let pid = up.pid_when(&id, shown);
            (pid != before).then_some(pid)
        })
    };
    let unheld = |shown: &str| {
        let seen = status(&up, &server, shown);
        assert!(seen["heldUntil"].is_null(), "{seen}");
    };

    let first = up.pid_when(&id, "ONLINE");
    held();
    let until_then = up.server(&id)["heldUntil"].clone();
    game.command(&server, "exit0");
    let second = next(first, "HELD");
    assert_eq!(up.server(&id)["heldUntil"], until_then, "an exit of its own changes nothing");
    game.command(&server, "held");
    line(&up, &server, "asked held: until=");
    game.command(&server, "hold=20m");
    until("the next process refreshed it", || (up.server(&id)["heldUntil"] != until_then).then_some(()));
    game.command(&server, "exit=3");
    let third = next(second, "HELD");
    game.command(&server, "release");
    unheld("ONLINE");

    held();
    up.json(&["server", "stop", &id]);
    unheld("AVAILABLE");
    up.json(&["server", "start", &id]);
    let fourth = next(third, "ONLINE");
    unheld("ONLINE");

    held();
    up.json(&["server", "restart", &id]);
    let fifth = next(fourth, "ONLINE");
    unheld("ONLINE");

    held();
    up.json(&["server", "configure", &id, "other"]);
    next(fifth, "ONLINE");
    unheld("ONLINE");
    assert_eq!(up.server(&id)["buildConfigurationName"], "other");

    let holds = count(&up, &server, "asked hold: until=");
    game.command(&server, "hold=2s");
    until("it was held", || (count(&up, &server, "asked hold: until=") > holds).then_some(()));
    unheld("ONLINE");
}

/// The control plane is away and comes back: a hold outlives it, and so does the game's line to its host.
#[test]
fn a_hold_outlives_the_control_plane() {
    let (home, game) = (Home::new(), Game::new(Idle::Running, ""));
    let up = home.up(&[game.file()]);
    let server = up.servers()[0].clone();
    up.pid_when(&server["id"].to_string(), "ONLINE");
    game.command(&server, "hold=10m");
    status(&up, &server, "HELD");
    up.kill_nine();
    let up = home.up(&[game.file()]);
    assert_eq!(status(&up, &server, "HELD")["id"], server["id"]);
}

/// What the caller sent reaches the game, and the game's word that players may come is the allocation's `ready`.
#[test]
fn a_game_reads_its_payload_and_says_that_it_is_ready() {
    let (home, game) = (Home::new(), Game::new(Idle::Running, "--ready"));
    let up = home.up(&[game.file()]);
    let server = up.servers()[0].clone();
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    let body = serde_json::json!({
        "allocationId": id, "buildConfigurationId": fleet.configuration, "regionId": fleet.region,
        "payload": "map=harbour \"1\"",
    });
    let answer = caller.post(&caller.allocations(&fleet.id), body.to_string().as_bytes());
    assert!((200..300).contains(&answer.status), "{answer:?}");
    line(&up, &server, &format!("allocation id={id}"));
    line(&up, &server, "asked ready: done");
    game.command(&server, "payload");
    line(&up, &server, r#"asked payload: "map=harbour \"1\"""#);
    game.command(&server, "unready");
    line(&up, &server, "asked unready: done");
}

/// Reference 1.1: with `readiness` on, an allocation that is fulfilled is not ready before its game says so; then the stock
/// adapter takes it. Its unready takes it back.
#[test]
fn an_allocation_with_readiness_on_waits_for_its_games_word() {
    let settings = Settings { configuration: &["readiness: true"], fleet: &[] };
    let (home, game) = (Home::new(), Game::with(Idle::Running, "", settings));
    let up = home.up(&[game.file()]);
    let server = up.servers()[0].clone();
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    let answer = caller.allocate(&fleet, &id);
    assert!((200..300).contains(&answer.status), "{answer:?}");
    let shown = |what: &str, is: &dyn Fn(&Value) -> bool| {
        until(what, || Some(caller.allocation(&fleet, &id).json()).filter(is))
    };
    let playing = shown("it is fulfilled", &|it| it.get("fulfilled").is_some());
    assert_eq!((&playing["readiness"], playing.get("ready")), (&Value::Bool(true), None), "{playing}");
    line(&up, &server, &format!("allocation id={id}"));
    game.command(&server, "ready");
    line(&up, &server, "asked ready: done");
    let ready = caller.fulfilled(&fleet, &id);
    assert!(ready["ready"].is_string(), "{ready}");
    let native = up.json(&["allocation", "get", &id]);
    assert_eq!((&native["readiness"], &native["ready"]), (&ready["readiness"], &ready["ready"]));
    game.command(&server, "unready");
    shown("it is ready no longer", &|it| it.get("ready").is_none());
}

/// Only a fleet whose servers reserve themselves lets them: elsewhere it is refused with the reason.
#[test]
fn a_game_of_an_allocation_fleet_does_not_reserve_itself() {
    let (home, game) = (Home::new(), Game::new(Idle::Running, ""));
    let up = home.up(&[game.file()]);
    let server = up.servers()[0].clone();
    up.pid_when(&server["id"].to_string(), "ONLINE");
    game.command(&server, "reserve");
    let refused = line(&up, &server, "asked reserve: no: ");
    assert!(refused.contains("403"), "{refused}");
}

/// Seed 003: a server is "in a RESERVED state" by its own word, and "If the server that is in the HELD state is … reserved
/// then the server hold is expired"; given back, it is ONLINE and not held.
#[test]
fn a_game_of_a_reservation_fleet_reserves_itself_and_gives_itself_back() {
    let settings = Settings { configuration: &[], fleet: &["allocationType: RESERVATION"] };
    let (home, game) = (Home::new(), Game::with(Idle::Running, "", settings));
    let up = home.up(&[game.file()]);
    let server = up.servers()[0].clone();
    up.pid_when(&server["id"].to_string(), "ONLINE");
    game.command(&server, "hold=10m");
    status(&up, &server, "HELD");
    game.command(&server, "reserve");
    let said = line(&up, &server, "asked reserve: reservation=");
    let reserved = status(&up, &server, "RESERVED");
    let reservation = reserved["reservationId"].as_str().unwrap();
    assert!(said.ends_with(reservation), "{said} {reserved}");
    game.command(&server, "hold=10m");
    line(&up, &server, "asked hold: no: ");
    let refused = up.caller().allocate(&fleet_of(&up), &new_id());
    assert_eq!(refused.status, 409, "nobody allocates in a reservation fleet: {refused:?}");
    game.command(&server, "unreserve");
    line(&up, &server, "asked unreserve: done");
    status(&up, &server, "ONLINE");
}
