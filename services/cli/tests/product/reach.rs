//! How strictly a peer's router translates, asked of a running instance from behind real routers. It needs root, iproute2,
//! nftables and TUN devices; without them it says loudly that it did not run.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use mainstay_migration::NatType;
use mainstay_stun::{Classing, MESSAGE_BYTES_MAX, Reach, is_stun};
use mainstay_wan::line::Line;
use mainstay_wan::nat::{Nat, Place};
use mainstay_wan::{Failure, Network};

use crate::product::Home;

/// The port the peers play on.
const PORT: u16 = 5555;

/// One whole classing, on a socket that does nothing else.
fn class(socket: &UdpSocket, server: SocketAddr) -> Reach {
    let began = Instant::now();
    let mut classing = Classing::new(server, getrandom_96(), began.elapsed());
    let mut buffer = [0; MESSAGE_BYTES_MAX + 1];
    loop {
        while let Some((to, bytes)) = classing.send(began.elapsed()) {
            socket.send_to(&bytes, to).unwrap();
        }
        let Some(deadline) = classing.next_deadline() else { return classing.reach().unwrap() };
        let left = deadline.saturating_sub(began.elapsed()).max(Duration::from_millis(1));
        socket.set_read_timeout(Some(left)).unwrap();
        if let Ok((length, _)) = socket.recv_from(&mut buffer) {
            assert!(is_stun(&buffer[..length]));
            classing.receive(began.elapsed(), &buffer[..length]);
        }
    }
}

fn getrandom_96() -> u128 {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).unwrap();
    u128::from_be_bytes(bytes)
}

/// Issue 5: "NAT class by STUN (RFC 5780 ...) against a STUN responder the control plane offers (classing needs two configured
/// addresses; with one it reports Unknown rather than guess)".
#[test]
fn peers_learn_how_their_routers_translate() {
    let places = [
        Place::Twice,
        Place::Public,
        Place::Behind(Nat::Open { port: PORT }),
        Place::Behind(Nat::Moderate),
        Place::Behind(Nat::Strict),
    ];
    // As far as the other side of a country, and as lossy as Wi-Fi.
    let line = Line { delay: Duration::from_millis(10), ..Line::CABLE }.losing(20);
    let network = match Network::new(&places, line, 11) {
        Ok(network) => network,
        Err(error @ Failure::NotRoot) => {
            eprintln!("SKIPPED, LOUDLY: {error}; nothing was shown");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let server = network.host(0);
    let (first, second) = (server.address(), server.second_address().unwrap());
    let home = Home::new();
    let stun = format!("{first}:3478,{second}:3479");
    let up = server.inside(|| home.up(&["--demo", "--stun", &stun])).unwrap();
    let peers: Vec<UdpSocket> = network.hosts()[1..]
        .iter()
        .map(|host| host.inside(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)).unwrap()).unwrap())
        .collect();
    for (index, nat) in
        [NatType::Open, NatType::Open, NatType::Moderate, NatType::Strict].into_iter().enumerate()
    {
        let reach = class(&peers[index], (first, 3478).into());
        let seen_as = reach.seen_as.unwrap();
        assert_eq!(
            (reach.nat, seen_as.ip()),
            (nat, network.host(index + 1).address().into()),
            "peer {index}"
        );
        if nat != NatType::Strict {
            assert_eq!(seen_as.port(), PORT, "routers keep the port where it is free");
        }
    }
    drop(up);
}

#[test]
fn addresses_of_stun_that_do_not_go_together_are_refused() {
    let home = Home::new();
    for wrong in ["127.0.0.1:3478,127.0.0.1:3479", "127.0.0.1:3478,127.0.0.2:3478", "127.0.0.1:1,[::1]:2"] {
        let refused = home.command(&["up", "--demo", "--ports", "auto", "--stun", wrong]).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("MS-U026"), "{said}");
    }
}
