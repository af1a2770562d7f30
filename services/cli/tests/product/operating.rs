//! What operators and their programs do with a running instance: metrics, health, the admin API's builds and logs.

use serde_json::{Value, json};

use crate::caller::{Caller, new_id};
use crate::game::{Game, Idle};
use crate::product::{Home, until};

/// A path of the admin API.
pub fn admin(caller: &Caller, area: &str, suffix: &str) -> String {
    format!("/multiplay/{area}/v1/projects/{}/environments/{}{suffix}", caller.project, caller.environment)
}

#[track_caller]
fn made(caller: &Caller, path: &str, body: &Value) -> Value {
    let answer = caller.post(path, body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Issue 3, section 6; and its log, a JSON object a line where that is asked for.
#[test]
fn metrics_and_health_of_a_running_instance() {
    let home = Home::new();
    let up = home.up_with(&["--demo"], &[("MAINSTAY_LOG", "info"), ("MAINSTAY_LOG_FORMAT", "json")]);
    let caller = up.caller();
    let made = up.json(&["allocation", "create", "--fleet", "tugboat"]);
    assert!(made["serverId"].is_u64(), "{made}");
    let metrics = until("the history has followed the allocation", || {
        let text = caller.get("/metrics").text;
        text.contains("mainstay_allocation_seconds_count{fleet=\"tugboat\",result=\"fulfilled\"} 1")
            .then_some(text)
    });
    for line in
        ["mainstay_servers{fleet=\"tugboat\",region=", "mainstay_build_info{version=", "process_open_fds "]
    {
        assert!(metrics.contains(line), "{line} in\n{metrics}");
    }
    for path in ["/healthz", "/readyz"] {
        let health = caller.get(path);
        assert_eq!((health.status, &health.json()["status"]), (200, &json!("ok")), "{health:?}");
    }
    let log = until("a whole line of the log", || Some(up.log()).filter(|log| log.ends_with('\n')));
    for line in log.lines() {
        let told: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in: {line}"));
        let (level, at) = (&told["level"], &told["timestamp"]);
        assert!(level.is_string() && at.is_string() && told["fields"].is_object(), "{line}");
    }

    // The description of the calls is what a stock validator takes for OpenAPI.
    let python = std::env::var_os("MAINSTAY_TEST_PYTHON")
        .expect("MAINSTAY_TEST_PYTHON names no Python with openapi-spec-validator: run ./check");
    let document = home.path().with_file_name("openapi.json");
    std::fs::write(&document, caller.get("/v1/openapi.json").text).unwrap();
    let judged =
        std::process::Command::new(python).args(["-m", "openapi_spec_validator"]).arg(&document).output();
    let judged = judged.unwrap_or_else(|error| panic!("{error}: run ./check"));
    let said =
        [judged.stdout, judged.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(judged.status.success(), "{said}");
}

/// Reference 3.10: name a file, send its bytes to the signed URL, make a version; then a server runs it, and its lines are
/// found by the search of 3.11. Issue 3, section 3: "New build versions install progressively (allocated servers finish first)
/// or forced."
#[test]
fn an_uploaded_build_runs_and_its_log_is_searched() {
    let (home, game) = (Home::new(), Game::new(Idle::Stopped, ""));
    let up = home.up(&[game.file()]);
    let caller = up.caller();
    let build = made(&caller, &admin(&caller, "builds", "/builds"), &json!({ "buildName": "uploaded" }));
    let build = &build["buildID"];
    let files = admin(&caller, "builds", &format!("/builds/{build}/files"));
    let release = |words: &str, asked: &Value| {
        let named = caller.put(&files, json!({ "path": "bin/server" }).to_string().as_bytes()).json();
        let script = format!("#!/bin/sh\necho {words}\nexec sleep 600\n");
        let sent = caller.put(named["signedUrl"].as_str().unwrap(), script.as_bytes());
        assert_eq!((sent.status, &sent.json()["uploaded"]), (200, &json!(true)), "{sent:?}");
        let versions = admin(&caller, "builds", &format!("/builds/{build}/versions"));
        let version = caller.post(&versions, asked.to_string().as_bytes());
        assert_eq!(version.status, 202, "{version:?}");
    };
    release("the uploaded build runs", &json!({}));
    let configuration = made(
        &caller,
        &admin(&caller, "build-configurations", "/build-configurations"),
        &json!({
            "name": "uploaded", "buildID": build, "queryType": "none", "binaryPath": "bin/server", "commandLine": "",
            "cores": 1, "speed": 100, "memory": 64,
        }),
    );
    let fleet = up.json(&["fleet", "list"])[0].clone();
    let id = fleet["id"].as_str().unwrap();
    let both = json!({
        "name": fleet["name"],
        "buildConfigurations": [fleet["buildConfigurations"][0]["id"], configuration["id"]],
    });
    let changed =
        caller.put(&admin(&caller, "fleets", &format!("/fleets/{id}")), both.to_string().as_bytes());
    assert_eq!(changed.status, 200, "{changed:?}");
    let test_allocations = admin(&caller, "allocations", &format!("/fleets/{id}/test-allocations"));
    let of = |session: &str| format!("{test_allocations}/{session}");
    let play = || {
        let session = new_id();
        let asked = json!({
            "allocationId": session, "buildConfigurationId": configuration["id"],
            "regionId": fleet["regions"][0]["id"],
        });
        let accepted = caller.post(&test_allocations, asked.to_string().as_bytes());
        assert_eq!(accepted.status, 202, "{accepted:?}");
        let server = until("the uploaded build plays", || {
            let seen = caller.get(&of(&session)).json();
            seen.get("fulfilled")?;
            Some(seen["serverId"].to_string())
        });
        (session, server)
    };
    let (session, server) = play();
    let search = admin(&caller, "logs", "/logs/search");
    let query = json!({ "query": "uploaded RUNS", "size": 10, "filters": { "serverId": server } });
    let found = until("the line is found", || {
        let answer = caller.post(&search, query.to_string().as_bytes()).json();
        (answer["count"] == 1).then_some(answer)
    });
    assert_eq!(found["hits"][0]["message"], "the uploaded build runs", "{found}");
    let logs = caller.get(&admin(&caller, "servers", &format!("/servers/{server}/logs"))).json();
    let output = logs.as_array().unwrap().iter().find(|it| it["size"] != 0).unwrap();
    let url = output["downloadURL"].as_str().unwrap();
    assert_eq!(caller.get(url.strip_prefix(&caller.api).unwrap()).text, "the uploaded build runs\n");

    let pid = up.pid_when(&server, "ALLOCATED");
    release("the second version runs", &json!({}));
    let revision = || {
        let fleet = up.json(&["fleet", "get", id]);
        let all = fleet["buildConfigurations"].as_array().unwrap().iter();
        all.filter(|it| it["id"] == configuration["id"]).find_map(|it| it["revision"].as_u64())
    };
    let newest = until("the fleet has the second version", || revision().filter(|newest| *newest > 1));
    assert_eq!(up.pid_when(&server, "ALLOCATED"), pid, "the session finishes in the version it began in");
    assert_eq!(caller.delete(&of(&session)).status, 204);
    let (session, server) = play();
    assert_eq!(up.server(&server)["buildConfigurationRevision"], newest);
    until("the next session's server says so", || {
        up.output_of(&up.server(&server)).contains("the second version runs").then_some(())
    });

    release("the third version runs", &json!({ "forceRollout": true }));
    let ended = until("a forced version ends the session", || {
        let seen = up.json(&["allocation", "get", &session]);
        seen["endReason"].is_string().then_some(seen)
    });
    assert_eq!(ended["endReason"], "a build version was forced onto its server", "{ended}");
    let (_, server) = play();
    until("the third version's server says so", || {
        up.output_of(&up.server(&server)).contains("the third version runs").then_some(())
    });
}
