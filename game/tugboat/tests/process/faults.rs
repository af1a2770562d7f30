//! Misbehaving, by argument and by command: each fault does what it says to the real process.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::Duration;

use mainstay_tugboat::client::{ClientError, control, look};
use mainstay_tugboat::message::Reason;
use nix::sys::signal::Signal;

use crate::server::{PATIENCE, Server, TOKEN, probe, until};

fn status_line(pid: u32, name: &str) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
}

fn resident_kib(pid: u32) -> u64 {
    let line = status_line(pid, "VmRSS:").unwrap();
    line.trim_end_matches(" kB").parse().unwrap()
}

/// User time of all threads, in the kernel's ticks of 10 ms.
fn user_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    after_name.split_whitespace().nth(11).unwrap().parse().unwrap()
}

#[test]
fn deaths_by_argument() {
    for (fault, code, signal) in [
        ("crash@10ms", None, Some(Signal::SIGSEGV)),
        ("abort@10ms", None, Some(Signal::SIGABRT)),
        ("exit0@10ms", Some(0), None),
        ("exit=3@10ms", Some(3), None),
        ("exit=255", Some(255), None),
    ] {
        let mut server = Server::start(&["--port", "0", "--fault", fault]);
        let status = server.ended();
        assert_eq!(status.code(), code, "{fault}");
        assert_eq!(status.signal(), signal.map(|signal| signal as i32), "{fault}");
    }
}

#[test]
fn deaths_by_command() {
    for (command, code, signal) in [("crash", None, Some(11)), ("exit=7", Some(7), None)] {
        let mut server = Server::start(&["--port", "0"]);
        control(server.game(), TOKEN, command, PATIENCE).unwrap();
        let status = server.ended();
        assert_eq!((status.code(), status.signal()), (code, signal), "{command}");
    }
}

#[test]
fn a_command_waits_for_a_game_that_is_not_there_yet() {
    let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let absent = control(free, TOKEN, "exit=7", Duration::from_millis(100));
    assert!(matches!(absent, Err(ClientError::Silent(_))), "{absent:?}");
    let mut server = thread::scope(|scope| {
        let commanded = scope.spawn(|| control(free, TOKEN, "exit=7", PATIENCE));
        let server = Server::start(&["--port", &free.port().to_string()]);
        commanded.join().unwrap().unwrap();
        server
    });
    assert_eq!(server.ended().code(), Some(7));
}

#[test]
fn commands_need_the_token_and_a_name() {
    let mut server = Server::start(&["--port", "0"]);
    let game = server.game();
    let patience = Duration::from_millis(300);
    assert!(matches!(control(game, "guess", "crash", patience), Err(ClientError::Silent(_))));
    let unknown = control(game, TOKEN, "sing", PATIENCE);
    assert!(matches!(unknown, Err(ClientError::Refused(Reason::Command))), "{unknown:?}");
    assert!(look(game, PATIENCE).is_ok());
}

#[test]
fn a_hung_server_lives_and_is_deaf() {
    let mut server = Server::start(&["--port", "0"]);
    let (game, query) = (server.game(), server.query());
    control(game, TOKEN, "hang", PATIENCE).unwrap();
    server.line("fault Hang");
    assert_eq!(probe("sqp", query), None);
    server.signal(Signal::SIGTERM);
    assert!(matches!(look(game, Duration::from_millis(300)), Err(ClientError::Silent(_))));
    assert!(server.runs(), "SIGTERM stays unread");
    server.signal(Signal::SIGKILL);
    assert_eq!(server.ended().signal(), Some(9));
}

#[test]
fn a_mute_server_plays_on() {
    let mut server = Server::start(&["--port", "0"]);
    let (game, query) = (server.game(), server.query());
    assert!(probe("sqp", query).is_some());
    control(game, TOKEN, "mute-query", PATIENCE).unwrap();
    assert_eq!(probe("sqp", query), None);
    assert!(look(game, PATIENCE).is_ok());
}

#[test]
fn memory_is_really_eaten() {
    let mut server = Server::start(&["--port", "0"]);
    let game = server.game();
    let before = resident_kib(server.pid());
    control(game, TOKEN, "eat-memory=40M", PATIENCE).unwrap();
    until("40 MiB more", || (resident_kib(server.pid()) >= before + 40 * 1024).then_some(()));
    assert!(look(game, PATIENCE).is_ok());
}

#[test]
fn cpu_is_really_eaten() {
    let mut server = Server::start(&["--port", "0", "--fault", "eat-cpu"]);
    server.line("fault EatCpu(1)");
    until("half a second of user time", || (user_ticks(server.pid()) >= 50).then_some(()));
    assert!(look(server.game(), PATIENCE).is_ok(), "it answers all the same");
    server.signal(Signal::SIGTERM);
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn a_slow_start_is_no_answer_yet_but_can_be_stopped() {
    let mut server = Server::start(&["--port", "0", "--fault", "slow-start=60m"]);
    server.line("fault slow-start");
    assert!(!server.log().contains("ready"));
    server.signal(Signal::SIGTERM);
    assert_eq!(server.ended().code(), Some(0));

    let mut server = Server::start(&["--port", "0", "--fault", "slow-start=50ms"]);
    assert!(look(server.game(), PATIENCE).is_ok());
}

#[test]
fn sigterm_can_be_ignored() {
    let mut server = Server::start(&["--port", "0", "--fault", "ignore-sigterm"]);
    server.line("fault IgnoreSigterm");
    server.signal(Signal::SIGTERM);
    server.line("ignored SIGTERM");
    assert!(look(server.game(), PATIENCE).is_ok());
    server.signal(Signal::SIGKILL);
    assert_eq!(server.ended().signal(), Some(9));
}

#[test]
fn a_grandchild_outlives_its_parents_in_their_session() {
    let mut server = Server::start(&["--port", "0"]);
    control(server.game(), TOKEN, "fork-grandchild", PATIENCE).unwrap();
    let line = server.line("grandchild pid=");
    let pid: i32 = line.rsplit_once('=').unwrap().1.parse().unwrap();
    let process = nix::unistd::Pid::from_raw(pid);
    let session = |pid: nix::unistd::Pid| nix::unistd::getsid(Some(pid)).unwrap();
    assert_eq!(session(process), session(nix::unistd::Pid::this()));
    let parent = status_line(pid.cast_unsigned(), "PPid:").unwrap();
    assert_ne!(parent, server.pid().to_string(), "an orphan");

    server.signal(Signal::SIGKILL);
    server.ended();
    nix::sys::signal::kill(process, None).unwrap();
    nix::sys::signal::kill(process, Signal::SIGKILL).unwrap();
}
