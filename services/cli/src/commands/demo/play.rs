//! `mainstay demo play`: four players are matched onto a server, its process is killed under them, one leaves and is replaced.
//!
//! All of it real: tickets over the API, players on sockets of their own, SIGKILL, and a game that keeps its places filled by itself.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::patience::Patience;
use super::player::Player;
use super::server::Server;
use super::tickets::{Ticket, Tickets};
use super::told::Told;
use crate::arguments::Output;
use crate::client::Client;
use crate::failure::{Exit, Failure};

/// The demo's queue, as `up/demo.yaml` has it.
pub const QUEUE: &str = "/v1/queues/arena";
/// Who plays, with their skill. The queue allows 5 apart, and 5 more each second: dave has to wait.
const PLAYERS: [(&str, i32); 4] = [("alice", 10), ("bob", 12), ("carol", 14), ("dave", 24)];
/// Who comes later.
const LATER: (&str, i32) = ("erin", 15);
/// Who leaves.
const LEAVER: &str = "dave";
/// How long the players just play, between one thing and the next.
const PLAYS: Duration = Duration::from_secs(1);

pub fn run(data_dir: &Path, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::here(data_dir)?;
    if let Err(failure) = client.get(QUEUE) {
        return Err(match failure.exit {
            Exit::NotFound => failure.fix("this shows the demo's queue: mainstay up --demo"),
            Exit::Failed
            | Exit::Usage
            | Exit::Gone
            | Exit::Denied
            | Exit::Refused
            | Exit::TimedOut
            | Exit::Unreachable => failure,
        });
    }
    let demo = Demo { client: &client, told: Told::new(format), patience: Patience::new()? };
    let tickets = Tickets::new(&client);
    let played = demo.play(&tickets);
    // However it went; and why it failed is said before what failed after.
    let ended = tickets.end();
    played?;
    demo.withdrawn(&ended?)?;
    Ok(ExitCode::SUCCESS)
}

/// What a demo has at hand.
struct Demo<'a> {
    client: &'a Client,
    told: Told,
    patience: Patience,
}

impl Demo<'_> {
    fn play(&self, tickets: &Tickets<'_>) -> Result<(), Failure> {
        let Self { client, told, patience } = self;
        told.act("Players look for a match of two against two, on a server of their own")?;
        let looking: Vec<Ticket> =
            PLAYERS.iter().map(|player| self.looks(tickets, *player)).collect::<Result<_, _>>()?;
        self.why(&looking)?;
        let formed = self.matched(&looking)?;
        let server = Server::of(client, &formed)?;
        told.act("A server was allocated before the match was formed; the players join it")?;
        let mut players: Vec<Player> =
            PLAYERS.iter().map(|(name, _)| Player::start(name, server.address)).collect();
        patience
            .until("all four play", || Ok(players.iter().all(|it| it.seen().joins >= 1).then_some(())))?;
        let facts =
            json!({ "players": players.len(), "address": server.address.to_string(), "pid": server.pid });
        let words = format!(
            "4 of 4 players play at {}, process {} of server {}",
            server.address, server.pid, server.name
        );
        told.say("playing", facts, &words)?;
        thread::sleep(PLAYS);
        let gap = self.crash(&server, &players)?;
        let team = self.replace(tickets, &formed, &server, &mut players)?;
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

    fn looks(&self, tickets: &Tickets<'_>, player: (&'static str, i32)) -> Result<Ticket, Failure> {
        let ticket = tickets.make(player)?;
        let (player, skill) = player;
        let facts = json!({ "player": player, "skill": skill, "ticket": ticket.id });
        self.told.say("ticket", facts, &format!("{player} (skill {skill}) looks for a match"))?;
        Ok(ticket)
    }

    /// Waits until the games of these sessions ask for nobody any more: whoever plays the demo next must meet none of them.
    fn withdrawn(&self, sessions: &[String]) -> Result<(), Failure> {
        let asks = |it: &Value| {
            let session = it["lease"]["hosted"]["session"].as_str();
            it["status"] == "WaitingForMatch"
                && session.is_some_and(|session| sessions.iter().any(|it| it == session))
        };
        self.patience.until("its game asks for nobody any more", || {
            let all = self.client.get(&format!("{QUEUE}/backfills"))?;
            let mut items = all["items"].as_array().into_iter().flatten();
            Ok((!items.any(asks)).then_some(()))
        })
    }

    /// Says of whom who waits longest why that is.
    fn why(&self, tickets: &[Ticket]) -> Result<(), Failure> {
        let Some(last) = tickets.last() else { return Ok(()) };
        let why = self.client.get(&format!("{}/why", last.path))?;
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
        self.told.say("why", why, &words)
    }

    fn matched(&self, tickets: &[Ticket]) -> Result<Value, Failure> {
        let Some(first) = tickets.first() else { return Ok(Value::Null) };
        let formed = self.match_of(first)?;
        let mut teams: Vec<(&str, &str)> =
            seats(&formed).map(|seat| (text(&seat["team"]), text(&seat["player"]))).collect();
        teams.sort_unstable();
        let of = |team: &str| {
            let players: Vec<&str> = teams.iter().filter(|it| it.0 == team).map(|it| it.1).collect();
            players.join(" and ")
        };
        let words = format!("matched: {} (red) against {} (blue)", of("red"), of("blue"));
        self.told.say("matched", formed.clone(), &words)?;
        Ok(formed)
    }

    fn match_of(&self, ticket: &Ticket) -> Result<Value, Failure> {
        let seen = self.patience.until("the ticket is matched", || {
            let seen = self.client.get(&ticket.path)?;
            match seen["status"].as_str() {
                Some("Canceled") => {
                    let what = format!("the ticket of {} ended without a match", ticket.player);
                    let failure = Failure::new(Exit::Failed, "MS-U040", what);
                    let fix = "see who waits and what keeps them apart: mainstay queue funnel arena; then run the demo again";
                    Err(failure.why(text(&seen["cancellationReason"])).fix(fix))
                }
                Some("Matched") => Ok(Some(seen)),
                Some(_) | None => Ok(None),
            }
        })?;
        self.client.get(&format!("{QUEUE}/matches/{}", text(&seen["matchId"])))
    }

    /// Kills the server's process, and waits until everybody plays again.
    fn crash(&self, server: &Server, players: &[Player]) -> Result<Duration, Failure> {
        let Self { client, told, patience } = self;
        told.act("The server's process is killed under them")?;
        // A player may have joined more than once before: its network is a real one too.
        let before: Vec<u32> = players.iter().map(|player| player.seen().joins).collect();
        server.kill()?;
        let facts = json!({ "pid": server.pid, "server": server.name });
        told.say("killed", facts, &format!("kill -9 {}", server.pid))?;
        patience.until("all four play again", || {
            let again = players.iter().zip(&before).all(|(player, before)| player.seen().joins > *before);
            Ok(again.then_some(()))
        })?;
        let after = patience.until("the process that took over is known", || {
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

    /// One leaves; the game asks for a player by itself, and whoever is found takes the place.
    fn replace(
        &self,
        tickets: &Tickets<'_>,
        formed: &Value,
        server: &Server,
        players: &mut Vec<Player>,
    ) -> Result<String, Failure> {
        let Self { client, told, patience } = self;
        told.act("One leaves; the game asks for another with a backfill ticket")?;
        players.retain(|it| it.name() != LEAVER);
        told.say("left", json!({ "player": LEAVER }), &format!("{LEAVER} leaves the game"))?;
        let backfill = patience.until("the game looks for another player", || {
            let all = client.get(&format!("{QUEUE}/backfills"))?;
            let wants = |it: &&Value| {
                it["status"] == "WaitingForMatch" && it["lease"]["hosted"]["session"] == *server.allocation
            };
            Ok(all["items"].as_array().into_iter().flatten().find(wants).cloned())
        })?;
        let facts = json!({ "ticket": backfill["id"], "players": seats(&backfill).count(), "places": backfill["places"] });
        told.say("backfill", facts, "the game says so to its host, and wants one more player")?;
        let later = self.looks(tickets, LATER)?;
        let filled = self.match_of(&later)?;
        let seat = |players: &Value, player: &str| {
            let seat = seats(players).find(|seat| seat["player"] == player);
            seat.map_or_else(String::new, |seat| text(&seat["team"]).to_owned())
        };
        let (team, before) = (seat(&filled, later.player), seat(formed, LEAVER));
        players.push(Player::start(later.player, server.address));
        let plays = || Ok(players.iter().all(|it| it.seen().joins >= 1).then_some(()));
        patience.until("the new player plays", plays)?;
        let same = filled["server"]["ports"] == formed["server"]["ports"];
        let facts = json!({ "player": later.player, "team": team, "placeOf": LEAVER, "teamBefore": before, "sameServer": same });
        let words = format!(
            "{} is matched into the running game, on team {team} as {LEAVER} was, and plays",
            later.player
        );
        told.say("replaced", facts, &words)?;
        Ok(team)
    }
}

/// The time of day of an RFC 3339 moment.
fn clock(moment: &str) -> &str {
    moment.split_once('T').map_or(moment, |(_, time)| time.trim_end_matches('Z'))
}

fn seats(formed: &Value) -> impl Iterator<Item = &Value> {
    formed["players"].as_array().into_iter().flatten()
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}
