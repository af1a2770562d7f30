//! A host that stood still is back as the next one dies: what that one had told was safe others hold.

use std::time::Duration;

use mainstay_migration::{Body, Output, Question, StateId, WithoutMajority};

use crate::joins::step_until;
use crate::net::{Net, peer};

/// The first host stands still, the next one has put it out and dies as that one wakes; the lobby answers nobody meanwhile.
fn zombie() -> (Net, StateId) {
    let mut net = Net::under_lobby(5, WithoutMajority::Fork);
    net.run(Duration::from_secs(2));
    net.freeze(peer(1));
    step_until(&mut net, |net| net.session(peer(2)).leader() == peer(2));
    net.run(Duration::from_secs(2));
    net.lobby.down = true;
    net.run(Duration::from_millis(1_300));
    let durable = |output: &Output| if let Output::Durable(id) = output { Some(*id) } else { None };
    let safe = net.seen[&peer(2)].outputs.iter().rev().find_map(durable).unwrap();
    let beat = Body::Beat(net.beat_of(peer(2)));
    net.thaw(peer(1));
    // What has waited for it since before it was put out.
    net.say(peer(2), peer(1), beat);
    net.kill(peer(2));
    (net, safe)
}

/// Decision 0053: of those who miss the host whoever heard it later comes first. What waited for a zombie it hears as it wakes, of a host that has put it out and is dead: it comes before nobody
/// by that.
#[test]
fn a_zombie_has_heard_nothing_of_who_put_it_out() {
    let (mut net, _) = zombie();
    net.lobby.asked.clear();
    net.run(Duration::from_secs(2));
    let misses = |id: u128| {
        let of = net.lobby.asked.iter().filter(move |(from, _)| *from == peer(id));
        of.filter_map(
            |(_, asked)| if let Question::Misses { silent, .. } = asked { Some(*silent) } else { None },
        )
    };
    assert!(misses(1).count() > 0 && misses(1).all(|silent| silent.is_none()));
    for id in 3..=5 {
        assert!(
            misses(id).count() > 0 && misses(id).all(|silent| silent >= Some(Duration::from_millis(800)))
        );
    }
}

/// Issue 5: acknowledged state is lost "none while one holder of it lives". The lobby is back whenever it is: whatever side leads by then, what was safe is not given up for a zombie's.
#[test]
fn a_zombie_leaves_the_session_to_who_was_with_its_last_host() {
    let all = (0..30_u64).flat_map(|away| [0, 1_500].map(|later| (away, later)));
    for (away, later) in all {
        let (mut net, safe) = zombie();
        net.run(Duration::from_millis(1_000 + 100 * away));
        net.lobby.down = false;
        // The zombie may reach it before the others do.
        net.lobby.cut.extend([3, 4, 5].map(peer));
        net.run(Duration::from_millis(later));
        net.lobby.cut.clear();
        // Who holds it goes on from it, whoever is host.
        for _ in 0..200 {
            net.run(Duration::from_millis(50));
            let holds = [3, 4].map(|id| net.session(peer(id)).held().id());
            assert!(
                holds.iter().all(|id| id.tick >= safe.tick),
                "away {away}, {later}: {holds:?} after {safe:?}"
            );
        }
        let host = net.host();
        assert!(net.session(host).held().id().tick > safe.tick);
    }
}
