//! On a side without a majority: most of it speak to its host and its standbys alone, so whom they obey the others know from before it began. What they say of
//! their host counts all the same.

use std::time::Duration;

use mainstay_migration::{Epoch, Stamp};

use crate::joins::step_until;
use crate::net::{Net, peer};

/// The first side of a session that nobody certifies.
const ALONE: Stamp = Stamp { epoch: Epoch::FIRST, fork: 1 };

/// Five are left of thirteen: a host, two standbys, and two who have not spoken to each other since.
fn side_of_five() -> Net {
    let mut net = Net::of(13);
    [1].into_iter().chain(7..=13).for_each(|id| net.kill(peer(id)));
    step_until(&mut net, |net| (2..=6).all(|id| net.session(peer(id)).stamp() == ALONE));
    net.run(Duration::from_secs(6));
    assert!((2..=6).all(|id| net.session(peer(id)).leader() == peer(2)));
    net
}

/// "a survivor that sees a silence of its host asks the others": where both miss it, and everybody else is gone with it, they wait no longer than two would.
#[test]
fn who_is_left_of_a_side_without_its_standbys_goes_on_as_soon_as_both_miss_its_host() {
    let mut net = side_of_five();
    (2..=4).for_each(|id| net.kill(peer(id)));
    net.run(Duration::from_millis(2_200));
    assert_eq!([5, 6].map(|id| net.session(peer(id)).leader()), [peer(5); 2]);
    assert_eq!(net.session(peer(6)).stamp(), Stamp { fork: 2, ..ALONE });
}

/// B12, on a side: one that hears neither host nor standbys stays, as long as another that it hears says that it hears them.
#[test]
fn one_bad_link_moves_no_side() {
    let mut net = side_of_five();
    (2..=4).for_each(|id| net.cut_both(peer(5), peer(id)));
    net.run(Duration::from_secs(5));
    net.cut.clear();
    net.run(Duration::from_secs(1));
    assert!((2..=6).all(|id| net.session(peer(id)).stamp() == ALONE));
    assert!(net.seen[&peer(5)].reports.len() == 1, "it heard of no other move");
}
