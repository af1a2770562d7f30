//! `mainstay demo peers`: processes over real QUIC, whose host goes away.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The migrations of one run, each a line of JSON.
fn migrations(arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_mainstay"))
        .args(["demo", "peers", "--lan", "-o", "json"])
        .args(arguments)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{:?}\n{out}\n{err}", output.status);
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Issue 5, section 6: "does it unattended and prints one JSON line a migration with at least `epoch`, `cause`, `newHost`,
/// `gapMs`, `peersKept`, `ackedLost`."
#[test]
fn a_session_of_eight_outlives_two_hosts_whose_power_is_cut() {
    let moves = migrations(&["--players", "8", "--kill-host", "power-cut", "--times", "2"]);
    assert_eq!(moves.len(), 2, "{moves:?}");
    for (number, moved) in moves.iter().enumerate() {
        assert_eq!(moved["cause"], "catastrophic", "{moved}");
        assert_eq!(moved["peersKept"], 7 - number, "{moved}");
        assert_eq!(moved["ackedLost"], 0, "{moved}");
        assert!(moved["gapMs"].as_u64().is_some_and(|gap| gap > 0), "{moved}");
        assert_ne!(moved["newHost"], moved["oldHost"], "{moved}");
    }
    assert!(moves[0]["epoch"].as_u64() < moves[1]["epoch"].as_u64(), "{moves:?}");
    assert_eq!(moves[0]["newHost"], moves[1]["oldHost"]);
}

/// Issue 5, section 6: "terminal play for people […]; shows HOST, ANTICIPATED NEW HOST or MEMBER […] when the console variables say so".
/// In a real terminal, which `script` makes.
#[test]
fn a_person_plays_in_a_terminal() {
    let mainstay = env!("CARGO_BIN_EXE_mainstay");
    let play = format!(
        "stty rows 30 cols 120; exec '{mainstay}' demo peer --play --set net_show_host_identificiation=1"
    );
    let mut script = Command::new("script")
        .args(["--quiet", "--return", "--command", &play, "/dev/null"])
        .env("TERM", "xterm-256color")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut seen = Vec::new();
    let (mut keys, mut terminal) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
    // The one player there is is the host, and its terminal says so.
    while !String::from_utf8_lossy(&seen).contains("HOST") {
        let mut some = [0; 4096];
        let read = terminal.read(&mut some).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&some[..read]);
    }
    keys.write_all(b"q").unwrap();
    std::io::copy(&mut terminal, &mut std::io::sink()).unwrap();
    assert!(script.wait().unwrap().success());
}
