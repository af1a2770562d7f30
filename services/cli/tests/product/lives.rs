//! Processes die, and what then happens: of one server, and of `mainstay up` itself.

use mainstay_query::Protocol;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::allocations::fleet_of;
use crate::caller::{Caller, new_id};
use crate::game::{Game, Idle, Settings};
use crate::operating::admin;
use crate::product::{Home, lives, until};
use crate::query::ask;

/// The headline: kill the process of an allocated server, and it comes back under the same allocation.
/// "The build executable process crashed. In this case, Game Server Hosting detects the crash and automatically
/// restarts the build executable." (seed 002)
#[test]
fn a_killed_server_comes_back_under_the_same_allocation() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    caller.allocate(&fleet, &id);
    let server = caller.fulfilled(&fleet, &id)["serverId"].to_string();
    let before = up.pid_when(&server, "ALLOCATED");
    kill(Pid::from_raw(before), Signal::SIGKILL).unwrap();
    let after = until("another process for the same allocation", || {
        let pid = up.pid_when(&server, "ALLOCATED");
        (pid != before).then_some(pid)
    });
    assert!(lives(after));
    assert_eq!(up.server(&server)["allocationId"], id.as_str());
    let seen = caller.fulfilled(&fleet, &id);
    assert_eq!(seen["serverId"].to_string(), server);
    let port = u16::try_from(up.server(&server)["queryPort"].as_u64().unwrap()).unwrap();
    until("the new process answers its query", || ask(&Protocol::Sqp, port));
}

/// Issue 3, section 3: "Allocation TTL … by default the idle one, … judged by queried players". Of a game that runs and
/// says the same as ever there is no new word after its allocation: here it is asked once an hour.
#[test]
fn a_quiet_servers_allocation_ends_when_it_has_idled() {
    let settings = Settings {
        configuration: &["checks: { every: 1h, failures: 1, within: 24h }"],
        fleet: &["allocationTTL: 1s"],
    };
    let (home, game) = (Home::new(), Game::with(Idle::Running, "", settings));
    let up = home.up(&[game.file()]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    let server = until("a running server that has been asked", || {
        let seen = up.servers().into_iter().next()?;
        (seen["reading"]["players"] == 0).then(|| seen["id"].to_string())
    });
    let pid = up.pid_when(&server, "ONLINE");
    caller.allocate(&fleet, &id);
    assert_eq!(caller.fulfilled(&fleet, &id)["serverId"].to_string(), server);
    until("the end of its allocation", || up.server(&server)["allocationId"].is_null().then_some(()));
    assert_eq!(up.pid_when(&server, "ONLINE"), pid, "its process runs on");
}

/// Issue 2, section 7: `up` can be killed with SIGKILL and restarted; servers go on, nothing is started twice.
#[test]
fn servers_outlive_a_killed_up_and_the_next_one_adopts_them() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    caller.allocate(&fleet, &id);
    let server = caller.fulfilled(&fleet, &id)["serverId"].to_string();
    up.pid_when(&server, "ALLOCATED");
    let before = until("all servers run", || {
        let servers = up.servers();
        servers.iter().all(|one| one["pid"].is_i64()).then(|| pids(&servers))
    });
    up.kill_nine();
    assert!(before.iter().all(|(_, pid)| lives(i32::try_from(*pid).unwrap())), "servers go on without `up`");
    let up = home.up(&["--demo"]);
    let after = until("all servers are seen again", || {
        let servers = up.servers();
        servers.iter().all(|one| one["pid"].is_i64()).then(|| pids(&servers))
    });
    assert_eq!(after, before, "the same processes, each once");
    assert_eq!(up.server(&server)["allocationId"], id.as_str());
    assert_eq!(up.caller().fulfilled(&fleet, &id)["serverId"].to_string(), server);
}

/// What was changed by calls, and acknowledged, outlives `up`: a start with the files of the last one asks for nothing new, and
/// one whose files differ by a byte is taken whole.
#[test]
fn a_restart_with_the_same_file_undoes_no_edit_and_no_hold_and_another_file_is_taken() {
    let (home, game) = (Home::new(), Game::new(Idle::Running, ""));
    let up = home.up(&[game.file()]);
    let caller = up.caller();
    let first = up.servers()[0]["id"].to_string();
    let before = up.pid_when(&first, "ONLINE");
    let put = |place: &str, body: &Value| {
        let answer = caller.put(place, body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    let configurations = admin(&caller, "build-configurations", "/build-configurations");
    let mut edited = caller.get(&configurations).json()[0].clone();
    let configuration = format!("{configurations}/{}", edited["id"]);
    edited = caller.get(&configuration).json();
    edited["memory"] = json!(555);
    assert_eq!(put(&configuration, &edited)["version"], 2);
    let fleet = up.json(&["fleet", "list"])[0].clone();
    let place = format!("/fleets/{}", fleet["id"].as_str().unwrap());
    let place = admin(&caller, "fleets", &place);
    let region = format!("{place}/regions/{}", fleet["regions"][0]["id"].as_str().unwrap());
    put(&region, &json!({ "scalingEnabled": true, "minAvailableServers": 1, "maxServers": 7 }));
    let edits = |caller: &Caller| {
        let most = caller.get(&place).json()["fleetRegions"][0]["maxServers"].clone();
        let seen = caller.get(&configuration).json();
        (seen["version"].clone(), seen["memory"].clone(), most)
    };
    let edited = (json!(2), json!(555), json!(7));
    assert_eq!(edits(&caller), edited);

    // The edit restarts the idle server; then its game holds it.
    let edited_one = until("the server runs as edited", || {
        let seen = up.server(&first);
        let other = seen["pid"].is_i64() && seen["pid"] != before;
        (other && seen["status"] == "ONLINE" && seen["process"] == "online").then_some(seen)
    });
    game.command(&edited_one, "hold=10m");
    let held =
        until("the server is held", || Some(up.server(&first)).filter(|seen| seen["status"] == "HELD"));
    up.kill_nine();
    let up = home.up(&[game.file()]);
    let after = until("the server is seen again", || {
        let seen = up.server(&first);
        seen["pid"].is_i64().then_some(seen)
    });
    assert_eq!((&after["status"], &after["pid"]), (&held["status"], &held["pid"]), "{after}");
    assert_eq!(edits(&up.caller()), edited);
    up.kill_nine();

    let text = std::fs::read_to_string(game.file()).unwrap();
    std::fs::write(game.file(), text + "\n").unwrap();
    let up = home.up(&[game.file()]);
    let (version, memory, most) = edits(&up.caller());
    assert_eq!((version, most), (json!(3), json!(1)));
    assert_ne!(memory, edited.1);
}

fn pids(servers: &[serde_json::Value]) -> Vec<(String, i64)> {
    let mut pids: Vec<(String, i64)> =
        servers.iter().map(|one| (one["id"].to_string(), one["pid"].as_i64().unwrap())).collect();
    pids.sort();
    pids
}

/// Seed 002: "When Game Server Hosting detects that a build executable exits intentionally, it automatically deallocates
/// the server slot"; and, start on provision enabled, "automatically restarts the server".
#[test]
fn an_exit_with_0_deallocates_and_start_on_provision_starts_it_again_idle() {
    let (home, game) = (Home::new(), Game::new(Idle::Running, ""));
    let up = home.up(&[game.file()]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    caller.allocate(&fleet, &id);
    let server = caller.fulfilled(&fleet, &id)["serverId"].to_string();
    let before = up.pid_when(&server, "ALLOCATED");
    game.command(&up.server(&server), "exit0");
    let after = until("an idle process in its place", || {
        let seen = up.server(&server);
        let pid = seen["pid"].as_i64().filter(|_| seen["status"] == "ONLINE")?;
        (pid != i64::from(before)).then_some(seen)
    });
    assert!(after["allocationId"].is_null(), "{after}");
    // What has ended stays readable, and its id never plays again.
    assert_eq!(caller.allocation(&fleet, &id).status, 200);
}

/// Seed 002, single-session allocations: the server starts when it is allocated, and after exit 0 the slot is idle.
#[test]
fn without_start_on_provision_a_server_starts_when_allocated_and_is_idle_after_its_exit() {
    let (home, game) = (Home::new(), Game::new(Idle::Stopped, ""));
    let up = home.up(&[game.file()]);
    let (caller, fleet) = (up.caller(), fleet_of(&up));
    assert!(up.servers().iter().all(|one| one["status"] == "AVAILABLE" && one["pid"].is_null()));
    for _session in 0..2 {
        let id = new_id();
        caller.allocate(&fleet, &id);
        let server = caller.fulfilled(&fleet, &id)["serverId"].to_string();
        let pid = up.pid_when(&server, "ALLOCATED");
        game.command(&up.server(&server), "exit0");
        until("the slot is idle", || (up.server(&server)["status"] == "AVAILABLE").then_some(()));
        assert!(!lives(pid), "{pid} still lives");
    }
}

/// Seed 001, crash back-off: one restart within the window, then no more, until a new allocation.
#[test]
fn a_server_that_crashes_again_backs_off_until_a_new_allocation() {
    let (home, game) = (Home::new(), Game::new(Idle::Stopped, ""));
    let up = home.up(&[game.file()]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    caller.allocate(&fleet, &id);
    let server = caller.fulfilled(&fleet, &id)["serverId"].to_string();
    let first = up.pid_when(&server, "ALLOCATED");
    game.command(&up.server(&server), "crash");
    let second = until("the one restart", || {
        let pid = up.pid_when(&server, "ALLOCATED");
        (pid != first).then_some(pid)
    });
    game.command(&up.server(&server), "crash");
    let backed_off = until("backed off", || {
        let seen = up.server(&server);
        (seen["process"] == "backedOff").then_some(seen)
    });
    assert!(backed_off["pid"].is_null() && backed_off["allocationId"].is_null(), "{backed_off}");
    assert!(!lives(second));
    let next = new_id();
    caller.allocate(&fleet, &next);
    assert_eq!(caller.fulfilled(&fleet, &next)["serverId"].to_string(), server, "its only slot starts again");
}
