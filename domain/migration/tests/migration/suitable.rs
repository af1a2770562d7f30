//! "Lobby migration: the current host determines that a client in the lobby is a more suitable candidate, prior to commencing the
//! game."

use std::time::Duration;

use mainstay_migration::{
    Acting, Body, CanBeHost, Cause, GamePhase, Input, Message, Migratable, Output, PeerId, Role, Stamp,
    WithoutMajority,
};
use mainstay_migration::{Epoch, Handover, Outcome, Stage, Tick};

use crate::joins::step_until;
use crate::net::{Net, peer, snapshot};

const NAT: &str = "net_hostHintingNATTypeOverride";
const STRICT: &str = "3";
/// Longer than somebody has to suit better, and shorter than a host keeps what it came to by a move.
const A_WHILE: Duration = Duration::from_secs(13);

fn gather(net: &mut Net) {
    let all: Vec<PeerId> = net.peers.keys().copied().collect();
    all.into_iter().for_each(|id| net.give(id, Input::Phase(GamePhase::Gathering)));
}

fn asked(net: &Net, id: u128) -> Input {
    Input::HandOver { to: None, why: Handover::Lobby, last: snapshot(net.seen[&peer(id)].tick) }
}

/// "This command is useful for creating, or repeating test situations": the host reports a NAT type that is worse than the others'.
#[test]
fn while_players_gather_the_session_goes_to_whoever_suits_better() {
    let mut net = Net::of(4);
    gather(&mut net);
    net.set(peer(1), NAT, STRICT);
    net.run(Duration::from_millis(9_500));
    assert_eq!(net.host(), peer(1), "not at once");
    let tick = net.seen[&peer(1)].tick;
    net.run(Duration::from_millis(3_500));
    assert_eq!(net.host(), peer(2), "the best, as all reckon it");
    assert_eq!(net.stages(peer(1))[2], Stage::DemoteToClient, "the old host is a client");
    for id in 1..=4 {
        let reports = &net.seen[&peer(id)].reports;
        assert_eq!((reports.len(), reports[0].cause), (1, Cause::Lobby), "{id}");
        let role = if id == 2 { Role::Host } else { Role::Client };
        assert!(matches!(reports[0].outcome, Outcome::Moved { role: it, .. } if it == role), "{id}");
    }
    assert!(net.seen[&peer(2)].led_from >= Some(tick), "what was held goes along");
    assert_eq!(net.seen[&peer(2)].led_from, Some(net.seen[&peer(1)].tick), "and what the host did since");
}

/// It is the best, and its host hears it, but not the other way round: it could not take what the host gives it, and the next can.
#[test]
fn nobody_is_given_a_session_whose_host_it_does_not_hear() {
    for why in [Handover::Lobby, Handover::Leaves] {
        let mut net = Net::of(4);
        gather(&mut net);
        net.cut.insert((peer(1), peer(2)));
        net.run(Duration::from_secs(2));
        net.set(peer(1), NAT, STRICT);
        net.run(Duration::from_millis(200));
        let tick = net.seen[&peer(1)].tick;
        net.give(peer(1), Input::HandOver { to: None, why, last: snapshot(tick) });
        net.run(Duration::from_secs(1));
        assert_eq!(net.session(peer(4)).leader(), peer(3), "{why:?}");
        assert_eq!(net.seen[&peer(3)].led_from, Some(tick), "{why:?}");
    }
}

/// A game that does not answer when it is asked for its last state: what it gave before goes along.
#[test]
fn a_game_that_says_nothing_keeps_no_session() {
    let mut net = Net::of(3);
    gather(&mut net);
    net.set(peer(1), NAT, STRICT);
    net.run(Duration::from_secs(1));
    net.idle = true;
    let tick = net.session(peer(1)).held().id().tick;
    net.run(Duration::from_secs(10));
    assert!(net.seen[&peer(1)].outputs.contains(&Output::SomebodyBetter(peer(2))));
    assert_eq!(net.host(), peer(1), "it is waited for");
    net.run(Duration::from_secs(3));
    assert_eq!((net.host(), net.seen[&peer(2)].led_from), (peer(2), Some(tick)));
}

/// Whatever stands against it: the game has begun, it is switched off, nobody suits better, or nobody that may be host.
#[test]
fn a_session_stays_with_its_host_otherwise() {
    type Case = (&'static str, fn(&mut Net));
    let cases: [Case; 5] = [
        ("the game has begun", |net| {
            net.set(peer(1), NAT, STRICT);
            net.give(peer(1), Input::Phase(GamePhase::Started));
        }),
        ("automatic migration is off", |net| {
            net.set(peer(1), NAT, STRICT);
            net.set(peer(1), "net_automigrate_host", "0");
        }),
        ("a lower channel alone is no reason", |net| {
            net.set(peer(1), "net_hostHintingActiveConnectionsOverride", "3");
        }),
        ("nobody else has called itself suitable", |net| {
            net.set(peer(1), NAT, STRICT);
            (2..=4).for_each(|id| net.give(peer(id), Input::Suitable(CanBeHost::NotYet)));
        }),
        ("it suits better again in time", |net| {
            net.set(peer(1), NAT, STRICT);
            net.run(Duration::from_secs(9));
            net.set(peer(1), NAT, "0");
        }),
    ];
    for (why, prepare) in cases {
        let mut net = Net::of(4);
        gather(&mut net);
        prepare(&mut net);
        net.run(A_WHILE);
        assert_eq!((net.host(), net.session(peer(1)).stamp().epoch), (peer(1), Epoch::FIRST), "{why}");
    }
    let mut net = Net::with(3, Migratable::No, WithoutMajority::Fork);
    gather(&mut net);
    net.set(peer(1), NAT, STRICT);
    net.run(A_WHILE);
    assert_eq!(net.host(), peer(1), "it is not migratable");
}

/// Who comes while the host looks for a better one may be better yet.
#[test]
fn whoever_comes_has_it_look_anew() {
    let mut net = Net::of(3);
    gather(&mut net);
    net.set(peer(1), NAT, STRICT);
    net.run(Duration::from_secs(8));
    net.join(peer(9));
    net.run(Duration::from_secs(8));
    assert_eq!(net.host(), peer(1), "not 16 s after it began, but 10 s after somebody came");
    net.run(Duration::from_secs(5));
    assert_eq!(net.host(), peer(2));
}

/// Two who suit better than the host, and which of them is the best changes with every link: all the while one of them is.
#[test]
fn whoever_else_suits_better_starts_nothing_anew() {
    let mut net = Net::of(6);
    gather(&mut net);
    (4..=6).for_each(|id| net.set(peer(id), NAT, STRICT));
    net.set(peer(1), NAT, STRICT);
    let mut best = Vec::new();
    for turn in 0..4 {
        net.unlinked.clear();
        // The second reaches all, and then one fewer than the third.
        if turn % 2 == 0 {
            net.unlinked.insert((peer(2), peer(6)));
        }
        net.run(Duration::from_millis(2_500));
        best.push(net.session(peer(1)).anticipated());
    }
    assert_eq!(best, [3, 2, 3, 2].map(|id| Some(peer(id))));
    net.run(Duration::from_secs(3));
    assert_eq!(net.host(), peer(2), "the best of those who have suited for ten seconds");
}

/// Each finds the other a little better: the session does not go to and fro.
#[test]
fn a_session_moves_once_in_half_a_minute_at_most() {
    let mut net = Net::of(3);
    gather(&mut net);
    net.set(peer(1), NAT, STRICT);
    net.run(A_WHILE);
    assert_eq!(net.host(), peer(2));
    net.set(peer(2), NAT, STRICT);
    net.run(Duration::from_secs(20));
    assert_eq!(net.host(), peer(2), "it keeps what it has just come to");
    net.run(Duration::from_secs(20));
    assert_eq!(net.host(), peer(3), "and gives it on then");
}

/// A game may ask for a better one itself, at any time: then too nothing moves to one that is not, and nothing of the game is lost.
#[test]
fn who_asks_for_a_better_host_is_told_that_there_is_none() {
    let mut net = Net::of(3);
    let ask = asked(&net, 1);
    net.give(peer(1), ask);
    net.run(Duration::from_secs(2));
    let seen = &net.seen[&peer(1)];
    assert!(seen.outputs.contains(&Output::NobodyBetter));
    assert!(!seen.outputs.iter().any(|output| matches!(output, Output::NotTaken(_))), "what it gave is held");
    assert_eq!((net.host(), seen.stages.len()), (peer(1), 0), "and it plays on");
    assert_eq!(net.session(peer(1)).held().id().tick, seen.tick);

    net.set(peer(1), NAT, STRICT);
    net.run(Duration::from_secs(1));
    let ask = asked(&net, 1);
    net.give(peer(1), ask);
    net.run(Duration::from_secs(2));
    assert_eq!(net.host(), peer(2), "nobody waits where the game itself asks");
}

/// "Sessions need to be created as migratable (or not)": one that is not has nobody who could be host next, and a game that asks for a better
/// one, or names somebody, is told so and plays on. It steps no further until it hears.
#[test]
fn in_a_session_that_does_not_move_nobody_is_better() {
    for to in [None, Some(peer(2))] {
        let mut net = Net::with(2, Migratable::No, WithoutMajority::Fork);
        net.set(peer(1), NAT, STRICT);
        net.run(Duration::from_secs(1));
        let last = snapshot(net.seen[&peer(1)].tick);
        net.give(peer(1), Input::HandOver { to, why: Handover::Lobby, last });
        net.run(Duration::from_secs(1));
        let seen = &net.seen[&peer(1)];
        assert!(seen.outputs.contains(&Output::NobodyBetter), "{to:?}");
        assert!(!seen.outputs.iter().any(|output| matches!(output, Output::NotTaken(_))), "{to:?}");
        assert_eq!((net.host(), seen.stages.len()), (peer(1), 0));
    }
}

/// Under a lobby the same: it grants the next epoch to whom the host names.
#[test]
fn a_session_of_a_lobby_goes_to_whoever_suits_better_too() {
    let mut net = Net::under_lobby(3, WithoutMajority::Fork);
    gather(&mut net);
    net.set(peer(1), NAT, STRICT);
    net.run(A_WHILE);
    assert_eq!((net.host(), net.lobby.host), (peer(2), Some((Epoch(2), peer(2)))));
}

/// Whom it gives the session may be gone by then, or its lobby may refuse it, for its service does not support migration by now. No game stands
/// still for ever that waits to follow: it is told that it acts again.
#[test]
fn who_gives_a_session_that_nobody_takes_is_told_to_act_again() {
    type Case = (&'static str, fn() -> Net, fn(&mut Net));
    let cases: [Case; 2] = [
        ("its successor is gone", || Net::of(3), |net| net.kill(peer(2))),
        ("its lobby refuses it", || Net::under_lobby(3, WithoutMajority::Fork), |net| net.lobby.stays = true),
    ];
    for (why, begin, happens) in cases {
        let mut net = begin();
        net.set(peer(1), NAT, STRICT);
        net.run(Duration::from_secs(1));
        happens(&mut net);
        let ask = asked(&net, 1);
        let before = net.seen[&peer(1)].outputs.len();
        net.give(peer(1), ask);
        net.run(Duration::from_secs(5));
        let seen = &net.seen[&peer(1)];
        let acts = seen.outputs[before..].iter().filter_map(|output| {
            let Output::Act(acting) = output else { return None };
            Some(*acting)
        });
        assert_eq!(acts.collect::<Vec<_>>(), [Acting::No, Acting::Yes], "{why}");
        assert_eq!((net.host(), net.session(peer(1)).stamp().fork), (peer(1), 0), "{why}");
    }
}

/// The best does not take it, and stays in the session: it would cost the game two seconds each time that it is asked again. The next best is given it.
#[test]
fn who_did_not_take_the_session_is_not_given_it_again() {
    let mut net = Net::of(4);
    gather(&mut net);
    net.set(peer(1), NAT, STRICT);
    step_until(&mut net, |net| net.session(peer(1)).hands_over());
    [1, 3, 4].into_iter().for_each(|other| net.cut_both(peer(2), peer(other)));
    step_until(&mut net, |net| !net.session(peer(1)).hands_over());
    step_until(&mut net, |net| [3, 4].iter().all(|id| net.session(peer(*id)).has_host()));
    net.cut.clear();
    step_until(&mut net, |net| net.session(peer(2)).has_host());
    assert_eq!(net.host(), peer(1));
    net.run(Duration::from_secs(50));
    assert_eq!(net.host(), peer(3));
}

/// A game that says nothing has begun, and a game without a state has nothing to lose.
#[test]
fn only_a_game_that_says_so_gathers() {
    let mut net = Net::of(3);
    net.set(peer(1), NAT, STRICT);
    net.run(Duration::from_secs(20));
    assert_eq!(net.host(), peer(1));
    net.give(peer(1), Input::Phase(GamePhase::Gathering));
    net.run(A_WHILE);
    assert_eq!(net.host(), peer(2), "the host's word is enough");
}

/// Who suits better may be gone, or suit better no more, by the time that the game was told: one that stands still for it goes on.
#[test]
fn a_game_that_stands_still_for_somebody_who_is_gone_goes_on() {
    type Case = (&'static str, fn(&mut Net), bool);
    let cases: [Case; 3] = [
        ("it leaves", |net| net.give(peer(2), Input::Leave), true),
        ("its power is cut", |net| net.kill(peer(2)), true),
        ("it suits better no more", |net| net.set(peer(2), NAT, STRICT), false),
    ];
    for (why, happens, is_gone) in cases {
        let mut net = Net::of(3);
        gather(&mut net);
        net.set(peer(1), NAT, STRICT);
        net.run(Duration::from_secs(1));
        net.idle = true;
        net.run(Duration::from_millis(9_100));
        assert!(net.seen[&peer(1)].outputs.contains(&Output::SomebodyBetter(peer(2))), "{why}");
        let told =
            |net: &Net| net.seen[&peer(1)].outputs.iter().filter(|it| **it == Output::NobodyBetter).count();
        assert_eq!(told(&net), 0, "{why}");
        happens(&mut net);
        net.run(Duration::from_millis(1_500));
        assert_eq!(told(&net), 1, "{why}: it is told before it is asked no more");
        if is_gone {
            // It had stepped no further, and gives its last state to whom it was told of.
            let tick = Tick(net.seen[&peer(1)].tick.0 + 1);
            let last = snapshot(tick);
            net.give(peer(1), Input::HandOver { to: Some(peer(2)), why: Handover::Lobby, last });
            let seen = &net.seen[&peer(1)];
            assert_eq!(told(&net), 2, "{why}");
            assert!(!seen.outputs.iter().any(|it| matches!(it, Output::NotTaken(_))), "{why}");
            assert_eq!(net.session(peer(1)).held().id().tick, tick, "{why}");
        }
        assert_eq!(net.session(peer(1)).leader(), peer(1), "{why}");
    }
}

/// A member that speaks from a side that is none has its host certified anew, each time: that is no reason to keep the session.
#[test]
fn nobody_keeps_a_session_with_its_host_by_speaking_of_a_side() {
    let mut net = Net::of(4);
    gather(&mut net);
    net.set(peer(1), NAT, STRICT);
    for _ in 0..300 {
        let stamp = Stamp { fork: 1, ..net.session(peer(1)).stamp() };
        let message = Message { session: net.config.session, stamp, body: Body::Ask };
        net.deliver(peer(4), peer(1), message);
        net.run(Duration::from_millis(100));
    }
    assert!(net.session(peer(1)).stamp().epoch > Epoch::FIRST, "it was certified anew");
    assert_eq!(net.host(), peer(2));
}

/// "all clients will initially report that they are unsuitable as a host of any session they connect to": whom a host names may not be it either, and
/// its game is told.
#[test]
fn nobody_is_named_who_has_not_said_that_it_can_be_host() {
    let mut net = Net::of(3);
    net.give(peer(3), Input::Suitable(CanBeHost::NotYet));
    net.run(Duration::from_secs(1));
    net.give(
        peer(1),
        Input::HandOver { to: Some(peer(3)), why: Handover::Lobby, last: snapshot(Tick(1_000_000)) },
    );
    net.run(Duration::from_secs(3));
    assert_eq!((net.host(), net.session(peer(3)).stamp()), (peer(1), Stamp::certified(Epoch::FIRST)));
    assert!(net.seen[&peer(1)].outputs.contains(&Output::NobodyBetter));
    // Who goes gives it to the next best.
    net.give(
        peer(1),
        Input::HandOver { to: Some(peer(3)), why: Handover::Leaves, last: snapshot(Tick(1_000_001)) },
    );
    net.run(Duration::from_secs(1));
    assert_eq!((net.host(), net.session(peer(3)).stamp()), (peer(2), Stamp::certified(Epoch(2))));
}
