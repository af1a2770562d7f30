//! What somebody says who is not of the session, and what a member says that lies: no session moves for it, nobody's game is
//! given away, and no numbers are used up.

use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{
    Beat, Body, ChannelId, Claim, Closed, Epoch, Hint, HintVersion, Kind, Leads, Message, Output, PeerId,
    Piece, Refusal, Session, Side, Signature, Stamp, Standing, State, StateId, Tick, View, ViewId,
    WithoutMajority,
};

use crate::net::{Net, peer};

const STRANGER: PeerId = PeerId(77);
const BEAT: Duration = Duration::from_millis(100);

/// Says that it leads a side of more players than there are, confirmed, further in the game, and in an epoch of no end.
fn boast(stamp: Stamp) -> Beat {
    let state = StateId { stamp, number: u64::MAX, tick: Tick(u64::MAX), ..StateId::NONE };
    let channel = ChannelId { stamp: Stamp::certified(Epoch::FIRST), number: 0 };
    let side = Side { mandate: Standing::Confirmed, size: u8::MAX, state, opened: state, channel };
    Beat {
        sent: Timestamp::EPOCH,
        echo: Timestamp::EPOCH,
        leads: Leads::Yes(side),
        view: ViewId { epoch: stamp.epoch, version: u32::MAX },
        hints: HintVersion { epoch: stamp.epoch, number: u32::MAX },
        hint: Hint::UNSUITABLE,
        promised: Epoch(u32::MAX),
        roster: u32::MAX,
        holds: state,
        applied: u64::MAX,
        taken: u64::MAX,
    }
}

fn sessions() -> [Net; 2] {
    [Net::of(4), Net::under_lobby(4, WithoutMajority::Fork)]
}

fn say(net: &mut Net, from: PeerId, stamp: Stamp, body: &Body) {
    for to in net.peers.keys().copied().filter(|to| *to != from).collect::<Vec<_>>() {
        net.deliver(from, to, Message { session: net.config.session, stamp, body: body.clone() });
    }
}

fn side_of(net: &Net) -> Stamp {
    let stamp = net.session(peer(1)).stamp();
    Stamp { fork: stamp.fork + 1, ..stamp }
}

/// B1 through a side: whoever says that it leads a larger one is not obeyed, be it a stranger or a member, and the game goes on.
#[test]
fn nobody_takes_a_session_from_its_host_by_what_it_says() {
    for liar in [STRANGER, peer(3)] {
        for mut net in sessions() {
            for _ in 0..30 {
                let stamp = side_of(&net);
                say(&mut net, liar, stamp, &Body::Beat(boast(stamp)));
                net.run(BEAT);
                assert_eq!(net.session(peer(1)).leader(), peer(1), "{liar}");
            }
            let before = net.seen[&peer(1)].tick;
            net.run(Duration::from_secs(2));
            assert_eq!(net.host(), peer(1), "{liar}");
            assert!(net.seen[&peer(1)].tick > before, "{liar}: its game steps");
            assert!(net.seen.values().all(|seen| seen.stages.is_empty()), "{liar}");
        }
    }
}

/// "if the new host quits, crashes or suffers a power loss, another host is chosen": also after somebody spoke of the last epoch
/// that can be counted to.
#[test]
fn nobody_uses_up_the_epochs() {
    let last = Epoch(u32::MAX);
    for liar in [STRANGER, peer(3)] {
        for mut net in sessions() {
            let stamp = net.session(peer(3)).stamp();
            let view = net.session(peer(3)).view().clone();
            let words = [
                Body::Beat(Beat { leads: Leads::No, ..boast(stamp) }),
                Body::Claim(Claim { epoch: last, candidate: liar, view }),
                Body::Refusal { epoch: stamp.epoch, why: Refusal::Promised(last) },
            ];
            for body in words {
                say(&mut net, liar, stamp, &body);
                net.run(BEAT);
            }
            net.kill(peer(1));
            net.run(Duration::from_secs(10));
            assert_eq!(net.host(), peer(2), "{liar}");
            net.kill(peer(2));
            net.run(Duration::from_secs(10));
            assert_ne!(net.host(), peer(2), "{liar}");
            assert!(net.session(peer(4)).stamp().epoch < Epoch(2_000), "{liar}");
        }
    }
}

/// A new host goes on from what members held: not from what a stranger sends meanwhile, nor from a state of its own time, which
/// nobody can have written.
#[test]
fn nobody_replaces_the_game_while_it_moves() {
    for liar in [STRANGER, peer(4)] {
        for mut net in sessions() {
            net.kill(peer(1));
            let stamp = Stamp::certified(Epoch(2));
            let mut forged = State::default();
            let bytes = b"another game".to_vec();
            let piece = Piece { tick: Tick(1_000_000), kind: Kind::Snapshot, bytes };
            forged.write(stamp, piece, Default::default()).unwrap();
            for _ in 0..600 {
                let now = net.session(peer(2)).stamp();
                say(&mut net, liar, now, &Body::State(forged.after(StateId::NONE)));
                net.run(Duration::from_millis(5));
            }
            assert_eq!(net.host(), peer(2));
            assert!(net.seen[&peer(2)].led_from < Some(Tick(1_000_000)), "{liar}");
            assert!(net.seen[&peer(2)].led_from.is_some(), "{liar}");
        }
    }
}

fn answers(session: &mut Session, now: Timestamp, from: PeerId, message: Message) -> Vec<Message> {
    session.handle(now, mainstay_migration::Input::Message { from, message });
    let to_it = |output| {
        let Output::Send { to, message } = output else { return None };
        (to == from).then_some(message)
    };
    session.take_outputs().into_iter().filter_map(to_it).collect()
}

/// Who is not of the session is told nothing of it but whom to ask: neither the game, nor who plays, whatever it says first.
#[test]
fn a_stranger_is_told_nothing() {
    for mut net in sessions() {
        let now = net.now;
        let (id, stamp) = (net.config.session, net.session(peer(1)).stamp());
        let old = Stamp { epoch: Epoch(0), fork: 0 };
        let leads = Body::Beat(boast(side_of(&net)));
        let follows = Body::Beat(Beat { leads: Leads::No, ..boast(stamp) });
        let view = View { signature: Signature::default(), ..net.session(peer(1)).view().clone() };
        let claim = Body::Claim(Claim { epoch: stamp.epoch, candidate: STRANGER, view });
        for (stamp, body) in [
            (side_of(&net), leads),
            (old, follows),
            (stamp, Body::Pull(StateId::NONE)),
            (stamp, claim),
            (old, Body::Ask),
        ] {
            for host in [1, 2] {
                let session = net.peers.get_mut(&peer(host)).unwrap();
                let message = Message { session: id, stamp, body: body.clone() };
                for answer in answers(session, now, STRANGER, message) {
                    assert!(matches!(answer.body, Body::Redirect(_)), "{answer:?}");
                }
            }
        }
    }
}

/// Whoever is on its way in believes those whom it asks: nobody else's word keeps it out, or sends it anywhere.
#[test]
fn who_asks_to_come_in_is_answered_by_whom_it_asks() {
    for mut net in sessions() {
        let newcomer = peer(9);
        net.join(newcomer);
        for body in [Body::Refused(Closed::Kicked), Body::Redirect(STRANGER), Body::Leave] {
            let stamp = Stamp::certified(Epoch::FIRST);
            net.deliver(STRANGER, newcomer, Message { session: net.config.session, stamp, body });
        }
        net.run(Duration::from_secs(1));
        assert_eq!(net.refused.get(&newcomer), None);
        assert!(net.peers.contains_key(&newcomer), "it is in");
    }
}
