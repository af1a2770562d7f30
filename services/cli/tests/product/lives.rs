//! Processes die, and what then happens: of one server, and of `mainstay up` itself.

use mainstay_query::Protocol;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::allocations::fleet_of;
use crate::caller::new_id;
use crate::product::{Home, lives, until};
use crate::query::ask;

/// The headline: kill the process of an allocated server, and it comes back under the same allocation.
#[test]
fn a_killed_server_comes_back_under_the_same_allocation() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    caller.allocate(&fleet, &id);
    let server = caller.fulfilled(&fleet, &id)["serverId"].to_string();
    let before = up.pid_when(&server, "ALLOCATED");
    kill(Pid::from_raw(before), Signal::SIGKILL).unwrap();
    let after = until("another process for the same allocation", || {
        let pid = up.pid_when(&server, "ALLOCATED");
        (pid != before).then_some(pid)
    });
    assert!(lives(after));
    assert_eq!(up.server(&server)["allocationId"], id.as_str());
    let seen = caller.fulfilled(&fleet, &id);
    assert_eq!(seen["serverId"].to_string(), server);
    let port = u16::try_from(up.server(&server)["queryPort"].as_u64().unwrap()).unwrap();
    until("the new process answers its query", || ask(&Protocol::Sqp, port));
}

/// Issue 2, section 7: `up` can be killed with SIGKILL and restarted; servers go on, nothing is started twice.
#[test]
fn servers_outlive_a_killed_up_and_the_next_one_adopts_them() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    caller.allocate(&fleet, &id);
    let server = caller.fulfilled(&fleet, &id)["serverId"].to_string();
    up.pid_when(&server, "ALLOCATED");
    let before = until("all servers run", || {
        let servers = up.servers();
        servers.iter().all(|one| one["pid"].is_i64()).then(|| pids(&servers))
    });
    up.kill_nine();
    assert!(before.iter().all(|(_, pid)| lives(i32::try_from(*pid).unwrap())), "servers go on without `up`");
    let up = home.up(&["--demo"]);
    let after = until("all servers are seen again", || {
        let servers = up.servers();
        servers.iter().all(|one| one["pid"].is_i64()).then(|| pids(&servers))
    });
    assert_eq!(after, before, "the same processes, each once");
    assert_eq!(up.server(&server)["allocationId"], id.as_str());
    assert_eq!(up.caller().fulfilled(&fleet, &id)["serverId"].to_string(), server);
}

fn pids(servers: &[serde_json::Value]) -> Vec<(String, i64)> {
    let mut pids: Vec<(String, i64)> =
        servers.iter().map(|one| (one["id"].to_string(), one["pid"].as_i64().unwrap())).collect();
    pids.sort();
    pids
}
