//! The Multiplay allocation API: a test a row of the reference's section 1.

use std::time::Duration;

use mainstay_core::slot::Intent;
use mainstay_fleet::Growth;
use serde_json::json;
use uuid::Uuid;

use crate::agent::Habit;
use crate::playfab::{post, title_token};
use crate::support::{ADMIN, FLEET, REGION, World, allocation, allocations, basic, declaration, id, request};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_post_is_durable_owed_and_fulfilled() {
    let (world, agent) = World::with_agent(2, Habit::Obeys).await;
    let posted = world.allocate(id(1)).await;
    assert_eq!(posted.status, 202, "{}", posted.text);
    assert_eq!(posted.body, json!({ "allocationId": id(1), "href": allocation(id(1)) }));
    let playing = world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    for field in ["requested", "created", "fulfilled"] {
        let time = playing[field].as_str().unwrap();
        assert!(time.ends_with('Z') && time.starts_with("20"), "{field} is {time}");
    }
    let server = playing["serverId"].as_u64().unwrap();
    assert_eq!(playing["ipv4"], "127.0.0.1");
    assert_eq!(playing["gamePort"], 20_100);
    assert_eq!(playing["fleetId"], json!(FLEET));
    assert_eq!(playing["regionId"], json!(REGION));
    assert_eq!(playing["machineId"], json!(agent.machine.number()));
    assert_eq!(playing["readiness"], json!(false));
    assert_eq!(playing.get("ready"), None);
    let orders = agent.orders.lock().unwrap().clone();
    let order = orders.iter().find(|order| order.server.number() == server).unwrap();
    assert_eq!(order.intent, Intent::Run);
    assert_eq!(order.allocation.as_ref().unwrap().allocation.0, id(1));
}

/// Shows `POST /allocations`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_id_is_answered_with_what_exists() {
    let (world, agent) = World::with_agent(2, Habit::Obeys).await;
    let configuration = world.configuration().await;
    let first = world.allocate(id(1)).await;
    world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    let mut other = request(id(1), configuration);
    other["payload"] = json!("another");
    other["restart"] = json!(true);
    for _ in 0..3 {
        let again = world.post(&allocations(), &other).await;
        assert_eq!((again.status, &again.body), (first.status, &first.body));
    }
    let listed = world.get(&allocations()).await;
    assert_eq!(listed.body["allocations"].as_array().unwrap().len(), 1);
    assert_eq!(agent.orders.lock().unwrap().len(), 1, "a repeat causes no action");
}

/// Shows `/multiplay/v1`: "same resource also under https://services.api.unity.com/multiplay/v1/allocations/…".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_host_of_the_api_is_the_same_resource() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let posted = world
        .post(&format!("/multiplay{}", allocations()), &request(id(1), world.configuration().await))
        .await;
    assert_eq!(posted.status, 202, "{}", posted.text);
    assert_eq!(
        posted.body["href"],
        format!("/multiplay{}", allocation(id(1))),
        "below the root that was asked"
    );
    assert_eq!(world.get(&format!("/multiplay{}", allocation(id(1)))).await.status, 200);
    assert_eq!(world.get(&allocation(id(1))).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payload_reaches_the_order() {
    let (world, agent) = World::with_agent(1, Habit::Sleeps).await;
    let mut body = request(id(1), world.configuration().await);
    body["payload"] = json!("{\"map\":\"dm1\"}");
    assert_eq!(world.post(&allocations(), &body).await.status, 202);
    let payload = loop {
        let orders = agent.orders.lock().unwrap().clone();
        if let Some(session) = orders.into_iter().find_map(|order| order.allocation) {
            break session.payload;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(payload.as_deref(), Some("{\"map\":\"dm1\"}"));
}

/// Shows `DELETE /allocations/{allocationId}`, `GET /allocations/{allocationId}`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_allocation_frees_its_server_and_stays_readable() {
    let (world, agent) = World::with_agent(1, Habit::Obeys).await;
    world.allocate(id(1)).await;
    let playing = world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    for _ in 0..2 {
        let deleted = world.delete(&allocation(id(1))).await;
        assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
    }
    let ended = world.get(&allocation(id(1))).await.body;
    assert_eq!((&ended["endReason"], &ended["failed"]), (&json!("deallocated"), &json!(false)));
    assert_eq!(
        (ended.get("ipv4"), ended.get("gamePort")),
        (None, None),
        "an adapter must not take it for allocated"
    );
    assert_eq!(world.get(&allocations()).await.body["allocations"], json!([]));
    // The only server is free again, and its process was left as it was.
    world.allocate(id(2)).await;
    let next = world.eventually(&allocation(id(2)), |it| it.get("fulfilled").is_some()).await;
    assert_eq!(next["serverId"], playing["serverId"]);
    let intents: Vec<Intent> = agent.orders.lock().unwrap().iter().map(|order| order.intent).collect();
    assert!(!intents.contains(&Intent::Stop), "{intents:?}");
    // A repeat of the ended id makes nothing new.
    assert_eq!(world.allocate(id(1)).await.status, 202);
    assert_eq!(world.get(&allocation(id(1))).await.body["endReason"], json!("deallocated"));
}

/// Shows `GET /allocations`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_is_paged_narrowed_and_newest_first() {
    let (world, _agent) = World::with_agent(5, Habit::Obeys).await;
    for n in 1..=5 {
        assert_eq!(world.allocate(id(n)).await.status, 202);
    }
    let ids = |answer: &crate::support::Answer| -> Vec<String> {
        let listed = answer.body["allocations"].as_array().unwrap();
        listed.iter().map(|it| it["allocationId"].as_str().unwrap().to_owned()).collect()
    };
    let all = world.get(&allocations()).await;
    assert_eq!(all.body["pagination"], json!({ "limit": 100, "offset": 0 }));
    let everything = ids(&all);
    assert_eq!(everything.len(), 5);
    let page = world.get(&format!("{}?limit=2&offset=1", allocations())).await;
    assert_eq!(page.body["pagination"], json!({ "limit": 2, "offset": 1 }));
    assert_eq!(ids(&page), everything[1..3]);
    let named = format!("{}?ids={},{}&ids={}&age=1h", allocations(), id(3), id(99), id(1));
    assert_eq!(ids(&world.get(&named).await), [id(3).to_string(), id(1).to_string()]);
    // By age: what was asked for within that time, whether it is named or not.
    assert_eq!(ids(&world.get(&format!("{}?age=1h", allocations())).await), everything);
    world.eventually(&format!("{}?age=0", allocations()), |it| it["allocations"] == json!([])).await;
    let named = format!("{}?age=0&ids={}", allocations(), id(3));
    assert_eq!(ids(&world.get(&named).await), Vec::<String>::new());
    for wrong in ["limit=x", "offset=-1", "age=soon", "ids=x"] {
        world.get(&format!("{}?{wrong}", allocations())).await.expect(400, "MS-U101");
    }
    let many = vec![id(1).to_string(); 101].join(",");
    world.get(&format!("{}?ids={many}", allocations())).await.expect(400, "MS-U101");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_fleet_that_cannot_grow_refuses_at_once_with_the_counts() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    assert_eq!(world.allocate(id(1)).await.status, 202);
    let refused = world.allocate(id(2)).await;
    refused.expect(409, "MS-P006");
    assert!(refused.body["detail"].as_str().unwrap().contains("of the region's 1 servers 1 are allocated"));
    world.get(&allocation(id(2))).await.expect(404, "MS-P009");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_that_can_grow_lets_it_wait_until_a_machine_comes() {
    let world = World::new().await;
    world.plane.apply(declaration(Growth::MachinesMayJoin, Duration::from_secs(600))).await.unwrap();
    assert_eq!(world.allocate(id(1)).await.status, 202);
    let waiting = world.get(&allocation(id(1))).await.body;
    assert_eq!((waiting.get("created"), waiting.get("serverId")), (None, None));
    let _agent = world.agent(1, 1, Habit::Obeys).await;
    world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_that_waited_too_long_fails_with_its_reason() {
    let world = World::new().await;
    world.plane.apply(declaration(Growth::MachinesMayJoin, Duration::from_millis(1))).await.unwrap();
    assert_eq!(world.allocate(id(1)).await.status, 202);
    let failed = world.eventually(&allocation(id(1)), |it| it.get("ended").is_some()).await;
    assert_eq!(failed["failed"], json!(true));
    assert!(failed["endReason"].as_str().unwrap().starts_with("no server came free in time"), "{failed}");
}

/// Issue 4, point 3, "backfill ends with its server": no ticket is made for a game that is over already: nobody would withdraw it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_backfill_is_made_for_an_allocation_that_has_ended() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    // More allocations wait than there are servers.
    world.plane.apply(declaration(Growth::MachinesMayJoin, Duration::from_secs(600))).await.unwrap();
    let queue = json!({ "MinMatchSize": 2, "MaxMatchSize": 2 }).to_string().into_bytes();
    assert_eq!(world.call("PUT", "/v1/queues/q", Some(&basic(ADMIN)), queue).await.status, 200);
    let game = |player: &str| json!({ "players": [{ "player": player }], "server": { "serverId": id(1) }, "giveUpAfterSeconds": 600 });
    let wanted = "/v1/queues/q/backfills";
    // One that nobody knows is of a server elsewhere.
    let elsewhere = world.post(wanted, &game("ann")).await;
    assert_eq!((elsewhere.status, elsewhere.body.get("lease")), (201, None), "{}", elsewhere.text);
    world.allocate(id(1)).await;
    world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    let admin = basic(ADMIN);
    let keyed = async || world.keyed(wanted, &admin, "bea's game", &game("bea")).await;
    let live = keyed().await;
    assert_eq!((live.status, live.body["lease"]["hosted"].is_object()), (201, true), "{}", live.text);
    // One that waits for a server has no process that it could end with.
    assert_eq!(world.allocate(id(2)).await.status, 202);
    let early = json!({ "players": [{ "player": "dan" }], "server": { "serverId": id(2) }, "giveUpAfterSeconds": 600 });
    world.post(wanted, &early).await.expect(409, "MS-M028");
    let token = title_token(&world).await;
    let create = async |allocation: Uuid| {
        let member = json!({ "Entity": { "Id": "cyd", "Type": "title_player_account" } });
        let asked = json!({ "Members": [member], "ServerDetails": { "ServerId": allocation }, "GiveUpAfterSeconds": 600, "QueueName": "q" });
        post(&world, "/Match/CreateServerBackfillTicket", &[("x-entitytoken", &token)], &asked).await
    };
    let refused = create(id(2)).await;
    assert_eq!((refused.status, refused.header("mainstay-code")), (503, Some("MS-M028")), "{}", refused.text);
    world.delete(&allocation(id(2))).await;
    world.delete(&allocation(id(1))).await;
    world.post(wanted, &game("cyd")).await.expect(409, "MS-M017");
    // What was asked before it ended is answered with what was made of it.
    let again = keyed().await;
    assert_eq!((again.status, &again.body["id"]), (201, &live.body["id"]), "{}", again.text);
    let refused = create(id(1)).await;
    assert_eq!(refused.body["errorCode"], 2059, "{}", refused.text);
    assert_eq!(refused.header("mainstay-code"), Some("MS-M017"));
    world.shutdown().await;
}

/// "Backfill tickets may be created with a ServerDetails field"; "All fields in this structure are optional" (seed 004): over `/v1` too it may be left
/// out, but where "the create request must specify a Region in the ServerDetails structure".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backfill_ticket_needs_no_server_but_for_its_region() {
    let world = World::new().await;
    let queue = json!({ "MinMatchSize": 2, "MaxMatchSize": 2 });
    assert_eq!(world.put_json("/v1/queues/q", &queue).await.status, 200);
    let game = json!({ "players": [{ "player": "ann" }], "giveUpAfterSeconds": 600 });
    let made = world.post("/v1/queues/q/backfills", &game).await;
    assert_eq!((made.status, &made.body["status"]), (201, &json!("WaitingForMatch")), "{}", made.text);
    let mut near = queue;
    near["RegionSelectionRule"] =
        json!({ "Name": "region", "Path": "latency", "MaxLatency": 100, "Weight": 1 });
    assert_eq!(world.put_json("/v1/queues/near", &near).await.status, 200);
    let refused = world.post("/v1/queues/near/backfills", &game).await;
    refused.expect(400, "MS-M006");
    assert!(refused.text.to_lowercase().contains("region"), "{}", refused.text);
    let spec = world.get("/v1/openapi.json").await.body;
    let required = &spec["components"]["schemas"]["BackfillRequest"]["required"];
    assert_eq!(*required, json!(["players", "giveUpAfterSeconds"]));
    world.shutdown().await;
}
