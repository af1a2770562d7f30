//! Sessions of a lobby whose players sit behind real routers: each learns how it is seen, both ends of a link dial at once, and
//! whom that does not join is carried by the lobby's relay. They need root, iproute2, nftables and TUN devices; without them
//! these tests say loudly that they did not run.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use mainstay_tugboat::peers::crew::{Crew, Life, Player, Stamp, text};
use mainstay_wan::line::{Line, Passage};
use mainstay_wan::nat::{Nat, Place};
use mainstay_wan::{Failure, Network};

use crate::product::{Home, Product, until};

/// The port a player plays on.
const PORT: u16 = 5555;
/// The port the lobby is reached at from other hosts.
const LOBBY: u16 = 7400;

/// A network whose first host runs a lobby, and players on all others.
pub struct World<'a> {
    pub network: &'a Network,
    pub crew: Crew,
    pub up: Product<'a>,
}

#[track_caller]
pub fn network(players: &[Place]) -> Option<Network> {
    let places: Vec<Place> = [Place::Twice].iter().chain(players).copied().collect();
    match Network::new(&places, Line::SHAKEN, 29) {
        Ok(network) => Some(network),
        Err(error @ Failure::NotRoot) => {
            eprintln!("SKIPPED, LOUDLY: {error}; nothing was shown");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Carries bytes between a port of a host's address and one of its loopback, where `up` answers in the clear.
fn open_door(listener: TcpListener, to: SocketAddr) {
    let pipe = |mut from: TcpStream, mut to: TcpStream| {
        thread::spawn(move || {
            // A connection that breaks ends; whoever used it asks again.
            let _ended = io::copy(&mut from, &mut to);
            let _closed = to.shutdown(std::net::Shutdown::Write);
        })
    };
    thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let Ok(far) = TcpStream::connect(to) else { continue };
            pipe(near.try_clone().unwrap(), far.try_clone().unwrap());
            pipe(far, near);
        }
    });
}

impl<'a> World<'a> {
    #[track_caller]
    pub fn new(network: &'a Network, home: &'a Home, more: &[&str]) -> Self {
        let server = network.host(0);
        let (first, second) = (server.address(), server.second_address().unwrap());
        Self::asked_at(network, home, &format!("{first}:3478,{second}:3479"), more)
    }

    /// One whose players ask there how they are seen.
    #[track_caller]
    fn asked_at(network: &'a Network, home: &'a Home, stun: &str, more: &[&str]) -> Self {
        let server = network.host(0);
        let file = home.path().with_file_name("mainstay.yaml");
        std::fs::write(&file, "version: 1.0\n").unwrap();
        let arguments = [&[file.to_str().unwrap(), "--stun", stun][..], more].concat();
        let up = server
            .inside(|| {
                let up = home.up(&arguments);
                let api = up.caller().api.rsplit(':').next().unwrap().parse::<u16>().unwrap();
                open_door(
                    TcpListener::bind((server.address(), LOBBY)).unwrap(),
                    ([127, 0, 0, 1], api).into(),
                );
                up
            })
            .unwrap();
        Self { network, crew: Crew::default(), up }
    }

    /// Where the lobby is reached from every host.
    pub fn lobby(&self) -> String {
        format!("http://{}:{LOBBY}", self.network.host(0).address())
    }

    /// Somebody plays on a host; the first founds the session.
    #[track_caller]
    pub fn enter(&mut self, place: usize) {
        let host = self.network.host(place);
        let mut command = host.command(env!("CARGO_BIN_EXE_mainstay"));
        command.args(["demo", "peer"]);
        let arguments = ["--lobby".to_owned(), self.lobby()];
        self.crew.start(command, SocketAddr::from((host.own_address(), PORT)), &arguments, &[]).unwrap();
    }

    /// The plug of a player's host is pulled, and of what is behind it.
    pub fn power_cut(&mut self, player: usize, place: usize) {
        self.network.set_all(place, Passage::Cut);
        self.crew.stop(player).unwrap();
    }

    /// A counter of the lobby's.
    #[track_caller]
    fn counted(&self, name: &str) -> f64 {
        let caller = self.up.caller();
        let read = move || {
            let metrics = caller.get("/metrics").text;
            metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        self.network.host(0).inside(|| until(name, read)).unwrap()
    }
}

fn nats(players: &[Player]) -> Vec<&str> {
    players.iter().map(|player| player.stands["nat"].as_str().unwrap_or_default()).collect()
}

/// Issue 5: "NAT class by STUN"; "hole punching". Two moderate routers let each other's players in where both dial at once: of the
/// newcomer the host hears from the lobby. Seed 000: "open is better than moderate".
#[test]
fn players_behind_moderate_routers_come_together_through_their_lobby() {
    let moderate = Place::Behind(Nat::Moderate);
    let open = Place::Behind(Nat::Open { port: PORT });
    let Some(network) = network(&[moderate, moderate, open, Place::Public, moderate]) else { return };
    let home = Home::new();
    let mut world = World::new(&network, &home, &[]);
    (1..=4).for_each(|place| world.enter(place));
    assert_eq!(world.crew.settled().unwrap(), 0);
    let classes = ["moderate", "moderate", "open", "open"];
    world.crew.until_all("each knows its router", |players| nats(players) == classes).unwrap();
    let is_open = |players: &[Player], peer: &str| players[2..].iter().any(|player| player.peer == peer);
    world
        .crew
        .until_all("an open one is to be next", |players| {
            players.iter().all(|player| is_open(players, &text(&player.stands, "anticipated")))
        })
        .unwrap();
    let before = Stamp::of(&world.crew.players[0].stands);
    world.power_cut(0, 1);
    for (_, moved) in world.crew.moved(before).unwrap() {
        assert!(is_open(&world.crew.players, &text(&moved, "newHost")), "{moved}");
        assert_eq!(moved["ackedLost"], 0, "{moved}");
    }
    world.enter(5);
    let host = world.crew.settled().unwrap();
    assert!(host == 2 || host == 3, "{host}");
    assert_eq!(world.crew.led_twice(), None);
    assert!(world.counted("mainstay_stun_requests_total{result=\"answered\"}") >= 5.0 * 3.0);
}

/// Issue 5: "hole punching with a relay for the rest". Strict routers let in nobody who was not written to from the very port that
/// nobody else is shown: their players are carried, to each other and to moderate ones, and reach the open one directly.
#[test]
fn players_behind_strict_routers_are_carried_and_their_session_goes_on() {
    let [strict, moderate] = [Nat::Strict, Nat::Moderate].map(Place::Behind);
    let open = Place::Behind(Nat::Open { port: PORT });
    let Some(network) = network(&[strict, strict, moderate, open]) else { return };
    let home = Home::new();
    let relay = format!("{}:3480", network.host(0).address());
    let mut world = World::new(&network, &home, &["--relay", &relay]);
    (1..=4).for_each(|place| world.enter(place));
    assert_eq!(world.crew.settled().unwrap(), 0);
    let classes = ["strict", "strict", "moderate", "open"];
    world.crew.until_all("each knows its router", |players| nats(players) == classes).unwrap();
    world.crew.until_all("the open one needs no relay", |players| relayed(players) == [2, 2, 2, 0]).unwrap();
    for (host, place, left) in [(0, 1, 3), (3, 4, 2)] {
        let before = Stamp::of(&world.crew.players[1].stands);
        world.power_cut(host, place);
        let moves = world.crew.moved(before).unwrap();
        assert_eq!(moves.len(), left, "{moves:?}");
        assert!(moves.iter().all(|(_, moved)| moved["ackedLost"] == 0 && moved["fork"] == 0), "{moves:?}");
        world.crew.settled().unwrap();
    }
    world.crew.until_all("the last two are carried", |players| relayed(players) == [1, 1]).unwrap();
    assert_eq!(world.crew.led_twice(), None);
    assert!(world.counted("mainstay_relay_packets_total{result=\"carried\"}") > 100.0);
    assert!(world.counted("mainstay_relay_bytes_total") > 10_000.0);
    assert!(world.counted("mainstay_relay_hails_total{result=\"heard\"}") >= 4.0);
    assert!(world.counted("mainstay_relay_seats") >= 2.0);
}

/// Issue 5, section 7: "two-way cuts". Two players play over a direct way that is cut, while the lobby's relay reaches both: they go over
/// to it before either misses the other, and back when the way is there again; and over again, to the relayed link that stands by then.
#[test]
fn a_direct_way_that_is_cut_gives_way_to_the_relay_at_once() {
    let [open, moderate] = [Nat::Open { port: PORT }, Nat::Moderate].map(Place::Behind);
    let Some(network) = network(&[open, moderate]) else { return };
    let home = Home::new();
    let relay = format!("{}:3480", network.host(0).address());
    let mut world = World::new(&network, &home, &["--relay", &relay]);
    (1..=2).for_each(|place| world.enter(place));
    assert_eq!(world.crew.settled().unwrap(), 0);
    world.crew.until_all("both play directly", |players| relayed(players) == [0, 0]).unwrap();
    let before = Stamp::of(&world.crew.players[0].stands);
    for passage in [Passage::Cut, Passage::Open(Line::SHAKEN), Passage::Cut] {
        network.set_both(1, 2, passage);
        let (began, wanted) = (Instant::now(), if passage == Passage::Cut { [1, 1] } else { [0, 0] });
        let what = format!("{passage:?}: {wanted:?} are relayed");
        world.crew.until_all(&what, |players| relayed(players) == wanted).unwrap();
        if passage == Passage::Cut {
            // A link without a word ends after ten seconds.
            assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        }
        let deeds = done(&world.crew.players);
        world
            .crew
            .until_all("both play on", |players| {
                done(players).iter().zip(&deeds).all(|(now, before)| *now > before + 20)
            })
            .unwrap();
        for player in &world.crew.players {
            assert_eq!(Stamp::of(&player.stands), before, "nobody was missed: {}", player.stands);
        }
    }
}

/// Issue 5: "a STUN responder the control plane offers", here on a host that its provider's router translates: players are told what the
/// outside sees of it, and learn and are carried as ever.
#[test]
fn a_control_plane_behind_its_providers_router_tells_what_the_outside_sees() {
    let Some(network) = network(&[Nat::Strict, Nat::Strict].map(Place::Behind)) else { return };
    let server = network.host(0);
    let (first, second) = (server.address(), server.second_address().unwrap());
    let [own, other] = ["10.77.0.1", "10.77.0.2"];
    // What providers do: an address of the outside for each of the host's own, both ways. What the outside sends to the host's own goes nowhere.
    let rules = format!(
        "table ip provider {{
         chain before {{ type nat hook prerouting priority -100;
         ip daddr {first} udp dport 3400-3500 dnat to {own}
 ip daddr {second} udp dport 3400-3500 dnat to {other}
 }}
         chain after {{ type nat hook postrouting priority 100;
         ip saddr {own} snat to {first}
 ip saddr {other} snat to {second}
 }}
}}
"
    );
    for mut words in [
        vec!["ip", "address", "add", own, "dev", "lo"],
        vec!["ip", "address", "add", other, "dev", "lo"],
        vec!["nft", &rules],
    ] {
        let done = server.command(words.remove(0)).args(words).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let home = Home::new();
    let stun = format!("{own}:3478={first}:3478,{other}:3479={second}:3479");
    let relay = format!("{own}:3480={first}:3480");
    let mut world = World::asked_at(&network, &home, &stun, &["--relay", &relay]);
    (1..=2).for_each(|place| world.enter(place));
    assert_eq!(world.crew.settled().unwrap(), 0);
    world.crew.until_all("each knows its router", |players| nats(players) == ["strict", "strict"]).unwrap();
    world.crew.until_all("both are carried", |players| relayed(players) == [1, 1]).unwrap();
}

/// How much of what each did its host has taken.
fn done(players: &[Player]) -> Vec<u64> {
    players.iter().map(|player| player.stands["deeds"].as_u64().unwrap_or_default()).collect()
}

/// How many links of each who plays go through the relay.
fn relayed(players: &[Player]) -> Vec<u64> {
    let playing = players.iter().filter(|player| player.life == Life::Plays);
    playing.filter_map(|player| player.stands["relayed"].as_u64()).collect()
}
