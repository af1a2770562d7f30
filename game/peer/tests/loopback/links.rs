//! Seed 000's second criterion, "the number of active peer connections", over real sockets.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use mainstay_peer::migration::{Cause, SessionId};
use mainstay_peer::{Peer, SessionOptions};

use crate::{Player, until};

/// One speaks IPv4 alone and one IPv6 alone: nothing leads from one to the other. Who speaks both comes last, and reaches all: it is host
/// next, before those of lower channels who reach fewer.
#[test]
fn who_is_reached_by_fewer_stands_behind_who_is_reached_by_all() {
    let start = |ip: &str| Peer::start(SocketAddr::new(ip.parse().unwrap(), 0)).unwrap();
    let (ann, bob, cat, dan) = (start("::"), start("127.0.0.1"), start("::1"), start("::"));
    let options = SessionOptions::new(SessionId(44));
    let [by_v4, by_v6] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
        .map(|ip| vec![SocketAddr::new(ip, ann.address().port())]);
    let mut host = Player::new(&ann, ann.found(options, Vec::new()).unwrap());
    let mut join = |peer: &Peer, doors: &Vec<SocketAddr>, members: usize| {
        let mut player = Player::new(peer, peer.join(options, doors.clone(), Vec::new()).unwrap());
        let is_in = |it: &mut Player| it.shown().is_some_and(|shown| shown.members.len() == members);
        until("it is in", &mut [&mut host, &mut player], is_in);
        player
    };
    let (mut v4, mut v6) = (join(&bob, &by_v4, 2), join(&cat, &by_v6, 3));
    let mut both = join(&dan, &by_v4, 4);
    let reached = [(ann.id(), 4), (bob.id(), 3), (cat.id(), 3), (dan.id(), 4)];
    let all = &mut [&mut host, &mut v4, &mut v6, &mut both];
    until("all have the links they can have", all, |it| {
        let (_, linked) = *reached.iter().find(|(id, _)| *id == it.me).unwrap();
        // Whoever reaches all is next by everybody's list.
        it.shown().is_some_and(|shown| shown.linked + 1 == linked && shown.anticipated == Some(dan.id()))
    });
    drop(host);
    until("it has moved", &mut [&mut v4, &mut v6, &mut both], |it| it.moved().is_some());
    assert_eq!(v4.moved(), Some((Cause::Controlled, dan.id())));
}
