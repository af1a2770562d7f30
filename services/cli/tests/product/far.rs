//! Machines elsewhere: agents that reach the control plane by an address that is not loopback's, with a data directory of
//! their own.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::joining::growing;
use crate::product::{Home, Product, until};

/// An address of this host that is not loopback's, as other hosts would reach it.
pub fn beyond() -> String {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.1:9").unwrap();
    socket.local_addr().unwrap().ip().to_string()
}

/// `up` with the fleet of `joining`, heard beyond loopback.
pub fn listening<'a>(home: &'a Home, host: &str) -> Product<'a> {
    let file = home.path().with_file_name("growing.yaml");
    std::fs::write(&file, growing()).unwrap();
    home.up(&[file.to_str().unwrap(), "--listen", host])
}

/// Where other hosts reach agents' streams.
pub fn door(up: &Product<'_>) -> String {
    let ports = up.file("ports.json");
    let all = ports["listening"]["agents"].as_array().unwrap();
    let beyond = all.iter().filter_map(Value::as_str).find(|url| url.starts_with("https://"));
    beyond.unwrap_or_else(|| panic!("nothing is heard beyond loopback: {ports}")).to_owned()
}

pub fn token(up: &Product<'_>, flags: &[&str]) -> String {
    let made = up.json(&[&["token", "create"], flags].concat());
    made["token"].as_str().unwrap().to_owned()
}

/// An agent process with a data directory of its own, its log kept.
pub struct Agent {
    child: Child,
    log: std::path::PathBuf,
}

/// Ports that no other agent of a test that runs now is likely to have: a port counts as free until its game binds it.
fn ports() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let block = (std::process::id() + 37 * NEXT.fetch_add(1, Ordering::Relaxed)) % 100;
    let first = 5_000 + block * 40;
    format!("{first}-{}", first + 39)
}

pub fn command(home: &Home, join: &str, token: Option<&str>, more: &[&str]) -> Command {
    with_slots(home, "1", join, token, more)
}

/// An agent with so many slots.
pub fn with_slots(home: &Home, slots: &str, join: &str, token: Option<&str>, more: &[&str]) -> Command {
    let ports = ports();
    let mut command =
        home.command(&["agent", "--slots", slots, "--ports", &ports, "--games-port", "0", "--join", join]);
    // Most of these tests are about other things than builds, and the folder of theirs is what cargo builds: some GB.
    if !more.contains(&"--builds") {
        command.args(["--builds", "in-place"]);
    }
    command.args(more);
    if let Some(token) = token {
        let file = home.path().with_file_name("token");
        std::fs::write(&file, token).unwrap();
        command.arg("--token-file").arg(file);
    }
    command
}

impl Agent {
    #[track_caller]
    pub fn start(home: &Home, join: &str, token: Option<&str>) -> Self {
        Self::of(home, command(home, join, token, &[]))
    }

    #[track_caller]
    pub fn of(home: &Home, mut command: Command) -> Self {
        let log = home.path().with_file_name("agent.log");
        let said = std::fs::File::options().create(true).append(true).open(&log).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(said).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let agent = Self { child, log };
        assert!(line.contains("agent running"), "{line:?}; its log:\n{}", agent.log());
        agent
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    #[track_caller]
    pub fn says(&self, code: &str) {
        until(&format!("the agent says {code}"), || self.log().contains(code).then_some(()));
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    pub fn end(mut self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Ended already is as good.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// An agent that must not get in: how it ended.
#[track_caller]
pub fn refused(home: &Home, join: &str, token: Option<&str>, more: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = command(home, join, token, more).output().unwrap();
    (status.code(), String::from_utf8_lossy(&stderr).into_owned())
}

/// The machines that are not this host's own, as `machine get` shows them.
pub fn joined(up: &Product<'_>) -> Vec<Value> {
    let all = up.json(&["machine", "list"]);
    let all = all
        .as_array()
        .unwrap()
        .iter()
        .map(|machine| up.json(&["machine", "get", &machine["id"].to_string()]));
    all.filter(|machine| machine["credential"].is_object()).collect()
}

#[track_caller]
pub fn connected(up: &Product<'_>) -> Value {
    until("the machine that joined is connected", || {
        joined(up).into_iter().find(|machine| machine["status"] == "connected")
    })
}

pub fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
