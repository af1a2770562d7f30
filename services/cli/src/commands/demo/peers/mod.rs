//! `mainstay demo peers`: a game that its players host, whose host goes away, again and again.
//!
//! Each player is a process with a key and a UDP socket of its own. What is told of a move is what the players measured.

mod lobby;
pub mod running;
mod stop;
mod summary;

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use mainstay_tugboat::peers::crew::{Crew, CrewError, Stamp};
use serde_json::{Value, json};

use self::lobby::OwnLobby;
use self::stop::Stop;
use super::told::Told;
use crate::arguments::{KillHost, Output, PeersArguments};
use crate::failure::{Exit, Failure};

/// Where players bind their sockets.
const ANY_PORT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));
/// How long a frozen host stands at least: long enough for the others to go on without it.
const FROZEN_FOR: Duration = Duration::from_secs(4);
/// And at most, where they do not: whoever would not go along is over after ten seconds.
const FROZEN_MAX: Duration = Duration::from_secs(8);

/// Who makes the host go away.
enum Breaks {
    /// The command that runs the demo.
    Itself(KillHost),
    /// `demo kill-host`, which reads this one's note.
    Another(running::Own),
}

pub fn run(arguments: &PeersArguments, data_dir: &Path, format: &Output) -> Result<ExitCode, Failure> {
    lose_no_more_than_there_are(arguments)?;
    let told = Told::new(format);
    let breaks = match arguments.kill_host {
        Some(how) => Breaks::Itself(how),
        None => Breaks::Another(running::Own::in_folder(data_dir)?),
    };
    let stop = Stop::listen()?;
    // Dropped last: players leave their session before their lobby ends.
    let own = match (arguments.lan, &arguments.lobby) {
        (false, None) => Some(OwnLobby::start()?),
        (true, _) | (false, Some(_)) => None,
    };
    let lobby = own.as_ref().map(OwnLobby::url).or(arguments.lobby.as_deref());
    let mut crew = Crew::default();
    let played = play(&mut crew, arguments, lobby, &told, &stop, &breaks);
    match (stop.is_told(), arguments.kill_host) {
        (false, _) => played,
        // It plays until it is told to stop.
        (true, None) => Ok(ExitCode::SUCCESS),
        (true, Some(_)) => Err(Stop::interrupted()),
    }
}

fn play(
    crew: &mut Crew,
    arguments: &PeersArguments,
    lobby: Option<&str>,
    told: &Told,
    stop: &Stop,
    breaks: &Breaks,
) -> Result<ExitCode, Failure> {
    gather(crew, arguments, lobby, told, stop)?;
    let how = match breaks {
        Breaks::Itself(how) => *how,
        Breaks::Another(own) => return running::watch(crew, told, stop, own),
    };
    for round in 1..=arguments.times {
        let host = crew.settled()?;
        told.act(&format!("{round}. {}", act(how)))?;
        match break_host(crew, host, how)? {
            Broken::Moved(mut moved) => {
                moved["how"] = how.word().into();
                summarise(told, moved)?;
            }
            Broken::Stayed(host) => tell_stayed(told, &host)?,
        }
        stop.check()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Each time a host is gone for good, and somebody has to be left who takes over. One that freezes comes back.
fn lose_no_more_than_there_are(arguments: &PeersArguments) -> Result<(), Failure> {
    let PeersArguments { players, times, kill_host, .. } = arguments;
    match kill_host {
        Some(KillHost::Graceful | KillHost::PowerCut) if times >= players => Err(Failure::new(
            Exit::Usage,
            "MS-U062",
            format!(
                "of {players} players {times} cannot be lost as hosts: one has to be left who takes over"
            ),
        )
        .fix(format!("--times {} at the most, or more --players", players - 1))),
        Some(KillHost::Graceful | KillHost::PowerCut | KillHost::Freeze) | None => Ok(()),
    }
}

/// Starts all players, one after the other, and waits until they play.
fn gather(
    crew: &mut Crew,
    arguments: &PeersArguments,
    lobby: Option<&str>,
    told: &Told,
    stop: &Stop,
) -> Result<(), Failure> {
    let mut passed = Vec::new();
    for setting in &arguments.set {
        passed.extend(["--set".to_owned(), setting.to_string()]);
    }
    if let Some(url) = lobby {
        passed.extend(["--lobby".to_owned(), url.to_owned()]);
    }
    if let Some(path) = &arguments.lobby_ca {
        passed.extend(["--lobby-ca".to_owned(), path.display().to_string()]);
    }
    if arguments.lan {
        passed.push("--lan".to_owned());
    }
    for _ in 0..arguments.players {
        let program = std::env::current_exe().map_err(|error| {
            Failure::new(Exit::Failed, "MS-U046", "cannot find the program of a player's process")
                .why(error)
                .fix("is /proc mounted?")
        })?;
        let mut command = Command::new(program);
        command.args(["demo", "peer"]);
        crew.start(command, ANY_PORT, &passed, &[])?;
        // Who had just been started may not have been told.
        stop.check()?;
    }
    let host = crew.settled()?;
    let words = format!(
        "{} over QUIC; {} is the host, and {} who comes after",
        if arguments.players == 1 {
            "one player plays".to_owned()
        } else {
            format!("{} players, each a process, play", arguments.players)
        },
        short(&crew.players[host].peer),
        if lobby.is_some() { "their lobby certifies" } else { "they themselves certify" },
    );
    told.aside(&words)
}

/// What its players tell of a move, as one JSON object.
fn facts(old_host: &str, moves: &[&Value], players: usize) -> Value {
    // Whoever was frozen itself tells of how long that was.
    let was_awake = |it: &&Value| it["cause"] != "fenced";
    let awake: Vec<&Value> = moves.iter().copied().filter(was_awake).collect();
    let awake = if awake.is_empty() { moves } else { &awake };
    let last = awake.iter().copied().max_by_key(|it| Stamp::of(it)).unwrap_or(&Value::Null);
    json!({
        "epoch": last["epoch"], "fork": last["fork"], "cause": last["cause"], "newHost": last["newHost"], "gapMs": most(awake, "gapMs"),
        "peersKept": moves.len(), "ackedLost": most(moves, "ackedLost"), "peers": players, "oldHost": old_host,
        "tookMs": most(awake, "tookMs"),
    })
}

/// The most of what moves tell; nothing, where none tells: nought is 0.
fn most(moves: &[&Value], name: &str) -> Option<u64> {
    moves.iter().filter_map(|it| it[name].as_u64()).max()
}

impl From<CrewError> for Failure {
    fn from(error: CrewError) -> Self {
        let (exit, code, fix) = match &error {
            CrewError::System { .. } => (
                Exit::Failed,
                "MS-U046",
                "see the cause: where a limit is reached, fewer --players, or a higher one (`ulimit -u`, `ulimit -n`)",
            ),
            CrewError::Late { .. } => (
                Exit::TimedOut,
                "MS-U042",
                "see how they stand: the machine may have too much to do for so many --players",
            ),
            CrewError::Left { .. } => {
                (Exit::Failed, "MS-U044", "what a player itself says stands above, on standard error")
            }
        };
        let failure = Self::new(exit, code, error.to_string()).fix(fix);
        match std::error::Error::source(&error) {
            Some(why) => failure.why(why),
            None => failure,
        }
    }
}

/// What comes of it where a host goes away.
enum Broken {
    /// Another took over: what players tell of that.
    Moved(Value),
    /// It froze, and was waited for.
    Stayed(String),
}

/// Makes the host go away, and waits until everybody else plays on under another.
fn break_host(crew: &mut Crew, host: usize, how: KillHost) -> Result<Broken, Failure> {
    let before = Stamp::of(&crew.players[host].stands);
    let old_host = crew.players[host].peer.clone();
    let tell = |crew: &Crew, told: &[(usize, Value)]| {
        let moves: Vec<&Value> = told.iter().map(|(_, moved)| moved).collect();
        facts(&old_host, &moves, crew.playing().count())
    };
    match how {
        KillHost::PowerCut => {
            crew.stop(host)?;
            let told = crew.moved(before)?;
            let moved = tell(crew, &told);
            crew.bury(host)?;
            Ok(Broken::Moved(moved))
        }
        KillHost::Graceful => {
            crew.ask_to_leave(host)?;
            let told = crew.moved(before)?;
            Ok(Broken::Moved(tell(crew, &told)))
        }
        KillHost::Freeze => {
            let began = Instant::now();
            crew.stop(host)?;
            let told = crew.moved_by(before, began + FROZEN_MAX)?;
            let moved = told.map(|told| tell(crew, &told));
            crew.hear_until(began + FROZEN_FOR);
            crew.thaw(host)?;
            crew.settled()?;
            let Some(mut moved) = moved else { return Ok(Broken::Stayed(old_host)) };
            // What it had been told was safe while it was host it alone can tell.
            let own = crew.players[host].move_after(before).and_then(|it| it["ackedLost"].as_u64());
            moved["ackedLost"] = json!(moved["ackedLost"].as_u64().max(own));
            Ok(Broken::Moved(moved))
        }
    }
}

/// A session that does not move waits for its host.
fn tell_stayed(told: &Told, host: &str) -> Result<(), Failure> {
    let words = format!(
        "nobody took over from {}: the others waited for it, and play on under it\n          \
         (their sessions do not move, or move later than it came back)",
        short(host)
    );
    told.say("stayed", json!({ "host": host, "how": KillHost::Freeze.word() }), &words)
}

/// One JSON line, or three for people.
fn summarise(told: &Told, moved: Value) -> Result<(), Failure> {
    let words = summary::words(&moved);
    told.say("migration", moved, &words)
}

const fn act(how: KillHost) -> &'static str {
    match how {
        KillHost::PowerCut => "The host's power is cut: nothing leaves it, nothing answers for it",
        KillHost::Freeze => "The host freezes, and thaws when the others play on",
        KillHost::Graceful => "The host leaves the game",
    }
}

fn short(peer: &str) -> &str {
    peer.get(..8).unwrap_or(peer)
}
