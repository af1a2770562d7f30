//! Two players and a witness: a third member, such as a process on a host that stays, that never says it can be host.

use std::time::Duration;

use mainstay_migration::{CanBeHost, Epoch, Input, PeerId, Stamp, Standing};

use crate::net::{Net, peer};

const WITNESS: PeerId = PeerId(3);

fn witnessed() -> Net {
    let mut net = Net::of(3);
    net.give(WITNESS, Input::Suitable(CanBeHost::NotYet));
    net.run(Duration::from_secs(1));
    net
}

/// Issue 5: "a lobby or a witness makes two players safe". With it whoever is left of them is more than half.
#[test]
fn of_two_players_the_survivor_is_confirmed_by_a_witness() {
    let mut net = witnessed();
    net.kill(peer(1));
    net.run(Duration::from_secs(2));
    assert_eq!((net.host(), net.session(peer(2)).stamp()), (peer(2), Stamp::certified(Epoch(2))));
}

/// The same, of a host that nobody reaches: of the two it is the one without the witness that is no confirmed host.
#[test]
fn of_two_players_that_are_cut_apart_the_one_with_the_witness_is_host() {
    let mut net = witnessed();
    net.cut_both(peer(1), peer(2));
    net.cut_both(peer(1), WITNESS);
    net.run(Duration::from_secs(5));
    assert_eq!(net.session(peer(2)).stamp(), Stamp::certified(Epoch(2)));
    assert_eq!(net.session(peer(1)).standing(), Some(Standing::Unconfirmed));
    net.cut.clear();
    net.run(Duration::from_secs(5));
    assert_eq!((net.host(), net.session(peer(1)).stamp()), (peer(2), Stamp::certified(Epoch(2))));
}

/// The same, of two players whom it both hears: it is with the host.
#[test]
fn a_witness_that_hears_the_host_certifies_nobody_else() {
    let mut net = witnessed();
    net.cut_both(peer(1), peer(2));
    net.run(Duration::from_secs(5));
    assert_eq!(net.session(peer(1)).standing(), Some(Standing::Confirmed));
    assert!(!net.session(peer(2)).is_host());
    net.cut.clear();
    net.run(Duration::from_secs(5));
    assert_eq!((net.host(), net.session(peer(2)).stamp()), (peer(1), Stamp::certified(Epoch::FIRST)));
}
