//! The game in C (`session.c`), compiled against the header and the library as it is linked, and one process of it. The product's tests
//! use it too.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long anything may take: many times what it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(45);

/// Compiles the program; `here` is the folder of its crate.
pub fn compile(here: &Path, into: &Path) -> PathBuf {
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
        // Before what the environment names: there may be an older one beside the programs.
        .arg("-Wl,--disable-new-dtags")
        .arg("-lmainstay_peer_ffi")
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

/// One process.
pub struct Player {
    process: Child,
    lines: Receiver<String>,
    /// The words of every line that was read.
    said: RefCell<Vec<Vec<String>>>,
    pub started: Vec<String>,
}

impl Drop for Player {
    /// Kills it.
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// The word of a line that follows the one of that name.
pub fn told<'a>(words: &'a [String], name: &str) -> &'a str {
    let mut words = words.iter().skip_while(|word| *word != name);
    words.nth(1).map_or("", String::as_str)
}

/// How much a line counts.
pub fn counter(words: &[String]) -> u64 {
    words[0].parse().unwrap()
}

/// Of what a player said as many lines of each kind are shown where it did not say what was waited for.
const LINES_SHOWN: usize = 12;

impl Player {
    /// Runs the program.
    pub fn start(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = process.stdout.take().unwrap();
        let (said, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| said.send(line))
        });
        let mut player = Self { process, lines, said: RefCell::default(), started: Vec::new() };
        player.started = player.until("it starts", |words| words[1] == "started");
        player
    }

    /// Who it is.
    pub fn id(&self) -> &str {
        told(&self.started, "started")
    }

    /// Which session it plays.
    pub fn session(&self) -> &str {
        told(&self.started, "session")
    }

    /// The words of the first line that is as wanted.
    #[track_caller]
    pub fn until(&self, what: &str, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        let until = Instant::now() + PATIENCE;
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            self.said.borrow_mut().push(words.clone());
            if wanted(&words) {
                return words;
            }
        }
        let why = if Instant::now() < until { "it has ended" } else { "its time is up" };
        let said = self.said.borrow();
        // What it is like it says all the time: that hides what happened.
        let (stands, events): (Vec<_>, Vec<_>) = said.iter().rev().partition(|words| words[1] == "stands");
        let [stands, events] = [stands, events]
            .map(|all| all.into_iter().take(LINES_SHOWN).map(|words| words.join(" ")).collect::<Vec<_>>());
        panic!("{what}: {why} after {} lines, the last first: {events:#?} {stands:#?}", said.len());
    }

    /// The same, be it that the line came before.
    #[track_caller]
    pub fn says(&self, what: &str, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        let said = self.said.borrow().iter().find(|words| wanted(words)).cloned();
        said.unwrap_or_else(|| self.until(what, wanted))
    }
}
