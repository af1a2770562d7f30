//! Who would be the best host: the seed's order, CRYENGINE's real one, and the game's own.

use std::collections::BTreeMap;

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

fn any_entry() -> impl Strategy<Value = (NatType, u8, u16)> {
    let nat = prop_oneof![
        Just(NatType::Open),
        Just(NatType::Moderate),
        Just(NatType::Strict),
        Just(NatType::Unknown)
    ];
    (nat, 0..4_u8, 0..4_u16)
}

proptest! {
    /// I6: the same list gives the same order, whoever has which id.
    #[test]
    fn the_order_is_total_and_does_not_depend_on_ids(
        hints in prop::collection::vec(any_entry(), 1..12),
        shift in 1..1_000_u128,
    ) {
        let of = |id: &dyn Fn(u128) -> u128| {
            let entries = hints.iter().enumerate().map(|(index, (nat, connections, ping))| {
                let number = u32::try_from(index).unwrap();
                (id(index as u128), entry(number, *nat, *connections, *ping))
            });
            entries.collect::<Vec<_>>()
        };
        for order in [Order::Documented, Order::CryEngine51] {
            let plain = ranked(order, of(&|index| index));
            let mirrored = ranked(order, of(&|index| shift * 100 - index));
            prop_assert_eq!(plain.len(), hints.len());
            let back: Vec<u128> = mirrored.into_iter().map(|id| shift * 100 - id).collect();
            prop_assert_eq!(plain, back);
        }
    }
}
