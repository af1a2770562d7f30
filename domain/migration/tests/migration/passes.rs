//! Who is let in to a session of a lobby: whom its lobby has let in, and nobody else (decision 0053: "a signed pass for peers,
//! which is worth nothing without the private key").

use std::collections::BTreeSet;
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{
    Admission, Body, CanBeHost, Closed, End, Input, MEMBERS_MAX, Message, Output, PASS_PLAYER_BYTES_MAX,
    PeerId, SessionId, Signature, StateId, WithoutMajority,
};

use crate::net::{Net, PASS_LASTS, admitted, peer};

/// Whoever is on the other side of a link that wants in.
const STRANGER: PeerId = PeerId(77);

fn of(count: u128) -> Net {
    Net::under_lobby(count, WithoutMajority::Fork)
}

fn pass(net: &Net, holder: PeerId) -> Admission {
    admitted(net.config.session, holder, (net.now, net.now), net.now + PASS_LASTS)
}

/// What somebody shows who was not let in by the lobby of this session.
fn worthless(net: &Net) -> Vec<(&'static str, Option<Admission>)> {
    let (session, now) = (net.config.session, net.now);
    let until = now + PASS_LASTS;
    let own = pass(net, STRANGER);
    let changed = |change: &dyn Fn(&mut Admission)| {
        let mut changed = own.clone();
        change(&mut changed);
        Some(changed)
    };
    vec![
        ("nothing", None),
        ("another's", Some(pass(net, peer(2)))),
        ("one of another session", Some(admitted(SessionId(session.0 + 1), STRANGER, (now, now), until))),
        ("one that lasts longer than was signed", changed(&|it| it.pass.expires = until + PASS_LASTS)),
        ("one of another player", changed(&|it| it.pass.player = b"eve".to_vec())),
        ("one that nobody signed", changed(&|it| it.pass.signature = Signature::default())),
        ("one of endless length", changed(&|it| it.pass.player = vec![0; PASS_PLAYER_BYTES_MAX + 1])),
    ]
}

#[test]
fn nobody_comes_in_without_a_pass_of_this_session_for_its_own_key() {
    let mut net = of(3);
    for (what, shown) in worthless(&net) {
        net.join_with(STRANGER, shown);
        net.run(Duration::from_secs(1));
        assert_eq!(net.refused.remove(&STRANGER), Some(Closed::NoPass), "{what}");
        assert!(net.peers.values().all(|it| !it.roster().members.contains_key(&STRANGER)), "{what}");
    }
    net.join_with(STRANGER, Some(pass(&net, STRANGER)));
    net.run(Duration::from_secs(1));
    assert!(net.session(peer(1)).roster().members.contains_key(&STRANGER), "with its own it is in");
}

/// A member that is not the host would send it there: without a pass it is not told where that is.
#[test]
fn no_member_tells_a_stranger_who_is_host() {
    let mut net = of(3);
    let host = net.peers.remove(&peer(1)).unwrap();
    net.join_with(STRANGER, None);
    net.run(Duration::from_millis(200));
    net.peers.insert(peer(1), host);
    assert_eq!(net.refused.remove(&STRANGER), Some(Closed::NoPass));
}

#[test]
fn a_pass_that_has_run_out_lets_nobody_in_and_a_new_one_does() {
    let mut net = of(2);
    let lasts = Duration::from_secs(2);
    let admission = admitted(net.config.session, STRANGER, (net.now, net.now), net.now + lasts);
    net.run(lasts);
    net.join_with(STRANGER, Some(admission));
    net.run(Duration::from_secs(1));
    assert_eq!(net.refused.remove(&STRANGER), Some(Closed::PassExpired));
    net.join(STRANGER);
    net.run(Duration::from_secs(1));
    assert!(net.peers.contains_key(&STRANGER));
}

/// Passes are measured by the lobby's clock, which is an hour and a half before every peer's: each learnt it when it came in, and a
/// host for which nobody told it lets nobody in.
#[test]
fn a_pass_runs_out_by_the_lobbys_clock() {
    let mut net = of(1);
    let of_lobby = |now: Timestamp| now + Duration::from_secs(5_400);
    let as_of = of_lobby(net.now);
    let told = admitted(net.config.session, peer(1), (as_of, net.now), as_of + PASS_LASTS);
    net.give(peer(1), Input::Admitted(told));
    net.run(Duration::from_secs(60));
    net.join(STRANGER);
    net.run(Duration::from_secs(1));
    assert_eq!(
        net.refused.remove(&STRANGER),
        Some(Closed::PassExpired),
        "it is one by the peers' clock alone"
    );
    let as_of = of_lobby(net.now);
    let told = admitted(net.config.session, STRANGER, (as_of, net.now), as_of + PASS_LASTS);
    net.join_with(STRANGER, Some(told));
    net.run(Duration::from_secs(1));
    assert!(net.peers.contains_key(&STRANGER));
}

/// However long it took to come in: the clock goes on from when the lobby let it in.
#[test]
fn the_way_in_counts() {
    let mut net = of(1);
    let (session, now) = (net.config.session, net.now);
    net.cut_both(peer(1), peer(2));
    net.join(peer(2));
    net.run(Duration::from_secs(10));
    net.cut.clear();
    net.run(Duration::from_secs(1));
    net.settle_in(peer(2), CanBeHost::Yes);
    net.run(Duration::from_secs(1));
    net.kill(peer(1));
    net.run(Duration::from_secs(6));
    assert_eq!(net.host(), peer(2));
    let until = net.now;
    net.join_with(STRANGER, Some(admitted(session, STRANGER, (now, now), until)));
    net.run(Duration::from_secs(1));
    assert_eq!(net.refused.remove(&STRANGER), Some(Closed::PassExpired));
}

/// A kick outlives the host that did it, and a pass that was given before it (I7).
#[test]
fn who_was_thrown_out_does_not_come_back_with_its_old_pass() {
    let mut net = of(4);
    let old = pass(&net, peer(4));
    net.give(peer(1), Input::Kick(peer(4)));
    net.run(Duration::from_secs(3));
    net.peers.remove(&peer(4));
    for _ in ["its own host", "the next one"] {
        net.join_with(peer(4), Some(old.clone()));
        net.run(Duration::from_secs(2));
        assert_eq!(net.refused.remove(&peer(4)), Some(Closed::Kicked));
        net.kill(peer(1));
        net.run(Duration::from_secs(8));
        assert_eq!(net.host(), peer(2));
    }
}

/// Who was thrown out may read so in the list of who plays before it hears the word, or where that is lost: then it is out, and could not be host (I7).
#[test]
fn who_reads_that_it_was_thrown_out_is_out() {
    let out = Output::Ended(End::Refused(Closed::Kicked));
    for mut net in [of(3), Net::of(3)] {
        net.travels =
            |body| Duration::from_millis(if matches!(body, Body::Refused(_)) { 60_000 } else { 20 });
        net.give(peer(1), Input::Kick(peer(2)));
        net.run(Duration::from_millis(100));
        assert!(net.seen[&peer(2)].outputs.contains(&out));
    }
}

/// More than are remembered would be forgotten: then nobody new comes in, with whatever pass.
#[test]
fn a_session_that_can_remember_no_more_kicks_is_closed() {
    for mut net in [of(1), Net::of(1)] {
        for number in 0..=MEMBERS_MAX as u128 {
            net.give(peer(1), Input::Kick(peer(1_000 + number)));
        }
        net.run(Duration::from_secs(1));
        for wants in [peer(1_000), STRANGER] {
            net.join(wants);
            net.run(Duration::from_secs(4));
            assert_eq!(net.refused.remove(&wants), Some(Closed::Full), "{wants}");
        }
    }
}

/// It was away for longer than a member may be, and its pass lets it in again.
#[test]
fn a_member_that_was_away_comes_in_again() {
    let mut net = of(3);
    net.freeze(peer(3));
    net.run(Duration::from_secs(10));
    assert!(!net.session(peer(1)).roster().members.contains_key(&peer(3)));
    net.thaw(peer(3));
    net.run(Duration::from_secs(3));
    assert!(net.session(peer(1)).roster().members.contains_key(&peer(3)));
}

/// Nor does a stranger get the game of a session by asking for it: under a lobby or without one.
#[test]
fn a_strangers_pull_is_not_answered() {
    for mut net in [of(2), Net::of(2)] {
        net.run(Duration::from_secs(1));
        let state = net.session(peer(1)).held().id();
        assert_ne!(state, StateId::NONE);
        for (asks, is_answered) in [(STRANGER, false), (peer(2), true)] {
            let stamp = net.session(peer(2)).stamp();
            let message = Message { session: net.config.session, stamp, body: Body::Pull(StateId::NONE) };
            let now = net.now;
            let host = net.peers.get_mut(&peer(1)).unwrap();
            host.handle(now, Input::Message { from: asks, message });
            let sent = |output: &Output| matches!(output, Output::Send { to, message } if *to == asks && matches!(message.body, Body::State(_)));
            assert_eq!(host.take_outputs().iter().any(sent), is_answered, "{asks}");
        }
    }
}

/// Its player starts the game again: the lobby has let the other process in, and the pass of this one lasts. The host is told by its lobby and puts
/// it out; it may come again once its player is not here with another any more.
#[test]
fn a_process_whose_player_is_here_with_another_plays_no_more() {
    let mut net = of(3);
    let plays = |net: &Net| net.session(peer(1)).roster().members.contains_key(&peer(3));
    net.give(peer(1), Input::Replaced(BTreeSet::from([peer(3)])));
    net.run(Duration::from_secs(1));
    let ended = Output::Ended(End::Refused(Closed::Replaced));
    assert!(!plays(&net) && net.seen[&peer(3)].outputs.contains(&ended));
    assert!(!net.seen[&peer(2)].outputs.iter().any(|output| matches!(output, Output::Ended(_))));
    net.peers.remove(&peer(3));
    net.join(peer(3));
    net.run(Duration::from_secs(1));
    assert_eq!((net.refused.remove(&peer(3)), plays(&net)), (Some(Closed::Replaced), false));
    net.give(peer(1), Input::Replaced(BTreeSet::new()));
    net.join(peer(3));
    net.run(Duration::from_secs(1));
    assert!(plays(&net));
}
