//! A host is cut off in the moment in which it says something new: who comes next must not depend on whom that has reached. Seed 000: "the host
//! migration hint list is propagated to all clients", and of a power cut "another host is chosen".

use std::time::Duration;

use mainstay_migration::{Body, CanBeHost, PeerId};

use crate::joins::step_until;
use crate::net::{Net, peer};

const CONNECTIONS: &str = "net_hostHintingActiveConnectionsOverride";
/// What a move takes in which nobody's turn passes: a host is missed after 0.8 s, and whoever is waited for in vain keeps all for a second.
const NO_TURN_PASSED: Duration = Duration::from_millis(1_700);

fn of_lists(body: &Body) -> bool {
    matches!(body, Body::Hints(_) | Body::View(_) | Body::Roster(_))
}

/// Until then none of those comes to that one.
fn step_without(net: &mut Net, to: PeerId, those: fn(&Body) -> bool, until: impl Fn(&Net) -> bool) {
    for _ in 0..20_000 {
        net.lose(to, those);
        if until(net) {
            return;
        }
        net.run(Duration::from_millis(1));
    }
    panic!("it never came");
}

fn is_next(net: &Net, id: PeerId, by: u128) -> bool {
    net.session(peer(by)).anticipated() == Some(id)
}

fn version(net: &mut Net, id: PeerId) -> (u32, u32) {
    let hints = net.beat_of(id).hints;
    (hints.epoch.0, hints.number)
}

/// Of a large session most speak to few: by the newest list one comes next that is far behind in its own, and nobody whom it speaks to is of the first
/// few of the newest.
#[test]
fn whoever_comes_next_by_a_list_that_it_has_not_is_told() {
    for count in [5, 24] {
        let mut net = Net::of(count);
        net.run(Duration::from_secs(3));
        let last = peer(count);
        for (id, connections) in (2..=count).rev().zip(["200", "199", "198", "197"]) {
            net.set(peer(id), CONNECTIONS, connections);
        }
        step_without(&mut net, last, of_lists, |net| (2..count).all(|by| is_next(net, last, by)));
        assert!(is_next(&net, peer(2), count), "{count}: it has an older list");
        net.kill(peer(1));
        net.run(NO_TURN_PASSED);
        assert_eq!(net.host(), last, "{count}");
    }
}

/// A large session's new host has its lists wait for its first state. If it is cut off then, some have none of it yet.
#[test]
fn whoever_has_no_list_of_the_last_host_is_told_too() {
    let mut net = Net::of(24);
    net.run(Duration::from_secs(3));
    net.kill(peer(1));
    step_until(&mut net, |net| net.peers.values().all(|session| session.leader() == peer(2)));
    let last = peer(24);
    net.set(last, CONNECTIONS, "200");
    step_without(&mut net, last, of_lists, |net| is_next(net, last, 3) && is_next(net, last, 4));
    assert_eq!(version(&mut net, last), (0, 0), "it has none of this host");
    assert!(!is_next(&net, last, 24));
    net.kill(peer(2));
    net.run(NO_TURN_PASSED);
    assert_eq!(net.host(), last);
}

/// Nobody is waited for who has no vote; and whoever has one may be the last to know.
#[test]
fn whoever_comes_next_and_does_not_know_that_it_votes_is_told() {
    let mut net = Net::of(4);
    net.join(peer(5));
    step_until(&mut net, |net| net.peers.contains_key(&peer(5)));
    net.settle_in(peer(5), CanBeHost::Yes);
    net.set(peer(5), CONNECTIONS, "200");
    let votes = |net: &Net, by: u128| net.session(peer(by)).view().members.contains_key(&peer(5));
    let of_views = |body: &Body| matches!(body, Body::View(_));
    step_without(&mut net, peer(5), of_views, |net| votes(net, 2) && is_next(net, peer(5), 2));
    assert!(!votes(&net, 5) && is_next(&net, peer(2), 5), "it does not know");
    net.kill(peer(1));
    net.run(NO_TURN_PASSED);
    assert_eq!(net.host(), peer(5));
}

/// Of a large session nobody has a list a beat before others have it.
#[test]
fn a_list_of_a_large_session_is_with_all_at_once() {
    let mut net = Net::of(24);
    net.run(Duration::from_secs(3));
    net.set(peer(24), CONNECTIONS, "200");
    step_until(&mut net, |net| is_next(net, peer(24), 1));
    let told = version(&mut net, peer(1));
    net.run(Duration::from_millis(30));
    for id in 2..=24 {
        assert_eq!(version(&mut net, peer(id)), told, "{id}");
    }
}
