//! `mainstay agent`: another machine joins, and its agent comes and goes while its servers play.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::allocations::fleet_of;
use crate::caller::new_id;
use crate::operating::admin;
use crate::product::{Home, Product, lives, until};

/// A fleet that has one slot here, may have two, and lets machines join.
pub fn growing() -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_mainstay"));
    format!(
        "version: 1.0\n\
         builds:\n  game:\n    executableName: mainstay\n    buildPath: {folder:?}\n\
         buildConfigurations:\n  plain:\n    build: game\n    queryType: sqp\n    binaryPath: {binary:?}\n    \
         commandLine: demo server --port $$port$$ --query-port $$query_port$$\n\
         fleets:\n  here:\n    buildConfigurations: [plain]\n    \
         usageSettings: [{{ hardwareType: METAL, maxServersPerMachine: 1 }}]\n    \
         regions:\n      Home: {{ minAvailable: 0, maxServers: 2 }}\n\
         machines: {{ join: allowed }}\n",
        folder = program.parent().unwrap().display().to_string(),
        binary = program.file_name().unwrap().to_str().unwrap(),
    )
}

struct Agent(Child);

impl Agent {
    fn start(home: &Home, up: &Product<'_>) -> Self {
        let token = home.path().with_file_name("token");
        std::fs::write(&token, up.file("credentials.json")["joinToken"].as_str().unwrap()).unwrap();
        let join = up.file("ports.json")["agents"].as_str().unwrap().to_owned();
        let mut child = home
            .command(&[
                "agent",
                "--fleet",
                "here",
                "--region",
                "Home",
                "--ports",
                "9200-9899",
                "--games-port",
                "0",
            ])
            .args(["--join", &join, "--token-file", token.to_str().unwrap()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("agent running"), "{line:?}");
        Self(child)
    }

    fn end(mut self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), signal).unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Ended already is as good.
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Issue 2, section 9: "When no slot is free but the fleet can grow, the allocation is accepted and waits"; section 7:
/// "SIGTERM of `agent` leaves them, so upgrades keep players".
#[test]
fn an_allocation_waits_for_a_machine_whose_agent_may_then_come_and_go() {
    let (home, far) = (Home::new(), Home::new());
    let file = home.path().with_file_name("growing.yaml");
    std::fs::write(&file, growing()).unwrap();
    let up = home.up(&[file.to_str().unwrap()]);
    let (caller, fleet) = (up.caller(), fleet_of(&up));
    let (first, second) = (new_id(), new_id());
    caller.allocate(&fleet, &first);
    caller.fulfilled(&fleet, &first);
    caller.allocate(&fleet, &second);
    let waiting = up.json(&["allocation", "get", &second]);
    assert_eq!((&waiting["state"], &waiting["serverId"]), (&Value::from("waiting"), &Value::Null));

    let agent = Agent::start(&far, &up);
    let server = caller.fulfilled(&fleet, &second)["serverId"].to_string();
    let pid = up.pid_when(&server, "ALLOCATED");
    let machines = || up.json(&["machine", "list"]).as_array().unwrap().clone();
    assert_eq!(machines().len(), 2);

    let everyone_is_heard =
        || machines().iter().all(|machine| machine["status"] == "connected").then_some(());
    let somebody_is_silent =
        || machines().iter().any(|machine| machine["status"] != "connected").then_some(());
    let mut agent = agent;
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        until("the agent is heard", everyone_is_heard);
        agent.end(signal);
        until("the agent is gone", somebody_is_silent);
        assert!(lives(pid), "the session goes on without its agent");
        assert_eq!(up.json(&["allocation", "get", &second])["state"], "fulfilled");
        agent = Agent::start(&far, &up);
        until("the next agent is heard", everyone_is_heard);
        assert_eq!(up.pid_when(&server, "ALLOCATED"), pid, "adopted, not started again");
    }

    // Issue 3, point 3: density by the fleet's usage settings, also as the admin API changes them, on a machine that joined and
    // on this one; under the sessions that go on.
    let known = up.json(&["fleet", "get", "here"]);
    let usage = serde_json::json!({
        "name": "here",
        "buildConfigurations": [known["buildConfigurations"][0]["id"]],
        "usageSettings": [{ "hardwareType": "METAL", "maxServersPerMachine": 2 }],
    });
    let path = admin(&caller, "fleets", &format!("/fleets/{}", known["id"].as_str().unwrap()));
    let changed = caller.put(&path, usage.to_string().as_bytes());
    assert_eq!(changed.status, 200, "{changed:?}");
    until("both machines have two slots", || {
        machines().iter().all(|machine| machine["servers"]["total"] == 2).then_some(())
    });
    for machine in machines() {
        let host = up.json(&["machine", "get", &machine["id"].to_string()])["host"].clone();
        assert_eq!((&host["room"], &host["bound"]), (&2.into(), &"maxServersPerMachine".into()), "{host}");
        assert!(host["cores"].as_u64() > Some(0) && host["memoryMib"].as_u64() > Some(0), "{host}");
    }
    assert_eq!(up.pid_when(&server, "ALLOCATED"), pid, "more slots, and the session goes on");
}
