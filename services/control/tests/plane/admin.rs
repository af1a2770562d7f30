//! The admin API (reference multiplay.md 1.2 and 3.9 to 3.11): one test an endpoint, named after it; under both path forms.

use mainstay_core::slot::{ConfigurationRef, Exit, Fault, Incident, Phase, Status};
use mainstay_core::{BuildConfigurationId, ServerId, Timestamp};
use mainstay_wire::agent::{Incidents, Install, InstallStage, Installs, Up};
use serde_json::{Value, json};

use crate::agent::Habit;
use crate::support::{ADMIN, ALLOCATOR, Answer, ENVIRONMENT, FLEET, PROJECT, REGION, World, basic, id};

/// The path form of Unity's public gateway.
pub fn gateway(area: &str, suffix: &str) -> String {
    format!("/multiplay/{area}/v1/projects/{PROJECT}/environments/{ENVIRONMENT}{suffix}")
}

/// The path form of Unity's C# client.
pub fn client(area: &str, suffix: &str) -> String {
    format!("/api/multiplay/{area}/v4/projects/{PROJECT}/environments/{ENVIRONMENT}{suffix}")
}

impl World {
    pub async fn put_json(&self, path: &str, body: &Value) -> Answer {
        self.call("PUT", path, Some(&basic(ADMIN)), serde_json::to_vec(body).unwrap()).await
    }

    /// A build, and a build configuration of it.
    pub async fn made(&self) -> (u64, u64) {
        let build = self.post(&gateway("builds", "/builds"), &json!({ "buildName": "made" })).await;
        assert_eq!(build.status, 200, "{}", build.text);
        let build = build.body["buildID"].as_u64().unwrap();
        let made = self.post(&gateway("build-configurations", "/build-configurations"), &casual(build)).await;
        assert_eq!(made.status, 200, "{}", made.text);
        (build, made.body["id"].as_u64().unwrap())
    }
}

fn casual(build: u64) -> Value {
    casual_of(&json!(build))
}

pub fn casual_of(build: &Value) -> Value {
    json!({
        "name": "casual", "buildID": build, "queryType": "a2s", "binaryPath": "server",
        "commandLine": "-port $$port$$", "cores": 1, "speed": 500, "memory": 256,
        "configuration": [{ "key": "map", "value": "harbour" }],
    })
}

/// A list of servers in another order, page by page: each item once.
async fn in_order(world: &World, path: &str) {
    for sort in ["port&sortDir=DESC", "status", "status&sortDir=desc", "machineName", "id&sortDir=DESC"] {
        let field = sort.split('&').next().unwrap();
        let whole = world.get(&format!("{path}?sortBy={sort}")).await.body;
        let whole = whole.as_array().unwrap();
        let (mut pages, mut from) = (Vec::new(), String::new());
        while let Some(item) =
            world.get(&format!("{path}?sortBy={sort}&limit=1{from}")).await.body.as_array().unwrap().first()
        {
            let value = item[field].as_str().map_or_else(|| item[field].to_string(), str::to_owned);
            from = format!("&lastVal={value}&lastId={}", item["id"]);
            pages.push(item.clone());
        }
        assert_eq!(&pages, whole, "{sort}");
        let values: Vec<String> = pages.iter().map(|item| item[field].to_string()).collect();
        let is_sorted = if sort.to_lowercase().ends_with("desc") {
            values.iter().rev().is_sorted()
        } else {
            values.is_sorted()
        };
        assert!(is_sorted, "{sort}: {values:?}");
    }
    for wrong in ["sortBy=foo", "sortDir=up", "sortBy=port&lastId=7", "lastVal=7"] {
        world.get(&format!("{path}?{wrong}")).await.expect(400, "MS-U101");
    }
}

/// Shows `GET /fleets`, `avalaible`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_fleets_lists_them_bare_with_both_spellings_of_available() {
    let (world, _agent) = World::with_agent(3, Habit::Obeys).await;
    world.allocate(id(1)).await;
    for path in [gateway("fleets", "/fleets"), client("fleets", "/fleets")] {
        let list = world.eventually(&path, |it| it[0]["servers"]["all"]["status"]["allocated"] == 1).await;
        assert_eq!(list.as_array().unwrap().len(), 1);
        assert_eq!(
            (&list[0]["id"], &list[0]["name"], &list[0]["status"]),
            (&json!(FLEET), &json!("arena"), &json!("ONLINE"))
        );
        assert_eq!(list[0]["osFamily"], "LINUX");
        assert_eq!(list[0]["regions"][0]["regionID"], json!(REGION));
        let all = &list[0]["servers"]["all"];
        assert_eq!(
            (&all["total"], &all["status"]["available"], &all["status"]["avalaible"]),
            (&json!(3), &json!(2), &json!(2))
        );
        assert_eq!(list[0]["servers"]["cloud"]["total"], 0);
    }
}

/// Shows `GET /fleets/{id}`, `Basic keyId:secretKey`, `bodies of errors`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_fleet_shows_its_regions_and_404_is_in_the_faces_shape() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let fleet = world.get(&client("fleets", &format!("/fleets/{FLEET}"))).await.body;
    assert_eq!(fleet["buildConfigurations"][0]["name"], "ranked");
    assert_eq!(fleet["buildConfigurations"][0]["buildName"], "arena");
    assert_eq!(fleet["graceful"], true, "a server gets its stop signal before SIGKILL");
    let region = &fleet["fleetRegions"][0];
    assert_eq!((&region["regionID"], &region["regionName"]), (&json!(REGION), &json!("local")));
    assert_eq!((&region["scalingEnabled"], &region["maxServers"]), (&json!(true), &json!(100)));
    let unknown = world.get(&gateway("fleets", &format!("/fleets/{REGION}"))).await;
    unknown.expect(404, "MS-U105");
    assert!(unknown.body["requestId"].is_string() && unknown.body["title"].is_string(), "{}", unknown.text);
    let elsewhere = gateway("fleets", "/fleets").replace(&PROJECT.to_string(), &ENVIRONMENT.to_string());
    world.get(&elsewhere).await.expect(404, "MS-U104");
    world.call("GET", &gateway("fleets", "/fleets"), None, vec![]).await.expect(401, "MS-A001");
}

/// Shows `POST /fleets`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn post_fleets_makes_one_and_a_second_of_the_name_is_409_with_conflicts() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let (_, configuration) = world.made().await;
    let asked = json!({
        "name": "asia", "osFamily": "LINUX", "buildConfigurations": [configuration],
        "regions": [{ "regionID": REGION, "minAvailableServers": 0, "maxServers": 5 },
                    { "regionName": "Tokyo", "minAvailableServers": 0, "maxServers": 7 }],
    });
    let made = world.post(&gateway("fleets", "/fleets"), &asked).await;
    assert_eq!(made.status, 200, "{}", made.text);
    assert_eq!(made.body["buildConfigurations"][0]["id"], configuration);
    assert_eq!(made.body["fleetRegions"].as_array().unwrap().len(), 2);
    assert_eq!(world.get("/v1/fleets/asia").await.body["regions"][1]["name"], "Tokyo");
    let again = world.post(&client("fleets", "/fleets"), &asked).await;
    again.expect(409, "MS-U112");
    assert_eq!(again.body["conflicts"][0]["resourceType"], "FLEET", "{}", again.text);
    let mut wrong = asked.clone();
    wrong["name"] = json!("africa");
    wrong["buildConfigurations"] = json!([99]);
    let refused = world.post(&gateway("fleets", "/fleets"), &wrong).await;
    refused.expect(400, "MS-U101");
    assert_eq!(refused.body["details"][0]["field"], "buildConfigurations", "{}", refused.text);
    wrong["regions"][1]["maxServers"] = json!("many");
    let refused = world.post(&gateway("fleets", "/fleets"), &wrong).await;
    assert_eq!(refused.body["details"][0]["field"], "regions[1].maxServers", "{}", refused.text);
    let denied = serde_json::to_vec(&asked).unwrap();
    world
        .call("POST", &gateway("fleets", "/fleets"), Some(&basic(ALLOCATOR)), denied)
        .await
        .expect(403, "MS-A003");
    let listed = world.get("/v1/configuration").await.body;
    assert_eq!(listed["changedBy"], ADMIN.0, "{listed}");
    wrong = asked.clone();
    (wrong["name"], wrong["graceful"]) = (json!("africa"), json!(false));
    for refused in [
        world.post(&gateway("fleets", "/fleets"), &wrong).await,
        world.put_json(&gateway("fleets", &format!("/fleets/{FLEET}")), &wrong).await,
    ] {
        refused.expect(400, "MS-U101");
        assert_eq!(refused.body["details"][0]["field"], "graceful", "{}", refused.text);
    }
    wrong["graceful"] = json!(true);
    assert_eq!(world.post(&gateway("fleets", "/fleets"), &wrong).await.status, 200);
}

/// Shows `PUT /fleets/{id}`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn put_fleet_changes_its_build_configurations() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let (_, casual) = world.made().await;
    let ranked = world.configuration().await;
    let path = gateway("fleets", &format!("/fleets/{FLEET}"));
    let changed =
        world.put_json(&path, &json!({ "name": "arena", "buildConfigurations": [ranked, casual] })).await;
    assert_eq!(
        (changed.status, &changed.body["buildConfigurations"][1]["name"]),
        (200, &json!("casual")),
        "{}",
        changed.text
    );
    let renamed = world.put_json(&path, &json!({ "name": "other", "buildConfigurations": [ranked] })).await;
    renamed.expect(400, "MS-U101");
}

/// Shows `POST /fleets/{id}/regions`, `PUT /fleets/{id}/regions/{regionId}`, `GET /fleets/regions`, `GET
/// /fleets/{id}/available-regions`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fleet_regions_are_added_changed_and_listed() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let regions = gateway("fleets", &format!("/fleets/{FLEET}/regions"));
    let added = world
        .post(&regions, &json!({ "regionName": "Tokyo", "minAvailableServers": 1, "maxServers": 9 }))
        .await;
    assert_eq!((added.status, &added.body["regionName"]), (200, &json!("Tokyo")), "{}", added.text);
    let templates = world.get(&client("fleets", "/fleets/regions")).await.body;
    assert_eq!(templates.as_array().unwrap().len(), 2, "{templates}");
    let rest = world.get(&gateway("fleets", &format!("/fleets/{FLEET}/available-regions"))).await.body;
    assert_eq!(rest, json!([]));
    let change = json!({ "scalingEnabled": false, "minAvailableServers": 2, "maxServers": 3 });
    for named in ["id", "regionID"] {
        let path = format!("{regions}/{}", added.body[named].as_str().unwrap());
        let changed = world.put_json(&path, &change).await;
        assert_eq!((changed.status, &changed.body["maxServers"]), (200, &json!(3)), "{}", changed.text);
        assert_eq!(changed.body["status"], "OFFLINE");
    }
    world.put_json(&format!("{regions}/{FLEET}"), &change).await.expect(404, "MS-P002");
    let much = json!({ "scalingEnabled": true, "minAvailableServers": 0, "maxServers": 4_000_000 });
    world.put_json(&format!("{regions}/{REGION}"), &much).await.expect(400, "MS-U101");
}

/// Shows `DELETE /fleets/{id}`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delete_fleet_is_409_while_it_is_used_and_204_after() {
    let (world, agent) = World::with_agent(1, Habit::Obeys).await;
    let path = gateway("fleets", &format!("/fleets/{FLEET}"));
    world.allocate(id(1)).await;
    let used = world.delete(&path).await;
    used.expect(409, "MS-U112");
    assert_eq!(used.body["conflicts"][0]["conflictType"], "ACTIVE", "{}", used.text);
    world.delete(&crate::support::allocation(id(1))).await;
    let heard = world.delete(&path).await;
    heard.expect(409, "MS-U112");
    assert_eq!(heard.body["conflicts"][0]["resourceType"], "MACHINE", "{}", heard.text);
    let machine = agent.machine.number();
    agent.vanish();
    world.eventually(&format!("/v1/machines/{machine}"), |it| it["status"] == "silent").await;
    let looked = world.delete(&format!("{path}?dryRun=true")).await;
    assert_eq!(looked.status, 204, "{}", looked.text);
    assert_eq!(world.get(&path).await.status, 200, "a dry run changes nothing");
    let gone = world.delete(&path).await;
    assert_eq!(gone.status, 204, "{}", gone.text);
    world.get(&path).await.expect(404, "MS-U105");
    let world = World::at(world.shutdown().await).await;
    world.get(&path).await.expect(404, "MS-U105");
}

/// Shows `POST /build-configurations`, `GET /build-configurations`, `GET /build-configurations/{id}`, `PUT
/// /build-configurations/{id}`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn build_configurations_are_made_read_listed_and_changed() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let (build, casual_id) = world.made().await;
    for path in [
        gateway("build-configurations", "/build-configurations"),
        client("build-configurations", "/build-configurations"),
    ] {
        let list = world.get(&path).await.body;
        let names: Vec<&str> =
            list.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["casual", "ranked"]);
        let in_fleet = world.get(&format!("{path}?fleetId={FLEET}")).await.body;
        assert_eq!((in_fleet.as_array().unwrap().len(), &in_fleet[0]["fleetName"]), (1, &json!("arena")));
        assert_eq!(world.get(&format!("{path}?partialFilter=CAS")).await.body[0]["id"], casual_id);
    }
    let one = gateway("build-configurations", &format!("/build-configurations/{casual_id}"));
    let read = world.get(&one).await.body;
    assert_eq!(read["configuration"], json!([{ "id": 0, "key": "map", "value": "harbour" }]));
    assert_eq!(
        (&read["queryType"], &read["memory"], &read["version"]),
        (&json!("a2s"), &json!(256), &json!(1))
    );
    assert_eq!((&read["cores"], &read["speed"]), (&json!(1), &json!(500)), "{read}");
    let file = "version: 1.0\nbuilds: { filed: { buildPath: /srv/filed } }\nbuildConfigurations:\n  filed: \
                { build: filed, binaryPath: server, cores: 1, speedMhz: 500, memoryMiB: 256 }\n";
    let filed = world.call("PUT", "/v1/configuration", Some(&basic(ADMIN)), file.as_bytes().to_vec()).await;
    assert_eq!(filed.status, 200, "{}", filed.text);
    let list = gateway("build-configurations", "/build-configurations?partialFilter=filed");
    let id = world.get(&list).await.body[0]["id"].clone();
    let filed = gateway("build-configurations", &format!("/build-configurations/{id}"));
    assert_eq!(world.get(&filed).await.body["speed"], 500);
    let mut changed = casual(build);
    changed["commandLine"] = json!("-port $$port$$ -fast");
    let answer = world.put_json(&one, &changed).await;
    assert_eq!((answer.status, &answer.body["version"]), (200, &json!(2)), "{}", answer.text);
    assert_eq!(answer.body["createdAt"], read["createdAt"]);
    assert_eq!((&read["readiness"], &answer.body["readiness"]), (&json!(false), &json!(false)));
    changed["readiness"] = json!(true);
    assert_eq!(world.put_json(&one, &changed).await.body["readiness"], true);
    for optional in ["readiness", "configuration"] {
        changed.as_object_mut().unwrap().remove(optional);
    }
    let left_out = world.put_json(&one, &changed).await;
    assert_eq!(left_out.body["readiness"], true, "what is left out stays: {}", left_out.text);
    assert_eq!(left_out.body["configuration"], read["configuration"], "{}", left_out.text);
    changed["binaryPath"] = json!("../server");
    let refused = world.put_json(&one, &changed).await;
    refused.expect(400, "MS-U111");
    // Stock clients mark the field: the code is in its text.
    let detail = &refused.body["details"][0];
    assert_eq!(detail["field"], "binaryPath", "{}", refused.text);
    assert!(detail["error"].as_str().unwrap().contains("MS-C016"), "{}", refused.text);
    (changed["binaryPath"], changed["queryType"]) = (json!("server"), json!("smoke"));
    let refused = world.put_json(&one, &changed).await;
    assert_eq!(refused.body["details"][0]["field"], "queryType", "{}", refused.text);
    world.get(&gateway("build-configurations", "/build-configurations/99")).await.expect(404, "MS-P024");
}

/// Shows `DELETE /build-configurations/{id}`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delete_build_configuration_is_409_while_a_fleet_has_it_and_204_after() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let (_, casual) = world.made().await;
    let path = |id: u64| gateway("build-configurations", &format!("/build-configurations/{id}"));
    let used = world.delete(&path(world.configuration().await)).await;
    used.expect(409, "MS-P025");
    assert_eq!(used.body["conflicts"][0]["resourceId"], json!(FLEET), "{}", used.text);
    assert_eq!(world.delete(&format!("{}?dryRun=true", path(casual))).await.status, 204);
    assert_eq!(world.get(&path(casual)).await.status, 200);
    assert_eq!(world.delete(&path(casual)).await.status, 204);
    world.get(&path(casual)).await.expect(404, "MS-P024");
}

/// Shows `GET /servers`, `GET /servers/{id}`, `GET /servers/locations`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_servers_lists_filters_and_pages() {
    let (world, agent) = World::with_agent(3, Habit::Obeys).await;
    world.allocate(id(1)).await;
    let path = client("servers", "/servers");
    let list = world.eventually(&format!("{path}?status=allocated"), |it| it[0].is_object()).await;
    let server = &list[0];
    assert_eq!(server["id"], agent.servers[0].number());
    assert_eq!((&server["fleetID"], &server["buildConfigurationName"]), (&json!(FLEET), &json!("ranked")));
    assert_eq!((&server["buildName"], &server["locationName"]), (&json!("arena"), &json!("local")));
    assert_eq!((&server["ip"], &server["hardwareType"]), (&json!("127.0.0.1"), &json!("METAL")));
    assert_eq!((&server["cpuLimit"], &server["memoryLimit"]), (&json!(2400), &json!(800)));
    let spec = &server["machineSpec"];
    assert_eq!((&spec["cpuCores"], &spec["cpuSpeed"]), (&json!(8), &json!(2_400)), "{server}");
    assert_eq!((&spec["memory"], &spec["cpuName"]), (&json!(16_000), &json!("a processor")), "{server}");
    assert!(spec["contractStartDate"].is_string() && server["deleted"] == false);
    let first = world.get(&format!("{path}?limit=2")).await.body;
    assert_eq!(first.as_array().unwrap().len(), 2);
    let last = world.get(&format!("{path}?limit=2&lastId={}", first[1]["id"])).await.body;
    assert_eq!(last[0]["id"], agent.servers[2].number());
    in_order(&world, &path).await;
    let (machine, configuration) = (agent.machine.number(), &server["buildConfigurationID"]);
    let (location, last_id) = (&server["locationID"], agent.servers[2].number());
    for (filter, all, none) in [
        ("hardwareType", "METAL".to_owned(), "CLOUD".to_owned()),
        ("machineId", machine.to_string(), (machine + 1).to_string()),
        ("fleetId", FLEET.to_string(), REGION.to_string()),
        ("locationId", location.to_string(), "7".to_owned()),
        ("buildConfigurationId", configuration.to_string(), "99".to_owned()),
        ("partial", "HOST-1".to_owned(), "host-2".to_owned()),
    ] {
        let count = async |value: &str| {
            world.get(&format!("{path}?{filter}={value}")).await.body.as_array().map(Vec::len)
        };
        assert_eq!((count(&all).await, count(&none).await), (Some(3), Some(0)), "{filter}");
    }
    world.get(&format!("{path}?hardwareType=WOOD")).await.expect(400, "MS-U101");
    let by_id = world.get(&format!("{path}?partial={last_id}")).await.body;
    assert_eq!((by_id.as_array().unwrap().len(), &by_id[0]["id"]), (1, &json!(last_id)));
    for wrong in ["machineId=x", "fleetId=x", "locationId=x", "buildConfigurationId=x", "status=x"] {
        world.get(&format!("{path}?{wrong}")).await.expect(400, "MS-U101");
    }
    let locations = world.get(&gateway("servers", "/servers/locations")).await.body;
    assert_eq!((locations[0]["name"].as_str(), &locations[0]["id"]), (Some("local"), &server["locationID"]));
    let one = world.get(&gateway("servers", &format!("/servers/{}", server["id"]))).await.body;
    assert_eq!(one["id"], server["id"]);
    world.get(&gateway("servers", "/servers/7")).await.expect(404, "MS-S001");
}

/// Shows `POST /servers/{id}/actions`, `GET /servers/{id}/actions`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn post_server_actions_are_done_or_424_and_get_actions_tells_them() {
    let (world, agent) = World::with_agent(1, Habit::Obeys).await;
    let path = client("servers", &format!("/servers/{}/actions", agent.servers[0].number()));
    let act = async |action: &str| world.post(&path, &json!({ "action": action })).await;
    let started = act("START").await;
    assert_eq!((started.status, &started.body), (200, &json!({ "success": true })), "{}", started.text);
    world.eventually("/v1/servers/srv-1-1", |it| it["status"] == "ONLINE").await;
    assert_eq!((act("RESTART").await.status, act("STOP").await.status), (200, 200));
    act("ADD").await.expect(400, "MS-U101");
    act("explode").await.expect(400, "MS-U101");
    world.allocate(id(1)).await;
    // Seed 002: manual stop of an allocated server does not work; send a deallocation.
    let refused = act("STOP").await;
    refused.expect(424, "MS-S003");
    assert!(refused.body["detail"].as_str().unwrap().contains("allocation delete"), "{}", refused.text);
    world.tell();
    let log = world.get(&path).await.body;
    let newest = &log[0];
    assert_eq!(
        (&newest["serverID"], &newest["machineID"]),
        (&json!(agent.servers[0].number()), &json!(agent.machine.number()))
    );
    let kinds: Vec<&str> = log.as_array().unwrap().iter().map(|it| it["message"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"server.ordered") && kinds.contains(&"allocation.placed"), "{kinds:?}");
    assert_eq!(world.get(&format!("{path}?date=1999-01-01")).await.body, json!([]));
    world.get(&format!("{path}?date=x")).await.expect(400, "MS-U101");
}

/// Shows `GET /machines`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_machines_lists_and_shows_them() {
    let (world, agent) = World::with_agent(2, Habit::Obeys).await;
    let list = world.get(&gateway("machines", "/machines")).await.body;
    assert_eq!((&list[0]["id"], &list[0]["status"]), (&json!(agent.machine.number()), &json!("ONLINE")));
    assert_eq!((&list[0]["serversStates"]["available"], &list[0]["fleetName"]), (&json!(2), &json!("arena")));
    let path = client("machines", &format!("/machines/{}", agent.machine.number()));
    let one = world.get(&path).await.body;
    assert_eq!((&one["name"], &one["disabled"]), (&json!("host-1"), &json!(false)));
    let spec = &one["spec"];
    assert_eq!(
        (&spec["cpuCores"], &spec["cpuSpeed"], &spec["memory"]),
        (&json!(8), &json!(2_400), &json!(16_000))
    );
    assert_eq!(spec["cpuShortname"], "a processor", "{one}");
    let location = &list[0]["locationId"];
    for (filter, all, none) in [
        ("status", "online".to_owned(), "BOOTING"),
        ("fleetId", FLEET.to_string(), "00000000-0000-4000-8000-000000000000"),
        ("locationId", location.to_string(), "7"),
        ("hardwareType", "METAL".to_owned(), "CLOUD"),
        ("partial", "HOST".to_owned(), "elsewhere"),
    ] {
        let count = async |value: &str| {
            let path = gateway("machines", &format!("/machines?{filter}={value}"));
            world.get(&path).await.body.as_array().map(Vec::len)
        };
        assert_eq!((count(&all).await, count(none).await), (Some(1), Some(0)), "{filter}");
    }
    world.get(&gateway("machines", "/machines/5")).await.expect(404, "MS-S002");
    let native = format!("/v1/machines/{}", agent.machine.number());
    let host = world.get(&native).await.body["host"].clone();
    assert_eq!(
        (&host["cores"], &host["speedMhz"], &host["memoryMib"]),
        (&json!(8), &json!(2_400), &json!(16_000))
    );
    assert_eq!((&host["room"], &host["bound"]), (&json!(8), &json!("cpu")), "{host}");
    world.post(&format!("{native}/actions"), &json!({ "action": "drain" })).await;
    let drained = world.get(&path).await.body;
    assert_eq!((&drained["disabled"], &drained["status"]), (&json!(true), &json!("SHUTDOWN")), "{drained}");
    world.post(&format!("{native}/actions"), &json!({ "action": "undrain" })).await;

    // A stream that ended is no machine that is gone: only the native face says that its agent is silent.
    agent.vanish();
    world.eventually(&native, |it| it["status"] == "silent").await;
    let silent = world.get(&path).await.body;
    assert_eq!((&silent["status"], &silent["spec"]["cpuCores"]), (&json!("ONLINE"), &json!(8)), "{silent}");
}

/// Shows `POST /test-allocations`, `GET /test-allocations`, `GET /test-allocations/{allocationId}`, `DELETE
/// /test-allocations/{allocationId}`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn test_allocations_are_allocations_under_the_admin_paths() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let path = client("allocations", &format!("/fleets/{FLEET}/test-allocations"));
    let body = crate::support::request(id(1), world.configuration().await);
    let made = world.post(&path, &body).await;
    assert_eq!((made.status, &made.body["allocationId"]), (202, &json!(id(1))), "{}", made.text);
    assert_eq!(made.body["href"], format!("{path}/{}", id(1)));
    world.eventually(&format!("{path}/{}", id(1)), |it| it.get("fulfilled").is_some()).await;
    let all = world.get(&gateway("allocations", "/test-allocations")).await.body;
    assert_eq!(
        (&all["allocations"][0]["allocationId"], &all["pagination"]["offset"]),
        (&json!(id(1)), &json!(0))
    );
    assert_eq!(world.delete(&format!("{path}/{}", id(1))).await.status, 204);
    assert_eq!(world.get(&gateway("allocations", "/test-allocations")).await.body["allocations"], json!([]));
}

/// Reference 1.1 and 1.2: test allocations are a set of their own. What backends allocate is neither listed, read nor ended among
/// them, nor a test by the game's API; the native face shows both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn test_allocations_and_sessions_are_two_sets() {
    let (world, _agent) = World::with_agent(2, Habit::Obeys).await;
    let tests = client("allocations", &format!("/fleets/{FLEET}/test-allocations"));
    let sessions = crate::support::allocations();
    let configuration = world.configuration().await;
    world.allocate(id(1)).await;
    let made = world.post(&tests, &crate::support::request(id(2), configuration)).await;
    assert_eq!(made.status, 202, "{}", made.text);
    let listed = async |path: &str| {
        let body = world.get(path).await.body;
        let all = body["allocations"].as_array().unwrap_or_else(|| panic!("{body}"));
        all.iter().map(|it| it["allocationId"].clone()).collect::<Vec<_>>()
    };
    let by_id = format!("?ids={},{}", id(1), id(2));
    let whole = gateway("allocations", "/test-allocations");
    for path in [tests.clone(), whole, format!("{tests}{by_id}")] {
        assert_eq!(listed(&path).await, [json!(id(2))], "{path}");
    }
    for path in [sessions.clone(), format!("{sessions}{by_id}")] {
        assert_eq!(listed(&path).await, [json!(id(1))], "{path}");
    }
    for (set, other) in [(&tests, id(1)), (&sessions, id(2))] {
        let path = format!("{set}/{other}");
        world.get(&path).await.expect(404, "MS-P009");
        world.delete(&path).await.expect(404, "MS-P009");
        let refused = world.post(set, &crate::support::request(other, configuration)).await;
        refused.expect(409, "MS-P010");
        // The admin face has conflicts in a shape of its own.
        let conflict = &refused.body["conflicts"][0];
        let of_tests = (json!(other), json!("ALLOCATION"), json!("ACTIVE"));
        let told = ["resourceId", "resourceType", "conflictType"].map(|it| conflict[it].clone()).into();
        assert_eq!(of_tests == told, set == &tests, "{}", refused.text);
    }
    for (body, field) in [
        (
            json!({ "allocationId": id(3), "buildConfigurationId": "x", "regionId": REGION }),
            "buildConfigurationId",
        ),
        (
            json!({ "allocationId": id(3), "buildConfigurationId": 1_u64 << 60, "regionId": REGION }),
            "buildConfigurationId",
        ),
        (
            json!({ "allocationId": uuid::Uuid::nil(), "buildConfigurationId": 1, "regionId": REGION }),
            "allocationId",
        ),
        (json!({ "allocationId": id(3), "buildConfigurationId": 1 }), "regionId"),
    ] {
        let refused = world.post(&tests, &body).await;
        refused.expect(400, "MS-U101");
        assert_eq!(refused.body["details"][0]["field"], field, "{}", refused.text);
    }
    let native = world.get("/v1/allocations").await.body;
    let shown: Vec<_> = native["items"].as_array().unwrap().iter().map(|it| it["test"].clone()).collect();
    assert_eq!(shown, [json!(true), json!(false)], "{native}");

    // Both outlive a restart as what they are.
    let world = World::at(world.shutdown().await).await;
    assert_eq!(world.get(&tests).await.body["allocations"][0]["allocationId"], json!(id(2)));
    assert_eq!(world.delete(&format!("{tests}/{}", id(2))).await.status, 204);
    assert_eq!(world.delete(&format!("{sessions}/{}", id(1))).await.status, 204);
}

/// Shows `GET /fleets/{id}/server-allocations`, `GET /fleets/{id}/events`, `GET /fleets/{id}/crashes`, `GET
/// /servers/{id}/events`, `GET /servers/{id}/crashes`, `GET /fleets/analytics/events`, `GET /fleets/analytics/crashes`,
/// `GET /fleets/{id}/slots`, `GET /fleets/{id}/server-density`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fleet_and_server_series_tell_what_happened() {
    let (world, agent) = World::with_agent(2, Habit::Obeys).await;
    world.allocate(id(1)).await;
    world.eventually(&crate::support::allocation(id(1)), |it| it.get("fulfilled").is_some()).await;
    world.tell();
    let fleet = |what: &str| client("fleets", &format!("/fleets/{FLEET}/{what}"));
    let placed = world.get(&fleet("server-allocations?period=hour")).await.body;
    assert_eq!(placed[0]["name"], "allocation.placed", "{placed}");
    assert_eq!(placed[0]["data"][0][1], 1.0);
    let events = world.get(&fleet("events")).await.body;
    assert!(events.as_array().unwrap().iter().any(|it| it["name"] == "machine.joined"), "{events}");
    let server = |what: &str| gateway("servers", &format!("/servers/{}/{what}", agent.servers[0].number()));
    let events = world.get(&server("events?period=week")).await.body;
    let kinds = |events: &Value| -> Vec<String> {
        events.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    for kind in ["allocation.placed", "allocation.fulfilled"] {
        assert!(kinds(&events).contains(&kind.to_owned()), "{events}");
    }
    world.delete(&crate::support::allocation(id(1))).await;
    world.tell();
    let events = world.get(&server("events?period=week")).await.body;
    assert!(kinds(&events).contains(&"allocation.ended".to_owned()), "{events}");
    let actions = world.get(&server("actions")).await.body;
    let ended = actions.as_array().unwrap().iter().find(|it| it["message"] == "allocation.ended");
    let why = ended.unwrap_or_else(|| panic!("{actions}"))["attachment"].as_str().unwrap();
    assert!(why.contains("deallocated"), "{why}");
    let of_project = |what: &str| gateway("fleets", &format!("/fleets/analytics/{what}"));
    let crashes = [fleet("crashes"), server("crashes"), of_project("crashes")];
    for path in &crashes {
        assert_eq!(world.get(path).await.body, json!([]), "nothing crashed: {path}");
    }
    // One crash is one, wherever it is asked for; and none of the other server's.
    let incident = crash(agent.servers[0]);
    agent.say(Up::Incidents(Incidents { machine: agent.machine, incidents: vec![incident] })).await;
    world.eventually("/v1/servers/srv-1-1", |it| it["lastIncident"].is_object()).await;
    world.tell();
    for path in &crashes {
        let told = world.get(path).await.body;
        assert_eq!(told.as_array().unwrap().len(), 1, "{path}: {told}");
        assert_eq!(
            (&told[0]["name"], &told[0]["data"][0][1]),
            (&json!("server.crashed"), &json!(1.0)),
            "{path}"
        );
    }
    let other = gateway("servers", &format!("/servers/{}/crashes", agent.servers[1].number()));
    assert_eq!(world.get(&other).await.body, json!([]));
    let events = world.get(&of_project("events")).await.body;
    for kind in ["machine.joined", "allocation.placed", "server.crashed"] {
        assert!(events.as_array().unwrap().iter().any(|it| it["name"] == kind), "{kind}: {events}");
    }
    for what in ["ccu", "ccustats"] {
        let project = world.get(&of_project(what)).await;
        assert_eq!((project.status, project.body.is_array()), (200, true), "{what}: {}", project.text);
    }
    for (what, name) in [("slots", "total"), ("server-density", "serversPerMachine")] {
        let sampled = world.eventually(&fleet(what), |it| it[0]["data"].is_array()).await;
        assert_eq!(sampled[0]["name"], name);
    }
    // What happens is not told apart by region: where there is one, all of it is there.
    for what in ["crashes", "events", "server-allocations"] {
        let (whole, here) = (fleet(what), fleet(&format!("{what}?regionId={REGION}")));
        let names = |body: &Value| kinds(body);
        assert_eq!(names(&world.get(&here).await.body), names(&world.get(&whole).await.body), "{what}");
        for wrong in ["zzz".to_owned(), FLEET.to_string()] {
            world.get(&fleet(&format!("{what}?regionId={wrong}"))).await.expect(400, "MS-U101");
        }
    }
    let more = json!({ "regionName": "Tokyo", "minAvailableServers": 0, "maxServers": 1 });
    assert_eq!(world.post(&fleet("regions"), &more).await.status, 200);
    world.get(&fleet(&format!("crashes?regionId={REGION}"))).await.expect(400, "MS-U101");
    world.get(&fleet("events?period=eon")).await.expect(400, "MS-U101");
    world
        .get(&fleet("events?start=2030-01-01T00:00:00Z&end=2029-01-01T00:00:00Z"))
        .await
        .expect(400, "MS-U101");
}

/// A server's process crashed.
fn crash(server: ServerId) -> Incident {
    let id = BuildConfigurationId::from_number(1).unwrap();
    Incident {
        server,
        run: 1,
        at: Timestamp::from_unix_ms(1_800_000_000_000),
        fault: Fault::Crash,
        cause: "exit code 3".into(),
        exit: Some(Exit::Code(3)),
        configuration: ConfigurationRef { id, revision: 1 },
        allocation: None,
        last_words: "".into(),
        core: None,
    }
}

/// What the file's signed URL is on this control plane.
pub fn link(file: &Value) -> String {
    let url = file["signedUrl"].as_str().unwrap();
    url.split_once("/v1/files/").map(|(_, token)| format!("/v1/files/{token}")).unwrap()
}

/// Shows `POST /builds`, `GET /builds`, `GET /builds/{id}`, `PATCH /builds/{id}`, `DELETE /builds/{id}`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn builds_are_made_read_listed_and_deleted() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let (build, _) = world.made().await;
    let one = |id: u64| gateway("builds", &format!("/builds/{id}"));
    let read = world.get(&one(build)).await.body;
    assert_eq!((&read["buildName"], &read["buildType"]), (&json!("made"), &json!("FILE_UPLOAD")));
    assert_eq!(
        (&read["cfv"], &read["syncStatus"], &read["osFamily"]),
        (&json!(0), &json!("PENDING"), &json!("LINUX"))
    );
    let list = world.get(&client("builds", "/builds?sort_dir=desc")).await.body;
    assert_eq!((&list[0]["buildID"], &list[0]["buildConfigurations"]), (&json!(build), &json!(1)));
    let next =
        world.get(&client("builds", &format!("/builds?sort_dir=desc&limit=1&last_id={build}"))).await.body;
    assert_eq!((next.as_array().unwrap().len(), &next[0]["buildName"]), (1, &json!("arena")));
    world.post(&gateway("builds", "/builds"), &json!({ "buildName": "made" })).await.expect(400, "MS-U101");
    // What cannot be read is told by its field as well.
    let nameless = world.post(&gateway("builds", "/builds"), &json!({ "osFamily": "LINUX" })).await;
    nameless.expect(400, "MS-U101");
    assert_eq!(nameless.body["details"][0]["field"], "buildName", "{}", nameless.text);
    let s3 = json!({ "buildName": "other", "buildType": "S3" });
    world.post(&gateway("builds", "/builds"), &s3).await.expect(400, "MS-U101");
    let renamed = serde_json::to_vec(&json!({ "buildName": "new" })).unwrap();
    world.call("PATCH", &one(build), Some(&basic(ADMIN)), renamed).await.expect(400, "MS-U101");
    let same = serde_json::to_vec(&json!({ "buildName": "made" })).unwrap();
    let patched = world.call("PATCH", &one(build), Some(&basic(ADMIN)), same).await;
    assert_eq!((patched.status, &patched.body["buildID"]), (200, &json!(build)), "{}", patched.text);
    let used = world.delete(&one(build)).await;
    used.expect(409, "MS-P025");
    assert_eq!(used.body["conflicts"][0]["resourceType"], "BUILD_CONFIGURATION", "{}", used.text);
    world.delete(&format!("{}?dryRun=true", one(build))).await.expect(409, "MS-P025");
    let other = world.post(&gateway("builds", "/builds"), &json!({ "buildName": "other" })).await.body;
    let other = other["buildID"].as_u64().unwrap();
    assert_eq!(world.delete(&format!("{}?dryRun=true", one(other))).await.status, 204);
    assert_eq!(world.get(&one(other)).await.status, 200, "a dry run changes nothing");
    assert_eq!(world.delete(&one(other)).await.status, 204);
    world.get(&one(other)).await.expect(404, "MS-P024");
}

/// Shows `PUT /builds/{id}/files`, `GET /builds/{id}/files`, `DELETE /builds/{id}/files/{path}`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn put_build_files_gives_a_signed_url_that_takes_the_bytes_in_pieces() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let (build, _) = world.made().await;
    let files = gateway("builds", &format!("/builds/{build}/files"));
    let named = world.put_json(&files, &json!({ "path": "bin/server" })).await;
    assert_eq!((named.status, &named.body["uploaded"]), (200, &json!(false)), "{}", named.text);
    let link = link(&named.body);
    let piece = |range: &str| hyper::Request::builder().header("content-range", range);
    // No credentials: the link carries them.
    let first = world.request(piece("bytes 0-2/6"), "PUT", &link, b"abc".to_vec()).await;
    assert_eq!((first.status, first.header("upload-offset")), (202, Some("3")), "{}", first.text);
    let come = world.call("HEAD", &link, None, vec![]).await;
    assert_eq!((come.status, come.header("upload-offset")), (200, Some("3")));
    world.request(piece("bytes 5-5/6"), "PUT", &link, b"f".to_vec()).await.expect(409, "MS-U114");
    world.request(piece("bytes ?"), "PUT", &link, b"f".to_vec()).await.expect(400, "MS-U101");
    let rest = world.request(piece("bytes 3-5/6"), "PUT", &link, b"def".to_vec()).await;
    assert_eq!(
        (rest.status, &rest.body["contentHash"]),
        (200, &json!("e80b5017098950fc58aad83c8c14978e")),
        "{}",
        rest.text
    );
    let listed = world.get(&client("builds", &format!("/builds/{build}/files?limit=10"))).await.body;
    assert_eq!((&listed["limit"], &listed["results"][0]["uploaded"]), (&json!(10), &json!(true)));
    // Whoever lost that answer asks, and need not send it again; a new link begins with nothing.
    let come = world.call("HEAD", &link, None, vec![]).await;
    assert_eq!((come.status, come.header("upload-offset")), (200, Some("6")));
    let again = self::link(&world.put_json(&files, &json!({ "path": "bin/server" })).await.body);
    let come = world.call("HEAD", &again, None, vec![]).await;
    assert_eq!((come.status, come.header("upload-offset")), (200, Some("0")));
    let said = hyper::Request::builder().header("x-content-sha256", "00");
    world.request(said, "PUT", &link, b"other".to_vec()).await.expect(400, "MS-U114");
    world.call("PUT", "/v1/files/x.y.z", None, vec![]).await.expect(403, "MS-A002");
    let outside = world.put_json(&files, &json!({ "path": "../../etc/passwd" })).await;
    outside.expect(400, "MS-U114");
    assert_eq!(outside.body["details"][0]["field"], "path", "{}", outside.text);
    assert_eq!(world.delete(&format!("{files}/bin/server")).await.status, 204);
    world.delete(&format!("{files}/bin/server")).await.expect(404, "MS-U114");
}

/// Shows `POST /builds/{id}/versions`, `GET /builds/{id}/installs`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn post_build_versions_releases_what_was_uploaded_and_installs_tell_how_far_it_is() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    let (build, casual) = world.made().await;
    let ranked = world.configuration().await;
    let fleet = gateway("fleets", &format!("/fleets/{FLEET}"));
    let both = json!({ "name": "arena", "buildConfigurations": [ranked, casual] });
    assert_eq!(world.put_json(&fleet, &both).await.status, 200);
    let files = gateway("builds", &format!("/builds/{build}/files"));
    let versions = gateway("builds", &format!("/builds/{build}/versions"));
    world.post(&versions, &json!({})).await.expect(400, "MS-U114");
    let named = world.put_json(&files, &json!({ "path": "server" })).await;
    world.post(&versions, &json!({})).await.expect(400, "MS-U114");
    let sent = world.call("PUT", &link(&named.body), None, b"#!/bin/sh\n".to_vec()).await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    let released = world.post(&versions, &json!({ "forceRollout": false })).await;
    assert_eq!(released.status, 202, "{}", released.text);
    let build_path = gateway("builds", &format!("/builds/{build}"));
    let read = world.get(&build_path).await.body;
    assert_eq!((&read["cfv"], &read["syncStatus"]), (&json!(1), &json!("SYNCED")));
    let configuration = world.get("/v1/configuration").await.body;
    let folder = configuration["builds"].as_array().unwrap().iter().find(|it| it["name"] == "made").unwrap()
        ["folder"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(std::fs::read(format!("{folder}/server")).unwrap(), b"#!/bin/sh\n");
    let installs = client("builds", &format!("/builds/{build}/installs"));
    let done = world.eventually(&installs, |it| it[0]["completedMachines"] == 1).await;
    assert_eq!((&done[0]["fleetName"], &done[0]["pendingMachines"]), (&json!("arena"), &json!(0)));
    assert_eq!(done[0]["regions"][0]["completedMachines"], 1);
    let world = World::at(world.shutdown().await).await;
    assert_eq!(world.get(&build_path).await.body["cfv"], 1, "a version is durable");
}

/// Reference 3.10: the progress of a build's installs; and issue 3: a server whose build is not there says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_installs_say_how_far_machines_are_and_servers_what_they_wait_for() {
    let (world, agent) = World::with_agent(1, Habit::Sleeps).await;
    let machine = agent.machine;
    let configuration = world.configuration().await;
    world.allocate(id(1)).await;
    let order = agent.first_order().await;
    let starting = Status {
        server: order.server,
        generation: order.generation,
        configuration: None,
        run: 0,
        phase: Phase::Starting { pid: None },
    };
    agent.report(starting).await;
    let install = |bytes_done, stage| {
        let installs =
            vec![Install { configuration: order.configuration, bytes_done, bytes_all: Some(9), stage }];
        Up::Installs(Installs { machine, installs, disk: None })
    };
    let server = format!("/v1/servers/{}", order.server.number());
    agent.say(install(4, InstallStage::Coming)).await;
    world
        .eventually(&server, |seen| seen["detail"].as_str().is_some_and(|it| it.contains("4 of 9 bytes")))
        .await;
    let builds = world.get(&gateway("builds", "/builds")).await.body;
    let installs = gateway("builds", &format!("/builds/{}/installs", builds[0]["buildID"]));
    let seen = world.get(&installs).await.body;
    assert_eq!(
        (&seen[0]["pendingMachines"], &seen[0]["completedMachines"]),
        (&1.into(), &0.into()),
        "{seen}"
    );
    let stuck = InstallStage::Stuck { code: "MS-S435".to_owned(), detail: "no room".to_owned() };
    agent.say(install(4, stuck)).await;
    let seen = world
        .eventually(&installs, |seen| seen[0]["failures"].as_array().is_some_and(|it| !it.is_empty()))
        .await;
    assert_eq!(seen[0]["failures"][0]["reason"], "MS-S435: no room", "{seen}");
    let fleet = world.get("/v1/fleets").await.body;
    assert_eq!(fleet["items"][0]["installs"][0]["buildConfigurationId"], configuration, "{fleet}");
    agent.say(install(9, InstallStage::Complete)).await;
    let done = world.eventually(&installs, |seen| seen[0]["completedMachines"] == 1).await;
    assert_eq!(done[0]["pendingMachines"], 0, "{done}");
    world.eventually(&server, |seen| seen["detail"].is_null()).await;
}
