//! Misbehavior, pre-recovery and back-off of seed 001 with real processes: what is read of them, the signal, the evidence.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mainstay_core::slot::{Check, Checks, Exit, Fault, Heard, Incident, Intent, Killer, Limits, Phase, Spec};
use mainstay_wire::native::DatedReadingView;
use rustix::process::{Pid, Signal};
use tokio::net::UdpSocket;

use crate::games::{Build, is_alive, one_byte_query};
use crate::host::{Host, example, until};
use crate::plane::{Plane, allocation};

const A: u128 = 0xa;
const B: u128 = 0xb;

/// Quick checks: the numbers are settings.
fn checked(spec: Spec) -> Spec {
    let checks = Checks {
        every: Duration::from_millis(300),
        failures: 2,
        memory_tolerance_bytes: 10_000_000,
        ..Checks::default()
    };
    Spec { checks, ..spec }
}

const SEGV: Option<Exit> = Some(Exit::Signal { signal: 11, killed_by: Killer::Unknown });

fn misbehaved(check: Check) -> impl Fn(&Incident) -> bool {
    move |incident| incident.fault == Fault::Misbehaviour(check) && incident.exit.is_some()
}

/// "Within the expected CPU usage limits": it gets SIGSEGV, is restarted with the same allocation ID, and backs off when
/// it goes on. The evidence is kept. Shows `core archive`.
#[tokio::test(flavor = "multi_thread")]
async fn too_much_cpu_is_misbehaviour_restart_and_back_off() {
    let (build, host) = (Build::new(), Host::new(1));
    let spec = checked(build.spec(1, "busy"));
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    let first = plane.online(1).await;
    let incident = plane.incident(1, "the first misbehaviour", misbehaved(Check::Cpu)).await;
    assert_eq!((incident.exit, incident.allocation), (SEGV, Some(allocation(A))));
    assert!(incident.cause.starts_with("failed its cpu check 2 times within 30 min: "), "{}", incident.cause);
    assert_eq!(&*incident.last_words, "busy now\n");
    let evidence = host.dirs(1).evidence.join(incident.run.to_string());
    let kept =
        until("the evidence is kept", || std::fs::read_to_string(evidence.join("incident.json")).ok()).await;
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(
        (&kept["kind"], &kept["check"], &kept["signal"]),
        (&"misbehaviour".into(), &"cpu".into(), &11.into())
    );
    assert_eq!(kept["allocationId"], allocation(A).to_string());

    let phase = plane.until(1, "backed off", |phase| matches!(phase, Phase::BackedOff { .. })).await;
    let Phase::BackedOff { crashes: 2, cause } = phase else { panic!("{phase:?}") };
    assert!(cause.starts_with("misbehaved: failed its cpu check"), "{cause}");
    // The evidence of the second run holds its own last words, not those of the first before them.
    let second = host.dirs(1).evidence.join((incident.run + 1).to_string());
    for kept in [evidence, second] {
        // The last of it to be written.
        let log = || std::fs::read_to_string(kept.join("game.log")).ok().filter(|log| !log.is_empty());
        until("the evidence is complete", log).await;
        let readings = std::fs::read(kept.join("readings.json")).unwrap();
        let readings: Vec<DatedReadingView> = serde_json::from_slice(&readings).unwrap();
        let failed =
            readings.iter().filter(|it| it.reading.cpu_millis.is_some_and(|used| used > 110)).count();
        assert_eq!(failed, 2, "{readings:?}");
        let text = |name| std::fs::read_to_string(kept.join(name)).unwrap();
        assert_eq!(
            (text("stdout.log").as_str(), text("game.log").as_str()),
            ("busy now\n", "busy in the log\n")
        );
    }
    let pids: Vec<u32> = plane
        .said(1)
        .iter()
        .filter_map(|phase| if let Phase::Online { pid } = phase { Some(*pid) } else { None })
        .collect();
    assert!(pids.contains(&first) && pids.iter().any(|pid| *pid != first), "one restart: {pids:?}");
    assert!(!pids.iter().any(|&pid| is_alive(pid)));
    until("the allocation is cleared", || host.told(1, "allocatedUUID").is_empty().then_some(())).await;
}

/// "Within the expected memory usage limits."
#[tokio::test(flavor = "multi_thread")]
async fn too_much_memory_is_misbehaviour() {
    let (build, host) = (Build::new(), Host::new(1));
    let spec =
        Spec { limits: Limits { cpu_millis: 64_000, memory_mib: 32 }, ..checked(build.spec(1, "large")) };
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    let incident = plane.incident(1, "misbehaviour", misbehaved(Check::Memory)).await;
    assert_eq!(incident.exit, SEGV);
    assert!(incident.cause.contains(" of 32 MiB, 10 MB tolerated"), "{}", incident.cause);
}

/// A game that the test answers for, on a thread that waits for nothing else of the test's.
struct Answers {
    on: Arc<AtomicBool>,
}

impl Answers {
    async fn of(host: &Host) -> Self {
        let port: u16 = until("server.json is written", || {
            let text = std::fs::read_to_string(host.dirs(1).home.join("server.json")).ok()?;
            let fields: serde_json::Value = serde_json::from_str(&text).ok()?;
            fields["queryPort"].as_str()?.parse().ok()
        })
        .await;
        let socket = std::net::UdpSocket::bind(("127.0.0.1", port)).expect("the port is free");
        let on = Arc::new(AtomicBool::new(true));
        let heard = Arc::clone(&on);
        std::thread::spawn(move || {
            let mut buffer = [0; 16];
            while let Ok((_, from)) = socket.recv_from(&mut buffer) {
                if heard.load(Ordering::Relaxed) {
                    socket.send_to(b"q", from).expect("an answer is sent");
                }
            }
        });
        Self { on }
    }
}

/// Two answers that come late are the end of a game: it has a second for each, on a machine that does other things.
fn queried(build: &Build, binary: &str) -> Spec {
    Spec {
        query: Some(one_byte_query()),
        limits: Limits { cpu_millis: 64_000, memory_mib: 4096 },
        ..checked(build.spec(1, binary))
    }
}

/// "Note: Multiplay Hosting only checks if game servers respond to queries if you implement a query protocol in the build and
/// specify it in the build configuration": without one no datagram comes, however often a process is checked.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_query_type_nobody_asks() {
    let (build, host) = (Build::new(), Host::new(1));
    let spec = Spec { query: None, ..queried(&build, "obedient") };
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    let pid = plane.online(1).await;
    let port: u16 = host.told(1, "queryPort").parse().unwrap();
    let socket = UdpSocket::bind(("127.0.0.1", port)).await.expect("the port is free");
    // CPU use is known from the second check on.
    let reading = plane.reading(1, "a second check", |reading| reading.cpu_millis.is_some()).await;
    assert_eq!(reading.heard, Heard::Unasked);
    let nobody = socket.try_recv_from(&mut [0; 16]).unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock, "{nobody}");
    assert_eq!(plane.online(1).await, pid, "silence is no failure");
}

/// "If the game server has an allocation UUID, Multiplay Hosting won't restart the game server process. Instead, the game
/// server remains stopped until it receives a new allocation."
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_with_an_allocation_stays_stopped_until_a_new_one() {
    let (build, host) = (Build::new(), Host::new(1));
    let spec = queried(&build, "obedient");
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    let game = Answers::of(&host).await;
    let pid = plane.online(1).await;
    plane.reading(1, "an answer", |reading| matches!(reading.heard, Heard::Answer { .. })).await;
    let reading = plane.reading(1, "CPU use", |reading| reading.cpu_millis.is_some()).await;
    assert!(reading.memory_bytes.is_some_and(|bytes| bytes > 0), "{reading:?}");

    game.on.store(false, Ordering::Relaxed);
    let phase = plane.until(1, "pre-recovery", |phase| matches!(phase, Phase::PreRecovery { .. })).await;
    let cause = "misbehaved: failed its query check 2 times within 30 min: no answer within 1 s".into();
    assert_eq!(phase, Phase::PreRecovery { cause });
    assert!(!is_alive(pid));
    let incident = plane.incident(1, "the silence", misbehaved(Check::Query)).await;
    assert_eq!((incident.exit, incident.allocation), (SEGV, Some(allocation(A))));
    until("the allocation is cleared", || host.told(1, "allocatedUUID").is_empty().then_some(())).await;
    assert!(
        plane.said(1).iter().any(|phase| matches!(phase, Phase::Stopping { pid: Some(_) })),
        "it was seen going down"
    );

    game.on.store(true, Ordering::Relaxed);
    plane.order(1, Intent::Run, &spec, Some(B)).await;
    plane.online_not(1, pid).await;
    assert_eq!(host.told(1, "allocatedUUID"), allocation(B).to_string());
}

/// "If the game server doesn't have an allocation UUID, Multiplay Hosting restarts the build executable process." A process
/// that ignores the signal is killed after the stop timeout.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_without_an_allocation_is_restarted_by_force() {
    let (build, host) = (Build::new(), Host::new(1));
    let mut spec = queried(&build, "fearless");
    spec.stop.kill_after = Duration::from_millis(400);
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, None).await;
    let game = Answers::of(&host).await;
    let pid = plane.online(1).await;
    game.on.store(false, Ordering::Relaxed);
    let incident = plane.incident(1, "the silence", misbehaved(Check::Query)).await;
    assert_eq!(incident.exit, Some(Exit::Signal { signal: 9, killed_by: Killer::Unknown }));
    game.on.store(true, Ordering::Relaxed);
    let second = plane.online_not(1, pid).await;
    assert!(!is_alive(pid) && is_alive(second));
}

/// A game in Rust survives the first SIGSEGV from outside: a second ends it, long before SIGKILL would.
#[tokio::test(flavor = "multi_thread")]
async fn a_game_in_rust_ends_by_sigsegv_too() {
    let (build, host) = (Build::new(), Host::new(1));
    let game = example("parked_game");
    let mut spec = queried(&build, "parked_game");
    spec.launch.folder = game.parent().unwrap().display().to_string();
    spec.stop.kill_after = Duration::from_secs(3_600);
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    let game = Answers::of(&host).await;
    let pid = plane.online(1).await;
    game.on.store(false, Ordering::Relaxed);
    let incident = plane.incident(1, "the silence", misbehaved(Check::Query)).await;
    assert_eq!(incident.exit, SEGV);
    assert!(!is_alive(pid));
}

/// Two SIGSEGV that wait at once are one: a game that has no time to take the first is not sent the second yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_game_in_rust_that_hardly_runs_ends_by_sigsegv_too() {
    let (build, host) = (Build::new(), Host::new(1));
    let game = example("parked_game");
    let mut spec = queried(&build, "parked_game");
    spec.launch.folder = game.parent().unwrap().display().to_string();
    spec.stop.kill_after = Duration::from_secs(3_600);
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    let game = Answers::of(&host).await;
    let pid = plane.online(1).await;
    signal(pid, Signal::STOP);
    game.on.store(false, Ordering::Relaxed);
    until("the first is sent", || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let waiting = status.lines().find_map(|line| line.strip_prefix("ShdPnd:")).unwrap().trim();
        (u64::from_str_radix(waiting, 16).unwrap() & (1 << 10) != 0).then_some(())
    })
    .await;
    // No condition tells of a second that must not come: this is ample time for it.
    tokio::time::sleep(Duration::from_millis(300)).await;
    signal(pid, Signal::CONT);
    let incident = plane.incident(1, "the silence", misbehaved(Check::Query)).await;
    assert_eq!(incident.exit, SEGV);
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a game's pid is positive");
    rustix::process::kill_process(pid, signal).expect("the game is ours");
}

/// What the agent knows of an ended process it tells on every stream again, and after its own restart.
#[tokio::test(flavor = "multi_thread")]
async fn an_incident_is_told_to_a_plane_that_was_away() {
    let (build, host) = (Build::new(), Host::new(1));
    let spec = build.spec(1, "obedient");
    let mut plane = Plane::start(vec![spec.clone()]).await;
    let agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    let pid = plane.online(1).await;
    plane.go_away().await;
    host.tell_exit(1, 7);
    until("the game has ended", || (!is_alive(pid)).then_some(())).await;
    until("its evidence is kept", || host.dirs(1).evidence.exists().then_some(())).await;
    agent.kill();
    plane.come_up().await;
    let _agent = host.agent(&plane);
    let incident = plane.incident(1, "the crash", |incident| incident.exit == Some(Exit::Code(7))).await;
    assert_eq!((incident.fault, &*incident.cause), (Fault::Crash, "exited with code 7"));
    assert!(incident.last_words.starts_with("up "), "{:?}", incident.last_words);
    plane.online_not(1, pid).await;
}
