//! A data directory and the agent's process in it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use mainstay_agent::os::slot_dirs::SlotDirs;
use mainstay_holder::client::{self, Found};
use mainstay_holder::protocol::{Request, Target};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::plane::{MACHINE, PATIENCE, Plane, server};

/// Ports for tests, apart from those that the kernel gives to sockets without a port of their own.
static NEXT_PORT: AtomicU16 = AtomicU16::new(0);

/// A data directory; whatever still runs in its slots is killed at the end.
pub struct Host {
    dir: tempfile::TempDir,
    /// The slots of each of its machines.
    machines: Vec<u32>,
    ports: (u16, u16),
}

impl Host {
    pub fn new(slots: u32) -> Self {
        Self::with_machines(&[slots])
    }

    /// One machine for each number of slots.
    pub fn with_machines(machines: &[u32]) -> Self {
        let slots: u32 = machines.iter().sum();
        // Each test is a process of its own, so the process gives the place and the counter the rest.
        let room = u16::try_from(slots * 2).expect("few slots");
        let place = 10_000 + u16::try_from(std::process::id() % 200).expect("small") * 100;
        let first = place + NEXT_PORT.fetch_add(room, Ordering::Relaxed);
        // Twice as many as needed: some may be taken.
        Self {
            dir: tempfile::tempdir().expect("a folder"),
            machines: machines.to_vec(),
            ports: (first, first + 2 * room),
        }
    }

    /// Starts an agent's process.
    pub fn agent(&self, plane: &Plane) -> Agent {
        let child = Command::new(example("agent_alone"))
            .arg(self.dir.path())
            .arg(format!("http://{}", plane.address))
            .arg(example("slot_holder"))
            .args([self.ports.0.to_string(), self.ports.1.to_string(), self.slots()])
            .stdin(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        Agent(Some(child))
    }

    fn slots(&self) -> String {
        self.machines.iter().map(u32::to_string).collect::<Vec<_>>().join("+")
    }

    pub fn dirs(&self, n: u32) -> SlotDirs {
        let dir = self.dir.path().canonicalize().expect("the folder is there");
        SlotDirs::of(&dir, server(n))
    }

    /// Tells a game to exit.
    #[expect(clippy::disallowed_methods, reason = "a word to a game outlives no power cut")]
    pub fn tell_exit(&self, n: u32, code: u8) {
        let home = self.dirs(n).home;
        // Whole at once: the game reads it as soon as it is there.
        std::fs::write(home.join("do.new"), code.to_string()).expect("a word to the game");
        std::fs::rename(home.join("do.new"), home.join("do")).expect("a word to the game");
    }

    /// A field of `server.json` as it is now.
    pub fn told(&self, n: u32, field: &str) -> String {
        field_of(&self.dirs(n).home.join("server.json"), field)
    }

    /// A field of `server.json` as the newest game read it at its start.
    pub fn read_at_start(&self, n: u32, field: &str) -> String {
        field_of(&self.dirs(n).home.join("seen"), field)
    }

    /// The process of a slot's holder.
    pub fn holder_pid(&self, n: u32) -> u32 {
        match client::adopt(&self.dirs(n).run).expect("the slot can be looked at") {
            Found::Running(connection) => connection.status.holder.pid.cast_unsigned(),
            found @ (Found::Nothing | Found::Exited(_) | Found::OtherBoot(_) | Found::HolderDead(_)) => {
                panic!("{found:?}")
            }
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let servers =
            (0..).zip(&self.machines).flat_map(|(n, slots)| (1..=*slots).map(move |it| n * MACHINE + it));
        for n in servers {
            if let Ok(Found::Running(mut connection)) = client::adopt(&self.dirs(n).run) {
                let kill = |id| Request::Signal { id, number: 9, to: Target::Tree };
                if connection.send(kill).is_ok() {
                    let _ended = connection.wait_exit(10_000);
                }
            }
        }
    }
}

/// As stock clients read it: the file is written in place, so a reader may meet it empty and looks again.
fn field_of(path: &Path, field: &str) -> String {
    for _ in 0..1000 {
        let text = std::fs::read_to_string(path).expect("the file is there");
        if text.ends_with('}') {
            let fields: serde_json::Value = serde_json::from_str(&text).expect("the file is JSON");
            return fields[field].as_str().expect("the field is a string").to_owned();
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("{} stays empty", path.display())
}

/// An agent's process; ended at the end, by the end of its standard input.
pub struct Agent(Option<Child>);

impl Agent {
    /// SIGKILL: no word, no trace.
    pub fn kill(self) {
        self.end(Signal::SIGKILL);
    }

    /// SIGTERM: it leaves its games.
    pub fn leave(self) {
        assert!(self.end(Signal::SIGTERM), "the agent ends in order");
    }

    /// SIGINT: it stops its games.
    pub fn stop_all(self) {
        assert!(self.end(Signal::SIGINT), "the agent ends in order");
    }

    fn end(mut self, signal: Signal) -> bool {
        let mut child = self.0.take().expect("one agent");
        // Held to the end: a wait closes it, and that would be another word to the agent.
        let _stdin = child.stdin.take();
        send(child.id(), signal);
        child.wait().expect("the agent is our child").success()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            drop(child.stdin.take());
            let _status = child.wait();
        }
    }
}

pub fn send(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid.cast_signed()), signal).expect("the process is there");
}

/// Waits for something on this machine that nobody reports.
pub async fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let waiting = async {
        loop {
            if let Some(value) = look() {
                return value;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    match tokio::time::timeout(PATIENCE, waiting).await {
        Ok(value) => value,
        Err(_) => panic!("not {what} within {PATIENCE:?}"),
    }
}

/// One of this crate's examples.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let target = test.parent().and_then(Path::parent).expect("tests lie in deps");
    target.join("examples").join(name)
}
