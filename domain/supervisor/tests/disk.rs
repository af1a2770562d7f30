//! The machine's one disk budget: what is deleted for it, and what never is.

use mainstay_core::Timestamp;
use mainstay_supervisor::disk::{Item, Kind, Plan, Room, Standing, plan};
use proptest::prelude::*;

const fn item(kind: Kind, bytes: u64, used: u64, standing: Standing) -> Item {
    Item { kind, bytes, used: Timestamp::from_unix_ms(used), standing }
}

const fn room(budget: u64) -> Room {
    Room { budget, free: 1_000, free_min: 100, incoming: 0 }
}

/// Issue 3, section 10: "one disk budget a machine for game logs, cores, evidence and old builds".
#[test]
fn old_builds_go_first_then_cores_then_evidence_then_logs_the_oldest_of_each() {
    let spare = |kind, used| item(kind, 10, used, Standing::Spare);
    let items = [
        spare(Kind::Log, 1),
        spare(Kind::Evidence, 1),
        spare(Kind::Core, 1),
        spare(Kind::Build, 9),
        spare(Kind::Build, 8),
    ];
    let after = |budget| plan(&items, room(budget)).delete;
    assert_eq!(after(50), [0; 0]);
    assert_eq!(after(49), [4]);
    assert_eq!(after(31), [4, 3]);
    assert_eq!(after(20), [4, 3, 2]);
    assert_eq!(after(19), [4, 3, 2, 1]);
    assert_eq!(after(0), [4, 3, 2, 1, 0]);
}

#[test]
fn what_a_server_needs_stays_whatever_the_budget_says() {
    let items = [item(Kind::Build, 900, 1, Standing::Needed), item(Kind::Log, 10, 1, Standing::Spare)];
    assert_eq!(plan(&items, room(5)), Plan { delete: vec![1], short: 895 });
}

#[test]
fn nothing_is_deleted_for_a_build_that_does_not_fit_all_the_same() {
    let items = [item(Kind::Build, 100, 1, Standing::Spare), item(Kind::Log, 10, 1, Standing::Spare)];
    let asked = |incoming| plan(&items, Room { incoming, ..room(500) });
    assert_eq!(asked(390), Plan { delete: vec![], short: 0 });
    assert_eq!(asked(400), Plan { delete: vec![0], short: 0 });
    assert_eq!(asked(501), Plan { delete: vec![], short: 1 });
}

#[test]
fn a_disk_that_is_nearly_full_counts_as_a_budget_that_is() {
    let items = [item(Kind::Core, 60, 1, Standing::Spare), item(Kind::Core, 60, 2, Standing::Spare)];
    let on = |free| plan(&items, Room { free, ..room(10_000) }).delete;
    assert_eq!(on(100), [0; 0]);
    assert_eq!(on(99), [0]);
    assert_eq!(on(20), [0, 1]);
}

/// "besides, 1 GiB of the disk stays free whatever the budget says" (builds.md): what is fresh goes for that, and for nothing
/// else.
#[test]
fn fresh_logs_go_last_and_only_for_what_the_disk_keeps_free() {
    let items = [
        item(Kind::Log, 50, 8, Standing::Fresh),
        item(Kind::Log, 50, 7, Standing::Fresh),
        item(Kind::Log, 30, 9, Standing::Needed),
        item(Kind::Log, 10, 9, Standing::Spare),
    ];
    assert_eq!(plan(&items, room(0)), Plan { delete: vec![3], short: 130 }, "the budget is no reason");
    let on = |free| plan(&items, Room { free, ..room(1_000) });
    assert_eq!(on(90), Plan { delete: vec![3], short: 0 });
    assert_eq!(on(89), Plan { delete: vec![3, 1], short: 0 });
    assert_eq!(on(30), Plan { delete: vec![3, 1, 0], short: 0 });
    // Nor is a build that comes.
    let coming = plan(&items, Room { free: 100, incoming: 20, ..room(1_000) });
    assert_eq!(coming, Plan { delete: vec![], short: 10 });
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Build), Just(Kind::Core), Just(Kind::Evidence), Just(Kind::Log)]
}

fn any_item() -> impl Strategy<Value = Item> {
    let standing = prop_oneof![Just(Standing::Needed), Just(Standing::Fresh), Just(Standing::Spare)];
    let bytes = prop_oneof![0_u64..100, Just(u64::MAX)];
    (kind(), bytes, 0_u64..50, standing)
        .prop_map(|(kind, bytes, used, standing)| item(kind, bytes, used, standing))
}

proptest! {
    #[test]
    fn never_what_is_needed_never_twice_never_more_than_has_to_go_and_the_worst_loss_last(
        items in prop::collection::vec(any_item(), 0..12),
        budget in 0_u64..400,
        free in 0_u64..400,
        free_min in 0_u64..100,
        incoming in 0_u64..200,
    ) {
        let room = Room { budget, free, free_min, incoming };
        let Plan { delete, short } = plan(&items, room);
        let mut once = delete.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), delete.len());
        prop_assert!(delete.iter().all(|&n| items[n].standing != Standing::Needed));
        let is_fresh = |n: usize| items[n].standing == Standing::Fresh;
        prop_assert!(free < free_min || !delete.iter().any(|&n| is_fresh(n)), "only for what the disk keeps free");
        let order: Vec<_> = delete.iter().map(|&n| (is_fresh(n), items[n].kind, items[n].used)).collect();
        prop_assert!(order.is_sorted());
        let worst = order.last();
        let kept = |n: &usize| items[*n].standing == Standing::Spare && items[*n].bytes > 0 && !delete.contains(n);
        let all: Vec<usize> = (0..items.len()).filter(kept).collect();
        for n in all {
            prop_assert!(worst.is_none_or(|worst| *worst <= (false, items[n].kind, items[n].used)), "an easier loss was left");
        }
        // What is asked for, or what there is without it where that does not fit.
        let incoming = if short == 0 { incoming } else { 0 };
        let sum = |without: &[usize]| {
            let left = items.iter().enumerate().filter(|(n, _)| !without.contains(n));
            left.fold(incoming, |sum, (_, item)| sum.saturating_add(item.bytes))
        };
        let freed = |of: &[usize]| of.iter().fold(0_u64, |sum, &n| sum.saturating_add(items[n].bytes));
        let fits = |of: &[usize]| sum(of) <= budget && free.saturating_add(freed(of)) >= free_min + incoming;
        let has_huge = items.iter().any(|item| item.bytes == u64::MAX);
        if short == 0 && !has_huge {
            prop_assert!(fits(&delete));
        }
        if !has_huge && let Some((_, before)) = delete.split_last() {
            prop_assert!(!fits(before), "one less would have done");
        }
    }
}
