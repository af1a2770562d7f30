//! Tickets over the native face, beside what `services/cli/tests/product/matching.rs` shows with real processes.

use serde_json::{Value, json};

use crate::agent::Habit;
use crate::playfab::{post, title_token};
use crate::support::{ADMIN, Answer, World, basic};

async fn set(world: &World, queue: &Value) {
    let set = world.call("PUT", "/v1/queues/q", Some(&basic(ADMIN)), queue.to_string().into_bytes()).await;
    assert_eq!(set.status, 200, "{}", set.text);
}

async fn tickets(world: &World, asked: &Value) -> Answer {
    world.post("/v1/queues/q/tickets", asked).await
}

fn ticket(made: &Answer) -> String {
    assert_eq!(made.status, 201, "{}", made.text);
    format!("/v1/queues/q/tickets/{}", made.body["id"].as_str().unwrap())
}

/// A skill that may differ by 1, from wherever that is read.
fn skilled(source: &str, path: &str) -> Value {
    json!({
        "Name": "q", "MinMatchSize": 3, "MaxMatchSize": 3,
        "DifferenceRules": [{
            "Name": "skill", "Weight": 1, "Difference": 1, "MergeFunction": "Average",
            "Attribute": { "Path": path, "Source": source }, "AttributeNotSpecifiedBehavior": "UseDefault",
            "DefaultAttributeValue": 0,
        }],
    })
}

/// Issue 4, point 1: "tickets of … a group with invitations and joins"; point 4: "The native face: the same over `/v1`".
#[tokio::test]
async fn friends_who_are_invited_join_a_ticket_by_themselves() {
    let world = World::new().await;
    set(&world, &skilled("User", "skill")).await;
    let with = |player: &str, skill: i64| json!({ "player": player, "attributes": { "skill": skill } });
    let asked = json!({ "players": [with("ann", 5)], "invited": ["bea"], "giveUpAfterSeconds": 600 });
    let group = ticket(&tickets(&world, &asked).await);
    let waits = world.get(&group).await.body;
    assert_eq!(
        (&waits["status"], &waits["missing"]),
        (&json!("WaitingForPlayers"), &json!(["bea"])),
        "{waits}"
    );
    let join = async |player: Value| world.post(&format!("{group}/players"), &player).await;
    join(with("cyd", 5)).await.expect(403, "MS-M013");
    join(json!({ "player": "bea", "attributes": { "skill": "5" } })).await.expect(400, "MS-M006");
    let joined = join(with("bea", 5)).await;
    assert_eq!((joined.status, &joined.body["status"]), (200, &json!("WaitingForMatch")), "{}", joined.text);
    join(with("bea", 5)).await.expect(409, "MS-M007");
    let alone = json!({ "players": [with("dan", 6)], "giveUpAfterSeconds": 600 });
    assert_eq!(world.get(&ticket(&tickets(&world, &alone).await)).await.body["status"], "Matched");
    assert_eq!(world.get(&group).await.body["status"], "Matched");
    // Only one invites.
    let two =
        json!({ "players": [with("eve", 5), with("fay", 5)], "invited": ["gus"], "giveUpAfterSeconds": 60 });
    tickets(&world, &two).await.expect(400, "MS-U101");
    world.shutdown().await;
}

/// Issue 4, point 3: "SetObjects and GetObjects for attributes from the player entity", whichever face a ticket comes through; and
/// point 10: "attributes too large".
#[tokio::test]
async fn what_players_have_stored_is_read_on_every_face_and_what_is_too_large_on_none() {
    let world = World::new().await;
    set(&world, &skilled("PlayerEntity", "$.profile.mu")).await;
    let token = title_token(&world).await;
    for (player, mu) in [("far", 9), ("near", 1), ("nearer", 1)] {
        let stored = json!({
            "Entity": { "Id": player, "Type": "title_player_account" },
            "Objects": [{ "ObjectName": "profile", "DataObject": { "mu": mu } }],
        });
        let set = post(&world, "/Object/SetObjects", &[("x-entitytoken", &token)], &stored).await;
        assert_eq!(set.status, 200, "{}", set.text);
    }
    let of = |player: &str| json!({ "players": [{ "player": player }], "giveUpAfterSeconds": 600 });
    let mut made = Vec::new();
    for player in ["far", "near", "nearer", "new"] {
        made.push(ticket(&tickets(&world, &of(player)).await));
    }
    let mut seen = Vec::new();
    for ticket in &made {
        seen.push(world.get(ticket).await.body["status"].as_str().unwrap().to_owned());
    }
    assert_eq!(seen, ["WaitingForMatch", "Matched", "Matched", "Matched"]);
    let parties: Vec<Value> =
        ["far", "near", "nearer", "new"].iter().map(|it| json!({ "players": of(it)["players"] })).collect();
    let try_it = json!({ "tickets": parties, "withinSeconds": 1 });
    let tried = world.post("/v1/queues/q/try", &try_it).await;
    assert_eq!(tried.body["left"], json!(["far"]), "{}", tried.text);

    let note = "n".repeat(9_000);
    let large = json!({ "players": [{ "player": "large", "attributes": { "note": note } }], "giveUpAfterSeconds": 60 });
    let refused = tickets(&world, &large).await;
    refused.expect(400, "MS-M006");
    assert!(refused.text.contains("at most 8192"), "{}", refused.text);
    world.shutdown().await;
}

/// Issue 4, point 4: "the same over `/v1`" of `SetObjects` and `GetObjects`. What is stored there is read by the rules, and is the same
/// that PlayFab's face tells.
#[tokio::test]
async fn what_players_have_stored_is_kept_over_the_native_face() {
    let world = World::new().await;
    set(&world, &skilled("PlayerEntity", "$.profile.mu")).await;
    let path = |player: &str| format!("/v1/players/{player}/objects");
    let change = async |player: &str, body: Value| {
        world.call("PATCH", &path(player), Some(&basic(ADMIN)), body.to_string().into_bytes()).await
    };
    let nothing = json!({ "player": "far", "version": 0, "objects": {} });
    assert_eq!(world.get(&path("far")).await.body, nothing);
    let stored = change("far", json!({ "objects": { "profile": { "mu": 9 }, "note": [1, "b"] } })).await;
    let (one, profile) = (&stored.body, json!({ "mu": 9 }));
    assert_eq!((stored.status, &one["version"], &one["objects"]["profile"]), (200, &json!(1), &profile));
    for player in ["near", "nearer"] {
        assert_eq!(change(player, json!({ "objects": { "profile": { "mu": 1 } } })).await.status, 200);
    }
    // Who lost a race is told so, and nothing is changed; what is not named stays; null removes.
    let stale = json!({ "objects": { "profile": { "mu": 0 } }, "expectedVersion": 0 });
    change("far", stale).await.expect(409, "MS-M021");
    let removed = change("far", json!({ "objects": { "note": null }, "expectedVersion": 1 })).await;
    let left = json!({ "player": "far", "version": 2, "objects": { "profile": profile } });
    assert_eq!(removed.body, left, "{}", removed.text);
    assert_eq!(world.get(&path("title_player_account!far")).await.body, left);
    let title = title_token(&world).await;
    let far = json!({ "Entity": { "Id": "far", "Type": "title_player_account" } });
    let told = post(&world, "/Object/GetObjects", &[("x-entitytoken", &title)], &far).await;
    assert_eq!(told.body["data"]["Objects"]["profile"]["DataObject"], profile, "{}", told.text);

    let mut made = Vec::new();
    for player in ["far", "near", "nearer", "new"] {
        let asked = json!({ "players": [{ "player": player }], "giveUpAfterSeconds": 600 });
        made.push(ticket(&tickets(&world, &asked).await));
    }
    assert_eq!(world.get(&made[0]).await.body["status"], "WaitingForMatch");
    assert_eq!(world.get(&made[1]).await.body["status"], "Matched");

    for (objects, code) in [
        (json!({ "no name": 1 }), "MS-M022"),
        (json!({ "large": "n".repeat(1_000) }), "MS-M022"),
        (json!({ "a": 1, "b": 1, "c": 1, "d": 1, "e": 1 }), "MS-M022"),
        (json!([]), "MS-U101"),
    ] {
        change("far", json!({ "objects": objects })).await.expect(400, code);
    }
    change("!", json!({ "objects": {} })).await.expect(400, "MS-U101");
    let nobody = world.call("GET", &path("far"), None, Vec::new()).await;
    assert_eq!((nobody.status, world.get(&path("far")).await.body), (401, left));
    world.shutdown().await;
}

/// Of a match whose players' ids alone are more than a server can be told of none is left out: its fleet refuses it by code, `why`
/// says so, and its tickets end as published. Reference 1.1: "a payload over 30 KB".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_match_that_no_server_can_be_told_of_is_refused_by_code() {
    let (world, agent) = World::with_agent(1, Habit::Obeys).await;
    set(
        &world,
        &json!({
            "Name": "q", "MinMatchSize": 100, "MaxMatchSize": 100, "ServerAllocationEnabled": true,
            "BuildId": "arena/ranked",
        }),
    )
    .await;
    let player = |at: usize| json!({ "player": format!("{}!{at:0>128}", "t".repeat(128)) });
    let of = |players: Vec<Value>, seconds: u32| json!({ "players": players, "giveUpAfterSeconds": seconds });
    let most = ticket(&tickets(&world, &of((0..99).map(player).collect(), 600)).await);
    let last = ticket(&tickets(&world, &of(vec![player(99)], 3)).await);
    let why = world.eventually(&format!("{most}/why"), |why| why["server"]["refused"].is_string()).await;
    assert_eq!((&why["server"]["refused"], &why["server"]["fleet"]), (&json!("MS-P008"), &json!("arena")));
    let ended = world.eventually(&last, |it| it["status"] == "Canceled").await;
    assert_eq!(ended["cancellationReason"], "ServerAllocationFailed", "{ended}");
    assert_eq!(world.get(&most).await.body["status"], "WaitingForMatch", "the others keep their places");
    assert!(
        agent.servers.len() == 1 && world.get("/v1/fleets/arena").await.body["servers"]["available"] == 1
    );
}
