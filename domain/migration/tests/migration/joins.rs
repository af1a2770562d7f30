//! Who comes in, and what of those who fail on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mainstay_migration::{
    Body, CanBeHost, ChannelId, Claim, Closed, Config, End, Epoch, Handover, Input, Joined, Joining,
    LINEAGE_MAX, MEMBERS_MAX, Message, Migratable, Newcomers, Output, PLAYERS_MAX, PeerId, Roster, Stamp,
    Support, WithoutMajority,
};

use crate::net::{NamedKeys, Net, WAY, peer, snapshot};

/// Runs until that is so.
#[track_caller]
pub fn step_until(net: &mut Net, what: impl Fn(&Net) -> bool) {
    for _ in 0..20_000 {
        if what(net) {
            return;
        }
        net.run(Duration::from_millis(1));
    }
    panic!("it never came");
}

/// A newcomer that dies between the view that counts on it and its word for it: a host that was alone can never settle that
/// view, and has to take it back.
#[test]
fn a_newcomer_that_fails_on_its_way_in_stops_nobody() {
    let mut net = Net::of(1);
    net.join(peer(2));
    step_until(&mut net, |net| net.session(peer(1)).view().members.contains_key(&peer(2)));
    assert!(!net.session(peer(1)).ballot().is_settled());
    net.kill(peer(2));
    net.run(Duration::from_secs(10));
    assert!(!net.session(peer(1)).roster().members.contains_key(&peer(2)), "it plays no more");
    net.join(peer(3));
    net.run(Duration::from_secs(3));
    let view = net.session(peer(1)).view();
    assert!(view.members.contains_key(&peer(3)) && !view.members.contains_key(&peer(2)), "{view:?}");
    assert!(net.session(peer(1)).ballot().is_settled());
    assert_eq!(net.session(peer(1)).stamp(), Stamp::certified(Epoch::FIRST), "and it stayed confirmed");
}

/// The same where it dies before it is counted on: it has played, and nobody has asked it for anything.
#[test]
fn a_newcomer_has_no_vote_before_it_was_heard() {
    let mut net = Net::of(3);
    net.join(peer(4));
    step_until(&mut net, |net| net.session(peer(1)).roster().members.contains_key(&peer(4)));
    assert!(!net.session(peer(1)).view().members.contains_key(&peer(4)));
    step_until(&mut net, |net| net.session(peer(1)).view().members.contains_key(&peer(4)));
}

/// Who has promised a later epoch than its host's takes no view of that one: its host is to hear of it though it plays and does not vote yet.
#[test]
fn who_was_put_out_and_has_promised_a_later_epoch_votes_again() {
    let mut net = Net::of(4);
    let stamp = net.session(peer(4)).stamp();
    (1..4).for_each(|other| net.cut_both(peer(4), peer(other)));
    let later = Epoch(stamp.epoch.0 + 3);
    let view = net.session(peer(4)).view().clone();
    let claim = Body::Claim(Claim { epoch: later, candidate: peer(1), view });
    net.deliver(peer(1), peer(4), Message { session: net.config.session, stamp, body: claim });
    assert_eq!(net.session(peer(4)).ballot().promised(), later);
    step_until(&mut net, |net| !net.session(peer(1)).view().members.contains_key(&peer(4)));
    net.cut.clear();
    step_until(&mut net, |net| net.session(peer(1)).view().members.contains_key(&peer(4)));
    assert!(net.session(peer(1)).stamp().epoch > later, "{:?}", net.session(peer(1)).stamp());
}

/// A full session refuses whoever comes; but where a member is just going, be it its host, or is missed, who comes gets the seat.
#[test]
fn who_comes_while_somebody_goes_gets_the_seat() {
    let after = [Duration::ZERO, Duration::from_millis(1_500)];
    let goes = [(2, Some(Input::Leave)), (1, Some(Input::Leave)), (2, None), (1, None)];
    for ((goes, words), after) in goes.into_iter().flat_map(|it| after.map(|after| (it.clone(), after))) {
        let mut net = Net::full(4);
        net.join(peer(5));
        net.run(Duration::from_secs(4));
        assert_eq!(net.refused.remove(&peer(5)), Some(Closed::Full));
        if let Some(words) = words {
            net.give(peer(goes), words);
            net.run(Duration::from_millis(200));
        }
        net.kill(peer(goes));
        net.run(after);
        net.join(peer(6));
        net.run(Duration::from_secs(8));
        assert_eq!(net.refused.remove(&peer(6)), None);
        let members = &net.session(net.host()).roster().members;
        assert!(members.contains_key(&peer(6)) && !members.contains_key(&peer(goes)), "{members:?}");
    }
}

/// Whoever was away until its seat was somebody else's: it gets that of a member that has just gone, and where nobody goes it hears in the end that there is
/// none.
#[test]
fn who_was_away_too_long_gets_the_seat_of_who_goes() {
    for goes in [None, Some(peer(2))] {
        let mut net = Net::full(4);
        net.freeze(peer(4));
        step_until(&mut net, |net| !net.session(peer(1)).roster().members.contains_key(&peer(4)));
        net.join(peer(5));
        step_until(&mut net, |net| net.session(peer(1)).roster().members.contains_key(&peer(5)));
        net.run(Duration::from_secs(1));
        if let Some(goes) = goes {
            net.kill(goes);
        }
        net.thaw(peer(4));
        net.run(Duration::from_secs(8));
        let is_in = net.session(peer(1)).roster().members.contains_key(&peer(4));
        assert_eq!(is_in, goes.is_some(), "{goes:?}");
        let ends: Vec<_> = net.seen[&peer(4)]
            .outputs
            .iter()
            .filter_map(|output| if let Output::Ended(end) = output { Some(end) } else { None })
            .collect();
        let expected = if goes.is_some() { vec![] } else { vec![&End::Refused(Closed::Full)] };
        assert_eq!(ends, expected);
    }
}

/// A side without a majority can be joined, and goes on through whoever joined it.
#[test]
fn a_side_without_a_majority_can_be_joined() {
    let mut net = Net::of(2);
    net.kill(peer(1));
    net.run(Duration::from_secs(8));
    assert!(net.session(peer(2)).stamp().fork > 0);
    net.join(peer(9));
    net.run(Duration::from_secs(3));
    assert_eq!(net.host(), peer(2));
    assert!(net.session(peer(2)).roster().members.contains_key(&peer(9)), "it plays");
    assert!(!net.session(peer(2)).view().members.contains_key(&peer(9)), "and has no vote");
    net.settle_in(peer(9), CanBeHost::Yes);
    net.run(Duration::from_secs(1));
    net.kill(peer(2));
    net.run(Duration::from_secs(8));
    assert_eq!(net.host(), peer(9), "one more host, and still the same session");
    assert_eq!(net.session(peer(9)).stamp(), Stamp { epoch: Epoch::FIRST, fork: 2 });
}

/// The host of a side without a majority goes within a round trip of letting somebody in: whoever goes on for it has not heard of that,
/// and the newcomer not of the leaving.
#[test]
fn who_comes_to_a_side_as_its_host_goes_is_let_in_by_the_next() {
    let mut net = Net::of(2);
    net.kill(peer(1));
    net.run(Duration::from_secs(8));
    net.join(peer(3));
    net.run(Duration::from_secs(3));
    net.settle_in(peer(3), CanBeHost::Yes);
    net.run(Duration::from_secs(1));
    net.cut.insert((peer(2), peer(3)));
    net.join(peer(4));
    step_until(&mut net, |net| net.peers.contains_key(&peer(4)));
    net.cut.remove(&(peer(2), peer(3)));
    net.cut.insert((peer(2), peer(4)));
    net.give(peer(2), Input::Leave);
    net.kill(peer(2));
    net.run(Duration::from_secs(6));
    assert_eq!(net.session(peer(3)).leader(), peer(3), "it has gone on");
    assert_eq!(net.host(), peer(3));
    assert!(net.session(peer(3)).roster().members.contains_key(&peer(4)));
}

/// Whoever joined a side without a majority comes along when that side merges, and gets a vote.
#[test]
fn who_joined_a_side_is_kept_when_it_merges() {
    let mut net = Net::of(3);
    net.cut_both(peer(1), peer(3));
    net.cut_both(peer(2), peer(3));
    net.run(Duration::from_secs(8));
    assert_eq!(net.session(peer(3)).leader(), peer(3));
    net.cut_both(peer(1), peer(9));
    net.cut_both(peer(2), peer(9));
    net.join(peer(9));
    net.run(Duration::from_secs(3));
    assert_eq!(net.session(peer(9)).leader(), peer(3));
    net.cut.clear();
    net.run(Duration::from_secs(8));
    assert_eq!(net.host(), peer(1));
    for id in [3, 9] {
        assert!(net.session(peer(1)).view().members.contains_key(&peer(id)), "{id} has a vote");
    }
}

/// Two sides that share nobody who lives know of each other by discovery alone.
#[test]
fn sides_that_share_nobody_merge_when_one_finds_the_other() {
    let mut net = Net::of(2);
    net.kill(peer(1));
    net.run(Duration::from_secs(8));
    net.cut_both(peer(2), peer(9));
    let mut other = Net::of(2);
    other.kill(peer(2));
    other.run(Duration::from_secs(8));
    // A side of its own that has 1 for a voter, and 2 not.
    let survivor = other.peers.remove(&peer(1)).unwrap();
    let stamp = survivor.stamp();
    assert_eq!(stamp.fork, 0, "half of two stay confirmed");
    net.peers.insert(peer(1), survivor);
    net.now = net.now.max(other.now);
    net.run(Duration::from_secs(3));
    net.give(peer(1), Input::Found(peer(2)));
    net.run(Duration::from_secs(10));
    assert_eq!(net.host(), peer(1), "whoever is confirmed goes on");
}

/// "Kicked" holds beyond the host that did it: the next one does not let it in either (I7).
#[test]
fn who_was_thrown_out_stays_out_after_a_migration() {
    let mut net = Net::of(4);
    net.give(peer(1), Input::Kick(peer(4)));
    net.run(Duration::from_secs(3));
    assert!(matches!(net.seen[&peer(4)].outputs.last(), Some(Output::Ended(_))));
    net.peers.remove(&peer(4));
    net.kill(peer(1));
    net.run(Duration::from_secs(4));
    assert_eq!(net.host(), peer(2));
    net.join(peer(4));
    net.run(Duration::from_secs(4));
    assert!(!net.peers.contains_key(&peer(4)));
    assert!(!net.session(peer(2)).roster().members.contains_key(&peer(4)));
}

/// Nor is it the next host, where the one that has thrown it out dies before its view and its list tell: votes are refused to it (I7).
#[test]
fn who_was_thrown_out_is_not_the_next_host() {
    let mut net = Net::of(5);
    assert_eq!(net.session(peer(3)).anticipated(), Some(peer(2)));
    // It never hears of it, and the others do of that alone.
    net.cut.insert((peer(1), peer(2)));
    net.travels = |body| {
        let is_lost = matches!(body, Body::View(_) | Body::Hints(_));
        if is_lost { Duration::from_secs(60) } else { Duration::from_millis(20) }
    };
    net.give(peer(1), Input::Kick(peer(2)));
    let knows = |net: &Net, id| net.session(peer(id)).roster().kicked.contains(&peer(2));
    step_until(&mut net, |net| [3, 4, 5].into_iter().all(|id| knows(net, id)));
    net.kill(peer(1));
    net.travels = |_| Duration::from_millis(20);
    net.run(Duration::from_secs(6));
    assert_eq!([3, 4, 5].map(|id| net.session(peer(id)).leader()), [peer(3); 3]);
    assert!(net.session(peer(2)).is_over(), "{}", net.session(peer(2)).shown());
}

/// One that was thrown out and never heard of it may lead a side alone, and all who knew it may be gone: whoever is host today meets it all
/// the same, and it hears that it is out (I8). A host did not want to find it, and the two went on beside each other for ever.
#[test]
fn who_was_thrown_out_and_leads_a_side_is_met() {
    let mut net = Net::of(3);
    [1, 3].into_iter().for_each(|other| net.cut_both(peer(other), peer(2)));
    net.give(peer(1), Input::Kick(peer(2)));
    net.run(Duration::from_secs(8));
    assert_eq!(net.session(peer(2)).leader(), peer(2), "alone");
    net.join(peer(4));
    net.run(Duration::from_secs(1));
    net.settle_in(peer(4), CanBeHost::Yes);
    net.run(Duration::from_secs(3));
    let last = snapshot(net.seen[&peer(1)].tick);
    net.give(peer(1), Input::HandOver { to: Some(peer(4)), why: Handover::Leaves, last });
    net.run(Duration::from_secs(3));
    [1, 3].into_iter().for_each(|gone| net.kill(peer(gone)));
    net.cut.clear();
    for (one, other) in [(4, 2), (2, 4)] {
        net.give(peer(one), Input::Found(peer(other)));
    }
    net.run(Duration::from_secs(6));
    assert_eq!(net.session(peer(4)).leader(), peer(4));
    assert!(net.session(peer(2)).is_over(), "{}", net.session(peer(2)).shown());
}

/// "the process can repeat until there are no more players left": whoever comes in after a hundred hosts is told of as many of
/// them as anybody has to know, and each leave takes no longer than the first, also while somebody is on the way in.
#[test]
fn a_hundred_hosts_and_newcomers_after_each() {
    let mut net = Net::of(4);
    for round in 0..100 {
        let host = net.host();
        let newcomer = peer(100 + round);
        net.join(newcomer);
        if round % 3 == 0 {
            // The host never gets a word to it: it still asks when the host goes.
            net.cut.insert((host, newcomer));
            net.run(Duration::from_millis(600));
            assert!(!net.peers.contains_key(&newcomer));
        } else {
            net.run(Duration::from_millis(600));
            assert!(net.peers.contains_key(&newcomer), "{newcomer} came in under host {round}");
        }
        let last = snapshot(net.session(host).held().id().tick);
        net.give(host, Input::HandOver { to: None, why: Handover::Leaves, last });
        net.run(Duration::from_millis(250));
        assert_eq!(net.seen[&host].outputs.last(), Some(&Output::Ended(End::Left)), "host {round} left");
        net.kill(host);
        let next = net.host();
        assert_ne!(next, host);
        assert!(net.seen[&next].led_from.is_some(), "host {round}: its successor goes on at once");
        net.run(Duration::from_millis(800));
        assert!(net.peers.contains_key(&newcomer), "{newcomer} is in after host {round}");
        net.settle_in(newcomer, CanBeHost::Yes);
        net.give(newcomer, Input::Play(b"ahoy".to_vec()));
        net.run(Duration::from_millis(300));
    }
    let host = net.session(net.host());
    assert_eq!(host.stamp(), Stamp::certified(Epoch(101)));
    assert!(host.held().inputs().len() <= PLAYERS_MAX, "those who left long ago are forgotten");
}

/// The history that a newcomer is told is long where many were host: while a slow line carries it, it is not sent again for all that the newcomer asks, or
/// the first views and states would come behind all of them. What was on its way when the link broke is.
#[test]
fn who_is_being_told_a_long_history_is_not_told_it_again() {
    let mut net = Net::of(32);
    for number in (1..=32).cycle().skip(1).take(LINEAGE_MAX) {
        let (host, to) = (net.host(), Some(peer(number)));
        let last = snapshot(net.session(host).held().id().tick);
        net.give(host, Input::HandOver { to, why: Handover::Lobby, last });
        step_until(&mut net, |net| net.session(host).leader() != host);
        net.run(Duration::from_millis(200));
    }
    let host = net.host();
    net.travels = |body| Duration::from_millis(if matches!(body, Body::Welcome(_)) { 400 } else { 20 });
    net.overheard = Some(Vec::new());
    net.join(peer(90));
    net.run(Duration::from_secs(2));
    let said = net.overheard.take().unwrap();
    let welcomes = said.iter().filter(|(.., message)| matches!(message.body, Body::Welcome(_))).count();
    assert_eq!((welcomes, net.peers.contains_key(&peer(90))), (1, true));

    // It asks every 300 ms.
    net.travels = |_| Duration::from_millis(20);
    let mut comes_within_ms_of_a_lost_welcome = |newcomer: PeerId, breaks: &[Input]| {
        net.cut.insert((host, newcomer));
        net.join(newcomer);
        net.run(Duration::from_millis(100));
        net.cut.clear();
        breaks.iter().for_each(|input| net.give(host, input.clone()));
        let began = net.now;
        step_until(&mut net, |net| net.peers.contains_key(&newcomer));
        net.now.since(began).as_millis()
    };
    assert!(comes_within_ms_of_a_lost_welcome(peer(91), &[]) > 400);
    assert!(comes_within_ms_of_a_lost_welcome(peer(92), &[Input::LinkLost(peer(92))]) < 300);
}

/// I9: "input applied exactly once". Of those who left a host remembers as many as a state has room for, the newest: one that was cut off, and put out, is not
/// forgotten for those who went long before, and what it says again is known. Nor is one that a side's host meets for as long as it may be on another (succession 184).
#[test]
fn whoever_is_put_out_is_remembered_for_what_it_did() {
    let plays = |net: &mut Net, id: u128| {
        net.give(peer(id), Input::Play(b"ahoy".to_vec()));
        net.run(Duration::from_millis(200));
    };
    let comes = |net: &mut Net, id: u128| {
        net.join(peer(id));
        net.run(Duration::from_millis(300));
        plays(net, id);
    };
    for dead in [&[][..], &[peer(1), peer(2)]] {
        let mut net = Net::of(4);
        for id in (0..).take(PLAYERS_MAX - 1) {
            comes(&mut net, 100 + id);
            net.give(peer(100 + id), Input::Leave);
            net.kill(peer(100 + id));
        }
        dead.iter().for_each(|peer| net.kill(*peer));
        net.run(Duration::from_secs(8));
        let (host, cut_off) = (net.host(), 98);
        comes(&mut net, cut_off);
        net.cut.insert((host, peer(cut_off)));
        (0..2).for_each(|_| plays(&mut net, cut_off));
        net.cut_both(host, peer(cut_off));
        net.run(Duration::from_secs(6));
        assert!(!net.session(host).roster().members.contains_key(&peer(cut_off)), "it was put out");
        comes(&mut net, 99);
        net.cut.clear();
        net.run(Duration::from_secs(6));
        plays(&mut net, cut_off);
        let applied = net.seen[&host].applied.iter().filter(|(from, _)| *from == peer(cut_off));
        assert_eq!(applied.map(|(_, number)| *number).collect::<Vec<_>>(), [1, 2, 3, 4], "{dead:?}");
        assert_eq!(net.session(host).held().inputs().len(), PLAYERS_MAX);
    }
}

/// I14. A host stood still, and comes back to one that came while it was away, and knows that it was host by its certificate alone: it is let in at once.
#[test]
fn an_old_host_comes_back_to_one_that_never_met_it() {
    let mut net = Net::of(4);
    net.freeze(peer(1));
    net.run(Duration::from_secs(8));
    net.join(peer(5));
    net.run(Duration::from_secs(3));
    net.settle_in(peer(5), CanBeHost::Yes);
    net.run(Duration::from_secs(1));
    let last = snapshot(net.session(peer(2)).held().id().tick);
    net.give(peer(2), Input::HandOver { to: Some(peer(5)), why: Handover::Lobby, last });
    net.run(Duration::from_secs(2));
    assert_eq!(net.session(peer(2)).leader(), peer(5));
    assert!(!net.session(peer(5)).speaks_with(peer(1)), "it never met it");
    net.thaw(peer(1));
    net.run(Duration::from_secs(1));
    assert_eq!(net.host(), peer(5));
    assert!(net.session(peer(5)).roster().members.contains_key(&peer(1)));
}

/// A game that goes on may be closed to newcomers: who was in comes back all the same, and whoever is host goes by its own game's word.
#[test]
fn a_closed_session_lets_nobody_in_who_was_never_a_member() {
    let mut net = Net::of(3);
    net.give(peer(1), Input::Newcomers(Newcomers::KeptOut));
    net.join(peer(9));
    net.run(Duration::from_secs(1));
    assert_eq!(net.refused.remove(&peer(9)), Some(Closed::ToNewcomers));
    net.freeze(peer(3));
    net.run(Duration::from_secs(8));
    assert!(!net.session(peer(1)).roster().members.contains_key(&peer(3)), "it was put out");
    net.thaw(peer(3));
    net.run(Duration::from_secs(3));
    assert!(net.session(peer(1)).roster().members.contains_key(&peer(3)));
    net.kill(peer(1));
    net.run(Duration::from_secs(5));
    assert_eq!(net.host(), peer(2));
    net.join(peer(9));
    net.run(Duration::from_secs(1));
    assert!(net.peers.contains_key(&peer(9)), "its game has closed nothing");
}

/// Whoever is within stays, wherever it came in: the host that its side merges into never met it, and hears that it is a member.
#[test]
fn who_joined_a_side_is_kept_when_a_closed_session_merges() {
    let mut net = Net::of(3);
    for (one, other) in [(1, 3), (2, 3), (1, 9), (2, 9)] {
        net.cut_both(peer(one), peer(other));
    }
    net.run(Duration::from_secs(8));
    net.join(peer(9));
    net.run(Duration::from_secs(3));
    assert_eq!(net.session(peer(9)).leader(), peer(3));
    [1, 2, 3, 9].into_iter().for_each(|id| net.give(peer(id), Input::Newcomers(Newcomers::KeptOut)));
    net.cut.clear();
    net.run(Duration::from_secs(8));
    assert_eq!(net.host(), peer(1));
    assert!(net.session(peer(1)).roster().members.contains_key(&peer(9)), "it plays on");
    net.join(peer(8));
    net.run(Duration::from_secs(1));
    assert_eq!(net.refused.remove(&peer(8)), Some(Closed::ToNewcomers), "and nobody else comes in");
}

/// Whoever is asked and says no is one of those that are asked: the host lets it in.
#[test]
fn no_single_member_keeps_a_newcomer_out() {
    for why in [Closed::Kicked, Closed::NoPass, Closed::ToNewcomers, Closed::OtherOrder] {
        let mut net = Net::of(3);
        net.join(peer(9));
        net.say(peer(2), peer(9), Body::Refused(why));
        net.run(Duration::from_secs(1));
        assert!(net.peers.contains_key(&peer(9)), "{why:?}: {:?}", net.refused);
    }
}

/// The same where it welcomes it to a session of its own making.
#[test]
fn no_single_member_keeps_a_newcomer_out_with_a_false_welcome() {
    let mut net = Net::of(3);
    net.overheard = Some(Vec::new());
    net.join(peer(8));
    net.run(Duration::from_secs(1));
    let overheard = net.overheard.take().unwrap();
    let welcome =
        |(.., message): (_, _, Message)| matches!(message.body, Body::Welcome(_)).then_some(message);
    let welcome = overheard.into_iter().find_map(welcome).unwrap();
    net.join(peer(9));
    net.deliver(peer(2), peer(9), welcome);
    net.run(Duration::from_secs(1));
    assert!(net.peers.contains_key(&peer(9)));
}

/// Or sends it from one to the next, of whom nobody answers: it asks all that it knows in turn.
#[test]
fn no_single_member_keeps_a_newcomer_out_by_naming_others() {
    let net = Net::of(2);
    let newcomer = peer(9);
    let config =
        Config { me: newcomer, keys: std::sync::Arc::new(NamedKeys(newcomer)), ..net.config.clone() };
    let mut joining = Joining::new(net.now, config, vec![peer(2), peer(1)]);
    let (mut now, mut asked, mut named) = (net.now, Vec::<PeerId>::new(), 100);
    let note = |asked: &mut Vec<PeerId>, joined: Joined| {
        let Joined::NotYet(outputs) = joined else { panic!("{joined:?}") };
        let to = |it| if let Output::Send { to, .. } = it { Some(to) } else { None };
        asked.extend(outputs.into_iter().filter_map(to));
    };
    for _ in 0..10 {
        now = now.max(joining.next_deadline());
        note(&mut asked, joining.wake(now));
        if asked.last() == Some(&peer(2)) {
            named += 1;
            let (session, stamp) = (net.config.session, Stamp::certified(Epoch::FIRST));
            let message = Message { session, stamp, body: Body::Redirect(peer(named)) };
            note(&mut asked, joining.receive(now, peer(2), &message));
        }
    }
    assert!(asked.iter().filter(|it| **it == peer(1)).count() >= 2, "{asked:?}");
}

/// Issue 5: "join in progress redirected during a migration". On a LAN the next host says so itself, and is asked at once, also where who was
/// known at first is not there any more.
#[test]
fn who_says_that_it_is_host_by_now_is_asked_too() {
    let net = Net::of(1);
    let newcomer = peer(9);
    let config =
        Config { me: newcomer, keys: std::sync::Arc::new(NamedKeys(newcomer)), ..net.config.clone() };
    let mut joining: Joining = Joining::new(net.now, config, vec![peer(1)]);
    let asks = |joined: Joined| {
        let Joined::NotYet(outputs) = joined else { panic!("{joined:?}") };
        let to = |it| if let Output::Send { to, .. } = it { Some(to) } else { None };
        outputs.into_iter().filter_map(to).collect::<Vec<_>>()
    };
    assert_eq!(asks(joining.wake(net.now)), [peer(1)]);
    assert_eq!(asks(joining.find(net.now, peer(2))), [peer(2)]);
    assert_eq!(asks(joining.find(net.now, peer(2))), [], "it is asked in its turn");
    let (session, stamp) = (net.config.session, Stamp::certified(Epoch::FIRST));
    let message = Message { session, stamp, body: Body::Refused(Closed::Kicked) };
    let _asks_others = joining.receive(net.now, peer(2), &message);
    assert_eq!(asks(joining.find(net.now, peer(2))), [], "it does not let this peer in");
    assert_eq!(joining.asks(), [peer(1)]);
    (3..500).for_each(|number| drop(joining.find(net.now, peer(number))));
    assert_eq!((joining.asks().len(), joining.asks().contains(&peer(1))), (MEMBERS_MAX, true));
}

/// Where all say so, or name whoever does, it knows at once.
#[test]
fn who_is_refused_by_all_hears_why() {
    let mut net = Net::of(3);
    net.give(peer(1), Input::Newcomers(Newcomers::KeptOut));
    net.join(peer(9));
    net.run(Duration::from_millis(500));
    assert_eq!(net.refused.remove(&peer(9)), Some(Closed::ToNewcomers));
}

/// "unique network channel identifier" (I10): who plays keeps its channel whatever a list of voters says, and what another has is given to nobody.
#[test]
fn no_two_play_on_one_channel() {
    let channel = |fork, number| ChannelId { stamp: Stamp { epoch: Epoch(3), fork }, number };
    let (of_before, of_side, of_both) = (channel(0, 1), channel(3, 1), channel(2, 1));
    let of = |list: &[(u128, ChannelId)]| -> BTreeMap<PeerId, ChannelId> {
        list.iter().map(|(id, channel)| (peer(*id), *channel)).collect()
    };
    let cases = [
        ("who votes plays", of(&[(2, of_both)]), of(&[(1, of_before), (2, of_both)])),
        ("it keeps what it has", of(&[(1, of_both)]), of(&[(1, of_before)])),
        ("two sides of one number gave it", of(&[(2, of_before)]), of(&[(1, of_before)])),
        (
            "of two that come one has it",
            of(&[(2, of_side), (3, of_side)]),
            of(&[(1, of_before), (2, of_side)]),
        ),
    ];
    for (case, voters, seated) in cases {
        let mut roster = Roster {
            stamp: Stamp::certified(Epoch(3)),
            version: 1,
            members: of(&[(1, of_before)]),
            kicked: BTreeSet::new(),
            actors: BTreeMap::new(),
            support: Support::Supported,
        };
        assert_eq!(roster.seat(&voters), seated.len() > 1, "{case}");
        assert_eq!(roster.members, seated, "{case}");
    }
}

/// Its host dies as it comes in, and nobody else has met it. Those who vote wait for two that are dead as well, for longer than whoever has a vote and hears nobody waits before its
/// session ends, as is its setting: it has none, and comes to their host.
#[test]
fn who_has_no_vote_and_whom_nobody_met_waits_for_those_who_vote() {
    let mut net = Net::with(7, Migratable::Yes, WithoutMajority::End);
    net.run(Duration::from_secs(1));
    net.travels = |body| if matches!(body, Body::Roster(_)) { Duration::from_secs(60) } else { WAY };
    net.join(peer(8));
    step_until(&mut net, |net| !net.somebody_asks());
    (1..=3).for_each(|id| net.kill(peer(id)));
    net.travels = |_| WAY;
    assert!(!net.session(peer(4)).roster().members.contains_key(&peer(8)), "only its host has met it");
    step_until(&mut net, |net| net.session(peer(7)).leader() == peer(4));
    net.run(Duration::from_secs(3));
    assert_eq!(net.session(peer(8)).leader(), peer(4));
    assert!(net.session(peer(4)).roster().members.contains_key(&peer(8)));
}
