//! `mainstay up` in a data directory of its own, started, asked and stopped the way a stranger does it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::caller::Caller;

/// Longest wait for anything: far above what a busy machine needs, below the runner's own limit.
pub const LIMIT: Duration = Duration::from_secs(60);
/// Pause between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Looks until `look` sees something, and fails the test after [`LIMIT`] with the name of what did not come.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(began.elapsed() < LIMIT, "{what}: not within {} s", LIMIT.as_secs());
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// A data directory, removed at the end, with whatever still runs in it.
pub struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self { dir: tempfile::Builder::new().prefix("mainstay-test").tempdir().unwrap() }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A `mainstay` command that knows this data directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
        command.args(arguments).arg("--data-dir").arg(self.path()).stdin(Stdio::null());
        command
    }

    /// `mainstay up ARGUMENTS --ports auto`, once it says that it is ready.
    #[track_caller]
    pub fn up(&self, arguments: &[&str]) -> Product<'_> {
        self.up_with(arguments, &[])
    }

    /// With a file that says nothing.
    #[track_caller]
    pub fn up_bare(&self) -> Product<'_> {
        let file = self.path().with_file_name("mainstay.yaml");
        std::fs::write(&file, "version: 1.0\n").unwrap();
        self.up(&[file.to_str().unwrap()])
    }

    /// As [`Home::up`], with more in its environment.
    #[track_caller]
    pub fn up_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Product<'_> {
        let log = self.dir.path().join("up.log");
        let said = File::options().create(true).append(true).open(&log).unwrap();
        let mut child = self
            .command(&[&["up", "--ports", "auto"], arguments].concat())
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(said)
            .spawn()
            .unwrap();
        let lines = lines_of(child.stdout.take().unwrap());
        let Ok(first) = lines.recv_timeout(LIMIT) else {
            let ended = child.try_wait().unwrap();
            let said = std::fs::read_to_string(&log).unwrap();
            panic!("`mainstay up` said nothing on stdout (ended: {ended:?}); on stderr:\n{said}");
        };
        let ready = serde_json::from_str(&first).unwrap_or_else(|error| panic!("{error} in: {first}"));
        Product { home: self, child, ready, lines }
    }
}

impl Drop for Home {
    /// Ends what a killed `up` left behind: every process whose command line or environment names this directory.
    fn drop(&mut self) {
        for pid in processes_of(self.dir.path()) {
            // Gone in between is as good.
            let _gone = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

/// The lines of a stream, read by a thread so that nobody waits for ever.
pub fn lines_of(stream: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Processes that name `dir` on their command line or in their environment.
pub fn processes_of(dir: &Path) -> Vec<i32> {
    let dir = dir.as_os_str().as_encoded_bytes();
    let names = |bytes: Vec<u8>| bytes.windows(dir.len()).any(|part| part == dir);
    procfs::process::all_processes()
        .unwrap()
        .filter_map(Result::ok)
        .map(|process| process.pid)
        .filter(|pid| *pid != i32::try_from(std::process::id()).unwrap())
        .filter(|pid| {
            ["cmdline", "environ"]
                .iter()
                .any(|file| std::fs::read(format!("/proc/{pid}/{file}")).is_ok_and(names))
        })
        .collect()
}

/// Whether a process lives: it exists and is no zombie.
pub fn lives(pid: i32) -> bool {
    procfs::process::Process::new(pid).and_then(|process| process.stat()).is_ok_and(|stat| stat.state != 'Z')
}

/// A running `mainstay up`.
pub struct Product<'a> {
    home: &'a Home,
    child: Child,
    /// The line it said when it was ready.
    pub ready: Value,
    lines: mpsc::Receiver<String>,
}

impl Product<'_> {
    /// One of the files it writes.
    #[track_caller]
    pub fn file(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.home.path().join(name)).unwrap()).unwrap()
    }

    /// What it has said on standard error.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.home.dir.path().join("up.log")).unwrap()
    }

    /// A caller with this installation's credentials.
    #[track_caller]
    pub fn caller(&self) -> Caller {
        Caller::new(&self.file("ports.json"), &self.file("credentials.json"))
    }

    /// What a command prints as JSON.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// A command, with `-o json`.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.home.command(&[arguments, &["-o", "json"]].concat()).output().unwrap()
    }

    /// A server as `server get` shows it.
    #[track_caller]
    pub fn server(&self, id: &str) -> Value {
        self.json(&["server", "get", id])
    }

    /// What a server has printed, for the message of a failing test.
    pub fn output_of(&self, server: &Value) -> String {
        let logs = self.home.command(&["server", "logs", &server["id"].to_string()]).output().unwrap();
        String::from_utf8_lossy(&logs.stdout).into_owned()
    }

    /// The servers as `server list` shows them.
    #[track_caller]
    pub fn servers(&self) -> Vec<Value> {
        self.json(&["server", "list"]).as_array().unwrap().clone()
    }

    /// The game's own process, once the server has one and its status is `status`.
    #[track_caller]
    pub fn pid_when(&self, server: &str, status: &str) -> i32 {
        until(&format!("server {server} {status} with a process"), || {
            let seen = self.server(server);
            // One that starts hears no command yet.
            let is_up = seen["status"] == status && seen["process"] == "online";
            let pid = seen["pid"].as_i64().filter(|_| is_up)?;
            Some(i32::try_from(pid).unwrap())
        })
    }

    /// Sends a signal to `up` itself.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// SIGKILL: no chance to tidy up.
    pub fn kill_nine(mut self) {
        self.signal(Signal::SIGKILL);
        self.child.wait().unwrap();
    }

    /// SIGTERM, and how it ended.
    #[track_caller]
    pub fn stop(self) -> ExitStatus {
        self.ended_by(Signal::SIGTERM)
    }

    /// A signal, and how it ended.
    #[track_caller]
    pub fn ended_by(mut self, signal: Signal) -> ExitStatus {
        self.signal(signal);
        until("`mainstay up` ends after a signal", || self.child.try_wait().unwrap())
    }

    /// What else it has said on stdout so far.
    pub fn further_lines(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }
}

impl Drop for Product<'_> {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.signal(Signal::SIGKILL);
            self.child.wait().unwrap();
        }
    }
}
