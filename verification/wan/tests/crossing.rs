//! What crosses a network arrives late, shaken, or not at all, as told. They need root, iproute2, nftables and TUN devices;
//! without them these tests say loudly that they did not run.
#![cfg(test)]

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use mainstay_wan::line::{Line, Passage};
use mainstay_wan::nat::{Nat, Place};
use mainstay_wan::{Failure, Host, Network};

const PORT: u16 = 5555;

#[track_caller]
fn network(places: &[Place], line: Line) -> Option<Network> {
    match Network::new(places, line, 7) {
        Ok(network) => Some(network),
        Err(error @ Failure::NotRoot) => {
            eprintln!("SKIPPED, LOUDLY: {error}; nothing was shown");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn socket(host: &Host) -> UdpSocket {
    let socket = host.inside(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)).unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket
}

fn at(host: &Host) -> SocketAddr {
    (host.address(), PORT).into()
}

fn hears(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = [0; 64];
    let (length, from) = socket.recv_from(&mut buffer).unwrap();
    (buffer[..length].to_vec(), from)
}

#[test]
fn a_line_takes_its_time_and_a_cut_one_takes_nothing() {
    let line = Line { delay: Duration::from_millis(40), ..Line::CABLE };
    let Some(network) = network(&[Place::Public; 3], line) else { return };
    let sockets: Vec<UdpSocket> = network.hosts().iter().map(socket).collect();
    let began = Instant::now();
    sockets[0].send_to(b"one", at(network.host(1))).unwrap();
    assert_eq!(hears(&sockets[1]), (b"one".to_vec(), at(network.host(0))));
    assert!(began.elapsed() >= line.delay, "{:?}", began.elapsed());

    network.set(0, 1, Passage::Cut);
    sockets[0].send_to(b"cut", at(network.host(1))).unwrap();
    sockets[1].send_to(b"the other way", at(network.host(0))).unwrap();
    assert_eq!(hears(&sockets[0]).0, b"the other way", "a cut is of one way");
    // What was sent before is judged before.
    sockets[0].send_to(b"to the third", at(network.host(2))).unwrap();
    assert_eq!(hears(&sockets[2]).0, b"to the third");
    network.set_all(0, Passage::Open(line));
    sockets[0].send_to(b"healed", at(network.host(1))).unwrap();
    assert_eq!(hears(&sockets[1]).0, b"healed", "what was cut never comes");
    assert_eq!(network.counts().lost, 1);
}

/// A host's own filter drops what comes, and nothing of what it sends.
#[test]
fn a_deaf_host_is_heard() {
    let Some(network) = network(&[Place::Public; 2], Line::CABLE) else { return };
    let sockets: Vec<UdpSocket> = network.hosts().iter().map(socket).collect();
    // Said twice, it is as deaf.
    (0..2).for_each(|_| network.host(0).deafen().unwrap());
    sockets[1].send_to(b"to a deaf one", at(network.host(0))).unwrap();
    while network.counts().delivered == 0 {
        std::thread::yield_now();
    }
    sockets[0].send_to(b"of a deaf one", at(network.host(1))).unwrap();
    assert_eq!(hears(&sockets[1]).0, b"of a deaf one");
    (0..2).for_each(|_| network.host(0).hear().unwrap());
    sockets[1].send_to(b"to one that hears", at(network.host(0))).unwrap();
    assert_eq!(hears(&sockets[0]).0, b"to one that hears");
}

#[test]
fn of_a_thousand_packets_so_many_are_lost_and_others_overtake() {
    let line = Line::CABLE.losing(100).shaken(Duration::from_millis(5));
    let Some(network) = network(&[Place::Public; 2], line) else { return };
    let (from, to) = (socket(network.host(0)), socket(network.host(1)));
    let hearing = std::thread::spawn(move || {
        let numbers = std::iter::from_fn(|| <[u8; 2]>::try_from(hears(&to).0).ok());
        numbers.map(u16::from_be_bytes).collect::<Vec<u16>>()
    });
    for number in 0..1_000_u16 {
        from.send_to(&number.to_be_bytes(), at(network.host(1))).unwrap();
        // No more at once than the device's own queue takes, so that all that is lost is the line's.
        while network.counts().sent_bytes[0] < u64::from(number + 1) * 30 {
            std::thread::yield_now();
        }
    }
    network.set(0, 1, Passage::Open(Line { delay: line.jitter, ..Line::CABLE }));
    from.send_to(b"last", at(network.host(1))).unwrap();
    let heard = hearing.join().unwrap();
    let counts = network.counts();
    assert_eq!((heard.len() as u64, counts.overflowed), (1_000 - counts.lost, 0));
    assert!((60..=140).contains(&counts.lost), "about a hundred: {counts:?}");
    let behind = heard.iter().scan(0, |newest, &number| {
        *newest = number.max(*newest);
        Some(number < *newest)
    });
    let overtaken = behind.filter(|is_behind| *is_behind).count() as u64;
    assert!(overtaken > 0 && counts.overtaken == overtaken, "some overtake: {overtaken}, {counts:?}");
}

/// LAN discovery: everybody on the network hears it.
#[test]
fn broadcast_and_multicast_reach_all() {
    let Some(network) = network(&[Place::Public; 3], Line::CABLE) else { return };
    let group = Ipv4Addr::new(239, 1, 2, 3);
    let sockets: Vec<UdpSocket> = network.hosts().iter().map(socket).collect();
    for (socket, host) in sockets.iter().zip(network.hosts()) {
        socket.set_broadcast(true).unwrap();
        host.inside(|| socket.join_multicast_v4(&group, &host.address()).unwrap()).unwrap();
    }
    for all in [group, Ipv4Addr::new(198, 18, 1, 255)] {
        sockets[1].send_to(b"who is there", (all, PORT)).unwrap();
        for listens in [0, 2] {
            assert_eq!(hears(&sockets[listens]), (b"who is there".to_vec(), at(network.host(1))), "{all}");
        }
    }
}

/// What the tiers of CRYENGINE's `ENatType` mean: who reaches whom, and by which address.
#[test]
fn routers_translate_as_their_tier_says() {
    let places = [
        Place::Public,
        Place::Public,
        Place::Public,
        Place::Behind(Nat::Open { port: PORT }),
        Place::Behind(Nat::Moderate),
        Place::Behind(Nat::Strict),
    ];
    let (asked, also_asked, stranger, open, moderate, strict) = (0, 1, 2, 3, 4, 5);
    let Some(network) = network(&places, Line::CABLE) else { return };
    let sockets: Vec<UdpSocket> = network.hosts().iter().map(socket).collect();
    let seen = |from: usize| {
        [asked, also_asked].map(|by| {
            sockets[from].send_to(b"hello", at(network.host(by))).unwrap();
            hears(&sockets[by]).1
        })
    };
    assert_eq!(seen(open), [at(network.host(open)); 2], "its own port for all");
    let [first, second] = seen(moderate);
    assert_eq!((first, first.ip()), (second, network.host(moderate).address().into()), "one port for all");
    let of_strict = seen(strict);
    assert_ne!(of_strict[0].port(), of_strict[1].port(), "another for each");

    // A stranger gets through to the open one alone; who was asked, to all, each by the port it has seen.
    for (behind, seen_at) in [(open, at(network.host(open))), (moderate, first), (strict, of_strict[asked])] {
        sockets[stranger].send_to(b"unasked", seen_at).unwrap();
        if behind == open {
            assert_eq!(hears(&sockets[behind]), (b"unasked".to_vec(), at(network.host(stranger))));
        }
        sockets[asked].send_to(b"answer", seen_at).unwrap();
        assert_eq!(hears(&sockets[behind]), (b"answer".to_vec(), at(network.host(asked))));
    }
    assert_eq!(network.host(moderate).own_address(), Ipv4Addr::new(192, 168, 1, 10));
}
