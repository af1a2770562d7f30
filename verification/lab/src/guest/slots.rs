//! The product's slots in control groups of version 2, under its unit: a group each, CPU by weight, a hard cap only where
//! asked for, and its kill told as what it is.

use std::path::PathBuf;

use mainstay_lab::words::SeenServer;

use crate::product::{Product, configuration, fleet, systemctl, until};
use crate::wire;

/// The fleet whose games have no caps, and how many of them run at once.
const PLAIN: (&str, u32) = ("plain", 2);
const CAPPED: &str = "capped";
const LIMITS: &str = "    limits: { cpu: 0.25, memoryMiB: 64 }\n";
/// Limits and caps of games that are to run into their caps.
pub const CAPS: &str =
    "    limits: { cpu: 0.5, memoryMiB: 16 }\n    caps: { cpuQuota: 0.75, memoryMiB: 210 }\n";
/// A unit that wants nothing.
const OTHER: &str = "[Service]\nType=oneshot\nExecStart=/bin/true\n";
const SESSION: &str = "00000000-0000-4000-8000-000000000001";

pub fn configurations() -> String {
    let capped = format!("{CAPS}    restart: {{ attempts: 0 }}\n");
    [configuration(PLAIN.0, LIMITS), configuration(CAPPED, &capped)].concat()
}

pub fn fleets() -> String {
    [fleet(PLAIN.0, PLAIN.1, "    startOnProvision: true\n"), fleet(CAPPED, 1, "")].concat()
}

pub fn run(product: &Product) {
    let of_plain = |server: &SeenServer| server.fleet_name == PLAIN.0;
    let playing: Vec<(u64, u32)> = until("the plain servers play", || {
        let servers = product.servers().into_iter().filter(of_plain);
        let playing: Option<Vec<_>> = servers.map(|server| Some((server.id, server.pid?))).collect();
        playing.filter(|playing| u32::try_from(playing.len()) == Ok(PLAIN.1))
    });
    let groups: Vec<Group> = playing.iter().map(|(id, pid)| Group::of(*id, *pid)).collect();
    for group in &groups {
        assert_eq!(group.setting("cpu.weight"), "25");
        assert_eq!(group.setting("cpu.max"), "max 100000");
        assert_eq!(group.setting("memory.max"), "max");
        assert!(group.number("memory.stat", "anon") > 0);
        assert!(group.number("cpu.stat", "usage_usec") > 0);
    }
    assert!(groups[0].path != groups[1].path);
    wire::holds("each slot has a group of its own, weighted by its share and capped by nothing");

    // Systemd's new look at everything, and another unit that wants no CPU weight, take nothing away.
    std::fs::write("/etc/systemd/system/other.service", OTHER).expect("a file");
    systemctl(&["daemon-reload"]);
    systemctl(&["start", "other"]);
    assert_eq!(groups[0].setting("cpu.weight"), "25");
    wire::holds("systemd leaves the slots' groups alone");

    product.allocate(CAPPED, SESSION);
    let (id, pid) = until("the capped server plays", || {
        let servers = product.servers();
        let server = servers.iter().find(|server| server.allocation_id.as_deref() == Some(SESSION))?;
        Some((server.id, server.pid?))
    });
    capped(id, pid);
    product.command(id, "eat-memory=400M");
    let detail = until("the greedy server is kept down", || {
        let seen = product.server(id);
        (seen["process"] == "backedOff").then(|| seen["detail"].to_string())
    });
    assert!(detail.contains("killed by the kernel for memory above the slot's cap"), "{detail}");
    wire::holds("a hard cap's kill is a cause of its own");
}

/// A process is in its slot's group, with the limits and caps of [`CAPS`].
#[track_caller]
pub fn capped(server: u64, pid: u32) {
    let group = Group::of(server, pid);
    assert_eq!(group.setting("cpu.weight"), "50");
    assert_eq!(group.setting("cpu.max"), "75000 100000");
    assert_eq!(group.setting("memory.max"), (210_u64 << 20).to_string());
}

/// The control group of a slot, found by the process that plays in it.
struct Group {
    path: PathBuf,
}

impl Group {
    #[track_caller]
    fn of(server: u64, pid: u32) -> Self {
        let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("the process lives");
        let path = text.trim().strip_prefix("0::/").expect("one hierarchy");
        assert!(path.starts_with("mainstay/") && path.ends_with(&format!("/{server}")), "{path}");
        let group = Self { path: PathBuf::from("/sys/fs/cgroup").join(path) };
        assert!(group.setting("cgroup.procs").lines().any(|line| line == pid.to_string()));
        group
    }

    #[track_caller]
    fn setting(&self, file: &str) -> String {
        let path = self.path.join(file);
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.trim().to_owned()
    }

    #[track_caller]
    fn number(&self, file: &str, name: &str) -> u64 {
        let text = self.setting(file);
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        found.unwrap_or_else(|| panic!("no {name} in {text}"))
    }
}
