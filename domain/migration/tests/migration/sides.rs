//! Sides without a majority that meet the rest: whose game goes on, and that the one that was given up does not come back.

use std::time::Duration;

use mainstay_migration::{Epoch, Output, Stamp, Standing, StateId, WithoutMajority};

use crate::joins::step_until;
use crate::net::{Net, peer};

/// The first side of a session that nobody certifies.
const ALONE: Stamp = Stamp { epoch: Epoch::FIRST, fork: 1 };

/// Of four players one is cut off from the others and the lobby, and has gone on alone.
fn side_of_one() -> Net {
    let mut net = Net::under_lobby(4, WithoutMajority::Fork);
    net.lobby.cut.insert(peer(3));
    for other in [1, 2, 4] {
        net.cut_both(peer(3), peer(other));
    }
    step_until(&mut net, |net| net.session(peer(3)).held().id().stamp == ALONE);
    net
}

/// Whoever led a side and obeys the certified host holds a state with the higher name. It is no state to go on from any more, and that side
/// does not come back with the next host.
#[test]
fn who_obeys_another_forgets_the_side_it_led() {
    let mut net = side_of_one();
    net.idle = true;
    net.run(Duration::from_millis(200));
    net.kill(peer(1));
    net.run(Duration::from_secs(1));
    net.cut.clear();
    step_until(&mut net, |net| net.session(peer(3)).stamp() == Stamp::certified(Epoch(2)));
    net.run(Duration::from_secs(1));
    let of_host = net.session(peer(2)).held().id();
    assert_ne!(of_host, StateId::NONE);
    assert_eq!(net.session(peer(3)).held().id(), of_host, "it is a standby, and is sent the other");
}

/// Two of five from the others.
fn cut_apart(net: &mut Net) {
    for one in [1, 4, 5] {
        for other in [2, 3] {
            net.cut_both(peer(one), peer(other));
        }
    }
}

/// A larger side without a majority is met while this host has none either, and it begins to give way. Then its members are there again:
/// whoever a majority confirms goes on.
#[test]
fn who_is_confirmed_again_gives_its_session_to_no_side_without_a_majority() {
    let mut net = Net::of(5);
    cut_apart(&mut net);
    net.freeze(peer(4));
    net.freeze(peer(5));
    step_until(&mut net, |net| (2..=3).all(|id| net.session(peer(id)).stamp() == ALONE));
    step_until(&mut net, |net| net.session(peer(1)).standing() == Some(Standing::Unconfirmed));
    net.run(Duration::from_secs(1));
    net.cut.clear();
    step_until(&mut net, |net| net.session(peer(1)).hands_over());
    cut_apart(&mut net);
    // What is under way to it is lost, too.
    net.freeze(peer(1));
    net.run(Duration::from_millis(25));
    for id in [1, 4, 5] {
        net.thaw(peer(id));
    }
    step_until(&mut net, |net| net.session(peer(1)).standing() == Some(Standing::Confirmed));
    net.cut.clear();
    net.run(Duration::from_secs(4));
    assert_eq!((net.host(), net.session(peer(2)).stamp().fork), (peer(1), 0));
    let gave_up = |output: &Output| matches!(output, Output::HostNoMore { .. });
    assert!(!net.seen[&peer(1)].outputs.iter().any(gave_up));
}
