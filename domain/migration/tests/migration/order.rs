//! Who would be the best host: the seed's order, CRYENGINE's real one, and the game's own.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::str::FromStr;

use mainstay_migration::{
    CanBeHost, ChannelId, Entry, Epoch, Hint, HintList, HintVersion, NatType, Order, PeerId, Stamp,
};
use proptest::prelude::*;

fn entry(number: u32, nat: NatType, connections: u8, ping_ms: u16) -> Entry {
    let hint = Hint { can_be_host: CanBeHost::Yes, nat, connections, ping_ms, upstream_bps: 0 };
    Entry { channel: ChannelId { stamp: Stamp::certified(Epoch::FIRST), number }, hint }
}

fn ranked(order: Order, entries: impl IntoIterator<Item = (u128, Entry)>) -> Vec<u128> {
    let version = HintVersion { epoch: Epoch::FIRST, number: 1 };
    let entries: BTreeMap<PeerId, Entry> =
        entries.into_iter().map(|(id, entry)| (PeerId(id), entry)).collect();
    let list = HintList { version, entries };
    let mut ranked = Vec::new();
    while let Some(peer) = order.first(&list, |peer| !ranked.contains(&peer.0)) {
        ranked.push(peer.0);
    }
    ranked
}

/// "NAT type (open is better than moderate, which is better than strict, with unknown NAT's being considered the worst)."
#[test]
fn nat_types_come_first() {
    let entries = [
        (1, entry(1, NatType::Unknown, 9, 1)),
        (2, entry(2, NatType::Strict, 7, 1)),
        (3, entry(3, NatType::Moderate, 5, 1)),
        (4, entry(4, NatType::Open, 1, 900)),
    ];
    assert_eq!(ranked(Order::Documented, entries), [4, 3, 2, 1]);
}

/// "The number of active peer connections for this client (more connections means more clients can be 'pulled' onto the new
/// host)."
#[test]
fn then_active_connections() {
    let entries = [(1, entry(1, NatType::Open, 2, 1)), (2, entry(2, NatType::Open, 5, 1))];
    assert_eq!(ranked(Order::Documented, entries), [2, 1]);
}

/// "This is purely to impose a completely deterministic heuristic on all clients." And:
/// "In the event of two clients being deemed equal in terms of NAT type and number of connections, the unique network channel
/// identifier is used."
#[test]
fn then_the_channel() {
    let entries = [(7, entry(2, NatType::Open, 2, 1)), (8, entry(1, NatType::Open, 2, 1))];
    assert_eq!(ranked(Order::Documented, entries), [8, 7]);
}

/// Section 1.4 of the reference: what CRYENGINE 5.1 really does is connections, ping, upstream, NAT, channel.
#[test]
fn cryengine_5_1_counts_connections_first() {
    let entries = [
        (1, entry(1, NatType::Open, 2, 10)),
        (2, entry(2, NatType::Strict, 5, 90)),
        (3, entry(3, NatType::Unknown, 5, 80)),
    ];
    assert_eq!(ranked(Order::CryEngine51, entries), [3, 2, 1]);
    let sends = |number, upstream_bps| {
        let one = entry(number, NatType::Open, 5, 80);
        Entry { hint: Hint { upstream_bps, ..one.hint }, ..one }
    };
    let alike = [(1, sends(1, 0)), (2, sends(2, 1_000_000)), (3, sends(3, 5_000_000))];
    assert_eq!(ranked(Order::CryEngine51, alike), [3, 2, 1], "who sends more");
    assert_eq!(ranked(Order::Documented, alike), [1, 2, 3], "the seed does not know it");
}

/// A lobby migration needs a better candidate, not only a lower channel.
#[test]
fn a_channel_alone_is_no_reason_to_move() {
    let (low, high) = (entry(1, NatType::Open, 2, 10), entry(2, NatType::Open, 2, 10));
    assert!(!Order::Documented.is_strictly_better(&low, &high));
    assert!(Order::Documented.is_strictly_better(&entry(3, NatType::Open, 3, 10), &low));
}

/// A game's own order, and what it calls equal.
#[test]
fn a_game_may_have_its_own() {
    let by_ping = Order::Game { number: 0, compare: &|one, other| one.hint.ping_ms.cmp(&other.hint.ping_ms) };
    let entries = [
        (1, entry(3, NatType::Open, 9, 50)),
        (2, entry(2, NatType::Strict, 0, 20)),
        (3, entry(1, NatType::Open, 1, 50)),
    ];
    assert_eq!(ranked(by_ping, entries), [2, 3, 1]);
}

/// The order of the golden file that is a game's own: more upstream, then fewer connections.
const OF_A_GAME: Order = Order::Game {
    number: 7,
    compare: &|one, other| {
        let key = |entry: &Entry| (Reverse(entry.hint.upstream_bps), entry.hint.connections);
        key(one).cmp(&key(other))
    },
};

/// I6: "same list → same ranking on all peers/platforms (golden vectors; total order; permutation-invariant)". The file says what it holds.
#[test]
fn every_list_of_the_golden_file_has_the_ranking_that_stands_there() {
    let orders =
        [("documented", Order::Documented), ("cryengine-5.1", Order::CryEngine51), ("game", OF_A_GAME)];
    let (mut list, mut entries, mut judged) = ("", Vec::new(), 0);
    let words = include_str!("order.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in words {
        if let Some(name) = line.strip_prefix("list ") {
            (list, entries) = (name, Vec::new());
        } else if let Some((name, peers)) = line.split_once(':') {
            let (_, order) = orders.into_iter().find(|(it, _)| *it == name).expect("one of the three");
            let expected: Vec<u128> = peers.split_whitespace().map(hex).collect();
            assert_eq!(ranked(order, entries.clone()), expected, "{list}, {name}");
            judged += 1;
        } else {
            entries.push(member(line));
        }
    }
    assert_eq!(judged, 3 * 14, "three rankings of each list");
}

fn hex(digits: &str) -> u128 {
    u128::from_str_radix(digits, 16).expect("a peer's id")
}

/// A line of the golden file.
fn member(line: &str) -> (u128, Entry) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [peer, channel, can_be_host, nat, connections, ping_ms, upstream_bps] = words[..] else {
        panic!("{line}")
    };
    let channel: Vec<u32> = channel.split(['.', '-']).map(number).collect();
    let [epoch, fork, own] = channel[..] else { panic!("{line}") };
    let hint = Hint {
        can_be_host: match can_be_host {
            "yes" => CanBeHost::Yes,
            "not-yet" => CanBeHost::NotYet,
            other => panic!("{other}"),
        },
        nat: match nat {
            "open" => NatType::Open,
            "moderate" => NatType::Moderate,
            "strict" => NatType::Strict,
            "unknown" => NatType::Unknown,
            other => panic!("{other}"),
        },
        connections: number(connections),
        ping_ms: number(ping_ms),
        upstream_bps: number(upstream_bps),
    };
    let stamp = Stamp { epoch: Epoch(epoch), fork };
    (hex(peer), Entry { channel: ChannelId { stamp, number: own }, hint })
}

fn number<T: FromStr>(digits: &str) -> T {
    digits.parse().unwrap_or_else(|_| panic!("{digits} is no such number"))
}

fn any_entry() -> impl Strategy<Value = Hint> {
    let nat = prop_oneof![
        Just(NatType::Open),
        Just(NatType::Moderate),
        Just(NatType::Strict),
        Just(NatType::Unknown)
    ];
    let can_be_host = prop_oneof![4 => Just(CanBeHost::Yes), 1 => Just(CanBeHost::NotYet)];
    (can_be_host, nat, 0..4_u8, 0..4_u16, 0..3_u32).prop_map(
        |(can_be_host, nat, connections, ping_ms, upstream_bps)| Hint {
            can_be_host,
            nat,
            connections,
            ping_ms,
            upstream_bps,
        },
    )
}

/// What members told, and in which of all orders their ids are.
fn any_list() -> impl Strategy<Value = (Vec<Hint>, Vec<u128>)> {
    prop::collection::vec(any_entry(), 1..12).prop_flat_map(|hints| {
        let ids: Vec<u128> = (0..hints.len() as u128).collect();
        (Just(hints), Just(ids).prop_shuffle())
    })
}

proptest! {
    /// I6: the same list gives the same order, whoever has which id: nothing but hint and channel counts, and everybody has a place.
    #[test]
    fn the_order_is_total_and_does_not_depend_on_ids((hints, ids) in any_list()) {
        let list = |id: &dyn Fn(usize) -> u128| {
            let entries = hints.iter().enumerate().map(|(index, hint)| {
                let number = u32::try_from(index).unwrap();
                (id(index), Entry { hint: *hint, ..entry(number, NatType::Open, 0, 0) })
            });
            entries.collect::<Vec<_>>()
        };
        let able = hints.iter().filter(|hint| hint.can_be_host == CanBeHost::Yes).count();
        for order in [Order::Documented, Order::CryEngine51, OF_A_GAME] {
            let plain = ranked(order, list(&|index| index as u128));
            let shuffled = ranked(order, list(&|index| ids[index]));
            prop_assert_eq!(plain.len(), able);
            let expected: Vec<u128> = plain.into_iter().map(|index| ids[usize::try_from(index).unwrap()]).collect();
            prop_assert_eq!(shuffled, expected);
        }
    }
}
