//! What a host may tell, and when: the levels of issue 5.

use std::time::Duration;

use mainstay_migration::{
    Body, CanBeHost, Claim, Epoch, Input, Kind, Level, Output, Piece, Stamp, Standing, Telling, Tick,
};

use crate::joins::step_until;
use crate::net::{Net, peer};

fn piece(tick: Tick, kind: Kind) -> Piece {
    Piece { tick, kind, bytes: b"loot".to_vec() }
}

/// Issue 5: "none, asynchronous (default), durable events, synchronous". What a host says after it gave that waits until it is held.
#[test]
fn levels_say_what_waits_until_it_is_held() {
    // What waits of what is said after an event, and of what is said after something else.
    for (level, event, other) in [
        (Level::None, [false, false], [false, false]),
        (Level::Asynchronous, [false, false], [false, false]),
        (Level::DurableEvents, [true, false], [false, false]),
        (Level::Synchronous, [true, true], [true, true]),
    ] {
        for (kind, expected) in [(Kind::Event, event), (Kind::Delta, other)] {
            let mut net = Net::at_level(3, level);
            net.run(Duration::from_secs(1));
            let tick = net.session(peer(1)).held().id().tick;
            net.give(peer(1), Input::State(piece(tick, kind)));
            let host = net.session(peer(1));
            let id = host.held().id();
            let waits = [Telling::Events, Telling::Standing].map(|telling| host.waits_for(telling));
            assert_eq!(waits, expected.map(|waits| waits.then_some(id)), "{level:?}, {kind:?}");
            assert_eq!(host.may_tell(id), level == Level::None, "nobody else has it");
            net.run(Duration::from_millis(50));
            assert!(net.session(peer(1)).may_tell(id), "a round trip later it is held: {level:?}");
            let later = net.session(peer(1)).waits_for(Telling::Events);
            assert_eq!(later.filter(|later| *later <= id), None, "{level:?}");
        }
    }
}

/// I5: "Minority side never commits durable effects". A host that is cut off with few does not take what it holds alone for held
/// because its standbys are silent: it stands still, and says nothing of it.
#[test]
fn a_host_that_is_cut_off_from_its_standbys_tells_no_event() {
    for level in [Level::DurableEvents, Level::Synchronous] {
        let mut net = Net::that_stands_still(5, level);
        net.give(peer(4), Input::Suitable(CanBeHost::NotYet));
        net.run(Duration::from_secs(1));
        for standby in [2, 3, 5] {
            for near in [1, 4] {
                net.cut_both(peer(near), peer(standby));
            }
        }
        let tick = net.session(peer(1)).held().id().tick;
        net.give(peer(1), Input::State(piece(tick, Kind::Event)));
        let id = net.session(peer(1)).held().id();
        assert_eq!(net.session(peer(1)).waits_for(Telling::Events), Some(id));
        for _ in 0..300 {
            net.run(Duration::from_millis(10));
            assert!(!net.session(peer(1)).may_tell(id), "{level:?}");
        }
        assert_eq!(net.session(peer(2)).stamp(), Stamp::certified(Epoch(2)), "the others have another host");
        assert!(!net.session(peer(2)).held().holds(id), "who never heard of it");
    }
}

/// I5. Who has promised a later epoch hears its host again, and may have made another one meanwhile: by its word alone that host acknowledges nothing after its lease, until
/// it is certified anew.
#[test]
fn whoever_may_have_made_another_host_counts_for_none_of_before() {
    let mut net = Net::at_level(3, Level::Synchronous);
    net.run(Duration::from_secs(1));
    // It is certified anew, and so not again for a while.
    let mut beat = net.beat_of(peer(3));
    beat.promised = Epoch(2);
    net.say(peer(3), peer(1), Body::Beat(beat));
    step_until(&mut net, |net| net.session(peer(3)).stamp() == Stamp::certified(Epoch(3)));
    let cut = net.now;
    net.cut_both(peer(1), peer(2));
    net.cut_both(peer(1), peer(3));
    step_until(&mut net, |net| net.session(peer(3)).shown().contains("promised epoch-4"));
    net.kill(peer(2));
    net.cut.clear();
    let held = |net: &Net| {
        let outputs = net.seen[&peer(1)].outputs.iter();
        outputs
            .filter(|it| matches!(it, Output::Durable(id) if id.stamp == Stamp::certified(Epoch(3))))
            .count()
    };
    while net.now.since(cut) < Duration::from_millis(2_100) {
        net.run(Duration::from_millis(1));
    }
    let before = held(&net);
    net.run(Duration::from_secs(3));
    assert_eq!(held(&net), before, "after its lease");
    assert!(net.session(peer(1)).stamp() > Stamp::certified(Epoch(4)));
    assert_eq!(net.session(peer(1)).standing(), Some(Standing::Confirmed));
}

/// A host that goes on without a majority tells what nobody else holds: no more is promised there. Once a majority is back it promises, and
/// tells only what others hold by then.
#[test]
fn what_a_host_held_alone_is_held_by_others_before_it_tells_of_it_with_a_majority() {
    for level in [Level::DurableEvents, Level::Synchronous] {
        let mut net = Net::at_level(3, level);
        net.run(Duration::from_secs(1));
        for (one, other) in [(1, 2), (1, 3), (2, 3)] {
            net.cut_both(peer(one), peer(other));
        }
        net.run(Duration::from_secs(6));
        assert_eq!(net.session(peer(1)).standing(), Some(Standing::Unconfirmed));
        net.idle = true;
        let tick = net.session(peer(1)).held().id().tick;
        net.give(peer(1), Input::State(piece(tick, Kind::Event)));
        let event = net.session(peer(1)).held().id();
        assert!(net.session(peer(1)).may_tell(event), "{level:?}: nobody else is there");
        net.cut.clear();
        let is_confirmed = |net: &Net| net.session(peer(1)).standing() == Some(Standing::Confirmed);
        assert!((0..5_000).any(|_| {
            net.run(Duration::from_millis(1));
            is_confirmed(&net)
        }));
        assert!((2..=3).all(|id| !net.session(peer(id)).held().holds(event)));
        assert!(!net.session(peer(1)).may_tell(event), "{level:?}");
        net.idle = false;
        net.run(Duration::from_secs(1));
        assert!(net.session(peer(1)).may_tell(event), "{level:?}");
    }
}

/// "An event is told once it is held": one that was not taken is held by nobody, not even by its host.
#[test]
fn what_tells_of_a_piece_that_was_not_taken_waits_for_the_next() {
    for level in [Level::DurableEvents, Level::Synchronous] {
        let mut net = Net::at_level(3, level);
        net.run(Duration::from_secs(1));
        net.give(peer(1), Input::StateMissed);
        let host = net.session(peer(1));
        let (before, waits) = (host.held().id(), host.waits_for(Telling::Events).unwrap());
        assert!(waits > before && !host.may_tell(waits), "{level:?}");
        net.give(peer(1), Input::State(piece(before.tick, Kind::Snapshot)));
        assert!(!net.session(peer(1)).may_tell(waits), "nobody else has it");
        net.run(Duration::from_millis(50));
        assert!(net.session(peer(1)).may_tell(waits), "{level:?}");
    }
}

/// And one that the host before took with it may be held by its successor alone.
#[test]
fn a_new_host_tells_of_no_event_before_a_state_of_its_own_is_held() {
    let mut net = Net::at_level(3, Level::DurableEvents);
    net.run(Duration::from_secs(1));
    net.kill(peer(1));
    let led = (0..5_000).any(|_| {
        net.run(Duration::from_millis(1));
        net.seen[&peer(2)].outputs.iter().any(|it| matches!(it, Output::Lead { .. }))
    });
    assert!(led);
    let waits = net.session(peer(2)).waits_for(Telling::Events);
    net.run(Duration::from_secs(1));
    assert!(waits.is_some_and(|waits| net.session(peer(2)).may_tell(waits)), "{waits:?}");
}

/// A member that doubts its host has that one certified anew: what others hold is of an earlier stamp then, and whatever waits for it would
/// wait until the game happens to give something.
#[test]
fn a_host_that_is_certified_anew_asks_its_game_for_a_state() {
    for level in [Level::DurableEvents, Level::Synchronous] {
        let mut net = Net::at_level(3, level);
        net.run(Duration::from_secs(1));
        net.idle = true;
        // The event is on its way when the other asks for votes.
        net.travels = |body| Duration::from_millis(if matches!(body, Body::State(_)) { 300 } else { 20 });
        let tick = net.session(peer(1)).held().id().tick;
        net.give(peer(1), Input::State(piece(tick, Kind::Event)));
        let event = net.session(peer(1)).held().id();
        let view = net.session(peer(3)).view().clone();
        net.say(peer(3), peer(1), Body::Claim(Claim { epoch: Epoch(2), candidate: peer(3), view }));
        net.run(Duration::from_secs(2));
        let stamp = net.session(peer(1)).stamp();
        assert!((net.host(), stamp.epoch > Epoch(2)) == (peer(1), true), "{stamp:?}");
        assert!(!net.session(peer(1)).may_tell(event), "{level:?}: it is of the stamp before");
        let wanted = net.seen[&peer(1)].outputs.iter().filter(|it| matches!(it, Output::StateWanted(_)));
        assert_eq!(wanted.collect::<Vec<_>>(), [&Output::StateWanted(stamp)], "{level:?}: once");
        net.give(peer(1), Input::State(piece(tick, Kind::Delta)));
        net.run(Duration::from_secs(1));
        assert!(net.session(peer(1)).may_tell(event), "{level:?}");
    }
}
