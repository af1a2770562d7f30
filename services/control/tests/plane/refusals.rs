//! Bad input: each a clear error with a code, in the face's own shape, and the malformed before any look at the state.

use std::time::Duration;

use mainstay_fleet::Growth;
use mainstay_journal::memory::{Fault, MemoryStore, Room, Tenancy};
use serde_json::json;
use uuid::Uuid;

use crate::agent::Habit;
use crate::support::{
    ADMIN, ENVIRONMENT, FLEET, PROJECT, World, allocation, allocations, basic, declaration, id, request,
};

async fn world() -> World {
    let world = World::new().await;
    world.plane.apply(declaration(Growth::MachinesMayJoin, Duration::from_secs(600))).await.unwrap();
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_malformed_body_is_400_before_any_look_at_the_state() {
    let world = world().await;
    let other = Uuid::from_bytes([9; 16]);
    let nowhere = format!("/v1/allocations/projects/{other}/environments/{other}/fleets/{other}/allocations");
    for path in [allocations(), nowhere] {
        for body in [&b""[..], b"{", b"null", b"{}", b"[]", b"{\"allocationId\":1}"] {
            let answer = world.call("POST", &path, Some(&basic(ADMIN)), body.to_vec()).await;
            answer.expect(400, "MS-U101");
            assert_eq!(answer.body["title"], "Bad Request");
        }
    }
}

/// Shows `30 KB`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payload_over_30_kb_is_400_and_one_of_30_kb_is_taken() {
    let world = world().await;
    let mut body = request(id(1), world.configuration().await);
    for (bytes, status) in [(30 * 1024 + 1, 400), (1 << 20, 400), (30 * 1024, 202)] {
        body["payload"] = json!("x".repeat(bytes));
        let answer = world.post(&allocations(), &body).await;
        assert_eq!(answer.status, status, "{bytes} bytes: {}", answer.text);
        assert_eq!(answer.header("mainstay-code").is_some(), status == 400);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_things_are_404_with_their_code() {
    let world = world().await;
    let other = Uuid::from_bytes([9; 16]);
    let path = |project, environment, fleet| {
        format!("/v1/allocations/projects/{project}/environments/{environment}/fleets/{fleet}/allocations")
    };
    let body = request(id(1), world.configuration().await);
    for (path, code) in [
        (path(other, ENVIRONMENT, FLEET.0), "MS-U104"),
        (path(PROJECT, other, FLEET.0), "MS-U104"),
        (path(PROJECT, ENVIRONMENT, other), "MS-U105"),
    ] {
        world.get(&path).await.expect(404, code);
        world.post(&path, &body).await.expect(404, code);
    }
    world.get(&allocation(id(7))).await.expect(404, "MS-P009");
    world.delete(&allocation(id(7))).await.expect(404, "MS-P009");
    world.get(&format!("{}/x", allocations())).await.expect(400, "MS-U101");
    for (path, code) in [
        ("/v1/fleets/nope", "MS-U105"),
        ("/v1/machines/mch-1-9", "MS-S002"),
        ("/v1/servers/srv-1-9", "MS-S001"),
        ("/v1/servers/srv-9-9", "MS-S001"),
        ("/v1/servers/nope", "MS-S001"),
        ("/v1/nope", "MS-U103"),
        ("/", "MS-U103"),
    ] {
        let answer = world.get(path).await;
        answer.expect(404, code);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path}");
        assert_eq!(answer.body["code"], code);
        assert!(answer.body["fix"].is_string());
        assert_eq!(answer.body["instance"], path);
    }
    world.call("PUT", "/v1/fleets", Some(&basic(ADMIN)), vec![]).await.expect(405, "MS-U103");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_regions_and_build_configurations_are_400() {
    let world = world().await;
    let configuration = world.configuration().await;
    world.post(&allocations(), &request(id(1), configuration + 1)).await.expect(400, "MS-P003");
    let mut body = request(id(1), configuration);
    body["regionId"] = json!(Uuid::from_bytes([9; 16]));
    world.post(&allocations(), &body).await.expect(400, "MS-P002");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_native_body_over_the_limit_is_413() {
    let world = world().await;
    let answer = world.call("POST", "/v1/allocations", Some(&basic(ADMIN)), vec![b' '; 1 << 20]).await;
    answer.expect(413, "MS-U102");
    let told = answer.body["detail"].as_str().unwrap();
    assert!(told.starts_with("the body has 1048576 bytes, and at most "), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_disk_allocations_are_503_and_everything_that_ends_goes_on() {
    let store = MemoryStore::new(Tenancy::Exclusive);
    let world = World::in_memory(&store).await;
    world.plane.apply(declaration(Growth::Fixed, Duration::from_secs(600))).await.unwrap();
    let _agent = world.agent(1, 4, Habit::Obeys).await;
    assert_eq!(world.allocate(id(1)).await.status, 202);
    // Its agent's report is an append too, and must not be the one that finds the reserve.
    world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    store.set_room(Room::Reserve { left_bytes: 14 << 20 });
    // The append by which the reserve is found to be in use.
    assert_eq!(world.allocate(id(2)).await.status, 202);
    let refused = world.allocate(id(3)).await;
    refused.expect(503, "MS-J102");
    assert_eq!(refused.header("retry-after"), Some("1"));
    // Reports and deallocations are taken; reads are answered.
    world.eventually(&allocation(id(2)), |it| it.get("fulfilled").is_some()).await;
    assert_eq!(world.delete(&allocation(id(1))).await.status, 204);
    world.get(&allocation(id(3))).await.expect(404, "MS-P009");
    store.set_room(Room::Ample);
    while world.allocate(id(3)).await.status != 202 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_sync_is_never_answered_as_done() {
    let store = MemoryStore::new(Tenancy::Exclusive);
    let world = World::in_memory(&store).await;
    world.plane.apply(declaration(Growth::MachinesMayJoin, Duration::from_secs(600))).await.unwrap();
    let configuration = world.configuration().await;
    store.arm(Fault::SyncFails);
    let unknown = world.post(&allocations(), &request(id(1), configuration)).await;
    unknown.expect(503, "MS-J103");
    assert!(
        unknown.body["detail"].as_str().unwrap().contains("ask again with the same id"),
        "{}",
        unknown.text
    );
    assert_eq!(world.journal.failed().await.code(), "MS-J010", "main ends the process by this");
    world.get(&allocation(id(1))).await.expect(503, "MS-J103");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_library_refuses_has_the_faces_shape_and_a_code_too() {
    let world = world().await;
    let unity = world.call("PUT", &allocations(), Some(&basic(ADMIN)), Vec::new()).await;
    unity.expect(405, "MS-U103");
    assert!(unity.body["requestId"].is_string(), "{}", unity.text);
    for (method, path, status, code) in [
        ("PUT", "/v1/fleets", 405, "MS-U103"),
        ("GET", "/v1/fleets/%ff", 400, "MS-U101"),
        ("GET", "/nowhere", 404, "MS-U103"),
    ] {
        let native = world.call(method, path, Some(&basic(ADMIN)), Vec::new()).await;
        native.expect(status, code);
        assert_eq!(native.body["code"], code, "{}", native.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_is_no_object() {
    let world = world().await;
    let list = json!([id(1), 1, "region", null, false]);
    world.post(&allocations(), &list).await.expect(400, "MS-U101");
    world.post("/auth/v1/token-exchange", &json!([])).await.expect(400, "MS-U101");
}

/// A queue of two whom nothing keeps apart.
async fn queue(world: &World) -> u16 {
    let queue = json!({ "MinMatchSize": 2, "MaxMatchSize": 2 }).to_string().into_bytes();
    world.call("PUT", "/v1/queues/q", Some(&basic(ADMIN)), queue).await.status
}

/// `["ann", null, {}]` was the player ann: a struct's reader takes a list for its fields in their order, wherever it stands.
#[tokio::test]
async fn a_list_in_the_place_of_an_object_is_none_on_the_native_face_either() {
    let world = World::new().await;
    assert_eq!(queue(&world).await, 200);
    let ann = json!(["ann", null, { "skill": 5 }]);
    let named = json!([{ "player": "ann", "attributes": { "skill": 5 } }]);
    let server = json!([null, "10.0.0.1", [["game", 7777, "udp"]], "EastUs", null]);
    let port = json!({ "ports": [["game", 7777, "udp"]] });
    for (call, body) in [
        ("tickets", json!({ "players": [ann], "giveUpAfterSeconds": 600 })),
        ("backfills", json!({ "players": [ann], "giveUpAfterSeconds": 600 })),
        ("backfills", json!({ "players": named, "server": server, "giveUpAfterSeconds": 600 })),
        ("backfills", json!({ "players": named, "server": port, "giveUpAfterSeconds": 600 })),
        ("try", json!({ "tickets": [[[ann]]] })),
        ("try", json!({ "tickets": [{ "players": [ann] }] })),
    ] {
        let refused = world.post(&format!("/v1/queues/q/{call}"), &body).await;
        refused.expect(400, "MS-U101");
        assert!(refused.text.contains("invalid type: sequence, expected an object"), "{}", refused.text);
    }
    world.shutdown().await;
}

/// Before a match is formed nobody is on a team: a rehearsal says so too, and does not try as if nothing had been said.
#[tokio::test]
async fn who_is_tried_is_on_no_team_either() {
    let world = World::new().await;
    assert_eq!(queue(&world).await, 200);
    let with = |player: &str| json!({ "player": player, "attributes": { "skill": 5 } });
    let red = json!({ "player": "bea", "team": "red", "attributes": { "skill": 5 } });
    let asked = json!({ "tickets": [{ "players": [with("ann")] }, { "players": [red] }] });
    let refused = world.post("/v1/queues/q/try", &asked).await;
    refused.expect(400, "MS-U101");
    assert!(refused.text.contains("`tickets[1].players[0].team`"), "{}", refused.text);
    let asked = json!({ "tickets": [{ "players": [with("ann")] }, { "players": [with("bea")] }] });
    assert_eq!(world.post("/v1/queues/q/try", &asked).await.status, 200);
    world.shutdown().await;
}
