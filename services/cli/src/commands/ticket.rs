//! `mainstay ticket`: players who look for a match.

use std::cell::Cell;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::queue::{TICKETS, found, meant, parsed};
use super::{every, segment};
use crate::arguments::{ListOf, Output, TicketVerb, Waiting};
use crate::client::Client;
use crate::failure::{Exit, Failure};
use crate::follow::Follow;
use crate::output::{self, Column, Shape};
use crate::target::Target;

pub(super) const COLUMNS: &[Column] = &[
    ("ticket", "/id"),
    ("status", "/status"),
    ("players", "/players"),
    ("created", "/created"),
    ("gives up", "/givesUp"),
    ("match", "/matchId"),
    ("why", "/cancellationReason"),
];

/// How long nothing need be told of a ticket that is waited for without a limit: longer than a stream is silent.
const WITHIN: Duration = Duration::from_secs(60);

pub fn run(verb: &TicketVerb, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
    match verb {
        TicketVerb::List(list) => {
            let path = listed(&client, list, TICKETS.1)?;
            output::look(&Shape::Rows(COLUMNS), format, &|| every(&client, &path))?;
        }
        TicketVerb::Get(one) => {
            let path = path(&client, one)?;
            output::follow(Follow::of(&client, path), format)?;
        }
        TicketVerb::Create { of, players, invited, give_up_after, waiting } => {
            let queue = meant(&client, of)?;
            let players = players.iter().map(|text| player(text)).collect::<Result<Vec<_>, _>>()?;
            let body = json!({ "players": players, "invited": invited, "giveUpAfterSeconds": give_up_after });
            let made = client.post(&format!("{queue}/tickets"), &body)?;
            let ticket = awaited(&client, made, waiting)?;
            output::one(&ticket, format)?;
        }
        TicketVerb::Join { ticket, player: joins, waiting } => {
            let joined = client.post(&format!("{}/players", path(&client, ticket)?), &player(joins)?)?;
            let ticket = awaited(&client, joined, waiting)?;
            output::one(&ticket, format)?;
        }
        TicketVerb::Cancel(one) => {
            let path = path(&client, one)?;
            client.delete(&path)?;
            output::one(&client.get(&path)?, format)?;
        }
        TicketVerb::CancelAll(of_player) => {
            let queue = meant(&client, &of_player.of)?;
            client.delete(&format!("{queue}/tickets?player={}", segment(&of_player.player)))?;
        }
        TicketVerb::Why(one) => {
            let ticket = path(&client, one)?;
            let was_told = Cell::new(false);
            output::look(&Shape::Words(&in_words), format, &|| match client.get(&format!("{ticket}/why")) {
                // It has searched, and does no more: what has become of it is the last that is told.
                Err(refused) if refused.exit == Exit::Refused && was_told.get() => client.get(&ticket),
                answered => {
                    was_told.set(answered.is_ok());
                    answered
                }
            })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Where tickets are listed.
pub(super) fn listed(client: &Client, list: &ListOf, what: &str) -> Result<String, Failure> {
    let queue = meant(client, &list.of)?;
    let player = list.player.as_ref().map(|player| format!("?player={}", segment(player)));
    Ok(format!("{queue}/{what}{}", player.unwrap_or_default()))
}

/// Where a ticket is.
pub(super) fn path(client: &Client, one: &crate::arguments::OneTicket) -> Result<String, Failure> {
    found(client, one, TICKETS)
}

/// `alice`, or `alice={"skill": 0.4}`.
pub(super) fn player(text: &str) -> Result<Value, Failure> {
    let Some((id, attributes)) = text.split_once('=') else { return Ok(json!({ "player": text })) };
    let attributes = parsed(attributes.as_bytes(), &format!("what follows {id}="))?;
    Ok(json!({ "player": id, "attributes": attributes }))
}

/// The ticket as it was answered; or, where it is waited for, once it is over.
fn awaited(client: &Client, mut ticket: Value, waiting: &Waiting) -> Result<Value, Failure> {
    if !waiting.wait {
        return Ok(ticket);
    }
    let text = |ticket: &Value, field: &str| ticket[field].as_str().unwrap_or("-").to_owned();
    let (id, queue) = (text(&ticket, "id"), text(&ticket, "queue"));
    let path = format!("/v1/queues/{}/tickets/{id}", segment(&queue));
    let began = Instant::now();
    let mut told = Follow::of(client, path);
    loop {
        match ticket["status"].as_str() {
            Some("Matched") => return Ok(ticket),
            Some("Canceled") => {
                let reason = text(&ticket, "cancellationReason");
                let exit = if reason == "Timeout" { Exit::TimedOut } else { Exit::Failed };
                let failure = Failure::new(exit, "MS-U040", format!("ticket {id} ended without a match"));
                return Err(failure.why(reason).fix(
                    "see who waits and what keeps them apart: mainstay queue funnel NAME; then ask again",
                ));
            }
            Some(_) | None => {}
        }
        if let Some(limit) = waiting.timeout.filter(|limit| began.elapsed() >= *limit) {
            let what = format!("ticket {id} is not matched yet");
            return Err(Failure::new(Exit::TimedOut, "MS-U049", what)
                .why(format!("waited {} s; it is {}", limit.as_secs(), text(&ticket, "status")))
                .fix(format!("it searches on: mainstay why {id}; give it up: mainstay ticket cancel {id}")));
        }
        let left = waiting.timeout.map_or(WITHIN, |limit| limit.saturating_sub(began.elapsed()));
        if let Some(newer) = told.next(left)? {
            ticket = newer;
        }
    }
}

/// What keeps others away, for a person; or what has become of a ticket that searches no more.
fn in_words(why: &Value) -> String {
    use std::fmt::Write as _;
    if let Some(status) = why["status"].as_str() {
        let of = |field: &str| why[field].as_str().map(|what| format!(": {what}")).unwrap_or_default();
        return format!(
            "It searches no more. It is {status}{}{}.\n",
            of("matchId"),
            of("cancellationReason")
        );
    }
    let list = |field: &str| why[field].as_array().cloned().unwrap_or_default();
    let mut text = format!(
        "It has searched for {} s. A match has {} to {} players.\n{} others search; of {} looked at, {} fit it ({} players).\n",
        why["waitedSeconds"],
        why["playersMin"],
        why["playersMax"],
        why["others"],
        why["lookedAt"],
        why["fitting"],
        why["fittingPlayers"],
    );
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(server) = why.get("server") {
        let mut text = format!(
            "It has searched for {} s. Its match of {} tickets waits since {} for {}",
            why["waitedSeconds"],
            server["tickets"],
            word(&server["since"]),
            server["fleet"].as_str().map_or_else(
                || "a session of the lobby".to_owned(),
                |fleet| format!("a server of fleet {fleet}")
            ),
        );
        if let Some(region) = server["region"].as_str() {
            let _infallible = write!(text, " in {region}");
        }
        text.push_str(".\n");
        if let Some(server) = server["notReady"].as_u64() {
            let _infallible = writeln!(
                text,
                "It has server {server}, whose game has not called ready: mainstay server logs {server}."
            );
        }
        if let Some(code) = server["refused"].as_str() {
            let times = &server["refusals"];
            let _infallible = writeln!(
                text,
                "It was refused one {times} times, last with {code}: mainstay explain {code}."
            );
        }
        if let Some(at) = server["askedAgain"].as_str() {
            let _infallible = writeln!(text, "It asks again at {at}.");
        }
        return text;
    }
    let missing: Vec<String> = list("missing").iter().map(word).collect();
    if !missing.is_empty() {
        return format!("It does not search yet: it waits for {} to join.\n", missing.join(", "));
    }
    if let Some(since) = why["pausedSince"].as_str() {
        let _infallible = writeln!(text, "The queue is paused since {since}: mainstay queue resume.");
    }
    for rule in list("keptAway") {
        let _infallible = writeln!(text, "  {} keeps {} away", word(&rule["rule"]), rule["tickets"]);
    }
    for other in list("nearest") {
        let kind = if other["backfill"] == true { "game" } else { "ticket" };
        let _infallible = writeln!(text, "{kind} {} of {} players", word(&other["id"]), other["players"]);
        for judged in other["rules"].as_array().into_iter().flatten() {
            let (mark, why) =
                if judged["fits"] == true { ("✓", String::new()) } else { ("✗", word(&judged["why"])) };
            let _infallible = write!(text, "  {mark} {} {why}", word(&judged["rule"]));
            if let Some(at) = judged["fitsAt"].as_str() {
                let _infallible = write!(text, "; it gives way at {at}");
            }
            text.push('\n');
        }
    }
    if let Some(together) = why.get("together") {
        let rules = together["rules"].as_array().cloned().unwrap_or_default();
        if !rules.is_empty() {
            let (tickets, players) = (&together["tickets"], &together["players"]);
            let _infallible = writeln!(
                text,
                "With the nearest that fit: {tickets} tickets of {players} players, and no match yet."
            );
        }
        for judged in rules {
            let _infallible = writeln!(text, "  ✗ {} {}", word(&judged["rule"]), word(&judged["why"]));
        }
    }
    match why.get("next") {
        Some(step) => {
            let _infallible = writeln!(
                text,
                "Next: {} gives way at {}, from {} to {}.",
                word(&step["rule"]),
                word(&step["at"]),
                word(&step["from"]),
                word(&step["to"])
            );
        }
        None => text.push_str("None of its own limits will give way any more.\n"),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_player_is_an_id_with_or_without_attributes() {
        assert_eq!(player("alice").unwrap(), json!({ "player": "alice" }));
        let bob = json!({ "player": "bob", "attributes": { "skill": 0.5 } });
        assert_eq!(player("bob={\"skill\": 0.5}").unwrap(), bob);
        assert_eq!(player("bob={skill}").unwrap_err().code, "MS-U039");
    }

    #[test]
    fn a_match_without_a_server_is_told_in_words() {
        let why = json!({
            "waitedSeconds": 12,
            "server": { "since": "2026-11-21T12:00:00Z", "tickets": 2, "fleet": "arena", "region": "EastUs", "refusals": 3,
                "refused": "MS-P004", "askedAgain": "2026-11-21T12:00:05Z" },
        });
        assert_eq!(
            in_words(&why),
            "It has searched for 12 s. Its match of 2 tickets waits since 2026-11-21T12:00:00Z for a server of fleet arena in EastUs.\n\
             It was refused one 3 times, last with MS-P004: mainstay explain MS-P004.\n\
             It asks again at 2026-11-21T12:00:05Z.\n"
        );
    }

    #[test]
    fn a_server_that_is_not_ready_is_told_in_words() {
        let why = json!({
            "waitedSeconds": 3,
            "server": { "since": "2026-11-21T12:00:00Z", "tickets": 2, "fleet": "arena", "refusals": 0, "notReady": 7 },
        });
        assert_eq!(
            in_words(&why),
            "It has searched for 3 s. Its match of 2 tickets waits since 2026-11-21T12:00:00Z for a server of fleet arena.\n\
             It has server 7, whose game has not called ready: mainstay server logs 7.\n"
        );
    }

    #[test]
    fn a_ticket_whose_players_have_not_all_joined_says_whom_it_waits_for() {
        let why = json!({ "waitedSeconds": 0, "missing": ["gus", "hal"] });
        assert_eq!(in_words(&why), "It does not search yet: it waits for gus, hal to join.\n");
    }

    #[test]
    fn what_became_of_a_ticket_is_told_in_words() {
        for (ticket, told) in [
            (json!({ "status": "Matched", "matchId": "m-1" }), "Matched: m-1"),
            (
                json!({ "status": "Canceled", "matchId": null, "cancellationReason": "Timeout" }),
                "Canceled: Timeout",
            ),
        ] {
            assert_eq!(in_words(&ticket), format!("It searches no more. It is {told}.\n"));
        }
    }

    #[test]
    fn why_is_told_in_words() {
        let why = json!({
            "waitedSeconds": 12, "playersMin": 2, "playersMax": 2, "others": 1, "lookedAt": 1, "fitting": 0, "fittingPlayers": 0,
            "keptAway": [{ "rule": "skill", "tickets": 1 }],
            "nearest": [{ "id": "t-2", "backfill": false, "players": 1, "rules": [
                { "rule": "mode", "fits": true }, { "rule": "skill", "fits": false, "why": "3 apart, at most 2", "fitsAt": "2026-11-21T12:00:00Z" }] }],
            "together": { "tickets": 1, "players": 1, "rules": [
                { "rule": "matchSize", "fits": false, "why": "1 players together, at least 2" }] },
            "next": { "rule": "skill", "at": "2026-11-21T12:00:00Z", "from": "2", "to": "3" },
        });
        assert_eq!(
            in_words(&why),
            "It has searched for 12 s. A match has 2 to 2 players.\n\
             1 others search; of 1 looked at, 0 fit it (0 players).\n  \
             skill keeps 1 away\n\
             ticket t-2 of 1 players\n  \
             ✓ mode \n  \
             ✗ skill 3 apart, at most 2; it gives way at 2026-11-21T12:00:00Z\n\
             With the nearest that fit: 1 tickets of 1 players, and no match yet.\n  \
             ✗ matchSize 1 players together, at least 2\n\
             Next: skill gives way at 2026-11-21T12:00:00Z, from 2 to 3.\n"
        );
    }
}
