//! The players of a peer-hosted game, each a process of its own, and what they have said so far: for whoever starts some and
//! makes their hosts go away, which are the demo, the benchmark and the tests.

use std::io::{self, BufRead, BufReader, Write as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// How long anything may take: a migration's own limit is 30 s.
pub const PATIENCE: Duration = Duration::from_secs(45);
/// How far behind the newest tick the ones that are held by others may be for the players to have settled: a second.
const DURABLE_LAG_MAX: u64 = 20;
/// How many lines of players wait to be read: a second's of the largest crew.
const LINES_MAX: usize = 1_024;
/// How long a player has to leave before its process is killed: a host has four seconds to hand over, and then six for its last words.
const LEAVES_WITHIN: Duration = Duration::from_secs(12);
/// What is waited for when a host has gone.
const MOVES: &str = "the session goes on under another host";
/// How often a process that is to end is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Why players do not do what they should.
#[derive(Debug, thiserror::Error)]
pub enum CrewError {
    /// The system refuses.
    #[error("cannot {what}")]
    System {
        /// To do what.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// It takes too long.
    #[error("waited {} s in vain for this: {what}\n       {stands}", within.as_secs())]
    Late {
        /// What was waited for.
        what: String,
        /// How long.
        within: Duration,
        /// How all players stand.
        stands: String,
    },
    /// Players have ended by themselves.
    #[error("players left by themselves, while this was waited for: {what}\n       {who}")]
    Left {
        /// What was waited for.
        what: String,
        /// Who, and why.
        who: String,
    },
}

/// One player.
#[derive(Debug)]
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
    /// What it was host of.
    pub led: Vec<Stamp>,
}

impl Player {
    /// The last move it told of, if that went past this one.
    #[must_use]
    pub fn move_after(&self, stamp: Stamp) -> Option<&Value> {
        self.moves.last().filter(|moved| Stamp::of(moved) > stamp)
    }

    /// Every move it told of that went past this one: a host that is lost at once makes two.
    pub fn moves_after(&self, stamp: Stamp) -> impl Iterator<Item = &Value> {
        self.moves.iter().filter(move |moved| Stamp::of(moved) > stamp)
    }

    /// Its process.
    #[must_use]
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
    #[must_use]
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

/// Who left without being asked to.
#[derive(Debug)]
pub struct Left {
    /// Who, and why, for people.
    pub who: String,
    /// How it said last that it stood.
    stood: Value,
}

/// All of them. Dropped, they leave.
#[derive(Debug)]
pub struct Crew {
    /// In the order they were started in.
    pub players: Vec<Player>,
    /// How the session is known.
    pub session: String,
    left: Vec<Left>,
    said: SyncSender<(usize, Value)>,
    heard: Receiver<(usize, Value)>,
}

impl Default for Crew {
    fn default() -> Self {
        let (said, heard) = sync_channel(LINES_MAX);
        Self { players: Vec::new(), session: String::new(), left: Vec::new(), said, heard }
    }
}

impl Crew {
    /// Starts a player by a command that runs one peer and lacks its arguments, on a socket at `bind`: the first player founds
    /// the session, the others join it, in the lobby that the arguments name or through `doors`. Returns where it can be reached.
    ///
    /// # Errors
    /// Where its process does not start.
    pub fn start(
        &mut self,
        mut command: Command,
        bind: SocketAddr,
        arguments: &[String],
        doors: &[String],
    ) -> Result<String, CrewError> {
        command.args(["--bot", "--with-parent", "--bind", &bind.to_string()]).args(arguments);
        if !self.session.is_empty() {
            command.args(["--session", &self.session]);
            for door in doors {
                command.args(["--via", door]);
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(system("start a player's process"))?;
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
            led: Vec::new(),
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

    /// Waits until every player obeys the same host, has a link to everybody, and somebody could follow with what was told
    /// safe. Returns the host.
    ///
    /// # Errors
    /// Where it takes too long, or players leave.
    pub fn settled(&mut self) -> Result<usize, CrewError> {
        self.until_all("the players play together", |players| host_of_settled(players).is_some())?;
        Ok(host_of_settled(&self.players).unwrap_or_default())
    }

    /// Waits until everybody who plays goes on under one host that came after `before`, and returns what each tells of its
    /// last move, by player.
    ///
    /// # Errors
    /// Where it takes too long, or players leave.
    pub fn moved(&mut self, before: Stamp) -> Result<Vec<(usize, Value)>, CrewError> {
        let moves = self.moved_by(before, Instant::now() + PATIENCE)?;
        moves.ok_or_else(|| late(MOVES, PATIENCE, &self.players))
    }

    /// The same, or `None` where they do not until then.
    ///
    /// # Errors
    /// Where players leave.
    pub fn moved_by(
        &mut self,
        before: Stamp,
        until: Instant,
    ) -> Result<Option<Vec<(usize, Value)>>, CrewError> {
        let moves = |players: &[Player]| -> Vec<(usize, Option<Value>)> {
            let playing = players.iter().enumerate().filter(|(_, player)| player.life == Life::Plays);
            playing.map(|(index, player)| (index, player.move_after(before).cloned())).collect()
        };
        let have_moved = self.all_by(MOVES, until, |players| {
            // A host that has itself elected anew stays the host: who comes to it later tells of a later epoch.
            let mut hosts: Vec<Option<String>> = moves(players)
                .iter()
                .map(|(_, moved)| moved.as_ref().map(|it| text(it, "newHost")))
                .collect();
            hosts.dedup();
            matches!(hosts.as_slice(), [Some(_)])
        })?;
        let told = |players| moves(players).into_iter().filter_map(|(index, moved)| Some((index, moved?)));
        Ok(have_moved.then(|| told(&self.players).collect()))
    }

    /// Hears what players say until `enough` says so, which is asked after each line; every other line is noted too.
    fn until(&mut self, what: &str, mut enough: impl FnMut(usize, &Value) -> bool) -> Result<(), CrewError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let Some((index, line)) = self.line(until) else {
                return Err(late(what, PATIENCE, &self.players));
            };
            if enough(index, &line) {
                return Ok(());
            }
            self.nobody_left(what)?;
        }
    }

    /// Hears what players say until things stand as wanted.
    ///
    /// # Errors
    /// Where it takes too long, or players leave.
    pub fn until_all(&mut self, what: &str, wanted: impl Fn(&[Player]) -> bool) -> Result<(), CrewError> {
        if self.all_by(what, Instant::now() + PATIENCE, wanted)? {
            return Ok(());
        }
        Err(late(what, PATIENCE, &self.players))
    }

    /// Whether things stand as wanted by then.
    fn all_by(
        &mut self,
        what: &str,
        until: Instant,
        wanted: impl Fn(&[Player]) -> bool,
    ) -> Result<bool, CrewError> {
        while !wanted(&self.players) {
            if self.line(until).is_none() {
                return Ok(false);
            }
            self.nobody_left(what)?;
        }
        Ok(true)
    }

    /// Waits until that one's session is over, and returns its word for it.
    ///
    /// # Errors
    /// It goes on for too long, or another's is over before.
    pub fn ended(&mut self, player: usize) -> Result<Value, CrewError> {
        let (what, until) = ("a session that is to end has ended", Instant::now() + PATIENCE);
        loop {
            let Some((index, line)) = self.line(until) else {
                return Err(late(what, PATIENCE, &self.players));
            };
            if index == player && line["event"] == "over" {
                self.left.pop();
                return Ok(line);
            }
            self.nobody_left(what)?;
        }
    }

    fn nobody_left(&self, what: &str) -> Result<(), CrewError> {
        if self.left.is_empty() {
            return Ok(());
        }
        let who = |left: &Left| {
            let stood = if left.stood.is_null() {
                String::new()
            } else {
                format!("; before that it stood so: {}", left.stood)
            };
            format!("{}{stood}", left.who)
        };
        let who: Vec<String> = self.left.iter().map(who).collect();
        Err(CrewError::Left { what: what.to_owned(), who: who.join("\n       ") })
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
            Some("leads") => player.led.push(Stamp::of(&line)),
            Some("over" | "closed") if player.life == Life::Plays => {
                player.life = Life::Gone;
                let who = if player.peer.is_empty() {
                    format!("player {} ended before it was in: its own line above says why", index + 1)
                } else {
                    let why = line["why"].as_str().unwrap_or("its process ended without a word");
                    format!("{} left the game: {why}", player.peer)
                };
                self.left.push(Left { who, stood: player.stands.clone() });
            }
            Some(_) | None => {}
        }
        Some((index, line))
    }

    /// Hears what players say until then.
    pub fn hear_until(&mut self, until: Instant) {
        while self.line(until).is_some() {}
    }

    /// Who has left unasked since this was asked last, and how each stood.
    pub fn take_left(&mut self) -> Vec<Left> {
        std::mem::take(&mut self.left)
    }

    /// Those that play.
    pub fn playing(&self) -> impl Iterator<Item = &Player> {
        self.players.iter().filter(|player| player.life == Life::Plays)
    }

    /// The one that the others obey.
    #[must_use]
    pub fn host(&self) -> Option<usize> {
        self.players.iter().position(|player| player.life == Life::Plays && player.stands["is"] == "HOST")
    }

    /// An epoch that two players were certified as host of. There may never be one.
    #[must_use]
    pub fn led_twice(&self) -> Option<Stamp> {
        let mut certified: Vec<Stamp> = self
            .players
            .iter()
            .flat_map(|player| &player.led)
            .filter(|it| it.fork == Some(0))
            .copied()
            .collect();
        certified.sort_unstable();
        certified.windows(2).find(|two| two[0] == two[1]).map(|two| two[0])
    }

    /// Silently stops a process: it neither sends nor reads nor closes anything, and its socket stands, so that the kernel
    /// answers nothing for it.
    ///
    /// # Errors
    /// Where the process is gone.
    pub fn stop(&mut self, index: usize) -> Result<(), CrewError> {
        self.signal(index, Signal::SIGSTOP)?;
        self.players[index].life = Life::Stopped;
        Ok(())
    }

    /// A stopped process goes on as if nothing had been.
    ///
    /// # Errors
    /// Where the process is gone.
    pub fn thaw(&mut self, index: usize) -> Result<(), CrewError> {
        self.players[index].life = Life::Plays;
        // How it stood before is not how it stands: it has to hear who is host now.
        self.players[index].stands = Value::Null;
        self.signal(index, Signal::SIGCONT)
    }

    /// Enters a line at a player's console.
    ///
    /// # Errors
    /// Where the process is gone.
    pub fn enter(&mut self, index: usize, line: &str) -> Result<(), CrewError> {
        let Some(console) = &mut self.players[index].console else { return Ok(()) };
        writeln!(console, "{line}").map_err(system("write to a player's console"))
    }

    /// A player leaves as a person does who quits the game.
    ///
    /// # Errors
    /// Where the process is gone.
    pub fn ask_to_leave(&mut self, index: usize) -> Result<(), CrewError> {
        self.players[index].life = Life::Gone;
        self.signal(index, Signal::SIGTERM)
    }

    fn signal(&self, index: usize, signal: Signal) -> Result<(), CrewError> {
        let what = || format!("send {signal} to player {}", self.players[index].peer);
        kill(self.players[index].pid, signal).map_err(|error| system(&what())(error.into()))
    }

    /// Waits until a player that was asked to leave is gone: of two players, its last words make the other a majority.
    ///
    /// # Errors
    /// Where it does not go.
    pub fn see_off(&mut self, index: usize) -> Result<(), CrewError> {
        let until = Instant::now() + LEAVES_WITHIN;
        loop {
            match self.players[index].process.try_wait() {
                Ok(Some(_ended)) => return Ok(()),
                Ok(None) if Instant::now() < until => {
                    self.line(Instant::now() + LOOK_AGAIN);
                }
                Ok(None) => {
                    return Err(late("whoever was asked to leave is gone", LEAVES_WITHIN, &self.players));
                }
                Err(source) => return Err(system("wait for whoever was asked to leave")(source)),
            }
        }
    }

    /// Ends the process of a player that was stopped for good.
    ///
    /// # Errors
    /// Where the process is gone.
    pub fn bury(&mut self, index: usize) -> Result<(), CrewError> {
        let player = &mut self.players[index];
        player.life = Life::Gone;
        let ended = player.process.kill().and_then(|()| player.process.wait());
        ended.map(drop).map_err(system(&format!("end player {}", self.players[index].peer)))
    }
}

impl Drop for Crew {
    /// Everybody leaves: the console of each closes, and who does not go is killed. Whoever is stopped hears nothing, and is killed at once.
    fn drop(&mut self) {
        for player in &mut self.players {
            if player.life == Life::Stopped {
                // It has ended meanwhile where it cannot be killed.
                let _ended = player.process.kill();
            }
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

/// A field of a line that is text, empty where there is none.
#[must_use]
pub fn text(line: &Value, name: &str) -> String {
    line[name].as_str().unwrap_or_default().to_owned()
}

/// The host of players who have settled.
fn host_of_settled(players: &[Player]) -> Option<usize> {
    let playing = || players.iter().filter(|player| player.life == Life::Plays);
    let count = playing().count();
    let at = players.iter().position(|it| it.life == Life::Plays && it.stands["is"] == "HOST")?;
    let host = &players[at];
    let number = |name: &str| host.stands[name].as_u64().unwrap_or_default();
    // Whoever has just come, or thawed, may be next before it holds anything.
    let follows = |player: &Player| {
        let holds = player.stands["holds"].as_u64().unwrap_or_default();
        player.peer == text(&host.stands, "anticipated") && holds + DURABLE_LAG_MAX >= number("tick")
    };
    let is_held = || number("durable") + DURABLE_LAG_MAX >= number("tick") && playing().any(follows);
    // Where nothing of the game goes along nobody ever holds it.
    let safe = count == 1 || host.stands["goesAlong"] == false || is_held();
    let plays = |player: &Player| {
        // Who came when all boats were taken watches.
        let does = player.stands["boat"].is_null() && player.stands["done"].as_u64() > Some(0)
            || player.stands["deeds"].as_u64() > Some(0);
        // Whoever has heard nothing of the game yet would not notice that it goes on under another.
        let has_heard = player.stands["tick"].as_u64() > Some(0);
        // It stood so before its last move: whoever thaws may say first that it is the host.
        let is_old = player.move_after(Stamp::of(&player.stands)).is_some();
        does && has_heard
            && !is_old
            && player.stands["host"] == host.peer.as_str()
            && Stamp::of(&player.stands) == Stamp::of(&host.stands)
            && player.stands["members"] == count
            // Where nobody certifies a host nobody is let in to vote either.
            && (player.stands["voters"] == count || player.stands["fork"].as_u64() > Some(0))
            && player.stands["linked"] == count - 1
    };
    (safe && number("tick") > 0 && playing().all(plays)).then_some(at)
}

fn system(what: &str) -> impl FnOnce(io::Error) -> CrewError {
    let what = what.to_owned();
    move |source| CrewError::System { what, source }
}

fn late(what: &str, within: Duration, players: &[Player]) -> CrewError {
    let stands: Vec<String> = players
        .iter()
        .map(|player| {
            let moved = player.moves.last().map_or_else(|| "never".to_owned(), Value::to_string);
            format!("{} ({:?}): {}, moved last: {moved}", player.peer, player.life, player.stands)
        })
        .collect();
    CrewError::Late { what: what.to_owned(), within, stands: stands.join("\n       ") }
}
