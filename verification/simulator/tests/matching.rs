//! Matchmaking worlds: the laws hold in a fixed list of them, the faults do strike, and planted mistakes are found.

use mainstay_simulator::Text;
use mainstay_simulator::matching::{Bug, Counts, Report, run};

/// A second of the dev profile; `./check` lives many more.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=200;
/// In how many worlds a planted mistake must be found.
const FOUND_WITHIN: u64 = 200;

fn holds(report: &Report) {
    assert_eq!(report.broken, None, "seed {}", report.seed);
}

#[test]
fn the_laws_hold_and_every_kind_of_fault_strikes() {
    let mut sum = Counts::default();
    for seed in SEEDS {
        let report = run(seed, None, Text::None);
        holds(&report);
        let counts = report.counts;
        sum.matches += counts.matches;
        sum.backfilled += counts.backfilled;
        sum.gathered += counts.gathered;
        sum.canceled += counts.canceled;
        sum.refusals += counts.refusals;
        sum.crashes += counts.crashes;
        sum.disk_faults += counts.disk_faults;
        sum.forgotten += counts.forgotten;
        sum.late += counts.late;
        sum.configured += counts.configured;
        sum.repeats += counts.repeats;
        sum.tried += counts.tried;
        sum.compared += counts.compared;
        sum.processes += counts.processes;
        sum.withdrawn += counts.withdrawn;
        sum.held += counts.held;
        sum.placed += counts.placed;
        sum.undone += counts.undone;
    }
    let often = [
        sum.matches,
        sum.backfilled,
        sum.gathered,
        sum.canceled,
        sum.refusals,
        sum.tried,
        sum.compared,
        sum.repeats,
        sum.held,
        sum.placed,
    ];
    assert!(often.iter().all(|&count| count >= 200), "{sum:?}");
    let struck = [
        sum.crashes,
        sum.disk_faults,
        sum.forgotten,
        sum.late,
        sum.configured,
        sum.processes,
        sum.withdrawn,
        sum.undone,
    ];
    assert!(struck.iter().all(|&count| count >= 50), "{sum:?}");
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
    is_found(Bug::AnswerBeforeSync, "a ticket that a caller knows of survives a crash");
}

#[test]
fn a_deadline_missed_is_found() {
    is_found(Bug::DeadlineMissed, "every ticket comes to its end");
}

#[test]
fn a_clock_believed_is_found() {
    is_found(Bug::ClockBelieved, "Forgetting");
}

#[test]
fn servers_that_nobody_watches_are_found() {
    is_found(Bug::ServersUnwatched, "no backfill ticket outlives its server");
}

#[test]
fn an_allocation_that_is_not_taken_back_is_found() {
    is_found(Bug::UndoForgotten, "no server is kept that no match is played on");
}
