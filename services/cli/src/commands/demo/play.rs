//! `mainstay demo play`: four players are matched onto a server, its process is killed under them, one leaves and is replaced.
//!
//! All of it real: tickets over the API, players on sockets of their own, SIGKILL.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::player::Player;
use super::told::Told;
use crate::arguments::Format;
use crate::client::Client;
use crate::failure::{Exit, Failure};

/// The demo's queue, as `up/demo.yaml` has it.
const QUEUE: &str = "/v1/queues/arena";
/// Who plays, with their skill. The queue allows 5 apart, and 5 more each second: dave has to wait.
const PLAYERS: [(&str, i32); 4] = [("alice", 10), ("bob", 12), ("carol", 14), ("dave", 24)];
/// Who comes later.
const LATER: (&str, i32) = ("erin", 15);
/// Who leaves.
const LEAVER: &str = "dave";
/// How long anything may take: some twenty times what it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often things are looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// How long tickets and the backfill ticket wait.
const GIVE_UP_AFTER_S: u64 = 60;

pub fn run(data_dir: &Path, format: Format) -> Result<ExitCode, Failure> {
    let client = Client::of(data_dir)?;
    if let Err(failure) = client.get(QUEUE) {
        return Err(match failure.exit {
            Exit::NotFound => failure.fix("this shows the demo's queue: mainstay up --demo"),
            Exit::Failed
            | Exit::Usage
            | Exit::Denied
            | Exit::Refused
            | Exit::TimedOut
            | Exit::Unreachable => failure,
        });
    }
    let told = Told::new(format);
    let tickets = looked_for(&client, &told)?;
    let played = show(&client, &told, &tickets);
    // However it went, nobody goes on looking, and no server is kept.
    for ticket in &tickets {
        ended(&client, ticket)?;
    }
    played?;
    Ok(ExitCode::SUCCESS)
}

/// A player's ticket.
struct Ticket {
    player: &'static str,
    path: String,
}

fn looked_for(client: &Client, told: &Told) -> Result<Vec<Ticket>, Failure> {
    told.act("Players look for a match of two against two, on a server of their own")?;
    PLAYERS.iter().map(|player| looks(client, told, *player)).collect()
}

fn looks(client: &Client, told: &Told, (player, skill): (&'static str, i32)) -> Result<Ticket, Failure> {
    let players = [json!({ "player": player, "attributes": { "skill": skill } })];
    // Of a demo that was interrupted.
    client.delete(&format!("{QUEUE}/tickets?player={player}"))?;
    let body = json!({ "players": players, "giveUpAfterSeconds": GIVE_UP_AFTER_S });
    let made = client.post(&format!("{QUEUE}/tickets"), &body)?;
    let facts = json!({ "player": player, "skill": skill, "ticket": made["id"] });
    told.say("ticket", facts, &format!("{player} (skill {skill}) looks for a match"))?;
    Ok(Ticket { player, path: format!("{QUEUE}/tickets/{}", text(&made["id"])) })
}

/// Cancels what still waits, and gives back the server of what was matched.
fn ended(client: &Client, ticket: &Ticket) -> Result<(), Failure> {
    let seen = client.get(&ticket.path)?;
    match seen["status"].as_str() {
        Some("Matched") => match client.delete(&format!("/v1/allocations/{}", text(&seen["matchId"]))) {
            Ok(_) => Ok(()),
            Err(failure) if failure.exit == Exit::NotFound => Ok(()),
            Err(failure) => Err(failure),
        },
        Some("Canceled") => Ok(()),
        Some(_) | None => client.delete(&ticket.path).map(|_canceled| ()),
    }
}

fn show(client: &Client, told: &Told, tickets: &[Ticket]) -> Result<(), Failure> {
    why(client, told, tickets)?;
    let formed = matched(client, tickets, told)?;
    let server = Server::of(client, &formed)?;
    told.act("A server was allocated before the match was formed; the players join it")?;
    let mut players: Vec<Player> =
        PLAYERS.iter().map(|(name, _)| Player::start(name, server.address)).collect();
    until("all four play", || Ok(players.iter().all(|it| it.seen().joins == 1).then_some(())))?;
    let facts = json!({ "players": players.len(), "address": server.address.to_string(), "pid": server.pid });
    let words = format!(
        "4 of 4 players play at {}, process {} of server {}",
        server.address, server.pid, server.name
    );
    told.say("playing", facts, &words)?;
    thread::sleep(Duration::from_secs(1));
    let gap = crash(client, told, &server, &players)?;
    let team = replace(client, told, &formed, &server, &mut players)?;
    told.act("In short")?;
    let words = [
        format!(
            "4 players were matched by skill, and their server was allocated with the match {}",
            text(&formed["id"])
        ),
        format!(
            "its process died once: the session went on under the same allocation, {} ms without the game",
            gap.as_millis()
        ),
        format!("{LEAVER} left; {} took the free place on team {team}, and nobody else noticed", LATER.0),
    ];
    for words in words {
        told.say("summary", json!({ "text": words }), &words)?;
    }
    Ok(())
}

/// Says of whom who waits longest why that is.
fn why(client: &Client, told: &Told, tickets: &[Ticket]) -> Result<(), Failure> {
    let Some(last) = tickets.last() else { return Ok(()) };
    let why = client.get(&format!("{}/why", last.path))?;
    let rule = why.pointer("/nearest/0/rules/0").cloned().unwrap_or_default();
    if rule["fits"] == true || rule.is_null() {
        return Ok(());
    }
    let mut words =
        format!("{} is not matched yet: {} {}", last.player, text(&rule["rule"]), text(&rule["why"]));
    if let Some(next) = why.get("next") {
        let _infallible =
            write!(words, "; allowed from {} on: {}", clock(text(&next["at"])), text(&next["to"]));
    }
    told.say("why", why, &words)
}

/// The time of day of an RFC 3339 moment.
fn clock(moment: &str) -> &str {
    moment.split_once('T').map_or(moment, |(_, time)| time.trim_end_matches('Z'))
}

fn matched(client: &Client, tickets: &[Ticket], told: &Told) -> Result<Value, Failure> {
    let Some(first) = tickets.first() else { return Ok(Value::Null) };
    let formed = match_of(client, first)?;
    let mut teams: Vec<(&str, &str)> =
        seats(&formed).map(|seat| (text(&seat["team"]), text(&seat["player"]))).collect();
    teams.sort_unstable();
    let of = |team: &str| {
        let players: Vec<&str> = teams.iter().filter(|it| it.0 == team).map(|it| it.1).collect();
        players.join(" and ")
    };
    let words = format!("matched: {} (red) against {} (blue)", of("red"), of("blue"));
    told.say("matched", formed.clone(), &words)?;
    Ok(formed)
}

fn match_of(client: &Client, ticket: &Ticket) -> Result<Value, Failure> {
    let seen = until("the ticket is matched", || {
        let seen = client.get(&ticket.path)?;
        match seen["status"].as_str() {
            Some("Canceled") => {
                let what = format!("the ticket of {} ended without a match", ticket.player);
                Err(Failure::new(Exit::Failed, "MS-U040", what).why(text(&seen["cancellationReason"])))
            }
            Some("Matched") => Ok(Some(seen)),
            Some(_) | None => Ok(None),
        }
    })?;
    client.get(&format!("{QUEUE}/matches/{}", text(&seen["matchId"])))
}

/// Where a match is played.
struct Server {
    path: String,
    name: String,
    allocation: String,
    address: SocketAddr,
    pid: i64,
}

impl Server {
    fn of(client: &Client, formed: &Value) -> Result<Self, Failure> {
        let allocation = text(&formed["id"]).to_owned();
        let allocated = client.get(&format!("/v1/allocations/{allocation}"))?;
        let path = format!("/v1/servers/{}", allocated["serverId"]);
        let server = client.get(&path)?;
        let told = &formed["server"];
        let address = format!("{}:{}", text(&told["ipv4Address"]), told["ports"][0]["number"]);
        let address = address.parse().map_err(|error| {
            Failure::new(Exit::Failed, "MS-U041", format!("{address} is no address of a game server"))
                .why(error)
        })?;
        let pid = server["pid"].as_i64().unwrap_or_default();
        Ok(Self { path, name: text(&server["display"]).to_owned(), allocation, address, pid })
    }
}

/// Kills the server's process, and waits until everybody plays again.
fn crash(client: &Client, told: &Told, server: &Server, players: &[Player]) -> Result<Duration, Failure> {
    told.act("The server's process is killed under them")?;
    let pid = i32::try_from(server.pid).ok().filter(|pid| *pid > 1).map(Pid::from_raw);
    let killed = pid.map(|pid| kill(pid, Signal::SIGKILL));
    if !matches!(killed, Some(Ok(()))) {
        let what = format!("cannot kill process {} of server {}", server.pid, server.name);
        let fix = "run the demo as the user, and on the host, that mainstay up runs as";
        return Err(Failure::new(Exit::Denied, "MS-U041", what).fix(fix));
    }
    let facts = json!({ "pid": server.pid, "server": server.name });
    told.say("killed", facts, &format!("kill -9 {}", server.pid))?;
    until("all four play again", || Ok(players.iter().all(|it| it.seen().joins >= 2).then_some(())))?;
    let after = until("the process that took over is known", || {
        let seen = client.get(&server.path)?;
        Ok((seen["pid"] != server.pid && seen["pid"].is_i64()).then_some(seen))
    })?;
    let gap = players.iter().filter_map(|it| it.seen().gap).max().unwrap_or_default();
    let same = text(&after["allocationId"]) == server.allocation;
    let facts = json!({
        "pid": after["pid"], "sameAllocation": same, "players": players.len(),
        "gapMs": u64::try_from(gap.as_millis()).unwrap_or(u64::MAX),
    });
    let words = format!(
        "back as process {} under {} allocation; 4 of 4 players play again, {} ms after they last saw the game",
        after["pid"],
        if same { "the same" } else { "another" },
        gap.as_millis()
    );
    told.say("recovered", facts, &words)?;
    Ok(gap)
}

/// One leaves; the game asks for a player, and whoever is found takes the place.
fn replace(
    client: &Client,
    told: &Told,
    formed: &Value,
    server: &Server,
    players: &mut Vec<Player>,
) -> Result<String, Failure> {
    told.act("One leaves; the game asks for another with a backfill ticket")?;
    players.retain(|it| it.name() != LEAVER);
    told.say("left", json!({ "player": LEAVER }), &format!("{LEAVER} leaves the game"))?;
    let stays: Vec<Value> = seats(formed).filter(|seat| seat["player"] != LEAVER).cloned().collect();
    let body = json!({ "players": stays, "server": formed["server"], "giveUpAfterSeconds": GIVE_UP_AFTER_S });
    let backfill = client.post(&format!("{QUEUE}/backfills"), &body)?;
    let facts = json!({ "ticket": backfill["id"], "players": stays.len() });
    told.say("backfill", facts, "the game wants one more player")?;
    let later = looks(client, told, LATER)?;
    let filled = match_of(client, &later)?;
    let seat = |players: &Value, player: &str| {
        let seat = seats(players).find(|seat| seat["player"] == player);
        seat.map_or_else(String::new, |seat| text(&seat["team"]).to_owned())
    };
    let (team, before) = (seat(&filled, later.player), seat(formed, LEAVER));
    players.push(Player::start(later.player, server.address));
    until("the new player plays", || Ok(players.iter().all(|it| it.seen().joins >= 1).then_some(())))?;
    let same = filled["server"]["ports"] == formed["server"]["ports"];
    let facts = json!({ "player": later.player, "team": team, "placeOf": LEAVER, "teamBefore": before, "sameServer": same });
    let words = format!(
        "{} is matched into the running game, on team {team} as {LEAVER} was, and plays",
        later.player
    );
    told.say("replaced", facts, &words)?;
    Ok(team)
}

fn seats(formed: &Value) -> impl Iterator<Item = &Value> {
    formed["players"].as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

fn until<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>, Failure>) -> Result<T, Failure> {
    let began = Instant::now();
    loop {
        if let Some(seen) = look()? {
            return Ok(seen);
        }
        if began.elapsed() >= PATIENCE {
            let what = format!("{what}: not within {} s", PATIENCE.as_secs());
            return Err(Failure::new(Exit::TimedOut, "MS-U042", what)
                .fix("mainstay doctor says what is wrong with the instance"));
        }
        thread::sleep(LOOK_AGAIN);
    }
}
