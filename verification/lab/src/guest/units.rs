//! The systemd units: what systemd thinks of them, and that restarts of a service are nothing to the games.

use std::process::Command;

use crate::product::{Product, configuration, configure, fleet, lives, main_pid, systemctl, until};
use crate::{run as run_program, wire};

const SESSION: &str = "00000000-0000-4000-8000-000000000001";
const JOINED: &str = "00000000-0000-4000-8000-000000000002";
const LIMITS: &str = "    limits: { cpu: 0.25, memoryMiB: 64 }\n";
/// A fleet that this machine gives two slots and that may have three.
const GROWING: &str = "    startOnProvision: true\nmachines: { join: allowed }\n";

pub fn run() {
    for unit in ["mainstay", "mainstay-agent"] {
        let said = run_program(
            Command::new("systemd-analyze")
                .args(["verify", "--man=no", "--recursive-errors=no"])
                .arg(unit_file(unit)),
        );
        assert_eq!(said.trim(), "", "{unit}");
    }
    wire::holds("systemd finds nothing wrong with the units");

    let fleet = fleet("here", 2, GROWING).replace("maxServers: 2", "maxServers: 3");
    configure("", &configuration("here", LIMITS), &fleet);
    systemctl(&["start", "mainstay"]);
    let product = Product::connect();
    product.allocate("here", SESSION);
    let playing = product.playing(1, 2);
    let session = |product: &Product| {
        let servers = product.servers();
        let found = servers.iter().find(|server| server.allocation_id.as_deref() == Some(SESSION));
        found.expect("the session goes on").pid
    };
    let held = session(&product);

    for (what, words) in [
        ("a restart", ["restart", "mainstay"].as_slice()),
        ("SIGKILL of the service's own process", &["kill", "--kill-whom=main", "--signal=KILL", "mainstay"]),
    ] {
        let before = main_pid("mainstay");
        systemctl(words);
        until("another process of the service", || {
            let pid = systemctl(&["show", "--property=MainPID", "--value", "mainstay"]);
            (pid != "0" && pid != before.to_string()).then_some(())
        });
        let product = Product::connect();
        assert_eq!(product.playing(1, 2), playing, "after {what}");
        assert_eq!(session(&product), held);
        wire::holds(format!("{what} of mainstay leaves the games, and their processes are adopted"));
    }

    systemctl(&["stop", "mainstay"]);
    assert!(playing.iter().all(|(_, pid)| lives(*pid)), "games go on without the service");
    systemctl(&["start", "mainstay"]);
    let product = Product::connect();
    assert_eq!(product.playing(1, 2), playing, "after a stop and a start");
    wire::holds("a stop of mainstay leaves the games; the next start adopts them");

    agent(&product, &playing);
}

/// Another machine's agent, which happens to be this one.
fn agent(product: &Product, playing: &[(u64, u32)]) {
    std::fs::write("/etc/mainstay/join-token", &product.join_token).expect("a file");
    let settings = format!(
        "MAINSTAY_JOIN={}\nMAINSTAY_FLEET=here\nMAINSTAY_REGION=Home\nMAINSTAY_SLOTS=1\n\
         MAINSTAY_PORTS=21000-21099\nMAINSTAY_GAMES_PORT=8087\n",
        product.agents
    );
    std::fs::write("/etc/mainstay/agent.env", settings).expect("a file");
    systemctl(&["start", "mainstay-agent"]);
    product.allocate("here", JOINED);
    let with_joined = product.playing(2, playing.len() + 1);
    for words in
        [["restart", "mainstay-agent"].as_slice(), &["stop", "mainstay-agent"], &["start", "mainstay-agent"]]
    {
        systemctl(words);
        assert!(with_joined.iter().all(|(_, pid)| lives(*pid)), "after {words:?}");
    }
    assert_eq!(product.playing(2, with_joined.len()), with_joined, "adopted, not started again");
    wire::holds("restart, stop and start of mainstay-agent leave the games, and their processes are adopted");
}

fn unit_file(unit: &str) -> String {
    format!("/etc/systemd/system/{unit}.service")
}
