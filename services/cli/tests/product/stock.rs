//! A stock client of the local daemon: npm's centrifuge 2.8.x, as the only SDK of a game that `mainstay up` runs.
//!
//! `./check` installs it with its lockfile's versions and says in `MAINSTAY_TEST_NODE` where; without it this test fails,
//! because a test that did not run proves nothing.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::allocations::fleet_of;
use crate::caller::new_id;
use crate::product::{Home, Product, until};

/// What the game has printed so far, one JSON value a line.
fn said(up: &Product<'_>, server: &Value) -> Vec<Value> {
    up.output_of(server)
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("out ")?).ok())
        .collect()
}

/// The events among it: type, allocation, and what `server.json` said when each came.
fn events(up: &Product<'_>, server: &Value) -> Vec<[String; 3]> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    said(up, server)
        .iter()
        .filter(|line| line["event"].is_object())
        .map(|line| {
            assert_eq!(line["event"]["ServerID"], server["id"], "{line}");
            let event = &line["event"];
            [text(&event["EventType"]), text(&event["AllocationID"]), text(&line["allocatedUUID"])]
        })
        .collect()
}

/// Shows `npm centrifuge 2.8`.
#[test]
fn npm_centrifuge_hears_each_session_begin_and_end() {
    let folder = std::env::var_os("MAINSTAY_TEST_NODE")
        .map(PathBuf::from)
        .expect("MAINSTAY_TEST_NODE names no folder with npm's centrifuge: run ./check");
    let game = folder.join("game.js");
    std::fs::write(&game, include_str!("centrifuge/game.js")).unwrap();
    std::fs::set_permissions(&game, std::fs::Permissions::from_mode(0o755)).unwrap();
    let yaml = format!(
        "version: 1.0\n\
         builds:\n  stock:\n    executableName: game.js\n    buildPath: {folder:?}\n\
         buildConfigurations:\n  stock:\n    build: stock\n    queryType: none\n    binaryPath: game.js\n    \
         env: {{ PATH: {path:?} }}\n    stop: {{ signal: SIGTERM, killTimeout: 5s }}\n\
         fleets:\n  here:\n    buildConfigurations: [stock]\n    startOnProvision: true\n    \
         usageSettings: [{{ hardwareType: METAL, maxServersPerMachine: 1 }}]\n    \
         regions:\n      Home: {{ minAvailable: 1, maxServers: 1 }}\n",
        folder = folder.display().to_string(),
        path = std::env::var("PATH").unwrap(),
    );
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mainstay.yaml");
    std::fs::write(&file, yaml).unwrap();

    let home = Home::new();
    let up = home.up(&[file.to_str().unwrap()]);
    let (caller, fleet) = (up.caller(), fleet_of(&up));
    let server = up.servers()[0].clone();
    until("the game listens", || {
        said(&up, &server).iter().any(|line| line["subscribed"] == true).then_some(())
    });
    let heard = |count: usize| {
        until(&format!("{count} events"), || Some(events(&up, &server)).filter(|seen| seen.len() >= count))
    };
    let path = |id: &str| format!("{}/{id}", caller.allocations(&fleet.id));
    let word = |kind: &str, id: &str, file: &str| [kind.to_owned(), id.to_owned(), file.to_owned()];

    // A session while it listens.
    let first = new_id();
    assert!((200..300).contains(&caller.allocate(&fleet, &first).status));
    assert_eq!(heard(1), [word("AllocateEventType", &first, &first)]);
    assert_eq!(caller.delete(&path(&first)).status, 204);
    let mut so_far = heard(2);
    assert_eq!(so_far[1], word("DeallocateEventType", &first, ""));

    // A session that goes on when it begins to listen: its process is killed, and the next one is told ("replay").
    let second = new_id();
    assert!((200..300).contains(&caller.allocate(&fleet, &second).status));
    so_far.push(word("AllocateEventType", &second, &second));
    assert_eq!(heard(3), so_far);
    let pid = up.pid_when(&server["id"].to_string(), "ALLOCATED");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
    so_far.push(word("AllocateEventType", &second, &second));
    assert_eq!(heard(4), so_far, "{:?}", said(&up, &server));
    assert_eq!(caller.delete(&path(&second)).status, 204);
    so_far.push(word("DeallocateEventType", &second, ""));
    assert_eq!(heard(5), so_far);
    assert!(said(&up, &server).iter().all(|line| line["refused"].is_null()), "nobody is refused");
}
