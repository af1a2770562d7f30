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
