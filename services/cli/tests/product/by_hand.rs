//! What an operator does at the command line (issue 2, section 10).

use crate::allocations::fleet_of;
use crate::caller::new_id;
use crate::game::{Game, Idle};
use crate::product::{Home, lives, until};

#[test]
fn a_server_is_stopped_started_and_restarted_by_hand_and_its_output_is_read() {
    let (home, game) = (Home::new(), Game::new(Idle::Running, ""));
    let up = home.up(&[game.file()]);
    let server = up.servers()[0]["id"].to_string();
    let first = up.pid_when(&server, "ONLINE");
    up.json(&["server", "stop", &server]);
    until("stopped", || (up.server(&server)["status"] == "AVAILABLE").then_some(()));
    assert!(!lives(first), "{first} still lives");
    up.json(&["server", "start", &server]);
    let second = up.pid_when(&server, "ONLINE");
    up.json(&["server", "restart", &server]);
    until("another process", || (up.pid_when(&server, "ONLINE") != second).then_some(()));
    // The new process may be about to say more.
    until("both forms tell the same lines", || {
        let logs = up.run(&["server", "logs", &server]);
        assert!(logs.status.success() && !logs.stdout.is_empty(), "{logs:?}");
        // An attacker's finding: `-o json` printed text.
        let told: serde_json::Value = serde_json::from_slice(&logs.stdout).unwrap();
        let lines = told["lines"].as_array().unwrap();
        assert!(!lines.is_empty() && lines.iter().all(|line| line["stream"].is_string()), "{told}");
        let table = home.command(&["server", "logs", &server]).output().unwrap();
        (String::from_utf8_lossy(&table.stdout).lines().count() == lines.len()).then_some(())
    });
}

/// Seed 002: "If the intention is to manually Stop a currently Allocated server this will not work, instead you should
/// send a Deallocation request." Exit code 5: the state of things forbids it.
#[test]
fn an_allocated_server_is_not_stopped_by_hand() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let made = up.json(&["allocation", "create", "--fleet", "tugboat"]);
    let (id, server) = (made["allocationId"].as_str().unwrap(), made["serverId"].to_string());
    let pid = up.pid_when(&server, "ALLOCATED");
    let refused = up.run(&["server", "stop", &server]);
    assert_eq!(refused.status.code(), Some(5), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains(concat!("MS-", "S003")) && said.contains("allocation delete"), "{said}");
    assert!(lives(pid));
    assert!(up.run(&["allocation", "delete", id]).status.success());
    assert_eq!(up.pid_when(&server, "ONLINE"), pid, "deallocation does not stop the process");
}

/// Seed 001/002, signals: a game that ignores SIGTERM is killed after its time, and what it left behind goes with it.
#[test]
fn a_game_that_ignores_sigterm_is_killed_with_its_grandchildren() {
    let (home, game) =
        (Home::new(), Game::new(Idle::Running, "--fault ignore-sigterm --fault fork-grandchild"));
    let up = home.up(&[game.file()]);
    let server = up.servers()[0]["id"].to_string();
    let pid = up.pid_when(&server, "ONLINE");
    let of_the_game = |pid: i32| {
        let session =
            |pid: i32| procfs::process::Process::new(pid).and_then(|it| it.stat()).map(|it| it.session);
        let wanted = session(pid).unwrap();
        procfs::process::all_processes()
            .unwrap()
            .filter_map(Result::ok)
            .filter(|other| session(other.pid).is_ok_and(|session| session == wanted))
            .map(|other| other.pid)
            .collect::<Vec<i32>>()
    };
    let family = until("the grandchild", || Some(of_the_game(pid)).filter(|family| family.len() > 1));
    up.json(&["server", "stop", &server]);
    until("stopped", || (up.server(&server)["status"] == "AVAILABLE").then_some(()));
    until("the family is gone", || family.iter().all(|pid| !lives(*pid)).then_some(()));
}

#[test]
fn every_noun_is_listed_and_shown_and_unknown_ids_have_an_exit_code() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let id = new_id();
    up.caller().allocate(&fleet_of(&up), &id);
    for noun in ["fleet", "machine", "server", "allocation"] {
        let list = up.json(&[noun, "list"]);
        let first = &list[0];
        let id = first.get("allocationId").filter(|_| noun == "allocation").unwrap_or(&first["id"]);
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let one = up.json(&[noun, "get", &id]);
        assert_eq!(one.get("id"), first.get("id"), "{noun}");
        let table = home.command(&[noun, "list"]).output().unwrap();
        assert!(
            table.status.success() && String::from_utf8_lossy(&table.stdout).lines().count() > 1,
            "{table:?}"
        );
        let unknown = up.run(&[noun, "get", "00000000-0000-4000-8000-000000000000"]);
        assert_eq!(unknown.status.code(), Some(3), "{noun}: {unknown:?}");
    }
    assert_eq!(up.json(&["status"])["connectedMachines"], 1);
    let nowhere = Home::new().command(&["status"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(7), "{nowhere:?}");
}
