//! What somebody says who is not of the session, and what a member says that lies: no session moves for it, nobody's game is
//! given away, and no numbers are used up.

use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{
    Ancestor, Beat, Body, ChannelId, Claim, Closed, Config, Descent, Epoch, Handover, Hint, HintVersion,
    Joining, Kind, Leads, MEMBERS_MAX, Message, OrderName, Output, PeerId, Piece, Refusal, Session, Side,
    Signature, Stamp, Standing, State, StateId, Tick, View, ViewId, WithoutMajority,
};

use crate::net::{NamedKeys, Net, peer};

const STRANGER: PeerId = PeerId(77);
const JOIN: Body = Body::Join { hint: Hint::UNSUITABLE, order: OrderName::Documented };
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
        holds: Descent::of(state, Ancestor::itself(state)),
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

/// Whoever a majority confirms goes on, and of one epoch that is the host that it elected alone: a side gives its game to no smaller one that only says so.
#[test]
fn no_side_is_confirmed_by_its_own_word() {
    let mut net = Net::of(5);
    [1, 4, 5].into_iter().for_each(|id| net.kill(peer(id)));
    let alone = Stamp { epoch: Epoch::FIRST, fork: 1 };
    while [2, 3].iter().any(|id| net.session(peer(*id)).stamp() != alone) {
        net.run(BEAT);
    }
    net.run(Duration::from_secs(1));
    let mut beat = boast(alone);
    if let Leads::Yes(side) = &mut beat.leads {
        (side.size, side.state, side.opened) = (1, StateId::NONE, StateId::NONE);
    }
    for _ in 0..30 {
        say(&mut net, peer(4), alone, &Body::Beat(beat));
        assert!(!net.session(peer(2)).hands_over());
        net.run(BEAT);
    }
    assert_eq!([2, 3].map(|id| net.session(peer(id)).leader()), [peer(2); 2]);
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
                Body::Beat(Beat { leads: Leads::Obeys(peer(1)), ..boast(stamp) }),
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

/// After such a lie the next epoch that is asked for is one that nobody can have heard of. Where it was promised to somebody who has died, whoever
/// asks next asks for the one after it.
#[test]
fn an_epoch_that_nobody_got_is_passed_over_also_after_the_last_one() {
    let mut net = Net::of(5);
    net.set(peer(4), "net_hostHintingActiveConnectionsOverride", "200");
    net.run(Duration::from_millis(400));
    let stamp = net.session(peer(5)).stamp();
    // Its host does not hear of it, or it had itself certified in that epoch.
    for to in [2, 3, 4].map(peer) {
        let body = Body::Beat(Beat { leads: Leads::Obeys(peer(1)), ..boast(stamp) });
        net.deliver(peer(5), to, Message { session: net.config.session, stamp, body });
    }
    net.cut.insert((peer(4), peer(2)));
    net.kill(peer(1));
    while net.session(peer(3)).ballot().promised() == stamp.epoch {
        net.run(Duration::from_millis(5));
    }
    net.kill(peer(4));
    // Before its turn is over.
    net.run(Duration::from_millis(1_200));
    assert_eq!((net.host(), net.session(peer(2)).stamp().fork), (peer(2), 0));
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
        let follows = Body::Beat(Beat { leads: Leads::Obeys(peer(1)), ..boast(stamp) });
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

/// Of a stranger's words one in a while is answered, however many they are and whatever they say; another's at the same time, too.
#[test]
fn a_flood_of_a_stranger_is_answered_now_and_then() {
    for mut net in sessions() {
        let (id, stamp) = (net.config.session, net.session(peer(1)).stamp());
        let beat = Body::Beat(Beat { leads: Leads::Obeys(peer(1)), ..boast(stamp) });
        for body in [beat, JOIN] {
            let mut answered = 0;
            for at in 0..1_000 {
                // A follower is asked to let it in: a host without a lobby does.
                let asked = if matches!(body, Body::Join { .. }) { peer(2) } else { peer(1) };
                let session = net.peers.get_mut(&asked).unwrap();
                let now = net.now + Duration::from_millis(at);
                for stranger in [STRANGER, PeerId(78)] {
                    let message = Message { session: id, stamp, body: body.clone() };
                    answered += answers(session, now, stranger, message).len();
                }
            }
            assert!((2..=2 * 6).contains(&answered), "{answered} answers in a second to {body:?}");
            net.run(Duration::from_secs(2));
        }
    }
}

/// A member asks for what is large as often as it likes: it is not sent each time.
#[test]
fn what_is_large_is_not_given_for_each_asking() {
    for mut net in sessions() {
        let (id, stamp) = (net.config.session, net.session(peer(1)).stamp());
        let entry = net.config.admission.as_ref().map_or(JOIN, |_| {
            let admission = crate::net::admitted(id, peer(3), (net.now, net.now), net.now + BEAT * 100);
            Body::Present { pass: admission.pass, order: OrderName::Documented }
        });
        for asks in [Body::Pull(StateId::NONE), entry] {
            let mut given = 0;
            for at in 0..1_000 {
                let now = net.now + Duration::from_millis(at);
                let session = net.peers.get_mut(&peer(1)).unwrap();
                let message = Message { session: id, stamp, body: asks.clone() };
                let large = |it: &Message| matches!(it.body, Body::State(_) | Body::Welcome(_));
                given += answers(session, now, peer(3), message).iter().filter(|it| large(it)).count();
            }
            assert!((1..=11).contains(&given), "{given} times in a second: {asks:?}");
            net.run(Duration::from_secs(2));
        }
    }
}

/// Each time a host is certified anew whatever is under way to it is for nobody: a member that speaks of a later epoch with every word,
/// or says that it leads a side and gives way, does not have it so all the time; and its host is heard.
#[test]
fn no_word_of_a_member_has_its_host_certified_again_and_again() {
    for mut net in sessions() {
        let liar = peer(4);
        net.run(Duration::from_secs(5));
        let before = net.session(peer(1)).stamp().epoch;
        let mut epochs = std::collections::BTreeSet::from([before]);
        for _ in 0..100 {
            let stamp = net.session(liar).stamp();
            let promised = Epoch(stamp.epoch.0 + 1);
            let state = StateId::NONE;
            let gives = Leads::HandsOver { to: peer(1), why: Handover::Merge, state, epoch: promised };
            for (stamp, leads) in [(stamp, Leads::Obeys(peer(1))), (side_of(&net), gives)] {
                let beat = Beat { promised, leads, ..boast(stamp) };
                net.deliver(
                    liar,
                    peer(1),
                    Message { session: net.config.session, stamp, body: Body::Beat(beat) },
                );
            }
            net.run(BEAT);
            epochs.insert(net.session(peer(1)).stamp().epoch);
        }
        assert!((2..=4).contains(&epochs.len()), "in ten seconds: {epochs:?}");
        net.run(Duration::from_secs(2));
        assert_eq!(net.host(), peer(1));
        assert!(net.seen.values().all(|seen| seen.stages.is_empty()), "no listener hears of it");
    }
}

/// "another host is chosen": also where a member asks for votes all the time and never takes them.
#[test]
fn nobody_keeps_a_session_without_a_host_by_asking_for_votes() {
    let mut net = Net::of(5);
    let liar = peer(5);
    let (stamp, view) = (net.session(liar).stamp(), net.session(liar).view().clone());
    net.kill(peer(1));
    for number in 0..100 {
        let claim = Claim { epoch: Epoch(stamp.epoch.0 + 1 + number), candidate: liar, view: view.clone() };
        if net.session(peer(2)).stamp() == stamp {
            say(&mut net, liar, stamp, &Body::Claim(claim));
        }
        net.run(BEAT);
    }
    assert_eq!(net.host(), peer(2));
    assert!(
        net.seen[&peer(3)].reports.iter().all(|it| it.took_ms < 10_000),
        "{:?}",
        net.seen[&peer(3)].reports
    );
}

/// Whom it asks may send it from one to the next: it does not remember more of them than a session has.
#[test]
fn who_asks_to_come_in_remembers_as_many_as_there_can_be() {
    let net = Net::of(1);
    let newcomer = peer(9);
    let config =
        Config { me: newcomer, keys: std::sync::Arc::new(NamedKeys(newcomer)), ..net.config.clone() };
    let mut joining = Joining::new(net.now, config, vec![peer(1)]);
    let stamp = Stamp::certified(Epoch::FIRST);
    let mut asked = peer(1);
    let _asks = joining.wake(net.now);
    for number in 100..1_000 {
        let body = Body::Redirect(peer(number));
        let _asks = joining.receive(net.now, asked, &Message { session: net.config.session, stamp, body });
        asked = peer(number);
    }
    assert_eq!((joining.asks().len(), joining.asks().last()), (MEMBERS_MAX, Some(&peer(999))));
    assert!(joining.asks().contains(&peer(1)), "whom it was told of first is asked on");
}
