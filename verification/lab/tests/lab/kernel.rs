//! What the host's own kernel may not have, or does not let a test change: control groups of version 2, and where cores go.

use mainstay_lab::words::Scenario;

use crate::Lab;

/// One start shows, in this order:
///
/// - the tests of `services/agent/tests/os/groups.rs` under version 2: weights and caps, readings of a whole tree, oom kills,
///   emptying and sweeping;
/// - issue 2, section 7: "by default CPU is a cgroup weight (v2 or v1); a CPU quota, and a memory cap …, are opt-in; an OOM
///   kill is its own cause";
/// - seed 001: a misbehaving process is sent SIGSEGV, for the core; issue 3, section 8: "Core dumps and log files listed and
///   downloadable";
/// - issue 3, section 3: "A build may be an OCI image …, run through `runc` under the same holder with the same … exit codes",
///   in a group with the slot's caps.
#[test]
fn groups_of_version_2_cores_and_images_are_what_they_should_be() {
    let Some(lab) = Lab::new() else { return };
    let held = lab.held(&Scenario::Kernel);
    for test in [
        "groups::a_slot_is_weighted_by_default_and_capped_only_if_asked",
        "groups::cpu_and_memory_of_the_whole_tree_are_measured_alike_with_and_without_a_group",
        "groups::an_oom_kill_under_a_cap_is_told_from_any_other_kill",
        "groups::a_group_is_emptied_of_what_outlived_a_killed_holder_and_then_swept",
    ] {
        assert!(held.iter().any(|name| name == test), "{test} was not run");
    }
    for word in ["weighted", "systemd", "hard cap", "core", "image"] {
        assert!(held.iter().any(|what| what.contains(word)), "{word}: {held:?}");
    }
}
