//! A transport of a game's own: four players who have no address for each other, over channels of memory.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use mainstay_peer::link::{self, Ending, Link, Load, Obstacle, Rank, Way};
use mainstay_peer::migration::{Cause, PeerId, SessionId};
use mainstay_peer::transport::{Inlet, InletError, Transport};
use mainstay_peer::{Event, Peer, SessionOptions, To};

use crate::{Player, until};

/// How many packets a channel takes.
const WAITING_MAX: usize = 1_024;

/// What all of them are plugged into.
#[derive(Debug, Default)]
struct Switch(Mutex<BTreeMap<PeerId, Plug>>);

/// One of them.
#[derive(Debug, Clone)]
struct Plug {
    inlet: Inlet,
    /// Whether its power is on.
    on: Arc<AtomicBool>,
}

/// One way of a connection.
#[derive(Debug)]
struct Channel {
    to: PeerId,
    number: u64,
    out: mpsc::SyncSender<Bytes>,
    /// What has come over it or was taken at its other end.
    received: Arc<AtomicU64>,
}

impl Link for Channel {
    fn peer(&self) -> PeerId {
        self.to
    }
    fn number(&self) -> u64 {
        self.number
    }
    fn address(&self) -> Option<SocketAddr> {
        None
    }
    fn is_relayed(&self) -> bool {
        false
    }
    fn send(&self, bytes: Bytes, _way: Way, _rank: Rank) -> Result<(), Obstacle> {
        let length = bytes.len();
        self.out.try_send(bytes).map_err(|_| Obstacle::Full(Load { messages: WAITING_MAX, bytes: length }))
    }
    fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
    fn round_trip(&self) -> Duration {
        Duration::from_millis(1)
    }
    fn close(&self) {}
}

/// A player's way to the switch. Its peer is not to wait, so a thread of its own connects.
#[derive(Debug)]
struct Socket(mpsc::Sender<PeerId>);

impl Transport for Socket {
    fn dial(&mut self, peer: PeerId) {
        // Where nobody connects any more, the test is over.
        let _over = self.0.send(peer);
    }
}

impl Switch {
    fn start(self: &Arc<Self>) -> Peer {
        let plugged = |me: PeerId, inlet: Inlet| {
            let (asks, asked) = mpsc::channel();
            let plug = Plug { inlet, on: Arc::new(AtomicBool::new(true)) };
            self.0.lock().unwrap().insert(me, plug);
            let switch = Arc::clone(self);
            thread::spawn(move || asked.iter().for_each(|to| switch.connect(me, to)));
            Socket(asks)
        };
        Peer::start_with(SocketAddr::from(([127, 0, 0, 1], 0)), plugged).unwrap()
    }

    fn plug(&self, peer: PeerId) -> Plug {
        self.0.lock().unwrap()[&peer].clone()
    }

    fn connect(&self, me: PeerId, to: PeerId) {
        let (here, there) = (self.plug(me), self.plug(to));
        if !here.on.load(Ordering::Relaxed) || !there.on.load(Ordering::Relaxed) {
            return;
        }
        let (near, far) = (end(to), end(me));
        for ((link, _), plug) in [(&near, &here), (&far, &there)] {
            let _gone = plug.inlet.up(Arc::clone(link) as Arc<dyn Link>);
        }
        carry((here.clone(), Arc::clone(&near.0), near.1), (there.clone(), Arc::clone(&far.0)));
        carry((there, far.0, far.1), (here, near.0));
    }

    /// The power of one is cut: nothing comes of it any more, and nothing says so.
    fn cut(&self, peer: PeerId) {
        self.plug(peer).on.store(false, Ordering::Relaxed);
    }
}

/// An end of a connection, and what is said into it.
fn end(to: PeerId) -> (Arc<Channel>, mpsc::Receiver<Bytes>) {
    let (out, said) = mpsc::sync_channel(WAITING_MAX);
    (Arc::new(Channel { to, number: link::number(), out, received: Arc::default() }), said)
}

/// Carries what is said into one end to the other, as long as both have power.
fn carry(from: (Plug, Arc<Channel>, mpsc::Receiver<Bytes>), to: (Plug, Arc<Channel>)) {
    thread::spawn(move || {
        let ((sender, near, said), (receiver, far)) = (from, to);
        for bytes in said {
            if !sender.on.load(Ordering::Relaxed) || !receiver.on.load(Ordering::Relaxed) {
                continue;
            }
            if receiver.inlet.packet(&*far, &bytes).is_err() {
                let _gone = sender.inlet.down(&*near, Ending::Closed);
                return;
            }
            for end in [&near, &far] {
                end.received.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
}

/// "A `Link` trait, so browsers and other transports can follow": everything that a session is goes over one that is not QUIC, also its
/// move to another host.
#[test]
fn a_session_moves_over_a_transport_of_the_games_own() {
    let switch = Arc::new(Switch::default());
    let peers: [Peer; 4] = std::array::from_fn(|_| switch.start());
    let [ann, bob, cat, dan] = &peers;
    let options = SessionOptions::new(SessionId(61));
    let mut host = Player::new(ann, ann.found(options, Vec::new()).unwrap());
    let mut join = |peer: &Peer, members: usize| {
        let seat = peer.join_members(options, vec![ann.id()], Vec::new()).unwrap();
        let mut player = Player::new(peer, seat);
        until("it is in", &mut [&mut host, &mut player], |it| {
            it.shown().is_some_and(|shown| shown.members.len() == members)
        });
        player
    };
    let (mut first, mut second, mut third) = (join(bob, 2), join(cat, 3), join(dan, 4));
    let all = &mut [&mut host, &mut first, &mut second, &mut third];
    until("each votes, has a way to each, and expects the lowest channel of equals", all, |it| {
        crate::is_linked(it, 4) && it.shown().is_some_and(|shown| shown.anticipated == Some(bob.id()))
    });
    host.seat.say(To::Members, Way::Stream, b"ahoy".to_vec()).unwrap();
    until("the host is heard", &mut [&mut first, &mut second, &mut third], |it| {
        it.heard.iter().any(|event| matches!(event, Event::FromHost { bytes, .. } if bytes == b"ahoy"))
    });

    switch.cut(ann.id());
    let survivors = &mut [&mut first, &mut second, &mut third];
    until("it moves", survivors, |it| it.moved().is_some());
    let moved: Vec<_> = survivors.iter().map(|it| it.moved()).collect();
    assert_eq!(moved, vec![Some((Cause::Catastrophic, bob.id())); 3]);
}

/// What is no packet is refused to whoever brings it, and its link goes on.
#[test]
fn what_is_no_packet_is_told_to_its_transport() {
    let inlet = OnceLock::new();
    let peer = Peer::start_with(SocketAddr::from(([127, 0, 0, 1], 0)), |_, it| {
        inlet.set(it).unwrap();
        Socket(mpsc::channel().0)
    })
    .unwrap();
    let inlet = inlet.get().unwrap();
    let (link, _said) = end(PeerId(5));
    inlet.up(Arc::clone(&link) as Arc<dyn Link>).unwrap();
    let refused = inlet.packet(&*link, b"\xff\xff\xff").unwrap_err();
    assert!(matches!(&refused, InletError::NotAPacket { from: PeerId(5), .. }), "{refused}");
    drop(peer);
    assert!(inlet.down(&*link, Ending::Ours).is_err(), "nobody is there any more");
}
