//! Who may ask what: Basic, tokens, scopes.

use std::time::Duration;

use mainstay_fleet::Growth;
use serde_json::{Value, json};

use crate::support::{
    ADMIN, ALLOCATOR, Answer, ENVIRONMENT, OPERATOR, PROJECT, VIEWER, World, allocation, allocations, basic,
    declaration, id, request,
};

fn exchange() -> String {
    format!("/auth/v1/token-exchange?projectId={PROJECT}&environmentId={ENVIRONMENT}")
}

async fn world() -> World {
    let world = World::new().await;
    world.plane.apply(declaration(Growth::MachinesMayJoin, Duration::from_secs(600))).await.unwrap();
    world
}

async fn token(world: &World, body: &Value) -> String {
    let answer =
        world.call("POST", &exchange(), Some(&basic(ADMIN)), serde_json::to_vec(body).unwrap()).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    format!("Bearer {}", answer.body["accessToken"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_credentials_are_401_in_the_faces_shape() {
    let world = world().await;
    let refused = |authorization: Option<String>| {
        let world = &world;
        async move { world.call("GET", &allocations(), authorization.as_deref(), vec![]).await }
    };
    for (authorization, code) in [
        (None, "MS-A001"),
        (Some("Basic".to_owned()), "MS-A001"),
        (Some("Basic !!!".to_owned()), "MS-A001"),
        (Some("Digest abc".to_owned()), "MS-A001"),
        (Some(basic(("admin", "wrong"))), "MS-A002"),
        (Some(basic(("nobody", "admin-secret"))), "MS-A002"),
        (Some(basic(("admin", ""))), "MS-A002"),
        (Some("Bearer x.y.z".to_owned()), "MS-A002"),
    ] {
        let shown = format!("{authorization:?}");
        let answer: Answer = refused(authorization).await;
        answer.expect(401, code);
        assert_eq!(answer.body["status"], 401, "{shown}");
        assert_eq!(answer.body["title"], "Unauthorized");
        assert!(answer.body["detail"].is_string() && answer.body["requestId"].is_string(), "{}", answer.text);
        assert!(answer.header("www-authenticate").is_some());
    }
    let native = world.call("GET", "/v1/fleets", None, vec![]).await;
    native.expect(401, "MS-A001");
    assert_eq!(native.header("content-type"), Some("application/problem+json"));
    assert_eq!(native.body["code"], "MS-A001");
}

/// Shows `POST /auth/v1/token-exchange`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_of_the_exchange_opens_the_allocation_api() {
    let world = world().await;
    let token = token(&world, &json!({ "scopes": [] })).await;
    let unknown = world.call("GET", &allocation(uuid::Uuid::nil()), Some(&token), vec![]).await;
    unknown.expect(404, "MS-P009");
    let body = serde_json::to_vec(&request(id(1), world.configuration().await)).unwrap();
    assert_eq!(world.call("POST", &allocations(), Some(&token), body).await.status, 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unitys_own_sample_shows_its_keys_in_the_body() {
    let world = world().await;
    let body = json!({ "apiKeyPublicIdentifier": ALLOCATOR.0, "secret": ALLOCATOR.1, "scopes": [] });
    let answer = world.call("POST", &exchange(), None, serde_json::to_vec(&body).unwrap()).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let wrong = json!({ "apiKeyPublicIdentifier": ALLOCATOR.0, "secret": "x" });
    let answer = world.call("POST", &exchange(), None, serde_json::to_vec(&wrong).unwrap()).await;
    answer.expect(401, "MS-A002");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_exchange_takes_no_body_and_refuses_other_projects() {
    let world = world().await;
    let admin = basic(ADMIN);
    assert_eq!(world.call("POST", &exchange(), Some(&admin), vec![]).await.status, 201);
    let project_alone = format!("/auth/v1/token-exchange?projectId={PROJECT}");
    assert_eq!(world.call("POST", &project_alone, Some(&admin), vec![]).await.status, 201);
    let other = format!("/auth/v1/token-exchange?projectId={ENVIRONMENT}");
    world.call("POST", &other, Some(&admin), vec![]).await.expect(404, "MS-U104");
    world.call("POST", &exchange(), Some(&admin), b"[".to_vec()).await.expect(400, "MS-U101");
    world
        .call("POST", "/auth/v1/token-exchange?projectId=x", Some(&admin), vec![])
        .await
        .expect(400, "MS-U101");
}

/// Shows `names of scopes`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scopes_are_honoured_call_by_call() {
    let world = world().await;
    let scopes = ["create", "get", "list", "delete"].map(|name| format!("multiplay.allocations.{name}"));
    let body = serde_json::to_vec(&request(id(1), world.configuration().await)).unwrap();
    for granted in &scopes {
        let token = token(&world, &json!({ "scopes": [granted] })).await;
        let calls = [
            ("POST", allocations(), body.clone()),
            ("GET", allocation(id(1)), vec![]),
            ("GET", allocations(), vec![]),
            ("DELETE", allocation(id(1)), vec![]),
        ];
        for (needed, (method, path, body)) in scopes.iter().zip(calls) {
            let answer = world.call(method, &path, Some(&token), body).await;
            if needed == granted {
                assert!(answer.status < 300, "{granted}: {} {}", answer.status, answer.text);
            } else {
                answer.expect(403, "MS-A003");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocator_does_not_operate_servers() {
    let world = world().await;
    let stop = serde_json::to_vec(&json!({ "action": "stop" })).unwrap();
    let answer = world.call("POST", "/v1/servers/srv-1-1/actions", Some(&basic(ALLOCATOR)), stop).await;
    answer.expect(403, "MS-A003");
    assert_eq!(world.call("GET", &allocations(), Some(&basic(ALLOCATOR)), vec![]).await.status, 200);
}

/// What a role may not do is refused whatever the state says; what it may is judged by the state.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_role_may_what_it_may() {
    let world = world().await;
    let allocate = serde_json::to_vec(&request(id(1), world.configuration().await)).unwrap();
    let stop = serde_json::to_vec(&json!({ "action": "stop" })).unwrap();
    let calls = [
        ("GET", "/v1/status".to_owned(), vec![]),
        ("GET", allocations(), vec![]),
        ("POST", allocations(), allocate),
        ("DELETE", allocation(id(1)), vec![]),
        ("POST", "/v1/servers/srv-1-1/actions".to_owned(), stop),
        ("GET", "/v1/join-tokens".to_owned(), vec![]),
        ("POST", "/v1/join-tokens".to_owned(), b"{}".to_vec()),
        ("POST", "/v1/machines/mch-1-1/revoke".to_owned(), vec![]),
    ];
    let may = |role, allowed: [bool; 8]| (role, allowed);
    for (role, allowed) in [
        may(ADMIN, [true; 8]),
        may(OPERATOR, [true, true, true, true, true, false, false, false]),
        may(ALLOCATOR, [true, true, true, true, false, false, false, false]),
        may(VIEWER, [true, true, false, false, false, false, false, false]),
    ] {
        for ((method, path, body), allowed) in calls.iter().zip(allowed) {
            let answer = world.call(method, path, Some(&basic(role)), body.clone()).await;
            assert_eq!(answer.status != 403, allowed, "{} {method} {path}: {}", role.0, answer.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_outlive_a_restart_and_fall_with_a_changed_byte() {
    let first = world().await;
    let token = token(&first, &json!({})).await;
    let world = World::at(first.shutdown().await).await;
    assert_eq!(world.call("GET", &allocations(), Some(&token), vec![]).await.status, 200);
    let mut forged = token.clone().into_bytes();
    let place = token.rfind('.').unwrap() + 3;
    forged[place] = if forged[place] == b'A' { b'B' } else { b'A' };
    let forged = String::from_utf8(forged).unwrap();
    world.call("GET", &allocations(), Some(&forged), vec![]).await.expect(401, "MS-A002");
}

/// Service accounts: made with a role, shown once, listed without their secrets, and out at once when they are revoked, with
/// the tokens bought with them; all of it durable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_accounts_are_made_listed_and_revoked() {
    let world = World::new().await;
    let accounts = "/v1/service-accounts";
    let made = world.post(accounts, &serde_json::json!({ "role": "viewer" })).await;
    assert_eq!((made.status, &made.body["role"]), (201, &serde_json::json!("viewer")), "{}", made.text);
    let text = |field: &str| made.body[field].as_str().unwrap().to_owned();
    let (key, secret) = (text("keyId"), text("secretKey"));
    let own = basic((&key, &secret));
    assert_eq!(world.call("GET", "/v1/status", Some(&own), vec![]).await.status, 200);
    world.call("POST", accounts, Some(&own), b"{\"role\":\"admin\"}".to_vec()).await.expect(403, "MS-A003");
    world
        .call("POST", accounts, Some(&basic(crate::support::OPERATOR)), b"{\"role\":\"admin\"}".to_vec())
        .await
        .expect(403, "MS-A003");
    let listed = world.get(accounts).await;
    assert!(listed.text.contains(&key) && !listed.text.contains(&secret), "{}", listed.text);
    assert!(!listed.text.contains("secretKey"), "{}", listed.text);
    let bought = world.call("POST", "/auth/v1/token-exchange", Some(&own), vec![]).await;
    let bearer = format!("Bearer {}", bought.body["accessToken"].as_str().unwrap());
    assert_eq!(world.call("GET", "/v1/status", Some(&bearer), vec![]).await.status, 200);

    let world = World::at(world.shutdown().await).await;
    assert_eq!(world.call("GET", "/v1/status", Some(&own), vec![]).await.status, 200, "durable");
    assert_eq!(world.delete(&format!("{accounts}/{key}")).await.status, 204);
    world.call("GET", "/v1/status", Some(&own), vec![]).await.expect(401, "MS-A002");
    world.call("GET", "/v1/status", Some(&bearer), vec![]).await.expect(401, "MS-A002");
    world.delete(&format!("{accounts}/{key}")).await.expect(404, "MS-P024");
    world.delete(&format!("{accounts}/{}", crate::support::ADMIN.0)).await.expect(409, "MS-A011");
    world.post(accounts, &serde_json::json!({ "role": "king" })).await.expect(400, "MS-U101");
    let world = World::at(world.shutdown().await).await;
    world.call("GET", "/v1/status", Some(&own), vec![]).await.expect(401, "MS-A002");
}
