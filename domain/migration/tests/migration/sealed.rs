//! A member lies about the game to a new host: what it says it holds no host has written. Nobody goes on from it, and it costs
//! the new host no more than whoever does not answer.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{
    Ancestor, Beat, Body, Descent, Epoch, Excerpt, Hint, HintVersion, Keys as _, Kind, Leads, Message,
    PeerId, Piece, Stamp, State, StateId, Tick, WithoutMajority,
};

use crate::joins::step_until;
use crate::net::{NamedKeys, Net, peer};

/// Who lies: a member, and no standby of the host that dies.
const LIAR: PeerId = PeerId(5);
/// No game gets so far in a test.
const FAR: Tick = Tick(1_000_000);

/// What a liar makes up.
struct Lie {
    what: &'static str,
    make: fn(held: &State, liar: PeerId, net: &Net) -> Excerpt,
}

/// A game of its own that goes on from what the host wrote, further than that, under its stamp.
fn other_game(held: &State) -> State {
    let mut state = held.clone();
    let piece = Piece { tick: FAR, kind: Kind::Snapshot, bytes: FAR.0.to_be_bytes().to_vec() };
    state.write(held.id().stamp, piece, Arc::default()).unwrap();
    state
}

fn signed_by(signer: PeerId, state: &State, net: &Net) -> Excerpt {
    let seal = NamedKeys(signer).sign(&state.id().words(net.config.session));
    Excerpt { seal, ..state.newest() }
}

const LIES: [Lie; 5] = [
    Lie { what: "unsigned", make: |held, _, _| other_game(held).newest() },
    Lie { what: "its own signature", make: |held, liar, net| signed_by(liar, &other_game(held), net) },
    Lie {
        what: "the writer's signature of another name",
        make: |held, _, _| Excerpt { seal: held.newest().seal, ..other_game(held).newest() },
    },
    Lie {
        what: "the writer's name for other bytes",
        make: |held, _, _| {
            let mut edited = held.newest();
            Arc::make_mut(&mut edited.parts[0]).bytes = FAR.0.to_be_bytes().to_vec();
            edited
        },
    },
    Lie {
        what: "as the head of a side that nobody saw",
        make: |held, liar, net| {
            let mut state = State::default();
            let piece = Piece { tick: FAR, kind: Kind::Snapshot, bytes: FAR.0.to_be_bytes().to_vec() };
            let stamp = Stamp { fork: 1, ..held.id().stamp };
            state.write(stamp, piece, Arc::default()).unwrap();
            signed_by(liar, &state, net)
        },
    },
];

/// A beat of somebody who obeys that host and says that it holds that.
fn claim(net: &Net, liar: PeerId, holds: StateId) -> Beat {
    Beat {
        sent: net.now,
        echo: Timestamp::EPOCH,
        leads: Leads::Obeys(net.session(liar).leader()),
        view: net.session(liar).view().id,
        hints: HintVersion { epoch: Epoch::FIRST, number: 0 },
        hint: Hint::UNSUITABLE,
        promised: Epoch::FIRST,
        roster: 0,
        holds: Descent::of(holds, Ancestor::itself(holds)),
        applied: 0,
        taken: 0,
    }
}

/// What became of a takeover with liars in it.
struct Taken {
    /// From which tick the new host went on.
    from: Tick,
    /// The newest that somebody held who does not lie, and not the new host.
    newest: Tick,
    /// From its election until it went on.
    took: Duration,
}

/// Kills the host. From then on each liar says that it holds more than anybody, and answers with that, where it does answer.
fn takeover(mut net: Net, liars: &[PeerId], lie: Option<&Lie>) -> Taken {
    // The next host missed the last of its predecessor's game: the other standby holds it.
    net.cut.insert((peer(1), peer(2)));
    net.run(Duration::from_millis(300));
    let held = net.session(peer(3)).held().clone();
    assert!(held.id() > net.session(peer(2)).held().id());
    let holds = other_game(&held).id();
    net.kill(peer(1));
    let mut elected = None;
    for _ in 0..600 {
        net.run(Duration::from_millis(10));
        if elected.is_none() && net.session(peer(2)).is_host() {
            elected = Some(net.now);
        }
        if let (Some(from), Some(elected)) = (net.seen[&peer(2)].led_from, elected) {
            // The last word of the old host may have been on its way to it.
            let newest = net.session(peer(3)).held().id().tick;
            return Taken { from, newest, took: net.now.since(elected) };
        }
        let stamp = net.session(peer(2)).stamp();
        for liar in liars.iter().copied() {
            let beat =
                Body::Beat(claim(&net, liar, StateId { number: holds.number + liar.0 as u64, ..holds }));
            let answer = lie.map(|lie| Body::State((lie.make)(&held, liar, &net)));
            for body in [Some(beat), answer].into_iter().flatten() {
                net.deliver(liar, peer(2), Message { session: net.config.session, stamp, body });
            }
        }
    }
    panic!("nobody leads");
}

fn sessions(count: u128) -> [Net; 2] {
    [Net::of(count), Net::under_lobby(count, WithoutMajority::Fork)]
}

/// And whoever is found out is not waited for.
#[test]
fn nobody_goes_on_from_what_no_host_wrote() {
    for lie in &LIES {
        for net in sessions(5) {
            let Taken { from, newest, took } = takeover(net, &[LIAR], Some(lie));
            assert_eq!(from, newest, "{}: the other standby's", lie.what);
            assert!(took < Duration::from_millis(500), "{}: {took:?}", lie.what);
        }
    }
}

/// "The new host collects state heads and ticks from survivors": what one says that it holds keeps nobody from asking the others, be
/// it silent when it is asked, and be they many.
#[test]
fn who_holds_nothing_keeps_nobody_from_what_others_hold() {
    for net in sessions(5).into_iter().chain(sessions(9)) {
        let liars: Vec<PeerId> = net.peers.keys().copied().filter(|peer| *peer >= LIAR).collect();
        let Taken { from, newest, took } = takeover(net, &liars, None);
        assert_eq!(from, newest, "{liars:?}");
        assert!(
            took <= Duration::from_millis(1_050),
            "{liars:?}: {took:?}, and it waits for a second at most"
        );
    }
}

/// Who says that what it holds of a side goes back to more than it does is found out by its first answer: the writer has signed that, too (decision 0062).
#[test]
fn who_lies_about_what_a_side_goes_back_to_is_asked_once() {
    let mut net = Net::of(7);
    [1, 5, 6, 7].into_iter().for_each(|id| net.kill(peer(id)));
    let side = Stamp { epoch: Epoch::FIRST, fork: 1 };
    step_until(&mut net, |net| (2..=4).all(|id| net.session(peer(id)).held().id().stamp == side));
    net.cut.insert((peer(2), peer(4)));
    net.run(Duration::from_millis(300));
    let held = net.session(peer(4)).held().clone();
    assert!(held.id() < net.session(peer(3)).held().id());
    [2, 4].into_iter().for_each(|id| net.kill(peer(id)));
    step_until(&mut net, |net| net.session(peer(3)).is_host());
    let (elected, stamp) = (net.now, net.session(peer(3)).stamp());
    let newest = Ancestor { epoch: Epoch::FIRST, number: u64::MAX };
    let holds = Descent::of(held.id(), newest);
    while net.seen[&peer(3)].led_from.is_none() && net.now.since(elected) < Duration::from_secs(6) {
        let beat = Beat { holds, ..claim(&net, peer(3), held.id()) };
        for body in [Body::Beat(beat), Body::State(held.after(StateId::NONE))] {
            net.deliver(peer(4), peer(3), Message { session: net.config.session, stamp, body });
        }
        net.run(Duration::from_millis(20));
    }
    let took = net.now.since(elected);
    assert!(took < Duration::from_millis(1_500), "{took:?}");
}
