//! `/v1/configuration`: YAML in, all of it or every reason at once.

use mainstay_config::limits::FILE_BYTES_MAX;
use serde_json::json;

use crate::admin::gateway;
use crate::support::{ADMIN, ALLOCATOR, Answer, World, basic};

const ARENA: &str = "
version: 1.0
builds:
  arena: { executableName: server, buildPath: /srv/arena }
buildConfigurations:
  ranked: { build: arena, queryType: none, binaryPath: server, commandLine: -port $$port$$, variables: {}, readiness: false }
fleets:
  europe:
    buildConfigurations: [ranked]
    regions: { Europe: { minAvailable: 0, maxServers: 10 } }
";

impl World {
    async fn put(&self, path: &str, who: (&str, &str), body: &str) -> Answer {
        self.call("PUT", path, Some(&basic(who)), body.as_bytes().to_vec()).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn put_configuration_declares_everything_and_says_whose_change_it_was() {
    let world = World::new().await;
    let taken = world.put("/v1/configuration", ADMIN, ARENA).await;
    assert_eq!(taken.status, 200, "{}", taken.text);
    assert_eq!((&taken.body["revision"], &taken.body["changedBy"]), (&json!(1), &json!(ADMIN.0)));
    assert_eq!(
        taken.body["warnings"][0]["code"], "MS-C027",
        "the build is not on this machine: {}",
        taken.text
    );
    let fleet = world.get("/v1/fleets/europe").await;
    assert_eq!(fleet.body["regions"][0]["name"], "Europe", "{}", fleet.text);
    let again = world.put("/v1/configuration", ADMIN, ARENA).await;
    assert_eq!(again.body["revision"], 1, "the same again is no change");
    let changed = ARENA.replace("maxServers: 10", "maxServers: 20");
    assert_eq!(world.put("/v1/configuration", ADMIN, &changed).await.body["revision"], 2);
    assert_eq!(world.get("/v1/fleets/europe").await.body["regions"][0]["maxServers"], 20);
    let read = world.get("/v1/configuration").await.body;
    assert_eq!((&read["revision"], read.get("warnings")), (&json!(2), None));
    // Durable: the next control plane has it.
    let world = World::at(world.shutdown().await).await;
    assert_eq!(world.get("/v1/configuration").await.body["revision"], 2);
    assert_eq!(world.get("/v1/fleets/europe").await.body["regions"][0]["maxServers"], 20);
}

/// Issue 4, point 6: "BuildId and AliasId of pasted queues resolve to a fleet and build configuration through config". For calls they do by what `up`
/// was started with, and who applies a file is told so; what a queue of it shows can be set again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn put_configuration_says_that_builds_count_for_calls_from_the_next_start() {
    let world = World::new().await;
    let mapped = format!(
        r#"{ARENA}
playfab: {{ builds: {{ "29ba": {{ fleet: europe, buildConfiguration: ranked }} }} }}
queues: [{{ "Name": "pasted", "MinMatchSize": 2, "MaxMatchSize": 2, "ServerAllocationEnabled": true, "BuildId": "29ba" }}]
"#
    );
    let taken = world.put("/v1/configuration", ADMIN, &mapped).await;
    assert_eq!(taken.status, 200, "{}", taken.text);
    let warnings = taken.body["warnings"].as_array().unwrap();
    let later = warnings.iter().find(|it| it["code"] == "MS-C034").expect("it says what waits for a start");
    assert!(later["what"].as_str().unwrap().contains("29ba"), "{later}");
    assert_eq!(later["places"][0]["line"], 12, "{later}");
    assert_eq!(taken.body["queues"], json!(["pasted"]));
    let shown = world.get("/v1/queues/pasted").await.body["configuration"].clone();
    assert_eq!(shown["BuildId"], "29ba", "{shown}");
    let again = world.put("/v1/queues/pasted", ADMIN, &shown.to_string()).await;
    assert_eq!(again.status, 200, "{}", again.text);
    let mut other = shown;
    other["Name"] = json!("other");
    let refused = world.put("/v1/queues/other", ADMIN, &other.to_string()).await;
    refused.expect(400, "MS-M001");
    assert!(refused.text.contains("start it again"), "{}", refused.text);
    world.shutdown().await;
}

/// Issue 4, point 10: "refused at the door where the specification allows, named by code, never silently unmatchable". By a file and by calls: whose
/// fleet would no longer have what a queue gets its servers of is told which queues do; a file that sets them to another is taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_keeps_what_queues_get_their_servers_of() {
    let world = World::new().await;
    let two = ARENA.replace("fleets:", "  casual: { build: arena, queryType: none, binaryPath: server, commandLine: '', variables: {}, readiness: false }\nfleets:");
    let both = two.replace("[ranked]", "[ranked, casual]");
    let queue = |of: &str| {
        format!(
            "queues:\n  - {{ name: placed, minMatchSize: 2, maxMatchSize: 2, allocate: {{ fleet: europe, buildConfiguration: {of} }} }}\n"
        )
    };
    let taken = world.put("/v1/configuration", ADMIN, &format!("{both}{}", queue("ranked"))).await;
    assert_eq!(taken.status, 200, "{}", taken.text);
    let by_call = json!({ "Name": "called", "MinMatchSize": 2, "MaxMatchSize": 2, "ServerAllocationEnabled": true, "BuildId": "europe/ranked" });
    assert_eq!(world.put_json("/v1/queues/called", &by_call).await.status, 200);

    let dropped = two.replace("[ranked]", "[casual]");
    for path in ["/v1/configuration", "/v1/configuration?dryRun=true"] {
        let refused = world.put(path, ADMIN, &dropped).await;
        refused.expect(409, "MS-M027");
        let named: Vec<_> =
            refused.body["problems"].as_array().unwrap().iter().map(|it| &it["place"]).collect();
        assert_eq!(named, ["queues.called", "queues.placed"], "{}", refused.text);
    }
    // The one that the file sets to another is in nobody's way; the other is.
    let moved = format!("{dropped}{}", queue("casual"));
    let refused = world.put("/v1/configuration", ADMIN, &moved).await;
    refused.expect(409, "MS-M027");
    assert_eq!(refused.body["problems"].as_array().map(Vec::len), Some(1), "{}", refused.text);
    assert_eq!(refused.body["problems"][0]["place"], "queues.called", "{}", refused.text);

    let fleets = world.get(&gateway("fleets", "/fleets")).await.body;
    let fleet = gateway("fleets", &format!("/fleets/{}", fleets[0]["id"].as_str().expect("it has an id")));
    let has = world.get(&fleet).await.body["buildConfigurations"].clone();
    let ids: Vec<_> =
        has.as_array().unwrap().iter().map(|it| (it["name"].clone(), it["id"].clone())).collect();
    let casual = &ids.iter().find(|(name, _)| *name == "casual").unwrap().1;
    let told = [
        world.put_json(&fleet, &json!({ "name": "europe", "buildConfigurations": [casual] })).await,
        world.delete(&fleet).await,
    ];
    for refused in told {
        refused.expect(409, "MS-M027");
        let conflicts: Vec<_> =
            refused.body["conflicts"].as_array().unwrap().iter().map(|it| &it["resourceId"]).collect();
        assert_eq!(conflicts, ["called", "placed"], "{}", refused.text);
        assert_eq!(refused.body["conflicts"][0]["resourceType"], "QUEUE", "{}", refused.text);
    }
    // Nothing of it was taken.
    assert_eq!(world.get(&fleet).await.body["buildConfigurations"], has);

    assert_eq!(world.delete("/v1/queues/called").await.status, 204);
    let taken = world.put("/v1/configuration", ADMIN, &moved).await;
    assert_eq!(taken.status, 200, "{}", taken.text);
    assert_eq!(world.get("/v1/queues/placed").await.body["configuration"]["BuildId"], "europe/casual");
    world.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn put_configuration_tells_all_errors_at_once_and_takes_nothing() {
    let world = World::new().await;
    let wrong = ARENA.replace("maxServers: 10", "maxServers: x").replace("build: arena", "build: arenna");
    let refused = world.put("/v1/configuration?name=/tmp/mainstay.yaml", ADMIN, &wrong).await;
    refused.expect(400, "MS-U111");
    let problems = refused.body["problems"].as_array().unwrap();
    let codes: Vec<&str> = problems.iter().map(|it| it["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"MS-C010") && codes.contains(&"MS-C015"), "{codes:?}");
    assert_eq!(problems[0]["places"][0]["file"], "/tmp/mainstay.yaml");
    assert_eq!(world.get("/v1/configuration").await.body["revision"], 0);
    assert_eq!(world.get("/v1/fleets").await.body["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn put_configuration_dry_run_looks_and_if_match_refuses_what_was_made_for_an_older_revision() {
    let world = World::new().await;
    let looked = world.put("/v1/configuration?dryRun=true", ADMIN, ARENA).await;
    assert_eq!((looked.status, &looked.body["revision"]), (200, &json!(0)), "{}", looked.text);
    assert_eq!(world.put("/v1/configuration", ADMIN, ARENA).await.body["revision"], 1);
    let request = hyper::Request::builder().header("if-match", "\"0\"");
    let late = world.request(request, "PUT", "/v1/configuration", ARENA.into()).await;
    late.expect(412, "MS-P023");
    let request = hyper::Request::builder().header("if-match", "\"0\"");
    let looked = world.request(request, "PUT", "/v1/configuration?dryRun=true", ARENA.into()).await;
    looked.expect(412, "MS-P023");
    let request = hyper::Request::builder().header("if-match", "newest");
    world.request(request, "PUT", "/v1/configuration", ARENA.into()).await.expect(400, "MS-U101");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn put_configuration_is_the_administrators_and_bounded() {
    let world = World::new().await;
    world.put("/v1/configuration", ALLOCATOR, ARENA).await.expect(403, "MS-A003");
    world.call("PUT", "/v1/configuration", None, ARENA.into()).await.expect(401, "MS-A001");
    assert_eq!(world.call("GET", "/v1/configuration", Some(&basic(ALLOCATOR)), vec![]).await.status, 200);
    let long = format!("{ARENA}# {}", "x".repeat(1 << 20));
    let refused = world.put("/v1/configuration", ADMIN, &long).await;
    refused.expect(413, "MS-U102");
    let told = refused.body["detail"].as_str().unwrap();
    assert_eq!(told, format!("the body has {} bytes, and at most {FILE_BYTES_MAX} are read", long.len()));
}
