//! A game as a shell script that does what a file in its home tells it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::slot::{
    Caps, Checks, ConfigurationRef, Launch, Limits, Query, QueryPort, ReadySignal, Recovery, RestartPolicy,
    Spec, StopPolicy,
};
use mainstay_core::{BuildConfigurationId, BuildId, FleetNumber};

/// Notes what it reads at its start, whole or not at all, then waits for `$HOME/do`: a number to exit with.
const OBEDIENT: &str = r#"#!/bin/sh
echo "up $1"
cat "$HOME/server.json" > "$HOME/reads" && mv "$HOME/reads" "$HOME/seen"
while :; do
    if [ -e "$HOME/do" ]; then code=$(cat "$HOME/do"); rm "$HOME/do"; exit "$code"; fi
    sleep 0.05
done
"#;

/// Hears no SIGTERM.
const DEAF: &str = r#"#!/bin/sh
trap '' TERM
while :; do sleep 0.05; done
"#;

/// Uses all the CPU it gets, and says so in a log of its own too.
const BUSY: &str = r#"#!/bin/sh
echo busy now
echo busy in the log > "$HOME/../logs/game.log"
while :; do :; done
"#;

/// Takes 100 MB.
const LARGE: &str = r#"#!/bin/sh
eaten=$(head -c 100000000 /dev/zero | tr '\0' x)
while :; do sleep 0.05; done
"#;

/// Hears neither SIGTERM nor SIGSEGV.
const FEARLESS: &str = r"#!/bin/sh
trap '' TERM SEGV
while :; do sleep 0.05; done
";

/// A build folder with games.
pub struct Build(tempfile::TempDir);

impl Build {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let build = Self(dir);
        build.put("obedient", OBEDIENT, 0o755);
        build.put("deaf", DEAF, 0o755);
        build.put("busy", BUSY, 0o755);
        build.put("large", LARGE, 0o755);
        build.put("fearless", FEARLESS, 0o755);
        build.put("not-executable", OBEDIENT, 0o644);
        build
    }

    fn put(&self, name: &str, text: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("a mode");
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A configuration of one of the games.
    pub fn spec(&self, n: u32, binary: &str) -> Spec {
        let environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        Spec {
            configuration: configuration(n),
            name: Arc::from(binary),
            build: BuildId::of(fleet(), 1),
            launch: Launch {
                folder: self.path().display().to_string(),
                binary: binary.to_owned(),
                command_line: "$$port$$".to_owned(),
                variables: vec![("map".to_owned(), "dm1".to_owned())],
                environment,
            },
            query: None,
            limits: Limits { cpu_millis: 100, memory_mib: 64 },
            caps: Caps::default(),
            stop: StopPolicy { signal: 15, kill_after: Duration::from_secs(10) },
            restart: RestartPolicy::default(),
            checks: Checks::default(),
            recovery: Recovery::default(),
            ready_signal: ReadySignal::default(),
        }
    }
}

/// Asked on the query port: one byte for another.
pub fn one_byte_query() -> Query {
    Query {
        protocol: "udp:70:71".to_owned(),
        port: QueryPort::Query,
        timeout: Duration::from_secs(1),
        start_grace: Duration::from_secs(60),
    }
}

pub fn fleet() -> FleetNumber {
    FleetNumber::new(1).expect("1 is a fleet number")
}

pub fn configuration(n: u32) -> ConfigurationRef {
    ConfigurationRef { id: BuildConfigurationId::of(fleet(), n), revision: 1 }
}

/// Whether a process exists.
pub fn is_alive(pid: u32) -> bool {
    // A zombie has ended; its parent just has not looked yet.
    std::fs::read_to_string(PathBuf::from(format!("/proc/{pid}/stat")))
        .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}
