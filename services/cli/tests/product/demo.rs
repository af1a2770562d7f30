//! `mainstay up --demo`: what it says, what it writes, what then runs.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use mainstay_query::Protocol;
use serde_json::{Value, json};

use crate::caller::Fleet;
use crate::product::{Home, Product, lives, processes_of, until};
use crate::query::ask;

/// Issue 2, section 10: one JSON line, `ports.json`, `credentials.json` with mode 0600.
#[test]
fn up_says_it_is_ready_on_one_json_line_and_writes_its_ports_and_credentials() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    assert_eq!(up.ready["msg"], "ready", "{}", up.ready);
    let ports = up.file("ports.json");
    for name in ["api", "multiplay"] {
        assert!(ports[name].as_str().is_some_and(|url| url.starts_with("http://")), "{name} in {ports}");
    }
    let credentials = up.file("credentials.json");
    for name in ["keyId", "secretKey", "projectId", "environmentId"] {
        assert!(credentials[name].as_str().is_some_and(|text| !text.is_empty()), "{name}");
    }
    let mode = std::fs::metadata(home.path().join("credentials.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
    assert_eq!(up.further_lines(), Vec::<String>::new());
}

/// Issue 2, section 10: the demo fleet starts on provision and leaves idle servers, each a process that answers.
#[test]
fn the_demo_fleet_starts_real_idle_servers_that_answer_their_query() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let fleets = up.json(&["fleet", "list"]);
    let id = fleets[0]["id"].as_str().unwrap();
    let fleet = up.json(&["fleet", "get", id]);
    let read = Fleet::from(&fleet);
    assert_eq!(read.id, id);
    for list in ["buildConfigurations", "regions"] {
        assert!(fleet[list][0]["name"].as_str().is_some_and(|name| !name.is_empty()), "{fleet}");
    }
    let servers = until("every demo server is ONLINE", || {
        let servers = up.servers();
        (!servers.is_empty() && servers.iter().all(|server| server["status"] == "ONLINE")).then_some(servers)
    });
    for server in &servers {
        let pid = i32::try_from(server["pid"].as_i64().unwrap()).unwrap();
        assert!(lives(pid), "{server}");
        let port = u16::try_from(server["queryPort"].as_u64().unwrap()).unwrap();
        until(&format!("{server} answers"), || ask(&Protocol::Sqp, port));
    }
    played(&up);
    played(&up);
}

/// Issue 4, section 6: "The whole path (tickets, match, allocation, payload with the members, players connected to tugboat, one
/// leaves, backfill, replacement arrives on the right team) is […] what `up --demo` shows".
fn played(up: &Product<'_>) {
    let shown = up.run(&["demo", "play"]);
    assert!(shown.status.success(), "{shown:?}");
    let text = String::from_utf8(shown.stdout).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let the = |event: &str| {
        let found = events.iter().find(|it| it["event"] == event);
        found.unwrap_or_else(|| panic!("{event} in {text}"))
    };
    assert_eq!(the("why")["nearest"][0]["rules"][0]["why"], "10 apart, at most 5");
    assert_eq!(the("matched")["players"].as_array().unwrap().len(), 4);
    assert_eq!(
        (&the("recovered")["sameAllocation"], &the("recovered")["players"]),
        (&json!(true), &json!(4))
    );
    assert_ne!(the("recovered")["pid"], the("killed")["pid"]);
    let replaced = the("replaced");
    assert_eq!((&replaced["team"], &replaced["sameServer"]), (&replaced["teamBefore"], &json!(true)));
    let open = up.json(&["allocation", "list"]);
    let open: Vec<_> = open.as_array().unwrap().iter().filter(|it| it.get("ended").is_none()).collect();
    assert!(open.is_empty(), "the server is given back: {open:?}");
}

/// Issue 2, section 7: SIGTERM of `up` stops its servers.
#[test]
fn sigterm_of_up_stops_its_servers_and_ends_with_zero() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let pids = until("demo servers run", || {
        let pids: Vec<i64> = up.servers().iter().filter_map(|server| server["pid"].as_i64()).collect();
        (pids.len() == up.servers().len() && !pids.is_empty()).then_some(pids)
    });
    let ended = up.stop();
    assert_eq!(ended.code(), Some(0), "{ended}");
    for pid in pids {
        assert!(!lives(i32::try_from(pid).unwrap()), "{pid} still lives");
    }
}

/// Issue 2, section 10: a taken port stops the start and names the holder of the port; nothing has been started.
#[test]
fn a_taken_port_stops_the_start_and_names_its_holder() {
    let home = Home::new();
    // Somebody else may have the port already; then the answer must name them, and only that differs.
    let ours = TcpListener::bind(("127.0.0.1", 7420));
    let output = home.command(&["up", "--demo"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("MS-U020") && said.contains("7420"), "{said}");
    if ours.is_ok() {
        assert!(said.contains(&std::process::id().to_string()), "{said}");
    }
    assert_eq!(processes_of(&home.path()), Vec::<i32>::new());
}
