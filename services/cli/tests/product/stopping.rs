//! An operator in a hurry: the second Ctrl-C kills what the first one only asks.

use nix::sys::signal::Signal;

use crate::product::{Home, lives, until};

/// A game that hears no SIGTERM, with a minute to obey it.
fn deaf() -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_mainstay"));
    format!(
        "version: 1.0\n\
         builds:\n  game:\n    executableName: mainstay\n    buildPath: {folder:?}\n\
         buildConfigurations:\n  deaf:\n    build: game\n    queryType: sqp\n    binaryPath: {binary:?}\n    \
         commandLine: demo server --port $$port$$ --query-port $$query_port$$ --fault ignore-sigterm\n    \
         stop: {{ signal: SIGTERM, killTimeout: 60s }}\n\
         fleets:\n  here:\n    buildConfigurations: [deaf]\n    startOnProvision: true\n    \
         usageSettings: [{{ hardwareType: METAL, maxServersPerMachine: 1 }}]\n    \
         regions:\n      Home: {{ minAvailable: 1, maxServers: 1 }}\n",
        folder = program.parent().unwrap().display().to_string(),
        binary = program.file_name().unwrap().to_str().unwrap(),
    )
}

#[test]
fn the_second_interrupt_kills_what_does_not_stop() {
    let home = Home::new();
    let file = home.path().with_file_name("deaf.yaml");
    std::fs::write(&file, deaf()).unwrap();
    let up = home.up(&[file.to_str().unwrap()]);
    let id = up.servers()[0]["id"].to_string();
    let pid = up.pid_when(&id, "ONLINE");
    up.signal(Signal::SIGINT);
    until("the stop began", || (up.server(&id)["process"] != "online").then_some(()));
    assert!(lives(pid));
    let ended = up.ended_by(Signal::SIGINT);
    assert!(ended.success(), "{ended:?}");
    assert!(!lives(pid));
}

/// An attacker's finding: the control groups of a data directory stayed behind a clean stop.
#[test]
fn a_clean_stop_leaves_no_control_groups_behind() {
    use std::os::unix::fs::MetadataExt as _;
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let id = up.servers()[0]["id"].to_string();
    up.pid_when(&id, "ONLINE");
    let of = std::fs::metadata(home.path().join("agent")).unwrap();
    let name = format!("{:x}-{:x}", of.dev(), of.ino());
    let groups = || -> Vec<std::path::PathBuf> {
        let hierarchies =
            std::fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten().map(|it| it.path());
        let roots = hierarchies.chain([std::path::PathBuf::from("/sys/fs/cgroup")]);
        roots.map(|root| root.join("mainstay").join(&name)).filter(|path| path.exists()).collect()
    };
    if groups().is_empty() {
        eprintln!("SKIPPED without control groups: nothing can be left behind");
    }
    assert!(up.stop().success());
    assert_eq!(groups(), Vec::<std::path::PathBuf>::new());
}

/// A terminal that is closed ends `up` as Ctrl-C does: its servers are stopped, not left behind unwatched.
#[test]
fn the_closing_of_the_terminal_stops_the_servers() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let id = up.servers()[0]["id"].to_string();
    let pid = up.pid_when(&id, "ONLINE");
    let ended = up.ended_by(Signal::SIGHUP);
    assert!(ended.success(), "{ended:?}");
    assert!(!lives(pid));
}

/// The journal holds payloads: nobody else reads it, even where the data directory was made for all to enter.
#[test]
fn the_journal_and_the_history_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    std::fs::create_dir_all(home.path()).unwrap();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let up = home.up(&["--demo"]);
    for (name, mode) in [("journal", 0o700), ("agent/journal", 0o700), ("history.sqlite", 0o600)] {
        let found = std::fs::metadata(home.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{name}");
    }
    up.stop();
}
