//! Games that misbehave (seed 001), under a whole `mainstay up`: found by its checks, ended with SIGSEGV, and treated by the
//! check that failed.

use std::path::PathBuf;

use mainstay_query::Protocol;
use serde_json::Value;

use crate::allocations::fleet_of;
use crate::caller::new_id;
use crate::game::{Game, Idle, Settings};
use crate::product::{Home, Product, until};
use crate::query::ask;

/// Checks at their fastest, and the first failure counts; CPU is not what these games eat too much of.
const FAST: &str = "checks: { every: 100ms, failures: 1, within: 1m, cpuTolerance: 1000% }";

/// By its number on every Linux.
const SIGSEGV: i32 = 11;

/// How the server's last process ended, once it is one of this kind.
#[track_caller]
fn incident(up: &Product<'_>, server: &str) -> Value {
    until("an incident", || {
        let seen = up.server(server)["lastIncident"].clone();
        (seen["kind"] == "misbehaviour").then_some(seen)
    })
}

/// The evidence of an incident, on this machine.
fn evidence(home: &Home, server: &str, incident: &Value) -> PathBuf {
    let slots = home.path().join("agent/slots");
    slots.join(server).join("evidence").join(incident["run"].to_string())
}

/// Seed 001: "If Multiplay Hosting detects that a build executable process is misbehaving, it sends the process a SIGSEGV
/// signal"; "If the game server has an allocation UUID, Multiplay Hosting won't restart the game server process. Instead, the
/// game server remains stopped until it receives a new allocation."
#[test]
fn a_hung_game_is_ended_and_stays_down_until_a_new_allocation() {
    let settings = Settings { configuration: &[FAST], fleet: &[] };
    let (home, game) = (Home::new(), Game::with(Idle::Running, "", settings));
    let up = home.up(&[game.file()]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    assert!((200..300).contains(&caller.allocate(&fleet, &id).status));
    let server = caller.fulfilled(&fleet, &id)["serverId"].to_string();
    up.pid_when(&server, "ALLOCATED");
    game.command(&up.server(&server), "hang");

    let told = incident(&up, &server);
    assert_eq!(told["check"], "query", "{told}");
    assert_eq!(told["allocationId"], id.as_str());
    until("its end by SIGSEGV", || (up.server(&server)["lastIncident"]["signal"] == SIGSEGV).then_some(()));
    let stays_down = until("a server that is not restarted", || {
        let seen = up.server(&server);
        (seen["process"] == "preRecovery").then_some(seen)
    });
    assert!(stays_down["pid"].is_null() && stays_down["allocationId"].is_null(), "{stays_down}");
    let kept = evidence(&home, &server, &told);
    let file = until("the evidence", || std::fs::read(kept.join("incident.json")).ok());
    assert_eq!(serde_json::from_slice::<Value>(&file).unwrap()["check"], "query");

    let next = new_id();
    assert!((200..300).contains(&caller.allocate(&fleet, &next).status));
    assert_eq!(caller.fulfilled(&fleet, &next)["serverId"].to_string(), server);
    let port = u16::try_from(up.server(&server)["queryPort"].as_u64().unwrap()).unwrap();
    until("the new session's process answers", || ask(&Protocol::Sqp, port));
}

/// Seed 001: "Within the expected memory usage limits (with a 200 megabyte tolerance)"; "it attempts to recover the game
/// session by restarting it with the same allocation ID".
#[test]
fn a_game_that_eats_memory_is_ended_and_comes_back_under_its_allocation() {
    // While it eats, it answers nobody.
    let settings = Settings {
        configuration: &[FAST, "limits: { memoryMiB: 64 }", "query: { timeout: 1m }"],
        fleet: &[],
    };
    let (home, game) = (Home::new(), Game::with(Idle::Running, "", settings));
    let up = home.up(&[game.file()]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    assert!((200..300).contains(&caller.allocate(&fleet, &id).status));
    let server = caller.fulfilled(&fleet, &id)["serverId"].to_string();
    let before = up.pid_when(&server, "ALLOCATED");
    game.command(&up.server(&server), "eat-memory=300M");

    let told = incident(&up, &server);
    assert_eq!(told["check"], "memory", "{told}");
    let after = until("another process for the same allocation", || {
        let pid = up.pid_when(&server, "ALLOCATED");
        (pid != before).then_some(pid)
    });
    assert_ne!(after, before);
    assert_eq!(up.server(&server)["allocationId"], id.as_str());
}
