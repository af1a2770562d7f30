//! Many holders at once, and what one costs.

use mainstay_holder::process;
use mainstay_holder::protocol::{Request, Target};
use mainstay_holder::record::Outcome;
use nix::libc;

use crate::common::Slot;

const HOLDERS: u64 = 50;

/// Proportional set size of a process in kB.
fn pss_kb(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn fifty_holders_start_at_once_are_all_adopted_and_stay_small() {
    let slots: Vec<Slot> = (0..HOLDERS).map(|_| Slot::new()).collect();
    std::thread::scope(|scope| {
        for slot in &slots {
            scope.spawn(|| slot.start(&slot.shell("exec sleep 1000")));
        }
    });
    let mut connections: Vec<_> = slots.iter().map(Slot::adopt).collect();
    let total: u64 = connections.iter().map(|connection| pss_kb(connection.status.holder.pid)).sum();
    eprintln!("{HOLDERS} holders: {} kB PSS each", total / HOLDERS);
    assert!(total / HOLDERS <= 1024, "the goal is 1 MB for holder and agent together");
    for connection in &mut connections {
        connection.send(|id| Request::Signal { id, number: libc::SIGKILL, to: Target::Tree }).unwrap();
    }
    for connection in &mut connections {
        let record = connection.wait_exit(30_000).unwrap();
        assert!(matches!(record.outcome, Outcome::Killed { signal: libc::SIGKILL, .. }), "{record:?}");
        assert!(!process::is_alive(connection.status.game));
    }
}
