//! What takes long to reach: the last queue there may be, and the end of a token.

use std::time::Duration;

use mainstay_journal::memory::{MemoryStore, Tenancy};
use serde_json::{Value, json};

use crate::playfab::{post, title_token};
use crate::support::{Answer, TITLE, World};

/// As many queues as there may be.
const QUEUES_MAX: usize = 1_000;

async fn call(world: &World, token: &str, call: &str, body: Value) -> Answer {
    post(world, &format!("/Match/{call}"), &[("x-entitytoken", token)], &body).await
}

async fn set(world: &World, token: &str, name: &str) -> Answer {
    let queue = json!({ "Name": name, "MinMatchSize": 2, "MaxMatchSize": 2 });
    call(world, token, "SetMatchmakingQueue", json!({ "MatchmakingQueue": queue })).await
}

/// Shows `MatchmakingQueueLimitExceeded 2057`: of queues there are a thousand, and whoever removes one can have another. A queue that is
/// set again is as it was stored.
#[tokio::test]
async fn there_are_a_thousand_queues_and_a_removed_one_has_its_place_for_another() {
    let store = MemoryStore::new(Tenancy::Exclusive);
    let world = World::in_memory(&store).await;
    let token = title_token(&world).await;
    for n in 0..QUEUES_MAX {
        let made = set(&world, &token, &format!("q{n}")).await;
        assert_eq!(made.status, 200, "{n}: {}", made.text);
    }
    let refused = |answer: &Answer| {
        assert_eq!(
            (answer.status, answer.header("mainstay-code")),
            (400, Some("MS-M005")),
            "{}",
            answer.text
        );
        let told = (&answer.body["error"], &answer.body["errorCode"]);
        assert_eq!(told, (&json!("MatchmakingQueueLimitExceeded"), &json!(2057)));
    };
    refused(&set(&world, &token, "more").await);
    // One that is there is changed as ever.
    assert_eq!(set(&world, &token, "q7").await.status, 200);
    // One in which somebody waits is removed, and its ticket with it.
    let waits = json!({ "Members": [{ "Entity": { "Id": "ann", "Type": "title_player_account" } }],
        "GiveUpAfterSeconds": 600, "QueueName": "q7" });
    let made = call(&world, &token, "CreateServerMatchmakingTicket", waits).await;
    let ticket = json!({ "QueueName": "q7", "TicketId": made.body["data"]["TicketId"] });
    assert_eq!(
        call(&world, &token, "RemoveMatchmakingQueue", json!({ "QueueName": "q7" })).await.status,
        200
    );
    assert_eq!(set(&world, &token, "more").await.status, 200);
    refused(&set(&world, &token, "even-more").await);
    refused(&set(&world, &token, "q7").await);
    // Its place is had again in its turn, and the journal has what became of its ticket.
    assert_eq!(
        call(&world, &token, "RemoveMatchmakingQueue", json!({ "QueueName": "more" })).await.status,
        200
    );
    assert_eq!(set(&world, &token, "q7").await.status, 200);
    let told = call(&world, &token, "GetMatchmakingTicket", ticket).await.body["data"].clone();
    assert_eq!(
        (&told["Status"], &told["CancellationReasonString"]),
        (&json!("Canceled"), &json!("Server")),
        "{told}"
    );
    let all = call(&world, &token, "ListMatchmakingQueues", json!({})).await;
    assert_eq!(all.body["data"]["MatchMakingQueues"].as_array().map(Vec::len), Some(QUEUES_MAX));
    world.shutdown().await;
}

/// Shows `EntityTokenExpired 1336`, of every kind of token, on either face; and who logs in again goes on as the same player.
#[tokio::test]
async fn a_token_ends_after_a_day() {
    let world = World::new().await;
    let title = title_token(&world).await;
    let log_in = async || {
        let login = json!({ "TitleId": TITLE, "CustomId": "ann" });
        post(&world, "/Client/LoginWithCustomID", &[], &login).await.body["data"]["EntityToken"].clone()
    };
    let ann = log_in().await;
    let text = |told: &Value| told["EntityToken"].as_str().unwrap().to_owned();
    assert_eq!(set(&world, &title, "q").await.status, 200);
    let statistics =
        async |token: &str| call(&world, token, "GetQueueStatistics", json!({ "QueueName": "q" })).await;
    world.goes_on(Duration::from_secs(24 * 3600 - 60));
    assert_eq!(statistics(&title).await.status, 200);
    world.goes_on(Duration::from_secs(61));
    for token in [&title, &text(&ann)] {
        let over = statistics(token).await;
        assert_eq!((over.status, over.header("mainstay-code")), (401, Some("MS-A002")), "{}", over.text);
        let told = (&over.body["error"], &over.body["errorCode"]);
        assert_eq!(told, (&json!("EntityTokenExpired"), &json!(1336)));
        world
            .by_entity(token, "GET", "/v1/queues/q/tickets?player=x", &Value::Null)
            .await
            .expect(401, "MS-A002");
    }
    let again = log_in().await;
    assert_eq!(again["Entity"], ann["Entity"]);
    let own = format!("/v1/queues/q/tickets?player={}", again["Entity"]["Id"].as_str().unwrap());
    assert_eq!(world.by_entity(&text(&again), "GET", &own, &Value::Null).await.status, 200);
    world.shutdown().await;
}
