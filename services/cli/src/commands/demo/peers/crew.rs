//! The players of a peer-hosted game, each a process of its own, and what they have said so far.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::failure::{Exit, Failure};

/// How many lines of players wait to be read: a second's of the largest crew.
const LINES_MAX: usize = 1_024;
/// How long a player has to leave before its process is killed.
const LEAVES_WITHIN: Duration = Duration::from_secs(6);
/// How often a process that is to end is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// One player.
pub struct Player {
    process: Child,
    console: Option<ChildStdin>,
    pid: Pid,
    /// Its key's fingerprint.
    pub peer: String,
    /// What has become of its process.
    pub life: Life,
    /// How it said last that it stands.
    pub stands: Value,
    /// The moves it told of, in their order.
    pub moves: Vec<Value>,
}

impl Player {
    /// The last move it told of, if that went past this one.
    pub fn move_after(&self, stamp: Stamp) -> Option<&Value> {
        self.moves.last().filter(|moved| Stamp::of(moved) > stamp)
    }

    /// Its process.
    pub const fn pid(&self) -> Pid {
        self.pid
    }
}

/// Which host a line speaks of: the epoch, and how many hosts without a majority since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    epoch: Option<u64>,
    fork: Option<u64>,
}

impl Stamp {
    /// Of a line that says so.
    pub fn of(line: &Value) -> Self {
        Self { epoch: line["epoch"].as_u64(), fork: line["fork"].as_u64() }
    }
}

/// What has become of a player's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It plays.
    Plays,
    /// It was stopped: nothing comes from it, and nothing answers for it.
    Stopped,
    /// It has been told to leave, or has ended.
    Gone,
}

/// All of them.
pub struct Crew {
    pub players: Vec<Player>,
    /// How the session is known.
    pub session: String,
    /// Who left without being asked to.
    left: Vec<String>,
    said: SyncSender<(usize, Value)>,
    heard: Receiver<(usize, Value)>,
}

impl Crew {
    pub fn new() -> Self {
        let (said, heard) = sync_channel(LINES_MAX);
        Self { players: Vec::new(), session: String::new(), left: Vec::new(), said, heard }
    }

    /// Starts a player: the first one founds the session, the others join it through `doors`.
    pub fn start(&mut self, arguments: &[String], doors: &[String]) -> Result<String, Failure> {
        let refused = |what: &str, error: &dyn std::fmt::Display| {
            Failure::new(Exit::Failed, "MS-U046", format!("cannot {what} a player's process")).why(error)
        };
        let program = std::env::current_exe().map_err(|error| refused("find the program of", &error))?;
        let mut command = Command::new(program);
        command.args(["demo", "peer", "--bot", "--with-parent", "--bind", "127.0.0.1:0"]).args(arguments);
        if !doors.is_empty() {
            command.args(["--session", &self.session]);
            for door in doors {
                command.args(["--via", door]);
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| refused("start", &error))?;
        let console = process.stdin.take();
        let index = self.players.len();
        let out = process.stdout.take();
        let pid = Pid::from_raw(i32::try_from(process.id()).unwrap_or(i32::MAX));
        self.players.push(Player {
            process,
            console,
            pid,
            peer: String::new(),
            life: Life::Plays,
            stands: Value::Null,
            moves: Vec::new(),
        });
        if let Some(out) = out {
            let said = self.said.clone();
            thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    let Ok(line) = serde_json::from_str(&line) else { continue };
                    if said.send((index, line)).is_err() {
                        return;
                    }
                }
                // The crew is gone where nobody hears that one of it is.
                let _gone = said.send((index, serde_json::json!({ "event": "closed" })));
            });
        }
        let mut address = None;
        self.until("a player's process starts", |index_of, line| {
            if index_of == index && line["event"] == "started" {
                address = Some((text(line, "address"), text(line, "session"), text(line, "peer")));
            }
            address.is_some()
        })?;
        let (address, session, peer) = address.unwrap_or_default();
        self.players[index].peer = peer;
        self.session = session;
        Ok(address)
    }

    /// Hears what players say until `enough` says so, which is asked after each line; every other line is noted too.
    fn until(&mut self, what: &str, mut enough: impl FnMut(usize, &Value) -> bool) -> Result<(), Failure> {
        let until = Instant::now() + super::PATIENCE;
        loop {
            let Some((index, line)) = self.line(until) else { return Err(late(what, &self.players)) };
            if enough(index, &line) {
                return Ok(());
            }
        }
    }

    /// Hears what players say until things stand as wanted.
    pub fn until_all(&mut self, what: &str, wanted: impl Fn(&[Player]) -> bool) -> Result<(), Failure> {
        let until = Instant::now() + super::PATIENCE;
        while !wanted(&self.players) {
            if self.line(until).is_none() {
                return Err(late(what, &self.players));
            }
            if !self.left.is_empty() {
                let what = format!("{what}: not with players who leave by themselves");
                return Err(Failure::new(Exit::Failed, "MS-U044", what).why(self.left.join("\n       ")));
            }
        }
        Ok(())
    }

    /// Hears one line, if one comes before then.
    pub fn line(&mut self, until: Instant) -> Option<(usize, Value)> {
        let left = until.saturating_duration_since(Instant::now());
        let (index, line) = match self.heard.recv_timeout(left) {
            Ok(heard) => heard,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        };
        let player = &mut self.players[index];
        match line["event"].as_str() {
            Some("stands") => player.stands = line.clone(),
            Some("moved") => player.moves.push(line.clone()),
            Some("over" | "closed") if player.life == Life::Plays => {
                player.life = Life::Gone;
                self.left.push(format!("{} left the game: {}", player.peer, line["why"]));
            }
            Some(_) | None => {}
        }
        Some((index, line))
    }

    /// Those that play.
    pub fn playing(&self) -> impl Iterator<Item = &Player> {
        self.players.iter().filter(|player| player.life == Life::Plays)
    }

    /// The one that the others obey.
    pub fn host(&self) -> Option<usize> {
        self.players.iter().position(|player| player.life == Life::Plays && player.stands["is"] == "HOST")
    }

    /// Silently stops a process: it neither sends nor reads nor closes anything, and its socket stands, so that the kernel
    /// answers nothing for it.
    pub fn stop(&mut self, index: usize) -> Result<(), Failure> {
        self.signal(index, Signal::SIGSTOP)?;
        self.players[index].life = Life::Stopped;
        Ok(())
    }

    /// A stopped process goes on as if nothing had been.
    pub fn thaw(&mut self, index: usize) -> Result<(), Failure> {
        self.players[index].life = Life::Plays;
        self.signal(index, Signal::SIGCONT)
    }

    /// A player leaves as a person does who quits the game.
    pub fn ask_to_leave(&mut self, index: usize) -> Result<(), Failure> {
        self.players[index].life = Life::Gone;
        self.signal(index, Signal::SIGTERM)
    }

    fn signal(&self, index: usize, signal: Signal) -> Result<(), Failure> {
        kill(self.players[index].pid, signal).map_err(|error| {
            let what = format!("cannot send {signal} to player {}", self.players[index].peer);
            Failure::new(Exit::Failed, "MS-U046", what).why(error)
        })
    }

    /// Ends the process of a player that was stopped for good.
    pub fn bury(&mut self, index: usize) -> Result<(), Failure> {
        let player = &mut self.players[index];
        player.life = Life::Gone;
        let ended = player.process.kill().and_then(|()| player.process.wait());
        ended.map(|_status| ()).map_err(|error| {
            Failure::new(Exit::Failed, "MS-U046", format!("cannot end player {}", player.peer)).why(error)
        })
    }
}

impl Drop for Crew {
    /// Everybody leaves: the console of each closes, and who does not go is killed.
    fn drop(&mut self) {
        for player in &mut self.players {
            player.life = Life::Gone;
            player.console = None;
        }
        let until = Instant::now() + LEAVES_WITHIN;
        for player in &mut self.players {
            while matches!(player.process.try_wait(), Ok(None)) && Instant::now() < until {
                // Whoever is read no more cannot write its last words.
                while self.heard.try_recv().is_ok() {}
                thread::sleep(LOOK_AGAIN);
            }
            if matches!(player.process.try_wait(), Ok(None)) {
                // It has ended meanwhile where it cannot be killed.
                let _ended = player.process.kill().and_then(|()| player.process.wait());
            }
        }
    }
}

pub fn text(line: &Value, name: &str) -> String {
    line[name].as_str().unwrap_or_default().to_owned()
}

fn late(what: &str, players: &[Player]) -> Failure {
    let stands: Vec<String> = players
        .iter()
        .map(|player| format!("{} ({:?}): {}", player.peer, player.life, player.stands))
        .collect();
    Failure::new(Exit::TimedOut, "MS-U042", format!("{what}: not within {} s", super::PATIENCE.as_secs()))
        .why(stands.join("\n       "))
}
