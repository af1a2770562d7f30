//! The whole service, as its users have it: `mainstay up` as a process of its own, players' tickets over HTTP, each answered once it is
//! durable; how soon a match is seen by who watches; and what a ticket that waits weighs.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::SEEDS;
use super::queues::Preset;
use super::workload::Workload;
use crate::Failure;
use crate::density::pss_kib;
use crate::http::Connection;
use crate::idle::spent;
use crate::instance::Instance;
use crate::report::{Run, histogram, summary};
use crate::stream::Watcher;

/// Connections that make tickets at once.
const CONNECTIONS: usize = 64;
/// How long tickets are made, each run.
const LOAD: Duration = Duration::from_secs(3);
/// Players who are ready before a run: more than it can use, at 40,000 a second.
const PLAYERS: usize = 120_000;
/// How often a match is waited for.
const WATCHES: usize = 1_000;
/// Tickets that wait while they are weighed.
const WAITING: usize = 200_000;
/// Those before them, for which the process touches what it needs once: code, buffers, caches.
const FIRST: usize = 20_000;
/// How long they are weighed on: the journal is made short once there are as many events, and what that took is given back within this.
const SETTLES: Duration = Duration::from_secs(40);
/// How often.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Of two players whose skill is within 100, as W1; and one in which nobody fits anybody.
const CONFIGURATION: &str = "version: 1.0
queues:
  - name: w1
    minMatchSize: 2
    maxMatchSize: 2
    rules:
      - name: skill
        type: DifferenceRule
        attribute: { source: User, path: Skill }
        attributeNotSpecifiedBehavior: MatchAny
        difference: 100
  - name: apart
    minMatchSize: 2
    maxMatchSize: 2
    rules:
      - name: skill
        type: DifferenceRule
        attribute: { source: User, path: Skill }
        attributeNotSpecifiedBehavior: MatchAny
        difference: 0
";

/// Measures.
pub fn run() -> Result<(), Failure> {
    // One thread for all connections: the service has the rest of the machine.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(measure())
}

async fn measure() -> Result<(), Failure> {
    let instance = Instance::start(CONFIGURATION)?;
    say!(
        "the service: CreateMatchmakingTicket by players over HTTP, {CONNECTIONS} connections, {} s a run",
        LOAD.as_secs()
    );
    let mut runs = Vec::new();
    for seed in SEEDS {
        let players = log_in(&instance, seed).await?;
        let lots = ready(&instance, players, seed).await?;
        let (service, callers) = (u64::from(instance.pid()), u64::from(std::process::id()));
        let before = (spent(&[service])?, spent(&[callers])?);
        let run = create(lots).await?;
        let after = (spent(&[service])?, spent(&[callers])?);
        let each = |seconds: f64| seconds * 1e6 / run.operations as f64;
        say!("  {}", run.line());
        say!(
            "            CPU a ticket: {:.0} us of the service, {:.0} us of its callers",
            each(after.0 - before.0),
            each(after.1 - before.1)
        );
        runs.push(run);
    }
    say!("{}", summary("CreateMatchmakingTicket", &runs));
    let mut runs = Vec::new();
    for _ in SEEDS {
        runs.push(visible(&instance).await?);
    }
    for run in &runs {
        say!("  {}", run.line());
    }
    say!("{}", summary("from the last ticket acknowledged to its match seen by who watches", &runs));
    drop(instance);
    weigh(&Instance::start(CONFIGURATION)?).await
}

/// A player who can call.
struct Player {
    id: String,
    token: String,
}

/// A ticket that a player makes.
struct Asked {
    token: String,
    body: String,
}

async fn log_in(instance: &Instance, seed: u64) -> Result<Vec<Player>, Failure> {
    let (server, secret) = instance.playfab()?;
    let secret: Arc<str> = secret.into();
    let each = move |number: usize| {
        let secret = Arc::clone(&secret);
        async move {
            let mut connection = Connection::open(server).await?;
            let mut players = Vec::new();
            for player in (number..PLAYERS).step_by(CONNECTIONS) {
                let body = json!({ "ServerCustomId": format!("{seed}-{player}") }).to_string();
                let answer = log_in_one(&mut connection, &secret, &body).await?;
                let token = &answer["data"]["EntityToken"];
                let text = |value: &Value| value.as_str().map(str::to_owned).ok_or("no token");
                players
                    .push(Player { id: text(&token["Entity"]["Id"])?, token: text(&token["EntityToken"])? });
            }
            Ok::<_, Failure>(players)
        }
    };
    let logins: Vec<_> = (0..CONNECTIONS).map(|number| tokio::spawn(each(number))).collect();
    let mut players = Vec::new();
    for login in logins {
        players.extend(login.await??);
    }
    Ok(players)
}

/// The answer to a login, asked again when there is room: no more than some come from one address in a minute.
async fn log_in_one(connection: &mut Connection, secret: &str, body: &str) -> Result<Value, Failure> {
    let path = "/Server/LoginWithServerCustomId";
    loop {
        let (status, answer) = connection.call(&Method::POST, path, ("x-secretkey", secret), body).await?;
        let answer: Value = serde_json::from_slice(answer)?;
        match (status, answer["retryAfterSeconds"].as_u64()) {
            (StatusCode::TOO_MANY_REQUESTS, Some(seconds)) => {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
            }
            (status, _) if status.is_success() => return Ok(answer),
            (status, _) => return Err(format!("{path} was answered {status}: {answer}").into()),
        }
    }
}

/// A connection for each lot of players, and what they ask.
async fn ready(
    instance: &Instance,
    players: Vec<Player>,
    seed: u64,
) -> Result<Vec<(Connection, Vec<Asked>)>, Failure> {
    let (server, _) = instance.playfab()?;
    let mut workload = Workload::new(seed, Preset::W1.reads());
    let mut lots: Vec<Vec<Asked>> = (0..CONNECTIONS).map(|_| Vec::new()).collect();
    for (Player { id, token }, lot) in players.into_iter().zip((0..CONNECTIONS).cycle()) {
        let entity = json!({ "Id": id, "Type": "title_player_account" });
        let attributes = json!({ "DataObject": { "Skill": workload.party().skill() } });
        let creator = json!({ "Entity": entity, "Attributes": attributes });
        let body = json!({ "Creator": creator, "GiveUpAfterSeconds": 600, "QueueName": "w1" }).to_string();
        lots[lot].push(Asked { token, body });
    }
    let mut ready = Vec::new();
    for lot in lots {
        ready.push((Connection::open(server).await?, lot));
    }
    Ok(ready)
}

/// Each connection makes tickets of players of its own, one after another.
async fn create(lots: Vec<(Connection, Vec<Asked>)>) -> Result<Run, Failure> {
    let began = Instant::now();
    let each = |(mut connection, lot): (Connection, Vec<Asked>)| async move {
        let mut latencies = histogram()?;
        for Asked { token, body } in lot {
            let asked = Instant::now();
            if asked - began >= LOAD {
                return Ok::<_, Failure>(latencies);
            }
            let path = "/Match/CreateMatchmakingTicket";
            ok(&mut connection, path, ("x-entitytoken", &token), &body).await?;
            latencies.record(u64::try_from(asked.elapsed().as_micros())?)?;
        }
        Err(format!("{PLAYERS} players are too few for {} s", LOAD.as_secs()).into())
    };
    let workers: Vec<_> = lots.into_iter().map(|it| tokio::spawn(each(it))).collect();
    let mut latencies = histogram()?;
    for worker in workers {
        latencies.add(worker.await??)?;
    }
    Ok(Run { operations: latencies.len(), took: began.elapsed(), latencies })
}

/// One ticket is watched as an event stream; another comes that fits it.
async fn visible(instance: &Instance) -> Result<Run, Failure> {
    let (server, authorization) = instance.api()?;
    let proof = ("authorization", authorization);
    let (mut maker, mut watcher) = (Connection::open(server).await?, Watcher::open(server).await?);
    let mut latencies = histogram()?;
    let began = Instant::now();
    // Further apart than anybody who was left waiting.
    let ticket = |player: String| {
        let players = [json!({ "player": player, "attributes": { "Skill": 1_000_000 } })];
        json!({ "players": players, "giveUpAfterSeconds": 600 }).to_string()
    };
    for round in 0..WATCHES {
        let path = "/v1/queues/w1/tickets";
        let first = ok(&mut maker, path, proof, &ticket(format!("first-{round}"))).await?;
        let first: Value = serde_json::from_slice(first)?;
        let path_of = format!("{path}/{}/events", first["id"].as_str().ok_or("a ticket without an id")?);
        let mut events = watcher.watch(&path_of, proof).await?;
        // The stream begins with how the ticket stands.
        events.next().await?.ok_or("the stream ended at once")?;
        ok(&mut maker, path, proof, &ticket(format!("second-{round}"))).await?;
        let acknowledged = Instant::now();
        loop {
            let data = events.next().await?.ok_or("the stream ended before the match")?;
            if String::from_utf8_lossy(&data).contains("\"Matched\"") {
                break;
            }
        }
        latencies.record(u64::try_from(acknowledged.elapsed().as_micros())?.max(1))?;
        while events.next().await?.is_some() {}
    }
    Ok(Run { operations: latencies.len(), took: began.elapsed(), latencies })
}

/// Tickets of one player each that fit nobody, in a process that has done nothing else: with what it touches once, and without; and
/// when its journal was made short meanwhile.
async fn weigh(instance: &Instance) -> Result<(), Failure> {
    let weight = || pss_kib(instance.pid().into()).map(|kib| kib * 1024);
    let before = weight()?;
    wait_for_nobody(instance, 0..FIRST).await?;
    let first = weight()?;
    wait_for_nobody(instance, FIRST..FIRST + WAITING).await?;
    let loaded = weight()?;
    let (mut most, mut last, began) = (loaded, loaded, Instant::now());
    while began.elapsed() < SETTLES {
        tokio::time::sleep(LOOK_EVERY).await;
        last = weight()?;
        most = most.max(last);
    }
    let each = |weight: u64| weight.saturating_sub(first) / WAITING as u64;
    say!(
        "{WAITING} solo tickets that wait: {} bytes each in the whole service, {} with the {FIRST} before them and what is touched once",
        each(loaded),
        loaded.saturating_sub(before) / (FIRST + WAITING) as u64
    );
    say!("  {} s later {} bytes each, and the most meanwhile {}", SETTLES.as_secs(), each(last), each(most));
    Ok(())
}

async fn wait_for_nobody(instance: &Instance, all: Range<usize>) -> Result<(), Failure> {
    let (server, authorization) = instance.api()?;
    let authorization: Arc<str> = authorization.into();
    let each = |number: usize| {
        let (authorization, players) = (Arc::clone(&authorization), all.clone().skip(number));
        async move {
            let mut connection = Connection::open(server).await?;
            for player in players.step_by(CONNECTIONS) {
                let players =
                    [json!({ "player": format!("waits-{player}"), "attributes": { "Skill": player } })];
                let body = json!({ "players": players, "giveUpAfterSeconds": 3600 }).to_string();
                let proof = ("authorization", &*authorization);
                ok(&mut connection, "/v1/queues/apart/tickets", proof, &body).await?;
            }
            Ok::<_, Failure>(())
        }
    };
    let workers: Vec<_> = (0..CONNECTIONS).map(|number| tokio::spawn(each(number))).collect();
    for worker in workers {
        worker.await??;
    }
    Ok(())
}

async fn ok<'a>(
    connection: &'a mut Connection,
    path: &str,
    proof: (&str, &str),
    body: &str,
) -> Result<&'a [u8], Failure> {
    let (status, answer) = connection.call(&Method::POST, path, proof, body).await?;
    if !status.is_success() {
        return Err(format!("{path} was answered {status}: {}", String::from_utf8_lossy(answer)).into());
    }
    Ok(answer)
}
