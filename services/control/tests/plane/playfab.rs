//! The PlayFab face as bytes: what every answer is wrapped in, whoever refused, and who may log in where. What the calls do, the stock
//! SDKs show (`services/cli/tests/product/playfab`).

use std::io::Write as _;

use mainstay_control::Logins;
use mainstay_journal::memory::{MemoryStore, Room, Tenancy};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Answer, TITLE, TITLE_SECRET, World};

/// The page of our codes.
const CODES: &str = include_str!("../../../../docs/reference/error-codes.md");
const JSON: (&str, &str) = ("content-type", "application/json");

/// POSTs JSON.
pub async fn post(world: &World, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let headers = [&[JSON], headers].concat();
    world.playfab("POST", path, &headers, body.to_string().into_bytes()).await
}

#[track_caller]
fn refused(answer: &Answer, status: u16, (name, number): (&str, u32)) {
    let body = &answer.body;
    assert_eq!(answer.status, status, "{}", answer.text);
    assert_eq!((&body["error"], &body["errorCode"]), (&json!(name), &json!(number)), "{}", answer.text);
    assert_eq!(body["code"], status, "{}", answer.text);
    assert!(body["status"].as_str().is_some_and(|status| !status.contains(' ')), "{}", answer.text);
    assert!(body["errorMessage"].as_str().is_some_and(|message| !message.is_empty()), "{}", answer.text);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let code = answer.header("mainstay-code").unwrap_or_else(|| panic!("no code of ours: {}", answer.text));
    assert!(CODES.contains(&format!("| `{code}` |")), "{code} has no row");
}

pub async fn title_token(world: &World) -> String {
    let answer =
        post(world, "/Authentication/GetEntityToken", &[("x-secretkey", TITLE_SECRET)], &json!({})).await;
    answer.body["data"]["EntityToken"].as_str().unwrap_or_else(|| panic!("{}", answer.text)).to_owned()
}

/// Each is an envelope, whoever refused. Shows `InvalidAPIEndpoint 1131`, `InvalidContentType 1144`, `InvalidParams 1000`, `InvalidRequest 1071`, `InvalidTitleId 1004`,
/// `EntityTokenMissing 1334`, `EntityTokenInvalid 1335` and `PubSubFeatureNotEnabledForTitle 2500`, the answer to
/// `Match/SubscribeToMatchmakingResource` and `Match/UnsubscribeFromMatchmakingResource`.
#[tokio::test]
async fn every_refusal_is_an_envelope_whoever_refused() {
    let world = World::new().await;
    let endpoint = ("InvalidAPIEndpoint", 1131);
    for path in ["/", "/Match", "/Match/", "/Match/Nothing", "/match/getmatch", "/v1/status", "/%ff/GetMatch"]
    {
        refused(&post(&world, path, &[], &json!({})).await, 404, endpoint);
    }
    for method in ["GET", "PUT", "DELETE", "PATCH"] {
        refused(&world.playfab(method, "/Match/GetMatch", &[JSON], vec![]).await, 405, endpoint);
    }
    let login = "/Client/LoginWithCustomID";
    for kind in [None, Some("text/plain"), Some("application/jsonx")] {
        let headers: Vec<_> = kind.map(|kind| ("content-type", kind)).into_iter().collect();
        let answer = world.playfab("POST", login, &headers, b"{}".to_vec()).await;
        refused(&answer, 400, ("InvalidContentType", 1144));
    }
    let params = ("InvalidParams", 1000);
    for body in ["{", "{} {}", "{\"CustomId\":\"\u{1}\"}", "x", &"[".repeat(10_000)] {
        let answer = world.playfab("POST", login, &[JSON], body.as_bytes().to_vec()).await;
        refused(&answer, 400, ("InvalidJSONContent", 1200));
    }
    for body in ["[5]", "5", "true", "{\"CustomId\":5}"] {
        let answer = world.playfab("POST", login, &[JSON], body.as_bytes().to_vec()).await;
        refused(&answer, 400, params);
        let details = answer.body["errorDetails"].as_object().unwrap();
        assert!(details.values().all(|told| told.as_array().is_some_and(|told| told[0].is_string())));
    }
    let answer = post(&world, login, &[], &json!({ "TitleId": TITLE, "CustomId": 5 })).await;
    assert!(answer.body["errorDetails"]["CustomId"].is_array(), "{}", answer.text);
    let answer = post(&world, login, &[], &json!({ "TitleId": "OTHER", "CustomId": "a" })).await;
    refused(&answer, 400, ("InvalidTitleId", 1004));
    let large = json!({ "TitleId": TITLE, "CustomId": "x".repeat(20_000) });
    let answer = post(&world, login, &[], &large).await;
    refused(&answer, 413, ("InvalidRequest", 1071));
    let told = answer.body["errorMessage"].as_str().unwrap();
    assert!(told.ends_with(" bytes, and at most 16384 are read"), "{told}");

    let find = "/Match/GetMatch";
    refused(&post(&world, find, &[], &json!({})).await, 401, ("EntityTokenMissing", 1334));
    let wrong = [("x-entitytoken", "nonsense")];
    refused(&post(&world, find, &wrong, &json!({})).await, 401, ("EntityTokenInvalid", 1335));
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    for call in ["SubscribeToMatchmakingResource", "UnsubscribeFromMatchmakingResource"] {
        let answer = post(&world, &format!("/Match/{call}"), &title, &json!({ "Type": "MatchInvite" })).await;
        refused(&answer, 400, ("PubSubFeatureNotEnabledForTitle", 2500));
    }
    // One who showed a token may send more, and not everything.
    let large = json!({ "QueueName": "x".repeat(20_000) });
    refused(
        &post(&world, "/Match/GetQueueStatistics", &title, &large).await,
        400,
        ("MatchmakingQueueNotFound", 2016),
    );
    let large = json!({ "QueueName": "x".repeat(2_200_000) });
    refused(&post(&world, "/Match/GetQueueStatistics", &title, &large).await, 413, ("InvalidRequest", 1071));
    world.shutdown().await;
}

/// ux.md 8.9: "compatibility endpoints keep their own shapes … and add our code in a header `Mainstay-Code`": the same that the native
/// face gives.
#[tokio::test]
async fn our_code_stands_beside_playfabs_number() {
    let world = World::new().await;
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    let queue =
        |min: u32| json!({ "MatchmakingQueue": { "Name": "duel", "MinMatchSize": min, "MaxMatchSize": 2 } });
    let made = post(&world, "/Match/SetMatchmakingQueue", &title, &queue(2)).await;
    assert_eq!((made.status, made.header("mainstay-code")), (200, None), "{}", made.text);
    let id = "00000000-0000-4000-8000-000000000000";
    let ticket = json!({ "QueueName": "duel", "TicketId": id });
    let players = |count: usize| {
        let player =
            |n: usize| json!({ "Entity": { "Id": format!("p{n}"), "Type": "title_player_account" } });
        let members: Vec<_> = (0..count).map(player).collect();
        json!({ "Members": members, "GiveUpAfterSeconds": 60, "QueueName": "duel" })
    };
    let server = "/Match/CreateServerMatchmakingTicket";
    assert_eq!(post(&world, server, &title, &players(1)).await.status, 200);
    let none = json!({ "QueueName": "none" });
    let formed = json!({ "QueueName": "duel", "MatchId": id });
    for (path, headers, body, number, code) in [
        ("/Match/Nothing", &title[..], &json!({}), 1131, "MS-U103"),
        ("/Match/GetMatch", &[], &json!({}), 1334, "MS-A001"),
        ("/Match/GetMatch", &[("x-entitytoken", "nonsense")], &json!({}), 1335, "MS-A002"),
        ("/Match/GetMatch", &title, &json!({ "QueueName": 5 }), 1000, "MS-U101"),
        ("/Match/SetMatchmakingQueue", &title, &queue(0), 2031, "MS-M001"),
        ("/Match/GetQueueStatistics", &title, &none, 2016, "MS-M002"),
        ("/Match/GetMatchmakingTicket", &title, &ticket, 2018, "MS-M003"),
        ("/Match/GetMatch", &title, &formed, 2017, "MS-M004"),
        (server, &title, &players(2), 2044, "MS-M006"),
        (server, &title, &players(1), 2055, "MS-M008"),
        ("/Match/SubscribeToMatchmakingResource", &title, &json!({}), 2500, "MS-M025"),
    ] {
        let answer = post(&world, path, headers, body).await;
        let told = (&answer.body["errorCode"], answer.header("mainstay-code"));
        assert_eq!(told, (&json!(number), Some(code)), "{path} {body}: {}", answer.text);
    }
    // And how it is mended, which is all that a client's log has.
    let told = post(&world, "/Match/GetQueueStatistics", &title, &none).await.body["errorMessage"].clone();
    assert_eq!(told, "there is no queue \"none\"; list them: mainstay queue list");
    let told =
        post(&world, "/Match/GetMatchmakingTicket", &title, &ticket).await.body["errorMessage"].clone();
    assert!(told.as_str().unwrap().ends_with("; list them: mainstay ticket list --queue NAME"), "{told}");
    world.shutdown().await;
}

/// "X-ReportErrorAsSuccess: true: HTTP status must be 200 while the body code keeps the real status"; pages of other sites ask before
/// they send; a title may have a prefix; SDKs add a query.
#[tokio::test]
async fn headers_prefixes_and_queries_are_as_the_sdks_send_them() {
    let world = World::new().await;
    let answer = post(&world, "/Match/GetMatch", &[("x-reporterrorassuccess", "true")], &json!({})).await;
    assert_eq!((answer.status, &answer.body["code"]), (200, &json!(401)), "{}", answer.text);
    let again = post(&world, "/Match/GetMatch", &[], &json!({})).await;
    let named = |answer: &Answer| Uuid::parse_str(answer.header("x-requestid").unwrap()).unwrap();
    assert_ne!(named(&answer), named(&again), "each answer has a name of its own");
    let asked = [
        ("origin", "https://game.example"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "content-type,x-entitytoken,x-playfabsdk,x-unity-version"),
    ];
    let answer = world.playfab("OPTIONS", "/Match/GetMatch", &asked, vec![]).await;
    assert_eq!((answer.status, &*answer.text), (204, ""));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let allowed = answer.header("access-control-allow-headers").unwrap();
    for name in [
        "content-type",
        "content-encoding",
        "x-playfabsdk",
        "x-entitytoken",
        "x-authorization",
        "x-secretkey",
        "x-unity-version",
    ] {
        assert!(allowed.contains(name), "{allowed}");
    }
    let login = json!({ "TitleId": TITLE, "CustomId": "a", "CreateAccount": null, "AuthenticationContext": null,
        "CustomTags": null, "InfoRequestParameters": { "GetUserData": true } });
    for path in ["/Client/LoginWithCustomID?sdk=X-1", "/some/prefix/Client/LoginWithCustomID"] {
        let answer = post(&world, path, &[], &login).await;
        assert_eq!((answer.status, &answer.body["status"]), (200, &json!("OK")), "{}", answer.text);
    }
    // The Unreal SDK has an empty object for an empty list; the one for C# sends every field.
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    let queue = json!({ "Name": "duel", "MinMatchSize": 2, "MaxMatchSize": 2, "Teams": {}, "BuildId": null });
    let answer =
        post(&world, "/Match/SetMatchmakingQueue", &title, &json!({ "MatchmakingQueue": queue })).await;
    assert_eq!(answer.text, r#"{"code":200,"status":"OK","data":{}}"#);
    let login = post(&world, "/Client/LoginWithCustomID", &[], &login).await;
    let player = &login.body["data"]["EntityToken"];
    let token = player["EntityToken"].as_str().unwrap();
    let ticket = json!({ "Creator": { "Entity": player["Entity"], "Attributes": null }, "MembersToMatchWith": {},
        "GiveUpAfterSeconds": 60, "QueueName": "duel", "AuthenticationContext": null });
    let answer = post(&world, "/Match/CreateMatchmakingTicket", &[("x-entitytoken", token)], &ticket).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    world.shutdown().await;
}

/// "open in dev mode only: beyond it a title credential mints player tokens for ids the studio vouches for". Shows `NotAuthorized 1089`
/// and `NotAuthenticated 1074`, and `Server/LoginWithServerCustomId`.
#[tokio::test]
async fn where_others_can_reach_it_the_title_vouches_for_its_players() {
    let world = World::with_logins(Logins::Vouched).await;
    let by_itself = json!({ "TitleId": TITLE, "CustomId": "a" });
    let answer = post(&world, "/Client/LoginWithCustomID", &[], &by_itself).await;
    refused(&answer, 403, ("NotAuthorized", 1089));
    let (vouched, body) = ("/Server/LoginWithServerCustomId", json!({ "ServerCustomId": "a" }));
    refused(&post(&world, vouched, &[], &body).await, 401, ("NotAuthenticated", 1074));
    refused(
        &post(&world, vouched, &[("x-secretkey", "guess")], &body).await,
        401,
        ("NotAuthenticated", 1074),
    );
    let login = post(&world, vouched, &[("x-secretkey", TITLE_SECRET)], &body).await;
    let login = &login.body["data"];
    let session = [("x-authorization", login["SessionTicket"].as_str().unwrap())];
    let token = post(&world, "/Authentication/GetEntityToken", &session, &json!({})).await;
    assert_eq!(token.body["data"]["Entity"], login["EntityToken"]["Entity"]);
    world.shutdown().await;
}

/// `GetEntityToken`: "an optional EntityKey may be included to attempt to set the resulting EntityToken to a specific entity, however
/// the entity must be a relation of the caller". The title's are its players and game servers; nobody else has any.
#[tokio::test]
async fn the_title_gets_tokens_for_its_players_and_servers_and_nobody_for_another() {
    let world = World::new().await;
    let get = async |header: (&str, &str), entity: &Value| {
        post(&world, "/Authentication/GetEntityToken", &[header], &json!({ "Entity": entity })).await
    };
    let login = json!({ "TitleId": TITLE, "CustomId": "ann" });
    let login = post(&world, "/Client/LoginWithCustomID", &[], &login).await.body["data"].clone();
    let (ann, hers) =
        (&login["EntityToken"]["Entity"], login["EntityToken"]["EntityToken"].as_str().unwrap());
    let title = title_token(&world).await;
    let secret = ("x-secretkey", TITLE_SECRET);
    for by in [secret, ("x-entitytoken", title.as_str())] {
        let answer = get(by, ann).await;
        assert_eq!(&answer.body["data"]["Entity"], ann, "{}", answer.text);
        let token = answer.body["data"]["EntityToken"].as_str().unwrap();
        let shown = [("x-entitytoken", title.as_str())];
        let valid =
            post(&world, "/Authentication/ValidateEntityToken", &shown, &json!({ "EntityToken": token }))
                .await;
        let lineage = &valid.body["data"]["Lineage"];
        assert_eq!((&lineage["TitlePlayerAccountId"], &lineage["TitleId"]), (&ann["Id"], &json!(TITLE)));
        // It is hers in every way: her own objects, and nothing of the title's.
        let of = json!({ "Entity": ann });
        assert_eq!(post(&world, "/Object/GetObjects", &[("x-entitytoken", token)], &of).await.status, 200);
        let queues =
            post(&world, "/Match/ListMatchmakingQueues", &[("x-entitytoken", token)], &json!({})).await;
        refused(&queues, 403, ("NotAuthorized", 1089));
    }
    let server = json!({ "Id": "00112233445566EE", "Type": "game_server" });
    assert_eq!(get(secret, &server).await.body["data"]["Entity"]["Type"], "game_server");
    // Oneself, with and without a type.
    for own in [ann, &json!({ "Id": ann["Id"] })] {
        assert_eq!(&get(("x-entitytoken", hers), own).await.body["data"]["Entity"], ann);
    }
    let session = ("x-authorization", login["SessionTicket"].as_str().unwrap());
    for (by, entity) in [
        (secret, json!({ "Id": "ann", "Type": "title_player_account" })),
        (secret, json!({ "Id": "00112233445566ee", "Type": "title_player_account" })),
        (secret, json!({ "Id": login["PlayFabId"], "Type": "master_player_account" })),
        (secret, json!({ "Id": "", "Type": "title_player_account" })),
        (session, json!({ "Id": "00112233445566EE", "Type": "title_player_account" })),
        (session, json!({ "Id": login["PlayFabId"], "Type": "master_player_account" })),
        (session, json!({ "Id": TITLE, "Type": "title" })),
        (("x-entitytoken", hers), server),
        (("x-entitytoken", hers), json!({ "Id": ann["Id"], "Type": "title" })),
    ] {
        refused(&get(by, &entity).await, 403, ("NotAuthorized", 1089));
    }
    world.shutdown().await;
}

/// A game server has a token of its own: its backfill tickets are its own, and players' it may look at. Shows
/// `GameServerIdentity/AuthenticateGameServerWithCustomId`.
#[tokio::test]
async fn game_servers_have_tickets_of_their_own() {
    let world = World::new().await;
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    let queue = json!({ "MatchmakingQueue": { "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 4 } });
    post(&world, "/Match/SetMatchmakingQueue", &title, &queue).await;
    let mut tokens = Vec::new();
    for id in ["one", "other"] {
        let path = "/GameServerIdentity/AuthenticateGameServerWithCustomId";
        let answer = post(&world, path, &title, &json!({ "CustomId": id })).await;
        let token = &answer.body["data"]["EntityToken"];
        assert_eq!(token["Entity"]["Type"], "game_server", "{}", answer.text);
        tokens.push(token["EntityToken"].as_str().unwrap().to_owned());
    }
    let [one, other] = [0, 1].map(|at| [("x-entitytoken", tokens[at].as_str())]);
    let game = json!({ "Members": [], "GiveUpAfterSeconds": 60, "QueueName": "q", "ServerDetails": { "Fqdn": "x.example" } });
    let made = post(&world, "/Match/CreateServerBackfillTicket", &one, &game).await;
    let mine = json!({ "TicketId": made.body["data"]["TicketId"], "QueueName": "q" });
    let get = "/Match/GetServerBackfillTicket";
    assert_eq!(post(&world, get, &one, &mine).await.body["data"]["Status"], "WaitingForMatch");
    refused(&post(&world, get, &other, &mine).await, 403, ("MatchmakingUnauthorized", 2056));
    assert_eq!(post(&world, get, &title, &mine).await.status, 200);
    refused(
        &post(&world, "/Match/ListMatchmakingQueues", &one, &json!({})).await,
        403,
        ("NotAuthorized", 1089),
    );
    world.shutdown().await;
}

/// A body that lacks something was told so a field at a time, with a call for each.
#[tokio::test]
async fn all_that_a_call_lacks_is_told_at_once() {
    let world = World::new().await;
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    for (call, needs) in [
        ("CreateMatchmakingTicket", &["Creator", "GiveUpAfterSeconds", "QueueName"][..]),
        ("CreateServerMatchmakingTicket", &["GiveUpAfterSeconds", "Members", "QueueName"]),
        ("JoinMatchmakingTicket", &["Member", "QueueName", "TicketId"]),
        ("GetMatchmakingTicket", &["QueueName", "TicketId"]),
        ("CancelMatchmakingTicket", &["QueueName", "TicketId"]),
        ("CancelAllMatchmakingTicketsForPlayer", &["Entity", "QueueName"]),
        ("ListMatchmakingTicketsForPlayer", &["Entity", "QueueName"]),
        ("GetMatch", &["MatchId", "QueueName"]),
        ("GetQueueStatistics", &["QueueName"]),
        ("CreateServerBackfillTicket", &["GiveUpAfterSeconds", "QueueName"]),
        ("GetServerBackfillTicket", &["QueueName", "TicketId"]),
        ("CancelServerBackfillTicket", &["QueueName", "TicketId"]),
        ("CancelAllServerBackfillTicketsForPlayer", &["Entity", "QueueName"]),
        ("ListServerBackfillTicketsForPlayer", &["Entity", "QueueName"]),
    ] {
        let answer = post(&world, &format!("/Match/{call}"), &title, &json!({})).await;
        refused(&answer, 400, ("InvalidParams", 1000));
        let told = answer.body["errorDetails"].as_object().unwrap();
        assert_eq!(told.keys().collect::<Vec<_>>(), needs, "{call}: {}", answer.text);
        assert!(told.values().all(|told| told[0].is_string()), "{call}: {}", answer.text);
    }
    world.shutdown().await;
}

/// A list is no object, though a reader would take its elements for the fields, in their order; and what is wrong is told by its place.
#[tokio::test]
async fn a_list_in_the_place_of_an_object_is_refused_by_its_place() {
    let world = World::new().await;
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    let queue = json!({ "MatchmakingQueue": { "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 4, "ServerAllocationEnabled": false } });
    assert_eq!(post(&world, "/Match/SetMatchmakingQueue", &title, &queue).await.status, 200);
    let known = json!({ "Entity": { "Id": "ann", "Type": "title_player_account" } });
    let asked = |members: Value, server: Value| json!({ "Members": members, "GiveUpAfterSeconds": 60, "QueueName": "q", "ServerDetails": server });
    let backfill = "/Match/CreateServerBackfillTicket";
    for (members, server, place) in [
        (json!([[["ann", "title_player_account"], [{ "Skill": 1 }]]]), Value::Null, "Members[0]"),
        (json!([{ "Entity": ["ann"] }]), Value::Null, "Members[0].Entity"),
        (json!([{ "Entity": { "Id": "ann" }, "Attributes": [5] }]), Value::Null, "Members[0].Attributes"),
        (json!([null]), Value::Null, "Members[0]"),
        (json!([known]), json!({ "Ports": [null] }), "ServerDetails.Ports[0]"),
        (json!([known]), json!({ "Ports": [["game", 7000]] }), "ServerDetails.Ports[0]"),
        (json!([known]), json!({ "Ports": [{ "Name": "game", "Num": 1e30 }] }), "ServerDetails.Ports[0].Num"),
        (json!([known]), json!({ "Ports": [{ "Name": "game", "Num": null }] }), "ServerDetails.Ports[0].Num"),
    ] {
        let answer = post(&world, backfill, &title, &asked(members, server)).await;
        refused(&answer, 400, ("InvalidParams", 1000));
        assert!(answer.body["errorDetails"][place][0].is_string(), "{place}: {}", answer.text);
    }
    for slip in ["Title_Player_Account", "CHARACTER"] {
        let member = json!({ "Entity": { "Id": "ann", "Type": slip } });
        let answer = post(&world, backfill, &title, &asked(json!([member]), Value::Null)).await;
        refused(&answer, 400, ("MatchmakingEntityInvalid", 2001));
    }
    let own = json!({ "Entity": { "Id": "ann", "Type": "hero" } });
    assert_eq!(post(&world, backfill, &title, &asked(json!([known, own]), Value::Null)).await.status, 200);
    world.shutdown().await;
}

/// Lua and PHP write an empty object as they do an empty list, and nothing as `null`: so their SDKs ask for the title's own token.
#[tokio::test]
async fn an_empty_object_may_be_written_as_an_empty_list() {
    let world = World::new().await;
    let secret = [("x-secretkey", TITLE_SECRET)];
    for body in ["{}", "[]", "null", ""] {
        let token =
            world.playfab("POST", "/Authentication/GetEntityToken", &[JSON, secret[0]], body.into()).await;
        assert_eq!(token.status, 200, "{body}: {}", token.text);
    }
    // As the one for PHP names the title; and the one for Lua, which reads a chunk of any size, but not of an answer whose length it knows.
    let login = json!({ "titleId": TITLE, "CustomId": "a" });
    let lua = ("x-playfabsdk", "LuaSdk-0.125");
    let known = post(&world, "/Client/LoginWithCustomID", &[], &login).await;
    assert_eq!((known.status, known.header("content-length").is_some()), (200, true), "{}", known.text);
    let unknown = post(&world, "/Client/LoginWithCustomID", &[lua], &login).await;
    let told = (unknown.status, unknown.header("content-length"), unknown.header("transfer-encoding"));
    assert_eq!(told, (200, None, Some("chunked")), "{}", unknown.text);
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    let queue = json!({ "MatchmakingQueue": { "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2, "ServerAllocationEnabled": false } });
    assert_eq!(post(&world, "/Match/SetMatchmakingQueue", &title, &queue).await.status, 200);
    for (id, attributes) in [("ann", json!([])), ("bea", json!({ "DataObject": [] }))] {
        let member =
            json!({ "Entity": { "Id": id, "Type": "title_player_account" }, "Attributes": attributes });
        let asked = json!({ "Members": [member], "GiveUpAfterSeconds": 60, "QueueName": "q" });
        let made = post(&world, "/Match/CreateServerMatchmakingTicket", &title, &asked).await;
        assert_eq!(made.status, 200, "{id}: {}", made.text);
    }
    world.shutdown().await;
}

/// Shows `InvalidJSONContent 1200`, `InvalidEntityType 1373` and `APIClientRequestRateLimitExceeded 1199`.
#[tokio::test]
async fn objects_that_are_none_are_refused_and_no_caller_asks_for_ever() {
    let world = World::new().await;
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    let set = "/Object/SetObjects";
    let of = |entity: Value, text: &str| json!({ "Entity": entity, "Objects": [{ "ObjectName": "profile", "EscapedDataObject": text }] });
    let player = json!({ "Id": "A1", "Type": "title_player_account" });
    let nobody = json!({ "Id": "", "Type": "title_player_account" });
    refused(&post(&world, set, &title, &of(player.clone(), "{")).await, 400, ("InvalidJSONContent", 1200));
    refused(&post(&world, set, &title, &of(nobody, "{}")).await, 400, ("InvalidEntityType", 1373));
    // Of several it is told which.
    let (small, large) = (json!({ "mu": 1 }), json!({ "mu": "x".repeat(1_000) }));
    let two = [("one", small), ("two", large)]
        .map(|(name, data)| json!({ "ObjectName": name, "DataObject": data }));
    let answer = post(&world, set, &title, &json!({ "Entity": player, "Objects": two })).await;
    refused(&answer, 400, ("InvalidParams", 1000));
    assert!(answer.text.contains("Objects[1].DataObject: object two has"), "{}", answer.text);
    let get = json!({ "Entity": player });
    for asked in 0.. {
        let answer = post(&world, "/Object/GetObjects", &title, &get).await;
        if answer.status != 200 {
            assert!(asked > 0, "the first is answered");
            refused(&answer, 429, ("APIClientRequestRateLimitExceeded", 1199));
            assert!(
                answer.body["retryAfterSeconds"].as_u64().is_some_and(|wait| wait > 0),
                "{}",
                answer.text
            );
            break;
        }
    }
    world.shutdown().await;
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut into = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    into.write_all(bytes).unwrap();
    into.finish().unwrap()
}

/// The SDK for Unity sends its bodies compressed, and says so.
#[tokio::test]
async fn compressed_bodies_are_read_up_to_the_limit_of_plain_ones() {
    let world = World::new().await;
    let send = async |encoding: &str, body: Vec<u8>| {
        let headers = [JSON, ("content-encoding", encoding)];
        world.playfab("POST", "/Client/LoginWithCustomID", &headers, body).await
    };
    let login = json!({ "TitleId": TITLE, "CustomId": "a" }).to_string().into_bytes();
    let plain =
        post(&world, "/Client/LoginWithCustomID", &[], &json!({ "TitleId": TITLE, "CustomId": "a" })).await;
    for encoding in ["gzip", "GZIP", "x-gzip"] {
        let answer = send(encoding, gzipped(&login)).await;
        assert_eq!(answer.body["data"]["PlayFabId"], plain.body["data"]["PlayFabId"], "{}", answer.text);
    }
    assert_eq!(send("identity", login.clone()).await.status, 200);
    let invalid = ("InvalidRequest", 1071);
    for encoding in ["br", "deflate", "gzip, gzip"] {
        refused(&send(encoding, gzipped(&login)).await, 415, invalid);
    }
    refused(&send("gzip", login.clone()).await, 400, invalid);
    let cut = gzipped(&login);
    refused(&send("gzip", cut[..cut.len() - 9].to_vec()).await, 400, invalid);
    // A few bytes that would become many, of one without a token.
    let many = gzipped(
        &json!({ "TitleId": TITLE, "CustomId": "a", "Rest": " ".repeat(10_000_000) })
            .to_string()
            .into_bytes(),
    );
    assert!(many.len() < 16_000, "{}", many.len());
    refused(&send("gzip", many).await, 413, invalid);
    world.shutdown().await;
}

/// A stock game server gets its token at every start by the title's secret: however many start in a day, and each anew.
#[tokio::test]
async fn the_title_gets_a_token_at_every_start_of_a_server() {
    let world = World::new().await;
    let path = "/Authentication/GetEntityToken";
    for start in 0..=501 {
        let answer = post(&world, path, &[("x-secretkey", TITLE_SECRET)], &json!({})).await;
        assert_eq!(answer.status, 200, "{start}: {}", answer.text);
    }
    // A player's are counted.
    let login = json!({ "TitleId": TITLE, "CustomId": "ann" });
    let mut last = None;
    for _ in 0..=500 {
        last = Some(post(&world, "/Client/LoginWithCustomID", &[], &login).await);
    }
    refused(&last.unwrap(), 429, ("APIClientRequestRateLimitExceeded", 1199));
    world.shutdown().await;
}

fn with_rule(rule: Value) -> Value {
    json!({ "MatchmakingQueue": { "Name": "q", "MinMatchSize": 2.0, "MaxMatchSize": 4, "DifferenceRules": [rule] } })
}

/// Issue 4, point 10: what can never work is refused by name, and what only looks different is taken.
#[tokio::test]
async fn what_can_never_work_is_refused_and_what_only_looks_different_is_taken() {
    let world = World::new().await;
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    let set = async |queue: &Value| post(&world, "/Match/SetMatchmakingQueue", &title, queue).await;
    let rule = |path: &str| {
        json!({
            "Name": "skill", "Difference": 5, "AttributeNotSpecifiedBehavior": "MatchAny", "Weight": 1,
            "Attribute": { "Path": path, "Source": "User" }, "SecondsUntilOptional": 30.0,
        })
    };
    let invalid = ("MatchmakingQueueConfigInvalid", 2031);
    for path in ["$", "skills[0]", "$['skill']", "$..skill", "skill.*", "skill.", "$.a[?(@.b)]"] {
        refused(&set(&with_rule(rule(path))).await, 400, invalid);
    }
    // Every fault at once: what its servers lack, what is not understood, and what does not work out.
    let mut wrong = with_rule(json!({ "Name": "skill", "Attribute": { "Path": "skill" } }));
    for (field, value) in [
        ("MaxMatchSize", json!(500)),
        ("ServerAllocationEnabled", json!(true)),
        ("BuildId", json!("unmapped")),
    ] {
        wrong["MatchmakingQueue"][field] = value;
    }
    let answer = set(&wrong).await;
    refused(&answer, 400, invalid);
    for part in ["BuildId: ", "rule skill: ", "maxMatchSize: "] {
        assert!(answer.text.contains(part), "{part} in {}", answer.text);
    }
    let mut both = rule("skill");
    both["LinearExpansion"] = json!({ "Delta": 1, "SecondsBetweenExpansions": 5 });
    assert_eq!(set(&with_rule(both.clone())).await.status, 200);
    both["CustomExpansion"] =
        json!({ "DifferenceOverrides": [{ "Value": 1 }], "SecondsBetweenExpansions": 5 });
    refused(&set(&with_rule(both)).await, 400, invalid);
    assert_eq!(set(&with_rule(rule("$.nest.skill"))).await.status, 200);

    let found = ("MatchmakingQueueNotFound", 2016);
    for call in ["GetMatchmakingQueue", "RemoveMatchmakingQueue"] {
        refused(&post(&world, &format!("/Match/{call}"), &title, &json!({})).await, 400, found);
    }
    // Numbers as Lua writes them; and attributes once, not twice.
    let player = |id: &str, attributes: Value| json!({ "Entity": { "Id": id, "Type": "title_player_account" }, "Attributes": attributes });
    let ticket =
        |member: Value| json!({ "Members": [member], "GiveUpAfterSeconds": 120.0, "QueueName": "q" });
    let create = "/Match/CreateServerMatchmakingTicket";
    let skilled = json!({ "DataObject": { "nest": { "skill": 5 } }, "EscapedDataObject": null });
    let made = post(&world, create, &title, &ticket(player("A", skilled))).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let far = json!({ "DataObject": { "nest": { "skill": 50 } } });
    assert_eq!(post(&world, create, &title, &ticket(player("B", far))).await.status, 200);
    let of = json!({ "TicketId": made.body["data"]["TicketId"], "QueueName": "q" });
    let stands = post(&world, "/Match/GetMatchmakingTicket", &title, &of).await;
    assert_eq!(stands.body["data"]["Status"], "WaitingForMatch", "the path is read: {}", stands.text);
    // Readers follow 128 levels, and it is told inside others.
    let nested = |levels| {
        let nest = (1..levels).fold(json!({ "skill": 5 }), |inner, _| json!([inner]));
        json!({ "DataObject": { "nest": { "skill": 500 }, "more": nest } })
    };
    assert_eq!(post(&world, create, &title, &ticket(player("D", nested(31)))).await.status, 200);
    let deep = post(&world, create, &title, &ticket(player("E", nested(32)))).await;
    refused(&deep, 400, ("MatchmakingPlayerAttributesInvalid", 2002));
    let twice = json!({ "DataObject": { "nest": {} }, "EscapedDataObject": "{}" });
    refused(
        &post(&world, create, &title, &ticket(player("C", twice))).await,
        400,
        ("MatchmakingPlayerAttributesInvalid", 2002),
    );
    let half = json!({ "Members": [], "GiveUpAfterSeconds": 1.5, "QueueName": "q" });
    refused(&post(&world, create, &title, &half).await, 400, ("InvalidParams", 1000));
    // A hundred of the largest as texts of JSON, whose every quote takes two bytes.
    let text = json!({ "t": "\"".repeat(4_000) }).to_string();
    let crowd: Vec<Value> =
        (0..100).map(|at| player(&format!("crowd{at}"), json!({ "EscapedDataObject": text }))).collect();
    let crowd = json!({ "Members": crowd, "GiveUpAfterSeconds": 60, "QueueName": "q" });
    assert!(crowd.to_string().len() > 1_500_000);
    refused(
        &post(&world, create, &title, &crowd).await,
        400,
        ("MatchmakingNumberOfPlayersInTicketTooLarge", 2044),
    );
    world.shutdown().await;
}

/// Reference 2.8: "a user is charged when a ticket with them in it is created": not where its queue refuses one.
#[tokio::test]
async fn a_ticket_that_is_refused_is_not_charged_for() {
    let world = World::new().await;
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    let queue = json!({ "MatchmakingQueue": { "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 4 } });
    assert_eq!(post(&world, "/Match/SetMatchmakingQueue", &title, &queue).await.status, 200);
    let member = json!({ "Entity": { "Id": "A", "Type": "title_player_account" } });
    for call in ["CreateServerMatchmakingTicket", "CreateServerBackfillTicket"] {
        // Named twice in one ticket a player is refused by the queue.
        let create = async |times: usize| {
            let members = vec![&member; times];
            let asked = json!({ "Members": members, "GiveUpAfterSeconds": 60, "QueueName": "q" });
            post(&world, &format!("/Match/{call}"), &title, &asked).await
        };
        for _ in 0..10 {
            refused(&create(2).await, 400, ("MatchmakingEntityInvalid", 2001));
        }
        assert_eq!(create(1).await.status, 200);
        // Refused all the same, and no longer for nothing.
        let limited = ("MatchmakingRateLimitExceeded", 2054);
        let mut tries = 0;
        let last = loop {
            let answer = create(2).await;
            if answer.body["errorCode"] == limited.1 {
                break answer;
            }
            tries += 1;
            assert!(tries < 200, "{}", answer.text);
        };
        refused(&last, 429, limited);
    }
    world.shutdown().await;
}

/// Nor is what comes to nothing because there is no room for it, on either face.
#[tokio::test]
async fn what_a_full_disk_refuses_is_not_charged_for() {
    let store = MemoryStore::new(Tenancy::Exclusive);
    let world = World::in_memory(&store).await;
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    let queue = json!({ "MatchmakingQueue": { "Name": "q", "MinMatchSize": 90, "MaxMatchSize": 90 } });
    assert_eq!(post(&world, "/Match/SetMatchmakingQueue", &title, &queue).await.status, 200);
    let by_playfab = async || {
        let member = json!({ "Entity": { "Id": "ann", "Type": "title_player_account" } });
        let asked = json!({ "Members": [member], "GiveUpAfterSeconds": 600, "QueueName": "q" });
        post(&world, "/Match/CreateServerMatchmakingTicket", &title, &asked).await
    };
    let native = async || {
        let asked = json!({ "players": [{ "player": "bea" }], "giveUpAfterSeconds": 600 });
        world.by_entity(&token, "POST", "/v1/queues/q/tickets", &asked).await
    };
    store.set_room(Room::Reserve { left_bytes: 12 << 20 });
    world.until_tickets_are(503).await;
    // More often than either may come to be in a ticket in a minute.
    for _ in 0..10 {
        for answer in [by_playfab().await, native().await] {
            answer.expect(503, "MS-J102");
        }
    }
    store.set_room(Room::Ample);
    world.until_tickets_are(201).await;
    let made = by_playfab().await;
    assert_eq!(made.status, 200, "{}", made.text);
    let made = native().await;
    assert_eq!(made.status, 201, "{}", made.text);
    world.shutdown().await;
}

/// Issue 4, point 2: "as options of the queue or the ticket: a *lease* […], the *number of places* wanted, […] and re-queueing players taken
/// out of the ticket instead of destroying it", for whoever has a PlayFab SDK alone.
#[tokio::test]
async fn our_options_of_backfill_are_reached_through_this_face_too() {
    let world = World::new().await;
    let token = title_token(&world).await;
    let title = [("x-entitytoken", token.as_str())];
    let queue = json!({ "MatchmakingQueue": { "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 8 } });
    assert_eq!(post(&world, "/Match/SetMatchmakingQueue", &title, &queue).await.status, 200);
    let key = |id: &str| json!({ "Id": id, "Type": "title_player_account" });
    let members = |ids: &[&str]| ids.iter().map(|id| json!({ "Entity": key(id) })).collect::<Vec<_>>();
    let call = async |call: &str, body: Value| {
        let answer = post(&world, &format!("/Match/{call}"), &title, &body).await;
        assert_eq!(answer.status, 200, "{call}: {}", answer.text);
        answer.body["data"].clone()
    };
    let backfill = async |ids: &[&str], option: &str, value: Value| {
        let mut asked = json!({ "Members": members(ids), "GiveUpAfterSeconds": 600, "QueueName": "q" });
        asked[option] = value;
        call("CreateServerBackfillTicket", asked).await["TicketId"].clone()
    };
    let stands = async |ticket: &Value| {
        call("GetServerBackfillTicket", json!({ "TicketId": ticket, "QueueName": "q" })).await
    };
    // Who is taken out: the ticket goes on without, or ends as PlayFab's does.
    let take_out = async |id: &str| {
        call("CancelAllServerBackfillTicketsForPlayer", json!({ "QueueName": "q", "Entity": key(id) })).await
    };
    let goes_on = backfill(&["a", "b"], "OnPlayerTakenOut", json!("GoOn")).await;
    take_out("a").await;
    let left = stands(&goes_on).await;
    assert_eq!(
        (&left["Status"], left["Members"].as_array().unwrap().len()),
        (&json!("WaitingForMatch"), 1),
        "{left}"
    );
    take_out("b").await;
    for option in [json!("Cancel"), Value::Null] {
        let ends = backfill(&["c", "d"], "OnPlayerTakenOut", option).await;
        take_out("c").await;
        let ended = stands(&ends).await;
        assert_eq!(
            (&ended["Status"], &ended["CancellationReasonString"]),
            (&json!("Canceled"), &json!("Server"))
        );
    }
    call("CancelServerBackfillTicket", json!({ "TicketId": goes_on, "QueueName": "q" })).await;
    // One place is none for two.
    let places = backfill(&["e"], "Places", json!(1)).await;
    let join = async |ids: &[&str]| {
        let asked = json!({ "Members": members(ids), "GiveUpAfterSeconds": 600, "QueueName": "q" });
        call("CreateServerMatchmakingTicket", asked).await["TicketId"].clone()
    };
    let two = join(&["f", "g"]).await;
    assert_eq!(stands(&places).await["Status"], "WaitingForMatch");
    call("CancelMatchmakingTicket", json!({ "TicketId": two, "QueueName": "q" })).await;
    join(&["h"]).await;
    let filled = stands(&places).await;
    let formed = call("GetMatch", json!({ "MatchId": filled["MatchId"], "QueueName": "q" })).await;
    assert_eq!(formed["Members"].as_array().unwrap().len(), 2, "{formed}");
    // Whose server does not look at it is withdrawn.
    let lease = backfill(&["i"], "LeaseSeconds", json!(1)).await;
    let path = format!("/v1/queues/q/tickets/{}", lease.as_str().unwrap());
    let ended = world.eventually(&path, |it| it["status"] == "Canceled").await;
    assert_eq!(ended["cancellationReason"], "Timeout", "{ended}");
    world.shutdown().await;
}

/// `/metrics` has these calls too, by their paths and as what became of them, whatever status their clients want to see.
#[tokio::test]
async fn these_calls_are_counted_in_the_metrics() {
    let world = World::new().await;
    title_token(&world).await;
    post(&world, "/Match/GetMatch", &[("x-reporterrorassuccess", "true")], &json!({})).await;
    post(&world, "/Match/Nothing", &[], &json!({})).await;
    let text = world.get("/metrics").await.text;
    for (route, code) in
        [("/Authentication/GetEntityToken", "2xx"), ("/Match/GetMatch", "4xx"), ("none", "4xx")]
    {
        let counted = text.lines().any(|line| {
            line.starts_with("mainstay_http_requests_total{")
                && line.contains(&format!("\"{route}\""))
                && line.contains(code)
        });
        assert!(
            counted,
            "{route} {code}: {}",
            text.lines().filter(|it| it.contains("http_requests")).collect::<Vec<_>>().join("\n")
        );
    }
    assert!(!text.contains("Nothing"), "no label that a caller chooses");
    world.shutdown().await;
}
