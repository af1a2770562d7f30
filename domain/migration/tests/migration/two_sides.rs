//! Two sides of one number: they lost as many hosts each, and branched off at different moments. Nobody takes what the one goes back to for what the other does.

use std::time::Duration;

use mainstay_migration::{Body, CanBeHost, Epoch, Excerpt, Input, Output, Stamp, StateId};

use crate::joins::step_until;
use crate::net::{Net, WAY, peer};

/// The first side of a session that nobody certifies, whichever it is.
const ALONE: Stamp = Stamp { epoch: Epoch::FIRST, fork: 1 };

/// What a certified host wrote comes to nobody in time.
fn certified_states_are_late(net: &mut Net) {
    net.travels = |body| {
        let is_certified = |sent: &Excerpt| sent.parts.iter().all(|part| part.id.stamp.fork == 0);
        if matches!(body, Body::State(sent) if is_certified(sent)) { Duration::from_secs(60) } else { WAY }
    };
}

/// Of nine, three go on alone early. The others' host goes on for a second, confirmed, and is lost with three more: one that held what it acknowledged leads a side of
/// its own from there. The other holder, who cannot be host, is out of everybody's reach.
fn early_and_late() -> (Net, StateId) {
    let mut net = Net::of(9);
    [3, 4, 6].into_iter().for_each(|id| net.give(peer(id), Input::Suitable(CanBeHost::NotYet)));
    net.run(Duration::from_secs(1));
    for one in [2, 3, 4] {
        [1, 5, 6, 7, 8, 9].into_iter().for_each(|other| net.cut_both(peer(one), peer(other)));
    }
    step_until(&mut net, |net| [2, 3, 4].iter().all(|id| net.session(peer(*id)).stamp() == ALONE));
    net.run(Duration::from_secs(1));
    // Whoever was confirmed hands its state to those who would be next: the one that can be, and one that cannot.
    net.give(peer(6), Input::Suitable(CanBeHost::Yes));
    net.run(Duration::from_secs(1));
    let acknowledged = net.session(peer(6)).held().id();
    assert_eq!(acknowledged.stamp, Stamp::certified(Epoch::FIRST));
    assert!(net.session(peer(5)).held().id() >= acknowledged);
    net.give(peer(6), Input::Suitable(CanBeHost::NotYet));
    [1, 7, 8, 9].into_iter().for_each(|id| net.kill(peer(id)));
    (2..=5).for_each(|other| net.cut_both(peer(6), peer(other)));
    step_until(&mut net, |net| net.session(peer(5)).held().id().stamp == ALONE);
    (net, acknowledged)
}

/// They meet: the early side is the larger one, and no majority with the other.
fn met() -> (Net, StateId) {
    let (mut net, acknowledged) = early_and_late();
    certified_states_are_late(&mut net);
    net.cut.retain(|(one, other)| [*one, *other].contains(&peer(6)));
    step_until(&mut net, |net| net.session(peer(5)).leader() == peer(2));
    (net, acknowledged)
}

/// Issue 5: acknowledged state is not lost "while one holder of it lives". Who led the late side, followed the early one's host and held that one's game is its next host: the
/// early side's game goes back to an early state, whatever its own side of that number went back to, and gives way to what the holder has.
#[test]
fn who_was_on_the_one_side_does_not_take_the_other_for_it() {
    let (mut net, acknowledged) = met();
    step_until(&mut net, |net| net.session(peer(5)).held().id().stamp == net.session(peer(2)).stamp());
    net.run(Duration::from_secs(1));
    net.kill(peer(2));
    net.travels = |_| WAY;
    net.cut.clear();
    net.run(Duration::from_secs(8));
    assert_eq!([3, 4, 6].map(|id| net.session(peer(id)).leader()), [peer(5); 3]);
    let from = |output: &Output| matches!(output, Output::Lead { state, .. } if state.id().stamp == acknowledged.stamp && state.id() >= acknowledged);
    let outputs = &net.seen[&peer(5)].outputs;
    let last = outputs.iter().rposition(|output| matches!(output, Output::Lead { .. }));
    assert!(last.is_some_and(|last| from(&outputs[last])), "{acknowledged:?}");
}

/// Whoever is left of a side comes to another, whose host cannot tell who wrote what it holds and asks for it in vain, for what that goes back to does not come. It is that side's standby all the same after a
/// while: what its members do is safe again.
#[test]
fn who_comes_over_from_a_side_that_is_gone_is_a_standby_in_the_end() {
    let mut net = Net::of(9);
    for one in [2, 3, 4] {
        [1, 5, 6, 7, 8, 9].into_iter().for_each(|other| net.cut_both(peer(one), peer(other)));
    }
    step_until(&mut net, |net| [2, 3, 4].iter().all(|id| net.session(peer(*id)).stamp() == ALONE));
    [1, 2, 6, 9].into_iter().for_each(|id| net.kill(peer(id)));
    step_until(&mut net, |net| net.session(peer(8)).held().id().stamp == ALONE);
    net.run(Duration::from_secs(2));
    [5, 7].into_iter().for_each(|id| net.kill(peer(id)));
    step_until(&mut net, |net| !net.session(peer(8)).has_host());
    certified_states_are_late(&mut net);
    net.cut.clear();
    step_until(&mut net, |net| net.session(peer(8)).leader() == peer(3));
    let (held, of_host) = (net.session(peer(8)).held().descent(), net.session(peer(3)).held().descent());
    assert!(held.id() < of_host.id() && held > of_host, "it branched off later");
    net.run(Duration::from_secs(1));
    assert_eq!(net.session(peer(8)).held().descent(), held, "its host may ask for it");
    net.run(Duration::from_secs(6));
    let stamps = [3, 8].map(|id| net.session(peer(id)).held().id().stamp);
    assert!(stamps[0].fork > 1 && stamps[0] == stamps[1], "{stamps:?}");
}

/// Two sides of one number meet, and the host that the other gave way to is lost before it has given that one anything. Whoever gave way is the next host: it does not know
/// the other as its side's host, and goes on from what a member holds of it all the same.
#[test]
fn who_gave_way_believes_what_the_other_wrote_before() {
    let mut net = Net::of(9);
    net.run(Duration::from_secs(1));
    [2, 3]
        .into_iter()
        .for_each(|one| [5, 6].into_iter().for_each(|other| net.cut_both(peer(one), peer(other))));
    [1, 4, 7, 8, 9].into_iter().for_each(|id| net.kill(peer(id)));
    step_until(&mut net, |net| {
        [2, 3, 5, 6].iter().all(|id| net.session(peer(*id)).held().id().stamp == ALONE)
    });
    [3, 6].into_iter().for_each(|id| net.give(peer(id), Input::Suitable(CanBeHost::NotYet)));
    net.run(Duration::from_secs(1));
    net.travels = |body| if matches!(body, Body::State(_)) { Duration::from_secs(60) } else { WAY };
    net.cut.clear();
    step_until(&mut net, |net| net.session(peer(5)).leader() == peer(2));
    net.kill(peer(2));
    net.travels = |_| WAY;
    let (told, given_up) = (net.session(peer(3)).held().id(), net.session(peer(5)).held().id());
    assert!(told > given_up && [told, given_up].iter().all(|it| it.stamp == ALONE), "{told:?}, {given_up:?}");
    step_until(&mut net, |net| net.session(peer(3)).leader() == peer(5));
    net.run(Duration::from_secs(1));
    let leads = net.seen[&peer(5)].outputs.iter().rev().find_map(|output| {
        let Output::Lead { state, .. } = output else { return None };
        Some(state.id())
    });
    assert_eq!(leads, Some(told));
}
