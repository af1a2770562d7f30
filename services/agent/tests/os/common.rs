//! A data directory with slots, and games as shell scripts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mainstay_agent::os::cgroup::Groups;
use mainstay_agent::os::slot_dirs::{Owner, SlotDirs};
use mainstay_agent::os::{Capabilities, GameFacts};
use mainstay_core::{FleetId, FleetNumber, MachineId, RegionId, ServerId};
use mainstay_holder::client::{self, Connection, Found, Started};
use mainstay_holder::protocol::{Request, Status, Stream, Target};
use mainstay_holder::record::{ExitRecord, ProcessMark};
use mainstay_holder::spec::{LaunchSpec, Output, SPEC_VERSION};
use mainstay_holder::{output, process};
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Long enough for a machine busy with other builds; a condition that holds ends the wait at once.
const PATIENCE: Duration = Duration::from_millis(PATIENCE_MS);
const PATIENCE_MS: u64 = 60_000;

/// An agent's data directory; its control groups are removed at the end.
pub struct Data {
    dir: tempfile::TempDir,
    pub capabilities: Capabilities,
}

impl Data {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let registry = std::env::temp_dir().join(format!("mainstay-uids-{}", nix::unistd::geteuid()));
        let capabilities = Capabilities::find(dir.path(), "mainstay-test", &registry).unwrap();
        for missing in &capabilities.missing {
            eprintln!("MISSING: {missing}");
        }
        Self { dir, capabilities }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The writable groups, or a loud word that `test` does not run.
    pub fn groups(&self, test: &str) -> Option<&Groups> {
        if self.capabilities.groups.is_none() {
            eprintln!("SKIPPED without writable control groups: {test}");
        }
        self.capabilities.groups.as_ref()
    }

    /// Slot `index`, its directories made.
    pub fn slot(&self, index: u32) -> Slot {
        let server = ServerId::of(FleetNumber::new(0).unwrap(), index + 1);
        let dirs = SlotDirs::of(self.path(), server);
        let owner = self.capabilities.owner(index).unwrap();
        dirs.prepare(owner).unwrap();
        Slot { server, dirs, owner }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        if let Some(groups) = &self.capabilities.groups {
            until("the groups are empty", || groups.sweep(&[]).ok());
        }
    }
}

/// A slot; what still runs in it is killed at the end.
pub struct Slot {
    pub server: ServerId,
    pub dirs: SlotDirs,
    pub owner: Owner,
}

impl Slot {
    pub fn facts(&self) -> GameFacts {
        GameFacts {
            allocation: None,
            fleet: FleetId::LOWEST,
            machine: MachineId::LOWEST,
            server: self.server,
            region: RegionId::LOWEST,
            region_name: "here".into(),
            ipv4: None,
            ipv6: None,
            port: 9000,
            query_port: 9001,
            query_type: "none".into(),
            local_proxy_url: "http://localhost:8086".into(),
            config_dir: self.dirs.home.clone(),
            log_dir: self.dirs.logs.clone(),
            work_dir: self.dirs.work.clone(),
            file_dir: self.dirs.work.clone(),
            executable: "/bin/sh".into(),
            custom: Vec::new(),
        }
    }

    /// A launch of `/bin/sh -c script` in the slot's directories.
    pub fn shell(&self, script: &str) -> LaunchSpec {
        LaunchSpec {
            version: SPEC_VERSION,
            generation: 1,
            run: 1,
            executable: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: BTreeMap::from([
                ("PATH".into(), "/usr/bin:/bin".into()),
                ("HOME".into(), self.dirs.home.to_str().unwrap().into()),
            ]),
            working_dir: self.dirs.work.clone(),
            identity: self.owner.identity(),
            limits: Vec::new(),
            control_group: None,
            isolation: None,
            container: None,
            output: Output { dir: self.dirs.output.clone(), bytes_max: 1 << 20, files_max: 2 },
        }
    }

    pub fn start(&self, spec: &LaunchSpec) -> Status {
        match client::spawn(&holder(), &[], &self.dirs.run, spec).unwrap() {
            Started::Running(status) => status,
            Started::SpawnFailed(record) => panic!("{record:?}"),
        }
    }

    pub fn connect(&self) -> Connection {
        client::connect(&self.dirs.run).unwrap()
    }

    pub fn exit(&self) -> ExitRecord {
        until("the slot has ended", || match client::adopt(&self.dirs.run).unwrap() {
            Found::Exited(record) => Some(record),
            Found::Running(_) => None,
            found @ (Found::Nothing | Found::OtherBoot(_) | Found::HolderDead(_)) => panic!("{found:?}"),
        })
    }

    pub fn stdout(&self) -> String {
        let text = output::tail(&self.dirs.output, Stream::Stdout, 1 << 20).unwrap();
        String::from_utf8(text).unwrap()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Ok(Found::Running(mut connection)) = client::adopt(&self.dirs.run) {
            let kill = |id| Request::Signal { id, number: libc::SIGKILL, to: Target::Tree };
            // The game may end by itself in between; then its holder has killed the rest.
            let _ = connection.send(kill).and_then(|_| connection.wait_exit(PATIENCE_MS));
        }
    }
}

/// The holder's program, built beside the tests.
pub fn holder() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().and_then(Path::parent).unwrap().join("examples/slot_holder");
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
    // It may have ended by itself in between.
    let _ = kill(Pid::from_raw(mark.pid), Signal::SIGKILL);
}
