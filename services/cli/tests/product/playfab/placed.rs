//! Stock SDKs whose matches get servers: PlayFab's own builds and aliases stand for a fleet here, and the ServerDetails that a client reads
//! are those of a process that answers.

use serde_json::{Value, json};

use super::scenario::{Title, as_title, log_in, of, text};
use super::sdk::Sdk;
use super::{node, python, title};
use crate::game::{Game, Idle, command};
use crate::product::{Home, Product, until};

const BUILD: &str = "29ba9d61-6bd0-4f2e-8c1e-0d1a2b3c4d5e";
const ALIAS: &str = "7c0d9f0a-51d2-4a5e-9a8e-52b1a7c1f0aa";

/// A queue with servers, as PlayFab's Game Manager shows one.
fn queue(name: &str, build: (&str, Value)) -> Value {
    let (key, build) = build;
    json!({ "MatchmakingQueue": {
        "Name": name, "MinMatchSize": 2, "MaxMatchSize": 2, "MaxTicketSize": 1, "ServerAllocationEnabled": true, key: build,
        "RegionSelectionRule": { "Name": "near", "Path": "Latencies", "MaxLatency": 100, "Weight": 1 },
    } })
}

/// A queue of this build: two players are matched by the SDK, and get a server whose process answers.
#[track_caller]
fn play(sdk: &mut Sdk, title: &Title, up: &Product<'_>, build: (&str, Value)) {
    let server = as_title(sdk, title);
    let name = format!("placed-{}", sdk.name);
    let (set, get) = ("SetMatchmakingQueue", "GetMatchmakingQueue");
    for unknown in [("BuildId", json!(title.id)), ("BuildAliasParams", json!({ "AliasId": title.id }))] {
        let refused = sdk.no(&server, set, queue(&name, unknown), ("MatchmakingQueueConfigInvalid", 2031));
        assert!(
            refused["errorDetails"]["MatchmakingQueue"][0].as_str().unwrap().contains(&title.id),
            "{refused}"
        );
    }
    sdk.ok(&server, set, queue(&name, build.clone()));
    let shown = sdk.ok(&server, get, json!({ "QueueName": name }))["MatchmakingQueue"].clone();
    assert_eq!(shown[build.0], build.1, "as it was pasted: {shown}");

    let tickets = ["ann", "ben"].map(|player| {
        let player = log_in(sdk, player);
        let near = json!({ "Latencies": [{ "region": "Home", "latency": 20 }] });
        let creator = json!({ "Entity": player.key, "Attributes": { "DataObject": near } });
        let asked = json!({ "Creator": creator, "GiveUpAfterSeconds": 300, "QueueName": name });
        (text(&sdk.ok(&player.who, "CreateMatchmakingTicket", asked)["TicketId"]), player)
    });
    for (ticket, player) in &tickets {
        until("the match has its server", || {
            let seen = up.json(&["ticket", "get", ticket, "--queue", &name]);
            assert_ne!(seen["status"], "Canceled", "{seen}");
            (seen["status"] == "Matched").then_some(())
        });
        let seen = sdk.ok(&player.who, "GetMatchmakingTicket", of(&name, ticket));
        let which = json!({ "QueueName": name, "MatchId": seen["MatchId"], "EscapeObject": false, "ReturnMemberAttributes": false });
        let formed = sdk.ok(&player.who, "GetMatch", which);
        assert_eq!(formed["RegionPreferences"], json!(["Home"]), "{formed}");
        let (id, details) = (&formed["MatchId"], &formed["ServerDetails"]);
        let hosted = up.servers().into_iter().find(|server| server["allocationId"] == *id).unwrap();
        assert_eq!(
            (&details["IPV4Address"], &details["Ports"][0]["Num"], &details["Region"]),
            (&json!("127.0.0.1"), &hosted["port"], &json!("Home")),
            "{formed}"
        );
        // The process itself, at the address that the client was told.
        command(u16::try_from(details["Ports"][0]["Num"].as_u64().unwrap()).unwrap(), "held");
    }
    // A match and its allocation have one id.
    let allocation = text(&up.json(&["ticket", "get", &tickets[0].0, "--queue", &name])["matchId"]);
    assert!(up.run(&["allocation", "delete", &allocation]).status.success());
}

/// Issue 4, point 6: "BuildId and AliasId of pasted queues resolve to a fleet and build configuration through config, else
/// QueueConfigInvalid. … or are matched with ServerDetails". Shows `BuildId` and `BuildAliasParams.AliasId`.
#[test]
fn stock_clients_get_the_details_of_a_server_that_plays() {
    let game = Game::new(Idle::Running, "");
    let mapped = format!(
        "playfab:\n  builds:\n    {BUILD}: {{ fleet: here, buildConfiguration: plain }}\n    \
         {ALIAS}: {{ fleet: here, buildConfiguration: plain }}\n"
    );
    let file = std::fs::read_to_string(game.file()).unwrap();
    std::fs::write(game.file(), file + &mapped).unwrap();
    let home = Home::new();
    let up = home.up(&[game.file()]);
    let mut sdk = node(&home.path().join("tls/ca.pem"), &up);
    play(&mut sdk, &title(&up), &up, ("BuildId", json!(BUILD)));
    let mut sdk = python(&up);
    play(&mut sdk, &title(&up), &up, ("BuildAliasParams", json!({ "AliasId": ALIAS })));
}
