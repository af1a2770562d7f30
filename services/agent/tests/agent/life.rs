//! The life of a slot's process, from order to report.

use std::path::Path;
use std::time::Duration;

use mainstay_core::BuildId;
use mainstay_core::slot::{Intent, Phase, Stopped};

use crate::games::{Build, fleet, is_alive, one_byte_query};
use crate::host::{Host, until};
use crate::plane::{MACHINE, Plane, allocation};

const A: u128 = 0xa;
const B: u128 = 0xb;

/// "It attempts to recover the game session by restarting it with the same allocation ID" (seed 001), and back-off.
/// "However, if the build executable continues to crash, Multiplay Hosting backs off and stops trying to recover the
/// game session." (seed 001)
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_is_answered_with_the_same_allocation_once() {
    let (build, host) = (Build::new(), Host::new(1));
    let spec = build.spec(1, "obedient");
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    let first = plane.online(1).await;
    let id = allocation(A).to_string();
    until("the game has read its file", || host.dirs(1).home.join("seen").exists().then_some(())).await;

    std::fs::remove_file(host.dirs(1).home.join("seen")).unwrap();
    host.tell_exit(1, 3);
    let second = plane.online_not(1, first).await;
    assert!(!is_alive(first) && is_alive(second));
    until("the second game has read its file", || {
        let text = std::fs::read_to_string(host.dirs(1).home.join("seen")).ok()?;
        text.ends_with('}').then_some(())
    })
    .await;
    assert_eq!(host.read_at_start(1, "allocatedUUID"), id, "the second process was started with it");
    assert_eq!(host.told(1, "map"), "dm1");

    host.tell_exit(1, 3);
    let phase = plane.until(1, "backed off", |phase| matches!(phase, Phase::BackedOff { .. })).await;
    assert_eq!(phase, Phase::BackedOff { crashes: 2, cause: "exited with code 3".into() });
    until("the allocation is cleared", || host.told(1, "allocatedUUID").is_empty().then_some(())).await;

    plane.order(1, Intent::Run, &spec, Some(B)).await;
    plane.online(1).await;
    assert_eq!(host.told(1, "allocatedUUID"), allocation(B).to_string());
}

/// "When Game Server Hosting detects that a build executable exits intentionally, it automatically deallocates the server slot,
/// clearing the allocation ID in the server.json file" (seed 002).
/// "Exiting in this way triggers an automatic deallocation." (seed 002)
#[tokio::test(flavor = "multi_thread")]
async fn exit_0_completes_and_clears() {
    let (build, host) = (Build::new(), Host::new(1));
    let spec = build.spec(1, "obedient");
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    plane.online(1).await;
    assert_eq!(host.told(1, "allocatedUUID"), allocation(A).to_string());
    host.tell_exit(1, 0);
    plane.until(1, "completed", |phase| *phase == Phase::Stopped(Stopped::Completed)).await;
    until("the allocation is cleared", || host.told(1, "allocatedUUID").is_empty().then_some(())).await;
}

/// An allocation on a running server: the process stays, the file changes first.
/// Shows `deallocation does not stop the process`.
#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_is_told_its_session() {
    let (build, host) = (Build::new(), Host::new(1));
    let spec = build.spec(1, "obedient");
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, None).await;
    let pid = plane.online(1).await;
    assert_eq!(host.told(1, "allocatedUUID"), "");
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    assert_eq!(plane.online(1).await, pid);
    assert_eq!(host.told(1, "allocatedUUID"), allocation(A).to_string());
    plane.order(1, Intent::Leave, &spec, None).await;
    assert_eq!(plane.online(1).await, pid);
    assert_eq!(host.told(1, "allocatedUUID"), "");
}

/// Bad input: a clear reason, and no start for ever.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_start_says_why() {
    let (build, host) = (Build::new(), Host::new(2));
    let (missing, closed) = (build.spec(1, "missing"), build.spec(2, "not-executable"));
    let plane = Plane::start(vec![missing.clone(), closed.clone()]).await;
    let _agent = host.agent(&plane);
    for (n, spec, words) in [(1, &missing, "No such file"), (2, &closed, "denied")] {
        plane.order(n, Intent::Run, spec, Some(A)).await;
        let phase = plane.until(n, "backed off", |phase| matches!(phase, Phase::BackedOff { .. })).await;
        let Phase::BackedOff { crashes: 2, cause } = phase else { panic!("{phase:?}") };
        assert!(cause.starts_with("could not be started: ") && cause.contains(words), "{cause}");
    }
}

/// The stop ladder: the signal, then SIGKILL. Shows `graceful`.
#[tokio::test(flavor = "multi_thread")]
async fn a_game_that_hears_no_signal_is_killed() {
    let (build, host) = (Build::new(), Host::new(1));
    let mut spec = build.spec(1, "deaf");
    spec.stop.kill_after = Duration::from_millis(300);
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, None).await;
    let pid = plane.online(1).await;
    plane.order(1, Intent::Stop, &spec, None).await;
    plane.until(1, "stopped", |phase| *phase == Phase::Stopped(Stopped::Ordered)).await;
    assert!(!is_alive(pid));
    assert!(plane.said(1).iter().any(|phase| matches!(phase, Phase::Stopping { pid: Some(_) })));
}

/// A process of another build is replaced by that build's executable, and the one that goes never reads the new session:
/// "You created an allocation, and Game Server Hosting selected a server slot that isn’t running the correct build
/// executable. In this case, Game Server Hosting restarts the build executable with the correct build." (seed 002)
#[tokio::test(flavor = "multi_thread")]
async fn another_build_is_another_executable() {
    let (build, other, host) = (Build::new(), Build::new(), Host::new(1));
    let (one, mut two) = (build.spec(1, "obedient"), other.spec(2, "deaf"));
    two.build = BuildId::of(fleet(), 2);
    let plane = Plane::start(vec![one.clone(), two.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &one, None).await;
    let first = plane.online(1).await;
    runs(first, &build.path().join("obedient")).await;
    until("the first game has read its file", || host.dirs(1).home.join("seen").exists().then_some(())).await;
    plane.order(1, Intent::Run, &two, Some(A)).await;
    let second = plane.online_not(1, first).await;
    assert!(!is_alive(first));
    runs(second, &other.path().join("deaf")).await;
    assert_eq!(host.told(1, "allocatedUUID"), allocation(A).to_string());
    assert_eq!(host.read_at_start(1, "allocatedUUID"), "", "the first one's word, who read nothing since");
}

/// Waits until a process executes this file, a script.
async fn runs(pid: u32, file: &Path) {
    let file = file.to_str().expect("a path in UTF-8");
    until(&format!("process {pid} runs {file}"), || {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        words.split(|byte| *byte == 0).any(|word| word == file.as_bytes()).then_some(())
    })
    .await;
}

/// Online only once it has answered its query.
#[tokio::test(flavor = "multi_thread")]
async fn a_game_is_online_once_it_answers() {
    let (build, host) = (Build::new(), Host::new(1));
    let mut spec = build.spec(1, "obedient");
    spec.query = Some(one_byte_query());
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, None).await;
    plane.until(1, "starting", |phase| matches!(phase, Phase::Starting { .. })).await;
    let port: u16 = until("server.json is written", || {
        let text = std::fs::read_to_string(host.dirs(1).home.join("server.json")).ok()?;
        let fields: serde_json::Value = serde_json::from_str(&text).ok()?;
        fields["queryPort"].as_str()?.parse().ok()
    })
    .await;
    let socket = tokio::net::UdpSocket::bind(("127.0.0.1", port)).await.unwrap();
    let mut buffer = [0; 16];
    let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
    assert_eq!(&buffer[..length], b"p");
    assert!(!plane.said(1).iter().any(|phase| matches!(phase, Phase::Online { .. })));
    socket.send_to(b"q", from).await.unwrap();
    plane.online(1).await;
}

/// Silence after the start is a crash, for a game that is alive and mute; one that starts for nobody is started again.
#[tokio::test(flavor = "multi_thread")]
async fn a_mute_game_backs_off() {
    let (build, host) = (Build::new(), Host::new(1));
    let mut spec = build.spec(1, "deaf");
    let mut query = one_byte_query();
    query.start_grace = Duration::from_millis(400);
    spec.query = Some(query);
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, None).await;
    let phase = plane.until(1, "backed off", |phase| matches!(phase, Phase::BackedOff { .. })).await;
    let cause = "gave no answer to its query within 400 ms of its start".into();
    assert_eq!(phase, Phase::BackedOff { crashes: 2, cause });
}

/// Fifty slots at once, each with its own process.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_slots() {
    let (build, host) = (Build::new(), Host::new(50));
    let spec = build.spec(1, "obedient");
    let plane = Plane::start(vec![spec.clone()]).await;
    let agent = host.agent(&plane);
    for n in 1..=50 {
        plane.order(n, Intent::Run, &spec, None).await;
    }
    let mut pids = std::collections::BTreeSet::new();
    for n in 1..=50 {
        pids.insert(plane.online(n).await);
    }
    assert_eq!(pids.len(), 50);
    agent.stop_all();
    assert!(!pids.iter().any(|&pid| is_alive(pid)));
}

/// One agent answers for several machines, one for each fleet region, whose slots share no port.
#[tokio::test(flavor = "multi_thread")]
async fn one_agent_is_several_machines() {
    let (build, host) = (Build::new(), Host::with_machines(&[2, 1]));
    let spec = build.spec(1, "obedient");
    let plane = Plane::start(vec![spec.clone()]).await;
    let agent = host.agent(&plane);
    let servers = [1, 2, MACHINE + 1];
    let mut ports = std::collections::BTreeSet::new();
    for n in servers {
        plane.order(n, Intent::Run, &spec, None).await;
        plane.online(n).await;
        ports.extend([host.told(n, "port"), host.told(n, "queryPort")]);
    }
    assert_eq!(ports.len(), 6);
    assert_eq!(servers.map(|n| plane.machine_of(n)), [0, 0, 1]);
    assert_ne!(host.told(1, "machineID"), host.told(MACHINE + 1, "machineID"));
    assert_eq!(host.told(MACHINE + 1, "regionName"), "region 1");
    agent.stop_all();
}
