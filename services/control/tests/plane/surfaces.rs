//! What an operator changes and reads beyond the plain lists: a server's build configuration, forced versions, how long
//! allocations live, the statuses of machines, regions and fleets; and what is refused at the door.

use std::time::Duration;

use mainstay_fleet::{Growth, Provided};
use serde_json::{Value, json};

use crate::admin::{client, gateway, link};
use crate::agent::Habit;
use crate::support::{FLEET, REGION, World, allocation, declaration, id, request};

/// The fleet `arena` with both build configurations; the id of the second.
async fn with_casual(world: &World) -> (u64, u64) {
    let (build, casual) = world.made().await;
    let ranked = world.configuration().await;
    let both = json!({ "name": "arena", "buildConfigurations": [ranked, casual] });
    let changed = world.put_json(&gateway("fleets", &format!("/fleets/{FLEET}")), &both).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    (build, casual)
}

/// Issue 3, point 3: "Changing a server's active build configuration (an admin action, or an edit applied by an operator)
/// restarts an unallocated, unreserved server at once, ending a hold, to ONLINE; an allocated one changes at its next
/// allocation, never under a running session."
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_servers_build_configuration_is_changed_by_the_native_and_the_admin_action() {
    let (world, agent) = World::with_agent(2, Habit::Obeys).await;
    let (_, casual) = with_casual(&world).await;
    let server = |n: usize| format!("/v1/servers/{}", agent.servers[n].number());

    let taken = world
        .post(
            &format!("{}/actions", server(0)),
            &json!({ "action": "configure", "buildConfiguration": "casual" }),
        )
        .await;
    assert_eq!((taken.status, &taken.body["deferred"]), (202, &json!(false)), "{}", taken.text);
    let seen = world.eventually(&server(0), |it| it["status"] == "ONLINE").await;
    assert_eq!(
        (&seen["buildConfigurationName"], &seen["cause"]),
        (&json!("casual"), &json!("configurationChanged"))
    );

    let made = world.allocate(id(1)).await;
    assert_eq!(made.status, 202, "{}", made.text);
    let placed = world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    let playing = placed["serverId"].as_u64().unwrap();
    let before = world.get(&format!("/v1/servers/{playing}")).await.body;
    let actions = client("servers", &format!("/servers/{playing}/actions"));
    let done = world.post(&actions, &json!({ "action": "CONFIGURE", "buildConfigurationID": casual })).await;
    assert_eq!((done.status, &done.body["success"]), (200, &json!(true)), "{}", done.text);
    let after = world.get(&format!("/v1/servers/{playing}")).await.body;
    assert_eq!(after["orderedGeneration"], before["orderedGeneration"], "never under a running session");
    assert_eq!(after["buildConfigurationName"], "ranked");

    world.post(&actions, &json!({ "action": "CONFIGURE" })).await.expect(400, "MS-U101");
    let nameless = json!({ "action": "configure" });
    world.post(&format!("{}/actions", server(0)), &nameless).await.expect(400, "MS-U101");
    let unknown = json!({ "action": "configure", "buildConfiguration": "other" });
    world.post(&format!("{}/actions", server(0)), &unknown).await.expect(400, "MS-P003");
}

/// Reference 3.10, "forceRollout": a forced version comes under sessions too, and ends them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forced_version_ends_the_sessions_it_comes_under() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let (build, casual) = with_casual(&world).await;
    let made = world.post(&crate::support::allocations(), &request(id(1), casual)).await;
    assert_eq!(made.status, 202, "{}", made.text);
    world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    let files = gateway("builds", &format!("/builds/{build}/files"));
    let versions = gateway("builds", &format!("/builds/{build}/versions"));
    let upload = async |bytes: &[u8]| {
        let named = world.put_json(&files, &json!({ "path": "server" })).await;
        assert_eq!(world.call("PUT", &link(&named.body), None, bytes.to_vec()).await.status, 200);
    };
    upload(b"#!/bin/sh\n").await;
    assert_eq!(world.post(&versions, &json!({})).await.status, 202);
    let playing = world.get(&allocation(id(1))).await.body;
    assert!(playing.get("ended").is_none(), "a version that is not forced waits: {playing}");
    // The same files again, but now they are forced: the version is the same, and it comes.
    let forced = world.post(&versions, &json!({ "forceRollout": true })).await;
    assert_eq!(forced.status, 202, "{}", forced.text);
    let ended = world.eventually(&allocation(id(1)), |it| it.get("ended").is_some()).await;
    assert_eq!(ended["endReason"], "a build version was forced onto its server", "{ended}");
}

/// Reference 3.4: `allocationTTL` is in seconds and an hour by default; both readings of it can be set, and it is what the
/// fleet goes by.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleets_allocation_ttl_and_type_are_read_and_written() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let ranked = world.configuration().await;
    let path = gateway("fleets", &format!("/fleets/{FLEET}"));
    let shown = |body: &Value| (body["allocationTTL"].clone(), body["allocationTTLReading"].clone());
    let read = world.get(&path).await.body;
    assert_eq!((shown(&read), &read["allocationType"]), ((json!(3600), json!("idle")), &json!("ALLOCATION")));
    let put = async |ttl: Value| {
        let mut body = json!({ "name": "arena", "buildConfigurations": [ranked] });
        body.as_object_mut().unwrap().extend(ttl.as_object().unwrap().clone());
        world.put_json(&path, &body).await
    };
    let age = put(json!({ "allocationTTL": 2, "allocationTTLReading": "age" })).await;
    assert_eq!(shown(&age.body), (json!(2), json!("age")), "{}", age.text);
    assert_eq!(shown(&put(json!({})).await.body), (json!(2), json!("age")), "what is left out stays");
    world.allocate(id(1)).await;
    let ended = world.eventually(&allocation(id(1)), |it| it.get("ended").is_some()).await;
    assert!(ended["endReason"].as_str().unwrap().contains("2 s ago"), "{ended}");
    let never = put(json!({ "allocationTTL": 0 })).await;
    assert_eq!(shown(&never.body), (Value::Null, Value::Null), "{}", never.text);
    let refused = put(json!({ "allocationTTL": 99_999_999 })).await;
    refused.expect(400, "MS-U101");
    assert_eq!(refused.body["details"][0]["field"], "allocationTTL");
    let made = json!({
        "name": "hall", "buildConfigurations": [ranked], "allocationType": "RESERVATION",
        "regions": [{ "regionID": REGION, "minAvailableServers": 0, "maxServers": 1 }],
    });
    let made = world.post(&gateway("fleets", "/fleets"), &made).await;
    assert_eq!((made.status, &made.body["allocationType"]), (200, &json!("RESERVATION")), "{}", made.text);
    assert_eq!(shown(&made.body), (json!(3600), json!("idle")));
}

/// Shows `machine statuses` as far as a machine of the studio's own has them, in both faces. What is asked for by a word
/// that is none is told all the words.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_are_online_until_they_are_lost_or_emptied_and_lists_are_narrowed_by_real_statuses() {
    let (world, agent) = World::with_agent(1, Habit::Obeys).await;
    let machine = agent.machine.number();
    let native = format!("/v1/machines/{machine}");
    let online = gateway("machines", "/machines?status=online");
    assert_eq!(world.get(&online).await.body[0]["id"], json!(machine));
    assert_eq!(world.get(&native).await.body["state"], "ONLINE");
    agent.vanish();
    let gone = world.eventually(&native, |it| it["status"] == "silent").await;
    // It may be slow: Multiplay's word for one that serves is ONLINE, and the native face says besides that it is silent.
    assert_eq!(gone["state"], "ONLINE");
    assert_eq!(world.get(&online).await.body[0]["id"], json!(machine));
    // An attacker's finding: a server whose agent had left was told as one whose agent had never come.
    let server = world.get("/v1/servers").await.body["items"][0].clone();
    assert_eq!(
        (&server["process"], &server["status"]),
        (&json!("unknown"), &json!("UNREACHABLE")),
        "{server}"
    );
    assert!(server["detail"].as_str().unwrap().contains("agent is not heard"), "{server}");
    assert_eq!(world.get(&client("machines", "/machines?status=SHUTDOWN")).await.body, json!([]));
    let refused = world.get(&gateway("machines", "/machines?status=OFFLINE")).await;
    refused.expect(400, "MS-U101");
    assert!(
        refused.text.contains("AWAITING_SETUP") && refused.text.contains("SHUTTING_DOWN"),
        "{}",
        refused.text
    );
    // Multiplay's face has six statuses, and ours one more.
    for (path, known) in [
        (gateway("servers", "/servers?status=FOO"), "ALLOCATED, RESERVED, AVAILABLE, ONLINE, READY or HELD;"),
        (gateway("servers", "/servers?status=UNREACHABLE"), "READY or HELD;"),
        (
            "/v1/servers?status=FOO".to_owned(),
            "ALLOCATED, RESERVED, AVAILABLE, ONLINE, READY, HELD or UNREACHABLE",
        ),
    ] {
        let refused = world.get(&path).await;
        refused.expect(400, "MS-U101");
        assert!(refused.text.contains(known), "{}", refused.text);
    }
    assert_eq!(world.get("/v1/servers?status=available").await.body["items"], json!([]));
    let unreachable = world.get("/v1/servers?status=unreachable").await.body;
    assert_eq!(unreachable["items"][0]["status"], "UNREACHABLE");
    let item = world.get(&gateway("servers", "/servers?status=online")).await.body[0].clone();
    assert_eq!(item["status"], "ONLINE", "Multiplay has no word for it, and AVAILABLE it is not: {item}");
}

/// Reference 3.4: "status ONLINE|DRAINING|OFFLINE", "Fleet status = highest status among its regions"; DRAINING: "no new
/// allocations, existing play out". Shows `status of a fleet`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_takes_no_allocations_drains_until_nobody_plays() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    world.allocate(id(1)).await;
    world.eventually(&allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    let fleet = gateway("fleets", &format!("/fleets/{FLEET}"));
    let region = format!("{fleet}/regions/{REGION}");
    let close = json!({ "scalingEnabled": false, "minAvailableServers": 0, "maxServers": 100 });
    let closed = world.put_json(&region, &close).await;
    assert_eq!((closed.status, &closed.body["status"]), (200, &json!("DRAINING")), "{}", closed.text);
    assert_eq!(world.get(&fleet).await.body["status"], "DRAINING");
    let native = world.get("/v1/fleets/arena").await.body;
    assert_eq!(
        (&native["status"], &native["regions"][0]["status"]),
        (&json!("DRAINING"), &json!("DRAINING"))
    );
    world.allocate(id(2)).await.expect(409, "MS-P004");
    assert_eq!(world.delete(&allocation(id(1))).await.status, 204);
    let shown = world.get(&fleet).await.body;
    assert_eq!(
        (&shown["status"], &shown["fleetRegions"][0]["status"]),
        (&json!("OFFLINE"), &json!("OFFLINE"))
    );
    assert_eq!(world.get(&gateway("fleets", "/fleets")).await.body[0]["status"], "OFFLINE");
    let open = json!({ "scalingEnabled": true, "minAvailableServers": 0, "maxServers": 100 });
    assert_eq!(world.put_json(&region, &open).await.body["status"], "ONLINE");
}

/// A client that forgets to make ids sends the nil one: its second session would be answered with its first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_nil_uuid_is_no_allocation_id() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let nil = uuid::Uuid::nil();
    let refused = world.allocate(nil).await;
    refused.expect(400, "MS-U101");
    assert!(refused.text.contains("nil UUID"), "{}", refused.text);
    world.post("/v1/allocations", &json!({ "allocationId": nil })).await.expect(400, "MS-U101");
    world.get(&allocation(nil)).await.expect(404, "MS-P009");
}

/// A provider that fails is named with what it said, and a machine that is only asked for is none that fell silent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_names_a_provider_that_fails() {
    let world = World::new().await;
    // None that this control plane was started with.
    let growth = Growth::Provided(Provided {
        slots: 1,
        machines_max: 1,
        create_timeout: Duration::from_secs(600),
        retry: Duration::from_secs(1),
    });
    world.plane.apply(declaration(growth, Duration::from_secs(600))).await.unwrap();
    world.allocate(id(1)).await;
    let of = |body: &Value, check: &str| {
        body["checks"].as_array().unwrap().iter().find(|it| it["check"] == check).cloned().unwrap_or_default()
    };
    let found =
        world.eventually("/v1/doctor", |it| of(it, "providers of fleet arena")["status"] == "warn").await;
    let provider = of(&found, "providers of fleet arena");
    assert_eq!(provider["code"], concat!("MS-", "S632"), "{provider}");
    let why = provider["why"].as_str().unwrap();
    assert!(why.contains("mch-1-1") && why.contains(concat!("MS-", "S634")), "{why}");
    assert_eq!(of(&found, "machines of fleet arena")["status"], "ok", "{found}");
}

/// `GET /v1/doctor` runs every law of what lives; operators may, and nobody below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_looks_at_what_lives() {
    let (world, _agent) = World::with_agent(3, Habit::Obeys).await;
    world.allocate(id(1)).await;
    world.tell();
    let found = world.get("/v1/doctor").await;
    assert_eq!((found.status, &found.body["status"]), (200, &json!("ok")), "{}", found.text);
    let checks: Vec<&str> =
        found.body["checks"].as_array().unwrap().iter().map(|it| it["check"].as_str().unwrap()).collect();
    let expected = [
        "live indices of fleet arena",
        "holds of fleet arena",
        "machines of fleet arena",
        "disks of machines",
        "builds",
        "configuration",
        "clocks of machines",
        "history",
    ];
    assert_eq!(checks, expected);
    let operator = crate::support::basic(crate::support::OPERATOR);
    assert_eq!(world.call("GET", "/v1/doctor", Some(&operator), vec![]).await.status, 200);
    let viewer = crate::support::basic(crate::support::VIEWER);
    world.call("GET", "/v1/doctor", Some(&viewer), vec![]).await.expect(403, "MS-A003");
}

/// Issue 3, point 10: "Regions have a name and aliases, compared without case": wherever a region is named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_is_known_by_its_name_and_its_aliases() {
    use std::time::Duration;

    let world = World::new().await;
    let mut declared =
        crate::support::declaration(mainstay_fleet::Growth::MachinesMayJoin, Duration::from_secs(60));
    declared.fleets[0].regions[0].aliases = vec!["Home".into(), "LAN".into()];
    world.plane.apply(declared).await.unwrap();
    // An agent joins it by an alias.
    let joining = mainstay_wire::agent::JoiningMachine {
        region: "lan".to_owned(),
        ..crate::agent::joining(1, "arena", 1)
    };
    let _agent =
        crate::agent::PaperAgent::connect(world.plane.agents(), crate::support::TOKEN, joining, Habit::Obeys)
            .await;
    // A caller allocates in it by another.
    let asked = json!({ "allocationId": id(1), "fleet": "arena", "region": "HOME" });
    let made = world.post("/v1/allocations", &asked).await;
    assert_eq!((made.status, &made.body["regionId"]), (202, &json!(REGION)), "{}", made.text);
    let unknown = json!({ "allocationId": id(2), "fleet": "arena", "region": "away" });
    world.post("/v1/allocations", &unknown).await.expect(400, "MS-P002");
    // A new fleet is in the same region by one.
    let ranked = world.configuration().await;
    let hall = json!({
        "name": "hall", "buildConfigurations": [ranked],
        "regions": [{ "regionName": "hOmE", "minAvailableServers": 0, "maxServers": 1 }],
    });
    let made = world.post(&gateway("fleets", "/fleets"), &hall).await;
    let region = &made.body["fleetRegions"][0];
    assert_eq!(
        (&region["regionID"], &region["regionName"]),
        (&json!(REGION), &json!("local")),
        "{}",
        made.text
    );
    // All of it outlives a restart.
    let world = World::at(world.shutdown().await).await;
    let shown = world.get("/v1/fleets/arena").await.body;
    assert_eq!(shown["regions"][0]["aliases"], json!(["Home", "LAN"]), "{shown}");
}

/// Reference 3.4: `deleteTTL`, `shutdownTTL` and `disabledDeleteTTL` in seconds, of a fleet and its regions, and `usageSettings`
/// by Unity's rules; what a call leaves out stays, and what a fleet goes by is what it says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleets_machine_ttls_and_usage_settings_are_read_and_written() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let ranked = world.configuration().await;
    let path = gateway("fleets", &format!("/fleets/{FLEET}"));
    let times = |it: &Value| {
        ["shutdownTTL", "deleteTTL", "disabledDeleteTTL"].map(|field| it[field].as_u64().expect(field))
    };
    let put = async |more: Value| {
        let mut body = json!({ "name": "arena", "buildConfigurations": [ranked] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        world.put_json(&path, &body).await
    };
    let read = world.get(&path).await.body;
    assert_eq!((times(&read), &read["usageSettings"]), ([0, 0, 0], &json!([])), "{read}");
    let metal = json!({ "hardwareType": "METAL", "speed": 1000, "memory": 512, "maxServersPerMachine": 4 });
    let asked = json!({
        "shutdownTTL": 60, "deleteTTL": 120, "disabledDeleteTTL": 30, "usageSettings": [metal],
    });
    let set = put(asked).await;
    assert_eq!((set.status, times(&set.body)), (200, [60, 120, 30]), "{}", set.text);
    assert_eq!(times(&set.body["fleetRegions"][0]), [60, 120, 30], "{}", set.text);
    let shown = &set.body["usageSettings"][0];
    assert!(shown["fleetUsageID"].is_string(), "{shown}");
    for (field, value) in metal.as_object().unwrap() {
        assert_eq!(&shown[field], value, "{shown}");
    }
    let kept = put(json!({})).await;
    assert_eq!((times(&kept.body), &kept.body["usageSettings"]), ([60, 120, 30], &set.body["usageSettings"]));
    for (field, refused) in [
        ("deleteTTL", json!({ "deleteTTL": 10 })),
        ("deleteTTL", json!({ "deleteTTL": 0 })),
        ("shutdownTTL", json!({ "shutdownTTL": 99_999_999 })),
    ] {
        let answer = put(refused).await;
        answer.expect(400, "MS-U101");
        assert_eq!(answer.body["details"][0]["field"], field, "{}", answer.text);
    }
    let cloud = put(json!({ "usageSettings": [{ "hardwareType": "CLOUD" }] })).await;
    cloud.expect(400, "MS-U111");
    let field = cloud.body["details"][0]["field"].as_str().unwrap();
    assert!(field.starts_with("usageSettings[0]"), "{}", cloud.text);

    let region = gateway("fleets", &format!("/fleets/{FLEET}/regions/{REGION}"));
    let body = |ttl: u64| json!({ "scalingEnabled": true, "minAvailableServers": 0, "maxServers": 9, "deleteTTL": ttl });
    assert_eq!(world.put_json(&region, &body(120)).await.status, 200, "the fleet's own");
    let own = world.put_json(&region, &body(121)).await;
    assert_eq!((own.status, times(&own.body)), (200, [60, 121, 30]), "{}", own.text);
    let off = put(json!({ "shutdownTTL": 0, "deleteTTL": 0, "usageSettings": [] })).await;
    assert_eq!((times(&off.body), &off.body["usageSettings"]), ([0, 0, 30], &json!([])));
    assert_eq!(times(&off.body["fleetRegions"][0]), [60, 121, 30], "a region keeps its own: {}", off.text);
    let mut withdrawn = body(121);
    withdrawn["disabledDeleteTTL"] = json!(31);
    let refused = world.put_json(&region, &withdrawn).await;
    refused.expect(400, "MS-U101");
    assert_eq!(refused.body["details"][0]["field"], "disabledDeleteTTL", "{}", refused.text);

    // Obeyed: the region's idle machine is emptied, and says so.
    let mut soon = body(2);
    soon["shutdownTTL"] = json!(1);
    assert_eq!(times(&world.put_json(&region, &soon).await.body), [1, 2, 30]);
    let machines = world.get("/v1/machines").await.body;
    let machine = machines["items"][0]["id"].as_u64().unwrap_or_else(|| panic!("{machines}"));
    world.eventually(&format!("/v1/machines/{machine}"), |it| it["life"] == "emptied").await;
}

/// Reference 3.10: `buildType` CONTAINER with `container{imageTag}`; a new version is another image. Where an image is, is said
/// as in a file. Shows `build types`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_build_is_made_and_versioned_by_its_image() {
    let world = World::new().await;
    let builds = gateway("builds", "/builds");
    let of = |image: &str| json!({ "buildName": "boxed", "buildType": "CONTAINER", "container": { "imageTag": image } });
    for (body, code) in [
        (json!({ "buildName": "boxed", "buildType": "CONTAINER" }), "MS-U101"),
        (of("oci-archive:game.tar"), "MS-U101"),
        (of("registry.example/game:1"), "MS-U111"),
        (json!({ "buildName": "boxed", "container": { "imageTag": "docker://r/x:1" } }), "MS-U101"),
    ] {
        world.post(&builds, &body).await.expect(400, code);
    }
    let made = world.post(&builds, &of("oci-archive:/srv/game.tar:v1")).await;
    assert_eq!((made.status, &made.body["buildType"]), (200, &json!("CONTAINER")), "{}", made.text);
    assert_eq!(made.body["container"]["imageTag"], "oci-archive:/srv/game.tar:v1");
    let build = made.body["buildID"].as_u64().unwrap();
    let boxed = json!({
        "name": "boxed", "buildID": build, "queryType": "none", "binaryPath": "game", "commandLine": "",
    });
    let configurations = gateway("build-configurations", "/build-configurations");
    let configured = world.post(&configurations, &boxed).await;
    assert_eq!((configured.status, &configured.body["version"]), (200, &json!(1)), "{}", configured.text);
    let versions = gateway("builds", &format!("/builds/{build}/versions"));
    let one = format!("{configurations}/{}", configured.body["id"]);
    world.post(&versions, &json!({})).await.expect(400, "MS-U101");
    // A studio without a registry uploads the archive as the build's one file; stock clients name it by a tag.
    let files = gateway("builds", &format!("/builds/{build}/files"));
    let tagged = json!({ "container": { "imageTag": "v2" } });
    world.post(&versions, &tagged).await.expect(400, "MS-U101");
    let named = world.put_json(&files, &json!({ "path": "game.tar" })).await;
    world.post(&versions, &tagged).await.expect(400, "MS-U114");
    let sent = world.call("PUT", &crate::admin::link(&named.body), None, b"an archive".to_vec()).await;
    assert_eq!((sent.status, world.post(&versions, &tagged).await.status), (200, 202), "{}", sent.text);
    let read = world.get(&gateway("builds", &format!("/builds/{build}"))).await.body;
    let place = read["container"]["imageTag"].as_str().unwrap().strip_prefix("oci-archive:").unwrap();
    assert_eq!(std::fs::read(place).unwrap(), b"an archive", "{read}");
    assert_eq!(world.get(&one).await.body["version"], 2);
    let awaited =
        json!({ "buildName": "later", "buildType": "CONTAINER", "container": { "imageTag": "v1" } });
    let awaited = world.post(&builds, &awaited).await.body;
    assert_eq!(
        (&awaited["buildType"], &awaited["syncStatus"]),
        (&json!("CONTAINER"), &json!("PENDING")),
        "{awaited}"
    );
    let next = json!({ "container": { "imageTag": "docker://registry.example/game:2" } });
    assert_eq!(world.post(&versions, &next).await.status, 202);
    let read = world.get(&gateway("builds", &format!("/builds/{build}"))).await.body;
    assert_eq!(read["container"]["imageTag"], "docker://registry.example/game:2");
    assert_eq!(world.get(&one).await.body["version"], 3, "what starts it is another revision");
}
