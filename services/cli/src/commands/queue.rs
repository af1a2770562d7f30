//! `mainstay queue`, and what the commands of its tickets and matches share.

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::sure::sure;
use super::{every, is_there, segment, ticket};
use crate::arguments::{OfQueue, OneTicket, Output, QueueVerb};
use crate::client::Client;
use crate::failure::{Exit, Failure};
use crate::output::{self, Column, Shape};
use crate::target::Target;

const COLUMNS: &[Column] = &[
    ("name", "/name"),
    ("open tickets", "/openTickets"),
    ("players matching", "/playersMatching"),
    ("p50 s", "/timeToMatch/p50Seconds"),
    ("p90 s", "/timeToMatch/p90Seconds"),
    ("p99 s", "/timeToMatch/p99Seconds"),
];

pub fn run(verb: &QueueVerb, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
    match verb {
        QueueVerb::List => output::look(&Shape::Rows(COLUMNS), format, &|| every(&client, "/v1/queues"))?,
        QueueVerb::Get { name } => output::look(&Shape::One, format, &|| client.get(&path(name)))?,
        QueueVerb::Set { file } => {
            let queue = read_json(file)?;
            let inner = queue.get("MatchmakingQueue").unwrap_or(&queue);
            let name = inner.get("Name").or_else(|| inner.get("name")).and_then(Value::as_str);
            let Some(name) = name else {
                return Err(Failure::new(
                    Exit::Usage,
                    "MS-U039",
                    format!("{} has no queue with a name", file.display()),
                )
                .fix("write its Name, as GetMatchmakingQueue answers; files in other words go by mainstay apply"));
            };
            client.put(&path(name), "application/json", None, queue.to_string().as_bytes())?;
            output::one(&client.get(&path(name))?, format)?;
        }
        QueueVerb::Delete { name } => {
            sure(&format!("remove queue {name}, and cancel its tickets"), &client, format)?;
            client.delete(&path(name))?;
        }
        QueueVerb::Stats(one) => {
            let path = format!("{}/statistics", meant(&client, &one.of())?);
            output::look(&Shape::One, format, &|| client.get(&path))?;
        }
        QueueVerb::Funnel(one) => {
            let path = format!("{}/funnel", meant(&client, &one.of())?);
            let words = |funnel: &Value| narrowed(funnel, format);
            output::look(&Shape::Words(&words), format, &|| client.get(&path))?;
        }
        QueueVerb::Try { of, players, within, rules } => {
            let queue = meant(&client, of)?;
            let alone = |text: &String| Ok(json!({ "players": [ticket::player(text)?] }));
            let tickets = players.iter().map(alone).collect::<Result<Vec<Value>, Failure>>()?;
            let mut body = json!({ "tickets": tickets, "withinSeconds": within });
            if let Some(file) = rules {
                let rules = read_json(file)?;
                body["configuration"] = rules.get("MatchmakingQueue").unwrap_or(&rules).clone();
            }
            let tried = client.post(&format!("{queue}/try"), &body)?;
            output::told(&tried, &in_words, format)?;
        }
        QueueVerb::Pause(one) => output::one(&told(&client, &one.of(), "pause")?, format)?,
        QueueVerb::Resume(one) => output::one(&told(&client, &one.of(), "resume")?, format)?,
    }
    Ok(ExitCode::SUCCESS)
}

const NARROWING: &[Column] =
    &[("rule", "/rule"), ("keeps apart", "/apart"), ("it alone", "/alone"), ("pairs left", "/left")];

fn told(client: &Client, of: &OfQueue, what: &str) -> Result<Value, Failure> {
    client.post(&format!("{}/{what}", meant(client, of)?), &json!({}))
}

fn narrowed(funnel: &Value, format: &Output) -> String {
    format!(
        "{} tickets are open; {} of them, each with each, are {} pairs.\n{}",
        funnel["open"],
        funnel["tickets"],
        funnel["pairs"],
        output::table(&funnel["rules"], NARROWING, format)
    )
}

/// What a queue would do, for a person: a line a match.
fn in_words(tried: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let seated = |it: &Value| match it["team"].as_str() {
        Some(team) => format!("{} ({team})", word(&it["player"])),
        None => word(&it["player"]),
    };
    let matched = list(&tried["matches"]).into_iter().map(|it| {
        let players: Vec<String> = list(&it["players"]).iter().map(seated).collect();
        let regions: Vec<String> = list(&it["regions"]).iter().map(word).collect();
        let place = if regions.is_empty() { String::new() } else { format!(", in {}", regions.join(" or ")) };
        format!("after {} s: {}{place}\n", it["afterSeconds"], players.join(", "))
    });
    let left: Vec<String> = list(&tried["left"]).iter().map(word).collect();
    let left = (!left.is_empty()).then(|| format!("in no match: {}\n", left.join(", ")));
    matched.chain(left).collect()
}

/// Where a queue is.
fn path(name: &str) -> String {
    format!("/v1/queues/{}", segment(name))
}

/// The names of all queues.
pub(super) fn names(client: &Client) -> Result<Vec<String>, Failure> {
    let queues = every(client, "/v1/queues")?;
    let names = queues.as_array().into_iter().flatten().filter_map(|queue| queue["name"].as_str());
    Ok(names.map(str::to_owned).collect())
}

/// What queues have: what one is called, and where all of them are.
pub(super) type Kind = (&'static str, &'static str);
/// Tickets, of players and of games.
pub(super) const TICKETS: Kind = ("ticket", "tickets");
/// Matches.
pub(super) const MATCHES: Kind = ("match", "matches");

/// What has this id in whichever of these queues, and where it is.
pub(super) fn sought(
    client: &Client,
    queues: &[String],
    kinds: &[Kind],
    id: &str,
) -> Result<Option<(&'static str, String)>, Failure> {
    for queue in queues {
        for &(kind, nouns) in kinds {
            let path = format!("{}/{nouns}/{}", path(queue), segment(id));
            if is_there(client, &path)? {
                return Ok(Some((kind, path)));
            }
        }
    }
    Ok(None)
}

/// Where the queue that is meant is: the one named, or the only one.
pub(super) fn meant(client: &Client, of: &OfQueue) -> Result<String, Failure> {
    if let Some(name) = &of.queue {
        return Ok(path(name));
    }
    only(&names(client)?)
}

/// Where the only one of these queues is.
fn only(names: &[String]) -> Result<String, Failure> {
    match names {
        [only] => Ok(path(only)),
        [] => {
            let fix = "make one: mainstay queue set FILE, or queues: of mainstay.yaml";
            Err(Failure::new(Exit::NotFound, "MS-U038", "there is no queue").fix(fix))
        }
        [..] => Err(Failure::new(Exit::Usage, "MS-U038", "there are several queues, and none is named")
            .why(format!("they are {}", names.join(", ")))
            .fix("add --queue NAME")),
    }
}

/// Where a ticket or a match is: in the queue that is named, or in whichever has it.
pub(super) fn found(client: &Client, one: &OneTicket, kind: Kind) -> Result<String, Failure> {
    let (noun, nouns) = kind;
    let within = |queue: &str| format!("{queue}/{nouns}/{}", segment(&one.id));
    if let Some(name) = &one.of.queue {
        return Ok(within(&path(name)));
    }
    let queues = names(client)?;
    // Of a single one nothing needs to be looked for, and without any it is told how one is made.
    if queues.len() < 2 {
        return Ok(within(&only(&queues)?));
    }
    sought(client, &queues, &[kind], &one.id)?.map(|(_, path)| path).ok_or_else(|| {
        let what = format!("none of {} queues has {} among its {nouns}", queues.len(), one.id);
        Failure::new(Exit::NotFound, "MS-U048", what)
            .why("who ended is remembered for some minutes")
            .fix(format!("list them: mainstay {noun} list --queue NAME"))
    })
}

/// The JSON of a file, or of standard input.
pub(super) fn read_json(file: &Path) -> Result<Value, Failure> {
    let unread = |error: std::io::Error| {
        Failure::new(Exit::Usage, "MS-U006", format!("cannot read {}", file.display())).why(error)
    };
    let mut text = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().lock().take(BYTES_MAX).read_to_end(&mut text).map_err(unread)?;
    } else {
        std::fs::File::open(file)
            .and_then(|file| file.take(BYTES_MAX).read_to_end(&mut text))
            .map_err(unread)?;
    }
    serde_json::from_slice(mainstay_wire::object::unmarked(&text)).map_err(|error| {
        Failure::new(Exit::Usage, "MS-U039", format!("{} is not JSON", file.display()))
            .why(error)
            .fix("mend it there; what is written as in mainstay.yaml goes by mainstay apply")
    })
}

/// The most read of a file: the API refuses larger bodies, and says how large they may be.
const BYTES_MAX: u64 = 8 << 20;

/// JSON that a person wrote on the command line.
pub(super) fn parsed(text: &[u8], what: &str) -> Result<Value, Failure> {
    serde_json::from_slice(text).map_err(|error| {
        Failure::new(Exit::Usage, "MS-U039", format!("{what} is not JSON"))
            .why(error)
            .fix("quote it: 'alice={\"skill\": 0.4}'")
    })
}
