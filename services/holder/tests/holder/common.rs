//! What the tests of real holders share: a slot in a temporary directory, games as shell scripts, waiting for
//! conditions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use mainstay_holder::client::{self, Connection, Found, Spawner, Started};
use mainstay_holder::protocol::Status;
use mainstay_holder::record::{ExitRecord, ProcessMark};
use mainstay_holder::spec::{Identity, LaunchSpec, Output, SPEC_VERSION};
use mainstay_holder::{process, record};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Long enough for a machine busy with other builds; a condition that holds ends the wait at once.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// As an agent has one for all its slots.
pub static SPAWNER: LazyLock<Spawner> = LazyLock::new(|| Spawner::new(program("holder"), Vec::new()));

/// A slot of its own for one test; whatever still runs in it is killed at the end.
pub struct Slot {
    pub dir: tempfile::TempDir,
}

impl Slot {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn run_dir(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    /// A launch of `/bin/sh -c script`.
    pub fn shell(&self, script: &str) -> LaunchSpec {
        self.program("/bin/sh", &["-c", script])
    }

    pub fn program(&self, executable: &str, arguments: &[&str]) -> LaunchSpec {
        let output = self.dir.path().join("output");
        std::fs::create_dir_all(&output).unwrap();
        LaunchSpec {
            version: SPEC_VERSION,
            generation: 7,
            run: 1,
            executable: executable.into(),
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            environment: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            working_dir: self.dir.path().to_owned(),
            identity: Identity::Inherited,
            limits: Vec::new(),
            control_group: None,
            isolation: None,
            container: None,
            output: Output { dir: output, bytes_max: 1024 * 1024, files_max: 3 },
        }
    }

    /// Starts a game that must run.
    pub fn start(&self, spec: &LaunchSpec) -> Status {
        match SPAWNER.spawn(&self.run_dir(), spec).unwrap() {
            Started::Running(status) => status,
            Started::SpawnFailed(record) => panic!("{record:?}"),
        }
    }

    pub fn connect(&self) -> Connection {
        client::connect(&self.run_dir()).unwrap()
    }

    /// A look as of a new agent, at a slot that must be running.
    pub fn adopt(&self) -> Connection {
        let found = client::adopt(&self.run_dir()).unwrap();
        let Found::Running(connection) = found else { panic!("{found:?}") };
        connection
    }

    /// Waits for the end of the last run as a newcomer would see it.
    pub fn exit(&self) -> ExitRecord {
        until("the slot has ended", || match client::adopt(&self.run_dir()).unwrap() {
            Found::Exited(record) => Some(record),
            Found::Running(_) => None,
            found @ (Found::Nothing | Found::OtherBoot(_) | Found::HolderDead(_)) => panic!("{found:?}"),
        })
    }

    pub fn stdout(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("output/stdout.log")).unwrap()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Ok(Some(holder)) = record::read::<record::HolderRecord>(&self.run_dir(), record::HOLDER_FILE)
            && process::is_alive(holder.holder)
        {
            // A game's child in a session of its own outlives a killed holder, so it goes first. Either may end by itself
            // in between.
            for pid in process::descendants(holder.holder.pid).unwrap_or_default() {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            let _ = kill(Pid::from_raw(holder.holder.pid), Signal::SIGKILL);
        }
    }
}

/// An example of this package, built beside the tests.
pub fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is missing: build the package's examples", path.display());
    path
}

/// Waits for a condition.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn until_dead(mark: ProcessMark) {
    until("the process is gone", || (!process::is_alive(mark)).then_some(()));
}

pub fn sigkill(mark: ProcessMark) {
    kill(Pid::from_raw(mark.pid), Signal::SIGKILL).unwrap();
}
