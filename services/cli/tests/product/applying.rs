//! `mainstay apply`, and files that change between two runs: a file's configuration becomes a running instance's, all of it or nothing.

use crate::caller::{Caller, Credentials, new_id};
use crate::game::{Game, Idle};
use crate::product::{Home, lives};

#[test]
fn apply_changes_a_running_instance_and_refuses_a_wrong_file_whole() {
    let (home, game) = (Home::new(), Game::new(Idle::Running, ""));
    let up = home.up(&[game.file()]);
    let fleet = up.json(&["fleet", "list"])[0].clone();
    let name = fleet["name"].as_str().unwrap();
    let before = fleet["regions"][0]["maxServers"].as_u64().unwrap();
    let text = std::fs::read_to_string(game.file()).unwrap();
    let changed = text.replace(&format!("maxServers: {before}"), &format!("maxServers: {}", before + 1));
    assert_ne!(text, changed, "the game's file says maxServers: {before}");
    std::fs::write(game.file(), &changed).unwrap();
    let taken = up.json(&["apply", game.file()]);
    assert_eq!(taken["revision"], 2, "{taken}");
    assert_eq!(up.json(&["fleet", "get", name])["regions"][0]["maxServers"], before + 1);

    std::fs::write(game.file(), changed.replace("maxServers:", "maxServer:")).unwrap();
    let refused = up.run(&["apply", game.file()]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains(concat!("MS-", "U111")) && said.contains(concat!("MS-", "C004")), "{said}");
    assert_eq!(up.json(&["fleet", "get", name])["regions"][0]["maxServers"], before + 1, "nothing was taken");

    // Whoever may change the configuration is not thereby given the control plane's keys, nor any file that it can read.
    let caller = up.caller();
    let asked = caller.post("/v1/service-accounts", br#"{"role": "operator"}"#).json();
    let word = |name: &str| asked[name].as_str().unwrap().to_owned();
    let operator = caller.with(Credentials::Basic { key: word("keyId"), secret: word("secretKey") });
    let path = |text: &str| text.lines().find(|line| line.contains("buildPath:")).unwrap().to_owned();
    let from = |folder: &str| changed.replace(&path(&changed), &format!("    buildPath: {folder}"));
    let put = |caller: &Caller, text: &str| caller.put("/v1/configuration", text.as_bytes());
    assert_eq!(put(&operator, &changed).status, 200, "a folder that a build had before");
    let elsewhere = put(&operator, &from("/etc"));
    assert_eq!((elsewhere.status, elsewhere.code.as_deref()), (403, Some(concat!("MS-", "A012"))));
    let own = home.path().join("tls");
    let private = put(&caller, &from(&own.display().to_string()));
    assert_eq!(private.status, 400, "{private:?}");
    assert_eq!(private.json()["problems"][0]["code"], concat!("MS-", "C042"));
    std::fs::write(game.file(), from(&own.display().to_string())).unwrap();
    let checked = up.run(&["check", game.file()]);
    assert!(String::from_utf8_lossy(&checked.stdout).contains(concat!("MS-", "C042")), "{checked:?}");
}

/// Between two runs the file loses a fleet or a region: whoever plays there plays on, and is given up by nobody.
#[test]
fn a_fleet_or_region_that_is_gone_from_the_file_keeps_its_sessions() {
    for (old, new) in [("  here:", "  there:"), ("Home:", "Abroad:")] {
        let (home, game) = (Home::new(), Game::new(Idle::Running, ""));
        let up = home.up(&[game.file()]);
        let id = new_id();
        up.json(&["allocation", "create", "--fleet", "here", "--id", &id]);
        let server = up.json(&["allocation", "get", &id])["serverId"].to_string();
        let pid = up.pid_when(&server, "ALLOCATED");
        up.kill_nine();

        let text = std::fs::read_to_string(game.file()).unwrap();
        let changed = text.replace(old, new);
        assert_ne!(text, changed);
        std::fs::write(game.file(), changed).unwrap();
        let up = home.up(&[game.file()]);
        assert_eq!(up.pid_when(&server, "ALLOCATED"), pid, "{old} became {new}");
        assert!(lives(pid));
        assert!(up.json(&["allocation", "get", &id])["ended"].is_null());
        up.run(&["allocation", "delete", &id]);
        up.stop();
    }
}
