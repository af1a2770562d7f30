//! The game as it goes along: its chain, who holds it, what is acknowledged, and inputs that are applied once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mainstay_migration::{
    Ancestor, Body, CanBeHost, Descent, Epoch, Excerpt, Handover, Input, Kind, Level, Message, Output,
    PARTS_MAX, PLAYERS_MAX, Part, PeerId, Piece, STATE_BYTES_MAX, Signature, Stamp, State, StateError,
    StateHash, StateId, Taken, Tick,
};

use crate::joins::step_until;
use crate::net::{Net, peer, snapshot};

fn piece(tick: u64, kind: Kind, bytes: &[u8]) -> Piece {
    Piece { tick: Tick(tick), kind, bytes: bytes.to_vec() }
}

fn written(stamp: Stamp, pieces: &[Piece]) -> State {
    let mut state = State::default();
    for piece in pieces {
        state.write(stamp, piece.clone(), Arc::default()).unwrap();
    }
    state
}

fn parts(parts: &[Arc<Part>]) -> Excerpt {
    Excerpt { parts: parts.to_vec(), seal: Signature(b"seal".to_vec()) }
}

const FIRST: Stamp = Stamp::certified(Epoch::FIRST);

#[test]
fn a_chain_begins_with_a_snapshot_and_goes_on() {
    let mut state = State::default();
    assert_eq!(state.write(FIRST, piece(1, Kind::Delta, b"a"), Arc::default()), Err(StateError::NoSnapshot));
    let state = written(FIRST, &[piece(1, Kind::Snapshot, b"a"), piece(2, Kind::Delta, b"b")]);
    assert_eq!(state.parts().len(), 2);
    assert_eq!(state.parts()[1].previous, state.parts()[0].id.hash);
    assert_eq!((state.id().number, state.id().tick), (2, Tick(2)));
    let mut state = state;
    assert!(matches!(
        state.write(FIRST, piece(1, Kind::Delta, b""), Arc::default()),
        Err(StateError::Earlier { given: Tick(1), newest: Tick(2) })
    ));
    let long = vec![0; STATE_BYTES_MAX - 1];
    assert!(matches!(
        state.write(FIRST, piece(3, Kind::Delta, &long), Arc::default()),
        Err(StateError::TooLong { .. })
    ));
    let before = state.id();
    state.write(FIRST, piece(3, Kind::Snapshot, &long), Arc::default()).unwrap();
    assert_eq!((state.parts().len(), state.parts()[0].previous), (1, before.hash), "the chain goes on");
    for number in 0..PARTS_MAX as u64 {
        let last = state.write(FIRST, piece(4 + number, Kind::Delta, b""), Arc::default()).is_ok();
        assert_eq!(last, number + 1 < PARTS_MAX as u64);
    }
}

/// The same parts have the same names everywhere.
#[test]
fn names_of_states_are_golden() {
    let inputs = BTreeMap::from([(peer(7), 3)]).into();
    let mut state = State::default();
    state.write(FIRST, piece(1, Kind::Snapshot, b"game"), inputs).unwrap();
    assert_eq!(state.id().hash, StateHash(GOLDEN));
    state.write(Stamp { fork: 1, ..FIRST }, piece(2, Kind::Delta, b"side"), Arc::default()).unwrap();
    assert_eq!(state.id().hash, StateHash(GOLDEN_OF_SIDE));
}

/// SHA-256 of the words in `Part::reckon`, reckoned once by another program.
const GOLDEN_OF_SIDE: u128 = 0x58f1_0066_4e02_8213_f7e8_1f47_6fd6_cc9e;
const GOLDEN: u128 = 0xb37e_7e97_507b_0467_0fe1_ae3f_b144_e350;

#[test]
fn a_standby_takes_what_follows_and_nothing_else() {
    let pieces: Vec<Piece> =
        (1..=4).map(|tick| piece(tick, if tick == 1 { Kind::Snapshot } else { Kind::Delta }, &[7])).collect();
    let host = written(FIRST, &pieces);
    let good = |_: StateId, seal: &Signature| seal.0 == b"seal";
    let mut standby = State::default();
    let lacks = parts(&host.parts()[1..]);
    assert_eq!(
        standby.take(&lacks, good),
        Taken::Early,
        "what changed since something that it does not have"
    );
    assert_eq!(standby.take(&parts(&host.parts()[..2]), good), Taken::Newer);
    assert_eq!(standby.take(&parts(&host.parts()[3..]), good), Taken::Early, "one is missing between");
    let gap = [&host.parts()[2..3], &host.parts()[..1]].concat();
    assert_eq!(
        standby.take(&parts(&gap), good),
        Taken::NoNews,
        "the seal is of the last, which is not taken"
    );
    assert_eq!(standby.take(&parts(&host.parts()[1..]), good), Taken::Newer);
    assert_eq!(standby.parts(), host.parts());
    assert_eq!(standby.after(StateId::NONE), parts(host.parts()), "and can show whose it is");
    assert_eq!(standby.take(&parts(host.parts()), good), Taken::NoNews, "again is no news");
    let mut edited = host.parts().to_vec();
    Arc::make_mut(&mut edited[0]).bytes = b"my score".to_vec();
    assert_eq!(State::default().take(&parts(&edited[..1]), good), Taken::Forged, "its name is not its own");
    let mut renamed = host.parts().to_vec();
    Arc::make_mut(&mut Arc::make_mut(&mut renamed[0]).inputs).insert(peer(1), 9);
    assert_eq!(State::default().take(&parts(&renamed[..1]), good), Taken::Forged);
    let unsigned = Excerpt { seal: Signature::default(), ..parts(host.parts()) };
    assert_eq!(State::default().take(&unsigned, good), Taken::Forged, "nobody shows who wrote it");
}

/// Sixty-four who play are a kilobyte and a half in each of twenty states a second: a part names who did something since the one before.
#[test]
fn a_part_names_those_whose_inputs_came_with_it() {
    let of = |all: &[(u128, u64)]| Arc::new(all.iter().map(|(id, number)| (peer(*id), *number)).collect());
    let good = |_: StateId, _: &Signature| true;
    let mut host = State::default();
    for (tick, kind, inputs) in [
        (1, Kind::Snapshot, of(&[(1, 5), (2, 7)])),
        (2, Kind::Delta, of(&[(1, 6), (2, 7)])),
        (3, Kind::Event, of(&[(1, 6), (3, 1)])),
    ] {
        host.write(FIRST, piece(tick, kind, b""), Arc::clone(&inputs)).unwrap();
        assert_eq!(host.inputs(), inputs);
    }
    let named: Vec<_> = host.parts().iter().map(|part| Arc::clone(&part.inputs)).collect();
    assert_eq!(named, [of(&[(1, 5), (2, 7)]), of(&[(1, 6)]), of(&[(2, 0), (3, 1)])], "0: it is forgotten");
    let mut standby = State::default();
    for count in [1, 3] {
        assert_eq!(standby.take(&parts(&host.parts()[..count]), good), Taken::Newer);
        let all = if count == 1 { of(&[(1, 5), (2, 7)]) } else { host.inputs() };
        assert_eq!(standby.inputs(), all, "{count}");
    }
    let last = of(&[(3, 2)]);
    host.write(FIRST, piece(4, Kind::Snapshot, b""), Arc::clone(&last)).unwrap();
    assert_eq!(standby.take(&parts(host.parts()), good), Taken::Newer);
    assert_eq!((standby.inputs(), standby.parts()), (last, host.parts()), "a snapshot names all there are");
}

/// Nobody makes another keep more than a state may name, a few with each part.
#[test]
fn a_state_that_names_too_many_is_not_taken() {
    let all = |count: usize| Arc::new((0..count as u128).map(|id| (peer(id), 1)).collect());
    let mut host = State::default();
    host.write(FIRST, piece(1, Kind::Snapshot, b""), all(PLAYERS_MAX)).unwrap();
    host.write(FIRST, piece(2, Kind::Delta, b""), all(PLAYERS_MAX + 1)).unwrap();
    assert_eq!(State::default().take(&parts(host.parts()), |_, _| true), Taken::NoNews);
}

/// A session whose games give what a test has them give, and of whose host all standbys hold a first state; and what its host gives next.
fn idle(players: u128) -> (Net, impl Fn(u64) -> Input) {
    let mut net = Net::of(players);
    net.idle = true;
    net.run(Duration::from_millis(500));
    let before = net.session(peer(1)).held().id().tick.0;
    net.give(peer(1), Input::State(piece(before + 1, Kind::Snapshot, b"helm")));
    net.run(Duration::from_millis(500));
    (net, move |at| Input::State(piece(before + at, Kind::Delta, b"helm")))
}

/// Seed 000: "sufficient information to be able to perform a migration". A part that is lost comes a round trip or two after those that were sent later: with it
/// all of them are held, and nobody sends them anew.
#[test]
fn what_overtakes_a_part_is_held_once_that_has_come() {
    let (mut net, next) = idle(3);
    let before = net.session(peer(1)).held().id();
    net.overheard = Some(Vec::new());
    net.travels = |_| Duration::from_millis(150);
    net.give(peer(1), next(2));
    net.travels = |_| Duration::from_millis(20);
    for at in 3..=6 {
        net.give(peer(1), next(at));
        net.run(Duration::from_millis(25));
        assert_eq!(net.session(peer(2)).held().id(), before, "they wait");
    }
    net.run(Duration::from_millis(75));
    for standby in [2, 3] {
        assert_eq!(net.session(peer(standby)).held().id(), net.session(peer(1)).held().id());
    }
    let to_one = |(_, to, message): &&(PeerId, PeerId, Message)| {
        *to == peer(2) && matches!(message.body, Body::State(_))
    };
    assert_eq!(net.overheard.unwrap().iter().filter(to_one).count(), 5, "each once");
}

/// What a host that is one no more has sent early follows on nothing that the next one gives, who never held it.
#[test]
fn what_waits_of_one_host_is_not_taken_for_anothers() {
    // Of what the next one has written the first is lost, and what comes after it overtakes what it gives.
    for written in [vec![], vec![3, 4]] {
        let (mut net, next) = idle(4);
        let first = net.session(peer(1)).held().id();
        for (at, lost_to) in [(2, 3), (3, 2)] {
            net.cut_both(peer(1), peer(lost_to));
            net.give(peer(1), next(at));
            net.cut.clear();
        }
        net.run(Duration::from_millis(25));
        net.kill(peer(1));
        // What it sends by itself is not waited for.
        net.travels = |body| Duration::from_millis(if matches!(body, Body::State(_)) { 60_000 } else { 20 });
        step_until(&mut net, |net| {
            net.seen[&peer(2)].led_from.is_some() && net.session(peer(3)).leader() == peer(2)
        });
        net.travels = |_| Duration::from_millis(20);
        let opened = net.session(peer(2)).held().clone();
        assert_eq!((opened.parts().len(), net.session(peer(3)).held().id()), (2, first));
        net.cut_both(peer(2), peer(3));
        for at in written {
            net.give(peer(2), next(at));
            net.cut.clear();
        }
        net.cut.clear();
        net.run(Duration::from_millis(25));
        net.say(peer(2), peer(3), Body::State(opened.after(first)));
        assert_eq!(net.session(peer(3)).held().id(), opened.id(), "and nothing else");
        net.run(Duration::from_secs(1));
        assert_eq!(net.session(peer(3)).held().id(), net.session(peer(2)).held().id());
    }
}

/// Those of a later host are newer, whatever their tick: nobody goes back to what an earlier one did beside it.
#[test]
fn a_later_hosts_state_is_newer() {
    let old = written(FIRST, &[piece(100, Kind::Snapshot, b"")]);
    let new = written(Stamp::certified(Epoch(2)), &[piece(98, Kind::Snapshot, b"")]);
    assert!(new.id() > old.id());
    let mut held = old.clone();
    let anybody = |_: StateId, _: &Signature| true;
    assert_eq!(held.take(&new.after(StateId::NONE), anybody), Taken::Newer);
    assert_eq!(held.take(&old.after(StateId::NONE), anybody), Taken::NoNews);
}

/// A state of a side names the newest certified one that it goes back to, however many hosts the side has had and whatever its game gives, and a session goes on
/// from the greater of two by that (decision 0062).
#[test]
fn a_state_of_a_side_names_what_it_goes_back_to() {
    let side = |fork| Stamp { epoch: Epoch::FIRST, fork };
    let early = written(FIRST, &[piece(1, Kind::Snapshot, b"map")]);
    let mut later = early.clone();
    later.write(FIRST, piece(2, Kind::Delta, b"door"), Arc::default()).unwrap();
    let mut of_side = early.clone();
    for (fork, kind) in [(1, Kind::Delta), (1, Kind::Snapshot), (3, Kind::Event)] {
        of_side.write(side(fork), piece(u64::from(fork), kind, b"gate"), Arc::default()).unwrap();
        assert_eq!(of_side.descent(), Descent::of(of_side.id(), early.descent().ancestor()));
        assert_eq!(of_side.after(StateId::NONE).descent(), of_side.descent());
    }
    assert!(of_side.id() > later.id() && of_side.descent() < later.descent());
    assert!(of_side.descent() > early.descent(), "it goes on from that");
    let mut of_both = later.clone();
    of_both.write(side(1), piece(3, Kind::Delta, b"gate"), Arc::default()).unwrap();
    assert!(of_both.id() < of_side.id() && of_both.descent() > of_side.descent());
    of_side.write(Stamp::certified(Epoch(2)), piece(4, Kind::Delta, b"gate"), Arc::default()).unwrap();
    assert_eq!(of_side.descent().ancestor(), Ancestor::itself(of_side.id()), "it is certified");
    let seal = |_: StateId, _: &Signature| true;
    let mut edited = of_both.after(StateId::NONE);
    Arc::make_mut(&mut edited.parts[2]).ancestor = early.descent().ancestor();
    assert_eq!(
        State::default().take(&edited, seal),
        Taken::Forged,
        "its writer has signed what it goes back to"
    );
    Arc::make_mut(&mut edited.parts[2]).ancestor = later.descent().ancestor();
    assert_eq!(State::default().take(&edited, seal), Taken::Newer);
    Arc::make_mut(&mut edited.parts[0]).ancestor = early.descent().ancestor();
    assert_eq!(State::default().take(&edited, seal), Taken::Forged, "what is certified has none");
}

/// Seed 000: "multi-migration". Whoever led a side that was lost holds higher names than those the others' chain begins with, and
/// follows it all the same.
#[test]
fn who_held_a_lost_sides_state_takes_the_others() {
    let pieces = [piece(1, Kind::Snapshot, b"map"), piece(2, Kind::Delta, b"door")];
    let mut winner = written(Stamp::certified(Epoch(1)), &pieces[..1]);
    let mut loser = winner.clone();
    loser.write(Stamp { epoch: Epoch(1), fork: 1 }, pieces[1].clone(), Arc::default()).unwrap();
    winner.write(Stamp::certified(Epoch(2)), pieces[1].clone(), Arc::default()).unwrap();
    let sent = winner.after(loser.id());
    assert_eq!(loser.take(&sent, |_, _| true), Taken::Newer);
    assert_eq!(loser.id(), winner.id());
}

/// *Acknowledged* is what the host holds and min(2, standbys) others, however many others only play.
#[test]
fn acknowledged_is_what_the_standbys_hold() {
    let mut net = Net::of(5);
    for id in 3..=5 {
        net.give(peer(id), Input::Suitable(CanBeHost::NotYet));
    }
    net.run(Duration::from_secs(1));
    let durable = |net: &Net| {
        let outputs = net.seen[&peer(1)].outputs.iter().rev();
        outputs.into_iter().find_map(|it| if let Output::Durable(id) = it { Some(*id) } else { None })
    };
    let before = durable(&net).unwrap();
    net.run(Duration::from_secs(1));
    let after = durable(&net).unwrap();
    assert!(
        after.tick.0 >= before.tick.0 + 8,
        "one standby is enough where there is one: {before:?} {after:?}"
    );
    let held = net.session(peer(2)).held().id();
    assert!(held.tick >= after.tick, "and it holds that");
    net.cut_both(peer(1), peer(2));
    net.run(Duration::from_millis(600));
    let stuck = durable(&net).unwrap();
    net.run(Duration::from_millis(150));
    assert_eq!(
        durable(&net).unwrap(),
        stuck,
        "while it is not known to be lost, nothing is acknowledged without it"
    );
}

/// I9: "none while one holder of it lives". Of the two that hold what was acknowledged one dies with the host, and the other cannot be host any more: the
/// next one fetches it, however long it is on its way.
#[test]
fn a_new_host_waits_for_what_somebody_holds_who_lives() {
    for on_its_way in [300, 2_500, 4_500] {
        let mut net = Net::of(7);
        net.run(Duration::from_secs(1));
        net.idle = true;
        net.run(Duration::from_secs(1));
        let acknowledged = net.session(peer(1)).held().id();
        assert!(net.seen[&peer(1)].outputs.contains(&Output::Durable(acknowledged)));
        assert!([2, 3].iter().all(|id| net.session(peer(*id)).held().id() == acknowledged));
        net.kill(peer(1));
        net.kill(peer(2));
        net.give(peer(3), Input::Suitable(CanBeHost::NotYet));
        net.run(Duration::from_millis(500));
        let before = net.session(peer(4)).held().id();
        assert!(before < acknowledged, "{before:?}");
        net.travels = match on_its_way {
            300 => |body| Duration::from_millis(if matches!(body, Body::State(_)) { 300 } else { 20 }),
            2_500 => |body| Duration::from_millis(if matches!(body, Body::State(_)) { 2_500 } else { 20 }),
            _ => |body| Duration::from_millis(if matches!(body, Body::State(_)) { 4_500 } else { 20 }),
        };
        net.run(Duration::from_secs(9));
        let leads = |output: &Output| {
            if let Output::Lead { state, .. } = output { Some(state.holds(acknowledged)) } else { None }
        };
        let led: Vec<bool> = net.seen[&peer(4)].outputs.iter().filter_map(leads).collect();
        assert_eq!(led, [true], "{on_its_way} ms");
    }
}

/// And five seconds at most: what never comes holds the game up no longer.
#[test]
fn a_new_host_waits_five_seconds_for_what_never_comes() {
    let mut net = Net::of(3);
    net.cut.insert((peer(1), peer(2)));
    net.run(Duration::from_millis(300));
    net.kill(peer(1));
    net.travels = |body| Duration::from_millis(if matches!(body, Body::State(_)) { 60_000 } else { 20 });
    step_until(&mut net, |net| net.session(peer(2)).is_host());
    let elected = net.now;
    step_until(&mut net, |net| net.seen[&peer(2)].outputs.iter().any(|it| matches!(it, Output::Lead { .. })));
    let took = net.now.since(elected);
    assert!(took >= Duration::from_millis(4_950) && took < Duration::from_millis(5_200), "{took:?}");
}

/// Level none: "whatever the new host had replicated".
#[test]
fn at_level_none_nothing_is_sent() {
    let mut net = Net::at_level(3, Level::None);
    net.run(Duration::from_secs(2));
    assert_eq!(net.session(peer(2)).held().id(), StateId::NONE);
    net.kill(peer(1));
    net.run(Duration::from_secs(3));
    assert_eq!((net.host(), net.seen[&peer(2)].led_from), (peer(2), None));
}

/// "A new host goes on from what it has as a client": also one that was host before, and gave a state then, and one that another hands its session to.
#[test]
fn at_level_none_a_host_goes_on_from_what_it_has() {
    let mut net = Net::at_level(3, Level::None);
    net.travels = |body| {
        assert!(!matches!(body, Body::State(_) | Body::Pull(_)), "{body:?}");
        Duration::from_millis(20)
    };
    net.run(Duration::from_secs(1));
    for (host, next) in [(1, 2), (2, 1)] {
        let tick = net.session(peer(host)).held().id().tick;
        let last = piece(tick.0, Kind::Snapshot, b"the last");
        net.give(peer(host), Input::HandOver { to: Some(peer(next)), why: Handover::Lobby, last });
        net.run(Duration::from_secs(2));
        assert_eq!(net.host(), peer(next));
        assert_eq!(
            net.session(peer(host)).held().id(),
            StateId::NONE,
            "what it gave as host is of no use any more"
        );
        let mut led = net.seen[&peer(next)].outputs.iter().filter_map(|it| {
            let Output::Lead { state, .. } = it else { return None };
            Some(state.id())
        });
        assert_eq!(led.next_back(), Some(StateId::NONE), "{next}");
    }
}

/// "*Acknowledged* is held by the host and min(2, standbys) others": nobody holds anything there, so nothing is. Yet no member keeps what the host's
/// game has done: the next host would do it a second time.
#[test]
fn at_level_none_nothing_is_durable_and_no_deed_is_kept_that_was_done() {
    let mut net = Net::at_level(3, Level::None);
    net.run(Duration::from_secs(1));
    for number in 0..200_u8 {
        net.give(peer(3), Input::Play(vec![number]));
        net.run(Duration::from_millis(50));
    }
    let applied = |net: &Net, host| {
        let outputs = net.seen[&peer(host)].outputs.iter();
        outputs.filter(|it| matches!(it, Output::Apply { .. })).count()
    };
    assert_eq!(applied(&net, 1), 200);
    assert!(net.session(peer(3)).kept().inputs < 10, "{:?}", net.session(peer(3)).kept());
    let durable =
        |net: &Net| net.seen.values().any(|it| it.outputs.iter().any(|it| matches!(it, Output::Durable(_))));
    assert!(!durable(&net));
    net.kill(peer(1));
    net.run(Duration::from_secs(3));
    net.give(peer(3), Input::Play(vec![200]));
    net.run(Duration::from_secs(1));
    assert_eq!(net.host(), peer(2));
    assert!((1..10).contains(&applied(&net, 2)), "{}", applied(&net, 2));
    assert!(!durable(&net));
}

/// A game may have given two more pieces before it hears that one was not taken: what changed since a state that nobody holds is none.
#[test]
fn nothing_follows_on_a_piece_that_was_not_taken_but_a_snapshot() {
    let too_long = vec![0; STATE_BYTES_MAX];
    let missed: [fn(&[u8], Tick) -> Input; 3] = [
        |_, _| Input::StateMissed,
        |too_long, tick| Input::State(piece(tick.0, Kind::Delta, too_long)),
        |_, _| Input::State(piece(0, Kind::Delta, b"earlier")),
    ];
    for misses in missed {
        let mut net = Net::of(3);
        net.run(Duration::from_secs(1));
        let before = net.session(peer(1)).held().id();
        let (tick, host) = (before.tick, peer(1));
        let refused = |net: &Net| {
            let refusals = net.seen[&host].outputs.iter();
            refusals.filter(|it| matches!(it, Output::NotTaken(StateError::Gap))).count()
        };
        net.give(host, misses(&too_long, tick));
        net.give(host, Input::State(piece(tick.0, Kind::Delta, b"changed")));
        net.give(host, Input::State(piece(tick.0, Kind::Event, b"loot")));
        assert_eq!((refused(&net), net.session(host).held().id()), (2, before));
        net.give(host, Input::State(piece(tick.0, Kind::Snapshot, b"all")));
        net.give(host, Input::State(piece(tick.0, Kind::Delta, b"changed")));
        assert_eq!((refused(&net), net.session(host).held().id().number), (2, before.number + 2));
    }
}

/// "clients replay inputs the snapshot does not hold": what a member did around a crash is applied once, in its order, and all
/// of it.
#[test]
fn inputs_are_applied_once_whoever_is_host() {
    let mut net = Net::of(4);
    for number in 0..60_u8 {
        if number == 20 {
            net.kill(peer(1));
        }
        net.give(peer(3), Input::Play(vec![number]));
        net.run(Duration::from_millis(50));
    }
    net.run(Duration::from_secs(2));
    assert_eq!(net.host(), peer(2));
    let of_three = |id| {
        let applied = net.seen[&peer(id)].applied.iter().filter(|(from, _)| *from == peer(3));
        applied.map(|(_, number)| *number).collect::<Vec<u64>>()
    };
    let (first, second) = (of_three(1), of_three(2));
    assert_eq!(first, (1..=first.len() as u64).collect::<Vec<_>>());
    let resumed = *second.first().unwrap();
    assert!(
        resumed >= 2 && resumed <= first.len() as u64 + 1,
        "the state held a part of what was applied: {resumed}"
    );
    assert_eq!(second, (resumed..=60).collect::<Vec<_>>(), "and the rest was said again");
}

/// The host plays, too, and becomes a client; none of what it did is lost on a planned leave (I15).
#[test]
fn inputs_survive_a_lobby_migration() {
    let mut net = Net::of(3);
    for number in 0..30_u8 {
        if number == 10 {
            let last = snapshot(net.seen[&peer(1)].tick);
            let why = mainstay_migration::Handover::Lobby;
            net.give(peer(1), Input::HandOver { to: Some(peer(2)), why, last });
        }
        for id in 1..=3 {
            net.give(peer(id), Input::Play(vec![number]));
        }
        net.run(Duration::from_millis(30));
    }
    net.run(Duration::from_secs(2));
    assert_eq!(net.host(), peer(2));
    for id in 1..=3 {
        let of = |host| {
            let applied = net.seen[&peer(host)].applied.iter().filter(|(from, _)| *from == peer(id));
            applied.map(|(_, number)| *number).collect::<Vec<u64>>()
        };
        let all = [of(1), of(2)].concat();
        assert_eq!(all, (1..=30).collect::<Vec<u64>>(), "{id}");
    }
}

fn applied(net: &Net, host: u128, player: u128) -> Vec<u64> {
    let applied = net.seen[&peer(host)].applied.iter().filter(|(from, _)| *from == peer(player));
    applied.map(|(_, number)| *number).collect()
}

/// "clients replay inputs", and none is lost where nothing but the line is wrong: each travels by itself, so one may be lost, and
/// later ones may overtake it.
#[test]
fn inputs_come_in_order_and_all_of_them_on_a_line_that_loses_and_reorders() {
    let mut net = Net::of(3);
    net.travels = |body| {
        let turn = if let Body::Play { number, .. } = body { number % 4 } else { 0 };
        Duration::from_millis(20 + turn * 30)
    };
    for number in 1..=200_u8 {
        let is_lost = number % 7 == 0 || number == 200;
        if is_lost {
            net.cut.insert((peer(3), peer(1)));
        }
        net.give(peer(3), Input::Play(vec![number]));
        net.cut.clear();
        net.run(Duration::from_millis(20));
    }
    net.run(Duration::from_secs(1));
    assert_eq!(applied(&net, 1, 3), (1..=200).collect::<Vec<_>>());
}

/// What is done at once, or while nobody hears it, is said as fast as a link takes it, and not all at once.
#[test]
fn a_burst_of_inputs_is_said_in_portions() {
    let mut net = Net::of(3);
    let before = net.sent;
    for number in 0..400_u16 {
        net.give(peer(3), Input::Play(number.to_be_bytes().to_vec()));
    }
    assert!((1..64).contains(&(net.sent - before)), "{}", net.sent - before);
    net.run(Duration::from_secs(4));
    assert_eq!(applied(&net, 1, 3), (1..=400).collect::<Vec<_>>());
}

/// A host whose successor does not come goes on, and has not heard what was done while it stood still.
#[test]
fn inputs_of_a_handover_that_failed_are_said_again() {
    let mut net = Net::of(3);
    let last = snapshot(net.seen[&peer(1)].tick);
    net.travels = |body| Duration::from_millis(if matches!(body, Body::State(_)) { 60_000 } else { 20 });
    let why = mainstay_migration::Handover::Lobby;
    net.give(peer(1), Input::HandOver { to: Some(peer(2)), why, last });
    for number in 0..40_u8 {
        for id in [1, 3] {
            net.give(peer(id), Input::Play(vec![number]));
        }
        net.run(Duration::from_millis(100));
    }
    net.run(Duration::from_secs(1));
    assert_eq!(net.host(), peer(1), "it keeps its session");
    for id in [1, 3] {
        assert_eq!(applied(&net, 1, id), (1..=40).collect::<Vec<_>>(), "{id}");
    }
}

/// Whoever leaves and comes back is the same peer: what it does is counted on, and is not taken for what it did before.
#[test]
fn who_comes_back_is_heard() {
    let mut net = Net::of(3);
    let play = |net: &mut Net| {
        for number in 0..10_u8 {
            net.give(peer(3), Input::Play(vec![number]));
            net.run(Duration::from_millis(50));
        }
    };
    play(&mut net);
    net.run(Duration::from_millis(500));
    net.give(peer(3), Input::Leave);
    net.kill(peer(3));
    net.run(Duration::from_secs(2));
    net.join(peer(3));
    net.run(Duration::from_secs(1));
    play(&mut net);
    net.run(Duration::from_secs(1));
    assert_eq!(applied(&net, 1, 3), (1..=20).collect::<Vec<_>>());
}
