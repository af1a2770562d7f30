//! Tickets over the native face, beside what `services/cli/tests/product/matching.rs` shows with real processes.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::admin::gateway;
use crate::agent::Habit;
use crate::playfab::{post, title_token};
use crate::support::{ADMIN, Answer, FLEET, REGION, TITLE, World, basic};

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
    let why = world.get(&format!("{group}/why")).await;
    assert_eq!((why.status, &why.body["missing"]), (200, &json!(["bea"])), "{}", why.text);
    let join = async |player: Value| world.post(&format!("{group}/players"), &player).await;
    join(with("cyd", 5)).await.expect(403, "MS-M013");
    join(json!({ "player": "bea", "attributes": { "skill": "5" } })).await.expect(400, "MS-M006");
    let joined = join(with("bea", 5)).await;
    assert_eq!((joined.status, &joined.body["status"]), (200, &json!("WaitingForMatch")), "{}", joined.text);
    join(with("bea", 5)).await.expect(409, "MS-M007");
    let alone = json!({ "players": [with("dan", 6)], "giveUpAfterSeconds": 600 });
    assert_eq!(world.get(&ticket(&tickets(&world, &alone).await)).await.body["status"], "Matched");
    assert_eq!(world.get(&group).await.body["status"], "Matched");
    // Attributes have names, as on PlayFab's face.
    for attributes in [json!(5), json!("x"), json!([1]), json!(true)] {
        let unnamed =
            json!({ "players": [{ "player": "hal", "attributes": attributes }], "giveUpAfterSeconds": 60 });
        tickets(&world, &unnamed).await.expect(400, "MS-M006");
    }
    // Only one invites.
    let two =
        json!({ "players": [with("eve", 5), with("fay", 5)], "invited": ["gus"], "giveUpAfterSeconds": 60 });
    tickets(&world, &two).await.expect(400, "MS-U101");
    world.shutdown().await;
}

/// Issue 4, point 4: "the same over `/v1`": of ListMatchmakingTicketsForPlayer, and of the users that a membership error names.
#[tokio::test]
async fn a_players_ticket_is_found_and_who_is_in_the_way_is_named() {
    let world = World::new().await;
    set(&world, &json!({ "Name": "q", "MinMatchSize": 10, "MaxMatchSize": 10 })).await;
    let of = |players: &[&str]| {
        let players: Vec<Value> = players.iter().map(|it| json!({ "player": it })).collect();
        json!({ "players": players, "giveUpAfterSeconds": 600 })
    };
    let ann = tickets(&world, &of(&["ann"])).await;
    tickets(&world, &of(&["ben", "cyd"])).await;
    let listed = async |player: &str| {
        world.get(&format!("/v1/queues/q/tickets?player={player}")).await.body["items"].clone()
    };
    assert_eq!(listed("ann").await, json!([ann.body]));
    assert_eq!(listed("title_player_account!ann").await, json!([ann.body]));
    assert_eq!(listed("dan").await, json!([]));
    world.get("/v1/queues/q/tickets?player=").await.expect(400, "MS-U101");
    assert_eq!(world.get("/v1/queues/q/tickets").await.body["items"].as_array().map(Vec::len), Some(2));

    let refused = tickets(&world, &of(&["dan", "cyd", "eve", "ann"])).await;
    refused.expect(409, "MS-M008");
    let named = |name: &str| json!({ "place": "players", "what": name });
    assert_eq!(refused.body["problems"], json!([named("cyd"), named("ann")]), "{}", refused.text);
    world.shutdown().await;
}

/// Issue 4, point 10: what can never match is "refused at the door […], named by code" on either face: a game that no match has room for.
#[tokio::test]
async fn a_game_that_no_match_has_room_for_is_refused_on_either_face() {
    let world = World::new().await;
    set(&world, &json!({ "Name": "q", "MinMatchSize": 10, "MaxMatchSize": 10 })).await;
    let token = title_token(&world).await;
    for (plays, places, code) in [(8, Some(1), 2059), (10, None, 2044)] {
        let players: Vec<Value> = (0..plays).map(|at| json!({ "player": format!("p{at}") })).collect();
        let game = json!({ "players": players, "server": {}, "places": places, "giveUpAfterSeconds": 600 });
        world.post("/v1/queues/q/backfills", &game).await.expect(400, "MS-M006");
        let entity =
            |at: usize| json!({ "Entity": { "Id": format!("p{at}"), "Type": "title_player_account" } });
        let members: Vec<Value> = (0..plays).map(entity).collect();
        let game =
            json!({ "Members": members, "GiveUpAfterSeconds": 600, "QueueName": "q", "Places": places });
        let title = [("x-entitytoken", token.as_str())];
        let refused = post(&world, "/Match/CreateServerBackfillTicket", &title, &game).await;
        assert_eq!((refused.status, &refused.body["errorCode"]), (400, &json!(code)), "{}", refused.text);
    }
    // PlayFab's specification has no MatchmakingBadRequest among the errors of this call.
    let one = json!({ "Entity": { "Id": "ann", "Type": "title_player_account" } });
    for (members, seconds, field) in [(json!([one]), 0, "GiveUpAfterSeconds"), (json!([]), 60, "Members")] {
        let asked = json!({ "Members": members, "GiveUpAfterSeconds": seconds, "QueueName": "q" });
        let title = [("x-entitytoken", token.as_str())];
        let refused = post(&world, "/Match/CreateServerMatchmakingTicket", &title, &asked).await;
        assert_eq!(refused.body["errorCode"], 1000, "{}", refused.text);
        assert!(refused.body["errorDetails"][field].is_array(), "{}", refused.text);
    }
    world.shutdown().await;
}

/// Seed 004 has the players of a game listed with their attributes. Of as many as a match holds, each with nearly as much as is allowed, that is one event of 700 KB:
/// its queue ended by it.
#[tokio::test]
async fn a_game_of_ninety_nine_with_all_that_they_brought_is_waited_for() {
    let world = World::new().await;
    set(&world, &json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 100 })).await;
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    let member = |at: usize| {
        json!({
            "Entity": { "Id": format!("p{at}"), "Type": "title_player_account" },
            "Attributes": { "DataObject": { "Brought": "x".repeat(7_000) } },
        })
    };
    let members: Vec<Value> = (0..99).map(member).collect();
    let game = |address: String| {
        json!({
            "Members": members, "GiveUpAfterSeconds": 600, "QueueName": "q",
            "ServerDetails": { "IPV4Address": address },
        })
    };
    let refused = post(&world, "/Match/CreateServerBackfillTicket", &title, &game("x".repeat(4_097))).await;
    assert!(refused.status == 400 && refused.text.contains("at most 4096 bytes"), "{}", refused.text);
    let made = post(&world, "/Match/CreateServerBackfillTicket", &title, &game("192.0.2.1".to_owned())).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let late = json!({ "players": [{ "player": "late" }], "giveUpAfterSeconds": 600 });
    assert_eq!(tickets(&world, &late).await.status, 201);
    let of = json!({ "TicketId": made.body["data"]["TicketId"], "QueueName": "q" });
    let filled = post(&world, "/Match/GetServerBackfillTicket", &title, &of).await;
    assert_eq!(filled.body["data"]["Status"], "Matched", "{}", filled.status);
    let health = world.call("GET", "/healthz", None, vec![]).await;
    assert_eq!(
        health.body["checks"][2],
        json!({ "name": "queues", "ok": true, "says": "all 1 answer; what was asked before is durable" })
    );
    world.shutdown().await;
}

/// A rule that is passed over matches anybody with anybody. PlayFab's own call takes keys it does not know; `/v1`, as the file, does not, and takes either spelling.
#[tokio::test]
async fn a_queue_over_the_native_face_has_no_key_that_is_passed_over() {
    let world = World::new().await;
    let put = async |queue: Value| {
        world.call("PUT", "/v1/queues/q", Some(&basic(ADMIN)), queue.to_string().into_bytes()).await
    };
    let rule = json!([{ "Name": "skill", "Attribute": { "Path": "skill", "Source": "User" }, "Difference": 5, "AttributeNotSpecifiedBehavior": "MatchAny" }]);
    let misspelt = put(json!({ "MinMatchSize": 2, "MaxMatchSize": 2, "DiferenceRules": rule })).await;
    misspelt.expect(400, "MS-M001");
    assert!(
        misspelt.text.contains("DiferenceRules") && misspelt.text.contains("did you mean DifferenceRules?"),
        "{}",
        misspelt.text
    );
    // That is a file's alone, and not named as if it were read here.
    let of_files = put(json!({ "MinMatchSize": 2, "MaxMatchSize": 2, "allocate": { "fleet": "f" } })).await;
    of_files.expect(400, "MS-M001");
    assert!(!of_files.text.contains("Allocate"), "{}", of_files.text);
    put(json!({ "MinMatchSize": 2, "minMatchSize": 3, "MaxMatchSize": 4 })).await.expect(400, "MS-M001");
    let within =
        json!([{ "name": "skill", "attribute": { "path": "skill", "source": "User" }, "diference": 5 }]);
    let misspelt = put(json!({ "minMatchSize": 2, "maxMatchSize": 2, "differenceRules": within })).await;
    misspelt.expect(400, "MS-M001");
    assert!(misspelt.text.contains("differenceRules[0].diference"), "{}", misspelt.text);
    let ours = put(json!({ "minMatchSize": 2, "maxMatchSize": 3, "differenceRules": rule })).await;
    assert!(ours.status < 300, "{}", ours.text);
    let kept = world.get("/v1/queues/q").await.body["configuration"].clone();
    assert_eq!((&kept["MaxMatchSize"], &kept["DifferenceRules"][0]["Difference"]), (&json!(3), &json!(5)));
    assert!(put(kept).await.status < 300, "as it is shown it is taken");
    world.shutdown().await;
}

/// A service account is "out at once" when it is revoked: also where it watches already.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_revoked_hears_nothing_more_of_what_it_watches() {
    let world = World::new().await;
    set(&world, &json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2 })).await;
    let made = world.post("/v1/service-accounts", &json!({ "role": "viewer" })).await;
    let text = |field: &str| made.body[field].as_str().unwrap().to_owned();
    let own = basic((&text("keyId"), &text("secretKey")));
    let ticket =
        tickets(&world, &json!({ "players": [{ "player": "ann" }], "giveUpAfterSeconds": 600 })).await;
    let path = format!("/v1/queues/q/tickets/{}", ticket.body["id"].as_str().unwrap());
    let mut streams = Vec::new();
    for who in [own, basic(ADMIN)] {
        let mut stream = TcpStream::connect(world.plane.api()).await.unwrap();
        let asks = format!("GET {path}/events HTTP/1.1\r\nHost: a\r\nAuthorization: {who}\r\n\r\n");
        stream.write_all(asks.as_bytes()).await.unwrap();
        streams.push((stream, Vec::new()));
    }
    let says = |heard: &[u8], word: &str| String::from_utf8_lossy(heard).contains(word);
    for (stream, heard) in &mut streams {
        while !says(heard, "WaitingForMatch") {
            assert_ne!(stream.read_buf(heard).await.unwrap(), 0, "{}", String::from_utf8_lossy(heard));
        }
    }
    let revoked = world.delete(&format!("/v1/service-accounts/{}", text("keyId"))).await;
    assert_eq!(revoked.status, 204);
    assert_eq!(world.delete(&path).await.status, 204);
    for ((stream, heard), hears) in streams.iter_mut().zip([false, true]) {
        while !says(heard, "\r\n0\r\n\r\n") {
            assert_ne!(stream.read_buf(heard).await.unwrap(), 0, "{}", String::from_utf8_lossy(heard));
        }
        assert_eq!(says(heard, "Canceled"), hears, "{}", String::from_utf8_lossy(heard));
    }
    drop(streams);
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
    let five =
        json!({ "Name": "five", "MinMatchSize": 5, "MaxMatchSize": 5, "ServerAllocationEnabled": false });
    let try_it = json!({ "tickets": try_it["tickets"], "configuration": five });
    let tried = world.post("/v1/queues/q/try", &try_it).await;
    assert_eq!(
        tried.body["left"].as_array().map(Vec::len),
        Some(4),
        "by rules of another queue: {}",
        tried.text
    );
    // As it may be pasted elsewhere: in the documentation's shape and a file's spelling, wrapped or bare.
    let close = json!({ "type": "DifferenceRule", "name": "mu", "weight": 1, "maxDifference": 1,
        "attribute": { "path": "mu", "source": "User" }, "attributeNotSpecifiedBehavior": "MatchAny" });
    let pasted = json!({ "name": "five", "minMatchSize": 4, "maxMatchSize": 4, "rules": [close] });
    for configuration in [pasted.clone(), json!({ "MatchmakingQueue": pasted })] {
        let tried = json!({ "tickets": try_it["tickets"], "configuration": configuration });
        let tried = world.post("/v1/queues/q/try", &tried).await;
        assert_eq!(tried.body["matches"].as_array().map(Vec::len), Some(1), "{}", tried.text);
    }

    let note = "n".repeat(9_000);
    let large = json!({ "players": [{ "player": "large", "attributes": { "note": note } }], "giveUpAfterSeconds": 60 });
    let refused = tickets(&world, &large).await;
    refused.expect(400, "MS-M006");
    assert!(refused.text.contains("at most 8192"), "{}", refused.text);
    world.shutdown().await;
}

/// Issue 4, point 4: "the same over `/v1`". A title or a game server is no player on either face, and a type of PlayFab's that is written
/// otherwise would be a player of its own.
#[tokio::test]
async fn who_is_no_player_is_in_no_ticket() {
    let world = World::new().await;
    set(&world, &json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 4 })).await;
    let of = |players: &[&str]| {
        let players: Vec<Value> = players.iter().map(|player| json!({ "player": player })).collect();
        json!({ "players": players, "giveUpAfterSeconds": 600 })
    };
    let refused = tickets(&world, &of(&["title!T", "ann", "Title_Player_Account!bob"])).await;
    refused.expect(400, "MS-U101");
    for part in ["players[0] is title!T", "players[2] is Title_Player_Account!bob"] {
        assert!(refused.text.contains(part), "{part} in {}", refused.text);
    }
    assert_eq!(tickets(&world, &of(&["steam!ann", "bob"])).await.status, 201, "a studio's own type");
    world.shutdown().await;
}

/// "time-to-play waterfall" (ux.md, page 9), of a match of many: when each of its tickets was made.
#[tokio::test]
async fn a_waterfall_begins_with_every_ticket_of_its_match() {
    let world = World::new().await;
    set(&world, &json!({ "Name": "q", "MinMatchSize": 10, "MaxMatchSize": 10 })).await;
    let mut last = String::new();
    for player in 0..10 {
        let of = json!({ "players": [{ "player": format!("p{player}") }], "giveUpAfterSeconds": 600 });
        last = ticket(&tickets(&world, &of).await);
    }
    let formed = world.get(&last).await.body["matchId"].as_str().unwrap().to_owned();
    let told = world.get(&format!("/v1/queues/q/matches/{formed}/waterfall")).await;
    let count = |told: &Value, what: &str| {
        told["steps"].as_array().unwrap().iter().filter(|step| step["what"] == what).count()
    };
    assert_eq!(count(&told.body, "ticket.created"), 10, "{}", told.text);
    assert!(told.body["untoldEvents"].as_u64().unwrap() > 0, "nobody reads them here: {}", told.text);
    world.tell();
    let told = world.get(&format!("/v1/queues/q/matches/{formed}/waterfall")).await;
    assert_eq!((count(&told.body, "match.formed"), &told.body["untoldEvents"]), (1, &Value::Null));
    world.shutdown().await;
}

/// Eight teams that hardly any seating makes even, looked at each second for an hour: minutes of work, which end with whoever asked; others
/// who try something have to wait for it.
#[tokio::test]
async fn a_rehearsal_ends_with_whoever_asked() {
    let world = World::new().await;
    set(&world, &skilled("User", "skill")).await;
    let team = |n: u32| json!({ "Name": format!("t{n}"), "MinTeamSize": 4, "MaxTeamSize": 4 });
    let even = json!({
        "Name": "even", "MinMatchSize": 32, "MaxMatchSize": 32, "ServerAllocationEnabled": false,
        "Teams": (0..8).map(team).collect::<Vec<_>>(),
        "TeamDifferenceRules": [{
            "Name": "even", "Attribute": { "Path": "a", "Source": "User" }, "DefaultAttributeValue": 0,
            "Difference": 0.001, "LinearExpansion": { "Delta": 0.001, "SecondsBetweenExpansions": 1 },
        }],
    });
    let party = |n: u64| json!({ "players": [{ "player": format!("p{n}"), "attributes": { "a": n * n * 7_919 % 1_000 } }] });
    let parties: Vec<Value> = (0..100).map(party).collect();
    let long = json!({ "tickets": parties, "configuration": even, "withinSeconds": 3_600 });
    let asked = tokio::time::timeout(Duration::from_secs(1), world.post("/v1/queues/q/try", &long));
    assert!(asked.await.is_err(), "whoever asked went away");
    let short = json!({ "tickets": [parties[0]], "withinSeconds": 1 });
    let tried = world.post("/v1/queues/q/try", &short).await;
    assert_eq!((tried.status, &tried.body["left"]), (200, &json!(["p0"])), "{}", tried.text);
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
        (json!({ "deep": (0..33).fold(json!(1), |inner, _| json!([inner])) }), "MS-M022"),
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

/// Issue 4, point 4: "idempotency keys". A key is of one kind of ticket: one that made both would make two of one id.
#[tokio::test]
async fn a_key_makes_one_ticket_of_each_kind_and_refuses_what_it_was_not_made_for() {
    let world = World::new().await;
    set(&world, &json!({ "Name": "q", "MinMatchSize": 4, "MaxMatchSize": 4 })).await;
    let admin = basic(ADMIN);
    let keyed = async |kind: &str, asked: &Value| {
        world.keyed(&format!("/v1/queues/q/{kind}"), &admin, "one", asked).await
    };
    let with = |player: &str, skill: i64| {
        json!({
            "players": [{ "player": player, "attributes": { "skill": skill, "map": "x" } }], "giveUpAfterSeconds": 600,
        })
    };
    let made = keyed("tickets", &with("ann", 5)).await;
    let path = ticket(&made);
    let again = keyed("tickets", &with("ann", 5)).await;
    assert_eq!((again.status, &again.body), (201, &made.body), "{}", again.text);
    let reordered =
        br#"{"giveUpAfterSeconds": 600, "players":[{"attributes":{"map":"x","skill":5},"player":"ann"}]}"#;
    let request = hyper::Request::builder().header("idempotency-key", "one");
    let again = world.request(request, "POST", "/v1/queues/q/tickets", reordered.to_vec()).await;
    assert_eq!(again.body["id"], made.body["id"], "{}", again.text);
    for other in [with("ann", 6), with("bea", 5)] {
        keyed("tickets", &other).await.expect(409, "MS-M024");
    }
    let mut game = with("cyd", 5);
    game["server"] = json!({ "fqdn": "x.example" });
    let backfill = keyed("backfills", &game).await;
    assert_eq!(backfill.status, 201, "{}", backfill.text);
    assert_ne!(backfill.body["id"], made.body["id"]);
    assert_eq!(keyed("backfills", &game).await.body["id"], backfill.body["id"]);
    let fewer = json!({ "places": 1, "players": game["players"], "server": game["server"], "giveUpAfterSeconds": 600 });
    keyed("backfills", &fewer).await.expect(409, "MS-M024");
    // Each ends by itself, and a repeat tells how the ticket stands that was made.
    assert_eq!(world.call("DELETE", &path, Some(&admin), vec![]).await.status, 204);
    assert_eq!(keyed("tickets", &with("ann", 5)).await.body["status"], "Canceled");
    assert_eq!(keyed("backfills", &game).await.body["status"], "WaitingForMatch");
    world.shutdown().await;
}

/// `Gather` of ours: it is shown as it was set on either face, and so can be set again.
#[tokio::test]
async fn a_queue_that_gathers_says_so_on_either_face() {
    let world = World::new().await;
    let gathering =
        |gather: &str| json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "Gather": gather });
    set(&world, &gathering("100ms")).await;
    assert_eq!(world.get("/v1/queues/q").await.body["configuration"]["Gather"], "100ms");
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    let shown = post(&world, "/Match/GetMatchmakingQueue", &title, &json!({ "QueueName": "q" })).await;
    assert_eq!(shown.body["data"]["MatchmakingQueue"]["Gather"], "100ms", "{}", shown.text);
    let of = |player: &str| json!({ "players": [{ "player": player }], "giveUpAfterSeconds": 600 });
    let ann = ticket(&tickets(&world, &of("ann")).await);
    tickets(&world, &of("ben")).await;
    world.eventually(&ann, |it| it["status"] == "Matched").await;
    for none in ["soon", "61s"] {
        world.put_json("/v1/queues/q", &gathering(none)).await.expect(400, "MS-M001");
    }
    world.shutdown().await;
}

/// What nothing reads is shown as it was set on either face, and so can be set again.
#[tokio::test]
async fn a_queue_shows_a_build_and_a_default_that_nothing_reads_on_either_face() {
    let world = World::new().await;
    let rule = json!({ "Name": "skill", "Attribute": { "Path": "skill", "Source": "User" }, "AttributeNotSpecifiedBehavior": "MatchAny",
        "DefaultAttributeValue": 5, "Difference": 1 });
    let queue = json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "ServerAllocationEnabled": false, "BuildId": "build",
        "DifferenceRules": [rule] });
    set(&world, &queue).await;
    let configuration = world.get("/v1/queues/q").await.body["configuration"].clone();
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    let shown = post(&world, "/Match/GetMatchmakingQueue", &title, &json!({ "QueueName": "q" })).await;
    assert_eq!(shown.body["data"]["MatchmakingQueue"], configuration);
    assert_eq!(configuration["BuildId"], "build");
    assert_eq!(configuration["DifferenceRules"][0]["DefaultAttributeValue"], 5);
    set(&world, &configuration).await;
    assert_eq!(world.get("/v1/queues/q").await.body["configuration"], configuration);
    world.shutdown().await;
}

/// Issue 4, point 10: "unknown regions […]: refused at the door where the specification allows, named by code, never silently
/// unmatchable".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn regions_that_are_none_of_the_queues_are_refused() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let queue = json!({
        "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "Regions": ["EastUs", "WestUs"],
        "RegionSelectionRule": { "Name": "region", "Path": "latency", "MaxLatency": 100, "Weight": 1 },
    });
    set(&world, &queue).await;
    assert_eq!(world.get("/v1/queues/q").await.body["configuration"]["Regions"], queue["Regions"]);
    let from = |player: &str, regions: &[&str]| {
        let measured: Vec<Value> =
            regions.iter().map(|region| json!({ "region": region, "latency": 9 })).collect();
        json!({ "players": [{ "player": player, "attributes": { "latency": measured } }], "giveUpAfterSeconds": 60 })
    };
    tickets(&world, &from("ann", &["Atlantis"])).await.expect(400, "MS-M006");
    let none = tickets(&world, &from("ann", &[])).await;
    none.expect(400, "MS-M006");
    assert!(none.text.contains("is empty: send each with its latency"), "{}", none.text);
    let game =
        |region: &str| json!({ "players": [], "server": { "region": region }, "giveUpAfterSeconds": 60 });
    world.post("/v1/queues/q/backfills", &game("Atlantis")).await.expect(400, "MS-M006");
    assert_eq!(world.post("/v1/queues/q/backfills", &game("eastus")).await.status, 201);
    ticket(&tickets(&world, &from("ann", &["Atlantis", "WestUS"])).await);
    // The other face.
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    let named = json!({ "Entity": { "Id": "bea", "Type": "title_player_account" },
        "Attributes": { "DataObject": { "latency": [{ "region": "Atlantis", "latency": 9 }] } } });
    let asked = json!({ "Members": [named], "GiveUpAfterSeconds": 60, "QueueName": "q" });
    let refused = post(&world, "/Match/CreateServerMatchmakingTicket", &title, &asked).await;
    assert_eq!(refused.body["errorCode"], 2046, "{}", refused.text);

    // With servers, the fleet's: those that are named, and else whatever it has.
    let set_on = async |regions: Value| {
        let mut queue = queue.clone();
        queue["ServerAllocationEnabled"] = json!(true);
        queue["BuildId"] = json!("arena/ranked");
        queue["Regions"] = regions;
        world.call("PUT", "/v1/queues/q", Some(&basic(ADMIN)), queue.to_string().into_bytes()).await
    };
    let refused = set_on(json!(["local", "Atlantis"])).await;
    refused.expect(400, "MS-M001");
    assert!(refused.text.contains("no region Atlantis"), "{}", refused.text);
    let twice = set_on(json!(["local", REGION])).await;
    twice.expect(400, "MS-M001");
    assert!(twice.text.contains("are one region"), "{}", twice.text);
    for regions in [json!(["Local"]), Value::Null] {
        assert_eq!(set_on(regions.clone()).await.status, 200);
        tickets(&world, &from("cyd", &["Atlantis"])).await.expect(400, "MS-M006");
        let known = ticket(&tickets(&world, &from("cyd", &["Atlantis", "LOCAL"])).await);
        assert_eq!(world.call("DELETE", &known, Some(&basic(ADMIN)), vec![]).await.status, 204);
    }
    world.shutdown().await;
}

/// Issue 3, point 10: "Regions have a name and aliases, compared without case"; so players who measured one by different names meet, whatever
/// name the queue has for it, and `try` says so too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn players_who_measured_a_fleets_region_by_its_aliases_meet() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let mut declared = crate::support::declaration(
        mainstay_fleet::Growth::MachinesMayJoin,
        std::time::Duration::from_secs(60),
    );
    declared.fleets[0].regions[0].aliases = vec!["Home".into(), "LAN".into()];
    world.plane.apply(declared).await.unwrap();
    let party = |player: &str, region: &str| {
        let latency = json!([{ "region": region, "latency": 9 }]);
        json!({ "players": [{ "player": player, "attributes": { "latency": latency } }] })
    };
    for (regions, told) in [(Value::Null, "local"), (json!(["HOME"]), "home")] {
        set(&world, &json!({
            "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "Regions": regions,
            "ServerAllocationEnabled": true, "BuildId": "arena/ranked",
            "RegionSelectionRule": { "Name": "region", "Path": "latency", "MaxLatency": 100, "Weight": 1 },
        }))
        .await;
        let tried = json!({ "tickets": [party("ann", "lan"), party("ben", "Local")] });
        let tried = world.post("/v1/queues/q/try", &tried).await;
        assert_eq!(tried.body["matches"].as_array().map(Vec::len), Some(1), "{}", tried.text);
        let mut made = Vec::new();
        for (player, region) in [("ann", "lan"), ("ben", "Local")] {
            let mut asked = party(player, region);
            asked["giveUpAfterSeconds"] = json!(60);
            made.push(ticket(&tickets(&world, &asked).await));
        }
        let matched = world.eventually(&made[1], |it| it["status"] == "Matched").await;
        let id = matched["matchId"].as_str().unwrap();
        let formed = world.get(&format!("/v1/queues/q/matches/{id}")).await.body;
        let preferred: Vec<String> = formed["regions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it.as_str().unwrap().to_lowercase())
            .collect();
        assert_eq!(preferred, [told], "{formed}");
        let first = world.get(&made[0]).await.body;
        assert_eq!(
            first["players"][0]["attributes"]["latency"][0]["region"], "lan",
            "as it was sent: {first}"
        );
        assert_eq!(world.delete(&format!("/v1/allocations/{id}")).await.status, 204);
    }
    world.shutdown().await;
}

/// Issue 4, point 10: "unknown regions …, never silently unmatchable". A region that was taken out of a fleet gives no server, so who measured no
/// other is told so, and nobody is matched for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_was_taken_out_of_a_fleet_is_none_that_players_can_be_matched_in() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let regions = gateway("fleets", &format!("/fleets/{FLEET}/regions"));
    let added = world
        .post(&regions, &json!({ "regionName": "Tokyo", "minAvailableServers": 0, "maxServers": 9 }))
        .await;
    assert_eq!(added.status, 200, "{}", added.text);
    set(&world, &json!({
        "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "ServerAllocationEnabled": true, "BuildId": "arena/ranked",
        "RegionSelectionRule": { "Name": "region", "Path": "latency", "MaxLatency": 100, "Weight": 1 },
    }))
    .await;
    let asked = |player: &str, measured: Value| {
        let players = json!([{ "player": player, "attributes": { "latency": measured } }]);
        json!({ "players": players, "giveUpAfterSeconds": 60 })
    };
    let tokyo = json!({ "region": "Tokyo", "latency": 5 });
    let known = ticket(&tickets(&world, &asked("ann", json!([tokyo]))).await);
    assert_eq!(world.call("DELETE", &known, Some(&basic(ADMIN)), vec![]).await.status, 204);
    let admin = basic(ADMIN);
    let keyed = async |asked: &Value| world.keyed("/v1/queues/q/tickets", &admin, "lost", asked).await;
    let before = keyed(&asked("eve", json!([tokyo]))).await;
    assert_eq!(before.status, 201, "{}", before.text);
    let path = format!("{regions}/{}", added.body["id"].as_str().unwrap());
    let closed = json!({ "scalingEnabled": false, "minAvailableServers": 0, "maxServers": 9 });
    assert_eq!(world.put_json(&path, &closed).await.body["status"], "OFFLINE");
    tickets(&world, &asked("ann", json!([tokyo]))).await.expect(400, "MS-M006");
    // Who lost the answer to what was asked before is told what was made, by its key.
    let again = keyed(&asked("eve", json!([tokyo]))).await;
    assert_eq!((again.status, &again.body["id"]), (201, &before.body["id"]), "{}", again.text);
    let both = json!([tokyo, { "region": "local", "latency": 50 }]);
    let mut made = Vec::new();
    for player in ["ann", "ben"] {
        made.push(ticket(&tickets(&world, &asked(player, both.clone())).await));
    }
    let matched = world.eventually(&made[1], |it| it["status"] == "Matched").await;
    let id = matched["matchId"].as_str().unwrap();
    let formed = world.get(&format!("/v1/queues/q/matches/{id}")).await.body;
    assert_eq!(formed["regions"].as_array().map(Vec::len), Some(1), "{formed}");
    world.shutdown().await;
}

/// Issue 4, point 4: "with server-sent events so that nobody polls": players too, who have no service account. "Clients are not allowed
/// to cancel a backfill ticket they are in"; "Users cannot view or interact with backfill tickets in any way" (seed 004).
#[tokio::test]
async fn players_watch_their_own_tickets_and_see_nothing_else() {
    let world = World::new().await;
    set(&world, &json!({ "Name": "q", "MinMatchSize": 4, "MaxMatchSize": 4 })).await;
    let mut logins = Vec::new();
    for name in ["ann", "bea", "cyd"] {
        let login = json!({ "TitleId": TITLE, "CustomId": name });
        let told =
            post(&world, "/Client/LoginWithCustomID", &[], &login).await.body["data"]["EntityToken"].clone();
        logins.push((told["EntityToken"].as_str().unwrap().to_owned(), told["Entity"].clone()));
    }
    let [ann, bea, cyd] = logins.try_into().unwrap();
    let as_player = async |(token, _): &(String, Value), method: &str, path: &str| {
        let request = hyper::Request::builder().header("x-entitytoken", token);
        world.send(request, method, path, Vec::new()).await
    };
    let by = [("x-entitytoken", ann.0.as_str())];
    let asked = json!({ "Creator": { "Entity": ann.1 }, "MembersToMatchWith": [bea.1], "GiveUpAfterSeconds": 600, "QueueName": "q" });
    let made = post(&world, "/Match/CreateMatchmakingTicket", &by, &asked).await;
    let path = format!("/v1/queues/q/tickets/{}", made.body["data"]["TicketId"].as_str().unwrap());
    // Who made it, and who was invited; and nobody else.
    for player in [&ann, &bea] {
        assert_eq!(as_player(player, "GET", &path).await.body["status"], "WaitingForPlayers");
    }
    let (events, why) = (format!("{path}/events"), format!("{path}/why"));
    for call in [&path, &events, &why] {
        as_player(&cyd, "GET", call).await.expect(404, "MS-M003");
    }
    as_player(&cyd, "DELETE", &path).await.expect(404, "MS-M003");
    as_player(&bea, "DELETE", &path).await.expect(409, "MS-M007");
    assert_eq!(as_player(&ann, "GET", &why).await.body["missing"], json!([bea.1["Id"]]));
    // Nothing but its ticket: not the list, no call of the studio's; and nobody's token does nothing.
    for (method, call) in [
        ("GET", "/v1/queues".to_owned()),
        ("GET", "/v1/queues/q/tickets".to_owned()),
        ("GET", "/v1/queues/q/backfills".to_owned()),
        ("GET", "/v1/queues/q/matches".to_owned()),
        ("GET", "/v1/queues/q/statistics".to_owned()),
        ("PUT", format!("{path}/lease")),
        ("DELETE", "/v1/queues/q".to_owned()),
        ("DELETE", "/v1/queues/q/backfills?player=x".to_owned()),
        ("GET", "/v1/players/x/objects".to_owned()),
        ("GET", "/v1/status".to_owned()),
    ] {
        as_player(&ann, method, &call).await.expect(403, "MS-A003");
    }
    as_player(&ann, "DELETE", "/v1/queues/q/tickets?player=x").await.expect(403, "MS-M013");
    as_player(&("x".to_owned(), Value::Null), "GET", &path).await.expect(401, "MS-A002");
    // Its own game's backfill ticket is none to it.
    let id = |(_, entity): &(String, Value)| entity["Id"].as_str().unwrap().to_owned();
    let game = json!({ "players": [{ "player": id(&ann) }], "server": {}, "giveUpAfterSeconds": 60 });
    let game = world.post("/v1/queues/q/backfills", &game).await;
    let game = format!("/v1/queues/q/tickets/{}", game.body["id"].as_str().unwrap());
    for (method, call) in [("GET", game.clone()), ("GET", format!("{game}/events")), ("DELETE", game.clone())]
    {
        as_player(&ann, method, &call).await.expect(404, "MS-M003");
    }
    assert_eq!(world.get(&game).await.body["status"], "WaitingForMatch");
    assert_eq!(world.call("DELETE", &game, Some(&basic(ADMIN)), vec![]).await.status, 204);
    // The stream tells each change, and ends with the ticket.
    let watched = async { as_player(&ann, "GET", &events).await };
    let cancelled = async {
        let joins = json!({ "TicketId": made.body["data"]["TicketId"], "QueueName": "q", "Member": { "Entity": bea.1 } });
        let joined = post(&world, "/Match/JoinMatchmakingTicket", &[("x-entitytoken", &bea.0)], &joins).await;
        assert_eq!(joined.status, 200, "{}", joined.text);
        as_player(&bea, "DELETE", &path).await.status
    };
    let (told, cancelled) = tokio::join!(watched, cancelled);
    assert_eq!((told.status, cancelled), (200, 204), "{}", told.text);
    assert!(told.text.contains("\"cancellationReason\":\"User\""), "{}", told.text);
    assert_eq!(as_player(&ann, "GET", &path).await.body["status"], "Canceled");
    // Nobody polls for ever.
    for asked in 0.. {
        let answer = as_player(&ann, "GET", &path).await;
        if answer.status != 200 {
            answer.expect(429, "MS-M018");
            assert!(asked > 0 && answer.header("retry-after").is_some(), "{}", answer.text);
            break;
        }
    }
    world.shutdown().await;
}

/// The same game is as long on either face: 2 MiB of whoever is known, and the numbers where it is more.
#[tokio::test]
async fn as_much_is_taken_here_as_on_playfabs_face() {
    let world = World::new().await;
    set(&world, &json!({ "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 100 })).await;
    let player = |n: usize| json!({ "player": format!("p{n}"), "attributes": { "told": "x".repeat(7_000) } });
    let game = |first: usize| {
        let players: Vec<_> = (first..first + 30).map(player).collect();
        json!({ "players": players, "giveUpAfterSeconds": 600 })
    };
    let made = tickets(&world, &game(0)).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let mut full = game(30);
    full["server"] = json!({});
    let made = world.post("/v1/queues/q/backfills", &full).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let long = format!("{}{}", json!({ "MinMatchSize": 2, "MaxMatchSize": 2 }), " ".repeat(500_000));
    let set = world.call("PUT", "/v1/queues/long", Some(&basic(ADMIN)), long.into_bytes()).await;
    assert_eq!(set.status, 200, "{}", set.text);

    let most = 2 * 1024 * 1024;
    let body = || vec![b' '; most + 1];
    let refused = world.call("POST", "/v1/queues/q/tickets", Some(&basic(ADMIN)), body()).await;
    refused.expect(413, "MS-U102");
    let told = refused.body["detail"].as_str().unwrap();
    assert_eq!(told, "the body has 2097153 bytes, and at most 2097152 are read");
    world.call("POST", "/v1/queues/q/tickets", None, body()).await.expect(401, "MS-A001");
    world.shutdown().await;
}
