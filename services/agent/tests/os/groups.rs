//! Control groups and measurements with real processes.

use std::path::Path;

use mainstay_agent::os::cgroup::{Groups, SlotGroup, Version};
use mainstay_agent::os::measure::Meter;
use mainstay_core::slot::{Caps, Limits};
use mainstay_holder::client::{self, Found};
use mainstay_holder::process;
use mainstay_holder::protocol::{Request, Target};
use mainstay_holder::spec::LaunchSpec;
use nix::libc;

use crate::common::{Data, Slot, sigkill, until, until_dead};

const LIMITS: Limits = Limits { cpu_millis: 500, memory_mib: 16 };
/// Seed 001's.
const MEMORY_TOLERANCE_BYTES: u64 = 200_000_000;
const NO_CAPS: Caps = Caps { cpu_millis: None, memory_mib: None };

fn group(groups: &Groups, slot: &Slot) -> SlotGroup {
    groups.slot(slot.server).unwrap()
}

fn launch(slot: &Slot, group: &SlotGroup, script: &str) -> LaunchSpec {
    LaunchSpec { control_group: Some(group.launch()), ..slot.shell(script) }
}

/// The text of a file in one of the group's directories.
fn setting(group: &SlotGroup, file: &str) -> String {
    let dirs = group.members_files();
    let found = dirs.iter().find_map(|procs| std::fs::read_to_string(procs.with_file_name(file)).ok());
    found.unwrap_or_else(|| panic!("no {file} in {dirs:?}")).trim().to_owned()
}

#[test]
fn a_slot_is_weighted_by_default_and_capped_only_if_asked() {
    let data = Data::new();
    let Some(groups) = data.groups("weights and caps") else { return };
    let slot = data.slot(0);
    let group = group(groups, &slot);
    let names = match groups.version() {
        Version::One => ["cpu.shares", "cpu.cfs_quota_us", "memory.limit_in_bytes"],
        Version::Two => ["cpu.weight", "cpu.max", "memory.max"],
    };
    let settings = || names.map(|name| setting(&group, name));
    let before = settings();
    let caps = Caps { cpu_millis: Some(250), memory_mib: Some(256) };
    group.allow(LIMITS, caps, MEMORY_TOLERANCE_BYTES).unwrap();
    let expected = match groups.version() {
        Version::One => ["512", "25000", "268435456"],
        Version::Two => ["50", "25000 100000", "268435456"],
    };
    assert_eq!(settings(), expected);
    group.allow(LIMITS, NO_CAPS, MEMORY_TOLERANCE_BYTES).unwrap();
    assert_eq!(settings()[1..], before[1..], "caps that are no longer asked for are lifted");

    let too_low = Caps { cpu_millis: None, memory_mib: Some(200) };
    let error = group.allow(LIMITS, too_low, MEMORY_TOLERANCE_BYTES).unwrap_err();
    assert_eq!(error.code(), "MS-S503");
    assert!(error.to_string().contains(&MEMORY_TOLERANCE_BYTES.to_string()), "{error}");
    group.remove().unwrap();
}

#[test]
fn cpu_and_memory_of_the_whole_tree_are_measured_alike_with_and_without_a_group() {
    let data = Data::new();
    let slot = data.slot(0);
    // A grandchild burns in a session of its own, while the game itself holds 32 MB and sleeps.
    let script = "setsid sh -c 'while :; do :; done' & x=$(head -c 32000000 /dev/zero | tr '\\0' x); \
        echo ready; exec 3<&0; read line; echo ${#x}";
    let group = data.groups("measuring by group").map(|groups| group(groups, &slot));
    let spec = match &group {
        Some(group) => launch(&slot, group, script),
        None => slot.shell(script),
    };
    let status = slot.start(&spec);
    until("the game is ready", || slot.stdout().contains("ready").then_some(()));
    let meters = [group.as_ref().map(Meter::Group), Some(Meter::Tree(status.holder))];
    for meter in meters.into_iter().flatten() {
        let before = meter.read().unwrap();
        assert!(before.memory_bytes > 32_000_000, "{meter:?} {before:?}");
        assert!(before.memory_bytes < 128_000_000, "{meter:?} {before:?}");
        let after = until("the grandchild burnt half a second", || {
            let after = meter.read().unwrap();
            (after.cpu_ns >= before.cpu_ns + 500_000_000).then_some(after)
        });
        assert!(after.cpu_ns < before.cpu_ns + 60_000_000_000, "{meter:?}");
    }
    let ended = process::mark(status.holder.pid).unwrap();
    slot.connect().send(|id| Request::Signal { id, number: libc::SIGKILL, to: Target::Tree }).unwrap();
    slot.exit();
    until_dead(ended);
    let error = Meter::Tree(status.holder).read().unwrap_err();
    assert_eq!(error.code(), "MS-S507");
    if let Some(group) = group {
        group.remove().unwrap();
    }
}

#[test]
fn an_oom_kill_under_a_cap_is_told_from_any_other_kill() {
    let data = Data::new();
    let Some(groups) = data.groups("oom kills") else { return };
    let slot = data.slot(0);
    let group = group(groups, &slot);
    let caps = Caps { cpu_millis: None, memory_mib: Some(220) };
    group.allow(LIMITS, caps, MEMORY_TOLERANCE_BYTES).unwrap();
    slot.start(&launch(&slot, &group, "x=x; while :; do x=$x$x; done"));
    let record = slot.exit();
    assert!(record.out_of_memory(), "{record:?}");
    assert_eq!(group.oom_kills().unwrap(), 1);
    slot.start(&LaunchSpec { run: 2, ..launch(&slot, &group, "kill -9 $$") });
    let record = slot.exit();
    assert!(!record.out_of_memory(), "{record:?}");
    group.remove().unwrap();
}

#[test]
fn a_group_is_emptied_of_what_outlived_a_killed_holder_and_then_swept() {
    let data = Data::new();
    let Some(groups) = data.groups("emptying a group") else { return };
    let slot = data.slot(0);
    let group = group(groups, &slot);
    let script = "setsid sh -c 'echo $$; exec sleep 1000' & exec sleep 1000";
    let status = slot.start(&launch(&slot, &group, script));
    let left = until("the grandchild runs", || process::mark(slot.stdout().trim().parse().ok()?).ok());
    sigkill(status.holder);
    until_dead(status.game);
    assert!(process::is_alive(left), "it is in a session of its own");
    assert!(matches!(client::adopt(&slot.dirs.run).unwrap(), Found::HolderDead(_)));

    groups.sweep(&[]).unwrap();
    assert!(group.members_files().iter().all(|file| file.exists()), "a group with a process is not swept");
    let emptied = group.kill_all().unwrap();
    assert_eq!((emptied.killed, emptied.alive), (1, 0));
    assert!(!process::is_alive(left));

    groups.sweep(&[slot.server]).unwrap();
    assert!(group.members_files().iter().all(|file| file.exists()), "a group to keep is not swept");
    until("the empty group is swept", || {
        groups.sweep(&[]).unwrap();
        group.members_files().iter().all(|file| !file.exists()).then_some(())
    });
}

/// An agent that was killed and whose data directory was deleted leaves groups that the next agent on the machine takes away; in
/// every hierarchy, since a container runtime makes them in each. What another agent has stays.
#[test]
fn groups_whose_data_directory_is_gone_are_taken_away_by_the_next_agent() {
    let (gone, stays) = (Data::new(), Data::new());
    let (Some(groups), Some(others)) = (gone.groups("orphaned groups"), stays.groups("others' groups"))
    else {
        return;
    };
    let (orphan, kept) = (group(groups, &gone.slot(0)), group(others, &stays.slot(0)));
    let mut files = orphan.members_files();
    // As runc does, which also knows the hierarchies that nothing is measured in.
    let pids = Path::new("/sys/fs/cgroup/pids");
    let elsewhere = pids.join(orphan.name());
    if pids.exists() {
        std::fs::create_dir_all(&elsewhere).unwrap();
        files.push(elsewhere.join("cgroup.procs"));
    }
    assert!(files.iter().all(|file| file.exists()), "{files:?}");
    // Made first, or it may get the very inode that is freed, and with it the groups.
    let next = tempfile::tempdir().unwrap();
    std::fs::remove_dir_all(gone.path()).unwrap();
    let groups = Groups::find("mainstay-test", next.path()).unwrap().unwrap();
    assert!(files.iter().all(|file| !file.parent().unwrap().parent().unwrap().exists()), "{files:?}");
    assert!(kept.members_files().iter().all(|file| file.exists()));
    groups.sweep(&[]).unwrap();
}

#[test]
fn groups_that_cannot_be_written_are_said_and_not_used() {
    let data = tempfile::tempdir().unwrap();
    // A name that no kernel makes a group of.
    let missing = Groups::find("a\0b", data.path()).unwrap().unwrap_err();
    let text = missing.to_string();
    assert!(text.starts_with("no control groups (cpu, ") && text.ends_with("are read from /proc"), "{text}");
}
