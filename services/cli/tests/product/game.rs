//! The demo game with a control token, so that a test can tell it how to misbehave, in a fleet with one slot.

use std::path::Path;
use std::time::Duration;

use mainstay_tugboat::client;
use serde_json::Value;

/// What idle servers of the fleet do.
#[derive(Debug, Clone, Copy)]
pub enum Idle {
    /// They run: start on provision.
    Running,
    /// They wait for an allocation.
    Stopped,
}

/// A `mainstay.yaml` for the game.
pub struct Game {
    dir: tempfile::TempDir,
    file: String,
}

/// Only who knows it commands the game.
pub const TOKEN: &str = "token-of-the-test";

/// Further lines of the file, each `key: value`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settings<'a> {
    /// Of the build configuration.
    pub configuration: &'a [&'a str],
    /// Of the fleet.
    pub fleet: &'a [&'a str],
}

impl Game {
    /// With further arguments for the game.
    pub fn new(idle: Idle, arguments: &str) -> Self {
        Self::with(idle, arguments, Settings::default())
    }

    /// With further arguments for the game, and settings.
    pub fn with(idle: Idle, arguments: &str, settings: Settings<'_>) -> Self {
        let indented = |lines: &[&str]| lines.iter().map(|line| format!("    {line}\n")).collect::<String>();
        let program = Path::new(env!("CARGO_BIN_EXE_mainstay"));
        let start_on_provision = matches!(idle, Idle::Running);
        let yaml = format!(
            "version: 1.0\n\
             builds:\n  game:\n    executableName: mainstay\n    buildPath: {folder:?}\n\
             buildConfigurations:\n  plain:\n    build: game\n    queryType: sqp\n    binaryPath: {binary:?}\n    \
             commandLine: demo server --port $$port$$ --query-port $$query_port$$ --control-token {TOKEN} {arguments}\n    \
             stop: {{ signal: SIGTERM, killTimeout: 1s }}\n{configuration}\
             fleets:\n  here:\n    buildConfigurations: [plain]\n    startOnProvision: {start_on_provision}\n    \
             usageSettings: [{{ hardwareType: METAL, maxServersPerMachine: 1 }}]\n{fleet}    \
             regions:\n      Home: {{ minAvailable: 1, maxServers: 1 }}\n",
            folder = program.parent().unwrap().display().to_string(),
            binary = program.file_name().unwrap().to_str().unwrap(),
            configuration = indented(settings.configuration),
            fleet = indented(settings.fleet),
        );
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mainstay.yaml");
        std::fs::write(&file, yaml).unwrap();
        Self { file: file.to_str().unwrap().to_owned(), dir }
    }

    /// The file's path.
    pub fn file(&self) -> &str {
        assert!(self.dir.path().exists());
        &self.file
    }

    /// Tells a server, as `server get` shows it, how to misbehave.
    #[track_caller]
    pub fn command(&self, server: &Value, fault: &str) {
        command(u16::try_from(server["port"].as_u64().unwrap()).unwrap(), fault);
    }
}

/// Tells the game on a port how to misbehave.
#[track_caller]
pub fn command(port: u16, fault: &str) {
    client::control(([127, 0, 0, 1], port).into(), TOKEN, fault, Duration::from_secs(10)).unwrap();
}
