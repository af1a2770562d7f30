//! `mainstay demo peers`: a game that its players host, whose host goes away, again and again.
//!
//! Each player is a process with a key and a UDP socket of its own. What is told of a move is what the players measured.

mod crew;
pub mod running;

use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::crew::{Crew, Life, Player, Stamp, text};
use super::told::Told;
use crate::arguments::{Format, KillHost, PeersArguments};
use crate::failure::{Exit, Failure};

/// How long anything may take: a migration's own limit is 30 s.
pub(super) const PATIENCE: Duration = Duration::from_secs(45);
/// How long a frozen host stands: long enough for the others to go on without it.
const FROZEN_FOR: Duration = Duration::from_secs(4);
/// How far behind the newest tick the ones that are held by others may be for the demo to go on: a second.
const DURABLE_LAG_MAX: u64 = 20;

pub fn run(arguments: &PeersArguments, data_dir: &Path, format: Format) -> Result<ExitCode, Failure> {
    let told = Told::new(format);
    let mut crew = Crew::new();
    gather(&mut crew, arguments, &told)?;
    let Some(how) = arguments.kill_host else {
        return running::watch(&mut crew, &told, data_dir);
    };
    for round in 1..=arguments.times {
        let host = settled(&mut crew)?;
        told.act(&format!("{round}. {}", act(how)))?;
        let mut moved = break_host(&mut crew, host, how)?;
        moved["how"] = how.word().into();
        summarise(&told, moved)?;
        if crew.playing().count() < 2 {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts all players, one after the other, and waits until they play.
fn gather(crew: &mut Crew, arguments: &PeersArguments, told: &Told) -> Result<(), Failure> {
    let mut passed = Vec::new();
    for setting in &arguments.set {
        passed.extend(["--set".to_owned(), setting.clone()]);
    }
    let mut doors = Vec::new();
    for _ in 0..arguments.players {
        let address = crew.start(&passed, &doors)?;
        if doors.is_empty() {
            doors.push(address);
        }
    }
    let host = settled(crew)?;
    let words = format!(
        "{} players, each a process, play over QUIC; {} is the host",
        arguments.players,
        short(&crew.players[host].peer)
    );
    told.aside(&words)
}

/// Waits until every player obeys the same host, has a link to everybody, and somebody could follow with what was told safe.
fn settled(crew: &mut Crew) -> Result<usize, Failure> {
    crew.until_all("the players play together", |players| {
        let playing: Vec<&Player> = players.iter().filter(|player| player.life == Life::Plays).collect();
        let count = playing.len();
        let Some(host) = playing.iter().find(|player| player.stands["is"] == "HOST") else { return false };
        let number = |name: &str| host.stands[name].as_u64().unwrap_or_default();
        let safe = count == 1
            || !host.stands["anticipated"].is_null() && number("durable") + DURABLE_LAG_MAX >= number("tick");
        safe && number("tick") > 0
            && playing.iter().all(|player| {
                player.stands["host"] == host.peer.as_str()
                    && Stamp::of(&player.stands) == Stamp::of(&host.stands)
                    && player.stands["members"] == count
                    && player.stands["linked"] == count - 1
                    && player.stands["deeds"].as_u64() > Some(0)
            })
    })?;
    crew.host().ok_or_else(|| Failure::new(Exit::Failed, "MS-U044", "the players have no host"))
}

/// What its players tell of a move, as one JSON object.
fn facts(old_host: &str, moves: &[&Value], players: usize) -> Value {
    let most = |name: &str| moves.iter().filter_map(|it| it[name].as_u64()).max().unwrap_or_default();
    let last = moves.iter().copied().max_by_key(|it| Stamp::of(it)).unwrap_or(&Value::Null);
    json!({
        "epoch": last["epoch"], "fork": last["fork"], "cause": last["cause"], "newHost": last["newHost"], "gapMs": most("gapMs"),
        "peersKept": moves.len(), "ackedLost": most("ackedLost"), "peers": players, "oldHost": old_host,
        "tookMs": most("tookMs"),
    })
}

/// Makes the host go away, and waits until everybody else plays on under another.
fn break_host(crew: &mut Crew, host: usize, how: KillHost) -> Result<Value, Failure> {
    let before = Stamp::of(&crew.players[host].stands);
    let old_host = crew.players[host].peer.clone();
    let began = Instant::now();
    match how {
        KillHost::PowerCut | KillHost::Freeze => crew.stop(host)?,
        KillHost::Graceful => crew.ask_to_leave(host)?,
    }
    crew.until_all("the session goes on under another host", |players| {
        let playing = players.iter().filter(|player| player.life == Life::Plays);
        // A host that has itself elected anew stays the host: who comes to it later tells of a later epoch.
        let mut hosts: Vec<Option<String>> =
            playing.map(|player| player.move_after(before).map(|it| text(it, "newHost"))).collect();
        hosts.dedup();
        matches!(hosts.as_slice(), [Some(_)])
    })?;
    let moves: Vec<&Value> = crew.playing().filter_map(|player| player.move_after(before)).collect();
    let moved = facts(&old_host, &moves, crew.playing().count());
    match how {
        KillHost::PowerCut => crew.bury(host)?,
        KillHost::Freeze => {
            thread::sleep(FROZEN_FOR.saturating_sub(began.elapsed()));
            crew.thaw(host)?;
        }
        KillHost::Graceful => {}
    }
    Ok(moved)
}

/// One JSON line, or three for people: who took over, the gap, what was lost.
fn summarise(told: &Told, moved: Value) -> Result<(), Failure> {
    let lost = match moved["ackedLost"].as_u64() {
        Some(0) => "nothing that they had been told was safe is lost".to_owned(),
        Some(_) | None => {
            format!("{} ticks and deeds that they had been told were safe are lost", moved["ackedLost"])
        }
    };
    let words = format!(
        "{} took over from {} ({}, epoch {})\n          {} ms from the old host's last state to the new one's first, on the player who waited longest\n          {} of {} players play on; {lost}",
        short(&text(&moved, "newHost")),
        short(&text(&moved, "oldHost")),
        text(&moved, "cause"),
        moved["epoch"],
        moved["gapMs"],
        moved["peersKept"],
        moved["peers"],
    );
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
