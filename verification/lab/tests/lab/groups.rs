//! Control groups of version 2, which a host with version 1 cannot show.

use mainstay_lab::words::Scenario;

use crate::Lab;

/// The tests of `services/agent/tests/os/groups.rs`: weights and caps, readings of a whole tree, oom kills, emptying and
/// sweeping.
#[test]
fn the_agents_own_tests_of_groups_hold_under_version_2() {
    let Some(lab) = Lab::new() else { return };
    let held = lab.held(Scenario::Groups);
    for test in [
        "groups::a_slot_is_weighted_by_default_and_capped_only_if_asked",
        "groups::cpu_and_memory_of_the_whole_tree_are_measured_alike_with_and_without_a_group",
        "groups::an_oom_kill_under_a_cap_is_told_from_any_other_kill",
        "groups::a_group_is_emptied_of_what_outlived_a_killed_holder_and_then_swept",
    ] {
        assert!(held.iter().any(|name| name == test), "{test} was not run");
    }
}

/// Issue 2, section 7: "by default CPU is a cgroup weight (v2 or v1); a CPU quota, and a memory cap …, are opt-in; an OOM
/// kill is its own cause".
#[test]
fn slots_have_groups_of_their_own_under_systemd_and_a_caps_kill_is_its_own_cause() {
    let Some(lab) = Lab::new() else { return };
    assert_eq!(lab.held(Scenario::Slots).len(), 3);
}
