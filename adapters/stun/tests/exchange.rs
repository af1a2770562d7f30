//! Peers behind routers of every tier ask a responder, in a world of two maps; and bytes of anybody's.
#![cfg(test)]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use mainstay_migration::NatType;
use mainstay_stun::{Addresses, Classing, Corner, GIVE_UP_AFTER, Reach, Responder, SENDS, Side, is_stun};
use proptest::prelude::*;

const PEER: &str = "192.168.1.10:5555";
const ROUTER: &str = "198.51.100.7:40000";

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn two() -> Addresses {
    Addresses::Two { primary: at("203.0.113.1:3478"), other: at("203.0.113.2:3479") }
}

/// What a router lets in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LetsIn {
    Anybody,
    Addresses,
    AddressesAndPorts,
}

/// Which of the peer's ports others see.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    One,
    OneAnAddress,
    OneEach,
}

struct Router {
    lets_in: LetsIn,
    shows: Shows,
    mappings: BTreeMap<SocketAddr, SocketAddr>,
}

impl Router {
    fn new(shows: Shows, lets_in: LetsIn) -> Self {
        Self { lets_in, shows, mappings: BTreeMap::new() }
    }

    fn out(&mut self, to: SocketAddr) -> SocketAddr {
        let next = u16::try_from(self.mappings.len()).unwrap();
        let known = self.mappings.iter().find(|(sent_to, _)| match self.shows {
            Shows::One => true,
            Shows::OneAnAddress => sent_to.ip() == to.ip(),
            Shows::OneEach => **sent_to == to,
        });
        let mapping = known.map(|(_, &mapping)| mapping);
        let mut fresh = at(ROUTER);
        fresh.set_port(fresh.port() + next);
        *self.mappings.entry(to).or_insert(mapping.unwrap_or(fresh))
    }

    fn lets_in(&self, from: SocketAddr) -> bool {
        match self.lets_in {
            LetsIn::Anybody => true,
            LetsIn::Addresses => self.mappings.keys().any(|sent_to| sent_to.ip() == from.ip()),
            LetsIn::AddressesAndPorts => self.mappings.contains_key(&from),
        }
    }
}

/// Carries datagrams until the peer knows; `loses` says of the n-th send whether it is lost.
fn class(router: &mut Router, addresses: Addresses, loses: impl Fn(u32) -> bool) -> (Reach, Duration) {
    let (reach, took, _) = class_again(router, addresses, loses, Reach::UNKNOWN);
    (reach, took)
}

/// The same of one who knew something before, and how much it sent.
fn class_again(
    router: &mut Router,
    addresses: Addresses,
    loses: impl Fn(u32) -> bool,
    before: Reach,
) -> (Reach, Duration, u32) {
    let responder = Responder::new(addresses);
    let server = addresses.at(Corner::SAME).unwrap();
    let mut now = Duration::from_secs(5);
    let mut classing = Classing::again(server, 77, now, before);
    let began = now;
    let mut sends = 0;
    loop {
        while let Some((to, bytes)) = classing.send(now) {
            assert!(is_stun(&bytes));
            sends += 1;
            let seen = router.out(to);
            let Some(&asked) = addresses.corners().iter().find(|&&corner| addresses.at(corner) == Some(to))
            else {
                continue;
            };
            if loses(sends) {
                continue;
            }
            let Some(reply) = responder.receive(asked, seen, &bytes) else { continue };
            if router.lets_in(addresses.at(reply.from).unwrap()) {
                classing.receive(now, &reply.bytes);
            }
        }
        if let Some(reach) = classing.reach() {
            assert_eq!(classing.next_deadline(), None);
            return (reach, now - began, sends);
        }
        now = classing.next_deadline().unwrap();
    }
}

/// Issue 5: "NAT class by STUN (RFC 5780 ...)"; seed 000 knows open, moderate, strict and unknown.
#[test]
fn each_router_has_its_class() {
    for (shows, lets_in, nat) in [
        (Shows::One, LetsIn::Anybody, NatType::Open),
        (Shows::One, LetsIn::Addresses, NatType::Moderate),
        (Shows::One, LetsIn::AddressesAndPorts, NatType::Moderate),
        (Shows::OneAnAddress, LetsIn::AddressesAndPorts, NatType::Strict),
        (Shows::OneEach, LetsIn::AddressesAndPorts, NatType::Strict),
        (Shows::OneEach, LetsIn::Anybody, NatType::Strict),
    ] {
        let (reach, took) = class(&mut Router::new(shows, lets_in), two(), |_| false);
        assert_eq!(reach, Reach { nat, seen_as: Some(at(ROUTER)) });
        let expected = if lets_in == LetsIn::Anybody { Duration::ZERO } else { GIVE_UP_AFTER };
        assert_eq!(took, expected, "only silence takes time");
    }
}

/// Whoever asks again sends one packet while nothing has changed, and finds out anew what has.
#[test]
fn asking_again_costs_one_packet_until_something_has_changed() {
    let mut router = Router::new(Shows::One, LetsIn::Addresses);
    let (known, _) = class(&mut router, two(), |_| false);
    assert_eq!(known, Reach { nat: NatType::Moderate, seen_as: Some(at(ROUTER)) });
    let again = class_again(&mut router, two(), |_| false, known);
    assert_eq!(again, (known, Duration::ZERO, 1));
    // Another router, which has let nobody in yet.
    let mut router = Router::new(Shows::One, LetsIn::Addresses);
    let elsewhere = Reach { seen_as: Some(at("198.51.100.7:1")), ..known };
    let (found, took, sends) = class_again(&mut router, two(), |_| false, elsewhere);
    assert_eq!((found, took, sends), (known, GIVE_UP_AFTER, 2 + SENDS));
}

/// Who learned how it is seen and no more, since the rest was lost, is classed the next time, and not taken for unknown for ever.
#[test]
fn an_unknown_class_is_found_out_later() {
    let mut router = Router::new(Shows::One, LetsIn::Anybody);
    let before = Reach { nat: NatType::Unknown, seen_as: Some(at(ROUTER)) };
    let (found, _, _) = class_again(&mut router, two(), |_| false, before);
    assert_eq!(found, Reach { nat: NatType::Open, seen_as: Some(at(ROUTER)) });
}

/// Issue 5: "classing needs two configured addresses; with one it reports Unknown rather than guess".
#[test]
fn with_one_address_the_class_is_unknown() {
    let one = Addresses::One(at("203.0.113.1:3478"));
    let (reach, took) = class(&mut Router::new(Shows::One, LetsIn::Anybody), one, |_| false);
    assert_eq!((reach.nat, reach.seen_as, took), (NatType::Unknown, Some(at(ROUTER)), Duration::ZERO));
}

#[test]
fn nobody_answers_and_the_class_is_unknown_in_bounded_time() {
    let (reach, took) = class(&mut Router::new(Shows::One, LetsIn::Anybody), two(), |_| true);
    assert_eq!((reach.nat, reach.seen_as), (NatType::Unknown, None));
    assert_eq!(took, GIVE_UP_AFTER);
}

#[test]
fn a_responder_with_one_address_refuses_to_answer_from_another() {
    let mut asking = Classing::new(at("203.0.113.1:3478"), 1, Duration::ZERO);
    let (_, first) = asking.send(Duration::ZERO).unwrap();
    let two = Responder::new(two());
    asking.receive(Duration::ZERO, &two.receive(Corner::SAME, at(PEER), &first).unwrap().bytes);
    let (_, from_elsewhere) = asking.send(Duration::ZERO).unwrap();
    let one = Responder::new(Addresses::One(at("203.0.113.1:3478")));
    let refused = one.receive(Corner::SAME, at(PEER), &from_elsewhere).unwrap();
    // A Binding error response, 420 with the attribute it does not know (RFC 8489, section 14.8 and 14.9).
    assert_eq!((&refused.bytes[..2], refused.from), (&[0x01, 0x11][..], Corner::SAME));
    assert!(refused.bytes.windows(4).any(|it| it == [0, 0, 4, 20]), "{:?}", refused.bytes);
    assert!(is_stun(&refused.bytes));
}

/// The wire form of both messages, byte for byte (RFC 8489, section 5 and 14; RFC 5780, section 7).
#[test]
fn golden_bytes() {
    let mut asking = Classing::new(at("203.0.113.1:3478"), 0x0102_0304_0506_0708_090a_0b0c, Duration::ZERO);
    let (_, request) = asking.send(Duration::ZERO).unwrap();
    let header = [0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    assert_eq!(request, header);
    let reply = Responder::new(two()).receive(Corner::SAME, at("192.0.2.1:32853"), &request).unwrap();
    let mut expected = header.to_vec();
    (expected[0], expected[3]) = (1, 48);
    expected.extend([0x00, 0x01, 0, 8, 0, 1, 0x80, 0x55, 192, 0, 2, 1]);
    // Exclusive or with the cookie, as in RFC 5769's sample response.
    expected.extend([0x00, 0x20, 0, 8, 0, 1, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43]);
    expected.extend([0x80, 0x2b, 0, 8, 0, 1, 0x0d, 0x96, 203, 0, 113, 1]);
    expected.extend([0x80, 0x2c, 0, 8, 0, 1, 0x0d, 0x97, 203, 0, 113, 2]);
    assert_eq!(reply.bytes, expected);
    asking.receive(Duration::ZERO, &reply.bytes);
    let (_, request) = asking.send(Duration::ZERO).unwrap();
    assert_eq!(request[20..], [0x00, 0x03, 0, 4, 0, 0, 0, 6], "from the other address and port");
    let reply = Responder::new(two()).receive(Corner::SAME, at("192.0.2.1:32853"), &request).unwrap();
    assert_eq!(reply.from, Corner { address: Side::Other, port: Side::Other });
}

#[test]
fn what_quic_sends_is_not_stun() {
    for first in 0x40..=0xff_u8 {
        assert!(!is_stun(&[first, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42]));
    }
    assert!(!is_stun(&[]));
    assert!(!is_stun(&[0, 1, 0, 0, 0x21, 0x12, 0xa4]));
}

proptest! {
    /// Any class comes out the same while fewer than all sends of one question are lost.
    #[test]
    fn loss_changes_nothing_but_the_time(lost in 0..SENDS) {
        let (reach, _) = class(&mut Router::new(Shows::One, LetsIn::Anybody), two(), |send| send <= lost.min(SENDS - 1));
        prop_assert_eq!(reach.nat, NatType::Open);
    }

    /// I16: "No panic ... on arbitrary bytes"; a message with bytes changed is refused, answered or ignored.
    #[test]
    fn no_bytes_break_either_side(
        mut bytes in prop::collection::vec(any::<u8>(), 0..700),
        changes in prop::collection::vec((0_usize..80, any::<u8>()), 0..8),
        start in 0..3_u8,
    ) {
        let mut asking = Classing::new(at("203.0.113.1:3478"), 9, Duration::ZERO);
        let request = asking.send(Duration::ZERO).unwrap().1;
        let reply = Responder::new(two()).receive(Corner::SAME, at(PEER), &request).unwrap().bytes;
        match start {
            0 => {}
            1 => bytes.splice(..0, request).for_each(drop),
            _ => bytes.splice(..0, reply).for_each(drop),
        }
        for (place, value) in changes {
            if let Some(byte) = bytes.get_mut(place) {
                *byte = value;
            }
        }
        for corner in Corner::ALL {
            if let Some(reply) = Responder::new(two()).receive(corner, at(PEER), &bytes) {
                prop_assert!(is_stun(&reply.bytes) && reply.bytes.len() <= 128);
            }
        }
        asking.receive(Duration::ZERO, &bytes);
    }
}
