//! Sides without a majority that meet the rest: whose game goes on, and that the one that was given up does not come back.

use std::time::Duration;

use mainstay_migration::{
    Beat, Body, CanBeHost, End, Epoch, Failure, Handover, Input, Leads, Message, Migratable, Output, PeerId,
    Stamp, Standing, StateId, WithoutMajority,
};

use crate::joins::step_until;
use crate::net::{Net, peer, snapshot};

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

/// I1: sides "must merge within one exchange after contact". One that has just begun hears the host that a majority confirms, which holds a newer
/// state and gives it nothing: that one is not waited for as whoever comes over is.
#[test]
fn who_begins_a_side_does_not_wait_for_the_host_of_another() {
    let mut net = Net::of(5);
    cut_apart(&mut net);
    net.travels = |body| Duration::from_millis(if matches!(body, Body::State(_)) { 60_000 } else { 20 });
    step_until(&mut net, |net| [2, 3].iter().any(|id| net.session(peer(*id)).leader() == peer(*id)));
    net.cut.clear();
    net.run(Duration::from_secs(3));
    assert_eq!((net.host(), net.session(peer(2)).stamp().fork), (peer(1), 0));
}

/// The same where a side's host dies as the sides meet: who is left of it is heard by the host that a majority confirms, and does not go on alone first.
#[test]
fn who_is_left_of_a_side_comes_over_at_once() {
    let mut net = Net::of(5);
    cut_apart(&mut net);
    step_until(&mut net, |net| (2..=3).all(|id| net.session(peer(id)).stamp() == ALONE));
    net.run(Duration::from_millis(500));
    let head = net.session(peer(2)).leader();
    net.kill(head);
    net.cut.clear();
    net.run(Duration::from_secs(1));
    assert_eq!((net.host(), net.session(peer(1)).stamp()), (peer(1), Stamp::certified(Epoch(2))));
}

/// I9: "Acknowledged = held by the host and min(2, standbys) others". What the best standbys hold of a side that they were on is newer by its name, and nothing
/// of what their host has done meanwhile.
#[test]
fn what_a_side_holds_acknowledges_nothing_to_the_host_that_it_meets() {
    let mut net = Net::under_lobby(5, WithoutMajority::Fork);
    net.lobby.cut.extend([peer(2), peer(3)]);
    cut_apart(&mut net);
    step_until(&mut net, |net| (2..=3).all(|id| net.session(peer(id)).stamp() == ALONE));
    net.run(Duration::from_secs(2));
    // It hears them, and they do not hear it: they stay where they are, and are the best that could follow. And nobody gives it another epoch, though its own
    // is certified for some seconds more.
    net.lobby.cut.extend([peer(1), peer(4), peer(5)]);
    [2, 3].into_iter().for_each(|one| assert!(net.cut.remove(&(peer(one), peer(1)))));
    let given = net.session(peer(1)).held().id();
    net.run(Duration::from_secs(1));
    assert!(net.session(peer(1)).held().id() > given && net.session(peer(2)).leader() != peer(1));
    let is_told = |output: &&Output| matches!(output, Output::Durable(state) if *state > given);
    assert_eq!(net.seen[&peer(1)].outputs.iter().find(is_told), None);
}

/// I8: the same where whoever is left came in on that side, and cannot be host. The host that a majority confirms never met it, lets it in, and has the lower
/// number: it is certified anew for one that only asks, too.
#[test]
fn who_came_in_on_a_side_whose_host_is_gone_comes_over() {
    let mut net = Net::of(4);
    for other in [1, 2, 4] {
        [3, 9].into_iter().for_each(|one| net.cut_both(peer(one), peer(other)));
    }
    step_until(&mut net, |net| net.session(peer(3)).stamp() == ALONE);
    net.join(peer(9));
    step_until(&mut net, |net| net.peers.contains_key(&peer(9)));
    net.run(Duration::from_secs(1));
    net.kill(peer(3));
    net.cut.clear();
    net.run(Duration::from_secs(6));
    assert_eq!((net.host(), net.session(peer(9)).stamp()), (peer(1), Stamp::certified(Epoch(2))));
}

/// I8, "offline the default is `fork`": whoever votes misses the host, and none of them can be host; somebody can who only plays, for the view that counts on it
/// was on its way. The game goes on under that one, without a majority's certificate.
#[test]
fn of_voters_who_cannot_be_host_the_game_goes_on_under_who_only_plays() {
    let mut net = Net::of(3);
    [2, 3].into_iter().for_each(|id| net.give(peer(id), Input::Suitable(CanBeHost::NotYet)));
    net.run(Duration::from_secs(1));
    net.travels = |body| Duration::from_millis(if matches!(body, Body::View(_)) { 60_000 } else { 20 });
    net.join(peer(4));
    step_until(&mut net, |net| net.peers.contains_key(&peer(4)));
    net.settle_in(peer(4), CanBeHost::Yes);
    net.run(Duration::from_secs(1));
    net.kill(peer(1));
    net.run(Duration::from_secs(6));
    assert_eq!([2, 3, 4].map(|id| net.session(peer(id)).leader()), [peer(4); 3]);
    assert!(net.session(peer(4)).stamp().fork > 0);
}

/// I8: also where that host was certified once, and has come back to find its majority gone: it has no side of its own, and the higher number has somebody who
/// waits for a host in vain.
#[test]
fn who_is_left_of_a_side_comes_back_to_a_host_whose_majority_is_gone() {
    let mut net = Net::of(2);
    net.give(peer(2), Input::Suitable(CanBeHost::NotYet));
    net.run(Duration::from_secs(1));
    net.travels = |body| Duration::from_millis(if matches!(body, Body::View(_)) { 60_000 } else { 20 });
    net.join(peer(3));
    step_until(&mut net, |net| net.peers.contains_key(&peer(3)));
    net.settle_in(peer(3), CanBeHost::Yes);
    net.run(Duration::from_secs(1));
    net.freeze(peer(1));
    step_until(&mut net, |net| [2, 3].iter().all(|id| net.session(peer(*id)).stamp() == ALONE));
    net.kill(peer(3));
    net.run(Duration::from_secs(6));
    net.thaw(peer(1));
    net.run(Duration::from_secs(8));
    let stamps = [1, 2].map(|id| net.session(peer(id)).stamp());
    assert_eq!((net.session(peer(2)).leader(), stamps[1]), (peer(1), stamps[0]));
}

/// I8: also where its host gave the side to another that never met it, and obeys by now whoever has that one's.
#[test]
fn who_waits_for_a_side_that_was_given_away_asks_where_it_is_sent() {
    let mut net = Net::of(3);
    let mut beat = net.beat_of(peer(1));
    beat.leads =
        Leads::HandsOver { to: peer(8), why: Handover::Merge, state: StateId::NONE, epoch: Epoch(1) };
    net.say(peer(1), peer(3), Body::Beat(beat));
    net.overheard = Some(Vec::new());
    net.say(peer(1), peer(3), Body::Redirect(peer(9)));
    net.run(Duration::from_millis(50));
    let asks = |(from, to, message): &(PeerId, PeerId, Message)| {
        (*from, *to) == (peer(3), peer(9)) && matches!(message.body, Body::Join { .. })
    };
    assert!(net.overheard.take().unwrap().iter().any(asks));
}

/// And where it hears both hosts, and those not each other: to the confirmed one it only says whom it obeys.
#[test]
fn who_obeys_a_side_and_hears_a_confirmed_host_comes_over() {
    let mut net = Net::of(7);
    // Or who is on the side would speak to it as to a standby.
    net.give(peer(1), Input::Suitable(CanBeHost::NotYet));
    net.run(Duration::from_secs(1));
    for one in [2, 3, 7] {
        [1, 4, 5, 6].into_iter().for_each(|other| net.cut_both(peer(one), peer(other)));
    }
    step_until(&mut net, |net| [2, 3, 7].iter().all(|id| net.session(peer(*id)).stamp() == ALONE));
    net.cut.retain(|(from, to)| *from != peer(7) && *to != peer(7));
    assert!(net.session(peer(1)).roster().members.contains_key(&peer(7)));
    net.run(Duration::from_secs(2));
    let of_seven = net.session(peer(7));
    assert_eq!((of_seven.leader(), of_seven.stamp()), (peer(1), Stamp::certified(Epoch(2))));
}

/// Two of five go on alone, and the others' host goes on beside them with what it acknowledges. Then that one dies, and one of its members that
/// nobody would follow comes to the side.
fn come_over(net: &mut Net) -> StateId {
    cut_apart(net);
    step_until(net, |net| net.session(peer(2)).held().id().stamp == ALONE);
    net.run(Duration::from_secs(1));
    let later = net.session(peer(4)).held().id();
    assert_eq!(later.stamp, Stamp::certified(Epoch::FIRST));
    assert_ne!(later, StateId::NONE);
    net.kill(peer(1));
    net.kill(peer(5));
    net.cut.clear();
    later
}

/// Whether that one led from there, or from later.
fn has_led_from(net: &Net, id: u128, state: StateId) -> bool {
    let from = |output: &Output| matches!(output, Output::Lead { state: led, .. } if led.id().stamp == state.stamp && led.id() >= state);
    net.seen[&peer(id)].outputs.iter().any(from)
}

/// What a confirmed host acknowledged after a side had branched off is older than that side by name alone: the side's host gives its game up for it.
#[test]
fn a_side_goes_on_from_what_was_acknowledged_after_it_branched_off() {
    let mut net = Net::of(5);
    let later = come_over(&mut net);
    net.run(Duration::from_secs(5));
    assert_eq!(net.host(), net.session(peer(4)).leader());
    assert!(has_led_from(&net, 2, later), "{later:?}");
    let stamps = [2, 3, 4].map(|id| net.session(peer(id)).stamp());
    assert!(stamps.iter().all(|stamp| *stamp == stamps[0]), "{stamps:?}");
}

/// The newest state that a host has said is safe.
fn acknowledged(net: &Net, host: u128) -> StateId {
    let durable = |output: &Output| if let Output::Durable(state) = output { Some(*state) } else { None };
    net.seen[&peer(host)].outputs.iter().filter_map(durable).next_back().unwrap()
}

/// The host itself comes over, as its process stood still and its only other member is gone: its vote is what the side needs, and it holds what it acknowledged
/// alone. The side is not certified before it has asked for that. (It was, and 82 ticks that had been told safe were gone.)
#[test]
fn a_side_asks_the_host_that_gives_way_to_it_before_it_is_certified() {
    for away in [4_300, 3_500] {
        let mut net = Net::of(3);
        [1, 2].into_iter().for_each(|other| net.cut_both(peer(3), peer(other)));
        net.run(Duration::from_millis(away));
        assert_eq!(net.session(peer(3)).stamp(), ALONE);
        assert!(net.session(peer(1)).view().members.contains_key(&peer(3)), "it votes still");
        let safe = acknowledged(&net, 1);
        assert_eq!(safe.stamp, Stamp::certified(Epoch::FIRST));
        net.freeze(peer(1));
        net.kill(peer(2));
        net.run(Duration::from_secs(7));
        net.cut.clear();
        net.thaw(peer(1));
        net.run(Duration::from_secs(4));
        let [one, three] = [1, 3].map(|id| net.session(peer(id)));
        assert_eq!((one.leader(), one.stamp()), (three.leader(), three.stamp()));
        assert_eq!(three.stamp(), Stamp::certified(Epoch(2)), "two of three");
        let host = if three.is_host() { 3 } else { 1 };
        assert!(host == 1 || has_led_from(&net, 3, safe), "{safe:?}");
    }
}

/// Of two players, too, where the one that was away is the further one.
#[test]
fn of_two_a_side_asks_the_host_that_gives_way_to_it_before_it_is_certified() {
    let mut net = Net::of(2);
    net.cut_both(peer(1), peer(2));
    net.run(Duration::from_secs(3));
    assert_eq!(net.session(peer(2)).stamp(), ALONE);
    let held = net.session(peer(1)).held().id();
    net.freeze(peer(1));
    net.run(Duration::from_secs(7));
    net.cut.clear();
    net.thaw(peer(1));
    net.run(Duration::from_secs(4));
    let [one, two] = [1, 2].map(|id| net.session(peer(id)));
    assert_eq!((one.leader(), one.stamp()), (two.leader(), two.stamp()));
    assert!(one.is_host() || has_led_from(&net, 2, held), "{held:?}");
}

/// Decision 0062: a side that meets a larger one gives way, and what was acknowledged after that one branched off is kept "if one of its members holds a certified host's own state of it". Three of six
/// are cut off; the host goes on confirmed with the two others, and dies; those go on as a side for a moment, whose number is the other's.
#[test]
fn a_larger_side_of_the_same_number_goes_on_from_what_the_smaller_one_branched_off_from() {
    for late in [0, 300, 1_000, 2_500] {
        let mut net = Net::of(6);
        for (one, other) in [1, 2, 3].into_iter().flat_map(|one| [4, 5, 6].map(|other| (one, other))) {
            net.cut_both(peer(one), peer(other));
        }
        step_until(&mut net, |net| net.session(peer(1)).view().members.len() == 5);
        step_until(&mut net, |net| net.session(peer(4)).stamp() == ALONE);
        net.run(Duration::from_millis(1_000));
        let safe = acknowledged(&net, 1);
        assert_eq!(safe.stamp, Stamp::certified(Epoch::FIRST));
        net.kill(peer(1));
        // Its side writes a state, or a few.
        step_until(&mut net, |net| net.session(peer(2)).held().id().stamp == ALONE);
        net.run(Duration::from_millis(late));
        net.cut.clear();
        let hosts: Vec<PeerId> = net.peers.keys().copied().filter(|id| net.session(*id).is_host()).collect();
        for (one, other) in hosts.iter().flat_map(|one| hosts.iter().map(move |other| (*one, *other))) {
            if one != other {
                net.give(one, Input::Found(other));
            }
        }
        net.run(Duration::from_secs(8));
        let host = net.host();
        let is_of_larger = [4, 5, 6].map(peer).contains(&host);
        assert!(is_of_larger, "{late}: the larger side goes on: {host}");
        assert!(has_led_from(&net, host.0, safe), "{late}: and not from {safe:?}, which was safe");
    }
}

/// "None while one holder of it lives": however long what it holds is on its way.
#[test]
fn a_side_waits_for_what_was_acknowledged_as_any_new_host_does() {
    let mut net = Net::of(5);
    let later = come_over(&mut net);
    net.travels = |body| Duration::from_millis(if matches!(body, Body::State(_)) { 2_000 } else { 20 });
    net.run(Duration::from_secs(8));
    assert!(has_led_from(&net, 2, later), "{later:?}");
}

/// Whoever says so and gives nothing holds the side's certificate up for five seconds.
#[test]
fn a_side_waits_five_seconds_for_who_gives_nothing() {
    let mut net = Net::of(5);
    come_over(&mut net);
    net.travels = |body| Duration::from_millis(if matches!(body, Body::State(_)) { 60_000 } else { 20 });
    net.overheard = Some(Vec::new());
    step_until(&mut net, |net| {
        net.overheard.iter().flatten().any(|(_, to, it)| *to == peer(4) && matches!(it.body, Body::Pull(_)))
    });
    let asked = net.now;
    step_until(&mut net, |net| net.session(peer(2)).stamp() == Stamp::certified(Epoch(2)));
    let took = net.now.since(asked);
    assert!(took >= Duration::from_millis(4_950) && took < Duration::from_millis(5_400), "{took:?}");
}

/// And its next host for five seconds in all: whoever comes meanwhile and says so, too, makes it no longer.
#[test]
fn the_next_host_of_a_side_waits_five_seconds_however_many_give_nothing() {
    let mut net = Net::of(5);
    cut_apart(&mut net);
    step_until(&mut net, |net| net.session(peer(2)).held().id().stamp == ALONE);
    net.run(Duration::from_secs(1));
    net.kill(peer(1));
    // Or it would lead a side of its own.
    net.give(peer(5), Input::Suitable(CanBeHost::NotYet));
    net.cut.clear();
    [2, 3, 4].into_iter().for_each(|other| net.cut_both(peer(5), peer(other)));
    net.travels = |body| Duration::from_millis(if matches!(body, Body::State(_)) { 60_000 } else { 20 });
    step_until(&mut net, |net| net.session(peer(4)).leader() == peer(2));
    net.run(Duration::from_millis(200));
    net.kill(peer(2));
    step_until(&mut net, |net| net.session(peer(3)).is_host());
    let acceded = net.now;
    net.run(Duration::from_secs(2));
    net.cut.clear();
    step_until(&mut net, |net| net.session(peer(5)).leader() == peer(3));
    step_until(&mut net, |net| net.seen[&peer(3)].outputs.iter().any(|it| matches!(it, Output::Lead { .. })));
    let took = net.now.since(acceded);
    assert!(took >= Duration::from_millis(4_950) && took < Duration::from_millis(5_200), "{took:?}");
}

/// The side's host dies before it is given that. Its successor goes on from it, and not from the side's own.
#[test]
fn the_next_host_of_a_side_goes_on_from_what_was_acknowledged_after_it_branched_off() {
    let mut net = Net::of(5);
    let later = come_over(&mut net);
    net.travels = |body| Duration::from_millis(if matches!(body, Body::State(_)) { 60_000 } else { 20 });
    step_until(&mut net, |net| net.session(peer(4)).leader() == peer(2));
    net.run(Duration::from_millis(200));
    net.kill(peer(2));
    net.travels = |_| Duration::from_millis(20);
    net.run(Duration::from_secs(6));
    assert!(has_led_from(&net, 3, later) || has_led_from(&net, 4, later), "{later:?}");
    let [of_three, of_four] = [3, 4].map(|id| net.session(peer(id)).held().id());
    assert_eq!((of_three, of_three.stamp.epoch), (of_four, Epoch::FIRST));
}

/// Decision 0050: "the larger side". Sides that lost one host each have the same number. Before the two hosts hear each other, the members of the
/// larger hear the host of the smaller: they obey another, and make its side no larger.
#[test]
fn members_of_another_side_of_the_same_number_make_this_one_no_larger() {
    let mut net = Net::of(6);
    for one in [2, 3, 4] {
        for other in [5, 6] {
            net.cut_both(peer(one), peer(other));
        }
    }
    net.kill(peer(1));
    step_until(&mut net, |net| (2..=6).all(|id| net.session(peer(id)).stamp() == ALONE));
    net.run(Duration::from_secs(1));
    let of = |net: &Net, id| net.session(peer(id)).leader();
    let [larger, smaller] = [2, 5].map(|id| of(&net, id));
    assert!([3, 4].map(|id| of(&net, id)) == [larger; 2] && of(&net, 6) == smaller);
    net.cut.clear();
    net.cut_both(larger, smaller);
    net.run(Duration::from_secs(3));
    let mut says = |host| match net.beat_of(host).leads {
        Leads::Yes(side) => side.size,
        Leads::Obeys(_) | Leads::Accedes | Leads::HandsOver { .. } => 0,
    };
    assert_eq!([larger, smaller].map(&mut says), [3, 2]);
    net.cut.clear();
    step_until(&mut net, |net| (2..=6).all(|id| net.session(peer(id)).stamp() == Stamp::certified(Epoch(2))));
    assert_eq!([2, 3, 4, 5, 6].map(|id| of(&net, id)), [larger; 5]);
}

/// I8: whoever lost its host and cannot be host itself comes to whoever leads. Sides that lost one host each have the same number, and nobody goes back
/// to one that it had before: the host that is asked goes on under a higher.
#[test]
fn who_waits_in_vain_is_taken_over_by_a_side_of_the_same_number() {
    let mut net = Net::of(6);
    [5, 6].into_iter().for_each(|id| net.give(peer(id), Input::Suitable(CanBeHost::NotYet)));
    net.run(Duration::from_secs(1));
    for one in [2, 3] {
        [4, 5, 6].into_iter().for_each(|other| net.cut_both(peer(one), peer(other)));
    }
    net.kill(peer(1));
    step_until(&mut net, |net| (2..=6).all(|id| net.session(peer(id)).stamp() == ALONE));
    net.run(Duration::from_secs(1));
    assert_eq!([3, 5, 6].map(|id| net.session(peer(id)).leader()), [peer(2), peer(4), peer(4)]);
    net.kill(peer(4));
    net.cut.clear();
    net.run(Duration::from_secs(8));
    assert_eq!((net.host(), net.session(peer(5)).stamp()), (peer(2), Stamp::certified(Epoch(2))));
}

/// The same where whoever is left is a majority: it need not be alone to come to a side that leads.
#[test]
fn a_majority_of_whom_nobody_can_be_host_comes_to_a_side_that_leads() {
    let mut net = Net::of(5);
    [3, 4, 5].into_iter().for_each(|id| net.give(peer(id), Input::Suitable(CanBeHost::NotYet)));
    net.run(Duration::from_secs(1));
    [1, 3, 4, 5].into_iter().for_each(|other| net.cut_both(peer(2), peer(other)));
    step_until(&mut net, |net| net.session(peer(2)).stamp() == ALONE);
    net.run(Duration::from_secs(1));
    net.kill(peer(1));
    net.cut.clear();
    net.run(Duration::from_secs(8));
    assert_eq!((net.host(), net.session(peer(5)).stamp()), (peer(2), Stamp::certified(Epoch(2))));
}

/// "after 2 s `Terminated`, `NoMajority`": also where nobody who is left can be host, and there is nobody to wait for.
#[test]
fn a_minority_of_whom_nobody_can_be_host_ends_as_any_other() {
    let mut net = Net::with(4, Migratable::Yes, WithoutMajority::End);
    [3, 4].into_iter().for_each(|id| net.give(peer(id), Input::Suitable(CanBeHost::NotYet)));
    net.run(Duration::from_secs(1));
    net.kill(peer(1));
    net.give(peer(2), Input::Leave);
    net.kill(peer(2));
    net.run(Duration::from_secs(5));
    let ended = Output::Ended(End::Failed(Failure::NoMajority));
    assert!([3, 4].iter().all(|id| net.seen[&peer(*id)].outputs.contains(&ended)));
}

/// A side's host gives way to a larger one, which its member hears only once it no longer waits for that one: it comes over all the same, also where both
/// together are no majority and nobody is certified.
#[test]
fn who_hears_late_whom_its_side_merged_under_comes_over() {
    let mut net = Net::of(10);
    net.give(peer(3), Input::Suitable(CanBeHost::NotYet));
    net.run(Duration::from_secs(1));
    for one in [2, 3] {
        [4, 5, 6].into_iter().for_each(|other| net.cut_both(peer(one), peer(other)));
    }
    [1, 7, 8, 9, 10].into_iter().for_each(|id| net.kill(peer(id)));
    step_until(&mut net, |net| (2..=6).all(|id| net.session(peer(id)).stamp() == ALONE));
    net.run(Duration::from_secs(1));
    assert_eq!([3, 5, 6].map(|id| net.session(peer(id)).leader()), [peer(2), peer(4), peer(4)]);
    net.cut.clear();
    net.cut_both(peer(3), peer(4));
    step_until(&mut net, |net| net.session(peer(2)).leader() == peer(4));
    net.run(Duration::from_millis(1_500));
    net.cut.clear();
    net.run(Duration::from_secs(5));
    assert_eq!((net.host(), net.session(peer(3)).leader()), (peer(4), peer(4)));
}

/// Of ten two are cut off from three, and the rest is dead. Those three are led by somebody who came to them meanwhile, and one of the two cannot be host.
fn led_by_a_newcomer() -> Net {
    let mut net = Net::of(10);
    net.give(peer(3), Input::Suitable(CanBeHost::NotYet));
    net.run(Duration::from_secs(1));
    for one in [2, 3] {
        [4, 5, 6, 20].into_iter().for_each(|other| net.cut_both(peer(one), peer(other)));
    }
    [1, 7, 8, 9, 10].into_iter().for_each(|id| net.kill(peer(id)));
    step_until(&mut net, |net| (2..=6).all(|id| net.session(peer(id)).stamp() == ALONE));
    net.run(Duration::from_secs(1));
    net.join(peer(20));
    net.run(Duration::from_secs(3));
    net.settle_in(peer(20), CanBeHost::Yes);
    net.run(Duration::from_secs(1));
    let last = snapshot(net.seen[&peer(4)].tick);
    net.give(peer(4), Input::HandOver { to: Some(peer(20)), why: Handover::Leaves, last });
    step_until(&mut net, |net| [5, 6].iter().all(|id| net.session(peer(*id)).leader() == peer(20)));
    net
}

/// A side's host gives way to one that came to the session after they were cut apart, so that its member never met the host it is told of: it comes over all the same (I8).
#[test]
fn who_never_met_the_host_its_side_merges_under_comes_over() {
    let mut net = led_by_a_newcomer();
    net.cut.clear();
    net.run(Duration::from_secs(8));
    assert_eq!([2, 3].map(|id| net.session(peer(id)).leader()), [peer(20); 2]);
}

/// The same where it has given that host up before they can speak: the one that it obeyed says whom it obeys itself now (I8).
#[test]
fn who_waits_in_vain_for_a_host_that_obeys_another_comes_over() {
    let mut net = led_by_a_newcomer();
    for other in [2, 4, 5, 6, 20] {
        net.cut_both(peer(3), peer(other));
    }
    net.run(Duration::from_secs(8));
    net.cut.retain(|(one, other)| [one, other].contains(&&peer(3)));
    step_until(&mut net, |net| net.session(peer(2)).leader() == peer(20));
    net.cut.retain(|(one, other)| ![one, other].contains(&&peer(2)) && ![one, other].contains(&&peer(20)));
    net.run(Duration::from_secs(8));
    assert_eq!([2, 3].map(|id| net.session(peer(id)).leader()), [peer(20); 2]);
}

/// And where that host is dead, and both sides have lost as many: whoever it hears of the other says who leads that (I8).
#[test]
fn who_never_met_the_host_of_a_side_of_the_same_number_comes_over() {
    let mut net = Net::of(10);
    [3, 4, 5, 6].into_iter().for_each(|id| net.give(peer(id), Input::Suitable(CanBeHost::NotYet)));
    net.run(Duration::from_secs(1));
    for one in [2, 3] {
        [1, 4, 5, 6, 7, 8, 9, 10, 20].into_iter().for_each(|other| net.cut_both(peer(one), peer(other)));
    }
    step_until(&mut net, |net| net.session(peer(2)).stamp() == ALONE);
    net.join(peer(20));
    net.run(Duration::from_secs(3));
    net.settle_in(peer(20), CanBeHost::Yes);
    net.run(Duration::from_secs(1));
    [1, 7, 8, 9, 10].into_iter().for_each(|id| net.kill(peer(id)));
    step_until(&mut net, |net| [4, 5, 6].iter().all(|id| net.session(peer(*id)).leader() == peer(20)));
    assert_eq!([3, 5].map(|id| net.session(peer(id)).stamp()), [ALONE; 2]);
    net.kill(peer(2));
    net.cut.clear();
    net.run(Duration::from_secs(10));
    assert_eq!([3, 5].map(|id| net.session(peer(id)).leader()), [peer(20); 2]);
}

/// Who is left alone on a side that lost its majority long ago has nobody to ask: it goes on as soon as of two players the other would.
#[test]
fn who_is_left_alone_on_a_side_does_not_ask_the_dead() {
    let mut net = Net::of(7);
    [1, 4, 5, 6, 7].into_iter().for_each(|id| net.kill(peer(id)));
    step_until(&mut net, |net| net.session(peer(3)).stamp() == ALONE);
    net.run(Duration::from_secs(6));
    net.kill(peer(2));
    net.run(Duration::from_secs(2));
    assert_eq!((net.host(), net.session(peer(3)).stamp()), (peer(3), Stamp { fork: 2, ..ALONE }));
}

/// A side's host gives way to another that has no majority with it either, and finds that out after a second: the members wait for that one as long as their host
/// does, and nobody goes on alone meanwhile.
#[test]
fn whom_a_host_gives_way_to_is_waited_for_as_long_as_it_waits() {
    let mut net = Net::of(10);
    for one in [2, 3] {
        [4, 5, 6].into_iter().for_each(|other| net.cut_both(peer(one), peer(other)));
    }
    [1, 7, 8, 9, 10].into_iter().for_each(|id| net.kill(peer(id)));
    step_until(&mut net, |net| (2..=6).all(|id| net.session(peer(id)).stamp() == ALONE));
    net.run(Duration::from_secs(6));
    net.travels = |_| Duration::from_millis(150);
    net.cut.clear();
    step_until(&mut net, |net| (2..=6).all(|id| net.session(peer(id)).leader() == peer(4)));
    assert!([3, 5, 6].iter().all(|id| net.seen[&peer(*id)].led_from.is_none()));
}

/// Issue 5: sides "merge by the written rule": of two hosts one goes on for both. Who is asked to when it has just ceased to be one has no side to go on with, and
/// begins none.
#[test]
fn only_a_host_goes_on_for_two_sides() {
    let mut net = Net::of(3);
    let mut beat = net.beat_of(peer(1));
    beat.leads =
        Leads::HandsOver { to: peer(2), why: Handover::Merge, state: StateId::NONE, epoch: Epoch(1) };
    net.say(peer(1), peer(2), Body::Beat(beat));
    net.run(Duration::from_secs(1));
    assert_eq!(net.host(), peer(1));
    assert!(net.seen.values().all(|seen| seen.stages.is_empty()));
}

/// A host that came over to another side, and lost that one's host before it could send its own members there, still beats. They waited for it for ever, and it, which
/// cannot be host, for one of them.
#[test]
fn a_host_that_obeys_another_and_sends_nobody_there_is_none_any_more() {
    let mut net = Net::of(3);
    let held = net.beat_of(peer(1));
    net.kill(peer(2));
    net.cut_both(peer(1), peer(3));
    let words = |sent| Beat { sent, leads: Leads::Obeys(peer(2)), ..held };
    for beat in 0..60 {
        let body = Body::Beat(words(net.now));
        net.deliver(peer(1), peer(3), Message { session: net.config.session, stamp: ALONE, body });
        net.run(Duration::from_millis(100));
        let has_turned = net.session(peer(3)).leader() == peer(3);
        assert!(!has_turned || beat >= 10, "a host has a second to send it on");
    }
    assert_eq!(net.session(peer(3)).leader(), peer(3));
}

/// "merge when they meet": each gives way to the other, for each has heard that the other's side is the larger. One of them goes on at once, and not when both have waited
/// for a successor in vain.
#[test]
fn of_two_hosts_that_give_way_to_each_other_one_goes_on_at_once() {
    let mut net = Net::of(2);
    net.freeze(peer(1));
    net.run(Duration::from_millis(2_200));
    net.thaw(peer(1));
    let mut beat = net.beat_of(peer(2));
    let Leads::Yes(side) = &mut beat.leads else { panic!("{beat:?}") };
    side.size = 64;
    net.say(peer(1), peer(2), Body::Beat(beat));
    net.say(peer(2), peer(1), Body::Beat(beat));
    assert_eq!(
        [1, 2].map(|id| net.session(peer(id)).hands_over()),
        [true; 2],
        "{:?}",
        [1, 2].map(|id| net.session(peer(id)).standing())
    );
    net.run(Duration::from_millis(500));
    assert_eq!((net.host(), net.session(peer(2)).stamp()), (peer(1), Stamp::certified(Epoch(2))));
}

/// "When sides meet the confirmed one goes on" (`docs/reference/peers.md`): a host of two stands still for less than its lease, and the other has gone on without it. It is
/// confirmed until that is over, though nobody obeys it meanwhile, and the game goes on from where it stood.
#[test]
fn a_host_that_stood_still_for_less_than_its_lease_is_still_confirmed() {
    let mut net = Net::of(2);
    net.freeze(peer(1));
    net.run(Duration::from_millis(1_700));
    assert_eq!(net.session(peer(2)).standing(), Some(Standing::Unconfirmed));
    net.thaw(peer(1));
    let stood_still = |net: &Net| net.session(peer(1)).standing() == Some(Standing::Unconfirmed);
    step_until(&mut net, |net| stood_still(net) || net.session(peer(2)).leader() == peer(1));
    assert!(!stood_still(&net));
    net.run(Duration::from_millis(200));
    assert_eq!((net.host(), net.session(peer(2)).stamp()), (peer(1), Stamp::certified(Epoch(2))));
}
