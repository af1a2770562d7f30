//! Real games under real holders: the exit of a game is never lost, whoever is killed.

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use mainstay_holder::client::{self, ClientError, Found, Started};
use mainstay_holder::process::{self, Emptied, Remains};
use mainstay_holder::protocol::{Request, Stream};
use mainstay_holder::record::{HOLDER_FILE, HolderRecord, Outcome, OutputKept, ProcessMark, SpawnStage};
use mainstay_holder::spec::{ControlGroup, LaunchSpec, LimitedResource, ResourceLimit};
use mainstay_holder::{EXIT_BAD_SPEC, EXIT_SLOT_TAKEN, lock, output, record};
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::{SPAWNER, Slot, program, sigkill, until, until_dead};

#[test]
fn a_game_and_its_exit_code_survive_the_sigkill_of_whoever_started_it() {
    let slot = Slot::new();
    let spec = slot.shell("read line; echo \"heard $line\"; exit 42");
    let spec_file = slot.dir.path().join("wish.json");
    std::fs::write(&spec_file, serde_json::to_vec(&spec).unwrap()).unwrap();
    let mut starter = Command::new(program("starter"))
        .args([&program("holder"), &slot.run_dir(), &spec_file])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(starter.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let game: i32 = line.trim().parse().unwrap();
    starter.kill().unwrap();
    starter.wait().unwrap();

    let Found::Running(mut connection) = client::adopt(&slot.run_dir()).unwrap() else {
        panic!("not running")
    };
    assert_eq!(connection.status.game.pid, game);
    assert!(process::is_alive(connection.status.game));
    assert!(process::is_alive(connection.status.holder));
    assert_eq!((connection.status.generation, connection.status.run), (7, 1));
    assert_eq!(connection.status.boot_id, process::boot_id().unwrap());

    connection.send(|id| Request::Input { id, line: "hello".to_owned() }).unwrap();
    let told = connection.wait_exit(30_000).unwrap();
    assert_eq!(told.outcome, Outcome::Exited { code: 42 });
    assert_eq!(slot.exit(), told, "the file is the truth");
    assert_eq!(slot.stdout(), "heard hello\n");
    until("the holder is gone", || (!process::is_alive(connection.status.holder)).then_some(()));
}

#[test]
fn killing_the_starter_at_any_moment_leaves_no_holder_or_a_whole_one() {
    for delay in 0..20 {
        let slot = Slot::new();
        let spec = slot.shell("exec sleep 1000");
        let spec_file = slot.dir.path().join("wish.json");
        std::fs::write(&spec_file, serde_json::to_vec(&spec).unwrap()).unwrap();
        let mut starter = Command::new(program("starter"))
            .args([&program("holder"), &slot.run_dir(), &spec_file])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(delay * 500));
        starter.kill().unwrap();
        starter.wait().unwrap();
        if !slot.run_dir().exists() {
            continue;
        }
        let found = client::adopt(&slot.run_dir()).unwrap();
        assert!(matches!(found, Found::Running(_) | Found::Nothing), "delay {delay}: {found:?}");
        // A holder may still be on its way; whoever starts now gets the slot or is told that it is taken.
        let again = client::spawn(&program("holder"), &[], &slot.run_dir(), &spec);
        let is_one = matches!(again, Ok(Started::Running(_)) | Err(ClientError::SlotTaken { .. }));
        assert!(is_one, "delay {delay}: {again:?}");
        assert!(process::is_alive(slot.adopt().status.game), "delay {delay}");
    }
}

#[test]
fn the_sigkill_of_a_holder_kills_its_game_and_reads_as_the_machines_loss() {
    let slot = Slot::new();
    let status = slot.start(&slot.shell("exec sleep 1000"));
    sigkill(status.holder);
    until_dead(status.game);
    let found = client::adopt(&slot.run_dir()).unwrap();
    let Found::HolderDead(record) = found else { panic!("{found:?}") };
    assert_eq!((record.run, record.game), (1, Some(status.game)));
}

#[test]
fn a_dead_holder_of_a_later_run_is_not_mistaken_for_the_exit_before() {
    let slot = Slot::new();
    slot.start(&slot.shell("exit 5"));
    assert_eq!(slot.exit().outcome, Outcome::Exited { code: 5 });
    let second = LaunchSpec { run: 2, ..slot.shell("exec sleep 1000") };
    let status = slot.start(&second);
    sigkill(status.holder);
    until_dead(status.game);
    let found = client::adopt(&slot.run_dir()).unwrap();
    assert!(matches!(&found, Found::HolderDead(record) if record.run == 2), "{found:?}");
}

/// No run has two games: a launch that comes when the run's end is on record already is refused, and the record stays.
#[test]
fn a_run_that_has_ended_is_not_started_again() {
    let slot = Slot::new();
    let spec = slot.shell("echo again >> started; exit 5");
    slot.start(&spec);
    let ended = slot.exit();
    until("the first holder is gone", || (!lock::is_held(&slot.run_dir()).unwrap()).then_some(()));
    let error = SPAWNER.spawn(&slot.run_dir(), &spec).unwrap_err();
    assert!(matches!(error, ClientError::SlotTaken { .. }), "{error}");
    let found = client::adopt(&slot.run_dir()).unwrap();
    let Found::Exited(record) = found else { panic!("{found:?}") };
    assert_eq!(record, ended);
    assert_eq!(std::fs::read_to_string(slot.dir.path().join("started")).unwrap(), "again\n");
    slot.start(&LaunchSpec { run: 2, ..slot.shell("exit 6") });
    assert_eq!(slot.exit().outcome, Outcome::Exited { code: 6 });
}

/// Starts a grandchild by `$START`, waits until its pid is known, and then does `$THEN`.
const GRANDCHILD: &str = "$START sh -c 'echo $$ > grandchild.new; mv grandchild.new grandchild; exec sleep 1000' & \
     while [ ! -s grandchild ]; do sleep 0.01; done; $THEN";

fn with_grandchild(slot: &Slot, start: &str, then: &str) -> LaunchSpec {
    slot.shell(&GRANDCHILD.replace("$START", start).replace("$THEN", then))
}

fn grandchild(slot: &Slot) -> ProcessMark {
    until("the grandchild runs", || {
        let text = std::fs::read_to_string(slot.dir.path().join("grandchild")).ok()?;
        process::mark(text.trim().parse().ok()?).ok()
    })
}

#[test]
fn what_a_game_leaves_behind_is_killed_whatever_session_it_is_in() {
    for start in ["", "setsid", "setsid setsid"] {
        let slot = Slot::new();
        slot.start(&with_grandchild(&slot, start, "read line; exit 3"));
        let left = grandchild(&slot);
        let mut connection = slot.connect();
        connection.send(|id| Request::Input { id, line: String::new() }).unwrap();
        let record = connection.wait_exit(30_000).unwrap();
        assert_eq!(record.outcome, Outcome::Exited { code: 3 });
        assert!(!process::is_alive(left), "started by {start:?}");
        assert_eq!((record.leftovers_killed, record.leftovers_alive), (1, 0), "started by {start:?}");
    }
}

#[test]
fn a_slot_without_a_holder_is_emptied_by_the_games_session() {
    let slot = Slot::new();
    let status = slot.start(&with_grandchild(&slot, "", "exec sleep 1000"));
    let left = grandchild(&slot);
    sigkill(status.holder);
    until_dead(status.game);
    assert!(process::is_alive(left), "the death signal reaches only the game itself");
    let Found::HolderDead(record) = client::adopt(&slot.run_dir()).unwrap() else { panic!() };
    let remains = Remains { record: Some(record), groups: Vec::new(), own_uid: None, exit: None };
    let emptied = process::empty(&remains).unwrap();
    // Two if the game died while it was still waiting with a short sleep.
    assert!((1..=2).contains(&emptied.killed) && emptied.alive == 0, "{emptied:?}");
    assert!(!process::is_alive(left));
    assert_eq!(process::empty(&remains).unwrap(), Emptied::default(), "once more does nothing");
}

#[test]
fn a_record_of_another_boot_or_of_a_reused_pid_kills_nobody() {
    let slot = Slot::new();
    let status = slot.start(&slot.shell("exec sleep 1000"));
    let mut other_boot = record::read::<HolderRecord>(&slot.run_dir(), HOLDER_FILE).unwrap().unwrap();
    let mut reused = other_boot.clone();
    "another".clone_into(&mut other_boot.boot_id);
    reused.game = Some(ProcessMark { start_ticks: status.game.start_ticks - 1, ..status.game });
    for record in [other_boot, reused] {
        let remains = Remains { record: Some(record.clone()), groups: Vec::new(), own_uid: None, exit: None };
        assert_eq!(process::empty(&remains).unwrap(), Emptied::default(), "{record:?}");
    }
    assert!(process::is_alive(status.game));
}

#[test]
fn a_second_start_of_a_slot_fails_with_a_code_of_its_own_and_leaves_the_first_alone() {
    let slot = Slot::new();
    let spec = slot.shell("exec sleep 1000");
    let status = slot.start(&spec);
    let refused = client::spawn(&program("holder"), &[], &slot.run_dir(), &spec);
    assert!(matches!(refused, Err(ClientError::SlotTaken { .. })), "{refused:?}");

    let launch_file = slot.run_dir().join("by-hand.json");
    std::fs::write(&launch_file, serde_json::to_vec(&spec).unwrap()).unwrap();
    let code =
        Command::new(program("holder")).arg(&launch_file).stdout(Stdio::null()).status().unwrap().code();
    assert_eq!(code, Some(i32::from(EXIT_SLOT_TAKEN)));
    assert_eq!(slot.connect().status, status);
}

#[test]
fn a_launch_that_this_version_does_not_fully_understand_is_refused() {
    let slot = Slot::new();
    std::fs::create_dir(slot.run_dir()).unwrap();
    let spec = serde_json::to_value(slot.shell("exit 0")).unwrap();
    let with = |name: &str, value: serde_json::Value| {
        let mut changed = spec.clone();
        changed[name] = value;
        changed.to_string()
    };
    let cases = [
        (with("version", 2.into()), "version 2"),
        (with("seccomp", "strict".into()), "seccomp"),
        (with("executable", "game".into()), "executable"),
        (with("working_dir", ".".into()), "working_dir"),
        ("{".to_owned(), "parse"),
    ];
    for (text, named) in cases {
        let launch_file = slot.run_dir().join("by-hand.json");
        std::fs::write(&launch_file, &text).unwrap();
        let output = Command::new(program("holder")).arg(&launch_file).output().unwrap();
        assert_eq!(output.status.code(), Some(i32::from(EXIT_BAD_SPEC)), "{text}");
        let report = String::from_utf8(output.stdout).unwrap();
        assert!(report.contains(named), "{report} does not name {named}");
    }
    assert!(matches!(client::adopt(&slot.run_dir()).unwrap(), Found::Nothing));
}

#[test]
fn holder_outlives_the_signals_of_a_terminal_and_of_a_shutdown() {
    let slot = Slot::new();
    let status = slot.start(&slot.shell("trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done"));
    until("the game is ready", || slot.stdout().contains("ready").then_some(()));
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        kill(Pid::from_raw(status.holder.pid), signal).unwrap();
    }
    kill(Pid::from_raw(status.game.pid), Signal::SIGTERM).unwrap();
    assert_eq!(slot.exit().outcome, Outcome::Exited { code: 9 });
}

#[test]
fn no_start_is_mistaken_for_an_exit() {
    let slot = Slot::new();
    let not_executable = slot.dir.path().join("data");
    std::fs::write(&not_executable, "no program").unwrap();
    let without_interpreter = slot.dir.path().join("script");
    std::fs::write(&without_interpreter, "#!/no/such/interpreter\n").unwrap();
    let no_format = slot.dir.path().join("noise");
    std::fs::write(&no_format, [0xff; 64]).unwrap();
    for program in [&without_interpreter, &no_format] {
        std::fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
    }
    let holder = program("holder");
    let program = |path: &Path| slot.program(path.to_str().unwrap(), &[]);
    let nowhere = slot.dir.path().join("nowhere");
    let group = ControlGroup { join: vec![nowhere.join("cgroup.procs")], oom_counter: None };
    let raised = ResourceLimit { resource: LimitedResource::OpenFiles, soft: 10, hard: 5 };
    let cases = [
        (program(&nowhere), SpawnStage::Execute, libc::ENOENT),
        (program(slot.dir.path()), SpawnStage::Execute, libc::EACCES),
        (program(&not_executable), SpawnStage::Execute, libc::EACCES),
        (program(&without_interpreter), SpawnStage::Execute, libc::ENOENT),
        (program(&no_format), SpawnStage::Execute, libc::ENOEXEC),
        (LaunchSpec { working_dir: nowhere.clone(), ..slot.shell("") }, SpawnStage::WorkingDir, libc::ENOENT),
        (LaunchSpec { control_group: Some(group), ..slot.shell("") }, SpawnStage::ControlGroup, libc::ENOENT),
        (LaunchSpec { limits: vec![raised], ..slot.shell("") }, SpawnStage::Limits, libc::EINVAL),
        (slot.program("/bin/sh", &["-c", "a\0b"]), SpawnStage::Prepare, libc::EINVAL),
    ];
    for (run, (spec, stage, errno)) in cases.into_iter().enumerate() {
        let spec = LaunchSpec { run: run as u64, ..spec };
        let started = client::spawn(&holder, &[], &slot.run_dir(), &spec).unwrap();
        let Started::SpawnFailed(record) = started else { panic!("{spec:?} started") };
        let Outcome::SpawnFailure(failure) = &record.outcome else { panic!("{record:?}") };
        assert_eq!((failure.stage, failure.errno), (stage, errno), "{failure:?}");
        assert_eq!(slot.exit(), record);
    }
}

#[test]
fn output_of_earlier_runs_is_kept_and_bounded() {
    let slot = Slot::new();
    for run in 1..=3 {
        let script = format!(
            "i=0; while [ $i -lt 100 ]; do echo run {run} line $i; i=$((i+1)); done; echo e{run} >&2"
        );
        let mut spec = LaunchSpec { run, ..slot.shell(&script) };
        spec.output.bytes_max = 1000;
        spec.output.files_max = 3;
        slot.start(&spec);
        let exit = slot.exit();
        assert_eq!(exit.output_bytes_lost, 0);
        // "run 1 line 0" and its end of line, ten times; then two digits, ninety times.
        assert_eq!(exit.output_kept, Some(OutputKept { stdout: 10 * 13 + 90 * 14, stderr: 3 }));
    }
    let dir = slot.dir.path().join("output");
    let mut kept = String::new();
    for number in (0..3).rev() {
        let text = std::fs::read_to_string(output::path(&dir, Stream::Stdout, number)).unwrap();
        assert!(text.len() <= 1000);
        kept.push_str(&text);
    }
    assert!(!output::path(&dir, Stream::Stdout, 3).exists());
    let whole: String =
        (1..=3).flat_map(|run| (0..100).map(move |i| format!("run {run} line {i}\n"))).collect();
    assert!(whole.ends_with(&kept), "the newest output, without a gap");
    assert_eq!(std::fs::read_to_string(output::path(&dir, Stream::Stderr, 0)).unwrap(), "e1\ne2\ne3\n");
}

/// The starter is killed after it wrote the launch and before its holder took the lock: the next look takes the launch
/// away, and the holder that comes late starts nothing.
#[test]
fn a_holder_that_is_late_starts_nothing() {
    let slot = Slot::new();
    std::fs::create_dir_all(slot.run_dir()).unwrap();
    let launch = slot.run_dir().join("launch.4711.json");
    let marker = slot.dir.path().join("started");
    let spec = slot.shell(&format!("touch {}", marker.display()));
    std::fs::write(&launch, serde_json::to_vec(&spec).unwrap()).unwrap();
    assert!(matches!(client::adopt(&slot.run_dir()).unwrap(), Found::Nothing));
    let late = std::process::Command::new(program("holder")).arg(&launch).output().unwrap();
    assert!(!late.status.success(), "{late:?}");
    assert!(matches!(client::adopt(&slot.run_dir()).unwrap(), Found::Nothing));
    assert!(!marker.exists());
}
