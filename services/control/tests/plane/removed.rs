//! A queue that is removed: it takes no more tickets, and what ended in it is told for as long as of any other.

use std::time::Duration;

use mainstay_matchmaking::KEPT;
use serde_json::{Value, json};

use crate::playfab::{post, title_token};
use crate::support::{ADMIN, Answer, World, basic};

async fn call(world: &World, call: &str, body: &Value) -> Answer {
    let token = title_token(world).await;
    post(world, &format!("/Match/{call}"), &[("x-entitytoken", &token)], body).await
}

async fn create(world: &World, player: &str, lasts: u32) -> Answer {
    let member = json!({ "Entity": { "Id": player, "Type": "title_player_account" } });
    let asked = json!({ "Members": [member], "GiveUpAfterSeconds": lasts, "QueueName": "q" });
    call(world, "CreateServerMatchmakingTicket", &asked).await
}

#[track_caller]
fn refused(answer: &Answer, number: u32) {
    assert_eq!((answer.status, &answer.body["errorCode"]), (400, &json!(number)), "{}", answer.text);
}

/// What clients poll for, and what a look at each tells: two who were matched, their match, and one who waited.
struct Ended {
    matched: Value,
    formed: Value,
    waited: Value,
}

impl Ended {
    /// A match that was formed the moment before its queue was removed.
    async fn new(world: &World) -> Self {
        let queue = json!({ "MatchmakingQueue": { "Name": "q", "MinMatchSize": 2, "MaxMatchSize": 2 } });
        assert_eq!(call(world, "SetMatchmakingQueue", &queue).await.status, 200);
        let mut tickets = Vec::new();
        for player in ["ann", "bea", "cyd"] {
            let made = create(world, player, 600).await;
            tickets.push(json!({ "TicketId": made.body["data"]["TicketId"], "QueueName": "q" }));
        }
        let told = call(world, "GetMatchmakingTicket", &tickets[1]).await;
        let formed = json!({ "MatchId": told.body["data"]["MatchId"], "QueueName": "q" });
        assert_eq!(call(world, "RemoveMatchmakingQueue", &json!({ "QueueName": "q" })).await.status, 200);
        Self { formed, waited: tickets.remove(2), matched: tickets.remove(0) }
    }

    /// They are told as in any queue.
    async fn are_told(&self, world: &World) {
        let matched = call(world, "GetMatchmakingTicket", &self.matched).await;
        let told = &matched.body["data"];
        assert_eq!((&told["Status"], &told["MatchId"]), (&json!("Matched"), &self.formed["MatchId"]));
        let formed = call(world, "GetMatch", &self.formed).await;
        let members = formed.body["data"]["Members"].as_array();
        assert_eq!(members.map(Vec::len), Some(2), "{}", formed.text);
        let waited = call(world, "GetMatchmakingTicket", &self.waited).await;
        let told = &waited.body["data"];
        assert_eq!(
            (&told["Status"], &told["CancellationReasonString"]),
            (&json!("Canceled"), &json!("Server")),
            "{}",
            waited.text
        );
        // Who cancels what is over is answered as ever.
        refused(&call(world, "CancelMatchmakingTicket", &self.matched).await, 2029);
        assert_eq!(call(world, "CancelMatchmakingTicket", &self.waited).await.status, 200);
        // Over `/v1` alike.
        let (ticket, formed) = self.native();
        let told = world.get(&format!("{ticket}/events")).await;
        assert!(told.status == 200 && told.text.contains("Matched"), "{}", told.text);
        assert_eq!(world.get(&ticket).await.body["status"], "Matched");
        assert_eq!(world.get(&formed).await.body["players"].as_array().map(Vec::len), Some(2));
        assert_eq!(world.get(&format!("{formed}/waterfall")).await.status, 200);
        world.delete(&ticket).await.expect(409, "MS-M007");
        world.get(&format!("{ticket}/why")).await.expect(409, "MS-M010");
    }

    fn native(&self) -> (String, String) {
        let id = |of: &Value| of.as_str().unwrap().to_owned();
        (
            format!("/v1/queues/q/tickets/{}", id(&self.matched["TicketId"])),
            format!("/v1/queues/q/matches/{}", id(&self.formed["MatchId"])),
        )
    }
}

/// Nobody comes to be in a removed queue, and nobody configures it.
async fn takes_nobody(world: &World) {
    refused(&create(world, "dan", 600).await, 2016);
    let of = json!({ "QueueName": "q" });
    for none in ["GetMatchmakingQueue", "GetQueueStatistics", "RemoveMatchmakingQueue"] {
        refused(&call(world, none, &of).await, 2016);
    }
    let asked = json!({ "players": [{ "player": "dan" }], "giveUpAfterSeconds": 600 });
    world.post("/v1/queues/q/tickets", &asked).await.expect(404, "MS-M002");
    world.get("/v1/queues/q").await.expect(404, "MS-M002");
}

/// Record 0041: what ended is kept for five minutes, and "a removed queue cancels its tickets with `Server`": whoever polls is told so, and
/// who was matched the moment before comes to its match, also where the plane starts anew in between.
#[tokio::test]
async fn what_ended_in_a_removed_queue_is_told_for_as_long_as_of_any_other() {
    let world = World::new().await;
    let ended = Ended::new(&world).await;
    ended.are_told(&world).await;
    takes_nobody(&world).await;
    let unknown = json!({ "TicketId": mainstay_core::TicketId(uuid::Uuid::nil()), "QueueName": "q" });
    refused(&call(&world, "GetMatchmakingTicket", &unknown).await, 2018);

    let world = World::at(world.shutdown().await).await;
    ended.are_told(&world).await;
    takes_nobody(&world).await;

    // After that there is no such queue.
    world.goes_on(KEPT);
    let (ticket, formed) = ended.native();
    for (called, of) in [("GetMatchmakingTicket", &ended.matched), ("GetMatch", &ended.formed)] {
        refused(&call(&world, called, of).await, 2016);
    }
    for path in [ticket, formed] {
        world.get(&path).await.expect(404, "MS-M002");
    }
    world.shutdown().await;
}

/// One that is set again goes on from what it was.
#[tokio::test]
async fn a_queue_that_is_set_again_still_tells_what_ended_in_it() {
    let world = World::new().await;
    let ended = Ended::new(&world).await;
    let world = World::at(world.shutdown().await).await;
    let queue = json!({ "MinMatchSize": 2, "MaxMatchSize": 2 }).to_string().into_bytes();
    assert_eq!(world.call("PUT", "/v1/queues/q", Some(&basic(ADMIN)), queue).await.status, 200);
    ended.are_told(&world).await;
    let made = create(&world, "cyd", 1).await;
    let of = json!({ "TicketId": made.body["data"]["TicketId"], "QueueName": "q" });
    world.goes_on(Duration::from_secs(2));
    assert_eq!(call(&world, "GetMatchmakingTicket", &of).await.body["data"]["Status"], "Canceled");
    world.shutdown().await;
}
