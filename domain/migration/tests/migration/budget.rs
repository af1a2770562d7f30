//! "net_migrate_timeout - this is the total amount of time allowed for migration events to complete (default is 30 seconds). All
//! migration(s) must occur for the session within this time frame or host migration will terminated." A session that is to `hold` where it
//! has no majority stands still for so long, whatever it tried before, and no longer.

use std::time::Duration;

use mainstay_migration::{End, Failure, Migratable, Outcome, Output, Stage, WithoutMajority};

use crate::net::{Net, peer};

/// The default.
const BUDGET_MS: u64 = 30_000;
/// What ending takes beside it: a beat and a few steps.
const END_MS: u64 = 500;

fn holding(count: u128) -> Net {
    Net::with(count, Migratable::Yes, WithoutMajority::Hold)
}

fn ended(net: &Net, id: u128) -> bool {
    net.seen[&peer(id)].outputs.contains(&Output::Ended(End::Failed(Failure::TimeLimit)))
}

/// The host is lost for good. Of four its successor is lost, too, in the middle of the move: the second wait is not a second budget.
#[test]
fn who_has_lost_its_host_holds_as_long_as_the_budget_lasts() {
    let mut pair = holding(2);
    pair.kill(peer(1));
    let mut four = holding(4);
    four.kill(peer(1));
    while !four.seen[&peer(3)].stages.contains(&Stage::DemoteToClient) {
        four.run(Duration::from_millis(5));
    }
    four.kill(peer(2));
    let mut of_lobby = Net::under_lobby(2, WithoutMajority::Hold);
    of_lobby.lobby.down = true;
    of_lobby.kill(peer(1));
    for (what, mut net, left, resets) in
        [("two", pair, 2, 0), ("a second loss", four, 3, 1), ("no lobby", of_lobby, 2, 0)]
    {
        while !net.seen[&peer(left)].stages.contains(&Stage::Initiate) {
            net.run(Duration::from_millis(5));
        }
        net.run(Duration::from_millis(BUDGET_MS - 2_000));
        assert!(!ended(&net, left), "{what}: it holds");
        assert!(!net.session(peer(left)).is_host(), "{what}: and nobody goes on meanwhile");
        net.run(Duration::from_secs(4));
        assert!(ended(&net, left), "{what}");
        let reports = &net.seen[&peer(left)].reports;
        let [report] = &reports[..] else { panic!("{what}: {reports:?}") };
        assert_eq!(
            (&report.outcome, report.resets),
            (&Outcome::Terminated(Failure::TimeLimit), resets),
            "{what}"
        );
        assert!((BUDGET_MS..BUDGET_MS + END_MS).contains(&report.took_ms), "{what}: {report:?}");
        let terminated = net.stages(peer(left)).iter().filter(|stage| **stage == Stage::Terminate);
        assert_eq!(terminated.count(), 1, "{what}");
    }
}

/// And a host that has lost its members: it stands still, goes on where they come back in time, and ends where they do not.
#[test]
fn a_host_without_its_members_holds_as_long_as_the_budget_lasts() {
    for back in [true, false] {
        let mut net = holding(3);
        for other in [2, 3] {
            net.cut_both(peer(1), peer(other));
            net.freeze(peer(other));
        }
        net.run(Duration::from_secs(3));
        let tick = net.seen[&peer(1)].tick;
        net.run(Duration::from_secs(26));
        assert!(!ended(&net, 1), "it holds");
        assert_eq!(net.seen[&peer(1)].tick, tick, "and stands still");
        if back {
            net.cut.clear();
            [2, 3].into_iter().for_each(|other| net.thaw(peer(other)));
        }
        net.run(Duration::from_secs(3));
        assert_eq!((ended(&net, 1), net.seen[&peer(1)].tick > tick), (!back, back));
    }
}
