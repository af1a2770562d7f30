//! A new host cannot rewrite the past: who is told so, and how often.

use std::time::Duration;

use mainstay_migration::{
    Body, Epoch, Handover, Input, Leads, Output, Side, Stamp, StateHash, StateId, Tick,
};

use crate::joins::step_until;
use crate::net::{Net, peer, snapshot};

/// What that one's game was told of another past.
fn noticed(net: &Net, id: u128) -> Vec<Output> {
    let outputs = net.seen[&peer(id)].outputs.iter();
    outputs.filter(|it| matches!(it, Output::Rewritten { .. })).cloned().collect()
}

/// "a new host cannot rewrite the past": whoever heard the old host tell a state's name notices that the new one tells another, be it of
/// where it went on from or of where it is.
#[test]
fn another_past_is_noticed() {
    let edits: [fn(&mut Side) -> &mut StateId; 2] = [|side| &mut side.opened, |side| &mut side.state];
    for edited in edits {
        let mut net = Net::of(4);
        let old = net.beat_of(peer(1));
        net.say(peer(1), peer(3), Body::Beat(old));
        let Leads::Yes(heard) = old.leads else { panic!("it is host") };
        net.kill(peer(1));
        net.run(Duration::from_secs(3));
        assert_eq!(net.host(), peer(2));
        assert!((2..=4).all(|id| noticed(&net, id).is_empty()), "it went on from what the old one told");
        let mut beat = net.beat_of(peer(2));
        let Leads::Yes(side) = &mut beat.leads else { panic!("it is host") };
        let told = StateId { hash: StateHash(heard.state.hash.0 ^ 1), ..heard.state };
        *edited(side) = told;
        net.say(peer(2), peer(3), Body::Beat(beat));
        assert_eq!(noticed(&net, 3), [Output::Rewritten { host: peer(2), told, known: heard.state }]);
        assert!(noticed(&net, 2).is_empty() && noticed(&net, 4).is_empty(), "nobody else was told so");
    }
}

/// The same of whoever gave its session away: nobody tells a host what it wrote, and of two players nobody else could say so.
#[test]
fn who_wrote_the_past_notices_another() {
    let edits: [fn(&mut Side) -> &mut StateId; 2] = [|side| &mut side.opened, |side| &mut side.state];
    for edited in edits {
        let mut net = Net::of(2);
        net.idle = true;
        let last = snapshot(Tick(net.seen[&peer(1)].tick.0 + 1));
        net.give(peer(1), Input::HandOver { to: Some(peer(2)), why: Handover::Lobby, last });
        step_until(&mut net, |net| net.session(peer(1)).leader() == peer(2));
        let known = net.session(peer(1)).held().id();
        assert_eq!(known.stamp, Stamp::certified(Epoch::FIRST));
        let mut beat = net.beat_of(peer(2));
        let Leads::Yes(side) = &mut beat.leads else { panic!("it is host") };
        let told = StateId { hash: StateHash(known.hash.0 ^ 1), ..known };
        *edited(side) = told;
        let rewritten = Output::Rewritten { host: peer(2), told, known };
        assert!(!net.seen[&peer(1)].outputs.contains(&rewritten));
        net.say(peer(2), peer(1), Body::Beat(beat));
        assert!(net.seen[&peer(1)].outputs.contains(&rewritten));
    }
}

/// Of a later host nobody can have written anything: such names are not remembered, for they would push the honest ones out.
#[test]
fn names_of_hosts_to_come_are_not_remembered() {
    let mut net = Net::of(4);
    let honest = net.beat_of(peer(1));
    for hash in [1, 2] {
        let mut beat = honest;
        let Leads::Yes(side) = &mut beat.leads else { panic!("it is host") };
        side.opened = StateId { stamp: Stamp::certified(Epoch(100)), hash: StateHash(hash), ..side.opened };
        net.say(peer(1), peer(3), Body::Beat(beat));
    }
    assert_eq!(noticed(&net, 3), []);
}

/// A host says so with each of its beats. The game is told once, and once more where that goes on after ten seconds; another name is another past.
#[test]
fn another_past_is_told_of_once_and_again_where_it_goes_on() {
    let mut net = Net::of(3);
    let mut beat = net.beat_of(peer(1));
    let Leads::Yes(side) = &mut beat.leads else { panic!("it is host") };
    let known = side.state;
    let others = [1, 2].map(|edit| StateId { hash: StateHash(known.hash.0 ^ edit), ..known });
    net.say(peer(1), peer(3), Body::Beat(beat));
    let says = |net: &mut Net, told: StateId| {
        let mut beat = beat;
        if let Leads::Yes(side) = &mut beat.leads {
            (side.state, side.opened) = (told, told);
        }
        net.say(peer(1), peer(3), Body::Beat(beat));
    };
    for _ in 0..99 {
        others.iter().for_each(|told| says(&mut net, *told));
        net.run(Duration::from_millis(100));
    }
    let rewritten = |told| Output::Rewritten { host: peer(1), told, known };
    assert_eq!(noticed(&net, 3), others.map(rewritten), "in ten seconds once each");
    net.run(Duration::from_millis(200));
    assert_eq!(noticed(&net, 3).len(), 2, "it has stopped");
    says(&mut net, others[0]);
    says(&mut net, others[0]);
    assert_eq!(noticed(&net, 3)[2..], [rewritten(others[0])], "it goes on");
}
