//! Why tickets end without a match, as PlayFab's calls tell it: each word of its pages on error cases, in one table.

use std::collections::BTreeSet;
use std::time::Duration;

use mainstay_core::TicketId;
use mainstay_journal::sqlite::SqliteJournal;
use mainstay_journal::stored::Stored as _;
use mainstay_journal::{Head, Journal as _, OpenError, Reader as _, TurnRecord};
use mainstay_matchmaking::{Attributes, Cancellation, Entity, Event, Member, Queue};
use serde_json::{Value, json};

use crate::playfab::{post, title_token};
use crate::support::{TITLE, World, declaration};

const PLAYER: &str = "MatchmakingTicket";
const GAME: &str = "ServerBackfillTicket";

/// Who asks, and of whom.
struct Title<'a> {
    world: &'a World,
    token: String,
}

impl Title<'_> {
    async fn call(&self, call: &str, body: &Value) -> Value {
        let by = [("x-entitytoken", self.token.as_str())];
        let answer = post(self.world, &format!("/Match/{call}"), &by, body).await;
        assert_eq!(answer.status, 200, "{call}: {}", answer.text);
        answer.body["data"].clone()
    }

    /// A queue: its name, and what differs from one that lets anybody in.
    async fn set(&self, name: &str, more: Value) {
        let mut queue = json!({ "Name": name, "MinMatchSize": 2, "MaxMatchSize": 4 });
        for (key, value) in more.as_object().unwrap() {
            queue[key] = value.clone();
        }
        self.call("SetMatchmakingQueue", &json!({ "MatchmakingQueue": queue })).await;
    }

    /// A ticket of either kind, of new players, with these attributes.
    async fn ticket(
        &self,
        kind: &str,
        queue: &str,
        players: &[&str],
        attributes: Value,
        seconds: u32,
    ) -> Value {
        let member = |id: &&str| {
            json!({ "Entity": { "Id": id, "Type": "title_player_account" },
                "Attributes": { "DataObject": attributes } })
        };
        let members: Vec<Value> = players.iter().map(member).collect();
        let body = json!({ "Members": members, "GiveUpAfterSeconds": seconds, "QueueName": queue });
        let call =
            if kind == PLAYER { "CreateServerMatchmakingTicket" } else { "CreateServerBackfillTicket" };
        self.call(call, &body).await["TicketId"].clone()
    }

    async fn cancel(&self, kind: &str, queue: &str, ticket: &Value) {
        self.call(&format!("Cancel{kind}"), &json!({ "TicketId": ticket, "QueueName": queue })).await;
    }

    /// Why it ended, once it has.
    async fn reason(&self, kind: &str, queue: &str, ticket: &Value) -> String {
        let path = format!("/v1/queues/{queue}/tickets/{}", ticket.as_str().unwrap());
        self.world.eventually(&path, |it| it["ended"].is_string()).await;
        let told = self.call(&format!("Get{kind}"), &json!({ "TicketId": ticket, "QueueName": queue })).await;
        assert_eq!(told["Status"], "Canceled", "{told}");
        // The deprecated enum has three words alone, and old SDKs fail at others.
        assert!(told["CancellationReason"].is_null() && told["MatchId"].is_null(), "{told}");
        told["CancellationReasonString"].as_str().unwrap().to_owned()
    }
}

/// Reference 2.6, but for `Internal`, which stands below. Shows `reason User`, `reason Server`, `reason Timeout`, `reason ServerAllocationFailed`, `reason TicketUnmatchable` and
/// `reason RetryRequired`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_reason_is_told_by_its_published_word() {
    let world = World::new().await;
    let fleet = declaration(mainstay_fleet::Growth::MachinesMayJoin, Duration::from_secs(60));
    world.plane.apply(fleet).await.unwrap();
    let title = Title { world: &world, token: title_token(&world).await };
    let maps = json!([{ "Name": "maps", "Attribute": { "Path": "maps", "Source": "User" }, "Weight": 1,
        "AttributeNotSpecifiedBehavior": "MatchAny", "MinIntersectionSize": 2 }]);
    title.set("open", json!({ "MinMatchSize": 4, "SetIntersectionRules": maps })).await;
    title.set("narrows", json!({ "MinMatchSize": 4 })).await;
    // A fleet without a machine: there is no server to be had.
    title.set("placed", json!({ "ServerAllocationEnabled": true, "BuildId": "arena/ranked" })).await;

    let login = json!({ "TitleId": TITLE, "CustomId": "ann" });
    let ann =
        post(&world, "/Client/LoginWithCustomID", &[], &login).await.body["data"]["EntityToken"].clone();
    let by_ann = [("x-entitytoken", ann["EntityToken"].as_str().unwrap())];
    let asked =
        json!({ "Creator": { "Entity": ann["Entity"] }, "GiveUpAfterSeconds": 600, "QueueName": "open" });
    let user = post(&world, "/Match/CreateMatchmakingTicket", &by_ann, &asked).await;
    let user = user.body["data"]["TicketId"].clone();
    let cancel = json!({ "TicketId": user, "QueueName": "open" });
    assert_eq!(post(&world, "/Match/CancelMatchmakingTicket", &by_ann, &cancel).await.status, 200);

    let nothing = || json!({});
    let server = title.ticket(PLAYER, "open", &["b1"], nothing(), 600).await;
    title.cancel(PLAYER, "open", &server).await;
    let game = title.ticket(GAME, "open", &["b2"], nothing(), 600).await;
    title.cancel(GAME, "open", &game).await;
    let late = title.ticket(PLAYER, "open", &["c1"], nothing(), 1).await;
    let late_game = title.ticket(GAME, "open", &["c2"], nothing(), 1).await;
    let picky = title.ticket(PLAYER, "open", &["d1"], json!({ "maps": ["a"] }), 600).await;
    let group = title.ticket(PLAYER, "narrows", &["e1", "e2", "e3"], nothing(), 600).await;
    let crowd = title.ticket(GAME, "narrows", &["f1", "f2", "f3"], nothing(), 600).await;
    title.set("narrows", json!({ "MaxMatchSize": 2 })).await;
    title.ticket(PLAYER, "placed", &["g2"], nothing(), 600).await;
    let placed = title.ticket(PLAYER, "placed", &["g1"], nothing(), 5).await;

    let mut seen = BTreeSet::new();
    for (kind, queue, ticket, word) in [
        (PLAYER, "open", user, "User"),
        (PLAYER, "open", server, "Server"),
        (GAME, "open", game, "Server"),
        (PLAYER, "open", late, "Timeout"),
        (GAME, "open", late_game, "Timeout"),
        (PLAYER, "open", picky, "TicketUnmatchable"),
        (PLAYER, "narrows", group, "RetryRequired"),
        (GAME, "narrows", crowd, "RetryRequired"),
        (PLAYER, "placed", placed, "ServerAllocationFailed"),
    ] {
        assert_eq!(title.reason(kind, queue, &ticket).await, word, "{kind} in {queue}");
        seen.insert(word);
    }
    let published: BTreeSet<&str> = Cancellation::ALL.into_iter().map(Cancellation::as_str).collect();
    assert_eq!(published.difference(&seen).copied().collect::<Vec<_>>(), [Cancellation::Internal.as_str()]);
    world.shutdown().await;
}

/// Shows `reason Internal`: of a ticket that an earlier version took in and that its queue's rules cannot read. No call leads there, so the
/// journal is given one, as that version left it: a text where the rule reads a number.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_that_the_rules_cannot_read_ends_with_the_word_for_a_fault_of_ours() {
    let world = World::new().await;
    let title = Title { world: &world, token: title_token(&world).await };
    let skill = json!([{ "Name": "skill", "Attribute": { "Path": "skill", "Source": "User" }, "Difference": 1, "Weight": 1,
        "AttributeNotSpecifiedBehavior": "MatchAny" }]);
    title.set("old", json!({ "DifferenceRules": skill })).await;
    let reads = title.ticket(PLAYER, "old", &["ann"], json!({ "skill": 40 }), 600).await;
    let dir = world.shutdown().await;

    let mut journal = loop {
        // What compacted it may still be letting go.
        match SqliteJournal::open(&dir.path().join("journal")) {
            Err(OpenError::InUse { .. }) => tokio::task::yield_now().await,
            opened => break opened.unwrap(),
        }
    };
    let heads = journal.reader().unwrap().heads().unwrap();
    let of_a_queue = |head: &Head| head.shard.as_str().starts_with("queue/");
    let shard = heads.into_iter().find(of_a_queue).unwrap().shard;
    let head = journal.lead(&shard).unwrap().head;
    let (ticket, bea) = (TicketId(uuid::Uuid::from_u128(7)), Entity::new(Entity::PLAYER, "bea").unwrap());
    let attributes = Attributes {
        raw: Some(r#"{"skill":"40"}"#.into()),
        values: [Some(mainstay_matchmaking::Value::Text("40".into()))].into(),
    };
    let taken = Event::TicketCreated {
        ticket,
        creator: bea.clone(),
        members: [Member { entity: bea, attributes }].into(),
        invited: [].into(),
        give_up_after: 600,
    };
    let mut bytes = Vec::new();
    Queue::store(&[taken], &mut bytes);
    let (first, epoch, at) = (head.next, head.epoch, head.last_at);
    journal.append(&[TurnRecord { shard, first, count: 1, epoch, at, bytes }]).unwrap();
    drop(journal);

    let world = World::at(dir).await;
    let title = Title { world: &world, token: title_token(&world).await };
    assert_eq!(title.reason(PLAYER, "old", &json!(ticket.to_string())).await, "Internal");
    let told = title.call("GetMatchmakingTicket", &json!({ "TicketId": reads, "QueueName": "old" })).await;
    assert_eq!(told["Status"], "WaitingForMatch", "{told}");
    world.shutdown().await;
}
