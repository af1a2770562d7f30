//! The scenarios of PlayFab's documentation through `SetMatchmakingQueue`; through `mainstay.yaml` go the same texts in
//! `adapters/config/tests/scenarios.rs`.

use std::time::Duration;

use mainstay_fleet::Growth;
use serde_json::{Value, json};

use crate::playfab::{post, title_token};
use crate::support::{World, declaration};

const SCENARIOS: &str = include_str!("../../../../adapters/config/tests/scenarios.txt");

/// What a client of that documentation sends.
fn scenarios() -> Vec<Value> {
    let body = |scenario: &str| {
        let (_, text) = scenario.split_once('\n').unwrap();
        let text = text.trim().replace("],\n}", "]\n}");
        let text = if text.starts_with('{') { text } else { format!("{{{text}}}") };
        serde_json::from_str(&text).unwrap()
    };
    SCENARIOS.split("\n## ").skip(1).map(body).collect()
}

/// A rule of a queue as it is shown, by its name.
fn rule<'a>(queue: &'a Value, name: &Value) -> &'a Value {
    let lists = queue.as_object().unwrap().iter().filter(|(field, _)| field.contains("Rule"));
    let mut rules =
        lists.flat_map(|(_, rules)| rules.as_array().map_or(std::slice::from_ref(rules), Vec::as_slice));
    rules.find(|rule| rule["Name"] == *name).unwrap_or_else(|| panic!("no rule {name} in {queue}"))
}

/// An expansion as the API writes it, of one as the documentation does.
fn as_the_api(expansion: &Value) -> Value {
    let fields = expansion.as_object().unwrap().iter().filter(|(field, _)| *field != "Type");
    let overrides = |list: &Vec<Value>| list.iter().map(|value| json!({ "Value": value })).collect();
    fields.map(|(field, value)| (field.clone(), value.as_array().map_or(value.clone(), overrides))).collect()
}

/// Issue 4, point 9: "PlayFab queue JSON of both shapes pasted as is […]; SetMatchmakingQueue and the file are two doors to the same
/// thing". Shows `the published scenarios`, the second of two doors: each is taken, and told again by `Match/GetMatchmakingQueue`.
#[tokio::test]
async fn every_scenario_of_the_documentation_is_set_by_a_call_and_told_again() {
    let world = World::new().await;
    world.plane.apply(declaration(Growth::MachinesMayJoin, Duration::from_secs(60))).await.unwrap();
    let token = title_token(&world).await;
    let by = [("x-entitytoken", token.as_str())];
    let get = async |name: &Value| {
        let answer = post(&world, "/Match/GetMatchmakingQueue", &by, &json!({ "QueueName": name })).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body["data"]["MatchmakingQueue"].clone()
    };
    for body in scenarios() {
        let answer = post(&world, "/Match/SetMatchmakingQueue", &by, &body).await;
        assert_eq!(answer.status, 200, "{body}: {}", answer.text);
        let sent = &body["MatchmakingQueue"];
        let shown = get(&sent["Name"]).await;
        for (field, value) in sent.as_object().unwrap() {
            // A build of a queue whose matches get no servers is nothing that it matches by.
            let counts = field != "BuildId" || sent["ServerAllocationEnabled"] == true;
            if field != "Rules" && counts {
                assert_eq!(&shown[field], value, "{field} of {shown}");
            }
        }
        for sent in sent["Rules"].as_array().unwrap() {
            let shown = rule(&shown, &sent["Name"]);
            for (field, value) in sent.as_object().unwrap() {
                match field.as_str() {
                    "Type" => {}
                    "Expansion" => {
                        let expansions = ["Expansion", "LinearExpansion", "CustomExpansion"];
                        let told = expansions.iter().find_map(|name| shown.get(name)).unwrap();
                        assert_eq!(*told, as_the_api(value), "{shown}");
                    }
                    _ => assert_eq!(&shown[field], value, "{field} of {shown}"),
                }
            }
        }
        // What is told can be set again, and is the same.
        let again =
            post(&world, "/Match/SetMatchmakingQueue", &by, &json!({ "MatchmakingQueue": shown })).await;
        assert_eq!(again.status, 200, "{}", again.text);
        assert_eq!(get(&sent["Name"]).await, shown);
    }
    let listed = post(&world, "/Match/ListMatchmakingQueues", &by, &json!({})).await;
    assert_eq!(listed.body["data"]["MatchMakingQueues"].as_array().map(Vec::len), Some(scenarios().len()));
    world.shutdown().await;
}
