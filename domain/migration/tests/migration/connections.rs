//! Seed 000: "The number of active peer connections for this client (more connections means more clients can be 'pulled' onto the new
//! host)": links as the hands tell of them, in the list that the host keeps.

use std::time::Duration;

use mainstay_migration::{Body, Input, NatType, PeerId};

use crate::net::{Net, peer};

/// As often as the net tells of links.
const BLINK: Duration = Duration::from_millis(100);
/// How soon what is told at once is known to all: a beat to the host, its list, and two ways.
const SOON: Duration = Duration::from_millis(400);
const NAT: &str = "net_hostHintingNATTypeOverride";
const CONNECTIONS: &str = "net_hostHintingActiveConnectionsOverride";

/// They have no link to each other.
fn unlink(net: &mut Net, one: u128, other: u128) {
    net.unlinked.extend([(peer(one), peer(other)), (peer(other), peer(one))]);
}

fn next_by_all(net: &Net) -> Vec<Option<PeerId>> {
    net.peers.values().map(mainstay_migration::Session::anticipated).collect()
}

/// How many lists came to that one, and the version that its host is at.
fn lists(net: &mut Net, to: u128) -> (usize, u32) {
    let heard = net.overheard.replace(Vec::new()).unwrap_or_default();
    let is_list = |(_, of, message): &&(PeerId, PeerId, mainstay_migration::Message)| {
        *of == peer(to) && matches!(message.body, Body::Hints(_))
    };
    let host = net.host();
    (heard.iter().filter(is_list).count(), net.beat_of(host).hints.number)
}

/// The second has the lower channel, and reaches one fewer.
#[test]
fn who_has_a_link_to_fewer_stands_behind_who_has_one_to_more() {
    let mut net = Net::of(4);
    assert_eq!(next_by_all(&net), [Some(peer(2)); 4]);
    unlink(&mut net, 2, 4);
    net.run(SOON);
    assert_eq!(next_by_all(&net), [Some(peer(3)); 4]);
    net.kill(peer(1));
    net.run(Duration::from_secs(8));
    assert_eq!(net.host(), peer(3));
    let mut net = Net::of(4);
    unlink(&mut net, 2, 4);
    net.run(SOON);
    net.unlinked.clear();
    net.run(SOON);
    assert_eq!(next_by_all(&net), [Some(peer(3)); 4], "what has just changed stands");
    net.run(Duration::from_secs(2));
    assert_eq!(next_by_all(&net), [Some(peer(2)); 4], "and then it is before it again");
}

/// "This is purely to impose a completely deterministic heuristic on all clients": two whose link broke, and was made anew, expect the same one as all others,
/// also where they have nothing to say to each other.
#[test]
fn whose_link_was_made_anew_is_expected_by_all() {
    let mut net = Net::of(5);
    assert_eq!(next_by_all(&net), [Some(peer(2)); 5]);
    net.travels = |body| Duration::from_millis(if matches!(body, Body::Beat(_)) { 60_000 } else { 20 });
    net.give(peer(5), Input::LinkLost(peer(2)));
    assert_eq!(next_by_all(&net)[4], Some(peer(3)), "it has no link to it");
    let others = [1, 2, 3, 4].map(peer);
    net.give(peer(5), Input::Linked(others.into_iter().filter(|other| *other != peer(2)).collect()));
    assert_eq!(next_by_all(&net)[4], Some(peer(3)), "it has none yet");
    net.give(peer(5), Input::Linked(others.into()));
    assert_eq!(next_by_all(&net), [Some(peer(2)); 5]);
}

/// "The host will have a hint for every client in the game (excluding themselves), and each client will have a hint for each peer connected client (excluding
/// themselves and the host)." Of whom it has no link to, it shows none.
#[test]
fn a_client_shows_the_hints_of_those_it_has_a_link_to() {
    let mut net = Net::of(4);
    (1..=4).for_each(|id| net.set(peer(id), "net_show_new_host_hinting", "1"));
    unlink(&mut net, 2, 4);
    net.run(Duration::from_secs(3));
    let shown = |id| net.session(peer(id)).shown_hints().into_iter().map(|(of, _)| of).collect::<Vec<_>>();
    assert_eq!(shown(1), [peer(2), peer(3), peer(4)], "the host has all");
    assert_eq!((shown(2), shown(3), shown(4)), (vec![peer(3)], vec![peer(2), peer(4)], vec![peer(3)]));
}

/// Every list goes to everybody: of links that flap each member tells once in two seconds, and of what the game and the console say at once.
#[test]
fn links_that_flap_make_no_storm_of_lists() {
    let mut net = Net::of(12);
    net.overheard = Some(Vec::new());
    net.run(Duration::from_secs(5));
    lists(&mut net, 7);
    net.run(Duration::from_secs(20));
    let (steady, before) = lists(&mut net, 7);
    assert_eq!(steady, 0, "where nothing changes nothing is told");
    for blink in 0..200 {
        net.unlinked.clear();
        if blink % 2 == 0 {
            (2..=12).for_each(|id| unlink(&mut net, id, 1 + (id + 3) % 12));
        }
        net.run(BLINK);
    }
    let (told, after) = lists(&mut net, 7);
    assert!(after - before <= 11 * 12, "{} changes of 12 counts in 20 s", after - before);
    assert!((2..=33).contains(&told), "{told} lists in 20 s");
    let best = net.session(peer(7)).anticipated().unwrap();
    net.set(best, NAT, "3");
    net.run(SOON);
    assert_ne!(net.session(peer(7)).anticipated(), Some(best), "it is strict now");
    net.set(peer(11), CONNECTIONS, "200");
    net.run(SOON);
    assert_eq!(next_by_all(&net), [Some(peer(11)); 12]);
}

/// Two sides without a majority count their lists on from where they parted. Whoever comes over has the list of the host that it obeys from
/// then on, however far its own side's had come.
#[test]
fn who_comes_over_from_another_side_has_its_hosts_list() {
    let mut net = Net::of(5);
    [1, 4, 5].into_iter().for_each(|gone| net.kill(peer(gone)));
    net.cut_both(peer(2), peer(3));
    net.run(Duration::from_secs(8));
    assert_eq!(
        [2, 3].map(|id| net.session(peer(id)).leader()),
        [peer(2), peer(3)],
        "each is a side of its own"
    );
    for nat in ["2", "3", "2", "3", "2", "3"] {
        net.set(peer(3), NAT, nat);
        net.run(SOON);
    }
    let [one, other] = [2, 3].map(|id| net.session(peer(id)).hints().version);
    assert!(one.epoch == other.epoch && one < other, "{one:?} {other:?}");
    net.cut.clear();
    net.run(Duration::from_secs(12));
    assert_eq!(net.host(), peer(2), "its game is further");
    assert_eq!(net.session(peer(3)).hints(), net.session(peer(2)).hints());
}

/// "kept by the host and known to all": of twenty somebody's hint changes with nearly each beat, and everybody is told of all that changed in a second as
/// one list.
#[test]
fn a_list_of_a_large_session_stands_for_a_second() {
    for (players, lists_of_five_seconds) in [(5_u128, 25..=60), (20, 4..=6)] {
        let mut net = Net::of(players);
        net.overheard = Some(Vec::new());
        for turn in 0..50_u16 {
            let (one, ping_ms) = (u128::from(turn) % (players - 1) + 2, 50 + 40 * turn);
            net.give(peer(one), Input::Reachable { nat: NatType::Open, ping_ms });
            net.run(Duration::from_millis(100));
        }
        let (heard, _) = lists(&mut net, 3);
        assert!(lists_of_five_seconds.contains(&heard), "{heard} lists came to one of {players}");
    }
}

/// What is on its way to a member of a large session is not sent to it with each of its beats until it comes.
#[test]
fn what_is_on_its_way_in_a_large_session_is_not_sent_again() {
    let mut net = Net::of(20);
    net.travels = |body| {
        let is_long = matches!(body, Body::View(_) | Body::Roster(_) | Body::Hints(_));
        Duration::from_millis(if is_long { 190 } else { 20 })
    };
    net.overheard = Some(Vec::new());
    net.join(peer(21));
    net.run(Duration::from_millis(900));
    let heard = net.overheard.take().unwrap();
    let rosters = heard.iter().filter(|(_, to, it)| *to == peer(3) && matches!(it.body, Body::Roster(_)));
    assert_eq!(rosters.count(), 1);
}
