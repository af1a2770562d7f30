//! What operators and their programs look at: metrics, health, and the description of the API.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::agent::Habit;
use crate::support::{World, id};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_tell_how_servers_stand_and_how_long_allocations_took() {
    let (world, _agent) = World::with_agent(3, Habit::Obeys).await;
    world.allocate(id(1)).await;
    world.eventually(&crate::support::allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    world.tell();
    let metrics = world.get("/metrics").await;
    assert_eq!(
        metrics.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    let has = |line: &str| {
        assert!(metrics.text.lines().any(|it| it.starts_with(line)), "{line} in\n{}", metrics.text)
    };
    has("mainstay_servers{fleet=\"arena\",region=\"local\",state=\"allocated\"} 1");
    has("mainstay_servers{fleet=\"arena\",region=\"local\",state=\"available\"} 2");
    has("mainstay_slots{region=\"local\",state=\"free\"} 2");
    has("mainstay_machines{region=\"local\",state=\"ready\"} 1");
    has("mainstay_fleet_max_servers{fleet=\"arena\",region=\"local\"} 100");
    has("mainstay_fleet_free_servers{fleet=\"arena\",region=\"local\"} 2");
    has("mainstay_allocation_seconds_count{fleet=\"arena\",result=\"fulfilled\"} 1");
    has("mainstay_build_info{version=");
    has("mainstay_http_requests_total{route=\"/v1/allocations/projects/");
    has("process_resident_memory_bytes ");
    assert!(metrics.text.ends_with("# EOF\n"));
    // No label is an id: they would grow without end.
    assert!(!metrics.text.contains(&id(1).to_string()) && !metrics.text.contains("srv-"), "{}", metrics.text);
    world.call("GET", "/metrics", None, vec![]).await.expect(401, "MS-A001");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_to_made_up_paths_are_one_label() {
    let world = World::new().await;
    for n in 0..20 {
        world.get(&format!("/made/up/{n}")).await.expect(404, "MS-U103");
    }
    let metrics = world.get("/metrics").await.text;
    assert!(!metrics.contains("made/up"), "{metrics}");
    assert!(metrics.contains("route=\"none\",method=\"GET\",code=\"4xx\"} 20"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openapi_describes_every_native_route_and_everything_it_names() {
    let world = World::new().await;
    let openapi = world.call("GET", "/v1/openapi.json", None, vec![]).await;
    assert_eq!(openapi.status, 200);
    let document = openapi.body;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    let paths = document["paths"].as_object().unwrap();
    assert_eq!(document["servers"][0]["url"], "/");
    let mut operations = BTreeSet::new();
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(operations.insert(id.to_owned()), "two operations are called {id}");
            assert!(!operation["responses"].as_object().unwrap().is_empty(), "{method} {path}");
            let named: BTreeSet<&str> = operation["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|it| it["in"] == "path")
                .map(|it| it["name"].as_str().unwrap())
                .collect();
            let written: BTreeSet<&str> = path.split(['{', '}']).skip(1).step_by(2).collect();
            assert_eq!(named, written, "{method} {path}");
        }
        // What is described is there, and nothing else is: a call without credentials is told so, or answered where none are
        // needed. The paths themselves are compared with the router's in http/mod.rs.
        for method in ["get", "head", "post", "put", "patch", "delete"] {
            let is_described =
                methods.get(method).is_some() || method == "head" && methods.get("get").is_some();
            let called = path.replace(['{', '}'], "");
            let answer = world.call(&method.to_uppercase(), &called, None, b"{}".to_vec()).await;
            let is_served = [200, 401, 403].contains(&answer.status);
            assert_eq!(is_served, is_described, "{method} {path}: {} {}", answer.status, answer.text);
            assert!(is_served || answer.status == 405, "{method} {path}: {} {}", answer.status, answer.text);
        }
    }
    let mut references = BTreeSet::new();
    collect(&document, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let pointer = reference.trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{reference} is named and not there");
    }
}

fn collect(value: &Value, references: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                references.insert(reference.clone());
            }
            fields.values().for_each(|value| collect(value, references));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, references)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
