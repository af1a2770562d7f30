//! Lobby worlds: the laws hold in a fixed list of them, the faults do strike, and planted mistakes are found.

use mainstay_simulator::Text;
use mainstay_simulator::lobby::{Bug, Counts, run};

/// Some seconds of the dev profile; `./check` lives many more.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=60;
/// In how many worlds a planted mistake must be found.
const FOUND_WITHIN: u64 = 60;

#[test]
fn the_laws_hold_and_every_kind_of_fault_strikes() {
    let mut sum = Counts::default();
    for seed in SEEDS {
        let report = run(seed, None, Text::None);
        assert_eq!(report.broken, None, "seed {seed}");
        let counts = report.counts;
        sum.granted += counts.granted;
        sum.handed_over += counts.handed_over;
        sum.kicked += counts.kicked;
        sum.lost += counts.lost;
        sum.refusals += counts.refusals;
        sum.crashes += counts.crashes;
        sum.struck += counts.struck;
        sum.disk_faults += counts.disk_faults;
        sum.forgotten += counts.forgotten;
        sum.dropped += counts.dropped;
        sum.fenced += counts.fenced;
    }
    let often = [sum.granted, sum.refusals, sum.dropped];
    assert!(often.iter().all(|&count| count >= 200), "{sum:?}");
    let struck = [
        sum.handed_over,
        sum.kicked,
        sum.lost,
        sum.crashes,
        sum.struck,
        sum.disk_faults,
        sum.forgotten,
        sum.fenced,
    ];
    assert!(struck.iter().all(|&count| count >= 10), "{sum:?}");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for seed in [1, 7, 42] {
        let (first, second) = (run(seed, None, Text::Lines), run(seed, None, Text::Lines));
        assert_eq!((first.hash, first.counts), (second.hash, second.counts), "seed {seed}");
        assert!(first.trace == second.trace, "the traces of seed {seed} differ");
        assert_eq!(first.hash, run(seed, None, Text::None).hash, "text changes nothing");
    }
    assert_ne!(run(1, None, Text::None).hash, run(2, None, Text::None).hash);
}

fn is_found(bug: Bug, law: &str) {
    let found = (1..=FOUND_WITHIN).map(|seed| run(seed, Some(bug), Text::None));
    let found = found.filter_map(|report| report.broken).find(|broken| broken.law == law);
    assert!(found.is_some(), "{bug:?} was not found by \"{law}\"");
}

#[test]
fn an_answer_before_the_sync_is_found() {
    is_found(Bug::AnswerBeforeSync, "a certificate that was told survives a crash");
}

#[test]
fn a_deadline_missed_is_found() {
    is_found(Bug::DeadlineMissed, "a session that goes on comes to a host that is heard");
}

#[test]
fn renewals_that_nobody_hears_are_found() {
    is_found(Bug::RenewalsUnheard, "no strict session is taken from a host that was heard within its lease");
}
