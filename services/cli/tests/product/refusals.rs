//! Bad input at the command line and in files: each a clear error with a code, and nothing half done (issue 2, sections
//! 10, 11 and 15).

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::product::{Home, processes_of};

/// A folder with a `mainstay.yaml` and a file that claims to be a game.
struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    fn new(binary: &str, mode: Option<u32>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let game = dir.path().join("build").join("game");
        std::fs::create_dir(dir.path().join("build")).unwrap();
        if let Some(mode) = mode {
            std::fs::write(&game, "#!/bin/sh\nexec sleep 600\n").unwrap();
            std::fs::set_permissions(&game, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let yaml = format!(
            "version: 1.0\n\
             builds:\n  game:\n    executableName: {binary}\n    buildPath: ./build\n\
             buildConfigurations:\n  plain:\n    build: game\n    queryType: none\n    binaryPath: {binary}\n    \
             commandLine: -port $$port$$\n\
             fleets:\n  here:\n    buildConfigurations: [plain]\n    regions:\n      Home: {{ minAvailable: 1, maxServers: 1 }}\n    \
             usageSettings: [{{ hardwareType: METAL, maxServersPerMachine: 1 }}]\n"
        );
        std::fs::write(dir.path().join("mainstay.yaml"), yaml).unwrap();
        Self { dir }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("mainstay.yaml")
    }
}

#[test]
fn a_build_that_cannot_start_is_refused_before_anything_starts() {
    for (what, binary, mode, code) in [
        ("a missing binary", "game", None, concat!("MS-", "C028")),
        ("a binary that is not executable", "game", Some(0o644), concat!("MS-", "C029")),
    ] {
        let (home, folder) = (Home::new(), Folder::new(binary, mode));
        let output =
            home.command(&["up", folder.file().to_str().unwrap(), "--ports", "auto"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{what}: {said}");
        assert!(said.contains(code) && said.contains("mainstay.yaml"), "{what}: {said}");
        assert_eq!(processes_of(&home.path()), Vec::<i32>::new(), "{what}");
    }
}

/// An attacker's findings: a folder in the binary's place was told `chmod +x`, and a build whose folder is closed was told
/// only once its servers could not be started.
#[test]
fn a_folder_as_binary_and_a_closed_build_are_told_how_they_are_mended() {
    let (home, folder) = (Home::new(), Folder::new("game", None));
    std::fs::create_dir(folder.dir.path().join("build/game")).unwrap();
    let said = checked(&home, &folder);
    assert!(said.contains(concat!("MS-", "C029")) && said.contains("is a folder"), "{said}");
    assert!(said.contains("name the program in binaryPath") && !said.contains("chmod"), "{said}");

    let folder = Folder::new("game", Some(0o755));
    let closed = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(folder.dir.path().join("build"), closed).unwrap();
    let said = checked(&home, &folder);
    if nix::unistd::Uid::effective().is_root() {
        assert!(said.contains(concat!("MS-", "C027")) && said.contains("chmod o+rx"), "{said}");
    } else {
        assert!(said.contains("no problems"), "{said}");
    }
}

fn checked(home: &Home, folder: &Folder) -> String {
    let output = home.command(&["check", folder.file().to_str().unwrap()]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// An attacker's finding: an agent without a slot joined and served nothing.
#[test]
fn an_agent_without_slots_is_refused_at_the_command_line() {
    let home = Home::new();
    let join = ["agent", "--join", "http://127.0.0.1:1", "--slots"];
    for (slots, right) in [("0", false), ("4097", false), ("x", false)] {
        let output = home.command(&[&join[..], &[slots]].concat()).output().unwrap();
        assert_eq!(output.status.code() != Some(2), right, "{slots}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("--slots"), "{output:?}");
    }
}

/// An attacker's finding: with two ports taken only the first was named. Shows `port 8086`.
#[test]
fn every_port_that_is_taken_is_named() {
    let home = Home::new();
    let held: Vec<_> = [7421, 8086].map(|port| std::net::TcpListener::bind(("127.0.0.1", port))).into();
    let output = home.command(&["up", "--demo"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // Whoever else holds one of them on this host serves as well.
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains(concat!("MS-", "U020")) && said.contains("7421") && said.contains("8086"),
        "{said}"
    );
    drop(held);
}

/// An attacker's finding: the text about a damaged credentials.json spoke of ports.json.
#[test]
fn a_damaged_file_of_the_data_directory_is_told_its_own_mend() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    for (file, mend) in [("credentials.json", "new credentials"), ("ports.json", "writes the file anew")] {
        let path = home.path().join(file);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, b"{").unwrap();
        let output = up.run(&["status"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(concat!("MS-", "U003")) && said.contains(mend), "{file}: {said}");
        let other = if file == "ports.json" { "credentials.json" } else { "ports.json" };
        assert!(!said.contains(other), "{file}: {said}");
        std::fs::write(&path, whole).unwrap();
    }
    // Its own agent's, at the next start.
    let machines = home.path().join("agent/machines.json");
    drop(up);
    std::fs::write(&machines, b"{").unwrap();
    let output = home.command(&["up", "--demo", "--ports", "auto"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains(concat!("MS-", "S402")) && said.contains("from a copy"), "{said}");
}

#[test]
fn check_reports_every_error_of_a_file_at_once_with_file_and_line() {
    let (home, folder) = (Home::new(), Folder::new("game", Some(0o755)));
    let text = std::fs::read_to_string(folder.file()).unwrap();
    let broken = text.replace("build: game", "build: gaem").replace("[plain]", "[plian]");
    std::fs::write(folder.file(), broken).unwrap();
    let output = home.command(&["check", folder.file().to_str().unwrap()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{output:?}");
    for part in [concat!("MS-", "C014"), concat!("MS-", "C015"), "mainstay.yaml:8", "mainstay.yaml:14"] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

/// "`mainstay` alone prints the five commands of a first day, not all" (ux.md 8.7); the whole list is under `help`.
#[test]
fn mainstay_alone_prints_the_five_commands_of_a_first_day() {
    let said = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mainstay"));
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let first = said(&[]);
    let commands: Vec<&str> = first.lines().filter(|line| line.starts_with("  mainstay ")).collect();
    assert_eq!(commands.len(), 5, "{first}");
    assert!(commands[0].contains("mainstay up --demo"), "{first}");
    assert!(!first.contains("simulator"), "{first}");
    for whole in [said(&["help"]), said(&["--help"])] {
        assert!(whole.contains("simulator") && whole.contains("doctor"), "{whole}");
    }
}
