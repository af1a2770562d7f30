//! Machines in network namespaces of their own, with a line of their own to the control plane: as far away as one host
//! allows. They need root and iproute2; without either these tests say loudly that they did not run.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use mainstay_query::{Probe, Protocol, Step};
use serde_json::Value;

use crate::allocations::fleet_of;
use crate::caller::new_id;
use crate::far::{Agent, command, connected, token};
use crate::joining::growing;
use crate::product::{Home, Product, until};

static NEXT: AtomicU8 = AtomicU8::new(1);

/// Which versions of IP a line carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carries {
    Both,
    Ipv6Alone,
}

/// A namespace, with a line to this host.
struct Namespace {
    name: String,
    line: String,
    here: (Option<IpAddr>, Ipv6Addr),
    there: (Option<IpAddr>, Ipv6Addr),
}

/// Whether a command of iproute2 succeeds.
pub fn ip(words: &str) -> bool {
    let done = Command::new("ip").args(words.split(' ')).output();
    done.is_ok_and(|done| done.status.success())
}

/// A command of iproute2 that has to succeed.
#[track_caller]
pub fn must(words: &str) {
    let done = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(done.status.success(), "ip {words}: {}", String::from_utf8_lossy(&done.stderr));
}

impl Namespace {
    /// `None` where this host does not let us make one.
    fn new(carries: Carries) -> Option<Self> {
        let process = std::process::id();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("mst-{process}-{number}");
        if !nix::unistd::geteuid().is_root() || !ip(&format!("netns add {name}")) {
            eprintln!(
                "SKIPPED, LOUDLY: no network namespaces here (root and iproute2 are needed); nothing was shown"
            );
            return None;
        }
        // A net of its own for each test of each run: unique local addresses (RFC 4193), and 198.18.0.0/15 (RFC 2544).
        let [high, low] = [(process >> 8) & 0xff, process & 0xff];
        let net = format!("fd6d:6169:{high:x}{low:02x}:{number:x}");
        let (here, there): (Ipv6Addr, Ipv6Addr) =
            (format!("{net}::1").parse().unwrap(), format!("{net}::2").parse().unwrap());
        let v4 = |last: u8| {
            IpAddr::from([198, 18 + u8::try_from(high & 1).unwrap(), low as u8, number * 4 + last])
        };
        let (line, far) = (format!("m{process}x{number}"), format!("n{process}x{number}"));
        let both = carries == Carries::Both;
        let namespace = Self {
            here: (both.then(|| v4(1)), here),
            there: (both.then(|| v4(2)), there),
            line: line.clone(),
            name: name.clone(),
        };
        must(&format!("link add {line} type veth peer name {far} netns {name}"));
        must(&format!("-6 address add {here}/64 dev {line} nodad"));
        must(&format!("-n {name} -6 address add {there}/64 dev {far} nodad"));
        if both {
            must(&format!("address add {}/30 dev {line}", v4(1)));
            must(&format!("-n {name} address add {}/30 dev {far}", v4(2)));
        }
        must(&format!("link set {line} up"));
        must(&format!("-n {name} link set {far} up"));
        must(&format!("-n {name} link set lo up"));
        until("the line carries", || {
            let socket = UdpSocket::bind((here, 0)).ok()?;
            socket.connect((there, 9)).ok()
        });
        Some(namespace)
    }

    /// An agent in it.
    #[track_caller]
    fn agent(&self, home: &Home, join: &str, token: &str, more: &[&str]) -> Agent {
        let agent = command(home, join, Some(token), more);
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.name]).arg(agent.get_program()).args(agent.get_args());
        inside.stdin(std::process::Stdio::null());
        Agent::of(home, inside)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // What was never made is gone already. Its processes end with the data directory's.
        let _line = ip(&format!("link delete {}", self.line));
        let _namespace = ip(&format!("netns delete {}", self.name));
    }
}

/// `up` with a fleet whose servers listen on both versions of IP and have their own addresses in their names.
fn up<'a>(home: &'a Home, listen: &str) -> Product<'a> {
    let file = home.path().with_file_name("growing.yaml");
    let named = growing().replace(
        "--query-port $$query_port$$",
        "--query-port $$query_port$$ --bind 0:0:0:0:0:0:0:0 --name 4=$$ip$$,6=$$ipv6$$",
    );
    std::fs::write(&file, named).unwrap();
    home.up(&[file.to_str().unwrap(), "--listen", listen])
}

fn port(up: &Product<'_>) -> u16 {
    let agents = up.file("ports.json")["agents"].as_str().unwrap().to_owned();
    agents.rsplit(':').next().unwrap().parse().unwrap()
}

/// The server's name, as it tells whoever asks at an address.
fn name_at(address: SocketAddr) -> Option<String> {
    let protocol: Protocol = "sqp".parse().unwrap();
    let Probe::Datagrams(mut prober) = protocol.probe(7) else { panic!("sqp is asked by datagrams") };
    let any: IpAddr = if address.is_ipv4() { [0, 0, 0, 0].into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).unwrap();
    socket.connect(address).ok()?;
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    socket.send(&prober.start()).ok()?;
    let mut buffer = vec![0; prober.receive_bytes_max() + 1];
    loop {
        let bytes = socket.recv(&mut buffer).ok()?;
        match prober.receive(&buffer[..bytes]) {
            Step::Send(next) => {
                socket.send(&next).ok()?;
            }
            Step::Done(answer) => return answer.name,
            Step::Wait => {}
            Step::Refused(malformed) => panic!("{address}: {malformed}"),
        }
    }
}

/// The allocation that lands on the machine that joined: this host's own slot is taken first.
#[track_caller]
fn allocated(up: &Product<'_>, machine: &Value) -> Value {
    let (caller, fleet) = (up.caller(), fleet_of(up));
    for _ in 0..2 {
        let id = new_id();
        caller.allocate(&fleet, &id);
        // Not as the stock adapter reads it: that one wants an IPv4 address (reference 1.1).
        let seen = until("the allocation is fulfilled", || {
            Some(caller.allocation(&fleet, &id).json()).filter(|seen| seen["fulfilled"].is_string())
        });
        if seen["machineId"] == machine["id"] {
            return seen;
        }
    }
    panic!("neither of two allocations is on {machine}")
}

/// `server.json` of the one server of an agent's directory.
fn server_json(home: &Home) -> Value {
    let slots = home.path().join("agent/slots");
    let mut found =
        std::fs::read_dir(slots).unwrap().map(|slot| slot.unwrap().path().join("home/server.json"));
    let file = found.find(|file| file.is_file()).unwrap();
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// Issue 3, section 4: "each machine has advertised IPv4 and IPv6 addresses (set or detected), used in allocations,
/// `server.json` and `$$ip$$`".
#[test]
fn a_machine_far_away_is_known_by_the_addresses_that_reach_it() {
    let Some(away) = Namespace::new(Carries::Both) else { return };
    let (home, far) = (Home::new(), Home::new());
    let up = up(&home, "::");
    let (Some(v4_here), Some(v4)) = (away.here.0, away.there.0) else { panic!("it carries both") };
    let join = format!("https://{v4_here}:{}", port(&up));
    let v6 = away.there.1;
    // IPv4 is found by the way to the control plane; IPv6 is said.
    let v6_said = v6.to_string();
    let found = away.agent(&far, &join, &token(&up, &[]), &[]);
    assert_eq!(connected(&up)["ipv4"], v4.to_string().as_str());
    drop(found);
    let v4_said = v4.to_string();
    let said = ["--advertise", v4_said.as_str(), "--advertise", v6_said.as_str()];
    let _agent = away.agent(&far, &join, &token(&up, &[]), &said);
    let machine = until("both addresses are known", || {
        Some(connected(&up)).filter(|machine| machine["ipv6"] == v6_said.as_str())
    });
    assert_eq!(machine["ipv4"], v4_said.as_str());
    let seen = allocated(&up, &machine);
    assert_eq!((&seen["ipv4"], &seen["ipv6"]), (&v4_said.as_str().into(), &v6_said.as_str().into()));
    let told = server_json(&far);
    assert_eq!((&told["ip"], &told["ipv6"]), (&v4_said.as_str().into(), &v6_said.as_str().into()));
    // And there it answers, on both, under the name that its variables made.
    let query =
        u16::try_from(up.server(&seen["serverId"].to_string())["queryPort"].as_u64().unwrap()).unwrap();
    for address in [v4, v6.into()] {
        let name = until("it answers from here", || name_at(SocketAddr::new(address, query)));
        assert_eq!(name, format!("4={v4},6={v6}"));
    }
}

/// Without a single IPv4 address between them.
#[test]
fn a_machine_joins_and_plays_over_ipv6_alone() {
    let Some(away) = Namespace::new(Carries::Ipv6Alone) else { return };
    let (home, far) = (Home::new(), Home::new());
    let up = up(&home, &away.here.1.to_string());
    let join = format!("https://[{}]:{}", away.here.1, port(&up));
    let _agent = away.agent(&far, &join, &token(&up, &[]), &[]);
    let machine = connected(&up);
    let v6 = away.there.1.to_string();
    assert_eq!((&machine["ipv4"], &machine["ipv6"]), (&Value::Null, &v6.as_str().into()));
    let seen = allocated(&up, &machine);
    assert_eq!((&seen["ipv4"], &seen["ipv6"]), (&Value::Null, &v6.as_str().into()));
    let told = server_json(&far);
    assert_eq!((&told["ip"], &told["ipv6"]), (&"".into(), &v6.as_str().into()));
    let query =
        u16::try_from(up.server(&seen["serverId"].to_string())["queryPort"].as_u64().unwrap()).unwrap();
    let name = until("it answers from here", || name_at(SocketAddr::new(away.there.1.into(), query)));
    assert_eq!(name, format!("4=,6={v6}"));
}
