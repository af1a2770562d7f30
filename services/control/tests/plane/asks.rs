//! What games ask for, as it comes up an agent's stream: granted by the rules, and only to those whose it is.

use std::time::Duration;

use mainstay_core::slot::ReadySignal;
use mainstay_core::{Generation, RegionId, ReservationId, ServerId};
use mainstay_fleet::{Growth, RegionSpec};
use mainstay_journal::memory::{MemoryStore, Room, Tenancy};
use mainstay_wire::agent::{self as wire, Ask, Outcome, Refusal, Wish};
use serde_json::json;
use uuid::Uuid;

use crate::admin::gateway;
use crate::agent::{self, Habit, PaperAgent, joining};
use crate::support::{ADMIN, Answer, TOKEN, World, allocation, basic, declaration, id};

const HOLD: Wish = Wish::Hold { time: Duration::from_secs(600) };

/// An ask in the name of a server's newest process.
fn ask(agent: &PaperAgent, id: u64, server: ServerId, wish: Wish) -> Ask {
    let orders = agent.orders.lock().unwrap();
    let newest = orders.iter().rfind(|order| order.server == server).map(|order| order.generation);
    Ask { id, machine: agent.machine, server, process: newest.unwrap_or(Generation::NONE), wish }
}

/// As a local daemon asks: again under the newer order, where the game's server has just got one.
async fn asked(agent: &PaperAgent, id: u64, server: ServerId, wish: Wish) -> Outcome {
    loop {
        let outcome = agent.ask(ask(agent, id, server, wish.clone())).await;
        if !matches!(outcome, Outcome::Refused { why: Refusal::Stale, .. }) {
            return outcome;
        }
        tokio::task::yield_now().await;
    }
}

fn refusal(outcome: &Outcome) -> (Refusal, &str) {
    match outcome {
        Outcome::Refused { why, code, detail } => {
            assert!(!detail.is_empty());
            (*why, code)
        }
        other @ (Outcome::Done
        | Outcome::Held { .. }
        | Outcome::Reserved { .. }
        | Outcome::Token { .. }
        | Outcome::Backfill { .. }) => {
            panic!("{other:?}")
        }
    }
}

/// One server that has been ordered to run, and obeys.
async fn world() -> (World, PaperAgent, ServerId) {
    let (world, agent) = World::with_agent(1, Habit::Obeys).await;
    let server = agent.servers[0];
    world.allocate(id(1)).await;
    world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    (world, agent, server)
}

/// Seed 003: "A server cannot transition into this state if it is in any of the ALLOCATED […] states." Shows `holdExpiresAt`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocated_server_is_not_held_and_a_free_one_is() {
    let (world, agent, server) = world().await;
    let outcome = asked(&agent, 1, server, HOLD).await;
    assert_eq!(refusal(&outcome).0, Refusal::State);

    world.delete(&allocation(id(1))).await;
    let path = format!("/v1/servers/{server}");
    world.eventually(&path, |it| it["status"] == "ONLINE").await;
    let held = asked(&agent, 2, server, HOLD).await;
    assert!(matches!(held, Outcome::Held { until: Some(_) }), "{held:?}");
    // The answer came after it was durable, so whoever asks now is told so.
    assert_eq!(world.get(&path).await.body["status"], "HELD");
    let Outcome::Held { until: Some(until) } = held else { panic!("{held:?}") };
    let item = gateway("servers", &format!("/servers/{}", server.number()));
    assert_eq!(world.get(&item).await.body["holdExpiresAt"], until.unix_ms() / 1000);
    assert_eq!(asked(&agent, 3, server, Wish::ReadHold).await, held);
    assert_eq!(asked(&agent, 4, server, Wish::ReleaseHold).await, Outcome::Done);
    assert_eq!(asked(&agent, 5, server, Wish::ReadHold).await, Outcome::Held { until: None });
    assert_eq!(asked(&agent, 6, server, Wish::ReleaseHold).await, Outcome::Done, "nothing to release");
    assert!(world.get(&item).await.body["holdExpiresAt"].is_null());
}

/// Issue 4, point 4: "why not matched yet". A match that has a server whose game has not called ready waits for that, and for no fleet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_tells_of_the_server_whose_game_has_not_called_ready() {
    let mut declaration = declaration(Growth::MachinesMayJoin, Duration::from_secs(60));
    declaration.configurations[0].ready_signal = ReadySignal::Awaited;
    let world = World::new().await;
    world.plane.apply(declaration).await.unwrap();
    let agent = world.agent(1, 1, Habit::Obeys).await;
    let queue = json!({
        "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "ServerAllocationEnabled": true, "BuildId": "arena/ranked",
    });
    assert_eq!(world.put_json("/v1/queues/q", &queue).await.status, 200);
    let mut ticket = String::new();
    for player in ["ann", "ben"] {
        let asked = json!({ "players": [{ "player": player }], "giveUpAfterSeconds": 600 });
        let made = world.post("/v1/queues/q/tickets", &asked).await;
        ticket = format!("/v1/queues/q/tickets/{}", made.body["id"].as_str().unwrap());
    }
    let why = world.eventually(&format!("{ticket}/why"), |why| why["server"]["notReady"].is_u64()).await;
    let server = agent.servers[0];
    assert_eq!(why["server"]["notReady"], json!(server), "{why}");
    assert_eq!(world.get(&ticket).await.body["status"], "WaitingForServer");
    assert_eq!(asked(&agent, 1, server, Wish::SetReady).await, Outcome::Done);
    world.eventually(&ticket, |it| it["status"] == "Matched").await;
    world.shutdown().await;
}

/// Record 0041: without a rule of regions "the fleet's regions are tried in their order"; record 0040: a refusal asks the next "at once". Players do
/// not wait while a region has servers because another has none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_match_without_regions_is_played_in_the_next_region_where_the_first_is_full() {
    let mut declared = declaration(Growth::MachinesMayJoin, Duration::from_secs(60));
    let local = declared.fleets[0].regions[0].clone();
    let full = |number: u8| RegionSpec {
        id: RegionId(Uuid::from_bytes([number; 16])),
        name: format!("full {number}").into(),
        max_servers: 0,
        ..local.clone()
    };
    declared.fleets[0].regions = vec![full(1), full(2), local.clone()];
    let world = World::new().await;
    world.plane.apply(declared).await.unwrap();
    let _agent = world.agent(1, 1, Habit::Obeys).await;
    let queue = json!({
        "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "ServerAllocationEnabled": true, "BuildId": "arena/ranked",
    });
    assert_eq!(world.put_json("/v1/queues/q", &queue).await.status, 200);
    let mut ticket = String::new();
    for player in ["ann", "ben"] {
        // Sooner than all regions are asked again.
        let asked = json!({ "players": [{ "player": player }], "giveUpAfterSeconds": 4 });
        let made = world.post("/v1/queues/q/tickets", &asked).await;
        ticket = format!("/v1/queues/q/tickets/{}", made.body["id"].as_str().unwrap());
    }
    let ended = world.eventually(&ticket, |it| it["ended"].is_string()).await;
    assert_eq!(ended["status"], "Matched", "{ended}");
    let formed = world.get(&format!("/v1/queues/q/matches/{}", ended["matchId"].as_str().unwrap())).await;
    assert_eq!(formed.body["server"]["region"], "local", "{}", formed.text);
    world.shutdown().await;
}

/// Reference 1.1, `readiness` and `ready`: where the build configuration says so, a fulfilled allocation is ready only once its
/// game has called ready, and no longer when it takes that back. An edit of the configuration that turns it off reaches
/// allocations that come after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_with_readiness_is_ready_when_its_game_says_so() {
    let mut declaration = declaration(Growth::MachinesMayJoin, Duration::from_secs(60));
    declaration.configurations[0].ready_signal = ReadySignal::Awaited;
    let world = World::new().await;
    world.plane.apply(declaration.clone()).await.unwrap();
    let agent = world.agent(1, 1, Habit::Obeys).await;
    world.allocate(id(1)).await;
    let playing = world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    assert_eq!((&playing["readiness"], playing.get("ready")), (&true.into(), None), "{playing}");
    assert_eq!(asked(&agent, 1, agent.servers[0], Wish::SetReady).await, Outcome::Done);
    let ready = world.get(&allocation(id(1))).await.body;
    assert!(ready["ready"].is_string(), "{ready}");
    let native = world.get(&format!("/v1/allocations/{}", id(1))).await.body;
    assert_eq!((&native["readiness"], &native["ready"]), (&true.into(), &ready["ready"]), "{native}");
    assert_eq!(asked(&agent, 2, agent.servers[0], Wish::SetUnready).await, Outcome::Done);
    let unready = world.get(&allocation(id(1))).await.body;
    assert_eq!((&unready["readiness"], unready.get("ready")), (&true.into(), None), "{unready}");

    declaration.configurations[0].ready_signal = ReadySignal::NotAwaited;
    world.plane.apply(declaration).await.unwrap();
    let still = world.get(&allocation(id(1))).await.body;
    assert_eq!(still["readiness"], true, "what its server runs was made to wait: {still}");
    world.delete(&allocation(id(1))).await;
    world.allocate(id(2)).await;
    let next = world.eventually(&allocation(id(2)), |it| it.get("fulfilled").is_some()).await;
    assert_eq!(next["readiness"], false, "{next}");
}

/// "So that a late request of a dead process changes nothing."
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_under_another_order_asks_for_nothing() {
    let (world, agent, server) = world().await;
    for wish in [Wish::ReadHold, Wish::ReleaseHold, Wish::Unreserve, Wish::SetReady, Wish::SetUnready] {
        let late = Ask { process: Generation::NONE, ..ask(&agent, 1, server, wish.clone()) };
        assert_eq!(refusal(&agent.ask(late).await).0, Refusal::Stale, "{wish:?}");
    }
    assert_eq!(world.get(&format!("/v1/servers/{server}")).await.body["status"], "ALLOCATED");
}

/// Reservations are for fleets whose games reserve themselves; a server that is not the machine's is not its to speak for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_the_games_is_refused() {
    let (world, agent, server) = world().await;
    let reserve = Wish::Reserve { reservation: ReservationId(Uuid::from_u128(1)) };
    world.delete(&allocation(id(1))).await;
    assert_eq!(refusal(&asked(&agent, 1, server, reserve).await).0, Refusal::Forbidden);
    let other = world.agent(2, 1, Habit::Obeys).await;
    let foreign = Ask { machine: other.machine, ..ask(&agent, 2, server, HOLD) };
    assert_eq!(refusal(&other.ask(foreign).await), (Refusal::Unknown, "MS-S001"));
    let unknown = Ask { server: ServerId::LOWEST, ..ask(&agent, 3, server, HOLD) };
    assert_eq!(refusal(&agent.ask(unknown).await), (Refusal::Unknown, "MS-S001"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_asks_for_its_own_machines_alone() {
    let (world, agent, server) = world().await;
    let (up, mut down) =
        agent::open(world.plane.agents(), agent::hello(TOKEN, vec![joining(2, "arena", 1)])).await.unwrap();
    let wire::Down::Welcome(welcome) = agent::next(&mut down).await.unwrap() else { panic!("no welcome") };
    assert_eq!(welcome.asks, wire::ASKS);
    up.send(wire::Up::Ask(ask(&agent, 1, server, HOLD)).into()).await.unwrap();
    let end = agent::next(&mut down).await.unwrap_err();
    assert!(end.message().starts_with("MS-S607"), "{end:?}");
}

/// Reference 2.2, `GET /v4/token`: what a game is given shows that it is its server, to the control plane too: it looks at
/// itself and at its own session, and may nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_servers_token_is_good_for_itself_alone() {
    let (world, agent) = World::with_agent(2, Habit::Obeys).await;
    world.allocate(id(1)).await;
    let placed = world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    let playing = placed["serverId"].as_u64().unwrap();
    let server = *agent.servers.iter().find(|server| server.number() == playing).unwrap();
    let other = *agent.servers.iter().find(|server| server.number() != playing).unwrap();
    let Outcome::Token { token, life } = asked(&agent, 1, server, Wish::Token { run: 0 }).await else {
        panic!("no token")
    };
    assert_eq!(life, Duration::from_secs(600));
    let bearer = format!("Bearer {token}");
    let get = async |path: String| world.call("GET", &path, Some(&bearer), vec![]).await;
    let itself = get(format!("/v1/servers/{playing}")).await;
    assert_eq!(
        (itself.status, &itself.body["allocationId"]),
        (200, &serde_json::json!(id(1))),
        "{}",
        itself.text
    );
    let session = get(format!("/v1/allocations/{}", id(1))).await;
    assert_eq!(
        (session.status, &session.body["state"]),
        (200, &serde_json::json!("fulfilled")),
        "{}",
        session.text
    );
    for path in [
        format!("/v1/servers/{}", other.number()),
        format!("/v1/allocations/{}", id(2)),
        "/v1/servers".to_owned(),
        "/v1/fleets".to_owned(),
        "/v1/doctor".to_owned(),
        allocation(id(1)),
    ] {
        let refused = get(path.clone()).await;
        assert_eq!((refused.status, refused.header("mainstay-code")), (403, Some("MS-A003")), "{path}");
    }
    let bought = world.call("POST", "/auth/v1/token-exchange", Some(&bearer), b"{}".to_vec()).await;
    bought.expect(403, "MS-A003");
    assert_eq!(world.delete(&allocation(id(1))).await.status, 204);
    let over = get(format!("/v1/allocations/{}", id(1))).await;
    over.expect(403, "MS-A003");
    let forged = world.call("GET", "/v1/status", Some(&format!("{bearer}x")), vec![]).await;
    forged.expect(401, "MS-A002");
    // One server's machine has no tokens for another's.
    let stranger = mainstay_core::ServerId::of(server.fleet(), 77);
    assert_eq!(
        refusal(&agent.ask(ask(&agent, 9, stranger, Wish::Token { run: 0 })).await).0,
        Refusal::Unknown
    );
}

/// Two players a match.
fn duel() -> Vec<u8> {
    serde_json::json!({ "Name": "duel", "MinMatchSize": 2, "MaxMatchSize": 2 }).to_string().into_bytes()
}

/// Issue 4, point 2: "a `game_server` token bound to server, allocation and process generation, with rights over its own tickets and the
/// two per-player recovery calls alone"; "tickets die with the process generation, so a restarted server starts clean"; "a ticket made
/// with a title token is bound to a hosted server only if its ServerDetails name a live allocation".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backfill_hangs_on_the_process_that_its_token_was_given_to() {
    let (world, agent) = World::with_agent(1, Habit::Obeys).await;
    let set = world.call("PUT", "/v1/queues/duel", Some(&basic(ADMIN)), duel()).await;
    assert_eq!(set.status, 200, "{}", set.text);
    world.allocate(id(1)).await;
    let placed = world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    let server = agent.servers[0];
    assert_eq!(placed["serverId"].as_u64(), Some(server.number()));
    agent.runs(server, 1).await;
    let Outcome::Token { token, .. } = asked(&agent, 1, server, Wish::Token { run: 1 }).await else {
        panic!("no token")
    };
    let bearer = format!("Bearer {token}");
    let call = async |method: &str, path: &str, who: &str, body: serde_json::Value| {
        world.call(method, path, Some(who), body.to_string().into_bytes()).await
    };
    let backfills = "/v1/queues/duel/backfills";
    let wanted = |player: &str, session: Option<Uuid>| {
        let session = session.map(|session| session.to_string());
        serde_json::json!({ "players": [{ "player": player }], "server": { "serverId": session }, "giveUpAfterSeconds": 600 })
    };
    let own = call("POST", backfills, &bearer, wanted("alice", None)).await;
    assert_eq!(
        (own.status, &own.body["lease"]["hosted"]["run"]),
        (201, &serde_json::json!(1)),
        "{}",
        own.text
    );
    let titles = call("POST", backfills, &basic(ADMIN), wanted("bob", Some(id(1)))).await;
    assert_eq!(titles.body["lease"]["hosted"]["session"], id(1).to_string(), "{}", titles.text);
    let of_nobody = call("POST", backfills, &basic(ADMIN), wanted("carol", Some(id(7)))).await;
    assert_eq!((of_nobody.status, of_nobody.body.get("lease")), (201, None), "{}", of_nobody.text);
    let ticket =
        |made: &serde_json::Value| format!("/v1/queues/duel/tickets/{}", made["id"].as_str().unwrap());
    // Its own, and no other.
    let nothing = serde_json::json!({});
    assert_eq!(call("GET", &ticket(&own.body), &bearer, nothing.clone()).await.status, 200);
    for (method, path) in [
        ("GET", ticket(&of_nobody.body)),
        ("GET", backfills.to_owned()),
        ("POST", "/v1/queues/duel/tickets".to_owned()),
        ("GET", "/v1/queues/duel/tickets".to_owned()),
    ] {
        let refused = call(method, &path, &bearer, nothing.clone()).await;
        assert!((400..=404).contains(&refused.status), "{method} {path}: {}", refused.text);
    }
    // Which ticket a player is in it may ask, whosever that is: of another game's who else plays is not told, nor where.
    let named = async |player: &str, who: &str| {
        let page = call("GET", &format!("{backfills}?player={player}"), who, nothing.clone()).await;
        assert_eq!(page.status, 200, "{}", page.text);
        page.body["items"].clone()
    };
    let carols = named("carol", &bearer).await;
    assert_eq!((&carols[0]["id"], carols[0].get("server")), (&of_nobody.body["id"], None), "{carols}");
    assert_eq!(carols[0]["players"], serde_json::json!([{ "player": "carol" }]));
    assert_eq!(named("carol", &basic(ADMIN)).await[0], of_nobody.body);
    assert_eq!(named("alice", &bearer).await[0]["lease"], own.body["lease"]);
    assert_eq!(named("nobody", &bearer).await, serde_json::json!([]));
    let recovered = call("DELETE", &format!("{backfills}?player=carol"), &bearer, nothing.clone()).await;
    assert_eq!(recovered.status, 204, "{}", recovered.text);
    // PlayFab's SDKs show it as an entity token, and get no other with it.
    let shown = [("X-EntityToken", token.as_str()), ("Content-Type", "application/json")];
    let match_call = async |call: &str, body: serde_json::Value| {
        world.playfab("POST", &format!("/Match/{call}"), &shown, body.to_string().into_bytes()).await
    };
    let of = |player: &str| serde_json::json!({ "QueueName": "duel", "Entity": { "Id": player, "Type": "title_player_account" } });
    let listed = match_call("ListServerBackfillTicketsForPlayer", of("alice")).await;
    assert_eq!(listed.body["data"]["TicketIds"], serde_json::json!([own.body["id"]]), "{}", listed.text);
    let players = match_call("ListMatchmakingTicketsForPlayer", of("alice")).await;
    assert_eq!(players.body["error"], "MatchmakingUnauthorized", "{}", players.text);
    let more = world.playfab("POST", "/Authentication/GetEntityToken", &shown, b"{}".to_vec()).await;
    assert_eq!(more.status, 403, "{}", more.text);
    // The process is another one now, in the same session: without a crash, as after a stop and a start of the host.
    agent.runs(server, 2).await;
    for made in [&own.body, &titles.body] {
        let ended = world.eventually(&ticket(made), |it| it["status"] == "Canceled").await;
        assert_eq!(ended["cancellationReason"], "Server");
    }
    let replayed = call("POST", backfills, &bearer, wanted("alice", None)).await;
    assert_eq!(
        (replayed.status, replayed.header("mainstay-code")),
        (401, Some("MS-A002")),
        "{}",
        replayed.text
    );
    let replayed = match_call("ListServerBackfillTicketsForPlayer", of("alice")).await;
    assert_eq!((replayed.status, &replayed.body["error"]), (401, &serde_json::json!("EntityTokenExpired")));
    // The next one starts clean, and says who plays by its agent.
    let game = |places: u32| {
        let players = serde_json::json!([{ "player": "alice" }]);
        serde_json::json!({ "queue": "duel", "players": players, "places": places }).to_string()
    };
    let wish = |places| Wish::Backfill { run: 2, game: game(places).into() };
    let Outcome::Backfill { stands } = asked(&agent, 2, server, wish(1)).await else { panic!("none") };
    let stands: serde_json::Value = serde_json::from_str(&stands).unwrap();
    assert_eq!(stands["ticket"]["status"], "WaitingForMatch", "{stands}");
    let stale = Wish::Backfill { run: 1, game: game(1).into() };
    assert_eq!(refusal(&agent.ask(ask(&agent, 3, server, stale)).await).1, "MS-M017");
    // Its session ends, and with it the ticket.
    assert_eq!(world.delete(&allocation(id(1))).await.status, 204);
    world.eventually(&ticket(&stands["ticket"]), |it| it["status"] == "Canceled").await;
}

/// A queue of four, and what a server that plays for allocation 1 says to it.
struct Kept {
    world: World,
    agent: PaperAgent,
    server: ServerId,
}

impl Kept {
    async fn new(least: u32, most: u32) -> Self {
        let (world, agent) = World::with_agent(1, Habit::Obeys).await;
        Self::over(world, agent, (least, most)).await
    }

    /// On a disk that the test fills.
    async fn on(store: &MemoryStore, sizes: (u32, u32)) -> Self {
        let world = World::in_memory(store).await;
        world.plane.apply(declaration(Growth::Fixed, Duration::from_secs(60))).await.unwrap();
        let agent = world.agent(1, 1, Habit::Obeys).await;
        Self::over(world, agent, sizes).await
    }

    async fn over(world: World, agent: PaperAgent, (least, most): (u32, u32)) -> Self {
        let queue = serde_json::json!({ "Name": "arena", "MinMatchSize": least, "MaxMatchSize": most });
        let set =
            world.call("PUT", "/v1/queues/arena", Some(&basic(ADMIN)), queue.to_string().into_bytes()).await;
        assert_eq!(set.status, 200, "{}", set.text);
        world.allocate(id(1)).await;
        world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
        let server = agent.servers[0];
        Self { world, agent, server }
    }

    async fn token(&self, run: u64) -> String {
        let told = asked(&self.agent, 900 + run, self.server, Wish::Token { run }).await;
        let Outcome::Token { token, .. } = told else { panic!("{told:?}") };
        format!("Bearer {token}")
    }

    /// The game says who plays.
    async fn says(&self, ask: u64, run: u64, game: serde_json::Value) -> Outcome {
        let wish = Wish::Backfill { run, game: game.to_string().into() };
        asked(&self.agent, ask, self.server, wish).await
    }

    async fn call(&self, method: &str, path: &str, who: &str, body: serde_json::Value) -> Answer {
        self.world.call(method, path, Some(who), body.to_string().into_bytes()).await
    }
}

fn stands(outcome: &Outcome) -> serde_json::Value {
    let Outcome::Backfill { stands } = outcome else { panic!("{outcome:?}") };
    serde_json::from_str(stands).unwrap()
}

/// What is told of a match may be larger than a message: the stream stands, and the game hears who comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_too_long_is_told_shorter_and_breaks_no_stream() {
    let it = Kept::new(12, 12).await;
    it.agent.runs(it.server, 1).await;
    let note = "n".repeat(7_000);
    let player = |name: &str| serde_json::json!({ "player": name, "attributes": { "note": note } });
    let game = serde_json::json!({ "queue": "arena", "players": [player("alice")], "places": 11 });
    let open = stands(&it.says(1, 1, game.clone()).await);
    assert_eq!(open["ticket"]["status"], "WaitingForMatch");
    for n in 1..12 {
        let asked = serde_json::json!({ "players": [player(&format!("p{n}"))], "giveUpAfterSeconds": 600 });
        let made = it.call("POST", "/v1/queues/arena/tickets", &basic(ADMIN), asked).await;
        assert_eq!(made.status, 201, "{}", made.text);
    }
    let ticket = format!("/v1/queues/arena/tickets/{}", open["ticket"]["id"].as_str().unwrap());
    it.world.eventually(&ticket, |it| it["status"] == "Matched").await;
    let filled = stands(&it.says(2, 1, game).await);
    let players = filled["match"]["players"].as_array().unwrap();
    let with = players.iter().filter(|player| player.get("attributes").is_some()).count();
    assert_eq!((players.len(), with), (12, 0), "84,000 bytes of notes are left out");
    // The stream is the same, and answers.
    assert_eq!(it.says(3, 1, serde_json::json!({})).await, it.says(4, 1, serde_json::json!({})).await);
    assert!(matches!(asked(&it.agent, 5, it.server, Wish::ReadHold).await, Outcome::Held { .. }));
}

/// "a restarted server starts clean", and at once: its first word needs no second one, though its machine's report of it has not come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_servers_first_word_is_taken_at_once() {
    let it = Kept::new(2, 2).await;
    it.agent.runs(it.server, 1).await;
    let game = serde_json::json!({ "queue": "arena", "players": [{ "player": "alice" }], "places": 1 });
    let first = stands(&it.says(1, 1, game.clone()).await);
    let second = stands(&it.says(2, 2, game).await);
    assert_ne!(first["ticket"]["id"], second["ticket"]["id"]);
    assert_eq!(second["ticket"]["status"], "WaitingForMatch");
    let ticket =
        |of: &serde_json::Value| format!("/v1/queues/arena/tickets/{}", of["ticket"]["id"].as_str().unwrap());
    assert_eq!(it.world.get(&ticket(&first)).await.body["cancellationReason"], "Server");
    // By its token alike.
    let bearer = it.token(3).await;
    let wanted =
        serde_json::json!({ "players": [{ "player": "alice" }], "server": {}, "giveUpAfterSeconds": 600 });
    let backfills = "/v1/queues/arena/backfills";
    let third = it.world.keyed(backfills, &bearer, "first", &wanted).await;
    assert_eq!(third.status, 201, "{}", third.text);
    let again = it.world.keyed(backfills, &bearer, "first", &wanted).await;
    assert_eq!(again.body["id"], third.body["id"], "{}", again.text);
    assert_eq!(it.world.get(&ticket(&second)).await.body["status"], "Canceled");
    it.agent.runs(it.server, 3).await;
    let third = format!("/v1/queues/arena/tickets/{}", third.body["id"].as_str().unwrap());
    assert_eq!(it.world.get(&third).await.body["status"], "WaitingForMatch");
    // Also where it names its first ticket as the process before it did.
    let fourth = it.world.keyed(backfills, &it.token(4).await, "first", &wanted).await;
    assert_eq!((fourth.status, &fourth.body["status"]), (201, &"WaitingForMatch".into()), "{}", fourth.text);
}

/// A game that is full looks for nobody any more, whatever room there is: what ends something is taken from the journal's reserve.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_game_ends_its_search_also_on_a_full_disk() {
    let store = MemoryStore::new(Tenancy::Exclusive);
    let it = Kept::on(&store, (2, 4)).await;
    assert_eq!(
        it.world.put_json("/v1/queues/q", &json!({ "MinMatchSize": 90, "MaxMatchSize": 90 })).await.status,
        200
    );
    it.agent.runs(it.server, 1).await;
    let game =
        |places: u32| json!({ "queue": "arena", "players": [{ "player": "alice" }], "places": places });
    let open = stands(&it.says(1, 1, game(1)).await);
    store.set_room(Room::Reserve { left_bytes: 12 << 20 });
    it.world.until_tickets_are(503).await;
    assert_eq!(
        refusal(&it.says(2, 1, game(2)).await),
        (Refusal::Unavailable, "MS-J102"),
        "it would store more"
    );
    assert_eq!(stands(&it.says(3, 1, game(0)).await), json!({}));
    let ticket = format!("/v1/queues/arena/tickets/{}", open["ticket"]["id"].as_str().unwrap());
    assert_eq!(it.world.get(&ticket).await.body["status"], "Canceled");
}

/// Who was matched into a game just before its queue was removed is told to it all the same: they are on their way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_hears_who_comes_also_where_its_queue_is_removed_meanwhile() {
    let it = Kept::new(2, 4).await;
    it.agent.runs(it.server, 1).await;
    let game = serde_json::json!({ "queue": "arena", "players": [{ "player": "alice" }], "places": 1 });
    let open = stands(&it.says(1, 1, game.clone()).await);
    assert_eq!(open["ticket"]["status"], "WaitingForMatch");
    let bob = serde_json::json!({ "players": [{ "player": "bob" }], "giveUpAfterSeconds": 600 });
    assert_eq!(it.world.post("/v1/queues/arena/tickets", &bob).await.status, 201);
    assert_eq!(it.world.delete("/v1/queues/arena").await.status, 204);
    let filled = stands(&it.says(2, 1, game.clone()).await);
    assert_eq!(filled["ticket"]["id"], open["ticket"]["id"]);
    let players = filled["match"]["players"].as_array().unwrap();
    assert!(players.iter().any(|player| player["player"] == "bob"), "{filled}");
    // Nobody else is found.
    let mut heard = game;
    heard["known"] = open["ticket"]["id"].clone();
    assert_eq!(refusal(&it.says(3, 1, heard).await), (Refusal::Unknown, "MS-M002"));
}

/// What a game cannot be told otherwise: each no of its queue in its own kind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_a_queue_is_refused_by_its_kind() {
    let it = Kept::new(2, 2).await;
    it.agent.runs(it.server, 1).await;
    let says = async |ask: u64, players: serde_json::Value, queue: &str| {
        it.says(ask, 1, serde_json::json!({ "queue": queue, "players": players, "places": 1 })).await
    };
    let alice = serde_json::json!([{ "player": "alice" }]);
    let two = serde_json::json!([{ "player": "alice" }, { "player": "bob" }]);
    for (ask, players, queue, expected) in [
        (1, alice.clone(), "none", (Refusal::Unknown, "MS-M002")),
        (2, two, "arena", (Refusal::Invalid, "MS-M006")),
        (3, serde_json::json!([{ "player": "" }]), "arena", (Refusal::Invalid, "MS-U101")),
        (4, serde_json::json!("alice"), "arena", (Refusal::Invalid, "MS-U101")),
    ] {
        assert_eq!(refusal(&says(ask, players, queue).await), expected);
    }
    let elsewhere =
        serde_json::json!({ "players": [{ "player": "alice" }], "server": {}, "giveUpAfterSeconds": 600 });
    assert_eq!(it.call("POST", "/v1/queues/arena/backfills", &basic(ADMIN), elsewhere).await.status, 201);
    let taken = says(5, alice, "arena").await;
    assert_eq!(refusal(&taken), (Refusal::State, "MS-M008"));
    let Outcome::Refused { detail, .. } = taken else { panic!("refused") };
    assert!(detail.contains("too many backfill tickets: alice;"), "{detail}");
}

/// A token that a game server holds opens so many calls a minute, on both faces together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_server_that_asks_too_often_is_told_when_to_ask_again() {
    let it = Kept::new(2, 2).await;
    it.agent.runs(it.server, 1).await;
    let bearer = it.token(1).await;
    let none = format!("/v1/queues/arena/tickets/{}", id(5));
    let mut last = it.call("GET", &none, &bearer, serde_json::json!({})).await;
    for _ in 0..400 {
        if last.status == 429 {
            break;
        }
        assert_eq!(last.status, 404, "{}", last.text);
        last = it.call("GET", &none, &bearer, serde_json::json!({})).await;
    }
    last.expect(429, "MS-M018");
    assert_eq!(last.header("retry-after"), Some("1"));
    let token = bearer.strip_prefix("Bearer ").unwrap();
    let shown = [("X-EntityToken", token), ("Content-Type", "application/json")];
    let listed =
        it.world.playfab("POST", "/Match/ListServerBackfillTicketsForPlayer", &shown, b"{}".to_vec()).await;
    assert_eq!((listed.status, &listed.body["error"]), (429, &"MatchmakingRateLimitExceeded".into()));
    // Nobody else waits for it.
    assert_eq!(it.call("GET", &none, &basic(ADMIN), serde_json::json!({})).await.status, 404);
}

/// Whoever asks whose a token is makes a call of its own: the title keeps no game from anything, nor a game the title.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_titles_looks_at_a_games_token_are_none_of_its_calls() {
    let it = Kept::new(2, 2).await;
    it.agent.runs(it.server, 1).await;
    let bearer = it.token(1).await;
    let title = crate::playfab::title_token(&it.world).await;
    let body = serde_json::json!({ "EntityToken": bearer.strip_prefix("Bearer ").unwrap() });
    let looks = async || {
        let shown = [("x-entitytoken", title.as_str())];
        crate::playfab::post(&it.world, "/Authentication/ValidateEntityToken", &shown, &body).await
    };
    let none = format!("/v1/queues/arena/tickets/{}", id(5));
    let calls = async || it.call("GET", &none, &bearer, serde_json::json!({})).await;
    let mut last = looks().await;
    for _ in 0..400 {
        if last.status == 429 {
            break;
        }
        assert_eq!(last.status, 200, "{}", last.text);
        last = looks().await;
    }
    assert_eq!((last.status, &last.body["errorCode"]), (429, &serde_json::json!(1199)), "{}", last.text);
    for _ in 0..200 {
        assert_eq!(calls().await.status, 404, "the game has called nobody yet");
    }
}

/// Issue 4, point 2: "a `game_server` token […] with rights over its own tickets", by PlayFab's calls: made, looked at, matched, cancelled; and
/// the title's backend asks whose it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hosted_process_backfills_by_playfabs_calls() {
    let it = Kept::new(2, 4).await;
    it.agent.runs(it.server, 1).await;
    let bearer = it.token(1).await;
    let token = bearer.strip_prefix("Bearer ").unwrap();
    let shown = [("x-entitytoken", token)];
    let call = async |call: &str, body: &serde_json::Value| {
        crate::playfab::post(&it.world, &format!("/Match/{call}"), &shown, body).await
    };
    let key = |id: &str| serde_json::json!({ "Id": id, "Type": "title_player_account" });
    let wanted = |id: &str| {
        serde_json::json!({
            "Members": [{ "Entity": key(id) }], "GiveUpAfterSeconds": 600, "QueueName": "arena",
            "ServerDetails": { "IPV4Address": "192.0.2.1" },
        })
    };
    let made = call("CreateServerBackfillTicket", &wanted("alice")).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let of = serde_json::json!({ "TicketId": made.body["data"]["TicketId"], "QueueName": "arena" });
    let stands = call("GetServerBackfillTicket", &of).await;
    assert_eq!(stands.body["data"]["Status"], "WaitingForMatch", "{}", stands.text);
    assert_eq!(stands.body["data"]["ServerDetails"]["ServerId"], id(1).to_string(), "its own session");
    let cancelled = call("CancelServerBackfillTicket", &of).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    assert_eq!(call("GetServerBackfillTicket", &of).await.body["data"]["Status"], "Canceled");
    // Another, that is filled; and the match of it, which is played here.
    let made = call("CreateServerBackfillTicket", &wanted("alice")).await;
    let bob = serde_json::json!({ "players": [{ "player": "bob" }], "giveUpAfterSeconds": 60 });
    assert_eq!(it.world.post("/v1/queues/arena/tickets", &bob).await.status, 201);
    let of = serde_json::json!({ "TicketId": made.body["data"]["TicketId"], "QueueName": "arena" });
    let filled = call("GetServerBackfillTicket", &of).await;
    assert_eq!(filled.body["data"]["Status"], "Matched", "{}", filled.text);
    let of = serde_json::json!({ "MatchId": filled.body["data"]["MatchId"], "QueueName": "arena" });
    let formed = call("GetMatch", &of).await;
    assert_eq!(formed.body["data"]["Members"].as_array().unwrap().len(), 2, "{}", formed.text);
    assert_eq!(formed.body["data"]["ServerDetails"]["IPV4Address"], "192.0.2.1");
    // Over the native face it watches its own, and no ticket of players.
    let own = format!("/v1/queues/arena/tickets/{}/events", made.body["data"]["TicketId"].as_str().unwrap());
    let told = it.call("GET", &own, &bearer, serde_json::json!({})).await;
    assert!(told.status == 200 && told.text.contains("Matched"), "{}", told.text);
    let carol = serde_json::json!({ "players": [{ "player": "carol" }], "giveUpAfterSeconds": 60 });
    let carol = it.world.post("/v1/queues/arena/tickets", &carol).await;
    let hers = format!("/v1/queues/arena/tickets/{}/events", carol.body["id"].as_str().unwrap());
    it.call("GET", &hers, &bearer, serde_json::json!({})).await.expect(404, "MS-M003");
    // Whose it is, for the title alone.
    let validate = "/Authentication/ValidateEntityToken";
    let body = serde_json::json!({ "EntityToken": token });
    let title = crate::playfab::title_token(&it.world).await;
    let valid = crate::playfab::post(&it.world, validate, &[("x-entitytoken", &title)], &body).await;
    assert_eq!(valid.body["data"]["Entity"]["Type"], "game_server", "{}", valid.text);
    assert_eq!(valid.body["data"]["Entity"]["Id"], it.server.to_string());
    assert_eq!(crate::playfab::post(&it.world, validate, &shown, &body).await.status, 403);
}
