//! Peers of one process over real QUIC on loopback: sessions that know nothing of each other, fences, and who is let in.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking; unwrap says where")]

mod carried;
mod deeds;
mod gathering;
mod lan;
mod levels;
mod line;
mod links;
mod listeners;
mod seats;
mod terms;
mod transport;
mod upstream;
mod words;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mainstay_peer::link::Way;
use mainstay_peer::migration::{
    CanBeHost, Cause, Epoch, Identification, Kind, Migratable, Outcome, PeerId, Piece, SessionId, StateError,
    Tick,
};
use mainstay_peer::{Event, Over, Peer, Seat, SessionOptions, Shown, To};

/// How long anything may take: many times what it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a step of a wait is.
const STEP: Duration = Duration::from_millis(20);

fn start() -> Peer {
    Peer::start(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap()
}

/// A seat and all that it was told.
struct Player {
    me: PeerId,
    seat: Seat,
    heard: Vec<Event>,
}

impl Player {
    fn new(peer: &Peer, seat: Seat) -> Self {
        seat.set_can_be_host(CanBeHost::Yes).unwrap();
        Self { me: peer.id(), seat, heard: Vec::new() }
    }

    fn listen(&mut self) {
        while let Some(event) = self.seat.next(Duration::ZERO) {
            self.heard.push(event);
        }
    }

    fn shown(&self) -> Option<Shown> {
        self.seat.shown().unwrap()
    }

    fn moved(&self) -> Option<(Cause, PeerId)> {
        self.heard.iter().find_map(|event| {
            let Event::Migrated(report) = event else { return None };
            match &report.outcome {
                Outcome::Moved { host, .. } => Some((report.cause, *host)),
                Outcome::Terminated(why) => panic!("{why:?}"),
            }
        })
    }
}

/// Waits until all of them say so.
#[track_caller]
fn until(what: &str, players: &mut [&mut Player], mut all: impl FnMut(&mut Player) -> bool) {
    let until = Instant::now() + PATIENCE;
    loop {
        let mut met = true;
        for player in players.iter_mut() {
            player.listen();
            met &= all(player);
        }
        if met {
            return;
        }
        assert!(
            Instant::now() < until,
            "{what}: {:?}",
            players.iter().map(|it| it.shown()).collect::<Vec<_>>()
        );
        std::thread::sleep(STEP);
    }
}

fn is_linked(player: &Player, members: usize) -> bool {
    player.shown().is_some_and(|it| {
        (it.members.len(), it.voters, it.linked) == (members, members, members - 1)
            && it.anticipated.is_some() == (it.terms.migratable == Migratable::Yes)
    })
}

/// Seed 000: "Host migration is session based, and each session can migrate independently (and concurrently)."
#[test]
fn two_sessions_on_one_machine_know_nothing_of_each_other() {
    let (ann, bob, cat) = (start(), start(), start());
    let (first, second) = (SessionOptions::new(SessionId(1)), SessionOptions::new(SessionId(2)));
    let mut ann_1 = Player::new(&ann, ann.found(first, Vec::new()).unwrap());
    let mut bob_2 = Player::new(&bob, bob.found(second, Vec::new()).unwrap());
    let mut bob_1 = Player::new(&bob, bob.join(first, vec![ann.address()], Vec::new()).unwrap());
    let mut cat_1 = Player::new(&cat, cat.join(first, vec![ann.address()], Vec::new()).unwrap());
    let mut cat_2 = Player::new(&cat, cat.join(second, vec![bob.address()], Vec::new()).unwrap());
    until("the first session plays", &mut [&mut ann_1, &mut bob_1, &mut cat_1], |it| is_linked(it, 3));
    until("the second session plays", &mut [&mut bob_2, &mut cat_2], |it| {
        it.shown().is_some_and(|shown| shown.members.len() == 2 && shown.linked == 1)
    });
    ann_1.seat.hold(Piece { tick: Tick(5), kind: Kind::Snapshot, bytes: b"first".to_vec() }).unwrap();
    until("what the host holds is safe", &mut [&mut ann_1], |it| {
        it.heard.iter().any(|event| matches!(event, Event::Durable(state) if state.tick == Tick(5)))
    });
    cat_1.seat.play(b"hard to port".to_vec()).unwrap();
    ann_1.seat.say(To::Members, Way::Stream, b"ahoy".to_vec()).unwrap();
    until("the host is heard", &mut [&mut bob_1, &mut cat_1], |it| {
        it.heard.iter().any(|event| matches!(event, Event::FromHost { bytes, .. } if bytes == b"ahoy"))
    });
    cat_1.seat.say(To::Host, Way::Datagram, b"aye".to_vec()).unwrap();
    let cat_id = cat_1.me;
    until("a member is heard", &mut [&mut ann_1], |it| {
        it.heard.contains(&Event::FromMember { peer: cat_id, bytes: b"aye".to_vec() })
    });

    // The host has not made a state since: what was done waits for one, whoever makes it.
    drop(ann_1);
    drop(ann);
    until("the first session moves", &mut [&mut bob_1, &mut cat_1], |it| it.moved().is_some());
    assert_eq!(bob_1.moved(), cat_1.moved());
    until("it has one host", &mut [&mut bob_1, &mut cat_1], |it| {
        it.shown().is_some_and(|shown| shown.stamp.epoch == Epoch(2))
    });
    let heir = if bob_1.shown().unwrap().role == Identification::Host { &bob_1 } else { &cat_1 };
    let leads = heir.heard.iter().find_map(|event| {
        let Event::Lead { state, .. } = event else { return None };
        state.parts().first().map(|part| part.bytes.clone())
    });
    assert_eq!(leads.as_deref(), Some(b"first".as_slice()), "the new host goes on from what was safe");
    let heir = if bob_1.shown().unwrap().role == Identification::Host { &mut bob_1 } else { &mut cat_1 };
    until("what was done under the old host reaches the new one", &mut [heir], |it| {
        it.seat.hold(Piece { tick: Tick(6), kind: Kind::Snapshot, bytes: b"second".to_vec() }).unwrap();
        let is_it = |event: &Event| matches!(event, Event::Apply { from, number: 1, bytes } if *from == cat_id && bytes == b"hard to port");
        it.heard.iter().any(is_it)
    });
    for player in [&mut bob_2, &mut cat_2] {
        player.listen();
        assert_eq!(player.moved(), None);
        assert_eq!(player.shown().unwrap().stamp.epoch, Epoch::FIRST);
    }
}

/// Seed 000 knows nothing of doors: a session's host may be another by the time somebody comes. A member sends it on.
#[test]
fn who_knocks_at_a_members_door_is_sent_to_the_host() {
    let (ann, bob) = (start(), start());
    let session = SessionOptions::new(SessionId(3));
    let mut host = Player::new(&ann, ann.found(session, Vec::new()).unwrap());
    let mut member = Player::new(&bob, bob.join(session, vec![ann.address()], Vec::new()).unwrap());
    until("two play", &mut [&mut host, &mut member], |it| is_linked(it, 2));
    // Both ways: by the lower id, which would dial anyway, and by the higher, which waits to be dialed.
    let newcomers: Vec<Peer> = std::iter::repeat_with(start).take(4).collect();
    for (index, newcomer) in newcomers.iter().enumerate() {
        let mut new = Player::new(newcomer, newcomer.join(session, vec![bob.address()], Vec::new()).unwrap());
        until("it plays with both", &mut [&mut host, &mut member, &mut new], |it| is_linked(it, 3));
        assert_eq!(new.shown().unwrap().leader, ann.id(), "newcomer {index}");
        drop(new);
        until("it has gone", &mut [&mut host, &mut member], |it| is_linked(it, 2));
    }
}

/// Whoever is no member is nobody's host and nobody's member: what it says is not heard.
#[test]
fn who_is_not_in_the_session_is_not_heard() {
    let (ann, eve) = (start(), start());
    let session = SessionOptions::new(SessionId(7));
    let mut host = Player::new(&ann, ann.found(session, Vec::new()).unwrap());
    // Another session of the same id on another machine: its host leads nobody here.
    let other = Player::new(&eve, eve.found(session, Vec::new()).unwrap());
    let mut visitor = Player::new(
        &eve,
        eve.join(SessionOptions::new(SessionId(8)), vec![ann.address()], Vec::new()).unwrap(),
    );
    until("nobody lets it into a session that is not there", &mut [&mut visitor], |it| {
        other.seat.say(To::Member(ann.id()), Way::Stream, b"obey".to_vec()).unwrap();
        it.heard.contains(&Event::Over(Over::NoAnswer))
    });
    host.listen();
    let is_heard = |event: &Event| matches!(event, Event::FromHost { .. } | Event::FromMember { .. });
    assert!(!host.heard.iter().any(is_heard), "{:?}", host.heard);
    assert_eq!(host.shown().unwrap().members.len(), 1);
}

/// A host's game gives a state before it has read what that has to hold: neither that nor what changed since is taken, or its
/// successor would go on without what lay between.
#[test]
fn what_changed_since_a_state_that_was_not_taken_is_none() {
    let ann = start();
    let mut host = Player::new(&ann, ann.found(SessionOptions::new(SessionId(5)), Vec::new()).unwrap());
    let piece = |tick, kind| Piece { tick: Tick(tick), kind, bytes: b"harbour".to_vec() };
    until("it leads", &mut [&mut host], |it| {
        it.heard.iter().any(|event| matches!(event, Event::Lead { .. }))
    });
    host.seat.play(b"hard to port".to_vec()).unwrap();
    host.seat.hold(piece(1, Kind::Snapshot)).unwrap();
    // What is looked at was asked for after all of that: the deed has been told, and not been read.
    host.shown().unwrap();
    host.seat.hold(piece(2, Kind::Delta)).unwrap();
    host.shown().unwrap();
    until("it is behind", &mut [&mut host], |it| it.heard.contains(&Event::Behind));
    host.seat.hold(piece(3, Kind::Delta)).unwrap();
    host.seat.hold(piece(4, Kind::Event)).unwrap();
    host.seat.hold(piece(5, Kind::Snapshot)).unwrap();
    host.seat.hold(piece(6, Kind::Delta)).unwrap();
    until("it is whole again", &mut [&mut host], |it| {
        it.heard.iter().any(|event| matches!(event, Event::Durable(state) if state.tick == Tick(6)))
    });
    let refused = host.heard.iter().filter(|event| matches!(event, Event::NotTaken(StateError::Gap)));
    assert_eq!(refused.count(), 2);
    assert!(
        !host
            .heard
            .iter()
            .any(|event| matches!(event, Event::Durable(state) if (2..5).contains(&state.tick.0)))
    );
}
