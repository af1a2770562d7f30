//! When a host's members are told of what it gave, by the level of their session: its standbys are processes of their own, which
//! stand still while the host gives an event.

use std::io::Read as _;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mainstay_peer::link::Way;
use mainstay_peer::migration::{CanBeHost, Kind, Level, Piece, SessionId, Tick, WithoutMajority};
use mainstay_peer::{Event, SessionOptions, To};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::{Player, STEP, start, until};

/// Where a standby joins, and which session.
const DOOR: &str = "MAINSTAY_TEST_STANDBY";
/// How long nobody is told of what must not be told yet: less than whoever stands still is waited for.
const WAITS: Duration = Duration::from_millis(400);
/// Whoever is silent for so long may be lost.
const LOST_AFTER: Duration = Duration::from_millis(650);

fn options(level: Level, session: u128) -> SessionOptions {
    let without_majority = WithoutMajority::Hold;
    SessionOptions { level, without_majority, ..SessionOptions::new(SessionId(session)) }
}

fn level_of(session: u128) -> Level {
    match session {
        21 => Level::Asynchronous,
        22 => Level::DurableEvents,
        _ => Level::Synchronous,
    }
}

/// Another process of this program, which could be host.
struct Standby(Child);

impl Standby {
    fn of(door: SocketAddr, session: u128) -> Self {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(["levels::stands_by", "--exact"]).env(DOOR, format!("{door} {session}"));
        Self(program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// All of it stands still once this returns: a signal alone reaches the other threads only when its first one is scheduled.
    fn stops(&self) {
        kill(self.pid(), Signal::SIGSTOP).unwrap();
        let stopped = waitpid(self.pid(), Some(WaitPidFlag::WUNTRACED)).unwrap();
        assert_eq!(stopped, WaitStatus::Stopped(self.pid(), Signal::SIGSTOP));
    }

    fn goes_on(&self) {
        kill(self.pid(), Signal::SIGCONT).unwrap();
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.0.id().try_into().unwrap())
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        // It may be gone.
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// What a [`Standby`] does; in any other process nothing.
#[test]
fn stands_by() {
    let Ok(told) = std::env::var(DOOR) else { return };
    let (door, session) = told.split_once(' ').unwrap();
    let session: u128 = session.parse().unwrap();
    let peer = start();
    let doors = vec![door.parse().unwrap()];
    let mut player =
        Player::new(&peer, peer.join(options(level_of(session), session), doors, Vec::new()).unwrap());
    std::thread::spawn(|| {
        // Until whoever started it is gone.
        let _ended = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    loop {
        player.listen();
        std::thread::sleep(STEP);
    }
}

fn heard(player: &Player, what: &[u8]) -> bool {
    player.heard.iter().any(|event| matches!(event, Event::FromHost { bytes, .. } if bytes == what))
}

/// Issue 5: "none, asynchronous (default), durable events, synchronous". The game does nothing for it but set the level.
#[test]
fn an_event_is_told_once_it_is_held_and_not_before() {
    for (session, event_waits, rest_waits) in [(21, false, false), (22, true, false), (23, true, true)] {
        let options = options(level_of(session), session);
        let (ann, bob) = (start(), start());
        let mut host = Player::new(&ann, ann.found(options, Vec::new()).unwrap());
        let seat = bob.join(options, vec![ann.address()], Vec::new()).unwrap();
        seat.set_can_be_host(CanBeHost::NotYet).unwrap();
        let mut member = Player { me: bob.id(), seat, heard: Vec::new() };
        let standbys = [(); 2].map(|()| Standby::of(ann.address(), session));
        let member_id = member.me;
        until("four play", &mut [&mut host, &mut member], |it| {
            it.shown().is_some_and(|shown| {
                shown.members.len() == 4 && shown.linked == 3 && shown.anticipated != Some(member_id)
            })
        });
        host.seat.hold(Piece { tick: Tick(1), kind: Kind::Snapshot, bytes: b"harbour".to_vec() }).unwrap();
        until("a standby holds it", &mut [&mut host], |it| {
            it.heard.iter().any(|event| matches!(event, Event::Durable(state) if state.tick == Tick(1)))
        });

        for tick in 2.. {
            let stopped = Instant::now();
            standbys.iter().for_each(Standby::stops);
            let loot = format!("loot {tick}").into_bytes();
            host.seat.hold(Piece { tick: Tick(tick), kind: Kind::Event, bytes: loot.clone() }).unwrap();
            host.seat.say(To::Members, Way::Stream, loot.clone()).unwrap();
            member.heard.clear();
            let began = Instant::now();
            while began.elapsed() < WAITS {
                host.seat.say(To::Members, Way::Datagram, b"there".to_vec()).unwrap();
                std::thread::sleep(STEP);
                member.listen();
            }
            // On a busy machine whoever is stopped for so long counts as lost, and then the host alone holds it.
            let counts = stopped.elapsed() < LOST_AFTER;
            if counts {
                assert_eq!(heard(&member, &loot), !event_waits, "{session}: an event");
                assert_eq!(heard(&member, b"there"), !rest_waits, "{session}: how things stand");
            }
            standbys.iter().for_each(Standby::goes_on);
            until("what is held is told", &mut [&mut member], |it| heard(it, &loot) && heard(it, b"there"));
            if counts {
                break;
            }
        }
    }
}

/// What finds no room to wait is told to nobody, and the game hears of it.
#[test]
fn a_host_that_says_more_than_may_wait_is_told_so() {
    let ann = start();
    let mut host = Player::new(&ann, ann.found(options(Level::Synchronous, 24), Vec::new()).unwrap());
    // It follows on nothing, so nobody ever holds it.
    host.seat.hold(Piece { tick: Tick(1), kind: Kind::Delta, bytes: Vec::new() }).unwrap();
    (0..4_099).for_each(|_| host.seat.say(To::Members, Way::Stream, b"ahoy".to_vec()).unwrap());
    until("it is told of each", &mut [&mut host], |it| {
        let refused = it.heard.iter().filter_map(|event| {
            let Event::NotSaid(why) = event else { return None };
            assert_eq!((why.messages, why.bytes), (4_096, 4 * 4_096));
            Some(why.count)
        });
        refused.sum::<u64>() == 3
    });
}
