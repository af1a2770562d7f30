//! What a session was made with is told to whoever comes in, over the real link.

use std::cmp::Ordering;
use std::time::Duration;

use mainstay_peer::migration::{
    Closed, End, Level, Migratable, Order, OrderName, SessionId, WithoutMajority,
};
use mainstay_peer::{Over, SessionOptions};

use crate::seats::over;
use crate::{Player, is_linked, start, until};

/// A game's own order, of that number.
const fn own(number: u32) -> Order {
    Order::Game { number, compare: &|_, _| Ordering::Equal }
}

/// Two programs that disagree in everything: what the founder said counts, also for who comes in once it has gone.
#[test]
fn who_joins_goes_by_what_the_founder_said() {
    let (ann, bob, cat) = (start(), start(), start());
    let session = SessionOptions::new(SessionId(41));
    let made = SessionOptions { order: Order::CryEngine51, level: Level::DurableEvents, size: 5, ..session };
    let otherwise = SessionOptions {
        migratable: Migratable::No,
        without_majority: WithoutMajority::End,
        size: 1,
        order: own(3),
        ..session
    };
    let mut host = Player::new(&ann, ann.found(made, Vec::new()).unwrap());
    let mut member = Player::new(&bob, bob.join(otherwise, vec![ann.address()], Vec::new()).unwrap());
    until("two play", &mut [&mut host, &mut member], |it| is_linked(it, 2));
    let terms = host.shown().unwrap().terms;
    assert_eq!((terms.order, terms.level, terms.size), (OrderName::CryEngine51, Level::DurableEvents, 5));
    assert_eq!(member.shown().unwrap().terms, terms);
    let mut third = Player::new(&cat, cat.join(session, vec![bob.address()], Vec::new()).unwrap());
    until("three play", &mut [&mut host, &mut member, &mut third], |it| is_linked(it, 3));
    assert_eq!(third.shown().unwrap().terms, terms);
    drop(host);
    until("it has moved", &mut [&mut member, &mut third], |it| it.moved().is_some());
    assert_eq!(member.shown().unwrap().terms, terms, "it would have ended by its own options");
}

/// Its own program would have gone on.
#[test]
fn a_session_that_does_not_move_ends_for_who_joined_it_otherwise() {
    let (ann, bob) = (start(), start());
    let session = SessionOptions::new(SessionId(42));
    let made = SessionOptions { migratable: Migratable::No, ..session };
    let mut host = Player::new(&ann, ann.found(made, Vec::new()).unwrap());
    let mut member = Player::new(&bob, bob.join(session, vec![ann.address()], Vec::new()).unwrap());
    until("two play", &mut [&mut host, &mut member], |it| is_linked(it, 2));
    drop(host);
    until("it is over", &mut [&mut member], |it| over(it).is_some());
    assert_eq!(over(&member), Some(&Over::Ended(End::HostLost)));
}

/// A comparator cannot be sent: who has another, or none, is told why it is not let in.
#[test]
fn who_has_another_order_of_the_games_own_is_not_let_in() {
    let (ann, bob) = (start(), start());
    let session = SessionOptions::new(SessionId(43));
    let made = SessionOptions { order: own(7), ..session };
    let mut host = Player::new(&ann, ann.found(made, Vec::new()).unwrap());
    for order in [Order::Documented, own(8)] {
        let options = SessionOptions { order, ..session };
        let mut refused = Player::new(&bob, bob.join(options, vec![ann.address()], Vec::new()).unwrap());
        until("it is refused", &mut [&mut host, &mut refused], |it| it.me == ann.id() || over(it).is_some());
        let why = over(&refused).unwrap();
        assert_eq!((why, why.code()), (&Over::Refused(Closed::OtherOrder), Some("MS-S246")));
        while refused.seat.next(Duration::ZERO).is_some() {}
    }
    let mut member = Player::new(&bob, bob.join(made, vec![ann.address()], Vec::new()).unwrap());
    until("two play", &mut [&mut host, &mut member], |it| is_linked(it, 2));
}
