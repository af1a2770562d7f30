//! Golden bytes of every packet, and the law that whatever is read is written again as the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_core::Timestamp;
use mainstay_migration::{
    ActorId, Ancestor, Announcement, Beat, Body, CanBeHost, Cause, Certificate, ChannelId, Claim, Closed,
    Descent, Entry, Epoch, Excerpt, Given, Handover, Hears, Hint, HintList, HintVersion, Kind, Leads, Level,
    Message, Migratable, NatType, OrderName, PARTS_MAX, PLAYERS_MAX, Part, Pass, PeerId, Proof, Receipt,
    Refusal, Renewal, Root, Roster, SIGNATURE_BYTES_MAX, STATE_BYTES_MAX, SessionId, Side, Signature, Stamp,
    Standing, StateHash, StateId, Support, Terms, Tick, View, ViewId, Vote, Welcome, WithoutMajority,
};
use proptest::prelude::*;

use super::*;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn channel(number: u32) -> ChannelId {
    ChannelId { stamp: Stamp::certified(Epoch(1)), number }
}

fn view() -> View {
    View {
        id: ViewId { epoch: Epoch(1), version: 2 },
        host: PeerId(0xa),
        members: BTreeMap::from([(PeerId(0xa), channel(0)), (PeerId(0xb), channel(1))]),
        signature: Signature(vec![0xaa, 0xbb]),
    }
}

fn roster() -> Roster {
    let (members, kicked) = (view().members, BTreeSet::from([PeerId(0xc)]));
    let actors = BTreeMap::from([(PeerId(0xb), ActorId(9))]);
    Roster {
        stamp: Stamp::certified(Epoch(2)),
        version: 4,
        members,
        kicked,
        actors,
        support: Support::Unsupported,
    }
}

fn state() -> StateId {
    StateId { stamp: Stamp::certified(Epoch(2)), number: 12, tick: Tick(77), hash: StateHash(0xfeed) }
}

fn vote(voter: u128, signature: &[u8]) -> Vote {
    Vote {
        epoch: Epoch(2),
        candidate: PeerId(0xb),
        voter: PeerId(voter),
        electorate: view().id,
        signature: Signature(signature.to_vec()),
    }
}

fn certificate() -> Certificate {
    let votes = [(0xa, "ann"), (0xb, "bob")].map(|(id, name)| (PeerId(id), Signature(name.into())));
    Certificate {
        epoch: Epoch(2),
        host: PeerId(0xb),
        proof: Proof::Majority { electorate: view(), votes: votes.into() },
    }
}

fn certificate_of_lobby() -> Certificate {
    Certificate { epoch: Epoch(2), host: PeerId(0xb), proof: Proof::Lobby(Signature(b"lobby".to_vec())) }
}

fn hint() -> Hint {
    Hint {
        can_be_host: CanBeHost::Yes,
        nat: NatType::Moderate,
        connections: 7,
        ping_ms: 50,
        upstream_bps: 5_000_000,
    }
}

fn hints() -> HintList {
    HintList {
        version: HintVersion { epoch: Epoch(2), number: 9 },
        entries: BTreeMap::from([(PeerId(0xb), Entry { channel: channel(1), hint: hint() })]),
    }
}

fn beat(leads: Leads) -> Body {
    Body::Beat(Beat {
        sent: Timestamp::from_unix_ms(1_000),
        echo: Timestamp::from_unix_ms(990),
        leads,
        view: view().id,
        hints: hints().version,
        hint: hint(),
        promised: Epoch(3),
        roster: 4,
        holds: Descent::of(state(), Ancestor::NONE),
        applied: 31,
        taken: 32,
    })
}

fn part(kind: Kind) -> Part {
    let inputs = BTreeMap::from([(PeerId(0xa), 31)]).into();
    Part {
        id: state(),
        ancestor: Ancestor::NONE,
        previous: StateHash(0xbeef),
        kind,
        inputs,
        bytes: b"harbour".to_vec(),
    }
}

fn state_of_side() -> StateId {
    StateId { stamp: Stamp { fork: 1, ..state().stamp }, number: 13, ..state() }
}

fn part_of_side() -> Part {
    Part { id: state_of_side(), ancestor: Ancestor::itself(state()), ..part(Kind::Snapshot) }
}

/// Every kind of packet, and every variant somewhere.
fn packets() -> Vec<(&'static str, Packet)> {
    let side = Side {
        mandate: Standing::Confirmed,
        size: 8,
        state: state(),
        opened: StateId::NONE,
        channel: channel(1),
    };
    let handover = |why| Leads::HandsOver { to: PeerId(0xb), why, state: state(), epoch: Epoch(7) };
    let refusal = |why| Body::Refusal { epoch: Epoch(3), why };
    let terms = Terms {
        order: OrderName::Game(0xc0),
        migratable: Migratable::Yes,
        without_majority: WithoutMajority::Hold,
        level: Level::Synchronous,
        size: 12,
    };
    let welcome = Welcome {
        terms,
        root: Root { epoch: Epoch(1), host: PeerId(0xa) },
        certificates: vec![certificate()],
        view: view(),
        roster: roster(),
        hints: hints(),
        channel: channel(1),
        inputs: 29,
    };
    let announce =
        |cause| Body::Announce(Announcement { certificates: vec![certificate()], view: view(), cause });
    let fewer = View { members: BTreeMap::from([(PeerId(0xa), channel(0))]), ..view() };
    let fewer = Announcement { certificates: vec![certificate()], view: fewer, cause: Cause::Controlled };
    let pass = Pass {
        expires: Timestamp::from_unix_ms(1_800_000_000_000),
        player: b"ann".to_vec(),
        signature: Signature(vec![0xaa, 0xbb]),
    };
    let renewal = Renewal { as_of: Timestamp::from_unix_ms(990), signature: Signature(vec![0xaa, 0xbb]) };
    let receipt = Receipt {
        renewed: Timestamp::from_unix_ms(990),
        as_of: Timestamp::from_unix_ms(1_000),
        signature: Signature(vec![0xcc, 0xdd]),
    };
    let Body::Beat(of_side) = beat(Leads::Obeys(PeerId(0xa))) else { unreachable!() };
    let of_side =
        Body::Beat(Beat { holds: Descent::of(state_of_side(), Ancestor::itself(state())), ..of_side });
    let bodies = [
        ("beat of a member", beat(Leads::Obeys(PeerId(0xa)))),
        ("beat of a host that gathers", beat(Leads::Accedes)),
        ("beat of a host", beat(Leads::Yes(side))),
        ("beat of a fork's host", beat(Leads::Yes(Side { mandate: Standing::Unconfirmed, ..side }))),
        ("beat of a lobby handover", beat(handover(Handover::Lobby))),
        ("beat of a host that leaves", beat(handover(Handover::Leaves))),
        ("beat of a merge", beat(handover(Handover::Merge))),
        ("ask", Body::Ask),
        ("hears", Body::Answer(Hears::Yes)),
        ("hears not", Body::Answer(Hears::No)),
        ("claim", Body::Claim(Claim { epoch: Epoch(2), candidate: PeerId(0xb), view: view() })),
        ("vote", Body::Vote(vote(0xa, b"ann"))),
        ("passed", refusal(Refusal::Passed(vec![certificate()]))),
        ("passed by the lobby", refusal(Refusal::Passed(vec![certificate_of_lobby()]))),
        ("promised", refusal(Refusal::Promised(Epoch(4)))),
        ("newer view", refusal(Refusal::NewerView(view()))),
        ("not mine", refusal(Refusal::NotMine)),
        ("host lives", refusal(Refusal::HostLives)),
        ("unsuitable", refusal(Refusal::Unsuitable)),
        ("announce lobby", announce(Cause::Lobby)),
        ("announce controlled", announce(Cause::Controlled)),
        ("announce catastrophic", announce(Cause::Catastrophic)),
        ("announce fenced", announce(Cause::Fenced)),
        ("announce merge", announce(Cause::Merge)),
        ("announce others", Body::Announce(fewer)),
        ("view", Body::View(view())),
        ("taken", Body::Taken(view().id)),
        ("hints", Body::Hints(hints())),
        ("roster", Body::Roster(roster())),
        (
            "state",
            Body::State(Excerpt {
                parts: [Kind::Snapshot, Kind::Delta, Kind::Event].map(|kind| Arc::new(part(kind))).to_vec(),
                seal: Signature(vec![0xaa, 0xbb]),
            }),
        ),
        ("holds", Body::Holds(state())),
        ("pull", Body::Pull(state())),
        ("play", Body::Play { oldest: 30, number: 32, bytes: b"hard to port".to_vec() }),
        ("join", Body::Join { hint: Hint::UNSUITABLE, order: OrderName::Documented }),
        ("welcome", Body::Welcome(Box::new(welcome))),
        ("redirect", Body::Redirect(PeerId(0xa))),
        ("leave", Body::Leave),
        ("kicked", Body::Refused(Closed::Kicked)),
        ("full", Body::Refused(Closed::Full)),
        ("present", Body::Present { pass, order: OrderName::CryEngine51 }),
        ("no pass", Body::Refused(Closed::NoPass)),
        ("pass expired", Body::Refused(Closed::PassExpired)),
        ("to newcomers", Body::Refused(Closed::ToNewcomers)),
        ("other order", Body::Refused(Closed::OtherOrder)),
        ("replaced", Body::Refused(Closed::Replaced)),
        ("bring", Body::Bring { renewal, hears: vec![PeerId(0xb), PeerId(0xc)] }),
        ("counted", Body::Counted(receipt)),
        ("beat of a member of a side", of_side),
        (
            "state of a side",
            Body::State(Excerpt { parts: vec![Arc::new(part_of_side())], seal: Signature(vec![0xaa, 0xbb]) }),
        ),
    ];
    let stamp = Stamp { epoch: Epoch(2), fork: 1 };
    let session = SessionId(7);
    let protocol = |(name, body)| (name, Packet::Protocol(Message { session, stamp, body }));
    let card = Card {
        peer: PeerId(0xb),
        addresses: vec!["192.0.2.1:7000".parse().unwrap(), "[2001:db8::1]:7001".parse().unwrap()],
    };
    let mut given = Given::default();
    assert!(given.take(1) && given.take(3));
    let others = [
        ("game", Packet::Game(Game { session, stamp, bytes: b"ahoy".to_vec() })),
        ("book", Packet::Book(vec![card])),
        ("word", Packet::Word(Word { session, stamp, number: 3, bytes: b"ahoy".to_vec() })),
        ("heard", Packet::Heard { session, stamp, given }),
    ];
    bodies.into_iter().map(protocol).chain(others).collect()
}

/// What a released peer says must be understood for ever: these bytes are never edited, only added to.
#[test]
fn golden_bytes() {
    let lines: Vec<String> =
        packets().iter().map(|(name, packet)| format!("{name}: {}", hex(&packet.encode()))).collect();
    assert_eq!(lines.join("\n"), include_str!("golden.txt").trim_end());
}

#[test]
fn every_packet_comes_back_as_it_was() {
    for (name, packet) in packets() {
        assert_eq!(Packet::decode(&packet.encode()), Ok(packet), "{name}");
    }
}

#[test]
fn no_beginning_of_a_packet_and_nothing_longer_is_a_packet() {
    for (name, packet) in packets() {
        let mut bytes = packet.encode();
        for end in 0..bytes.len() {
            assert!(Packet::decode(&bytes[..end]).is_err(), "{name} cut to {end} bytes");
        }
        bytes.push(0);
        assert_eq!(Packet::decode(&bytes), Err(Malformed::Long { rest: 1 }), "{name}");
    }
}

#[test]
fn what_is_too_much_is_refused_before_it_is_read() {
    let huge = vec![VERSION; PACKET_BYTES_MAX + 1];
    assert_eq!(Packet::decode(&huge), Err(Malformed::Huge { length: PACKET_BYTES_MAX + 1 }));
    assert_eq!(Packet::decode(&[9, 1]), Err(Malformed::Version(9)));
    let card = Card { peer: PeerId(1), addresses: vec!["127.0.0.1:1".parse().unwrap(); ADDRESSES_MAX + 1] };
    let bytes = Packet::Book(vec![card]).encode();
    let refused = Malformed::List { length: ADDRESSES_MAX + 1, max: ADDRESSES_MAX };
    assert_eq!(Packet::decode(&bytes), Err(refused));
    let game =
        Game { session: SessionId(1), stamp: Stamp::certified(Epoch(1)), bytes: vec![0; GAME_BYTES_MAX + 1] };
    let refused = Malformed::List { length: GAME_BYTES_MAX + 1, max: GAME_BYTES_MAX };
    assert_eq!(Packet::decode(&Packet::Game(game).encode()), Err(refused));
}

/// The longest announcement that there can be is a packet.
#[test]
fn the_largest_session_fits() {
    let members: BTreeMap<PeerId, ChannelId> = (0..64).map(|id| (PeerId(id), channel(0))).collect();
    let signature = [7; SIGNATURE_BYTES_MAX];
    let electorate = View { members: members.clone(), signature: Signature(signature.to_vec()), ..view() };
    let votes = members.keys().map(|voter| (*voter, Signature(signature.to_vec()))).collect();
    let proof = Proof::Majority { electorate: electorate.clone(), votes };
    let longest = Certificate { epoch: Epoch(2), host: PeerId(0xb), proof };
    let certificates = vec![longest; 64];
    let view = View { members: BTreeMap::new(), ..electorate };
    let body = Body::Announce(Announcement { certificates, view, cause: Cause::Catastrophic });
    let message = Message { session: SessionId(7), stamp: Stamp::certified(Epoch(2)), body };
    let packet = Packet::Protocol(message);
    assert!(packet.encode().len() <= PACKET_BYTES_MAX, "{} bytes", packet.encode().len());
    assert_eq!(Packet::decode(&packet.encode()), Ok(packet));
}

/// The longest state that there can be is a packet, and it may name whoever has left besides whoever plays: no host keeps back
/// what its standbys cannot read.
#[test]
fn the_longest_state_fits() {
    let inputs: BTreeMap<PeerId, u64> = (0..PLAYERS_MAX as u128).map(|id| (PeerId(id), 31)).collect();
    let inputs = Arc::new(inputs);
    let bytes = vec![7; STATE_BYTES_MAX / PARTS_MAX];
    let part = Part { inputs, bytes, ..part(Kind::Delta) };
    let state = |part: &Part, count| {
        let seal = Signature(vec![7; SIGNATURE_BYTES_MAX]);
        let parts = std::iter::repeat_n(Arc::new(part.clone()), count).collect();
        let body = Body::State(Excerpt { parts, seal });
        Packet::Protocol(Message { session: SessionId(7), stamp: Stamp::certified(Epoch(2)), body })
    };
    let packet = state(&part, PARTS_MAX);
    assert!(packet.encode().len() <= PACKET_BYTES_MAX, "{} bytes", packet.encode().len());
    assert_eq!(Packet::decode(&packet.encode()), Ok(packet));
    let mut one_more = part;
    Arc::make_mut(&mut one_more.inputs).insert(PeerId(u128::MAX), 1);
    let refused = Malformed::List { length: PLAYERS_MAX + 1, max: PLAYERS_MAX };
    assert_eq!(Packet::decode(&state(&one_more, 1).encode()), Err(refused));
}

proptest! {
    /// One form for each value: nothing that is read is written otherwise, however it was changed on the way.
    #[test]
    fn whatever_is_read_is_written_again(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let packets = packets();
        let mut bytes = which.get(&packets).1.encode();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(packet) = Packet::decode(&bytes) {
            prop_assert_eq!(packet.encode(), bytes);
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(packet) = Packet::decode(&bytes) {
            prop_assert_eq!(packet.encode(), bytes);
        }
    }
}
