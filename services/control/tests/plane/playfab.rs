//! The PlayFab face as bytes: what every answer is wrapped in, whoever refused, and who may log in where. What the calls do, the stock
//! SDKs show (`services/cli/tests/product/playfab`).

use mainstay_control::Logins;
use serde_json::{Value, json};

use crate::support::{Answer, TITLE, TITLE_SECRET, World};

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
    for body in ["{", "[]", "5", "{} {}", "{\"CustomId\":5}", "{\"CustomId\":\"\u{1}\"}", &"[".repeat(10_000)]
    {
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
    refused(&post(&world, login, &[], &large).await, 413, ("InvalidRequest", 1071));

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
        404,
        ("MatchmakingQueueNotFound", 2016),
    );
    let large = json!({ "QueueName": "x".repeat(1_100_000) });
    refused(&post(&world, "/Match/GetQueueStatistics", &title, &large).await, 413, ("InvalidRequest", 1071));
    world.shutdown().await;
}

/// "X-ReportErrorAsSuccess: true: HTTP status must be 200 while the body code keeps the real status"; pages of other sites ask before
/// they send; a title may have a prefix; SDKs add a query.
#[tokio::test]
async fn headers_prefixes_and_queries_are_as_the_sdks_send_them() {
    let world = World::new().await;
    let answer = post(&world, "/Match/GetMatch", &[("x-reporterrorassuccess", "true")], &json!({})).await;
    assert_eq!((answer.status, &answer.body["code"]), (200, &json!(401)), "{}", answer.text);
    let asked = [
        ("origin", "https://game.example"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "content-type,x-entitytoken,x-playfabsdk"),
    ];
    let answer = world.playfab("OPTIONS", "/Match/GetMatch", &asked, vec![]).await;
    assert_eq!((answer.status, &*answer.text), (204, ""));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let allowed = answer.header("access-control-allow-headers").unwrap();
    for name in ["content-type", "x-playfabsdk", "x-entitytoken", "x-authorization", "x-secretkey"] {
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
