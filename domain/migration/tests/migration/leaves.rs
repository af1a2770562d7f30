//! "Controlled migration: the current host quits the game in a controlled manner": hosts and members that go by their own word, what goes
//! along, and what a lost word of it costs.

use std::time::Duration;

use mainstay_migration::{
    Answer, Beat, Body, CanBeHost, Cause, End, Epoch, Failure, Handover, Input, Leads, Message, Outcome,
    Output, PACE, Stage, Stamp, StateId, TERMINATE_MAX,
};

use crate::moves::last_state;
use crate::net::{Net, peer, snapshot};

/// The same, while a planned leave is followed by another before the view knows of the first: both have taken the next host's
/// view before they went.
#[test]
fn one_leave_after_another_leaves_a_majority() {
    let mut net = Net::of(4);
    for id in 1..=2 {
        let last = snapshot(net.seen[&peer(id)].tick);
        net.give(peer(id), Input::HandOver { to: None, why: Handover::Leaves, last });
        while !matches!(net.seen[&peer(id)].outputs.last(), Some(Output::Ended(End::Left))) {
            net.run(Duration::from_millis(5));
        }
        net.kill(peer(id));
    }
    net.run(Duration::from_secs(6));
    let host = net.host();
    assert_eq!(net.session(host).stamp().fork, 0, "confirmed");
    assert_eq!(net.session(host).view().members.len(), 2);
    assert_eq!(net.session(host).standing(), Some(mainstay_migration::Standing::Confirmed));
}

/// The host's last list comes after the word that it goes, and was made before it knew that who came last can be host: that one goes on all the same.
#[test]
fn a_list_that_comes_after_its_host_has_gone_leaves_nobody_out() {
    let mut net = Net::of(3);
    let mut late = net.session(peer(1)).hints().clone();
    late.entries.remove(&peer(2));
    late.version.number += 1;
    let stamp = net.session(peer(1)).stamp();
    net.kill(peer(3));
    net.say(peer(1), peer(2), Body::Leave);
    assert_ne!(net.session(peer(2)).leader(), peer(2), "it waits for the third");
    let message = Message { session: net.config.session, stamp, body: Body::Hints(late) };
    net.deliver(peer(1), peer(2), message);
    net.kill(peer(1));
    net.run(Duration::from_secs(8));
    assert_eq!(net.session(peer(2)).leader(), peer(2));
}

/// "OnTerminate() is called in the event of an error"; "false meaning 'more processing is required'": also for whoever leaves, or is thrown out,
/// in the middle of a move. It says nothing more meanwhile, and is told that it has ended once its listeners are done, or their time is up.
#[test]
fn whoever_leaves_in_the_middle_of_a_move_hears_it_out() {
    for answers in [Answer::Done, Answer::Wait] {
        let mut net = Net::of(5);
        net.answers = Answer::Wait;
        net.kill(peer(1));
        while net.seen.get(&peer(3)).is_none_or(|seen| seen.stages.is_empty()) {
            net.run(Duration::from_millis(5));
        }
        net.give(peer(3), Input::Leave);
        net.run(Duration::from_millis(100));
        let calls =
            |net: &Net| net.seen[&peer(3)].outputs.iter().filter(|it| matches!(it, Output::Call(..))).count();
        let terminates = net.stages(peer(3)).iter().filter(|stage| **stage == Stage::Terminate).count();
        assert!(terminates > 2, "it is called until it is done: {:?}", net.stages(peer(3)));
        assert!(!net.seen[&peer(3)].outputs.contains(&Output::Ended(End::Left)), "and waited for");
        let before = calls(&net);
        net.give(peer(3), Input::Kick(peer(2)));
        net.give(peer(3), Input::Leave);
        assert_eq!(calls(&net), before, "nothing else is taken");
        net.answers = answers.clone();
        net.run(if answers == Answer::Done { PACE * 3 } else { TERMINATE_MAX });
        let [.., Output::Migrated(report), Output::Ended(End::Left)] = &net.seen[&peer(3)].outputs[..] else {
            panic!("{:?}", net.seen[&peer(3)].outputs.last())
        };
        assert_eq!(report.outcome, Outcome::Terminated(Failure::Left), "{answers:?}");
        assert_eq!(net.session(peer(3)).next_deadline(), None);
        net.kill(peer(3));
        net.answers = Answer::Done;
        net.run(Duration::from_secs(12));
        assert_eq!(net.session(net.host()).view().members.len(), 3, "the others go on");
    }
}

/// Of two players the old host's vote is lost on its way to the new one, who has no majority without it: it comes again with the next beat.
#[test]
fn a_leaving_hosts_lost_vote_costs_a_beat() {
    let mut net = Net::of(2);
    let last = last_state(&net, 1);
    net.travels = |body| {
        if matches!(body, Body::Vote(_)) { Duration::from_secs(3_600) } else { Duration::from_millis(20) }
    };
    net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
    net.travels = |_| Duration::from_millis(20);
    net.run(Duration::from_millis(25 + 20 + 1));
    assert_eq!(net.session(peer(2)).leader(), peer(2));
    assert_eq!(net.session(peer(2)).stamp().fork, 0, "confirmed");
}

/// "Controlled migration: the current host quits the game in a controlled manner, i.e. through the in-game menus." I15: no
/// tick is lost.
#[test]
fn a_host_that_leaves_hands_its_last_tick_on() {
    let mut net = Net::of(3);
    let last = last_state(&net, 1);
    let tick = last.tick;
    net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
    net.run(Duration::from_millis(250));
    assert_eq!(net.seen[&peer(1)].outputs.last(), Some(&Output::Ended(End::Left)));
    assert!(net.seen[&peer(2)].led_from.is_some(), "nobody waits for who has said that it goes");
    net.kill(peer(1));
    assert_eq!(net.host(), peer(2));
    let led = net.seen[&peer(2)].led_from;
    assert_eq!(led, Some(tick));
    net.run(Duration::from_secs(1));
    assert_eq!(net.seen[&peer(3)].reports[0].cause, Cause::Controlled);
}

/// All quit at the end of a match. The host waited two seconds for a successor that had gone too, and then led a session of its own.
#[test]
fn a_host_that_leaves_waits_for_nobody_who_leaves_with_it() {
    let mut net = Net::of(3);
    let last = last_state(&net, 1);
    net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
    for member in [2, 3] {
        net.give(peer(member), Input::Leave);
    }
    net.run(Duration::from_millis(250));
    for player in [1, 2, 3] {
        assert_eq!(net.seen[&peer(player)].outputs.last(), Some(&Output::Ended(End::Left)), "{player}");
    }
}

/// The others had a host that had left them for two seconds.
#[test]
fn a_host_whose_successor_leaves_too_names_another() {
    let mut net = Net::of(5);
    let last = last_state(&net, 1);
    let tick = last.tick;
    net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
    net.give(peer(2), Input::Leave);
    net.run(Duration::from_millis(500));
    for player in [1, 2] {
        assert_eq!(net.seen[&peer(player)].outputs.last(), Some(&Output::Ended(End::Left)), "{player}");
        net.kill(peer(player));
    }
    let host = net.host();
    assert_eq!(net.seen[&host].led_from, Some(tick), "nothing is lost, and nothing played meanwhile");
}

/// A host that just goes has said so itself: nobody waits to see whether others miss it, too. Of two players the other goes on alone.
#[test]
fn nobody_asks_about_a_host_that_said_that_it_goes() {
    for (players, stamp) in [(2, Stamp { epoch: Epoch::FIRST, fork: 1 }), (4, Stamp::certified(Epoch(2)))] {
        let mut net = Net::of(players);
        net.give(peer(1), Input::Leave);
        net.kill(peer(1));
        net.run(Duration::from_millis(150));
        assert_eq!((net.host(), net.session(peer(players)).stamp()), (peer(2), stamp), "{players}");
        assert_eq!(net.seen[&peer(2)].reports[0].cause, Cause::Controlled, "{players}");
    }
}

/// Whoever plays and does not vote yet follows whom the others go on with, and is no second host beside it.
#[test]
fn a_newcomer_follows_whoever_goes_on_for_a_host_that_left() {
    let mut net = Net::of(2);
    net.join(peer(3));
    let plays = |net: &Net| net.peers.contains_key(&peer(3));
    assert!((0..400).any(|_| {
        net.run(Duration::from_millis(1));
        plays(&net)
    }));
    net.settle_in(peer(3), CanBeHost::Yes);
    assert!(!net.session(peer(1)).view().members.contains_key(&peer(3)), "it has no vote");
    net.give(peer(1), Input::Leave);
    net.kill(peer(1));
    net.run(Duration::from_secs(4));
    assert_eq!((net.host(), net.session(peer(3)).leader()), (peer(2), peer(2)));
    assert_eq!(net.seen[&peer(3)].reports.len(), 1);
}

/// What a host said of going in an epoch that is over comes late: it has come back since, and is host again.
#[test]
fn a_late_word_of_going_moves_nothing() {
    let mut net = Net::of(3);
    let late =
        Message { session: net.config.session, stamp: Stamp::certified(Epoch::FIRST), body: Body::Leave };
    for to in [Some(peer(2)), Some(peer(1))] {
        let tick = net.seen[&net.host()].tick;
        net.give(net.host(), Input::HandOver { to, why: Handover::Lobby, last: snapshot(tick) });
        net.run(Duration::from_secs(2));
    }
    let stamp = net.session(peer(3)).stamp();
    assert_eq!((net.host(), stamp), (peer(1), Stamp::certified(Epoch(3))));
    net.deliver(peer(1), peer(3), late);
    net.run(Duration::from_secs(2));
    assert_eq!((net.host(), net.session(peer(3)).stamp()), (peer(1), stamp));
    assert_eq!(net.seen[&peer(3)].reports.len(), 2);
}

/// Another side's host has just asked this one to go on for both, and it has itself certified anew for that.
#[test]
fn a_host_that_leaves_while_it_is_certified_anew_hands_its_last_tick_on_too() {
    let mut net = Net::of(3);
    let beat = net.beat_of(peer(2));
    let (to, why) = (peer(1), Handover::Merge);
    let leads = Leads::HandsOver { to, why, state: StateId::NONE, epoch: Epoch(2) };
    let stamp = Stamp { epoch: Epoch::FIRST, fork: 1 };
    let message = Message { session: net.config.session, stamp, body: Body::Beat(Beat { leads, ..beat }) };
    net.give(peer(1), Input::Found(peer(9)));
    net.give(peer(1), Input::Message { from: peer(9), message });
    net.run(Duration::from_millis(5));
    let last = last_state(&net, 1);
    let tick = last.tick;
    net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
    net.run(Duration::from_secs(2));
    assert_eq!((net.seen[&peer(2)].led_from, net.session(peer(3)).leader()), (Some(tick), peer(2)));
    assert_eq!(net.seen[&peer(1)].outputs.last(), Some(&Output::Ended(End::Left)));
}

/// Whoever hears that the host goes gives its successor the vote before that one can ask: the word and the votes, two ways of
/// 20 ms, and the largest session sends no question sixty-three times.
#[test]
fn a_successor_has_its_votes_without_asking() {
    for (members, ways) in [(2, 1), (3, 1), (4, 2), (64, 2)] {
        let mut net = Net::of(members);
        let last = last_state(&net, 1);
        let tick = last.tick;
        net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
        net.run(ways * Duration::from_millis(20) - Duration::from_millis(1));
        assert_eq!(net.seen[&peer(2)].led_from, None, "{members} members");
        net.run(Duration::from_millis(1));
        assert_eq!(net.seen[&peer(2)].led_from, Some(tick), "{members} members");
        assert_eq!(net.claims, 0, "{members} members");
    }
}

/// Everybody waits for what the successor has lost of the host's word, and of its last state: it is told again soon, in a large session it alone.
#[test]
fn a_successor_that_lost_the_hosts_word_is_told_again_soon() {
    let mut net = Net::of(20);
    let last = last_state(&net, 1);
    let tick = last.tick;
    net.cut.insert((peer(1), peer(2)));
    net.overheard = Some(Vec::new());
    net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
    net.cut.clear();
    net.run(Duration::from_millis(70));
    assert_eq!(net.seen[&peer(2)].led_from, Some(tick));
    let told = net.overheard.take().unwrap();
    let is_word =
        |message: &Message| matches!(&message.body, Body::Beat(Beat { leads: Leads::HandsOver { .. }, .. }));
    let words_to =
        |to| told.iter().filter(|(from, of, it)| (*from, *of) == (peer(1), to) && is_word(it)).count();
    assert_eq!((words_to(peer(2)) > 1, words_to(peer(3))), (true, 1));
}

/// Everybody waits for a new host's first state. The lists of a large session are long, and come after it.
#[test]
fn lists_of_a_large_session_come_after_the_first_state() {
    for (members, at_once) in [(5, true), (20, false)] {
        let mut net = Net::of(members);
        let last = last_state(&net, 1);
        net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
        net.overheard = Some(Vec::new());
        net.run(Duration::from_millis(300));
        assert_eq!(net.host(), peer(2));
        let is_list = |body: &Body| matches!(body, Body::View(_) | Body::Roster(_) | Body::Hints(_));
        let heard = net.overheard.take().unwrap();
        assert_eq!(heard.iter().any(|(_, _, it)| is_list(&it.body)), at_once, "{members} members");
        net.run(Duration::from_millis(700));
        for id in 3..=members {
            let session = net.session(peer(id));
            let lists = (session.roster(), session.view().id);
            assert_eq!(
                lists,
                (net.session(peer(2)).roster(), net.session(peer(2)).view().id),
                "{id} of {members}"
            );
            assert!(!session.roster().members.contains_key(&peer(1)), "{id} of {members}");
        }
    }
}

/// A vote that overtakes the last state waits for it, and is neither lost nor asked for again.
#[test]
fn a_vote_that_comes_before_the_last_state_counts() {
    let mut net = Net::of(4);
    net.travels = |body| Duration::from_millis(if matches!(body, Body::State(_)) { 90 } else { 20 });
    let last = last_state(&net, 1);
    let tick = last.tick;
    net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
    net.run(Duration::from_millis(90));
    assert_eq!(net.seen[&peer(2)].led_from, Some(tick));
    assert_eq!(net.claims, 0);
}

/// Whoever did not hear the host hand over is asked a beat later.
#[test]
fn votes_that_do_not_come_unasked_are_asked_for() {
    let mut net = Net::of(5);
    for deaf in [3, 4, 5] {
        net.cut.insert((peer(1), peer(deaf)));
    }
    let last = last_state(&net, 1);
    let tick = last.tick;
    net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
    net.run(Duration::from_millis(600));
    assert_eq!(net.seen[&peer(2)].led_from, Some(tick));
    assert!(net.claims > 0);
}

/// The last state travels by a way of its own, and may come after the word that there is one: the successor begins with it, and
/// not with the next beat.
#[test]
fn a_successor_begins_as_soon_as_the_last_state_is_there() {
    let mut net = Net::of(3);
    net.travels = |body| Duration::from_millis(if matches!(body, Body::State(_)) { 22 } else { 20 });
    let last = last_state(&net, 1);
    net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
    net.run(Duration::from_millis(25));
    assert!(net.stages(peer(2)).contains(&Stage::Initiate), "{:?}", net.stages(peer(2)));
}

/// "Controlled migration: the current host quits the game": one packet in a hundred is lost, and each kind of word is lost in some
/// of these moves. Whoever misses one is told again within a round trip, and nobody waits for whoever has gone.
#[test]
fn a_host_that_leaves_holds_nobody_up_whatever_is_lost() {
    let mut took = Vec::new();
    for seed in 1..=150_u64 {
        let mut net = Net::of(8);
        lossy::SEED.set(seed * 7_919);
        net.travels = lossy::travels;
        net.run(Duration::from_millis(3_000 + seed % 100));
        let (began, last) = (net.now, last_state(&net, 1));
        net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
        while !(2..=8).all(|id| net.session(peer(id)).stamp().epoch == Epoch(2))
            || (2..=8).all(|id| net.seen[&peer(id)].led_from.is_none())
        {
            net.run(Duration::from_millis(1));
        }
        took.push(net.now.since(began));
    }
    took.sort_unstable();
    // The word, the question, the vote and the announcement: four ways of at most 27 ms.
    assert!(took[took.len() / 2] <= Duration::from_millis(4 * 27), "{took:?}");
    assert!(took.last() < Some(&Duration::from_millis(250)), "{took:?}");
}

/// A way of 25 to 27 ms on which one message in a hundred is lost: a beat for ever, what goes over a stream until QUIC sends it again.
mod lossy {
    use std::cell::Cell;
    use std::time::Duration;

    use mainstay_migration::Body;

    /// How long QUIC takes to send again what was not acknowledged, on such a way.
    const AGAIN_MS: u64 = 110;
    const NEVER_MS: u64 = 1_000_000;

    thread_local! {
        pub static SEED: Cell<u64> = const { Cell::new(1) };
    }

    fn draw(below: u64) -> u64 {
        let next = SEED.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        SEED.set(next);
        (next >> 33) % below
    }

    pub fn travels(body: &Body) -> Duration {
        let is_datagram = matches!(body, Body::Beat(_) | Body::Ask | Body::Answer(_));
        let is_lost = draw(100) == 0;
        let way = 25 + draw(3);
        Duration::from_millis(match (is_lost, is_datagram) {
            (false, _) => way,
            (true, true) => NEVER_MS,
            (true, false) => way + AGAIN_MS,
        })
    }
}
