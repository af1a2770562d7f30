//! A demo that runs until somebody stops it, and the command that makes its host go away meanwhile. The two meet in one file
//! of the data directory: who is host, and how the last move went.

use std::fs::{self, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use mainstay_journal::durable;
use mainstay_tugboat::peers::crew::{Crew, Life, PATIENCE, Player, Stamp, text};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::stop::Stop;
use super::{FROZEN_FOR, FROZEN_MAX, act, facts, short, summarise, tell_stayed};
use crate::arguments::{KillHost, Output};
use crate::commands::demo::told::Told;
use crate::failure::{Exit, Failure};

/// The file.
const FILE: &str = "demo-peers.json";
/// Locked by the command whose note that is.
const LOCK: &str = "demo-peers.lock";
/// What mends a note that cannot be written.
const WRITABLE: &str = "name a folder that this user can write in, with room on its disk: --data-dir DIR";
/// How long players have to tell of a move once the first one has.
const ALL_WITHIN: Duration = Duration::from_secs(5);
/// How often the file is read.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The note of this command: while it is there no other writes one in the same folder.
pub struct Own {
    file: File,
    _locked: fs::File,
}

impl Own {
    /// Takes the folder.
    pub fn in_folder(data_dir: &Path) -> Result<Self, Failure> {
        let path = data_dir.join(LOCK);
        let cannot = |error: io::Error| {
            Failure::new(Exit::Failed, "MS-U045", format!("cannot write {}", path.display()))
                .why(error)
                .fix(WRITABLE)
        };
        durable::make_folder(data_dir, 0o700).map_err(cannot)?;
        let locked = fs::File::options().create(true).append(true).open(&path).map_err(cannot)?;
        match locked.try_lock() {
            Ok(()) => {
                let file = File::in_folder(data_dir);
                // What the last one noted is over; who asks meanwhile hears that this one gathers.
                file.write(&json!({ "command": std::process::id() }))?;
                Ok(Self { file, _locked: locked })
            }
            Err(TryLockError::WouldBlock) => {
                let what = format!("a demo of peers runs here already: {}", data_dir.display());
                Err(Failure::new(Exit::Refused, "MS-U063", what)
                    .fix("end that one, or give this one a --data-dir of its own"))
            }
            Err(TryLockError::Error(error)) => Err(cannot(error)),
        }
    }
}

/// Lets them play, and tells of every move, until the last one has left or somebody stops the command.
pub fn watch(crew: &mut Crew, told: &Told, stop: &Stop, Own { file, .. }: &Own) -> Result<ExitCode, Failure> {
    told.aside("mainstay demo kill-host breaks it; Ctrl-C ends it")?;
    let mut host = crew.host();
    let (mut last, mut left) = (Value::Null, None);
    file.write(&note(crew, host, &last, None))?;
    while crew.playing().next().is_some() && !stop.is_told() {
        let heard = crew.line(Instant::now() + PATIENCE);
        let gone = crew.take_left();
        for who in &gone {
            told.aside(&who.who)?;
        }
        if let Some(newest) = gone.into_iter().next_back() {
            left = Some(newest.who);
            file.write(&note(crew, host, &last, left.as_deref()))?;
        }
        let Some((index, line)) = heard else { continue };
        tell_undone(told, &crew.players[index].peer, &line)?;
        let Some(old) = host else {
            host = crew.host();
            if host.is_some() {
                file.write(&note(crew, host, &last, left.as_deref()))?;
            }
            continue;
        };
        let before = Stamp::of(&last).max(Stamp::of(&crew.players[old].stands));
        if line["event"] != "moved" || Stamp::of(&line) <= before {
            continue;
        }
        let until = Instant::now() + ALL_WITHIN;
        let others = |crew: &Crew| -> Vec<usize> {
            let plays = |index: &usize| crew.players[*index].life == Life::Plays && *index != old;
            (0..crew.players.len()).filter(plays).collect()
        };
        // Whoever was on the side that the other one came to has not moved, and tells nothing.
        let (to, stamp) = (&line["newHost"], Stamp::of(&line));
        let is_there = |player: &Player| player.stands["host"] == *to && Stamp::of(&player.stands) < stamp;
        let there: Vec<bool> = crew.players.iter().map(is_there).collect();
        let is_missing = |crew: &Crew, index: usize| {
            let has_told = || crew.players[index].move_after(before).is_some();
            !there[index] && !has_told()
        };
        while others(crew).into_iter().any(|index| is_missing(crew, index)) {
            if crew.line(until).is_none() {
                break;
            }
        }
        let others = others(crew);
        let mut moves: Vec<&Value> =
            others.iter().filter_map(|index| crew.players[*index].move_after(before)).collect();
        if moves.is_empty() {
            // Its side went over to another, whose host had stood still, and goes on where it was.
            moves.extend(crew.players[old].move_after(before));
        }
        last = facts(&crew.players[old].peer, &moves, others.len());
        let new_host = last["newHost"].as_str().unwrap_or_default().to_owned();
        host = crew.players.iter().position(|player| player.peer == new_host);
        summarise(told, last.clone())?;
        file.write(&note(crew, host, &last, left.as_deref()))?;
    }
    if !stop.is_told() {
        told.aside("nobody plays any more")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A host goes on for two sides from what the other one had: what its own had played is undone, though nobody has another host.
fn tell_undone(told: &Told, host: &str, line: &Value) -> Result<(), Failure> {
    let Some(ticks) = line["undone"].as_u64().filter(|ticks| line["event"] == "leads" && *ticks > 0) else {
        return Ok(());
    };
    let words = format!(
        "{} goes on for both sides from what the other one had: {ticks} ticks are undone",
        short(host)
    );
    told.say("undone", json!({ "host": host, "epoch": line["epoch"], "ticks": ticks }), &words)
}

fn note(crew: &Crew, host: Option<usize>, last: &Value, left: Option<&str>) -> Value {
    let host = host.map(|index| &crew.players[index]);
    // A host that is stopped is not known to be gone.
    let follows = |player: &&Player| host.is_none_or(|host| host.peer != player.peer);
    json!({
        "command": std::process::id(), "session": crew.session, "last": last, "players": crew.playing().count(),
        "others": crew.playing().filter(follows).count(), "left": left,
        "host": host.map(|player| json!({ "pid": player.pid().as_raw(), "peer": player.peer })),
    })
}

/// `mainstay demo kill-host`.
pub fn kill_host(how: KillHost, data_dir: &Path, format: &Output) -> Result<ExitCode, Failure> {
    let told = Told::new(format);
    let file = File::in_folder(data_dir);
    let before = with_host(&file)?;
    let pid = before["host"]["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 1);
    // The number may be another program's by now, or a player's of another demo.
    let is_own = |pid: &i32| is_peer(*pid) && parent(*pid) == before["command"].as_i64();
    let pid = pid.filter(is_own).map(Pid::from_raw).ok_or_else(|| {
        Failure::new(Exit::Refused, "MS-U045", "the demo that was here has no host any more")
            .fix("mainstay demo peers")
    })?;
    if before["others"] == 0 {
        return Err(Failure::new(Exit::Usage, "MS-U062", "one player is left, and nobody would take over")
            .fix("mainstay demo peers, with more --players"));
    }
    // A host that is stopped is not left so.
    let stop = Stop::listen()?;
    told.act(act(how))?;
    let began = Instant::now();
    signal(
        pid,
        match how {
            KillHost::Graceful => Signal::SIGTERM,
            KillHost::PowerCut | KillHost::Freeze => Signal::SIGSTOP,
        },
    )?;
    let moved = match how {
        KillHost::Graceful => moves(&file, &before, &stop).map(Some),
        KillHost::PowerCut => {
            let moved = moves(&file, &before, &stop);
            // Where the demo has ended meanwhile the host went with it.
            let gone = signal(pid, Signal::SIGKILL);
            moved.and_then(|moved| gone.map(|()| Some(moved)))
        }
        KillHost::Freeze => {
            let moved = next_move(&file, &before, &stop, began + FROZEN_MAX);
            while began.elapsed() < FROZEN_FOR && !stop.is_told() {
                thread::sleep(LOOK_AGAIN);
            }
            let thawed = signal(pid, Signal::SIGCONT);
            match moved.and_then(|moved| thawed.map(|()| moved))? {
                // It may have been about to.
                None => next_move(&file, &before, &stop, Instant::now() + ALL_WITHIN),
                Some(moved) => Ok(Some(moved)),
            }
        }
    };
    match moved? {
        Some(mut moved) => {
            moved["how"] = how.word().into();
            summarise(&told, moved)?;
        }
        None => tell_stayed(&told, &text(&before["host"], "peer"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The note, once a demo that gathers, or whose players have another host just now, has one.
fn with_host(file: &File) -> Result<Value, Failure> {
    let until = Instant::now() + PATIENCE;
    loop {
        let note = file.read()?;
        if !note["host"].is_null() || !runs(&note["command"]) {
            return Ok(note);
        }
        if Instant::now() >= until {
            let what = format!("the demo has had no host for {} s", PATIENCE.as_secs());
            return Err(Failure::new(Exit::TimedOut, "MS-U042", what)
                .fix("the command that runs the demo says how its players stand"));
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// The move, which is to come.
fn moves(file: &File, before: &Value, stop: &Stop) -> Result<Value, Failure> {
    next_move(file, before, stop, Instant::now() + PATIENCE)?.ok_or_else(|| {
        let what = format!("the session has not moved within {} s", PATIENCE.as_secs());
        Failure::new(Exit::TimedOut, "MS-U042", what)
            .fix("the command that runs the demo says how its players stand")
    })
}

/// The next move that the demo notes, if it does by then.
fn next_move(file: &File, before: &Value, stop: &Stop, until: Instant) -> Result<Option<Value>, Failure> {
    while Instant::now() < until {
        if stop.is_told() {
            return Err(Failure::new(Exit::Failed, "MS-U043", "interrupted before the session had moved"));
        }
        let now = file.read()?;
        if Stamp::of(&now["last"]) > Stamp::of(&before["last"]) {
            return Ok(Some(now["last"].clone()));
        }
        if now["others"] == 0 {
            let what = "the session has ended instead of moving: nobody plays in it any more";
            let failure = Failure::new(Exit::Failed, "MS-U044", what).fix("mainstay demo peers");
            return Err(match now["left"].as_str() {
                Some(left) => failure.why(left),
                None => failure,
            });
        }
        if !runs(&before["command"]) {
            let what = "the command that ran the demo has ended, and its players with it";
            return Err(Failure::new(Exit::Failed, "MS-U045", what).fix("mainstay demo peers"));
        }
        thread::sleep(LOOK_AGAIN);
    }
    Ok(None)
}

/// Whether it is a player's process: a number alone may be another program's.
pub fn is_peer(pid: i32) -> bool {
    let words = procfs::process::Process::new(pid).and_then(|process| process.cmdline());
    words.is_ok_and(|words| words.iter().skip(1).take(2).eq(["demo", "peer"]))
}

/// Whether that process is there: a player's parent was it, a moment ago.
fn runs(pid: &Value) -> bool {
    let pid = pid.as_i64().and_then(|pid| i32::try_from(pid).ok());
    let stat = pid.and_then(|pid| procfs::process::Process::new(pid).and_then(|process| process.stat()).ok());
    stat.is_some_and(|stat| stat.state != 'Z')
}

fn parent(pid: i32) -> Option<i64> {
    let stat = procfs::process::Process::new(pid).and_then(|process| process.stat());
    stat.ok().map(|stat| stat.ppid.into())
}

fn signal(pid: Pid, signal: Signal) -> Result<(), Failure> {
    kill(pid, signal).map_err(|error| {
        let what = format!("cannot send {signal} to the host's process {pid}");
        Failure::new(Exit::Denied, "MS-U046", what).why(error).fix("run it as the user that runs the demo")
    })
}

/// Where the two commands meet.
struct File {
    folder: PathBuf,
}

impl File {
    fn in_folder(data_dir: &Path) -> Self {
        Self { folder: data_dir.to_owned() }
    }

    fn write(&self, note: &Value) -> Result<(), Failure> {
        let made = durable::make_folder(&self.folder, 0o700);
        made.and_then(|()| durable::write(&self.folder, FILE, note.to_string().as_bytes(), 0o600)).map_err(
            |error| {
                Failure::new(
                    Exit::Failed,
                    "MS-U045",
                    format!("cannot write {}", self.folder.join(FILE).display()),
                )
                .why(error)
                .fix(WRITABLE)
            },
        )
    }

    fn read(&self) -> Result<Value, Failure> {
        let path = self.folder.join(FILE);
        let read = fs::read_to_string(&path);
        let none = |error: &dyn std::fmt::Display| {
            Failure::new(Exit::NotFound, "MS-U045", format!("no demo of peers runs here: {}", path.display()))
                .why(error)
                .fix("mainstay demo peers, with the same --data-dir")
        };
        let text = read.map_err(|error: io::Error| none(&error))?;
        serde_json::from_str(&text).map_err(|error| none(&error))
    }
}
