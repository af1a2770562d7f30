//! The named defects of CRYENGINE (reference, section 1.9) that no other file shows: B1, B2 and B12 are in `moves`, B1 with forged
//! names in `seal`, B6 and B7 in `listeners`, B10 in `sentences`.

use std::collections::BTreeSet;
use std::time::Duration;

use mainstay_migration::{
    Body, CanBeHost, ChannelId, Claim, Epoch, Hint, HintList, Input, ListenerId, NatType, Outcome, Refusal,
    Stage, Stamp,
};

use crate::net::{Net, peer};

/// B3: unversioned lists let peers choose different hosts. Here one has missed the newest list: it costs time, and no second host.
#[test]
fn b3_lists_that_differ_make_no_second_host() {
    let mut net = Net::of(5);
    net.cut.insert((peer(1), peer(5)));
    net.set(peer(4), "net_hostHintingActiveConnectionsOverride", "200");
    net.run(Duration::from_millis(400));
    assert_eq!(net.session(peer(2)).anticipated(), Some(peer(4)));
    assert_eq!(net.session(peer(5)).anticipated(), Some(peer(2)), "it has an older list");
    net.kill(peer(1));
    net.run(Duration::from_secs(5));
    let host = net.host();
    let leads = [2, 3, 4, 5].into_iter().filter(|id| net.stages(peer(*id)).contains(&Stage::PromoteToServer));
    assert_eq!(leads.collect::<Vec<_>>(), [host.0], "one was promoted, and all obey it");
}

/// B3 again: by its own list each takes the other for the first. Both wait, both ask, and each had passed the other over: one lets go.
#[test]
fn b3_two_who_wait_for_each_other_do_not_go_on_so() {
    const NAT: &str = "net_hostHintingNATTypeOverride";
    let mut net = Net::of(3);
    net.set(peer(2), NAT, "3");
    net.run(Duration::from_millis(400));
    net.cut.insert((peer(1), peer(2)));
    net.set(peer(2), NAT, "1");
    net.run(Duration::from_millis(300));
    // It is never told of what it missed, and hears its host as long as the other.
    net.travels = |body| Duration::from_millis(if matches!(body, Body::Hints(_)) { 60_000 } else { 20 });
    net.cut.clear();
    net.run(Duration::from_secs(1));
    assert_eq!(net.session(peer(2)).anticipated(), Some(peer(3)));
    assert_eq!(net.session(peer(3)).anticipated(), Some(peer(2)));
    net.kill(peer(1));
    net.run(Duration::from_secs(4));
    assert_eq!((net.host(), net.session(peer(2)).stamp().fork), (peer(2), 0));
}

/// Of two who ask for votes in different epochs the earlier gives way, for it hears of the later one. If the later gave way, too, both
/// would wait for each other; so it was in a session of 64 whose host died while many came in, until its game was over.
#[test]
fn whoever_asks_in_a_later_epoch_gives_way_to_nobody() {
    let mut net = Net::of(5);
    net.set(peer(4), "net_hostHintingActiveConnectionsOverride", "200");
    net.run(Duration::from_millis(400));
    let answers: Vec<_> = [2, 3, 5].into_iter().map(|id| (peer(id), peer(4))).collect();
    net.kill(peer(1));
    let asks_in =
        |net: &Net, epoch: u64| net.session(peer(4)).shown().contains(&format!("promised epoch-{epoch},"));
    while !asks_in(&net, 2) {
        net.run(Duration::from_millis(10));
    }
    net.cut.extend(answers.iter().copied());
    let refusal = Body::Refusal { epoch: Epoch(2), why: Refusal::Promised(Epoch(5)) };
    net.say(peer(3), peer(4), refusal);
    while !asks_in(&net, 7) {
        net.run(Duration::from_millis(10));
    }
    net.cut.retain(|cut| !answers.contains(cut));
    let (epoch, candidate, view) = (Epoch(6), peer(2), net.session(peer(2)).view().clone());
    net.say(peer(2), peer(4), Body::Claim(Claim { epoch, candidate, view }));
    net.run(Duration::from_millis(300));
    assert_eq!((net.host(), net.session(peer(2)).stamp().epoch), (peer(4), Epoch(7)));
}

/// A candidate that has missed a change of the view learns of it by being refused, and asks again without waiting.
#[test]
fn whoever_asks_with_an_old_view_asks_again_at_once() {
    let mut net = Net::of(5);
    net.run(Duration::from_millis(400));
    net.cut.insert((peer(1), peer(2)));
    net.join(peer(6));
    net.run(Duration::from_millis(350));
    assert!(net.session(peer(2)).view().id < net.session(peer(3)).view().id);
    net.kill(peer(1));
    let epoch_of = |net: &Net, id| net.session(peer(id)).stamp().epoch;
    let asks = |net: &Net| net.session(peer(2)).shown().contains("promised epoch-2,");
    while !asks(&net) {
        net.run(Duration::from_millis(5));
    }
    net.run(Duration::from_millis(100));
    assert_eq!(
        (net.host(), epoch_of(&net, 2)),
        (peer(2), Epoch(3)),
        "asked, refused, asked and elected: four ways of 20 ms"
    );
}

/// B4: whoever is lost is who is taken out, not whoever stands first in the list.
#[test]
fn b4_only_the_lost_are_passed_over() {
    let mut net = Net::of(5);
    net.kill(peer(1));
    net.kill(peer(3));
    net.run(Duration::from_secs(8));
    assert_eq!(net.host(), peer(2), "the head of the list lives, and is host");
    let members: Vec<u128> = net.session(peer(2)).roster().members.keys().map(|peer| peer.0).collect();
    assert_eq!(members, [2, 4, 5]);
}

/// B5: waiting for a new host hangs on no listener: a session without any moves all the same.
#[test]
fn b5_a_session_without_listeners_moves() {
    let mut net = Net::of(4);
    for session in net.peers.values_mut() {
        session.remove_listener(ListenerId(0));
    }
    net.kill(peer(1));
    net.run(Duration::from_secs(3));
    assert_eq!(net.host(), peer(2));
    for id in 2..=4 {
        assert!(net.seen[&peer(id)].stages.is_empty());
        assert!(matches!(net.seen[&peer(id)].reports[0].outcome, Outcome::Moved { .. }));
    }
}

/// B8: how long a host was missed is no part of the budget: its clock starts with OnInitiate.
#[test]
fn b8_the_budget_begins_with_on_initiate() {
    let mut net = Net::of(4);
    for id in 1..=4 {
        net.set(peer(id), "net_migrate_timeout", "1");
    }
    net.kill(peer(1));
    net.run(Duration::from_secs(4));
    assert_eq!(net.host(), peer(2), "0.8 s of silence and a move fit into a budget of 1 s");
    for id in 2..=4 {
        assert!(net.seen[&peer(id)].reports[0].took_ms < 1_000);
    }
}

/// B9: two hints are alike only if all of them is, the bit rate too.
#[test]
fn b9_a_hint_that_differs_in_anything_is_another() {
    let channel = ChannelId { stamp: Stamp::certified(Epoch::FIRST), number: 1 };
    let hint = Hint {
        can_be_host: CanBeHost::Yes,
        nat: NatType::Open,
        connections: 3,
        ping_ms: 40,
        upstream_bps: 1_000_000,
    };
    let mut list = HintList::empty(Epoch::FIRST);
    assert!(list.take(peer(1), channel, hint));
    assert!(!list.take(peer(1), channel, hint));
    let others = [
        Hint { upstream_bps: 1_000_001, ..hint },
        Hint { ping_ms: 41, ..hint },
        Hint { connections: 4, ..hint },
        Hint { nat: NatType::Strict, ..hint },
        Hint { can_be_host: CanBeHost::NotYet, ..hint },
    ];
    for (number, other) in others.into_iter().enumerate() {
        assert!(list.take(peer(1), channel, other), "{other:?}");
        assert_eq!(list.version.number as usize, number + 2);
    }
}

/// B11: no channel is given twice, also where a new host lets people in of whom the old one had not told all.
#[test]
fn b11_channels_are_never_given_twice() {
    let mut net = Net::of(3);
    let mut given: BTreeSet<ChannelId> = BTreeSet::new();
    let mut members = 0;
    let mut count = |net: &Net, host: u128| {
        let roster = net.session(peer(host)).roster();
        let before = given.len();
        given.extend(roster.members.values().copied());
        members += given.len() - before;
        assert_eq!(roster.members.values().collect::<BTreeSet<_>>().len(), roster.members.len());
    };
    count(&net, 1);
    net.join(peer(11));
    net.run(Duration::from_millis(120));
    net.kill(peer(1));
    net.run(Duration::from_secs(4));
    net.join(peer(12));
    net.run(Duration::from_secs(2));
    count(&net, 2);
    net.settle_in(peer(12), CanBeHost::Yes);
    net.give(peer(2), Input::Kick(peer(12)));
    net.run(Duration::from_secs(2));
    net.join(peer(13));
    net.run(Duration::from_secs(2));
    count(&net, 2);
    let channels: BTreeSet<ChannelId> = net.session(peer(2)).roster().members.values().copied().collect();
    assert!(channels.iter().any(|channel| channel.stamp == Stamp::certified(Epoch(2))));
    assert!(members >= 5, "{members}");
}
