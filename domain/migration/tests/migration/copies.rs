//! Who holds the game when a host says that it is safe, and how long anybody keeps a copy of it.

use std::time::Duration;

use mainstay_migration::{CanBeHost, Epoch, Input, NatType, Output, Stamp, StateId, WithoutMajority};

use crate::joins::step_until;
use crate::net::{Net, peer};

fn acknowledged(net: &Net, id: u128) -> usize {
    net.seen[&peer(id)].outputs.iter().filter(|output| matches!(output, Output::Durable(_))).count()
}

/// Issue 5: "acknowledged = held by the host and min(2, standbys) others": under a lobby the lease of a host lasts while it hears nobody, and
/// those whom it does not hear may have another meanwhile. What it says of its game then nobody holds.
#[test]
fn a_host_of_a_lobby_that_hears_nobody_acknowledges_nothing() {
    let mut net = Net::under_lobby(3, WithoutMajority::Fork);
    net.run(Duration::from_secs(2));
    assert!(acknowledged(&net, 1) > 5, "{}", acknowledged(&net, 1));
    [2, 3].into_iter().for_each(|id| net.cut_both(peer(1), peer(id)));
    // What was under way.
    net.run(Duration::from_millis(300));
    let before = acknowledged(&net, 1);
    net.run(Duration::from_secs(4));
    assert_eq!(acknowledged(&net, 1), before);
}

/// Nor once it has put them all out: they hear it, so nobody misses it, until they are. As soon as they do another is host, and knows nothing of what this one said was safe.
#[test]
fn a_host_of_a_lobby_that_is_deaf_acknowledges_nothing_after_it_has_put_all_out() {
    let mut net = Net::under_lobby(4, WithoutMajority::Fork);
    net.run(Duration::from_secs(2));
    net.cut.extend([2, 3, 4].map(|id| (peer(id), peer(1))));
    net.run(Duration::from_millis(300));
    let before = acknowledged(&net, 1);
    net.run(Duration::from_millis(5_500));
    assert_eq!(net.session(peer(1)).view().members.len(), 1, "all are put out");
    step_until(&mut net, |net| net.session(peer(1)).stamp() > Stamp::certified(Epoch::FIRST));
    assert_eq!(acknowledged(&net, 1), before);
}

/// Whoever comes is not silent, nor is who has not told yet that it obeys a host that was made just now: what they hold counts as soon as they say so.
#[test]
fn a_host_of_a_lobby_that_puts_nobody_out_whom_it_could_hear_acknowledges_at_once() {
    let mut net = Net::under_lobby(1, WithoutMajority::Fork);
    (2..=5).for_each(|id| net.join(peer(id)));
    net.run(Duration::from_secs(1));
    (2..=5).for_each(|id| net.settle_in(peer(id), CanBeHost::Yes));
    let before = acknowledged(&net, 1);
    net.run(Duration::from_secs(1));
    assert!(acknowledged(&net, 1) > before + 5, "four came at once: {}", acknowledged(&net, 1));
    net.kill(peer(1));
    step_until(&mut net, |net| net.session(peer(2)).standing().is_some());
    net.run(Duration::from_secs(1));
    assert!(acknowledged(&net, 2) > 5, "its host had just died: {}", acknowledged(&net, 2));
}

/// Where they are dead it goes on alone, and what it does is safe as soon as nobody can have another host.
#[test]
fn a_host_whose_members_all_died_at_once_acknowledges_again_after_a_lease() {
    let mut net = Net::under_lobby(4, WithoutMajority::Fork);
    net.run(Duration::from_secs(2));
    [2, 3, 4].into_iter().for_each(|id| net.kill(peer(id)));
    net.run(Duration::from_millis(300));
    let before = acknowledged(&net, 1);
    net.run(Duration::from_secs(10));
    assert_eq!(acknowledged(&net, 1), before);
    net.run(Duration::from_secs(2));
    assert!(acknowledged(&net, 1) > before);
}

/// A copy that nobody keeps up takes the game back by as much as it is old, where all are lost who hold a newer one: whoever is no standby any more forgets it.
#[test]
fn whoever_is_no_standby_any_more_forgets_its_copy() {
    let mut net = Net::of(5);
    let reached = |nat| Input::Reachable { nat, ping_ms: 30 };
    let holds = |net: &Net| {
        let ids = 2..=5_u128;
        ids.filter(|id| net.session(peer(*id)).held().id() != StateId::NONE).collect::<Vec<_>>()
    };
    [2, 3].into_iter().for_each(|id| net.give(peer(id), reached(NatType::Strict)));
    net.run(Duration::from_secs(20));
    assert_eq!(holds(&net), [4, 5]);
    [2, 3].into_iter().for_each(|id| net.give(peer(id), reached(NatType::Open)));
    [4, 5].into_iter().for_each(|id| net.give(peer(id), reached(NatType::Strict)));
    net.run(Duration::from_secs(5));
    assert_eq!(holds(&net), [2, 3, 4, 5], "for a moment more");
    net.run(Duration::from_secs(15));
    assert_eq!(holds(&net), [2, 3]);
}
