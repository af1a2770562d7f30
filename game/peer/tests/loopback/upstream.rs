//! What a player can send, as its game says: an order that counts it goes by it, on every peer.

use mainstay_peer::SessionOptions;
use mainstay_peer::migration::{Cause, Order, SessionId};

use crate::{Player, is_linked, start, until};

/// Whoever can send most. CRYENGINE's order asks for the round trip first, which is another each time.
const BY_UPSTREAM: Order =
    Order::Game { number: 1, compare: &|one, other| other.hint.upstream_bps.cmp(&one.hint.upstream_bps) };

#[test]
fn who_can_send_more_is_next_where_the_order_counts_it() {
    let (ann, bob, cat) = (start(), start(), start());
    let session = SessionOptions { order: BY_UPSTREAM, ..SessionOptions::new(SessionId(50)) };
    let doors = vec![ann.address()];
    let mut host = Player::new(&ann, ann.found(session, Vec::new()).unwrap());
    let mut second = Player::new(&bob, bob.join(session, doors.clone(), Vec::new()).unwrap());
    until("two play", &mut [&mut host, &mut second], |it| is_linked(it, 2));
    let mut third = Player::new(&cat, cat.join(session, doors, Vec::new()).unwrap());
    third.seat.set_upstream(1_000_000).unwrap();
    until("three play", &mut [&mut host, &mut second, &mut third], |it| is_linked(it, 3));
    let is_next = |id| move |it: &mut Player| it.shown().is_some_and(|shown| shown.anticipated == Some(id));
    let all = &mut [&mut host, &mut second, &mut third];
    until("what it said before it was in counts", all, is_next(cat.id()));
    all[1].seat.set_upstream(5_000_000).unwrap();
    until("the other can send more", all, is_next(bob.id()));
    all[1].seat.set_upstream(0).unwrap();
    until("and takes it back", all, is_next(cat.id()));
    host.seat.set("net_show_new_host_hinting", "1").unwrap();
    let mut told: Vec<u32> =
        host.shown().unwrap().hints.iter().map(|(_, entry)| entry.hint.upstream_bps).collect();
    told.sort_unstable();
    assert_eq!(told, [0, 1_000_000]);
    drop(host);
    until("it has moved", &mut [&mut second, &mut third], |it| it.moved().is_some());
    assert_eq!(second.moved(), Some((Cause::Controlled, cat.id())), "its channel is the higher one");
}
