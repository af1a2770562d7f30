//! The native face: what is listed, shown and done.

use mainstay_core::slot::{
    Check, ConfigurationRef, Exit, Fault, Heard, Incident, Intent, Killer, Phase, Reading, Status,
};
use mainstay_core::{AllocationId, BuildConfigurationId, Timestamp};
use mainstay_wire::agent::{Incidents, Readings, Up};
use serde_json::json;

use crate::agent::Habit;
use crate::support::{FLEET, REGION, World, allocation, id};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_shows_what_an_allocation_needs() {
    let (world, _agent) = World::with_agent(3, Habit::Obeys).await;
    for named in ["arena".to_owned(), FLEET.to_string()] {
        let fleet = world.get(&format!("/v1/fleets/{named}")).await.body;
        assert_eq!((&fleet["id"], &fleet["name"]), (&json!(FLEET), &json!("arena")));
        assert_eq!(fleet["regions"][0]["id"], json!(REGION));
        assert_eq!(fleet["regions"][0]["name"], "local");
        assert!(fleet["buildConfigurations"][0]["id"].is_u64());
        assert_eq!(fleet["buildConfigurations"][0]["name"], "ranked");
        assert_eq!(
            fleet["servers"],
            json!({
                "allocated": 0, "reserved": 0, "held": 0, "ready": 0, "online": 0, "available": 3, "unreachable": 0, "total": 3,
            })
        );
    }
    let list = world.get("/v1/fleets").await.body;
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(list.get("nextCursor"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_are_paged_without_missing_or_doubling_any() {
    let (world, agent) = World::with_agent(7, Habit::Obeys).await;
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.get(&format!("/v1/servers?limit=3{cursor}")).await.body;
        seen.extend(page["items"].as_array().unwrap().iter().map(|it| it["id"].as_u64().unwrap()));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, agent.servers.iter().map(|id| id.number()).collect::<Vec<_>>());
    world.get("/v1/servers?cursor=x").await.expect(400, "MS-U101");
    world.get("/v1/servers?fleet=nope").await.expect(404, "MS-U105");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_shows_its_two_facts() {
    let (world, agent) = World::with_agent(2, Habit::Obeys).await;
    let idle = world.get("/v1/servers/srv-1-1").await.body;
    assert_eq!((&idle["status"], &idle["process"]), (&json!("AVAILABLE"), &json!("stopped")));
    assert_eq!(idle.get("pid"), None);
    world.allocate(id(1)).await;
    world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    let playing = world.get(&format!("/v1/servers/{}", agent.servers[0].number())).await.body;
    assert_eq!(playing["id"], json!(agent.servers[0].number()));
    assert_eq!(playing["display"], "srv-1-1");
    assert_eq!(playing["status"], "ALLOCATED");
    assert_eq!(playing["process"], "online");
    assert_eq!(playing["pid"], 1001);
    assert_eq!(playing["machineId"], json!(agent.machine.number()));
    assert_eq!(playing["fleetId"], json!(FLEET));
    assert_eq!(playing["allocationId"], json!(id(1)));
    assert_eq!((&playing["ip"], &playing["port"]), (&json!("127.0.0.1"), &json!(20_100)));
    assert_eq!(playing["queryPort"], 20_101);
    let allocated = world.get("/v1/servers?status=allocated").await.body;
    assert_eq!(allocated["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backed_off_server_says_why() {
    let (world, agent) = World::with_agent(1, Habit::Sleeps).await;
    let server = agent.servers[0];
    world.allocate(id(1)).await;
    let generation = loop {
        if let Some(order) = agent.orders.lock().unwrap().first() {
            break order.generation;
        }
        tokio::task::yield_now().await;
    };
    let phase = Phase::BackedOff { crashes: 2, cause: "signal 11".into() };
    agent.report(Status { server, generation, configuration: None, run: 0, phase }).await;
    let view = world.eventually("/v1/servers/srv-1-1", |it| it["process"] == "backedOff").await;
    assert!(view["detail"].as_str().unwrap().contains("crashed 2 times"), "{view}");
    let ended = world.eventually(&format!("/v1/allocations/{}", id(1)), |it| it["state"] == "failed").await;
    assert!(ended["endReason"].as_str().unwrap().contains("signal 11"), "{ended}");
}

/// Pre-recovery of seed 001, as callers and operators see it: the allocation ends as failed, with its reason, and stays
/// readable; the slot is free; a manual start afterwards starts without an allocation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_servers_allocation_ends_and_its_slot_is_free() {
    let (world, agent) = World::with_agent(1, Habit::Sleeps).await;
    let server = agent.servers[0];
    world.allocate(id(1)).await;
    let generation = agent.first_order().await.generation;
    let incident = Incident {
        server,
        run: 4,
        at: Timestamp::from_unix_ms(1_800_000_000_000),
        fault: Fault::Misbehaviour(Check::Query),
        cause: "failed its query check 3 times within 30 min: no answer within 1 s".into(),
        exit: None,
        configuration: ConfigurationRef { id: BuildConfigurationId::from_number(1).unwrap(), revision: 1 },
        allocation: Some(AllocationId(id(1))),
        last_words: "tick\n".into(),
        core: None,
    };
    let ended =
        Incident { exit: Some(Exit::Signal { signal: 11, killed_by: Killer::Unknown }), ..incident.clone() };
    let machine = agent.machine;
    agent.say(Up::Incidents(Incidents { machine, incidents: vec![incident] })).await;
    let view = world.eventually("/v1/servers/srv-1-1", |it| it["lastIncident"].is_object()).await;
    assert_eq!(
        (&view["lastIncident"]["kind"], &view["lastIncident"]["check"]),
        (&json!("misbehaviour"), &json!("query"))
    );
    agent.say(Up::Incidents(Incidents { machine, incidents: vec![ended.clone(), ended] })).await;
    world.eventually("/v1/servers/srv-1-1", |it| it["lastIncident"]["signal"] == 11).await;
    let phase = Phase::PreRecovery { cause: "misbehaved: no answer".into() };
    agent.report(Status { server, generation, configuration: None, run: 0, phase }).await;
    let ended = world.eventually(&format!("/v1/allocations/{}", id(1)), |it| it["state"] == "failed").await;
    assert!(ended["endReason"].as_str().unwrap().contains("no longer answered its query"), "{ended}");
    let view = world.eventually("/v1/servers/srv-1-1", |it| it["status"] == "AVAILABLE").await;
    assert_eq!((&view["process"], &view["allocationId"]), (&json!("preRecovery"), &json!(null)));
    assert!(
        view["detail"].as_str().unwrap().contains("a new allocation or a start brings it back"),
        "{view}"
    );
    assert_eq!(view["lastIncident"]["allocationId"], json!(id(1)));
    assert_eq!(view["lastIncident"]["lastWords"], "tick\n");
    let start = world.post("/v1/servers/srv-1-1/actions", &json!({ "action": "start" })).await;
    assert_eq!(start.status, 202, "{}", start.text);
    let newest =
        agent.until_order(|order| order.generation > generation && order.intent == Intent::Run).await;
    assert_eq!(newest.allocation, None);
}

/// What an agent reads of a process is shown while the process lives, and nowhere stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readings_are_shown() {
    let (world, agent) = World::with_agent(1, Habit::Obeys).await;
    let server = agent.servers[0];
    world.allocate(id(1)).await;
    world.eventually("/v1/servers/srv-1-1", |it| it["process"] == "online").await;
    let heard = Heard::Answer { players: Some(3), players_max: Some(8) };
    let reading = Reading { cpu_millis: Some(120), memory_bytes: Some(7 << 20), heard };
    agent.say(Up::Readings(Readings { machine: agent.machine, readings: vec![(server, reading)] })).await;
    let view = world.eventually("/v1/servers/srv-1-1", |it| it["reading"].is_object()).await;
    let shown = json!({ "cpuMillis": 120, "memoryBytes": 7 << 20, "query": "answers", "players": 3, "playersMax": 8 });
    assert_eq!(view["reading"], shown);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_starts_stops_and_restarts_a_server() {
    let (world, agent) = World::with_agent(1, Habit::Obeys).await;
    let act =
        async |action: &str| world.post("/v1/servers/srv-1-1/actions", &json!({ "action": action })).await;
    assert_eq!(act("start").await.status, 202);
    world.eventually("/v1/servers/srv-1-1", |it| it["status"] == "ONLINE").await;
    assert_eq!(act("restart").await.status, 202);
    assert_eq!(act("stop").await.status, 202);
    world.eventually("/v1/servers/srv-1-1", |it| it["process"] == "stopped").await;
    let intents: Vec<Intent> = agent.orders.lock().unwrap().iter().map(|order| order.intent).collect();
    assert_eq!((intents.first(), intents.last()), (Some(&Intent::Run), Some(&Intent::Stop)), "{intents:?}");
    act("explode").await.expect(400, "MS-U101");
    // Seed 002: manual stop of an allocated server does not work; send a deallocation.
    world.allocate(id(1)).await;
    let refused = act("stop").await;
    refused.expect(409, "MS-S003");
    assert!(refused.body["fix"].as_str().unwrap().contains("allocation delete"), "{}", refused.text);
}

/// A misspelt word would be left out in silence: another region, or the configuration that is first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_leaves_out_what_it_does_not_know() {
    let (world, agent) = World::with_agent(1, Habit::Obeys).await;
    let machine = format!("/v1/machines/{}/actions", agent.machine.number());
    for (path, known) in [
        ("/v1/allocations", json!({ "allocationId": id(1) })),
        ("/v1/servers/srv-1-1/actions", json!({ "action": "start" })),
        (&machine, json!({ "action": "drain" })),
        ("/v1/service-accounts", json!({ "role": "viewer" })),
    ] {
        let mut misspelt = known;
        misspelt["regoin"] = json!("local");
        let refused = world.post(path, &misspelt).await;
        refused.expect(400, "MS-U101");
        assert!(refused.text.contains("regoin"), "{path}: {}", refused.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_status_and_health_are_shown() {
    let (world, agent) = World::with_agent(2, Habit::Obeys).await;
    let machines = world.get("/v1/machines").await.body;
    assert_eq!(machines["items"][0]["id"], json!(agent.machine.number()));
    assert_eq!(machines["items"][0]["status"], "connected");
    assert_eq!(machines["items"][0]["servers"]["total"], 2);
    let status = world.get("/v1/status").await.body;
    assert_eq!((&status["machines"], &status["connectedMachines"]), (&json!(1), &json!(1)));
    assert_eq!(status["fleets"][0]["name"], "arena");
    let health = world.call("GET", "/healthz", None, vec![]).await;
    assert_eq!((health.status, &health.body["status"]), (200, &json!("ok")), "{}", health.text);
    assert_eq!(health.body["checks"][1]["name"], "fleets");
    let ready = world.call("GET", "/readyz", None, vec![]).await;
    assert_eq!(
        (ready.status, &ready.body["checks"][3]["name"]),
        (200, &json!("configuration")),
        "{}",
        ready.text
    );
    let machine = agent.machine.number();
    agent.vanish();
    world.eventually(&format!("/v1/machines/{machine}"), |it| it["status"] == "silent").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_by_names_is_the_same_allocation() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let asked =
        json!({ "allocationId": id(1), "fleet": "arena", "region": "local", "buildConfiguration": "ranked" });
    let made = world.post("/v1/allocations", &asked).await;
    assert_eq!(made.status, 202, "{}", made.text);
    assert_eq!(made.body["fleetName"], "arena");
    assert!(["placed", "fulfilled"].contains(&made.body["state"].as_str().unwrap()), "{}", made.text);
    let playing =
        world.eventually(&format!("/v1/allocations/{}", id(1)), |it| it["state"] == "fulfilled").await;
    assert_eq!(playing["serverDisplay"], "srv-1-1");
    assert_eq!(world.get(&allocation(id(1))).await.status, 200);
    assert_eq!(world.get("/v1/allocations").await.body["items"].as_array().unwrap().len(), 1);
    assert_eq!(world.delete(&format!("/v1/allocations/{}", id(1))).await.status, 204);
    assert_eq!(world.get(&format!("/v1/allocations/{}", id(1))).await.body["state"], "ended");
    // One fleet, one region, one build configuration: nothing needs to be named.
    assert_eq!(world.post("/v1/allocations", &json!({ "allocationId": id(2) })).await.status, 202);
    for (field, code) in [("fleet", 404), ("region", 400), ("buildConfiguration", 400)] {
        let mut wrong = asked.clone();
        wrong[field] = json!("nope");
        assert_eq!(world.post("/v1/allocations", &wrong).await.status, code, "{field}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn allocations_are_paged_without_missing_or_doubling_any() {
    let (world, _agent) = World::with_agent(7, Habit::Obeys).await;
    for n in 1..=7 {
        assert_eq!(world.allocate(id(n)).await.status, 202);
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.get(&format!("/v1/allocations?limit=2{cursor}")).await.body;
        seen.extend(
            page["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it["allocationId"].as_str().unwrap().to_owned()),
        );
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=7).map(|n| id(n).to_string()).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_servers_output_is_shown() {
    let (world, _agent) = World::with_agent(2, Habit::Obeys).await;
    let logs = world.get("/v1/servers/srv-1-1/logs?lines=5").await;
    assert_eq!((logs.status, logs.text.as_str()), (200, "the last 5 lines\n"));
    // Its agent is one that takes no such questions.
    world.get("/v1/servers/srv-1-2/logs").await.expect(503, "MS-S608");
    world.get("/v1/servers/srv-1-9/logs").await.expect(404, "MS-S001");
    world.get("/v1/servers/srv-1-1/logs?lines=x").await.expect(400, "MS-U101");
}

/// Issue 4, point 10: what cannot be is "refused at the door …, never silently". Who looks for a match has no team before it is formed; one that is
/// sent all the same was passed over, and its sender took it for kept.
#[tokio::test]
async fn a_ticket_of_players_names_no_teams() {
    let world = World::new().await;
    let team = |name: &str| json!({ "Name": name, "MinTeamSize": 2, "MaxTeamSize": 2 });
    let queue = json!({ "MinMatchSize": 4, "MaxMatchSize": 4, "Teams": [team("red"), team("blue")] });
    assert_eq!(world.put_json("/v1/queues/q", &queue).await.status, 200);
    let tickets = "/v1/queues/q/tickets";
    let red = json!({ "player": "bea", "team": "red" });
    let refused = world.post(tickets, &json!({ "players": [red], "giveUpAfterSeconds": 60 })).await;
    refused.expect(400, "MS-U101");
    assert!(refused.text.contains("players[0].team"), "{}", refused.text);
    let asked = json!({ "players": [{ "player": "ann" }], "invited": ["bea"], "giveUpAfterSeconds": 60 });
    let made = world.post(tickets, &asked).await;
    let joins = format!("{tickets}/{}/players", made.body["id"].as_str().unwrap());
    world.post(&joins, &red).await.expect(400, "MS-U101");
    assert_eq!(world.post(&joins, &json!({ "player": "bea" })).await.status, 200);
    world.shutdown().await;
}
