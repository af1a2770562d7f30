//! `mainstay doctor` on a live instance, on what it left behind, and with something really broken (issue 3, point 12:
//! "`mainstay doctor` runs every law against the live system and its journal").

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::allocations::fleet_of;
use crate::caller::new_id;
use crate::far::{Agent, beyond, connected, door, listening, token};
use crate::product::{Home, lives, until};

/// What the doctor says, and its exit code.
#[track_caller]
fn doctor(home: &Home) -> (Value, Option<i32>) {
    let output = home.command(&["doctor", "-o", "json"]).output().unwrap();
    let said = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (said, output.status.code())
}

/// The checks that came out so, by name.
fn checks<'a>(said: &'a Value, status: &'a str) -> impl Iterator<Item = &'a str> {
    let all = said["checks"].as_array().unwrap().iter();
    all.filter(move |check| check["status"] == status).map(|check| check["check"].as_str().unwrap())
}

#[track_caller]
fn green(said: &Value, wanted: &[&str]) {
    let broken: Vec<&str> = checks(said, "fail").collect();
    assert!(broken.is_empty(), "{said:#}");
    for name in wanted {
        assert!(checks(said, "ok").any(|check| check == *name), "{name} is not ok in {said:#}");
    }
}

#[test]
fn the_doctor_is_green_on_a_live_instance_and_on_what_it_left_and_sees_a_changed_row() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let made = up.json(&["allocation", "create", "--fleet", "tugboat"]);
    assert!(made["serverId"].is_u64(), "{made}");
    let (said, code) = doctor(&home);
    assert_eq!(code, Some(0), "{said:#}");
    let laws = [
        "journal mark",
        "journal chain",
        "laws of catalog",
        "laws of fleet/1",
        "laws of the agent's journal",
    ];
    green(&said, &laws);
    green(
        &said,
        &["instance", "live indices of fleet tugboat", "machines of fleet tugboat", "configuration"],
    );
    green(
        &said,
        &[
            "history",
            "holds of fleet tugboat",
            "laws of the agent",
            "clock",
            "agents' port",
            "games' port",
            "secrets",
        ],
    );
    let table = home.command(&["doctor"]).output().unwrap();
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.contains("journal chain") && table.contains(" 0 broken"), "{table}");

    assert!(up.stop().success());
    let (said, code) = doctor(&home);
    assert_eq!(code, Some(0), "{said:#}");
    green(&said, &laws);

    let changed: usize = ["journal.db", "journal.db-wal"].into_iter().map(|file| change(&home, file)).sum();
    assert!(changed > 0, "the fleet's name is in none of the journal's files");
    let (said, code) = doctor(&home);
    assert_eq!((code, &said["status"]), (Some(1), &"fail".into()), "{said:#}");
    let all = said["checks"].as_array().unwrap();
    let broken = all.iter().find(|check| check["status"] == "fail").unwrap();
    let code = broken["code"].as_str().unwrap();
    assert!([concat!("MS-", "J002"), concat!("MS-", "J003")].contains(&code), "{said:#}");
    assert!(broken["fix"].as_str().unwrap().contains("restore"), "{said:#}");
}

/// Changes a letter of the fleet's name wherever it stands in a file of the journal; how often.
fn change(home: &Home, file: &str) -> usize {
    let path = home.path().join("journal").join(file);
    let Ok(mut bytes) = std::fs::read(&path) else { return 0 };
    let name = b"tugboat";
    let places: Vec<usize> =
        (0..bytes.len().saturating_sub(name.len())).filter(|at| bytes[*at..].starts_with(name)).collect();
    for at in &places {
        bytes[*at] = b'T';
    }
    std::fs::write(&path, bytes).unwrap();
    places.len()
}

/// A server's process dies while its agent is frozen: the control plane cannot know of the process, but that nobody
/// speaks for the machine any more it says, and that somebody's session is on it.
#[test]
fn the_doctor_is_red_where_a_session_is_behind_a_frozen_agent() {
    let (home, far) = (Home::new(), Home::new());
    let up = listening(&home, &beyond());
    let (caller, fleet) = (up.caller(), fleet_of(&up));
    let agent = Agent::start(&far, &door(&up), Some(&token(&up, &[])));
    let machine = connected(&up);
    let there = (0..2).find_map(|_| {
        let id = new_id();
        caller.allocate(&fleet, &id);
        let seen = caller.fulfilled(&fleet, &id);
        (seen["machineId"] == machine["id"]).then_some(seen)
    });
    let there = there.expect("one of two sessions is on the machine that joined");
    let pid = up.pid_when(&there["serverId"].to_string(), "ALLOCATED");
    let (said, code) = doctor(&home);
    assert_eq!(code, Some(0), "{said:#}");
    green(&said, &["machines of fleet here"]);
    // What is not looked at from here is said, with where it is.
    let all = said["checks"].as_array().unwrap();
    let elsewhere = all.iter().find(|check| check["check"] == "agents of machines that joined");
    let why = elsewhere.and_then(|check| check["why"].as_str()).unwrap_or_else(|| panic!("{said:#}"));
    assert!(why.contains("of 1 machine ") && why.contains("mainstay doctor --data-dir DIR"), "{why}");

    // There it is: where the agent runs alone, the laws are run on what it keeps, beside it; what was not looked at is said.
    let (alone, code) = doctor(&far);
    assert_eq!(code, Some(0), "{alone:#}");
    green(&alone, &["agent's mark", "agent's journal", "laws of the agent's journal", "agent in memory"]);
    let said =
        alone["checks"].as_array().unwrap().iter().find(|it| it["check"] == "laws of the agent's journal");
    let why = said.unwrap()["why"].as_str().unwrap();
    assert!(why.contains("1 with a process") && why.contains("all laws"), "{why}");

    agent.signal(Signal::SIGSTOP);
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    until("the game is dead", || (!lives(pid)).then_some(()));
    let said = until("the doctor sees the silence", || {
        let (said, code) = doctor(&home);
        (code == Some(1)).then_some(said)
    });
    assert_eq!(checks(&said, "fail").collect::<Vec<_>>(), ["machines of fleet here"], "{said:#}");
    let all = said["checks"].as_array().unwrap();
    let broken = all.iter().find(|check| check["status"] == "fail").unwrap();
    assert_eq!(broken["code"], concat!("MS-", "S620"), "{said:#}");
    assert!(broken["why"].as_str().unwrap().contains("1 allocated or reserved"), "{said:#}");

    // Thawed, the agent speaks again, and the session comes back under its allocation.
    agent.signal(Signal::SIGCONT);
    until("the doctor is green again", || (doctor(&home).1 == Some(0)).then_some(()));
    let again = up.pid_when(&there["serverId"].to_string(), "ALLOCATED");
    assert_ne!(again, pid);
}
