//! The process that forks holders: it may die at any moment, and it dies with its agent.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use mainstay_holder::client::{ClientError, Spawner, Started};
use mainstay_holder::process;
use mainstay_holder::record::ProcessMark;
use mainstay_holder::spawner::SPAWNER_WORD;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};

use crate::common::{Slot, program, sigkill, until, until_dead};

/// The spawner that this test's own process has started.
fn spawner_of_this_process() -> ProcessMark {
    let children = process::descendants(std::process::id().cast_signed()).unwrap();
    let is_spawner = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.ends_with(format!("{SPAWNER_WORD}\0").as_bytes()) && parent(*pid) == std::process::id()
    };
    let pids: Vec<i32> = children.into_iter().filter(is_spawner).collect();
    let [pid] = pids.as_slice() else { panic!("{pids:?}") };
    process::mark(*pid).unwrap()
}

fn parent(pid: i32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = stat.rsplit(") ").next().unwrap_or_default();
    rest.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_default()
}

#[test]
fn a_killed_spawner_takes_no_game_along_and_the_next_start_has_a_new_one() {
    let spawner = Spawner::new(program("holder"), Vec::new());
    let (first, second) = (Slot::new(), Slot::new());
    let Started::Running(status) = spawner.spawn(&first.run_dir(), &first.shell("exec sleep 1000")).unwrap()
    else {
        panic!()
    };
    let killed = spawner_of_this_process();
    sigkill(killed);
    until_dead(killed);
    assert!(process::is_alive(status.game));
    assert_eq!(first.adopt().status, status);
    let Started::Running(other) = spawner.spawn(&second.run_dir(), &second.shell("exec sleep 1000")).unwrap()
    else {
        panic!()
    };
    assert_ne!(spawner_of_this_process(), killed);
    drop(spawner);
    assert!(process::is_alive(status.game) && process::is_alive(other.game));
}

#[test]
fn a_spawner_that_cannot_be_started_is_an_error_of_the_executable() {
    let slot = Slot::new();
    let spawner = Spawner::new("/no/such/program".into(), Vec::new());
    let error = spawner.spawn(&slot.run_dir(), &slot.shell("exit 0")).unwrap_err();
    assert!(matches!(error, ClientError::Executable { .. }), "{error:?}");
    let left: Vec<_> =
        std::fs::read_dir(slot.run_dir()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "the launch holds secrets: {left:?}");
}

#[test]
fn what_is_no_launch_is_passed_over_and_the_end_of_the_agent_is_its_own() {
    let (line, theirs): (OwnedFd, OwnedFd) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    let mut child = Command::new(program("holder"))
        .arg(SPAWNER_WORD)
        .stdin(theirs)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    for hostile in [&b"no descriptor"[..], &[0; 5000], b"\xff\xfe", b"/"] {
        send(&line, hostile, SendFlags::NOSIGNAL).unwrap();
    }
    assert!(child.try_wait().unwrap().is_none());
    drop(line);
    let status = until("the spawner has ended", || child.try_wait().unwrap());
    assert!(status.success(), "{status}");
}

#[test]
fn standard_input_that_is_no_socket_ends_a_spawner_with_a_code() {
    let child = Command::new(program("holder"))
        .arg(SPAWNER_WORD)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output: io::Result<_> = child.wait_with_output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(i32::from(mainstay_holder::EXIT_SYSTEM)));
    assert!(String::from_utf8_lossy(&output.stderr).contains("spawner"), "{output:?}");
}
