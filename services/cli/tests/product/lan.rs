//! Sessions on a LAN without any server: nobody is told where anybody is. Each player is a process in a network namespace of its
//! own, with a line to one switch; they find each other by real multicast. Root and iproute2 are needed; without either these tests
//! say loudly that they did not run.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

use mainstay_tugboat::peers::crew::{Crew, Life, Player, Stamp, text};
use serde_json::{Value, json};

use crate::namespaces::{ip, must};
use crate::product::until;

static NEXT: AtomicU8 = AtomicU8::new(1);

/// Hosts of one switch, and a second one that nothing is plugged into.
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
        must(&format!("-n {switch} link add other type bridge"));
        must(&format!("-n {switch} link set switch up"));
        must(&format!("-n {switch} link set other up"));
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
        self.enter_with(crew, host, &[]);
    }

    #[track_caller]
    fn enter_with(&self, crew: &mut Crew, host: usize, more: &[&str]) {
        let anywhere = SocketAddr::from(([0, 0, 0, 0], 0));
        let options: Vec<String> = ["--lan"].iter().chain(more).map(ToString::to_string).collect();
        crew.start(self.command(host), anywhere, &options, &[]).unwrap();
    }

    /// The plug of that host's cable is pulled.
    #[track_caller]
    fn unplug(&self, host: usize) {
        must(&format!("-n {} link set port{host} down", self.place(0)));
    }

    /// The cables of those hosts go into that switch, which is connected with no other.
    #[track_caller]
    fn plug(&self, hosts: impl IntoIterator<Item = usize>, switch: &str) {
        for host in hosts {
            must(&format!("-n {} link set port{host} master {switch}", self.place(0)));
        }
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

/// How much of what each did its host has taken.
fn done(players: &[Player]) -> Vec<u64> {
    players.iter().map(|player| player.stands["deeds"].as_u64().unwrap_or_default()).collect()
}

/// They play on, each under its own host.
#[track_caller]
fn play_on(crew: &mut Crew, players: std::ops::Range<usize>) {
    let before = done(&crew.players);
    crew.until_all("they play on", |all| {
        let now = done(all);
        players.clone().all(|at| now[at] > before[at] + 5)
    })
    .unwrap();
}

/// Who is host of those players without a majority, once they agree on one of them.
#[track_caller]
fn unconfirmed(crew: &mut Crew, players: std::ops::Range<usize>) -> String {
    let of = |all: &[Player]| -> Option<String> {
        let side = &all[players.clone()];
        let host = text(&side[0].stands, "host");
        let agrees = |it: &Player| it.stands["host"] == host.as_str() && it.stands["fork"].as_u64() > Some(0);
        let is_of_them = side.iter().any(|it| it.peer == host);
        (is_of_them && side.iter().all(agrees)).then_some(host)
    };
    crew.until_all("a side without a majority goes on", |all| of(all).is_some()).unwrap();
    of(&crew.players).unwrap()
}

/// Issue 5, section 2: "offline the default is `fork` (the survivor goes on, marked unconfirmed, and merges by the written rule when the
/// sides meet)". Two players on a LAN are parted: the host stays certified, the other plays on alone; and when the cable is back both play
/// under the certified one.
#[test]
fn of_two_players_on_a_lan_who_went_on_alone_merges_when_they_meet() {
    let Some(lan) = Lan::new(2) else { return };
    let mut crew = Crew::default();
    (1..=2).for_each(|host| lan.enter(&mut crew, host));
    assert_eq!(crew.settled().unwrap(), 0);
    let [certified, alone] = [0, 1].map(|at: usize| crew.players[at].peer.clone());
    lan.plug([2], "other");
    assert_eq!(unconfirmed(&mut crew, 1..2), alone);
    play_on(&mut crew, 0..2);
    assert_eq!(
        (&crew.players[0].stands["host"], &crew.players[0].stands["fork"]),
        (&json!(certified), &json!(0))
    );
    lan.plug([2], "switch");
    crew.until_all("the one who went on alone has come back", |players| {
        let back = players[1].moves.last().is_some_and(|moved| moved["newHost"] == certified.as_str());
        back && players.iter().all(|it| it.stands["host"] == certified.as_str())
    })
    .unwrap();
    assert_eq!(crew.settled().unwrap(), 0);
    play_on(&mut crew, 0..2);
    assert!(
        crew.players[0].moves.is_empty(),
        "the certified host moves nowhere: {:?}",
        crew.players[0].moves
    );
    // What it did alone goes with its side; what it was told before, it went on from.
    assert_eq!(crew.players[1].moves[0]["ackedLost"], 0, "{:?}", crew.players[1].moves);
    assert_eq!(crew.led_twice(), None);
}

/// "`end` and `hold` are settings of the session", whose players ask for nothing: its founder does. Whoever is cut off ends, and the others play on.
#[test]
fn who_is_cut_off_on_a_lan_ends_where_its_session_is_to() {
    let Some(lan) = Lan::new(3) else { return };
    let mut crew = Crew::default();
    lan.enter_with(&mut crew, 1, &["--without-majority", "end"]);
    (2..=3).for_each(|host| lan.enter(&mut crew, host));
    assert_eq!(crew.settled().unwrap(), 0);
    lan.plug([3], "other");
    let over = crew.ended(2).unwrap();
    assert_eq!(over["code"], "MS-S233", "{over}");
    assert!(crew.players[2].led.is_empty(), "it led nothing");
    play_on(&mut crew, 0..2);
    assert!(crew.players[..2].iter().all(|it| it.moves.is_empty()), "nothing moved for them");
    assert_eq!(crew.led_twice(), None);
}

/// The same with `hold`: two players are parted for four seconds, three times as long as `fork` would wait. The one that is no host stands still, and
/// both play on when they meet.
#[test]
fn of_two_players_on_a_lan_the_one_that_holds_waits_for_its_host() {
    let Some(lan) = Lan::new(2) else { return };
    let mut crew = Crew::default();
    lan.enter_with(&mut crew, 1, &["--without-majority", "hold"]);
    lan.enter(&mut crew, 2);
    assert_eq!(crew.settled().unwrap(), 0);
    let host = crew.players[0].peer.clone();
    lan.plug([2], "other");
    let parted = crew.players[0].stands["tick"].as_u64().unwrap();
    crew.until_all("the host plays on alone", |all| all[0].stands["tick"].as_u64() > Some(parted + 60))
        .unwrap();
    lan.plug([2], "switch");
    play_on(&mut crew, 0..2);
    assert_eq!(crew.settled().unwrap(), 0);
    assert!(crew.players[1].led.is_empty(), "it led nothing");
    for player in &crew.players {
        assert!(
            player.moves.iter().all(|it| it["newHost"] == host.as_str() && it["ackedLost"] == 0),
            "{:?}",
            player.moves
        );
    }
}

/// The same of six, whose host dies as their LAN falls apart: three here and two there, of whom neither are a majority. Decision 0050: "Hosts
/// that meet compare: confirmed, larger side, further game, lower channel; the loser hands over". Together they are a majority again, and
/// certify the host of the three; nobody founded anything, and nobody was told an address.
#[test]
fn two_sides_of_a_lan_without_a_majority_merge_under_the_host_of_the_larger() {
    let Some(lan) = Lan::new(6) else { return };
    let mut crew = Crew::default();
    (1..=6).for_each(|host| lan.enter(&mut crew, host));
    assert_eq!(crew.settled().unwrap(), 0);
    let before = Stamp::of(&crew.players[0].stands);
    lan.plug([5, 6], "other");
    lan.unplug(1);
    crew.stop(0).unwrap();
    let larger = unconfirmed(&mut crew, 1..4);
    let smaller = unconfirmed(&mut crew, 4..6);
    assert_ne!(larger, smaller);
    play_on(&mut crew, 1..6);
    lan.plug([5, 6], "switch");
    crew.until_all("all obey the host of the larger side, which is certified", |players| {
        players[1..].iter().all(|it| it.stands["host"] == larger.as_str() && it.stands["fork"] == 0)
    })
    .unwrap();
    let host = crew.settled().unwrap();
    assert_eq!((&crew.players[host].peer, crew.playing().count()), (&larger, 5));
    assert!(Stamp::of(&crew.players[host].stands) > before);
    crew.until_all("those of the smaller side tell of both moves", |players| {
        players[4..].iter().all(|player| {
            let hosts: Vec<String> = player.moves.iter().map(|moved| text(moved, "newHost")).collect();
            hosts.contains(&smaller) && hosts.last() == Some(&larger)
        })
    })
    .unwrap();
    // Issue 5: "none while one holder of it lives and no unconfirmed fork is merged away". That of the two is: where they were gone for
    // long, the others' game has put their boats ashore.
    let mut of_the_larger = crew.players[..4].iter().flat_map(|player| &player.moves);
    let lost = of_the_larger.find(|moved| moved["ackedLost"] != 0);
    assert_eq!(lost, None, "nothing that was told safe");
    play_on(&mut crew, 1..6);
    assert_eq!(crew.led_twice(), None);
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
    assert_eq!(over["code"], "MS-S236", "{over}");
    guest.wait().unwrap();
}
