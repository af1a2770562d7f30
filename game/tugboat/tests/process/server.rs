//! A server under test, and how to wait for what it says.

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use mainstay_query::{Answer, DATAGRAM_BYTES_MAX, Probe, Protocol, Step};
use tempfile::TempDir;

/// How long a test waits for something that should come at once: generous, because machines that test are busy. Nothing
/// is asserted about how long it took.
pub const PATIENCE: Duration = Duration::from_secs(20);
pub const TOKEN: &str = "let-me";

pub struct Server {
    child: Child,
    pub home: TempDir,
}

impl Server {
    /// Starts a server on free loopback ports, in a home of its own.
    pub fn start(args: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), args)
    }

    pub fn start_in(home: TempDir, args: &[&str]) -> Self {
        Self::run(home, &["--bind", "127.0.0.1"], args)
    }

    /// Starts a server on the addresses it takes by itself.
    pub fn start_everywhere(args: &[&str]) -> Self {
        Self::run(tempfile::tempdir().unwrap(), &[], args)
    }

    fn run(home: TempDir, bind: &[&str], args: &[&str]) -> Self {
        let log = home.path().join("log");
        let child = Command::new(program())
            .args(bind)
            .args(["--control-token", TOKEN, "--log"])
            .arg(&log)
            .args(args)
            .env_clear()
            .env("HOME", home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { child, home }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }

    /// Waits for a line of the log that has this text, and gives it.
    pub fn line(&mut self, text: &str) -> String {
        until(&format!("{text:?} in the log"), || {
            let line = self.log().lines().find(|line| line.contains(text)).map(str::to_owned);
            if line.is_none() && self.child.try_wait().unwrap().is_some() {
                let mut said = String::new();
                self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                panic!("the server ended without {text:?} in its log:\n{}{said}", self.log());
            }
            line
        })
    }

    fn word(&mut self, name: &str) -> String {
        let ready = self.line("ready pid=");
        let word = ready.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        word.unwrap().to_owned()
    }

    pub fn game(&mut self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.word("port").parse().unwrap()))
    }

    pub fn query(&mut self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.word("query-port").parse().unwrap()))
    }

    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(self.child.id().try_into().unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
    }

    pub fn ended(&mut self) -> ExitStatus {
        until("the end of the server", || self.child.try_wait().unwrap())
    }

    pub fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub fn stderr(&mut self) -> String {
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _reaped_already = self.child.wait();
    }
}

/// Cargo builds examples along with tests, beside them.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/tugboat")
}

/// Waits until `check` gives something.
pub fn until<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// One probe of a server; `None` for silence.
pub fn probe(protocol: &str, server: SocketAddr) -> Option<Answer> {
    let protocol: Protocol = protocol.parse().unwrap();
    let Probe::Datagrams(mut prober) = protocol.probe(1) else { panic!("{protocol} sends no datagrams") };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(mainstay_query::ANSWER_TIMEOUT)).unwrap();
    socket.send(&prober.start()).unwrap();
    let mut buffer = [0; DATAGRAM_BYTES_MAX + 1];
    loop {
        let length = socket.recv(&mut buffer).ok()?;
        match prober.receive(&buffer[..length]) {
            Step::Send(packet) => drop(socket.send(&packet).unwrap()),
            Step::Done(answer) => return Some(answer),
            Step::Wait => {}
            Step::Refused(malformed) => panic!("{malformed}"),
        }
    }
}
