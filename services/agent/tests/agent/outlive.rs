//! Games outlive their agent and their control plane.

use mainstay_core::slot::{Intent, Phase};
use nix::sys::signal::Signal;

use crate::games::{Build, is_alive};
use crate::host::{Host, send, until};
use crate::plane::{Plane, allocation};

const A: u128 = 0xa;

/// The agent is killed with SIGKILL: the game plays on, the next agent adopts it, and nothing is started twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_agents_game_is_adopted() {
    let (build, host) = (Build::new(), Host::new(1));
    let spec = build.spec(1, "obedient");
    let plane = Plane::start(vec![spec.clone()]).await;
    let agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    let pid = plane.online(1).await;
    agent.kill();
    assert!(is_alive(pid));
    let before = plane.streams_so_far();
    let _agent = host.agent(&plane);
    plane.streams(before + 1).await;
    assert_eq!(plane.online(1).await, pid, "the first word of the next agent is the same process");
    assert_eq!(host.told(1, "allocatedUUID"), allocation(A).to_string());
}

/// An exit while no agent lives is not lost: it counts, with its code.
#[tokio::test(flavor = "multi_thread")]
async fn exits_while_no_agent_lives_are_kept() {
    let (build, host) = (Build::new(), Host::new(1));
    let spec = build.spec(1, "obedient");
    let plane = Plane::start(vec![spec.clone()]).await;
    let agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    let first = plane.online(1).await;
    agent.kill();
    host.tell_exit(1, 7);
    until("the first game has ended", || (!is_alive(first)).then_some(())).await;
    let agent = host.agent(&plane);
    let second = plane.online_not(1, first).await;
    agent.kill();
    host.tell_exit(1, 7);
    until("the second game has ended", || (!is_alive(second)).then_some(())).await;
    let _agent = host.agent(&plane);
    let phase = plane.until(1, "backed off", |phase| matches!(phase, Phase::BackedOff { .. })).await;
    assert_eq!(phase, Phase::BackedOff { crashes: 2, cause: "exited with code 7".into() });
}

/// SIGTERM of the agent leaves its servers, so that upgrades keep players.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_leaves_leaves_its_games() {
    let (build, host) = (Build::new(), Host::new(1));
    let spec = build.spec(1, "obedient");
    let plane = Plane::start(vec![spec.clone()]).await;
    let agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    let pid = plane.online(1).await;
    agent.leave();
    assert!(is_alive(pid));
    let before = plane.streams_so_far();
    let _agent = host.agent(&plane);
    plane.streams(before + 1).await;
    assert_eq!(plane.online(1).await, pid);
}

/// `up` stops its servers; the next one starts them again, with the allocations they had.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_stopped_with_up_comes_back_with_it() {
    let (build, host) = (Build::new(), Host::new(2));
    let spec = build.spec(1, "obedient");
    let plane = Plane::start(vec![spec.clone()]).await;
    let agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    plane.order(2, Intent::Run, &spec, None).await;
    let pids = [plane.online(1).await, plane.online(2).await];
    agent.stop_all();
    assert!(!pids.iter().any(|&pid| is_alive(pid)));
    let _agent = host.agent(&plane);
    plane.online_not(1, pids[0]).await;
    plane.online_not(2, pids[1]).await;
    assert_eq!(host.told(1, "allocatedUUID"), allocation(A).to_string());
}

/// While the control plane is away a crash is answered all the same, and told when it is back.
#[tokio::test(flavor = "multi_thread")]
async fn servers_go_on_without_a_control_plane() {
    let (build, host) = (Build::new(), Host::new(1));
    let spec = build.spec(1, "obedient");
    let mut plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    let first = plane.online(1).await;
    until("the game has read its file", || host.dirs(1).home.join("seen").exists().then_some(())).await;
    plane.go_away().await;
    std::fs::remove_file(host.dirs(1).home.join("seen")).unwrap();
    host.tell_exit(1, 3);
    until("a second game reads its file", || host.dirs(1).home.join("seen").exists().then_some(())).await;
    plane.come_up().await;
    let second = plane.online_not(1, first).await;
    assert!(is_alive(second) && !is_alive(first));
}

/// A holder that dies takes its game with it, and nobody knows how that ended: the machine's loss, not a crash.
#[tokio::test(flavor = "multi_thread")]
async fn a_dead_holder_is_a_loss() {
    let (build, host) = (Build::new(), Host::new(1));
    let spec = build.spec(1, "obedient");
    let plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    let pid = plane.online(1).await;
    send(host.holder_pid(1), Signal::SIGKILL);
    plane.until(1, "lost", |phase| *phase == Phase::Lost).await;
    until("the game ends with its holder", || (!is_alive(pid)).then_some(())).await;
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    plane.online_not(1, pid).await;
}

/// A control plane that knows nothing of this agent's servers gives its slots to others: what ran is stopped.
#[tokio::test(flavor = "multi_thread")]
async fn servers_that_are_no_longer_assigned_are_stopped() {
    let (build, host) = (Build::new(), Host::new(1));
    let spec = build.spec(1, "obedient");
    let mut plane = Plane::start(vec![spec.clone()]).await;
    let _agent = host.agent(&plane);
    plane.order(1, Intent::Run, &spec, Some(A)).await;
    let pid = plane.online(1).await;
    plane.go_away().await;
    plane.renumber(11);
    plane.come_up().await;
    until("the old server is stopped", || (!is_alive(pid)).then_some(())).await;
    until("nothing of it is left", || (!host.dirs(1).home.exists()).then_some(())).await;
    plane.order(11, Intent::Run, &spec, None).await;
    assert!(is_alive(plane.online(11).await));
    send(host.holder_pid(11), Signal::SIGKILL);
}
