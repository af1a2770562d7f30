//! On a side without a majority: most of it speak to its host and its standbys alone, so whom they obey the others know from before it began. What they say of
//! their host counts all the same.

use std::time::Duration;

use mainstay_migration::{CanBeHost, Epoch, Handover, Input, Stamp, WithoutMajority};

use crate::joins::step_until;
use crate::net::{Net, peer, snapshot};

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

/// I8, under a lobby: the host of a side is gone, and the one it parted from lives, and has put out whoever went. Nobody goes on alone then whom the lobby answers,
/// and the lobby certifies nobody beside its host: who is left asks that one to be let in.
#[test]
fn who_is_left_of_a_side_comes_back_to_the_host_of_its_lobby() {
    let mut net = Net::under_lobby(4, WithoutMajority::Fork);
    for one in [3, 4] {
        net.lobby.cut.insert(peer(one));
        [1, 2].into_iter().for_each(|other| net.cut_both(peer(one), peer(other)));
    }
    step_until(&mut net, |net| [3, 4].iter().all(|id| net.session(peer(*id)).stamp() == ALONE));
    net.run(Duration::from_secs(6));
    assert!(!net.session(peer(1)).roster().members.contains_key(&peer(4)));
    let head = net.session(peer(4)).leader();
    let left = if head == peer(3) { peer(4) } else { peer(3) };
    net.kill(head);
    net.cut.clear();
    net.lobby.cut.clear();
    net.run(Duration::from_secs(4));
    assert_eq!((net.host(), net.session(left).stamp()), (peer(1), Stamp::certified(Epoch(2))));
}

/// "Less than 250 ms" (issue 5, of a planned leave), on a side, too: whoever is named goes on from just what it was handed, and waits for none of the dead.
#[test]
fn whom_the_host_of_a_side_names_goes_on_at_once() {
    let mut net = side_of_five();
    let tick = net.seen[&peer(2)].tick;
    net.give(peer(2), Input::HandOver { to: Some(peer(5)), why: Handover::Leaves, last: snapshot(tick) });
    net.run(Duration::from_millis(100));
    assert_eq!(net.seen[&peer(5)].led_from, Some(tick));
    assert!([3, 4, 6].iter().all(|id| net.session(peer(*id)).leader() == peer(5)));
}

/// Of two players one dies, somebody comes to the other, and that one dies, too: whoever came asks the first one, which it never heard, and waits for it no longer than
/// for anybody else that is silent.
#[test]
fn who_came_to_a_side_does_not_wait_for_the_dead_that_it_never_met() {
    let mut net = Net::of(2);
    net.kill(peer(1));
    step_until(&mut net, |net| net.session(peer(2)).stamp() == ALONE);
    net.join(peer(9));
    step_until(&mut net, |net| net.peers.contains_key(&peer(9)));
    net.settle_in(peer(9), CanBeHost::Yes);
    net.run(Duration::from_secs(6));
    net.kill(peer(2));
    net.run(Duration::from_millis(2_500));
    assert!(net.seen[&peer(9)].led_from.is_some());
}

/// I8: a majority missed the host, and half of it goes on without one meanwhile, unheard of the others. They count those no more once they are sent on by them, though most of
/// them send no beat: else they would wait for one after another who has a host, until the session's time is over (world 90000375).
#[test]
fn who_is_sent_on_by_most_counts_them_no_more() {
    let mut net = Net::of(14);
    net.kill(peer(1));
    net.run(Duration::from_millis(500));
    for from in 8..=14 {
        net.cut.extend((2..=7).map(|to| (peer(from), peer(to))));
    }
    let goes_on = |net: &Net| (2..=7).all(|id| net.session(peer(id)).stamp() == ALONE);
    step_until(&mut net, goes_on);
    net.run(Duration::from_secs(2));
    assert!((8..=14).all(|id| !net.session(peer(id)).has_host()), "they hear the others, and wait");
    net.cut.clear();
    net.run(Duration::from_secs(4));
    let leaders: Vec<_> = (2..=14).map(|id| net.session(peer(id)).leader()).collect();
    assert!(leaders.iter().all(|leader| *leader == peer(2)), "{leaders:?}");
}
