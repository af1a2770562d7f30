//! A game in C on the library as it is linked: three processes, whose host is killed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking; unwrap says where")]

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long anything may take: many times what it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(45);

/// Compiles the program against the header and the shared library.
fn compile(into: &Path) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Where cargo puts the library that this test was built with.
    let libraries = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let program = into.join("session");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(here.join("tests/c/session.c"))
        .arg("-I")
        .arg(here.join("include"))
        .arg("-L")
        .arg(&libraries)
        .arg(format!("-Wl,-rpath,{}", libraries.display()))
        .arg("-lmainstay_peer_ffi")
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

struct Player {
    process: Child,
    lines: Receiver<String>,
    /// The words of every line that was read.
    said: RefCell<Vec<Vec<String>>>,
    id: String,
    session: String,
    address: String,
}

impl Drop for Player {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

impl Player {
    fn start(program: &Path, arguments: &[&str]) -> Self {
        let mut process = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let out = process.stdout.take().unwrap();
        let (said, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| said.send(line))
        });
        let mut player = Self {
            process,
            lines,
            said: RefCell::default(),
            id: String::new(),
            session: String::new(),
            address: String::new(),
        };
        let started = player.until("it starts", |words| words[1] == "started");
        [player.id, player.session, player.address] = [2, 4, 6].map(|at| started[at].clone());
        player
    }

    /// The words of the first line that is as wanted.
    #[track_caller]
    fn until(&self, what: &str, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        let (until, mut last) = (Instant::now() + PATIENCE, Vec::new());
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            last = line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            self.said.borrow_mut().push(last.clone());
            if wanted(&last) {
                return last;
            }
        }
        panic!("{what}: {last:?}");
    }

    /// The same, be it that the line came before.
    #[track_caller]
    fn says(&self, what: &str, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        let said = self.said.borrow().iter().find(|words| wanted(words)).cloned();
        said.unwrap_or_else(|| self.until(what, wanted))
    }

    fn counter(words: &[String]) -> u64 {
        words[0].parse().unwrap()
    }
}

fn plays(words: &[String], host: &str, epoch: &str, members: &str) -> bool {
    words[1] == "stands" && words[3] == host && words[5] == epoch && words[7] == members
}

/// Issue 5: "A C ABI (`game/peer-ffi`, header generated) so that engines that are not Rust can link it, with a C program that
/// migrates in a test."
#[test]
fn a_game_in_c_outlives_its_host() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path());
    let mut host = Player::start(&program, &["found"]);
    let others: Vec<Player> =
        (0..2).map(|_| Player::start(&program, &["join", &host.session, &host.address])).collect();
    for player in others.iter().chain([&host]) {
        player.until("three play, linked, and somebody could follow", |words| {
            plays(words, &host.id, "1", "3")
                && words[9] == "2"
                && words[11] == "1"
                && Player::counter(words) > 5
        });
    }
    let before = Player::counter(&others[0].until("a state is heard", |words| words[1] == "stands"));
    host.process.kill().unwrap();
    let migrated: Vec<Vec<String>> = others
        .iter()
        .map(|player| {
            player.until("it moves", |words| words[1] == "migrated" && words[3] == "2" && words[5] == "2")
        })
        .collect();
    let after: Vec<String> =
        others[0].until("it has a host", |words| words[1] == "stands" && words[5] == "2");
    let heir = after[3].clone();
    assert!(others.iter().any(|player| player.id == heir), "one of the two: {after:?}");
    let (heir_of, client) =
        if others[0].id == heir { (&others[0], &others[1]) } else { (&others[1], &others[0]) };
    let again = heir_of.says("the client has its actor already", |words| words[1] == "again");
    let actor = u64::from_str_radix(&client.id[..2], 16).unwrap() + 1000;
    assert_eq!(again[2], actor.to_string(), "the one that its first host gave it");
    let discarded = client.says("what it listed comes back", |words| words[1] == "discards");
    assert_eq!(discarded[2..], ["1", "4711"], "once, though it was listed twice");
    for player in &others {
        let words = player.until("they play on from where they were", |words| {
            plays(words, &heir, "2", "2") && Player::counter(words) > before
        });
        // Five stages, each of them twice.
        assert_eq!(words[13], "10", "{words:?} after {migrated:?}");
    }
}
