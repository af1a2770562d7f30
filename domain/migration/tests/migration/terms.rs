//! What a session is made with is the session's: who comes in adopts it, whatever its own program says.

use std::cmp::Ordering;
use std::time::Duration;

use mainstay_migration::{
    Arbiter, Body, CanBeHost, Closed, Config, End, Epoch, Handover, Hint, Input, Level, MEMBERS_MAX,
    Migratable, Order, OrderName, Output, Stamp, Support, Tick, WithoutMajority,
};
use proptest::prelude::*;

use crate::net::{Made, Net, peer, snapshot};

/// A game's own order, of that number.
const fn own(number: u32) -> Order {
    Order::Game { number, compare: &|_, _| Ordering::Equal }
}

fn any_order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Documented), Just(Order::CryEngine51), (0..3_u32).prop_map(own)]
}

/// What a program says of a session, and its lobby nothing.
fn any_made() -> impl Strategy<Value = (Order, Made)> {
    let migratable = prop_oneof![Just(Migratable::Yes), Just(Migratable::No)];
    let policy =
        prop_oneof![Just(WithoutMajority::Fork), Just(WithoutMajority::End), Just(WithoutMajority::Hold)];
    let level = prop_oneof![
        Just(Level::None),
        Just(Level::Asynchronous),
        Just(Level::DurableEvents),
        Just(Level::Synchronous)
    ];
    (any_order(), migratable, policy, level, 3..=MEMBERS_MAX).prop_map(
        |(order, migratable, without_majority, level, size)| {
            (order, Made { migratable, without_majority, level, size, ..Made::DEFAULT })
        },
    )
}

fn config((order, made): (Order, Made)) -> Config {
    Config { order, ..made.config() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whoever comes in goes by what the founder said, be it let in by that one or by a host that was let in itself; who cannot is told so.
    #[test]
    fn who_comes_in_goes_by_what_the_founder_said(
        founder in any_made(),
        second in any_made(),
        third in any_made(),
    ) {
        let founder = config(founder);
        let mut net = Net::founded(founder.clone(), 1);
        for (id, made) in [(2, second), (3, third)] {
            let joiner = config(made);
            let is_known = match founder.order {
                Order::Documented | Order::CryEngine51 => true,
                Order::Game { .. } => joiner.order.name() == founder.order.name(),
            };
            net.join_as(peer(id), joiner);
            net.run(Duration::from_secs(2));
            let refused = net.refused.remove(&peer(id));
            let terms = net.peers.get(&peer(id)).map(mainstay_migration::Session::terms);
            if is_known {
                prop_assert_eq!((refused, terms), (None, Some(founder.terms())));
                net.settle_in(peer(id), CanBeHost::Yes);
            } else {
                prop_assert_eq!((refused, terms), (Some(Closed::OtherOrder), None));
                let members = &net.session(net.host()).roster().members;
                prop_assert!(!members.contains_key(&peer(id)), "it was never in");
            }
            // The next one is let in by whoever came second, where there is one and the session moves.
            if id == 2 && is_known && founder.migratable == Migratable::Yes {
                net.run(Duration::from_secs(1));
                let last = snapshot(Tick(net.seen[&peer(1)].tick.0 + 1));
                net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
                net.run(Duration::from_secs(2));
                net.kill(peer(1));
                prop_assert_eq!(net.host(), peer(2));
            }
        }
    }
}

/// Two programs that disagree on what a survivor of two does: the session's founder said that it ends.
#[test]
fn a_member_whose_program_says_otherwise_ends_with_the_session() {
    let made = Made { without_majority: WithoutMajority::End, ..Made::DEFAULT };
    let mut net = Net::founded(made.config(), 1);
    net.join_as(peer(2), Made::DEFAULT.config());
    net.run(Duration::from_secs(2));
    net.settle_in(peer(2), CanBeHost::Yes);
    net.run(Duration::from_secs(1));
    net.kill(peer(1));
    net.run(Duration::from_secs(8));
    let leads = |output: &Output| matches!(output, Output::Lead { .. });
    assert!(!net.seen[&peer(2)].outputs.iter().any(leads), "it would have gone on alone");
    assert!(net.session(peer(2)).is_over());
}

/// What the lobby said of its session it has told everybody: a host's word is no second source of it.
#[test]
fn in_a_lobby_what_that_says_counts() {
    let made = Made { arbiter: Arbiter::Lobby, level: Level::DurableEvents, size: 8, ..Made::DEFAULT };
    let founder = Config { order: Order::CryEngine51, ..made.config() };
    let mut net = Net::founded(founder, 1);
    let told = Config {
        order: Order::Documented,
        level: Level::None,
        without_majority: WithoutMajority::Hold,
        size: 6,
        ..net.config.clone()
    };
    let pass =
        crate::net::admitted(told.session, peer(2), (net.now, net.now), net.now + crate::net::PASS_LASTS);
    net.join_as(peer(2), Config { admission: Some(pass), ..told });
    net.run(Duration::from_secs(2));
    let terms = net.session(peer(2)).terms();
    assert_eq!((terms.order, terms.level), (OrderName::CryEngine51, Level::DurableEvents), "the host's");
    assert_eq!((terms.without_majority, terms.size), (WithoutMajority::Hold, 6), "the lobby's");
}

/// Where its lobby service does not move sessions a peer does not go along, whatever its host says; and of the session it says what its host does.
#[test]
fn who_does_not_go_along_says_nothing_else_of_the_session() {
    let mut net = Net::of(1);
    net.join_as(peer(2), Config { support: Support::Unsupported, ..net.config.clone() });
    net.run(Duration::from_secs(2));
    net.settle_in(peer(2), CanBeHost::Yes);
    assert_eq!(net.session(peer(2)).terms(), net.session(peer(1)).terms());
    net.run(Duration::from_secs(1));
    net.kill(peer(1));
    net.run(Duration::from_secs(12));
    assert!(net.seen[&peer(2)].outputs.contains(&Output::Ended(End::HostLost)));
}

/// Seed 000: "an individual lobby service can be configured to not support host migration"; issue 5: "off means that no session of that service
/// migrates", one that is played neither. There is no lobby to ask, so a host tells its members, and those who come later.
#[test]
fn a_host_passes_on_whether_its_process_lets_sessions_move() {
    for (set, moves) in
        [(&[Support::Unsupported][..], false), (&[Support::Unsupported, Support::Supported], true)]
    {
        let mut net = Net::of(3);
        for support in set {
            net.give(peer(1), Input::OwnFlag(*support));
            net.run(Duration::from_millis(500));
        }
        net.join(peer(4));
        net.run(Duration::from_secs(1));
        let next = moves.then_some(peer(2));
        assert_eq!([1, 2, 4].map(|id| net.session(peer(id)).anticipated()), [next; 3], "{set:?}");
        net.kill(peer(1));
        net.run(Duration::from_secs(12));
        for id in 2..=4 {
            let is_over = net.seen[&peer(id)].outputs.contains(&Output::Ended(End::HostLost));
            assert_eq!(is_over, !moves, "{id}: {set:?}");
        }
    }
}

/// Nor does a host give away a session that does not move: neither one that it begins to give then, nor one that it was about to.
#[test]
fn a_host_whose_process_turned_it_off_hands_nothing_over() {
    for before in [true, false] {
        let mut net = Net::of(3);
        // Nobody else is told: by its own flag alone it keeps the session.
        let flag = |net: &mut Net| net.give(peer(1), Input::OwnFlag(Support::Unsupported));
        [2, 3].into_iter().for_each(|id| net.lose(peer(id), |body| matches!(body, Body::Roster(_))));
        if before {
            flag(&mut net);
        }
        net.give(
            peer(1),
            Input::HandOver { to: Some(peer(2)), why: Handover::Lobby, last: snapshot(Tick(9)) },
        );
        flag(&mut net);
        net.run(Duration::from_secs(3));
        let told = net.seen[&peer(1)].outputs.contains(&Output::NobodyBetter);
        assert_eq!(told, before, "{before}");
        for id in 1..=3 {
            let session = net.session(peer(id));
            assert_eq!(
                (session.view().host, session.stamp()),
                (peer(1), Stamp::certified(Epoch::FIRST)),
                "{id}, {before}"
            );
        }
    }
}

/// Whether a session moves on says the process of whoever is host: one that came to it while the flag was off tells so, and what a host before said is
/// past.
#[test]
fn a_new_host_tells_of_its_own_process() {
    let mut net = Net::of(4);
    net.give(peer(3), Input::OwnFlag(Support::Unsupported));
    net.give(peer(3), Input::OwnFlag(Support::Supported));
    net.kill(peer(1));
    net.run(Duration::from_secs(4));
    assert_eq!(net.host(), peer(2));
    net.give(peer(2), Input::OwnFlag(Support::Unsupported));
    net.run(Duration::from_millis(500));
    assert_eq!(net.session(peer(4)).roster().support, Support::Unsupported);
    net.give(peer(2), Input::OwnFlag(Support::Supported));
    net.run(Duration::from_secs(1));
    net.kill(peer(2));
    net.run(Duration::from_secs(4));
    assert_eq!((net.host(), net.session(peer(4)).roster().support), (peer(3), Support::Supported));
}

/// While players gather a host may give the session to somebody who does not take it: it has not moved, and nobody's is over.
#[test]
fn who_does_not_go_along_stays_until_another_is_host() {
    let mut net = Net::of(4);
    net.give(peer(4), Input::OwnFlag(Support::Unsupported));
    net.run(Duration::from_millis(500));
    // The last state never comes there.
    net.lose(peer(2), |body| matches!(body, Body::State(_)));
    net.give(peer(1), Input::HandOver { to: Some(peer(2)), why: Handover::Lobby, last: snapshot(Tick(9)) });
    net.run(Duration::from_secs(4));
    assert_eq!(net.session(peer(4)).view().host, peer(1));
    assert!(!net.seen[&peer(4)].outputs.iter().any(|it| matches!(it, Output::Ended(_))));
}

/// Of a member it counts for that one alone, and nobody waits for it to be host.
#[test]
fn a_member_that_turns_it_off_does_not_go_along() {
    let mut net = Net::of(4);
    assert_eq!(net.session(peer(1)).anticipated(), Some(peer(2)));
    net.give(peer(2), Input::OwnFlag(Support::Unsupported));
    net.run(Duration::from_secs(1));
    assert_eq!([1, 3, 4].map(|id| net.session(peer(id)).anticipated()), [Some(peer(3)); 3]);
    assert!(net.session(peer(3)).migrates() && !net.session(peer(2)).migrates());
    net.kill(peer(1));
    net.run(Duration::from_secs(5));
    assert!(net.seen[&peer(2)].outputs.contains(&Output::Ended(End::HostLost)));
    assert_eq!([3, 4].map(|id| net.session(peer(id)).view().host), [peer(3); 2]);
}

/// A host that lets in whom it should not have: who comes in looks for itself.
#[test]
fn an_order_that_nobody_has_is_not_gone_by() {
    let mut net = Net::founded(Config { order: own(7), ..Made::DEFAULT.config() }, 1);
    net.join_as(peer(2), Config { order: Order::Documented, ..net.config.clone() });
    // As if its host had not looked.
    net.say_as_newcomer(peer(2), Body::Join { hint: Hint::UNSUITABLE, order: OrderName::Game(7) });
    net.run(Duration::from_millis(200));
    assert_eq!(net.refused.remove(&peer(2)), Some(Closed::OtherOrder));
    assert!(!net.peers.contains_key(&peer(2)));
}

/// Of four two would not go along, and their votes make the majority: whom a host names that leaves follows it at once.
#[test]
fn who_would_not_go_along_votes_for_whom_its_host_names() {
    let mut net = Net::of(4);
    [3, 4].into_iter().for_each(|id| net.give(peer(id), Input::OwnFlag(Support::Unsupported)));
    net.run(Duration::from_secs(1));
    let last = snapshot(Tick(net.seen[&peer(1)].tick.0 + 1));
    net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
    net.run(Duration::from_millis(500));
    assert_eq!((net.host(), net.session(peer(2)).stamp()), (peer(2), Stamp::certified(Epoch(2))));
}

/// However many would not go along when their host is lost, nobody waits a second for each of them.
#[test]
fn nobody_waits_for_those_who_would_not_go_along() {
    let mut net = Net::of(8);
    [2, 3, 4, 5, 6].into_iter().for_each(|id| net.set(peer(id), "net_automigrate_host", "0"));
    net.run(Duration::from_secs(1));
    net.kill(peer(1));
    net.run(Duration::from_millis(2_300));
    assert_eq!(net.session(peer(7)).stamp(), Stamp::certified(Epoch(2)), "{}", net.session(peer(7)).shown());
}
