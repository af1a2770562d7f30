//! Sessions under a lobby: it alone says who is host (issue 5: "from the lobby by compare-and-swap lease"), two players are safe
//! with it, and what happens while it does not answer is written down (decision 0056).

use std::collections::BTreeMap;
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{
    Ancestor, Announcement, Ballot, Beat, Body, CanBeHost, Cause, Descent, End, Epoch, Failure, Forged,
    Guarded, Handover, Input, Outcome, Output, PeerId, Proof, Question, Role, Root, Session, Signature,
    Stamp, Standing, StateHash, StateId, Support, Tick, View, ViewId, WithoutMajority,
};

use crate::joins::step_until;
use crate::moves::last_state;
use crate::net::{Net, granted, peer, snapshot};

fn of(count: u128) -> Net {
    Net::under_lobby(count, WithoutMajority::Fork)
}

/// Issue 5: "a lobby or a witness makes two players safe". The survivor is host with a certificate, and no fork.
#[test]
fn of_two_players_the_survivor_is_confirmed_by_the_lobby() {
    let mut net = of(2);
    net.run(Duration::from_secs(1));
    net.kill(peer(1));
    // It renewed its lease twice a second, and was missed after one; who misses it asks half a second after its silence, and waits for nothing it holds.
    net.run(Duration::from_millis(1_500));
    assert!(net.seen[&peer(2)].outputs.iter().any(|output| matches!(output, Output::Lead { .. })));
    assert_eq!((net.host(), net.session(peer(2)).stamp()), (peer(2), Stamp::certified(Epoch(2))));
    assert_eq!(net.session(peer(2)).standing(), Some(Standing::Confirmed));
    let reports = &net.seen[&peer(2)].reports;
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].cause, Cause::Catastrophic);
}

/// How soon a host may be missed goes by how many it hears, and that can change at any time: it says so at once, and not with its next renewal.
#[test]
fn who_hears_one_member_any_more_says_so_at_once() {
    let mut net = of(3);
    step_until(&mut net, |net| net.now.since(net.lobby.renewed) < Duration::from_millis(2));
    assert_eq!(net.lobby.patience, Duration::from_secs(4));
    net.give(peer(3), Input::Leave);
    net.run(Duration::from_millis(200));
    assert_eq!(net.lobby.patience, Duration::from_secs(1));
}

/// A host leaves, and the next one dies before it has written who is left: whoever has said that it goes is not asked whether it misses anybody, be one
/// left or two.
#[test]
fn who_has_left_keeps_nobody_from_missing_the_next_host() {
    for count in [3, 4] {
        let mut net = of(count);
        net.give(peer(1), Input::Leave);
        net.kill(peer(1));
        step_until(&mut net, |net| (3..=count).all(|id| net.session(peer(id)).leader() == peer(2)));
        assert!(net.session(peer(3)).view().members.contains_key(&peer(1)));
        net.kill(peer(2));
        net.run(Duration::from_secs(2));
        assert_eq!((net.host(), net.session(peer(3)).stamp()), (peer(3), Stamp::certified(Epoch(3))));
    }
}

/// Three hosts die one after another, each as soon as it is obeyed: those that went before are not asked whether they miss the third.
#[test]
fn hosts_that_died_keep_nobody_from_missing_the_next() {
    let mut net = of(5);
    for host in 1..=2 {
        net.kill(peer(host));
        step_until(&mut net, |net| (host + 2..=5).all(|id| net.session(peer(id)).leader() == peer(host + 1)));
    }
    assert!((1..=2).all(|id| net.session(peer(4)).view().members.contains_key(&peer(id))));
    net.kill(peer(3));
    net.run(Duration::from_secs(2));
    assert_eq!((net.host(), net.session(peer(4)).stamp()), (peer(4), Stamp::certified(Epoch(4))));
}

/// A member misses its host for a moment, and what it asks is lost. Seconds later the host leaves: the lobby has not been silent, and nobody's session ends for that.
#[test]
fn a_question_that_was_lost_long_ago_makes_no_lobby_silent() {
    for later in [2_500, 10_000] {
        let mut net = Net::under_lobby(3, WithoutMajority::End);
        net.cut_both(peer(1), peer(3));
        net.lobby.cut.insert(peer(3));
        net.run(Duration::from_millis(1_000));
        net.cut.clear();
        net.lobby.cut.clear();
        net.run(Duration::from_millis(later));
        net.give(peer(1), Input::Leave);
        net.kill(peer(1));
        net.run(Duration::from_secs(2));
        assert_eq!(
            (net.host(), net.session(peer(3)).stamp()),
            (peer(2), Stamp::certified(Epoch(2))),
            "{later}"
        );
    }
}

/// Of two players one pauses for longer than the survivor of two without a lobby waits: here the lobby hears it, and nothing moves.
#[test]
fn of_two_players_a_pause_moves_nothing() {
    let mut net = of(2);
    net.cut_both(peer(1), peer(2));
    net.run(Duration::from_millis(1_800));
    net.cut.clear();
    net.run(Duration::from_secs(2));
    assert_eq!(net.host(), peer(1));
    assert!(net.stages(peer(2)).is_empty(), "no game heard of it");
}

/// Of two players that do not hear each other the host stays, for the lobby hears it; nobody forks.
#[test]
fn of_two_players_that_are_cut_off_from_each_other_the_host_stays() {
    let mut net = of(2);
    net.cut_both(peer(1), peer(2));
    net.run(Duration::from_secs(20));
    assert_eq!(net.session(peer(1)).stamp(), Stamp::certified(Epoch::FIRST));
    assert_eq!(net.session(peer(1)).standing(), Some(Standing::Confirmed));
    assert_eq!(net.session(peer(2)).stamp(), Stamp::certified(Epoch::FIRST), "it asks, and is refused");
    net.cut.clear();
    net.run(Duration::from_secs(2));
    assert_eq!(net.host(), peer(1));
}

/// Reference, section 5.3 A: "Survives loss of any number of peers". Five of eight die at once.
#[test]
fn fewer_than_half_go_on_confirmed() {
    let mut net = of(8);
    for dead in 1..=5 {
        net.kill(peer(dead));
    }
    net.run(Duration::from_secs(6));
    assert_eq!(net.host(), peer(6));
    assert_eq!(net.session(peer(6)).stamp(), Stamp::certified(Epoch(2)));
    assert_eq!(net.session(peer(6)).roster().members.len(), 3, "and knows who is left");
}

/// It goes before its list tells that its only successor can be host by now: that one knows it of itself, and of others by their word.
#[test]
fn a_host_that_goes_at_once_is_followed_by_whoever_has_just_come() {
    for players in [2, 3] {
        let mut net = of(1);
        for newcomer in 2..=players {
            net.join(peer(newcomer));
        }
        net.run(Duration::from_secs(1));
        assert_eq!(net.session(peer(players)).anticipated(), None, "{players}: nobody could be host yet");
        for newcomer in 2..=players {
            net.settle_in(peer(newcomer), CanBeHost::Yes);
        }
        net.give(peer(1), Input::Leave);
        net.kill(peer(1));
        net.run(Duration::from_millis(100));
        // It has left there, too: what it asked before has been answered.
        net.lobby.renewed = Timestamp::EPOCH;
        net.run(Duration::from_millis(600));
        assert_eq!((net.host(), net.session(peer(players)).stamp()), (peer(2), Stamp::certified(Epoch(2))));
        assert_eq!(net.seen[&peer(2)].reports[0].cause, Cause::Controlled);
    }
}

/// A member dies, and a newcomer is host before anybody has put it out: who was never heard there is no member that the lobby should ask whether it misses
/// that host.
#[test]
fn a_host_tells_the_lobby_of_nobody_whom_it_never_heard() {
    let mut net = of(3);
    net.give(peer(2), Input::Suitable(CanBeHost::NotYet));
    net.run(Duration::from_secs(1));
    net.kill(peer(3));
    net.join(peer(4));
    net.run(Duration::from_millis(200));
    net.settle_in(peer(4), CanBeHost::Yes);
    net.run(Duration::from_millis(200));
    net.give(peer(1), Input::Leave);
    step_until(&mut net, |net| net.session(peer(2)).leader() == peer(4));
    net.run(Duration::from_millis(500));
    assert!(net.session(peer(4)).roster().members.contains_key(&peer(3)), "nobody has put it out");
    let renewals = net.seen[&peer(4)].outputs.iter().filter_map(|output| {
        let Output::AskLobby { question: Question::Renew { hears, .. }, .. } = output else { return None };
        Some(hears.as_slice())
    });
    let renewals: Vec<&[PeerId]> = renewals.collect();
    assert_eq!(renewals.last(), Some(&[peer(2)].as_slice()));
    assert!(renewals.iter().all(|hears| !hears.contains(&peer(3))), "{renewals:?}");
}

/// It was put out while nobody heard it, comes to the next host by that one's certificate, and loses it before it is told its list. The lobby knows it, and nobody else
/// can be host (I8).
#[test]
fn who_is_in_no_list_of_its_own_is_host_where_nobody_else_can_be() {
    let mut net = of(4);
    net.settle_in(peer(4), CanBeHost::NotYet);
    net.run(Duration::from_secs(1));
    (1..=4).filter(|id| *id != 3).for_each(|id| net.cut_both(peer(3), peer(id)));
    step_until(&mut net, |net| !net.session(peer(1)).roster().members.contains_key(&peer(3)));
    net.travels = |body| Duration::from_millis(if matches!(body, Body::Welcome(_)) { 60_000 } else { 20 });
    net.cut.clear();
    step_until(&mut net, |net| !net.session(peer(3)).roster().members.contains_key(&peer(3)));
    net.kill(peer(1));
    net.travels = |body| {
        let is_list = matches!(body, Body::Welcome(_) | Body::Roster(_));
        Duration::from_millis(if is_list { 60_000 } else { 20 })
    };
    step_until(&mut net, |net| net.session(peer(3)).leader() == peer(2));
    assert!(!net.session(peer(3)).roster().members.contains_key(&peer(3)), "it plays in no list of its own");
    net.kill(peer(2));
    net.run(Duration::from_secs(4));
    assert_eq!((net.host(), net.session(peer(4)).stamp()), (peer(3), Stamp::certified(Epoch(3))));
    assert!([3, 4].iter().all(|id| net.session(peer(3)).roster().members.contains_key(&peer(*id))));
}

/// Of three players one has just come, and its host dies before it has written down that it votes. Nobody votes under a lobby: it misses its host as well as
/// the other, who does not wait for two seconds as if it were alone.
#[test]
fn who_came_too_late_to_vote_misses_its_host_all_the_same() {
    let mut net = of(2);
    net.travels = |body| Duration::from_millis(if matches!(body, Body::View(_)) { 60_000 } else { 20 });
    net.join(peer(3));
    net.run(Duration::from_millis(500));
    let session = net.session(peer(2));
    let knows =
        [session.roster().members.contains_key(&peer(3)), session.view().members.contains_key(&peer(3))];
    assert_eq!(knows, [true, false], "it plays, and has no vote");
    net.kill(peer(1));
    net.run(Duration::from_millis(1_600));
    assert_eq!((net.host(), net.session(peer(2)).stamp()), (peer(2), Stamp::certified(Epoch(2))));
}

/// The same while the lobby says nothing: all go on with one of them, also who could not be host itself.
#[test]
fn whoever_is_left_by_host_and_lobby_goes_on_with_one_host() {
    let mut net = of(4);
    net.lobby.down = true;
    net.give(peer(4), Input::Suitable(CanBeHost::NotYet));
    net.give(peer(1), Input::Leave);
    net.kill(peer(1));
    net.run(Duration::from_secs(5));
    for id in 2..=4 {
        assert_eq!(net.session(peer(id)).leader(), peer(2), "{id}");
        assert_eq!(net.seen[&peer(id)].reports.len(), 1, "{id}: {:?}", net.seen[&peer(id)].reports);
    }
}

/// CRYENGINE's `net_inactivitytimeout` (10 s): whoever missed its host alone, and gave it up because all others did for a moment, is as cut off once they hear
/// it again as if it never had.
#[test]
fn whoever_alone_still_misses_a_host_that_stayed_is_cut_off() {
    let mut net = of(5);
    net.cut.insert((peer(1), peer(5)));
    net.run(Duration::from_secs(3));
    assert!(net.seen.values().all(|seen| seen.stages.is_empty()), "nobody moves for one deaf peer");
    // The successor never gets the last state, so the host keeps the session.
    net.travels = |body| Duration::from_millis(if matches!(body, Body::State(_)) { 60_000 } else { 20 });
    let last = last_state(&net, 1);
    net.give(peer(1), Input::HandOver { to: Some(peer(2)), why: Handover::Lobby, last });
    net.run(Duration::from_secs(1));
    assert_ne!(net.stages(peer(5)), [], "it gave its host up with all others");
    net.run(Duration::from_secs(12));
    let deaf = &net.seen[&peer(5)].reports;
    assert_eq!(deaf.len(), 1, "{deaf:?}");
    assert_eq!(deaf[0].outcome, Outcome::Terminated(Failure::CutOff));
    assert!((1..=4).all(|id| net.session(peer(id)).leader() == peer(1)));
}

/// I5. The lobby has made it host long ago, for what it asked then, and others tell it so only now: its lease is over by then, and may be another's.
#[test]
fn who_is_told_late_that_it_was_certified_has_no_lease() {
    use WithoutMajority::{Fork, Hold};
    // Where it may, it leads a side by then.
    for (without, late, standing) in
        [(Hold, 1, Standing::Confirmed), (Hold, 9, Standing::Unconfirmed), (Fork, 9, Standing::Unconfirmed)]
    {
        let mut net = Net::under_lobby(3, without);
        net.lobby.cut.insert(peer(2));
        net.cut_both(peer(2), peer(3));
        net.kill(peer(1));
        step_until(&mut net, |net| !net.stages(peer(2)).is_empty());
        net.lobby.host = Some((Epoch(2), peer(2)));
        step_until(&mut net, |net| net.session(peer(3)).stamp() == Stamp::certified(Epoch(2)));
        net.lobby.down = true;
        net.run(Duration::from_secs(late));
        net.cut.clear();
        step_until(&mut net, |net| net.session(peer(2)).stamp() == Stamp::certified(Epoch(2)));
        net.run(Duration::from_millis(10));
        assert_eq!(net.session(peer(2)).standing(), Some(standing), "{without:?}, after {late} s");
    }
}

/// A planned leave is one swap at the lobby, and nothing is lost.
#[test]
fn a_host_hands_over_through_the_lobby() {
    let mut net = of(3);
    let tick = net.seen[&peer(1)].tick;
    net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last: snapshot(tick) });
    net.run(Duration::from_millis(400));
    assert_eq!(net.seen[&peer(2)].led_from, Some(tick), "within 400 ms");
    assert!(net.seen[&peer(1)].outputs.contains(&Output::Ended(End::Left)));
    net.kill(peer(1));
    net.run(Duration::from_secs(1));
    assert_eq!((net.host(), net.session(peer(3)).stamp()), (peer(2), Stamp::certified(Epoch(2))));
    let report = &net.seen[&peer(3)].reports[0];
    let moved = Outcome::Moved { host: peer(2), stamp: Stamp::certified(Epoch(2)), role: Role::Client };
    assert_eq!((report.cause, &report.outcome), (Cause::Controlled, &moved));
}

/// I15. Its successor says that it holds what nobody wrote, further than the last state, which is still on its way: it is made host once it holds that one.
#[test]
fn a_successor_that_says_it_holds_more_than_there_is_waits_for_the_last_state() {
    let mut net = of(3);
    net.travels = |body| Duration::from_millis(if matches!(body, Body::State(_)) { 90 } else { 20 });
    let (last, beat) = (last_state(&net, 1), net.beat_of(peer(2)));
    net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
    let held = net.session(peer(1)).held().id();
    let more = StateId { tick: Tick(u64::MAX), hash: StateHash(!held.hash.0), ..held };
    let holds = Descent::of(more, Ancestor::itself(more));
    net.say(peer(2), peer(1), Body::Beat(Beat { holds, ..beat }));
    net.run(Duration::from_millis(600));
    let led = |output: &Output| matches!(output, Output::Lead { state, .. } if state.id() == held);
    assert!(net.seen[&peer(2)].outputs.iter().any(led), "{held:?}");
    assert!(net.seen[&peer(1)].outputs.contains(&Output::Ended(End::Left)));
}

/// Issue 5, section 7: "lobby down, lobby back". A host that leaves while its lobby says nothing gives the session to
/// whom it names, and nothing is lost; nobody certifies that one until the lobby is back, and then nobody lives through anything.
#[test]
fn a_host_hands_over_while_its_lobby_is_away() {
    // It knows that the lobby is away; or that is to be found out.
    for (away, within_ms) in [(10, 400), (0, 1_400)] {
        let mut net = of(4);
        net.lobby.down = true;
        net.run(Duration::from_secs(away));
        let tick = net.seen[&peer(1)].tick;
        net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last: snapshot(tick) });
        net.run(Duration::from_millis(within_ms));
        assert_eq!(net.seen[&peer(2)].led_from, Some(tick), "{away}: within {within_ms} ms");
        assert!(net.seen[&peer(1)].outputs.contains(&Output::Ended(End::Left)), "{away}");
        net.kill(peer(1));
        net.run(Duration::from_secs(8));
        let stamp = net.session(peer(4)).stamp();
        assert_eq!((net.host(), stamp.epoch, stamp.fork > 0), (peer(2), Epoch::FIRST, true), "{away}");
        assert_eq!(net.session(peer(2)).standing(), Some(Standing::Unconfirmed), "{away}");
        for id in 2..=4 {
            let reports = &net.seen[&peer(id)].reports;
            assert_eq!(
                (reports.len(), reports[0].cause),
                (1, Cause::Controlled),
                "{away}, {id}: {reports:?}"
            );
        }
        net.lobby.down = false;
        net.run(Duration::from_secs(3));
        assert_eq!((net.host(), net.session(peer(4)).stamp()), (peer(2), Stamp::certified(Epoch(2))));
        assert_eq!(net.session(peer(2)).standing(), Some(Standing::Confirmed), "{away}");
        assert!((2..=4).all(|id| net.seen[&peer(id)].reports.len() == 1), "{away}: only the number is new");
    }
}

/// The same where the old host stays, before the game begins: it is a client of the new one.
#[test]
fn a_more_suitable_host_is_found_while_the_lobby_is_away() {
    let mut net = of(3);
    net.lobby.down = true;
    let tick = net.seen[&peer(1)].tick;
    let to = Some(peer(3));
    net.give(peer(1), Input::HandOver { to, why: Handover::Lobby, last: snapshot(tick) });
    net.run(Duration::from_secs(2));
    assert_eq!((net.host(), net.seen[&peer(3)].led_from), (peer(3), Some(tick)));
    assert!((1..=3).all(|id| net.seen[&peer(id)].reports.len() == 1), "each lived through it once");
    net.lobby.down = false;
    net.run(Duration::from_secs(8));
    assert_eq!((net.host(), net.session(peer(1)).stamp()), (peer(3), Stamp::certified(Epoch(2))));
}

/// The lobby comes back while the session is on its way, with whatever it was asked before: one host comes of it.
#[test]
fn a_lobby_that_comes_back_during_a_handover_gives_one_host() {
    for back_ms in (100..2_200).step_by(100) {
        let mut net = of(4);
        net.lobby.down = true;
        let tick = net.seen[&peer(1)].tick;
        net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last: snapshot(tick) });
        net.run(Duration::from_millis(back_ms));
        net.lobby.down = false;
        net.run(Duration::from_secs(4));
        net.kill(peer(1));
        net.run(Duration::from_secs(4));
        assert_eq!((net.host(), net.seen[&peer(2)].led_from), (peer(2), Some(tick)), "after {back_ms} ms");
        assert_eq!(net.session(peer(4)).stamp(), Stamp::certified(Epoch(2)), "after {back_ms} ms");
        assert_eq!(net.session(peer(2)).standing(), Some(Standing::Confirmed), "after {back_ms} ms");
        assert!((2..=4).all(|id| net.seen[&peer(id)].reports.len() == 1), "after {back_ms} ms");
    }
}

/// Where nobody may go on without the lobby, the host does, which has a lease of it.
#[test]
fn what_may_not_go_on_without_its_lobby_is_not_handed_over_without_it() {
    for without_majority in [WithoutMajority::Hold, WithoutMajority::End] {
        let mut net = Net::under_lobby(3, without_majority);
        net.lobby.down = true;
        let tick = net.seen[&peer(1)].tick;
        net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last: snapshot(tick) });
        net.run(Duration::from_millis(2_500));
        assert_eq!((net.host(), net.session(peer(3)).stamp()), (peer(1), Stamp::certified(Epoch::FIRST)));
    }
}

/// "Lobby down" while the host lives: nobody migrates; after its lease the host says that it is unconfirmed. "Lobby back": the
/// same host, of the same epoch, is confirmed again.
#[test]
fn a_lobby_that_is_down_and_back_moves_no_session_whose_host_lives() {
    let mut net = of(4);
    net.lobby.down = true;
    net.run(Duration::from_secs(3));
    assert_eq!(net.session(peer(1)).standing(), Some(Standing::Confirmed), "a lease lasts");
    net.run(Duration::from_secs(10));
    assert_eq!(net.session(peer(1)).standing(), Some(Standing::Unconfirmed));
    net.lobby.down = false;
    net.run(Duration::from_secs(2));
    assert_eq!(net.session(peer(1)).standing(), Some(Standing::Confirmed));
    assert!(net.seen[&peer(1)].outputs.contains(&Output::Confirmed(Stamp::certified(Epoch::FIRST))));
    assert!(net.seen.values().all(|seen| seen.stages.is_empty()), "nobody lived through anything");
}

/// "Lobby down", and the host dies: the session goes on unconfirmed, with one host. "Lobby back": that host claims the epoch
/// after the last certified one, and no listener hears of it.
#[test]
fn a_session_that_lost_host_and_lobby_goes_on_and_is_confirmed_when_the_lobby_is_back() {
    let mut net = of(4);
    net.lobby.down = true;
    net.kill(peer(1));
    net.run(Duration::from_secs(6));
    assert_eq!(net.host(), peer(2));
    let forked = net.session(peer(2)).stamp();
    assert_eq!((forked.epoch, forked.fork > 0), (Epoch::FIRST, true));
    // A claim that is on its way still could be granted to another: nobody makes one but the first of the order.
    let claims = |id| {
        let is_claim =
            |output: &&Output| matches!(output, Output::AskLobby { question: Question::Claim { .. }, .. });
        net.seen[&peer(id)].outputs.iter().filter(is_claim).count()
    };
    assert_eq!((claims(2) > 0, claims(3), claims(4)), (true, 0, 0));
    net.lobby.down = false;
    net.run(Duration::from_secs(3));
    assert_eq!((net.host(), net.session(peer(4)).stamp()), (peer(2), Stamp::certified(Epoch(2))));
    assert!(net.seen[&peer(2)].outputs.contains(&Output::Confirmed(Stamp::certified(Epoch(2)))));
    assert_eq!(net.seen[&peer(3)].reports.len(), 1, "one migration, and not a second one for the number");
}

/// The same where the session's setting is to end.
#[test]
fn a_session_that_would_rather_end_ends_while_its_lobby_is_down() {
    let mut net = Net::under_lobby(3, WithoutMajority::End);
    net.lobby.down = true;
    net.kill(peer(1));
    net.run(Duration::from_secs(8));
    let ended = |id| net.seen[&peer(id)].outputs.iter().any(|output| matches!(output, Output::Ended(_)));
    assert!(ended(2) && ended(3));
}

/// And where it is to stand still: it waits for the lobby, and goes on with it.
#[test]
fn a_session_that_would_rather_wait_waits_for_its_lobby() {
    let mut net = Net::under_lobby(3, WithoutMajority::Hold);
    net.lobby.down = true;
    net.kill(peer(1));
    net.run(Duration::from_secs(12));
    assert_eq!(net.session(peer(2)).stamp(), Stamp::certified(Epoch::FIRST), "nobody went on");
    net.lobby.down = false;
    net.run(Duration::from_secs(4));
    assert_eq!((net.host(), net.session(peer(2)).stamp().epoch), (peer(2), Epoch(2)));
}

/// The same where the host was about to give the session to another: it goes, or dies, and the lobby never hears of it.
#[test]
fn a_session_whose_host_goes_as_it_gives_it_away_waits_for_its_lobby() {
    for goes in [None, Some(Input::Leave)] {
        let mut net = Net::under_lobby(3, WithoutMajority::Hold);
        net.lobby.down = true;
        let last = snapshot(net.seen[&peer(1)].tick);
        net.give(peer(1), Input::HandOver { to: None, why: Handover::Leaves, last });
        net.run(Duration::from_millis(600));
        goes.iter().for_each(|words| net.give(peer(1), words.clone()));
        net.kill(peer(1));
        net.run(Duration::from_secs(5));
        assert_eq!(net.session(peer(2)).stamp(), Stamp::certified(Epoch::FIRST), "nobody went on");
        net.lobby.down = false;
        net.run(Duration::from_secs(4));
        let of_three = net.session(peer(3)).stamp();
        assert_eq!((net.host(), of_three), (peer(2), Stamp::certified(Epoch(2))), "{goes:?}");
    }
}

/// A frozen host wakes: the lobby has granted the next epoch meanwhile, and it rejoins as a client.
#[test]
fn a_zombie_is_fenced_and_rejoins() {
    let mut net = of(3);
    net.freeze(peer(1));
    net.run(Duration::from_secs(5));
    assert_eq!(net.session(peer(2)).stamp(), Stamp::certified(Epoch(2)));
    net.thaw(peer(1));
    net.run(Duration::from_secs(3));
    assert_eq!(net.host(), peer(2));
    assert!(net.session(peer(2)).roster().members.contains_key(&peer(1)));
}

/// I5. Who slept while it was made host hears of it from others as it wakes up: its lease began before, and may be over.
#[test]
fn who_slept_through_its_lease_is_not_confirmed_by_the_word_of_it() {
    for (slept, standing) in [(2, Standing::Confirmed), (7, Standing::Unconfirmed)] {
        let mut net = of(3);
        net.freeze(peer(2));
        net.lobby.host = Some((Epoch(2), peer(2)));
        net.lobby.cut.insert(peer(2));
        net.overheard = Some(Vec::new());
        let knows = |net: &Net| net.session(peer(3)).stamp() == Stamp::certified(Epoch(2));
        assert!((0..300).any(|_| {
            net.run(Duration::from_millis(10));
            knows(&net)
        }));
        let overheard = net.overheard.take().unwrap();
        let (.., told) =
            overheard.into_iter().rfind(|(from, to, _)| (*from, *to) == (peer(1), peer(3))).unwrap();
        net.kill(peer(1));
        net.kill(peer(3));
        let fell_asleep = net.session(peer(2)).next_deadline().unwrap();
        net.now = net.now.max(fell_asleep + Duration::from_secs(slept));
        net.frozen.remove(&peer(2));
        net.deliver(peer(1), peer(2), told);
        net.run(Duration::from_millis(10));
        assert_eq!(net.session(peer(2)).standing(), Some(standing), "after {slept} s");
    }
}

/// "The new host collects state heads and ticks from survivors", also of a host that it has never heard of: a lobby's certificates stand
/// for themselves, so whoever was away for two hosts is told of the second alone.
#[test]
fn who_was_away_for_two_hosts_goes_on_from_what_the_first_wrote() {
    let mut net = of(5);
    for other in [1, 2, 3, 5] {
        net.cut_both(peer(4), peer(other));
    }
    net.lobby.cut.insert(peer(4));
    net.kill(peer(1));
    let of_second = |net: &Net| net.session(peer(5)).held().id().stamp == Stamp::certified(Epoch(2));
    assert!((0..400).any(|_| {
        net.run(Duration::from_millis(10));
        of_second(&net)
    }));
    // The third is host, and says nothing of its own; the fourth comes after it.
    net.idle = true;
    net.give(peer(5), Input::Suitable(CanBeHost::NotYet));
    net.run(Duration::from_millis(400));
    net.kill(peer(2));
    assert!((0..400).any(|_| {
        net.run(Duration::from_millis(10));
        net.session(peer(5)).stamp() == Stamp::certified(Epoch(3))
    }));
    net.kill(peer(3));
    let left = net.session(peer(5)).held().id();
    assert!(of_second(&net) && net.session(peer(4)).held().id() < left);
    net.cut.clear();
    net.lobby.cut.clear();
    net.run(Duration::from_secs(6));
    assert_eq!((net.host(), net.session(peer(4)).stamp()), (peer(4), Stamp::certified(Epoch(4))));
    assert_eq!(net.seen[&peer(4)].led_from, Some(left.tick));
}

/// Seed 000: "an individual lobby service can be configured to not support host migration". Issue 5: "off means that no session of
/// that service migrates".
#[test]
fn a_session_of_a_service_without_support_ends_with_its_host() {
    for leaves in [true, false] {
        let mut net = of(4);
        net.lobby.stays = true;
        net.give(peer(4), Input::Suitable(CanBeHost::NotYet));
        if leaves {
            net.give(peer(1), Input::Leave);
        }
        net.kill(peer(1));
        net.run(Duration::from_millis(100));
        if leaves {
            // It has left there, too.
            net.lobby.renewed = Timestamp::EPOCH;
        }
        net.run(Duration::from_millis(if leaves { 1_500 } else { 12_000 }));
        for id in 2..=4 {
            let is_over = net.seen[&peer(id)].outputs.contains(&Output::Ended(End::HostLost));
            assert!(is_over, "{id}, its host leaves: {leaves}");
        }
    }
}

/// The same, of a flag that is set while a session is played, where its host and the lobby are lost at once: nobody can ask any more.
/// What the lobby told the host last counts, also for who came in since, and when another is host by then.
#[test]
fn a_host_passes_on_whether_its_lobby_lets_sessions_move() {
    for (told, moves) in [
        (&[Support::Unsupported][..], false),
        (&[Support::Unsupported, Support::Supported], true),
        (&[Support::Supported], true),
    ] {
        let mut net = of(4);
        for support in told {
            net.give(peer(1), Input::Supports(*support));
            net.run(Duration::from_millis(500));
        }
        net.join(peer(5));
        net.run(Duration::from_secs(1));
        let next = moves.then_some(peer(2));
        assert_eq!([1, 2, 5].map(|id| net.session(peer(id)).anticipated()), [next; 3], "{told:?}");
        net.lobby.down = true;
        net.kill(peer(1));
        net.run(Duration::from_secs(12));
        for id in 2..=5 {
            let is_over = net.seen[&peer(id)].outputs.contains(&Output::Ended(End::HostLost));
            assert_eq!(is_over, !moves, "{id}: {told:?}");
        }
        assert!(!moves || net.session(peer(5)).stamp().fork > 0, "{told:?}");
    }
}

/// Of two nobody can tell whether the other is gone but the lobby, which would take whoever asks for the next host: so nobody asks who would not
/// be it, and a line that pauses ends no session.
#[test]
fn who_does_not_go_along_asks_its_lobby_for_nothing() {
    for off in [
        Input::OwnFlag(Support::Unsupported),
        Input::Set { name: "net_automigrate_host".to_owned(), value: "0".to_owned() },
    ] {
        let mut net = of(2);
        net.give(peer(2), off.clone());
        net.run(Duration::from_secs(1));
        net.freeze(peer(1));
        net.run(Duration::from_secs(3));
        net.thaw(peer(1));
        net.run(Duration::from_secs(3));
        for id in [1, 2] {
            assert_eq!(net.session(peer(id)).stamp(), Stamp::certified(Epoch::FIRST), "{id}: {off:?}");
            assert!(
                !net.seen[&peer(id)].outputs.iter().any(|it| matches!(it, Output::Ended(_))),
                "{id}: {off:?}"
            );
        }
    }
}

/// What a member hears itself may be older than its host's word; and where members prove their hosts no lobby has a say.
#[test]
fn whether_sessions_move_is_told_by_hosts_of_a_lobby() {
    let mut net = of(3);
    net.give(peer(1), Input::Supports(Support::Unsupported));
    net.run(Duration::from_millis(500));
    net.give(peer(2), Input::Supports(Support::Supported));
    assert_eq!(net.session(peer(2)).roster().support, Support::Unsupported);
    let mut net = Net::of(3);
    let before = net.session(peer(1)).roster().clone();
    net.give(peer(1), Input::Supports(Support::Unsupported));
    assert_eq!(*net.session(peer(1)).roster(), before);
}

/// 0053: "In such a session a majority of peers certifies nothing, and elsewhere the lobby certifies nothing".
#[test]
fn each_arbiter_alone_proves_the_hosts_of_its_sessions() {
    let mut net = of(3);
    let session = net.config.session;
    let announce = |net: &mut Net, certificate| {
        let stamp = Stamp::certified(Epoch(2));
        let view = net.session(peer(2)).view().clone();
        let word = Announcement { certificates: vec![certificate], view, cause: Cause::Catastrophic };
        let body = Body::Announce(word);
        let message = mainstay_migration::Message { session, stamp, body };
        net.deliver(peer(2), peer(3), message);
    };
    // Votes of everybody, and a signature that is not the lobby's, or of another epoch.
    let view = View { id: ViewId { epoch: Epoch::FIRST, version: 0 }, ..net.session(peer(2)).view().clone() };
    let votes = Proof::Majority { electorate: view, votes: BTreeMap::new() };
    let others = granted(session, Epoch(3), peer(2)).proof;
    for proof in [votes, Proof::Lobby(Signature(b"lobby".to_vec())), others] {
        announce(&mut net, mainstay_migration::Certificate { epoch: Epoch(2), host: peer(2), proof });
        assert_eq!(net.session(peer(3)).stamp(), Stamp::certified(Epoch::FIRST));
    }
    announce(&mut net, granted(session, Epoch(2), peer(2)));
    assert_eq!(net.session(peer(3)).stamp(), Stamp::certified(Epoch(2)));
    // And in a session without a lobby.
    let mut net = Net::of(3);
    announce(&mut net, granted(session, Epoch(2), peer(2)));
    assert_eq!(net.session(peer(3)).stamp(), Stamp::certified(Epoch::FIRST));
}

/// Nobody founds a session with another's certificate, and nobody joins one without any.
#[test]
fn a_session_of_a_lobby_begins_with_its_certificate() {
    let net = of(1);
    let (now, config) = (net.now, net.config.clone());
    let of_another = granted(config.session, Epoch::FIRST, peer(2));
    let founded: Result<Session, Forged> = Session::found_certified(now, config.clone(), &of_another);
    assert_eq!(founded.err(), Some(Forged::Arbiter));
    let view = net.session(peer(1)).view().clone();
    let ballot = Ballot::<Guarded>::new(
        config.arbiter,
        peer(2),
        Root { epoch: Epoch::FIRST, host: peer(1) },
        view,
        &[],
    );
    assert_eq!(ballot.err(), Some(Forged::Arbiter));
}

/// Who has only just come is certified, for no other can be host, before the others hear that it has come: a host goes on once it has heard from
/// all of them what they hold, not once they obey it, and loses nothing of it.
#[test]
fn a_host_that_has_just_come_hears_first_what_the_others_hold() {
    let mut net = of(4);
    (2..=4).for_each(|id| net.give(peer(id), Input::Suitable(CanBeHost::NotYet)));
    net.run(Duration::from_secs(1));
    net.travels = |body| {
        let is_of_crowd = matches!(body, Body::Roster(_) | Body::View(_));
        let is_beat = matches!(body, Body::Beat(_));
        Duration::from_millis(if is_of_crowd { 60_000 } else { 20 + 40 * u64::from(is_beat) })
    };
    net.join(peer(9));
    while !net.peers.contains_key(&peer(9)) {
        net.run(Duration::from_millis(10));
    }
    net.settle_in(peer(9), CanBeHost::Yes);
    net.kill(peer(1));
    let held = net.session(peer(2)).held().id().tick;
    net.run(Duration::from_secs(6));
    assert_eq!(net.host(), peer(9));
    assert!(net.seen[&peer(9)].led_from >= Some(held), "{:?} of {held}", net.seen[&peer(9)].led_from);
}

/// A standby that said nothing for a while is not lost: it holds the newest state, and the new host waits for its next word of that. The game
/// began anew, for the few others had spoken.
#[test]
fn a_new_host_waits_for_who_holds_more_than_it_does() {
    let mut net = Net::under_lobby(5, WithoutMajority::Fork);
    let held = net.session(peer(3)).held().id();
    assert!(held.tick > net.session(peer(4)).held().id().tick);
    net.freeze(peer(3));
    [1, 2].into_iter().for_each(|gone| net.kill(peer(gone)));
    for _ in 0..2_000 {
        if net.session(peer(4)).leader() == peer(4) {
            break;
        }
        net.run(Duration::from_millis(5));
    }
    // The others have answered by then.
    net.run(Duration::from_millis(150));
    net.thaw(peer(3));
    net.run(Duration::from_secs(3));
    assert_eq!((net.host(), net.seen[&peer(4)].led_from), (peer(4), Some(held.tick)));
}
