//! The whole service, as its users have it: `mainstay up` as a process of its own, players' tickets over HTTP, each answered once it is
//! durable; how soon a match is seen by who watches; and what a ticket that waits weighs.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::SEEDS;
use super::queues::Preset;
use super::workload::Workload;
use crate::Failure;
use crate::density::pss_kib;
use crate::http::Connection;
use crate::instance::Instance;
use crate::report::{Run, histogram, summary};

/// Connections that make tickets at once.
const CONNECTIONS: usize = 64;
/// How long tickets are made, each run.
const LOAD: Duration = Duration::from_secs(5);
/// Players who are ready before a run: more than it can use.
const PLAYERS: usize = 80_000;
/// How often a match is waited for.
const WATCHES: usize = 1_000;
/// Tickets that wait while they are weighed.
const WAITING: usize = 200_000;
/// Those before them, for which the process touches what it needs once: code, buffers, caches.
const FIRST: usize = 20_000;
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
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure())
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
        let run = create(&instance, players, seed).await?;
        say!("  {}", run.line());
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
                let path = "/Server/LoginWithServerCustomId";
                let answer = ok(&mut connection, path, ("x-secretkey", &secret), body).await?;
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

/// Each connection makes tickets of players of its own, one after another.
async fn create(instance: &Instance, players: Vec<Player>, seed: u64) -> Result<Run, Failure> {
    let (server, _) = instance.playfab()?;
    let mut workload = Workload::new(seed, Preset::W1.reads());
    let mut lots: Vec<Vec<(Player, i64)>> = (0..CONNECTIONS).map(|_| Vec::new()).collect();
    for (player, lot) in players.into_iter().zip((0..CONNECTIONS).cycle()) {
        lots[lot].push((player, workload.party().skill()));
    }
    let mut ready = Vec::new();
    for lot in lots {
        ready.push((Connection::open(server).await?, lot));
    }
    let began = Instant::now();
    let each = |(mut connection, lot): (Connection, Vec<(Player, i64)>)| async move {
        let mut latencies = histogram()?;
        for (player, skill) in lot {
            let entity = json!({ "Id": player.id, "Type": "title_player_account" });
            let creator = json!({ "Entity": entity, "Attributes": { "DataObject": { "Skill": skill } } });
            let body =
                json!({ "Creator": creator, "GiveUpAfterSeconds": 600, "QueueName": "w1" }).to_string();
            let asked = Instant::now();
            if asked - began >= LOAD {
                return Ok::<_, Failure>(latencies);
            }
            let path = "/Match/CreateMatchmakingTicket";
            ok(&mut connection, path, ("x-entitytoken", &player.token), body).await?;
            latencies.record(u64::try_from(asked.elapsed().as_micros())?)?;
        }
        Err(format!("{PLAYERS} players are too few for {} s", LOAD.as_secs()).into())
    };
    let workers: Vec<_> = ready.into_iter().map(|it| tokio::spawn(each(it))).collect();
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
    let (mut maker, mut watcher) = (Connection::open(server).await?, Connection::open(server).await?);
    let mut latencies = histogram()?;
    let began = Instant::now();
    // Further apart than anybody who was left waiting.
    let ticket = |player: String| {
        let players = [json!({ "player": player, "attributes": { "Skill": 1_000_000 } })];
        json!({ "players": players, "giveUpAfterSeconds": 600 }).to_string()
    };
    for round in 0..WATCHES {
        let path = "/v1/queues/w1/tickets";
        let first = ok(&mut maker, path, proof, ticket(format!("first-{round}"))).await?;
        let path_of = format!("{path}/{}/events", first["id"].as_str().ok_or("a ticket without an id")?);
        let mut events = watcher.send(Method::GET, &path_of, proof, Bytes::new()).await?.into_body();
        // The stream begins with how the ticket stands.
        events.frame().await.ok_or("the stream ended at once")??;
        ok(&mut maker, path, proof, ticket(format!("second-{round}"))).await?;
        let acknowledged = Instant::now();
        loop {
            let frame = events.frame().await.ok_or("the stream ended before the match")??;
            let data = frame.into_data().unwrap_or_default();
            if String::from_utf8_lossy(&data).contains("\"Matched\"") {
                break;
            }
        }
        latencies.record(u64::try_from(acknowledged.elapsed().as_micros())?.max(1))?;
        while let Some(frame) = events.frame().await {
            frame?;
        }
    }
    Ok(Run { operations: latencies.len(), took: began.elapsed(), latencies })
}

/// Tickets of one player each that fit nobody, in a process that has done nothing else; with what it touches once, and without.
async fn weigh(instance: &Instance) -> Result<(), Failure> {
    let weight = || pss_kib(instance.pid().into()).map(|kib| kib * 1024);
    let before = weight()?;
    wait_for_nobody(instance, 0..FIRST).await?;
    let first = weight()?;
    wait_for_nobody(instance, FIRST..FIRST + WAITING).await?;
    let (all, more) = (weight()?.saturating_sub(before), weight()?.saturating_sub(first));
    say!(
        "{WAITING} solo tickets that wait: {} bytes each in the whole service, {} with the {FIRST} before them and what is touched once",
        more / WAITING as u64,
        all / (FIRST + WAITING) as u64
    );
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
                ok(&mut connection, "/v1/queues/apart/tickets", ("authorization", &authorization), body)
                    .await?;
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

async fn ok(
    connection: &mut Connection,
    path: &str,
    proof: (&str, &str),
    body: String,
) -> Result<Value, Failure> {
    let (status, answer) = connection.call(Method::POST, path, proof, body.into()).await?;
    if !status.is_success() {
        return Err(format!("{path} was answered {status}: {}", String::from_utf8_lossy(&answer)).into());
    }
    Ok(serde_json::from_slice(&answer)?)
}
