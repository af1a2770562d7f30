//! Sessions on a LAN without any server: nobody is told where anybody is. Each player is a process in a network namespace of its
//! own, with a line to one switch; they find each other by real multicast. Root and iproute2 are needed; without either these tests
//! say loudly that they did not run.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

use mainstay_tugboat::peers::crew::{Crew, Life};
use serde_json::{Value, json};

use crate::namespaces::{ip, must};
use crate::product::until;

static NEXT: AtomicU8 = AtomicU8::new(1);

/// Hosts of one switch.
pub struct Lan {
    name: String,
    hosts: usize,
}

impl Lan {
    /// `None` where this host does not let us make one.
    pub fn new(hosts: usize) -> Option<Self> {
        let name = format!("msl-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let switch = format!("{name}-0");
        if !nix::unistd::geteuid().is_root() || !ip(&format!("netns add {switch}")) {
            eprintln!(
                "SKIPPED, LOUDLY: no network namespaces here (root and iproute2 are needed); nothing was shown"
            );
            return None;
        }
        let lan = Self { name, hosts };
        must(&format!("-n {switch} link add switch type bridge"));
        must(&format!("-n {switch} link set switch up"));
        for host in 1..=hosts {
            let place = lan.place(host);
            must(&format!("netns add {place}"));
            must(&format!("-n {switch} link add port{host} type veth peer name eth0 netns {place}"));
            must(&format!("-n {switch} link set port{host} master switch up"));
            must(&format!("-n {place} address add 192.0.2.{host}/24 dev eth0"));
            must(&format!("-n {place} link set lo up"));
            must(&format!("-n {place} link set eth0 up"));
        }
        Some(lan)
    }

    fn place(&self, host: usize) -> String {
        format!("{}-{host}", self.name)
    }

    /// A program on that host.
    pub fn run(&self, host: usize, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.place(host)]).arg(program);
        command
    }

    fn command(&self, host: usize) -> Command {
        let mut command = self.run(host, Path::new(env!("CARGO_BIN_EXE_mainstay")));
        command.args(["demo", "peer"]);
        command
    }

    /// Somebody plays on that host: the first founds the session, everybody else finds it.
    #[track_caller]
    fn enter(&self, crew: &mut Crew, host: usize) {
        let anywhere = SocketAddr::from(([0, 0, 0, 0], 0));
        crew.start(self.command(host), anywhere, &["--lan".to_owned()], &[]).unwrap();
    }

    /// The plug of that host's cable is pulled.
    #[track_caller]
    fn unplug(&self, host: usize) {
        must(&format!("-n {} link set port{host} down", self.place(0)));
    }

    /// What somebody on that host finds.
    #[track_caller]
    fn look(&self, host: usize) -> Vec<Value> {
        let output = self.command(host).arg("--look").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        for host in 0..=self.hosts {
            // Its links go with it.
            let _gone = ip(&format!("netns delete {}", self.place(host)));
        }
    }
}

fn host_of(crew: &Crew, player: usize) -> Value {
    crew.players[player].peer.clone().into()
}

/// Issue 5: "on a LAN without any server"; "LAN discovery (mDNS or broadcast, by a library) with no server at all". The session is
/// found, its host is unplugged, and who comes then finds it at its next host, with nobody having been told an address.
#[test]
fn a_newcomer_finds_a_session_whose_first_host_is_gone() {
    let Some(lan) = Lan::new(4) else { return };
    assert_eq!(lan.look(4), Vec::<Value>::new());
    let mut crew = Crew::default();
    (1..=3).for_each(|host| lan.enter(&mut crew, host));
    let first = crew.settled().unwrap();
    assert_eq!(first, 0);
    let found = until("three are announced", || lan.look(4).pop().filter(|found| found["members"] == 3));
    assert_eq!(found["session"], json!(crew.session));
    assert_eq!((&found["host"], &found["epoch"]), (&host_of(&crew, 0), &json!(1)), "{found}");
    assert_eq!((&found["name"], &found["migrates"]), (&json!("tugboat"), &json!(true)), "{found}");
    assert_eq!(found["doors"].as_array().unwrap()[0].as_str().unwrap().split(':').next(), Some("192.0.2.1"));

    lan.unplug(1);
    crew.stop(0).unwrap();
    crew.players[0].life = Life::Stopped;
    let next = crew.settled().unwrap();
    assert_ne!(next, 0);
    lan.enter(&mut crew, 4);
    assert_eq!(crew.settled().unwrap(), next, "the newcomer obeys the new host");
    assert_eq!(crew.playing().count(), 3);
    let found =
        until("it is announced by its new host", || lan.look(4).pop().filter(|it| it["members"] == 3));
    assert_eq!((&found["host"], &found["epoch"]), (&host_of(&crew, next), &json!(2)), "{found}");

    // Everybody leaves, and so does the session.
    drop(crew);
    until("it is withdrawn", || lan.look(3).is_empty().then_some(()));
}

/// Seed 000: "an individual lobby service can be configured to not support host migration", and it "can be queried". Issue 5: "off
/// means that no session of that service migrates".
#[test]
fn no_session_of_a_lan_without_support_for_it_migrates() {
    let Some(lan) = Lan::new(2) else { return };
    let mut crew = Crew::default();
    let anywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let off = ["--lan", "--lan-host-migration", "off"].map(str::to_owned);
    crew.start(lan.command(1), anywhere, &off, &[]).unwrap();
    let found = until("it is announced", || lan.look(2).pop());
    assert_eq!(found["migrates"], false, "{found}");
    let mut guest = lan.command(2);
    let guest = guest.args(["--bot", "--find"]).stdin(std::process::Stdio::null());
    let mut guest = guest.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let lines = crate::product::lines_of(guest.stdout.take().unwrap());
    let says = |what: &str, is_meant: &dyn Fn(&Value) -> bool| {
        until(what, || {
            let line: Value = lines.recv().ok()?.parse().ok()?;
            is_meant(&line).then_some(line)
        })
    };
    says("it is in", &|line| line["members"] == 2);
    crew.stop(0).unwrap();
    let over = says("it is over", &|line| line["event"] == "over");
    assert_eq!(over["why"], "Ended(HostLost)", "{over}");
    guest.wait().unwrap();
}
