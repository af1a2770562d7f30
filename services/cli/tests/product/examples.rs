//! `examples/teeworlds` and `examples/minetest`: the stock servers of those Debian packages, from allocation to free
//! ports (issue 2, section 13).

use std::net::UdpSocket;
use std::path::Path;

use mainstay_query::Protocol;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::allocations::fleet_of;
use crate::caller::new_id;
use crate::product::{Home, lives, until};
use crate::query::ask;

/// Allocates, asks the real server, kills it, sees it back, deallocates, stops, and finds the ports free.
#[track_caller]
fn from_allocation_to_free_ports(example: &str, protocol: &Protocol, program: &str) {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example).join("mainstay.yaml");
    let home = Home::new();
    let up = home.up(&[file.to_str().unwrap()]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());

    let accepted = caller.allocate(&fleet, &id);
    assert!((200..300).contains(&accepted.status), "{accepted:?}");
    let seen = caller.fulfilled(&fleet, &id);
    let server = seen["serverId"].to_string();
    let port = u16::try_from(seen["gamePort"].as_u64().unwrap()).unwrap();
    let before = up.pid_when(&server, "ALLOCATED");
    let executable = std::fs::read_link(format!("/proc/{before}/exe")).unwrap();
    assert!(executable.ends_with(program), "{} runs", executable.display());
    until("the stock server answers", || ask(protocol, port));

    kill(Pid::from_raw(before), Signal::SIGKILL).unwrap();
    let after = until("another process for the same allocation", || {
        let pid = up.pid_when(&server, "ALLOCATED");
        (pid != before).then_some(pid)
    });
    until("the stock server answers again", || {
        let server = up.server(&server);
        assert_eq!(server["status"], "ALLOCATED", "{server}\n{}", up.output_of(&server));
        ask(protocol, port)
    });
    assert_eq!(up.server(&server)["allocationId"], id.as_str());

    let ended = caller.delete(&format!("{}/{id}", caller.allocations(&fleet.id)));
    assert_eq!(ended.status, 204, "{ended:?}");
    assert_eq!(up.stop().code(), Some(0));
    assert!(!lives(after), "{after} still lives");
    assert!(UdpSocket::bind(("0.0.0.0", port)).is_ok(), "port {port} is not free");
}

#[test]
fn teeworlds_from_allocation_to_free_ports() {
    from_allocation_to_free_ports("teeworlds", &Protocol::Teeworlds, "teeworlds-server");
}

#[test]
fn minetest_from_allocation_to_free_ports() {
    let protocol = "udp:4f45740300000003ffdc0100:4f4574030001".parse().unwrap();
    from_allocation_to_free_ports("minetest", &protocol, "minetestserver");
}
