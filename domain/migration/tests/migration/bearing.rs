//! A host that does not reach its lobby, though members do (decision 0059): they bring its renewals, and nothing that they say of
//! themselves renews a lease.

use std::collections::BTreeSet;
use std::time::Duration;

use mainstay_migration::{
    Body, Epoch, Keys as _, LOBBY_LEASE, Output, PeerId, Question, Receipt, Signature, Stamp, Standing,
    WithoutMajority,
};

use crate::net::{NamedKeys, Net, peer};

/// A session whose peers reach their lobby, but for these.
fn cut_off(count: u128, policy: WithoutMajority, cut: impl IntoIterator<Item = u128>) -> Net {
    let mut net = Net::under_lobby(count, policy);
    net.lobby.cut = cut.into_iter().map(peer).collect();
    net
}

fn is_confirmed(net: &Net) -> bool {
    net.session(peer(1)).standing() == Some(Standing::Confirmed)
}

fn is_leased(net: &Net) -> bool {
    net.now < net.lobby.renewed + LOBBY_LEASE
}

/// What a member was asked to bring.
fn brought(net: &Net, by: PeerId) -> Vec<Question> {
    let of = |output: &Output| {
        let Output::AskLobby { question: question @ Question::Bring { .. }, .. } = output else {
            return None;
        };
        Some(question.clone())
    };
    net.seen.get(&by).map(|seen| seen.outputs.iter().filter_map(of).collect()).unwrap_or_default()
}

/// For a minute: the lobby counts the lease, the host knows it, and nobody lives through anything; whatever the session's setting,
/// and whoever of its members it is that reaches the lobby.
#[test]
fn members_bring_the_renewals_of_a_host_that_does_not_reach_the_lobby() {
    for count in 2..=4_u128 {
        for reaching in 1..1_u128 << (count - 1) {
            let cut = (1..=count).filter(|id| *id == 1 || reaching & 1 << (id - 2) == 0);
            let policy = [WithoutMajority::Fork, WithoutMajority::End, WithoutMajority::Hold];
            let mut net = cut_off(count, policy[(reaching % 3) as usize], cut);
            for _ in 0..600 {
                net.run(Duration::from_millis(100));
                assert!(is_leased(&net) && is_confirmed(&net), "{count}, {reaching:b}");
            }
            assert_eq!((net.host(), net.session(peer(1)).stamp()), (peer(1), Stamp::certified(Epoch::FIRST)));
            assert!(net.seen.values().all(|seen| seen.stages.is_empty()), "{count}, {reaching:b}");

            // Its own way is there again: nobody brings any more.
            net.lobby.cut.clear();
            net.run(Duration::from_secs(3));
            let before: Vec<usize> = (2..=count).map(|id| brought(&net, peer(id)).len()).collect();
            net.run(Duration::from_secs(10));
            assert!(is_leased(&net) && is_confirmed(&net));
            assert_eq!(before, (2..=count).map(|id| brought(&net, peer(id)).len()).collect::<Vec<_>>());
        }
    }
}

/// Where one of many reaches the lobby, it is found in its turn: the host may be unconfirmed until then, and is not given up.
#[test]
fn the_one_member_of_many_who_reaches_the_lobby_is_found() {
    for reaching in 2..=16 {
        let cut = (1..=16).filter(|id| *id != reaching);
        let mut net = cut_off(16, WithoutMajority::Fork, cut);
        net.run(Duration::from_secs(10));
        for _ in 0..300 {
            net.run(Duration::from_millis(100));
            assert!(is_leased(&net) && is_confirmed(&net), "{reaching}");
        }
        assert!(net.seen.values().all(|seen| seen.stages.is_empty()), "{reaching}");
        let asked = (2..=16).map(|id| brought(&net, peer(id)).len()).max().unwrap();
        assert!(asked <= 40 * 86 / 60 + 1, "{asked} in 40 s: the lobby takes 120 a minute of a member");
    }
}

/// The same for a host that was cut off before, whose members have brought something then.
#[test]
fn a_host_that_is_cut_off_again_is_renewed_again() {
    let mut net = cut_off(3, WithoutMajority::End, []);
    for span in [2, 9, 30, 1, 12] {
        net.lobby.cut = BTreeSet::from([peer(1)]);
        for _ in 0..10 * span {
            net.run(Duration::from_millis(100));
            assert!(is_leased(&net) && is_confirmed(&net), "{span}");
        }
        net.lobby.cut.clear();
        net.run(Duration::from_millis(7_300));
    }
}

/// Attack: a member says that the lobby has counted what it did not bring, in its own name and with the lobby's words for an earlier
/// renewal. The host goes by the lobby's signature of its newest alone.
#[test]
fn what_members_make_up_or_say_again_renews_no_lease() {
    let mut net = cut_off(3, WithoutMajority::Fork, [1]);
    net.run(Duration::from_secs(20));
    net.lobby.cut = (1..=3).map(peer).collect();
    let old = net.lobby.receipts.clone();
    assert!(old.len() > 10);
    for _ in 0..30 {
        net.run(Duration::from_millis(200));
        let Some(Question::Bring { renewal, .. }) = brought(&net, peer(2)).pop() else { panic!() };
        let words = b"counted";
        for signature in [Signature::default(), NamedKeys(peer(2)).sign(words), renewal.signature] {
            let receipt = Receipt { renewed: renewal.as_of, as_of: net.now, signature };
            net.say(peer(2), peer(1), Body::Counted(receipt));
        }
        for receipt in &old {
            net.say(peer(3), peer(1), Body::Counted(receipt.clone()));
        }
    }
    assert!(!is_leased(&net) && !is_confirmed(&net), "six seconds after the last that was counted");
    net.lobby.cut.clear();
    net.run(Duration::from_secs(3));
    assert!(is_confirmed(&net));
}

/// Attack: a host that wakes after another was certified has its members bring what it signs: they tell it who is host.
#[test]
fn nobody_brings_the_renewals_of_a_host_that_is_none_any_more() {
    let mut net = cut_off(4, WithoutMajority::Fork, [1]);
    net.run(Duration::from_secs(5));
    assert!(is_leased(&net));
    net.freeze(peer(1));
    net.run(Duration::from_secs(10));
    assert_eq!(net.lobby.host, Some((Epoch(2), peer(2))));
    let before: Vec<usize> = (2..=4).map(|id| brought(&net, peer(id)).len()).collect();
    net.thaw(peer(1));
    net.run(Duration::from_secs(5));
    assert_eq!((net.host(), net.session(peer(1)).stamp()), (peer(2), Stamp::certified(Epoch(2))));
    assert_eq!(before, (2..=4).map(|id| brought(&net, peer(id)).len()).collect::<Vec<_>>());
}

/// Attack: a host has its members ask the lobby all day. Each asks as often as it may; and for its own host alone.
#[test]
fn a_member_brings_no_more_than_the_lobby_takes_of_it() {
    let mut net = cut_off(3, WithoutMajority::Fork, [1]);
    net.run(Duration::from_secs(4));
    let Some(Question::Bring { renewal, hears, .. }) = brought(&net, peer(2)).pop() else { panic!() };
    let before = brought(&net, peer(2)).len();
    for _ in 0..1_000 {
        net.run(Duration::from_millis(10));
        let body = Body::Bring { renewal: renewal.clone(), hears: hears.clone() };
        net.say(peer(3), peer(2), body.clone());
        net.say(peer(1), peer(2), body);
    }
    let asked = brought(&net, peer(2)).len() - before;
    assert!((10..=21).contains(&asked), "{asked} in ten seconds");
    let others = brought(&net, peer(3)).len();
    assert!((10..=21).contains(&others), "{others}: what its member sent made none");
}
