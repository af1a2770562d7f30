//! Players, CPU and memory over time, as agents read them (reference 3.9), and the gauges made of them.

use mainstay_core::slot::{Heard, Reading};
use mainstay_wire::agent::{Readings, Up};
use serde_json::{Value, json};

use crate::admin::{client, gateway};
use crate::agent::{Habit, PaperAgent};
use crate::support::{FLEET, REGION, World};

impl PaperAgent {
    /// Says what it read of a server.
    async fn reads(&self, server: usize, players: u32) {
        let reading = Reading {
            cpu_millis: Some(250),
            memory_bytes: Some(64 << 20),
            heard: Heard::Answer { players: Some(players), players_max: Some(16) },
        };
        let readings = vec![(self.servers[server], reading)];
        self.say(Up::Readings(Readings { machine: self.machine, readings })).await;
    }
}

/// The newest value of a series.
fn last(body: &Value, series: usize) -> Value {
    let data = body[series]["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    data.last().map(|point| point[1].clone()).unwrap_or_default()
}

/// Shows `GET /fleets/{id}/ccu`, `GET /fleets/{id}/users-per-build-configuration`, `GET /fleets/analytics/ccu`, `GET
/// /fleets/analytics/ccustats`, `GET /servers/{id}/ccu`, `GET /servers/{id}/compute`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn players_and_compute_are_told_as_they_were_read() {
    let (world, agent) = World::with_agent(3, Habit::Obeys).await;
    for server in 0..2 {
        let path = format!("/v1/servers/{}/actions", agent.servers[server].number());
        assert_eq!(world.post(&path, &json!({ "action": "start" })).await.status, 202);
        let server = format!("/v1/servers/{}", agent.servers[server].number());
        world.eventually(&server, |it| it["status"] == "ONLINE").await;
    }
    agent.reads(0, 5).await;
    agent.reads(1, 7).await;
    let fleet = |what: &str| client("fleets", &format!("/fleets/{FLEET}/{what}"));
    let ccu = world.eventually(&fleet("ccu?period=hour"), |it| last(it, 0) == 12.0).await;
    assert_eq!(ccu[0]["name"], "ccu", "{ccu}");
    let here = world.get(&fleet(&format!("ccu?regionId={REGION}"))).await.body;
    assert_eq!(last(&here, 0), 12.0, "{here}");
    let users = world.get(&fleet("users-per-build-configuration")).await.body;
    assert_eq!((&users[0]["name"], last(&users, 0)), (&json!("ranked"), json!(12.0)), "{users}");
    let all = world.get(&gateway("fleets", "/fleets/analytics/ccu")).await.body;
    assert_eq!(last(&all, 0), 12.0, "{all}");
    let stats = world.get(&gateway("fleets", "/fleets/analytics/ccustats")).await.body;
    let names: Vec<&str> = stats.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!((names, last(&stats, 0)), (vec!["current", "peak", "average"], json!(12.0)), "{stats}");
    let server =
        |n: usize, what: &str| gateway("servers", &format!("/servers/{}/{what}", agent.servers[n].number()));
    let ccu = world.get(&server(1, "ccu")).await.body;
    assert_eq!(last(&ccu, 0), 7.0, "{ccu}");
    let compute = world.get(&server(0, "compute")).await.body;
    assert_eq!((&compute[0]["name"], last(&compute, 0)), (&json!("cpu"), json!(0.25)), "{compute}");
    assert_eq!(
        (&compute[1]["name"], last(&compute, 1)),
        (&json!("memory"), json!(67_108_864.0)),
        "{compute}"
    );
    // Nothing was read of the third.
    assert_eq!(last(&world.get(&server(2, "ccu")).await.body, 0), Value::Null);
    let metrics = world.get("/metrics").await.text;
    for line in [
        "mainstay_players_connected{fleet=\"arena\"} 12",
        "mainstay_player_capacity{fleet=\"arena\"} 32",
        "mainstay_machine_heartbeat_age_seconds_max{region=\"local\"} ",
        "mainstay_event_log_seq ",
        "mainstay_event_log_fsync_seconds_count ",
    ] {
        assert!(metrics.lines().any(|it| it.starts_with(line)), "{line} in\n{metrics}");
    }
}
