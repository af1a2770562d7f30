//! What a game gets and what it does not get.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mainstay_holder::client::{self, Found};
use mainstay_holder::isolate;
use mainstay_holder::process::{self, Remains};
use mainstay_holder::record::Outcome;
use mainstay_holder::spec::{
    ControlGroup, Identity, Isolation, LaunchSpec, LimitedResource, Processes, ResourceLimit,
};
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::common::{Slot, program, sigkill, until, until_dead};

/// Users for these tests alone, above what distributions and name services give out.
const UID: u32 = 1_900_000_001;

/// Says loudly that a test did not run.
fn needs_root(test: &str) -> bool {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root {
        eprintln!("SKIPPED without root: {test}");
    }
    is_root
}

#[test]
fn a_game_gets_the_declared_environment_and_three_descriptors_and_nothing_else() {
    let slot = Slot::new();
    let mut spec = slot.shell("env; echo --; ls -l /proc/$$/fd | grep -c ' -> '; ls /proc/$$/fd; exit 0");
    spec.environment.insert("HOME".to_owned(), "/somewhere".to_owned());
    let launch_file = slot.run_dir().join("by-hand.json");
    std::fs::create_dir(slot.run_dir()).unwrap();
    std::fs::write(&launch_file, serde_json::to_vec(&spec).unwrap()).unwrap();
    // A starter that leaks a descriptor and a secret: the shell opens 9 without close-on-exec.
    let started = Command::new("/bin/sh")
        .args(["-c", "exec 9</dev/zero; exec \"$0\" \"$1\""])
        .args([&program("holder"), &launch_file])
        .env("MAINSTAY_TEST_SECRET", "hunter2")
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(started.success());
    assert_eq!(slot.exit().outcome, Outcome::Exited { code: 0 });
    let text = slot.stdout();
    let (environment, descriptors) = text.split_once("--\n").unwrap();
    let mut names: Vec<&str> = environment.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    // PWD is set by the shell itself.
    assert_eq!(names, ["HOME", "PATH", "PWD"], "{environment}");
    let numbers: Vec<&str> = descriptors.lines().skip(1).collect();
    assert_eq!(numbers, ["0", "1", "2"], "{descriptors}");
    assert!(!launch_file.exists(), "secrets of the launch stay no longer than needed");
}

#[test]
fn limits_and_no_new_privileges_hold() {
    let slot = Slot::new();
    let limits = vec![
        ResourceLimit { resource: LimitedResource::OpenFiles, soft: 99, hard: 100 },
        ResourceLimit { resource: LimitedResource::CoreBytes, soft: 0, hard: 0 },
    ];
    let script = "ulimit -Sn; ulimit -Hn; ulimit -c; umask; grep NoNewPrivs /proc/self/status; \
        grep SigBlk /proc/self/status; grep SigIgn /proc/self/status";
    slot.start(&LaunchSpec { limits, ..slot.shell(script) });
    slot.exit();
    let text = slot.stdout();
    let (first, ignored) = text.split_once("SigIgn:\t").unwrap();
    assert_eq!(first, "99\n100\n0\n0022\nNoNewPrivs:\t1\nSigBlk:\t0000000000000000\n");
    // Signals above 31 belong to the C library; the system decides what it starts with.
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap() & 0x7fff_ffff;
    assert_eq!(ignored, 0, "{ignored:x}");
}

/// A slot whose directory the slot's user owns and can reach.
fn owned_slot(uid: u32) -> (Slot, LaunchSpec) {
    let slot = Slot::new();
    std::fs::set_permissions(slot.dir.path(), Permissions::from_mode(0o755)).unwrap();
    let home = slot.dir.path().join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::set_permissions(&home, Permissions::from_mode(0o700)).unwrap();
    chown(&home, Some(uid), Some(uid)).unwrap();
    let spec = LaunchSpec {
        identity: Identity::Dropped { uid, gid: uid },
        working_dir: home,
        ..slot.shell("exec sleep 1000")
    };
    (slot, spec)
}

fn with_script(spec: &LaunchSpec, script: &str) -> LaunchSpec {
    LaunchSpec { arguments: vec!["-c".to_owned(), script.to_owned()], ..spec.clone() }
}

#[test]
fn a_game_runs_as_its_own_user_without_groups_and_dies_with_its_holder() {
    if !needs_root("a game runs as its own user") {
        return;
    }
    let (slot, spec) = owned_slot(UID);
    let status = slot.start(&with_script(&spec, "id -u; id -g; id -G; touch mine; exec sleep 1000"));
    until("it said who it is", || (slot.stdout().lines().count() == 3).then_some(()));
    assert_eq!(slot.stdout(), format!("{UID}\n{UID}\n{UID}\n"));
    until("it could write its home", || slot.dir.path().join("home/mine").exists().then_some(()));
    sigkill(status.holder);
    until_dead(status.game);
}

#[test]
fn a_slots_own_user_is_emptied_even_of_what_moved_to_another_session() {
    if !needs_root("emptying by user") {
        return;
    }
    let uid = UID + 1;
    let (slot, spec) = owned_slot(uid);
    let script = "setsid sh -c 'echo $$; exec sleep 1000' & exec sleep 1000";
    let status = slot.start(&with_script(&spec, script));
    let left = until("the grandchild is up", || process::mark(slot.stdout().trim().parse().ok()?).ok());
    sigkill(status.holder);
    until_dead(status.game);
    assert!(process::is_alive(left));
    let Found::HolderDead(record) = client::adopt(&slot.run_dir()).unwrap() else { panic!() };
    assert_eq!(record.own_uid, Some(uid));
    let remains = Remains { record: Some(record), groups: Vec::new(), own_uid: Some(uid), exit: None };
    assert_eq!(process::empty(&remains).unwrap().killed, 1);
    assert!(!process::is_alive(left));
}

#[test]
fn a_slot_sees_neither_the_data_directory_nor_another_slot() {
    if !needs_root("isolation of slots") {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    std::fs::set_permissions(data.path(), Permissions::from_mode(0o755)).unwrap();
    let make = |path: &str, text: &str| {
        let path = data.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        // Readable by everybody: only the missing sight protects it here.
        std::fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        path
    };
    let secret = make("credentials.json", "hunter2");
    let others = make("slots/b/home/server.json", "b");
    make("slots/a/home/server.json", "a");
    let single = make("builds/tool", "tool");
    make("builds/other", "other");
    let own = data.path().join("slots/a/home");
    chown(&own, Some(UID), Some(UID)).unwrap();
    let slot = Slot::new();
    let see = |path: &Path| format!("cat {} 2>&1; ", path.display());
    let script = [
        see(&secret),
        see(&others),
        see(&own.join("server.json")),
        see(&single),
        format!("ls {0} {0}/slots {0}/builds; ", data.path().display()),
        format!(
            "touch {}/new 2>&1; touch written; umount {} 2>&1; true",
            data.path().display(),
            data.path().display()
        ),
    ]
    .concat();
    let spec = LaunchSpec {
        identity: Identity::Dropped { uid: UID, gid: UID },
        working_dir: own.clone(),
        isolation: Some(Isolation {
            hide: vec![data.path().to_owned()],
            keep: vec![own.clone(), single, "/usr".into()],
            read_only: Vec::new(),
            processes: Processes::Own,
        }),
        ..slot.shell(&script)
    };
    slot.start(&spec);
    assert_eq!(slot.exit().outcome, Outcome::Exited { code: 0 });
    let text = slot.stdout();
    assert!(!text.contains("hunter2") && text.contains("No such file"), "{text}");
    let dir = data.path().display();
    assert!(
        text.contains(&format!("atool{dir}:\nbuilds\nslots\n\n{dir}/builds:\ntool\n\n{dir}/slots:\na\n")),
        "{text}"
    );
    assert!(
        text.contains("new': Read-only file system") || text.contains("new': Permission denied"),
        "{text}"
    );
    assert!(own.join("written").exists(), "its own part is the real one");
    assert!(std::fs::read_to_string(&secret).is_ok(), "outside nothing is covered");
}

#[test]
fn a_data_directory_inside_a_kept_build_inside_a_closed_home_stays_hidden() {
    if !needs_root("nested views") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let (clone, data) = (home.path().join("clone"), home.path().join("clone/.mainstay"));
    let own = data.join("slots/1/work");
    std::fs::create_dir_all(&own).unwrap();
    chown(&own, Some(UID), Some(UID)).unwrap();
    for (path, text) in
        [(home.path().join("diary"), "no"), (clone.join("map"), "yes"), (data.join("key"), "no")]
    {
        std::fs::write(path, text).unwrap();
    }
    let slot = Slot::new();
    let script = format!("find {} | sort; touch made", home.path().display());
    let spec = LaunchSpec {
        identity: Identity::Dropped { uid: UID, gid: UID },
        working_dir: own.clone(),
        isolation: Some(Isolation {
            hide: vec![data, home.path().to_owned()],
            keep: vec![own.clone()],
            read_only: vec![clone],
            processes: Processes::All,
        }),
        ..slot.shell(&script)
    };
    slot.start(&spec);
    assert_eq!(slot.exit().outcome, Outcome::Exited { code: 0 });
    let seen = slot.stdout().replace(home.path().to_str().unwrap(), "~");
    let expected =
        ["~", "~/clone", "~/clone/.mainstay", "~/clone/.mainstay/slots", "~/clone/.mainstay/slots/1"];
    let expected = expected.join("\n") + "\n~/clone/.mainstay/slots/1/work\n~/clone/map\n";
    assert_eq!(seen, expected);
    assert!(own.join("made").exists());
}

/// What slots share is nobody's to write, whatever its modes are and whatever is mounted in it; a slot's own directory is,
/// wherever it lies.
#[test]
fn what_is_read_only_cannot_be_written_and_a_slots_own_directory_in_it_can() {
    if !needs_root("what is read-only") {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let build = top.path().join("a build");
    let (maps, own) = (build.join("maps"), build.join("own"));
    for folder in [top.path(), &build, &maps, &own] {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
    }
    // A disk of its own, mounted with an option that must not get lost.
    mount(Some("tmpfs"), &maps, Some("tmpfs"), MsFlags::MS_NOEXEC, Some("mode=777,size=64k")).unwrap();
    std::fs::write(build.join("map"), "harbour").unwrap();
    std::fs::set_permissions(build.join("map"), Permissions::from_mode(0o666)).unwrap();
    let slot = Slot::new();
    let script = format!(
        "cd '{}'; touch new maps/new 2>&1; echo island 2>&1 > map; cat map; touch own/new; \
         grep ' {} ' /proc/self/mountinfo",
        build.display(),
        maps.display().to_string().replace(' ', r"\\040")
    );
    let spec = LaunchSpec {
        identity: Identity::Dropped { uid: UID, gid: UID },
        isolation: Some(Isolation {
            hide: Vec::new(),
            keep: vec![own.clone()],
            read_only: vec![build.clone()],
            processes: Processes::All,
        }),
        ..slot.shell(&script)
    };
    slot.start(&spec);
    let ended = slot.exit().outcome;
    umount2(&maps, MntFlags::MNT_DETACH).unwrap();
    let text = slot.stdout();
    assert_eq!(ended, Outcome::Exited { code: 0 }, "{text}");
    assert_eq!(text.matches("Read-only file system").count(), 3, "two new files, and a change: {text}");
    assert!(text.contains("harbour"), "{text}");
    assert!(own.join("new").exists() && !build.join("new").exists());
    let mounted = text.lines().last().unwrap();
    assert!(mounted.contains(" ro,") && mounted.contains("noexec"), "{text}");
}

/// Issue 2, section 7: "no sight of … other slots": their command lines hold passwords.
#[test]
fn a_slot_sees_no_process_but_its_own() {
    if !needs_root("sight of processes") || isolate::attempt() != Ok(Processes::Own) {
        eprintln!("SKIPPED: /proc cannot be mounted with hidepid here");
        return;
    }
    let slot = Slot::new();
    let script =
        format!("cat /proc/{}/cmdline 2>&1; cat /proc/self/comm; ls -d /proc/1 2>&1", std::process::id());
    let isolation =
        Isolation { hide: Vec::new(), keep: Vec::new(), read_only: Vec::new(), processes: Processes::Own };
    let identity = Identity::Dropped { uid: UID, gid: UID };
    slot.start(&LaunchSpec { identity, isolation: Some(isolation), ..slot.shell(&script) });
    slot.exit();
    let seen = slot.stdout();
    assert_eq!(seen.matches("No such file").count(), 2, "{seen}");
    assert!(seen.contains("\ncat\n"), "{seen}");
}

#[test]
fn a_hidden_directory_that_does_not_exist_stops_the_start() {
    if !needs_root("hiding a missing directory") {
        return;
    }
    let slot = Slot::new();
    let hide = vec![PathBuf::from("/no/such/directory")];
    let (keep, read_only) = (Vec::new(), Vec::new());
    let spec = LaunchSpec {
        isolation: Some(Isolation { hide, keep, read_only, processes: Processes::All }),
        ..slot.shell("exit 0")
    };
    let started = client::spawn(&program("holder"), &[], &slot.run_dir(), &spec).unwrap();
    let client::Started::SpawnFailed(record) = started else { panic!("{started:?}") };
    let Outcome::SpawnFailure(failure) = record.outcome else { panic!("{:?}", record.outcome) };
    assert!(failure.why.contains("/no/such/directory"), "{failure:?}");
}

/// A memory group of version 1 of our own, removed at the end.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    fn new(bytes: u64) -> Option<Self> {
        let path =
            PathBuf::from(format!("/sys/fs/cgroup/memory/mainstay-holder-test-{}", std::process::id()));
        if let Err(error) = std::fs::create_dir(&path) {
            eprintln!(
                "SKIPPED without a writable memory group of version 1 ({error}): an oom kill is a cause of its own"
            );
            return None;
        }
        std::fs::write(path.join("memory.limit_in_bytes"), bytes.to_string()).unwrap();
        Some(Self(path))
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        until("the group is empty", || std::fs::remove_dir(&self.0).ok());
    }
}

#[test]
fn an_oom_kill_is_a_cause_of_its_own() {
    let Some(group) = MemoryGroup::new(16 * 1024 * 1024) else { return };
    let slot = Slot::new();
    let control_group = ControlGroup {
        join: vec![group.0.join("cgroup.procs")],
        oom_counter: Some(group.0.join("memory.oom_control")),
    };
    let spec = LaunchSpec { control_group: Some(control_group), ..slot.shell("") };
    slot.start(&with_script(&spec, "x=x; while :; do x=$x$x; done"));
    let record = slot.exit();
    assert!(record.out_of_memory(), "{record:?}");
    assert_eq!(record.oom_kills, 1);

    slot.start(&LaunchSpec { run: 2, ..with_script(&spec, "kill -9 $$") });
    let record = slot.exit();
    assert!(!record.out_of_memory(), "a SIGKILL after an earlier oom kill is none: {record:?}");
}

#[test]
fn an_exit_is_recorded_on_a_full_disk() {
    if !needs_root("a full disk") {
        return;
    }
    let slot = Slot::new();
    std::fs::create_dir(slot.run_dir()).unwrap();
    mount(Some("tmpfs"), &slot.run_dir(), Some("tmpfs"), MsFlags::empty(), Some("size=64k")).unwrap();
    slot.start(&slot.shell("read line; exit 8"));
    let filler = std::io::copy(
        &mut std::io::repeat(0),
        &mut std::fs::File::create(slot.run_dir().join("filler")).unwrap(),
    );
    assert_eq!(filler.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    slot.connect().send(|id| mainstay_holder::protocol::Request::Input { id, line: String::new() }).unwrap();
    assert_eq!(slot.exit().outcome, Outcome::Exited { code: 8 });
    umount2(&slot.run_dir(), MntFlags::MNT_DETACH).unwrap();
}
