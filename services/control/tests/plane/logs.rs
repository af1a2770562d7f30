//! Logs and files of servers by the admin API (reference multiplay.md 3.11), one test an endpoint.

use std::time::Duration;

use mainstay_core::FleetId;
use mainstay_fleet::Growth;
use serde_json::json;
use uuid::Uuid;

use crate::agent::{Habit, PaperAgent, joining};
use crate::support::{ALLOCATOR, ENVIRONMENT, FLEET, PROJECT, TOKEN, World, basic, declaration};

/// How many servers are asked for their files at once.
const ASKED_AT_ONCE: usize = 16;

fn at(area: &str, suffix: &str) -> String {
    format!("/api/multiplay/{area}/v4/projects/{PROJECT}/environments/{ENVIRONMENT}{suffix}")
}

/// A world whose server 1 has logs, output and a core.
async fn world() -> (World, u64) {
    let (world, agent) = World::with_agent(2, Habit::Obeys).await;
    let slot = world.dir.path().join("slot");
    for (path, text) in [
        ("logs/server.log", "map harbour loaded\nplayer ann joined\nplayer bob joined\n"),
        ("output/stdout", "listening\n"),
        ("evidence/7/core", "core of player\n"),
    ] {
        let file = slot.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    (world, agent.servers[0].number())
}

fn token(url: &serde_json::Value) -> String {
    url.as_str().unwrap().split_once("/v1/files/").map(|(_, token)| format!("/v1/files/{token}")).unwrap()
}

/// Shows `GET /servers/{id}/logs`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_server_logs_lists_files_whose_links_download_them() {
    let (world, server) = world().await;
    let list = world.get(&at("servers", &format!("/servers/{server}/logs"))).await.body;
    let files: Vec<&str> = list.as_array().unwrap().iter().map(|it| it["file"].as_str().unwrap()).collect();
    assert_eq!(files, ["evidence/7/core", "logs/server.log", "output/stdout"]);
    assert_eq!(list[0]["size"], 15);
    let core = world.call("GET", &token(&list[0]["downloadURL"]), None, vec![]).await;
    assert_eq!((core.status, core.text.as_str()), (200, "core of player\n"));
    world.call("PUT", &token(&list[0]["downloadURL"]), None, vec![]).await.expect(403, "MS-A002");
    // A link is as good as the account that made it.
    let account = world.post("/v1/service-accounts", &json!({ "role": "operator" })).await.body;
    let word = |name: &str| account[name].as_str().unwrap();
    let theirs = basic((word("keyId"), word("secretKey")));
    let path = at("servers", &format!("/servers/{server}/logs"));
    let list = world.call("GET", &path, Some(&theirs), vec![]).await.body;
    let read = async || world.call("GET", &token(&list[0]["downloadURL"]), None, vec![]).await;
    assert_eq!(read().await.status, 200);
    assert_eq!(world.delete(&format!("/v1/service-accounts/{}", word("keyId"))).await.status, 204);
    read().await.expect(403, "MS-A002");
    // Its machine is heard; its agent takes no such questions.
    world.get(&at("servers", &format!("/servers/{}/logs", server + 1))).await.expect(503, "MS-S608");
    let allocator = basic(ALLOCATOR);
    let denied =
        world.call("GET", &at("servers", &format!("/servers/{server}/logs")), Some(&allocator), vec![]).await;
    denied.expect(403, "MS-A003");
}

/// Shows `GET /servers/{id}/logs/link`, `GET /servers/{id}/logs/preview`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_server_logs_link_and_preview_show_one_file() {
    let (world, server) = world().await;
    let of = |what: &str| at("servers", &format!("/servers/{server}/logs/{what}"));
    let link = world.get(&of("link?file=logs/server.log")).await.body;
    let text = world.call("GET", &token(&link["url"]), None, vec![]).await.text;
    assert!(text.starts_with("map harbour"), "{text}");
    assert_eq!(world.get(&of("preview?file=output/stdout")).await.body, json!("listening"));
    world.get(&of("preview?file=../home/server.json")).await.expect(404, "MS-S608");
    world.get(&of("link")).await.expect(400, "MS-U101");
}

/// Shows `POST /logs/search`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn post_logs_search_finds_lines_page_by_page() {
    let (world, server) = world().await;
    let search = at("logs", "/logs/search");
    let asked = json!({ "query": "PLAYER joined", "size": 1, "filters": { "fleetId": FLEET } });
    let first = world.post(&search, &asked).await.body;
    assert_eq!(
        (&first["count"], &first["hits"][0]["message"]),
        (&json!(1), &json!("player ann joined")),
        "{first}"
    );
    assert_eq!(first["hits"][0]["metadata"]["serverId"], server.to_string());
    assert_eq!(first["hits"][0]["metadata"]["source"], "logs/server.log");
    let next = world.post(&search, &json!({ "paginationToken": first["paginationToken"] })).await.body;
    assert_eq!(next["hits"][0]["message"], "player bob joined", "{next}");
    let last = world.post(&search, &json!({ "paginationToken": next["paginationToken"] })).await.body;
    assert_eq!((&last["count"], &last["paginationToken"]), (&json!(0), &json!("")), "{last}");
    let none = json!({ "query": "core", "filters": {} });
    assert_eq!(world.post(&search, &none).await.body["count"], 0, "cores are not searched");
    let source = json!({ "query": "", "filters": { "source": "output/stdout" } });
    assert_eq!(world.post(&search, &source).await.body["hits"][0]["message"], "listening");
    world.post(&search, &json!({ "paginationToken": "!" })).await.expect(400, "MS-U101");
    // Lines have no times: those of a file that was written since may be as old as anything.
    for (from, to, hits) in [
        ("1999-01-01T00:00:00Z", "1999-01-02T00:00:00Z", 2),
        ("1999-01-01T00:00:00Z", "2999-01-01T00:00:00Z", 2),
        ("2999-01-01T00:00:00Z", "2999-01-02T00:00:00Z", 0),
    ] {
        let asked = json!({ "query": "player joined", "filters": { "from": from, "to": to } });
        assert_eq!(world.post(&search, &asked).await.body["count"], hits, "{from} to {to}");
    }
}

/// Shows `GET /logs/status`, `POST /logs/status`, `GET /logs/usage`, `GET /logs/fleets`, `GET /logs/servers`, `GET
/// /logs/fleets/{f}/servers`, `GET /logs/fleets/{f}/servers/{s}/files`, `POST /logs/downloadlink`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_status_usage_fleets_servers_and_files_are_told() {
    let (world, server) = world().await;
    assert_eq!(world.get(&at("logs", "/logs/status")).await.body["status"], "ENABLED");
    let set =
        async |enabled: bool| world.post(&at("logs", "/logs/status"), &json!({ "enabled": enabled })).await;
    assert_eq!(set(true).await.body["status"], "ENABLED");
    set(false).await.expect(400, "MS-U101");
    for (word, status) in [("ENABLED", 200), ("DISABLED", 400)] {
        let answer = world.post(&at("logs", "/logs/status"), &json!({ "status": word })).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    let usage = world.get(&at("logs", "/logs/usage")).await.body;
    assert_eq!(usage["usage"], 65.0, "{usage}");
    assert!(usage["capacity"].as_f64() > usage["remaining"].as_f64());
    assert_eq!(world.get(&at("logs", "/logs/fleets")).await.body[0]["name"], "arena");
    let servers = json!([server.to_string(), (server + 1).to_string()]);
    assert_eq!(world.get(&at("logs", "/logs/servers")).await.body, servers);
    assert_eq!(world.get(&at("logs", &format!("/logs/fleets/{FLEET}/servers"))).await.body, servers);
    let files = world.get(&at("logs", &format!("/logs/fleets/{FLEET}/servers/{server}/files"))).await.body;
    assert_eq!(files[0], json!({ "source": "logs/server.log", "name": "server.log" }));
    let link = world
        .post(&at("logs", "/logs/downloadlink"), &json!({ "source": format!("{server}/output/stdout") }))
        .await;
    let text = world.call("GET", &token(&link.body["url"]), None, vec![]).await.text;
    assert_eq!(text, "listening\n", "{}", link.text);
    // The logs area has servers' ids as texts.
    let named = json!({ "path": "output/stdout", "serverId": server.to_string() });
    assert_eq!(world.post(&at("logs", "/logs/downloadlink"), &named).await.status, 200);
}

/// Issue 3, point 8: "logs (search, files, download)" are those of every server, however many there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_lines_of_the_last_of_many_servers_are_found() {
    let (world, _) = world().await;
    let mut another = declaration(Growth::Fixed, Duration::from_secs(60)).fleets.remove(0);
    (another.name, another.id) = ("last".into(), FleetId(Uuid::from_u128(0xf1ee_7000)));
    let mut declared = declaration(Growth::Fixed, Duration::from_secs(60));
    declared.fleets.push(another);
    world.plane.apply(declared).await.unwrap();
    // With the two there are, more than one search looks at.
    let many = world.agent(2, 1_000, Habit::Obeys).await;
    let last = PaperAgent::connect(world.plane.agents(), TOKEN, joining(3, "last", 1), Habit::Obeys).await;
    let last = last.servers[0].number();

    let servers = world.get(&at("logs", "/logs/servers")).await.body;
    let servers = servers.as_array().unwrap();
    assert_eq!(servers.len(), many.servers.len() + 3);
    assert_eq!(*servers.last().unwrap(), json!(last.to_string()));
    assert_eq!(world.get(&at("logs", "/logs/usage")).await.body["usage"], 2.0 * 65.0);
    assert_eq!(world.get(&at("files", "/files")).await.body.as_array().unwrap().len(), 6);
    let named = world.get(&at("files", &format!("/files?serverIds={last}"))).await.body;
    assert_eq!((named.as_array().unwrap().len(), &named[0]["serverID"]), (3, &json!(last)));
    // A machine far away that is slow to answer is waited for once, and not once for each of its servers.
    for path in [at("logs", "/logs/usage"), at("files", "/files")] {
        world.askers.want(ASKED_AT_ONCE);
        assert_eq!(world.get(&path).await.status, 200, "{path}: they are asked one after another");
        assert_eq!(world.askers.most(), ASKED_AT_ONCE, "{path}");
    }
    world.askers.want(0);

    let search = at("logs", "/logs/search");
    let asked = json!({ "query": "ann", "filters": { "serverId": last.to_string() } });
    assert_eq!(world.post(&search, &asked).await.body["count"], 1);
    let first = world.post(&search, &json!({ "query": "ann", "filters": {} })).await.body;
    assert_eq!(first["count"], 1, "{first}");
    let next = world.post(&search, &json!({ "paginationToken": first["paginationToken"] })).await.body;
    assert_eq!(next["hits"][0]["metadata"]["serverId"], last.to_string(), "{next}");
    assert_eq!((&next["count"], &next["paginationToken"]), (&json!(1), &json!("")), "{next}");
}

/// Shows `at most 600 files`: "limit default and max 600" (reference 3.11).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_most_six_hundred_files_are_listed() {
    let (world, _) = world().await;
    let logs = world.dir.path().join("slot/logs");
    for n in 0..600 {
        std::fs::write(logs.join(format!("{n}.log")), "").unwrap();
    }
    for asked in ["", "?limit=601", "?limit=600"] {
        let listed = world.get(&at("files", &format!("/files{asked}"))).await.body;
        assert_eq!(listed.as_array().unwrap().len(), 600, "{asked}");
    }
}

/// Shows `files filter`, `core dumps`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_listed_filtered_and_downloaded_cores_among_them() {
    let (world, server) = world().await;
    let all = world.get(&at("files", "/files")).await.body;
    assert_eq!(all.as_array().unwrap().len(), 3);
    assert_eq!(
        (&all[0]["path"], &all[0]["fileSize"], &all[0]["serverID"]),
        (&json!("evidence/7/core"), &json!(15), &json!(server))
    );
    assert_eq!(
        (&all[0]["fleet"]["name"], &all[0]["machine"]["location"]),
        (&json!("arena"), &json!("local"))
    );
    let cores = world
        .post(&at("files", "/files"), &json!({ "pathFilter": "core", "serverIds": [server], "limit": 5 }))
        .await;
    assert_eq!(cores.body.as_array().unwrap().len(), 1);
    let count = async |asked: &str| {
        world.get(&at("files", &format!("/files?{asked}"))).await.body.as_array().map(Vec::len)
    };
    for (asked, found) in [
        ("modifiedTo=1999-01-01T00:00:00Z", 0),
        ("modifiedTo=2999-01-01T00:00:00Z", 3),
        ("modifiedFrom=1999-01-01T00:00:00Z", 3),
        ("modifiedFrom=2999-01-01T00:00:00Z", 0),
        ("limit=2", 2),
    ] {
        assert_eq!(count(asked).await, Some(found), "{asked}");
    }
    let written = cores.body[0]["lastModified"].as_str().unwrap();
    assert!(written.len() <= "2026-11-20T12:00:00.000Z".len(), "to the millisecond: {written}");
    assert_eq!(world.get(&at("files", "/files?modifiedTo=1999-01-01T00:00:00Z")).await.body, json!([]));
    assert_eq!(world.get(&at("files", &format!("/files?serverIds={}", server + 1))).await.body, json!([]));
    let link = world
        .post(&at("files", "/files/download"), &json!({ "path": "evidence/7/core", "serverId": server }))
        .await;
    let core = world.call("GET", &token(&link.body["url"]), None, vec![]).await;
    assert_eq!(core.text, "core of player\n", "{}", link.text);
    let gone = json!({ "path": "output/stdout", "serverId": server + 99 });
    world.post(&at("files", "/files/download"), &gone).await.expect(404, "MS-S001");
    world
        .post(&at("files", "/files/download"), &json!({ "path": "run/lock", "serverId": server }))
        .await
        .expect(404, "MS-S608");
}
