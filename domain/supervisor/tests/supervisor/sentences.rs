//! One example for each sentence of seeds 001 and 002 that one machine answers for, and for each rule that follows
//! from them. The sentence stands above its example.

use std::sync::Arc;
use std::time::Duration;

use crate::world::{Behaviour, GOOD, World, allocation, configuration, for_session, order, server, spec};
use mainstay_core::Generation;
use mainstay_core::slot::{ConfigurationRef, Exit, Intent, Killer, Phase, Recovery, Scene, Spec, Stopped};
use mainstay_supervisor::{Answer, Command, Ignored, Observation, RunNumber, Verdict};

const A: u128 = 0xa;
const B: u128 = 0xb;

fn crash() -> Exit {
    Exit::Code(1)
}

fn up(session: Option<u128>) -> World {
    let mut world = World::default();
    world.order(1, Intent::Run, configuration(1), session);
    world.settle();
    assert!(matches!(world.phase(1), Phase::Online { .. }));
    world
}

/// "You created an allocation" (seed 002, start), on a stopped slot: the process is given the id it was started for.
#[test]
fn an_allocation_starts_a_stopped_slot() {
    let mut world = World::default();
    world.order(1, Intent::Stop, configuration(1), None);
    world.settle();
    assert_eq!(world.phase(1), Phase::Stopped(Stopped::Idle));
    world.order(1, Intent::Run, configuration(1), Some(A));
    world.settle();
    assert_eq!(world.running(1), Some((configuration(1), Some(allocation(A)))));
    assert!(matches!(world.phase(1), Phase::Online { .. }));
}

/// "When Game Server Hosting provisions a machine (depending on whether you have the start on provision setting
/// enabled for the fleet)".
#[test]
fn a_provisioned_slot_starts_idle() {
    let world = up(None);
    assert_eq!(world.running(1), Some((configuration(1), None)));
}

/// "Allocate server: You allocate the game server", multi-session: a running server is kept and told.
#[test]
fn an_allocation_keeps_the_running_process() {
    let mut world = up(None);
    let pid = world.state.pid(server(1));
    world.order(1, Intent::Run, configuration(1), Some(A));
    assert_eq!(
        world.phase(1),
        Phase::Starting { pid: world.pid(1) },
        "not online before server.json holds the allocation"
    );
    world.settle();
    assert_eq!((world.told(1), world.state.pid(server(1))), (Some(allocation(A)), pid));
    assert_eq!(world.phase(1), Phase::Online { pid: pid.unwrap() });
}

/// "Game Server Hosting restarts (stops, then starts) a build executable process if you create an allocation, and Game Server
/// Hosting selects a server slot that’s using the wrong build configuration (a build configuration other than the one specified
/// in the allocation request)." "In this case, Game Server Hosting restarts the build executable with the correct build
/// configuration."
#[test]
fn a_process_of_the_wrong_configuration_is_replaced() {
    let mut world = up(None);
    world.order(1, Intent::Run, configuration(2), Some(A));
    assert_eq!(world.phase(1), Phase::Starting { pid: world.pid(1) });
    world.settle();
    assert_eq!(world.running(1), Some((configuration(2), Some(allocation(A)))));
    assert!(matches!(world.phase(1), Phase::Online { .. }));
}

/// The process that is being replaced never reads the session of the one that follows it.
#[test]
fn a_process_on_its_way_out_is_told_nothing() {
    let mut world = up(None);
    world.behaviours.insert(configuration(1), Behaviour { obeys: false, ..GOOD });
    world.order(1, Intent::Run, configuration(2), Some(A));
    world.settle();
    assert_eq!((world.running(1), world.told(1)), (Some((configuration(1), None)), None));
    world.pass(Duration::from_secs(20));
    assert_eq!(world.running(1), Some((configuration(2), Some(allocation(A)))));
}

/// "A crash refers to an unintentional termination of a build executable process with any exit code other than 0."
#[test]
fn crashes_by_their_exit() {
    let exits = [
        (Exit::Code(1), "exited with code 1"),
        (Exit::Code(255), "exited with code 255"),
        (Exit::Signal { signal: 11, killed_by: Killer::Unknown }, "killed by signal 11"),
        (
            Exit::Signal { signal: 9, killed_by: Killer::OutOfMemory },
            "killed by the kernel for memory above the slot's cap (signal 9)",
        ),
    ];
    for (exit, words) in exits {
        let mut world = up(Some(A));
        world.exits(1, exit.clone());
        assert!(matches!(world.phase(1), Phase::Online { .. }), "{exit:?}");
        world.exits(1, exit.clone());
        assert_eq!(world.phase(1), Phase::BackedOff { crashes: 2, cause: words.into() });
    }
}

/// "It attempts to recover the game session by restarting it with the same allocation ID."
#[test]
fn a_crashed_process_restarts_with_the_same_allocation() {
    let mut world = up(Some(A));
    world.exits(1, crash());
    let given: Vec<_> = world.started.iter().map(|process| process.allocation).collect();
    assert_eq!(given, [Some(allocation(A)), Some(allocation(A))]);
    let generation = world.state.status(server(1)).unwrap().generation;
    assert_eq!(generation, Generation::from_number(1), "the order is the same");
}

/// "If the game server doesn't have an allocation UUID, Multiplay Hosting restarts the build executable process."
#[test]
fn a_crashed_idle_process_restarts_idle() {
    for intent in [Intent::Run, Intent::Leave] {
        let mut world = up(Some(A));
        world.order(1, intent, configuration(1), None);
        world.settle();
        world.exits(1, crash());
        assert_eq!(world.running(1), Some((configuration(1), None)), "{intent:?}");
    }
}

/// "By default, Multiplay Hosting only tries to restart the build executable process once", and "backs off and stops trying to
/// recover a game session by restarting the build executable if the build executable process crashes more than a specific
/// number of times within a 30-minute period."
#[test]
fn the_second_crash_within_30_minutes_backs_off() {
    for (minutes, backs_off) in [(0, true), (29, true), (30, false)] {
        let mut world = up(Some(A));
        world.exits(1, crash());
        world.pass(Duration::from_secs(minutes * 60));
        world.exits(1, crash());
        assert_eq!(matches!(world.phase(1), Phase::BackedOff { crashes: 2, .. }), backs_off, "{minutes} min");
        assert_eq!(world.running(1).is_none(), backs_off);
    }
}

/// "The game server remains stopped until it receives a new allocation", and that one starts afresh.
#[test]
fn back_off_ends_with_a_newer_order() {
    for intent in [Intent::Run, Intent::Renew] {
        let mut world = up(Some(A));
        world.exits(1, crash());
        world.exits(1, crash());
        assert_eq!(world.told(1), None, "the allocation is over");
        world.order(1, Intent::Leave, configuration(1), None);
        world.settle();
        assert!(matches!(world.phase(1), Phase::BackedOff { .. }), "Leave starts nothing");
        world.order(1, intent, configuration(1), Some(B));
        world.settle();
        world.exits(1, crash());
        assert_eq!(
            world.running(1),
            Some((configuration(1), Some(allocation(B)))),
            "the strikes are cleared"
        );
    }
}

/// "An exit refers to an intentional termination of a build executable process with an exit code of 0." "[…] it automatically
/// deallocates the server slot, clearing the allocation ID in the server.json file and readying the server slot for the next
/// allocation."
#[test]
fn exit_0_completes_the_session() {
    let mut world = up(Some(A));
    assert_eq!(world.told(1), Some(allocation(A)));
    world.exits(1, Exit::Code(0));
    assert_eq!((world.phase(1), world.told(1)), (Phase::Stopped(Stopped::Completed), None));
    world.pass(Duration::from_secs(3600));
    assert_eq!(world.running(1), None, "not before a newer order");
    world.order(1, Intent::Run, configuration(1), Some(B));
    world.settle();
    assert_eq!(world.running(1), Some((configuration(1), Some(allocation(B)))));
}

/// "You have the start on provision setting enabled and the build executable process intentionally exited … automatically
/// restarts the server." A game that exits at once is not started faster than once a second.
#[test]
fn idle_starts_after_exit_0_are_paced() {
    let mut world = up(None);
    world.exits(1, Exit::Code(0));
    world.order(1, Intent::Run, configuration(1), None);
    world.settle();
    assert_eq!((world.running(1), world.phase(1)), (None, Phase::Starting { pid: world.pid(1) }));
    world.pass(Duration::from_millis(999));
    assert_eq!(world.running(1), None);
    world.pass(Duration::from_millis(1));
    assert!(world.running(1).is_some());
    world.pass(Duration::from_secs(10));
    world.exits(1, Exit::Code(0));
    world.order(1, Intent::Run, configuration(1), None);
    world.settle();
    assert!(world.running(1).is_some(), "long after its last start it need not rest");
}

/// A session does not wait for an idle server's rest.
#[test]
fn an_allocation_ends_the_rest() {
    let mut world = up(None);
    world.exits(1, Exit::Code(0));
    world.order(1, Intent::Run, configuration(1), None);
    world.settle();
    world.order(1, Intent::Run, configuration(1), Some(A));
    world.settle();
    assert_eq!(world.running(1), Some((configuration(1), Some(allocation(A)))));
}

/// "Deallocate server … Server becomes idle" (multi-session): the process plays on, without an allocation.
#[test]
fn deallocation_leaves_the_process() {
    let mut world = up(Some(A));
    let pid = world.state.pid(server(1));
    world.order(1, Intent::Leave, configuration(1), None);
    world.settle();
    assert_eq!((world.state.pid(server(1)), world.told(1)), (pid, None));
    assert!(matches!(world.phase(1), Phase::Online { .. }));
    world.exits(1, Exit::Code(0));
    assert_eq!(world.phase(1), Phase::Stopped(Stopped::Completed));
}

/// "SIGTERM … then SIGKILL after 20 s" (server signals); an exit that follows our own stop is never a crash.
#[test]
fn the_stop_ladder() {
    let mut world = up(None);
    world.behaviours.insert(configuration(1), Behaviour { obeys: false, ..GOOD });
    world.order(1, Intent::Stop, configuration(1), None);
    world.settle();
    world.pass(Duration::from_millis(19_999));
    assert_eq!(world.phase(1), Phase::Stopping { pid: world.pid(1) });
    assert!(world.running(1).is_some());
    world.pass(Duration::from_millis(1));
    assert_eq!((world.running(1), world.phase(1)), (None, Phase::Stopped(Stopped::Ordered)));
    assert!(world.state.slot(server(1)).unwrap().strikes.moments().is_empty());
}

/// Stock servers exit with 1 on SIGTERM, some with 0.
#[test]
fn no_exit_after_our_stop_is_a_crash_or_a_completion() {
    for exit in [Exit::Code(0), Exit::Code(1), Exit::Signal { signal: 11, killed_by: Killer::Unknown }] {
        let mut world = up(None);
        world.order(1, Intent::Stop, configuration(1), None);
        world.exits(1, exit.clone());
        assert_eq!(world.phase(1), Phase::Stopped(Stopped::Ordered), "{exit:?}");
    }
}

/// A newer order to run during a stop: when the stop ends, it starts.
#[test]
fn an_order_to_run_waits_for_the_stop() {
    let mut world = up(None);
    world.order(1, Intent::Stop, configuration(1), None);
    world.order(1, Intent::Run, configuration(1), Some(A));
    assert_eq!(world.phase(1), Phase::Starting { pid: world.pid(1) });
    world.settle();
    assert_eq!(world.running(1), Some((configuration(1), Some(allocation(A)))));
    assert_eq!(world.started.len(), 2);
}

/// A renewal replaces what an earlier order started, once.
#[test]
fn renew_replaces_once() {
    let mut world = up(None);
    world.order(1, Intent::Renew, configuration(1), Some(A));
    world.settle();
    assert_eq!(world.started.len(), 2);
    let again = for_session(order(1, 2, configuration(1), Intent::Renew), allocation(A));
    assert_eq!(world.tell(Command::TakeOrders { orders: vec![again] }), Answer::Orders(vec![Verdict::Same]));
    world.settle();
    assert_eq!(world.started.len(), 2);
}

/// A stop that overtakes the start: nothing is started.
#[test]
fn a_run_stopped_before_it_began_never_begins() {
    let mut world = World::default();
    world.order(1, Intent::Run, configuration(1), Some(A));
    world.order(1, Intent::Stop, configuration(1), None);
    world.settle();
    assert_eq!((world.started.len(), world.phase(1)), (0, Phase::Stopped(Stopped::Ordered)));
}

/// A missing binary is a crash like any other, and ends in back-off with its reason.
#[test]
fn what_cannot_start_backs_off() {
    let mut world = World::default();
    world.behaviours.insert(configuration(1), Behaviour { starts: false, ..GOOD });
    world.order(1, Intent::Run, configuration(1), Some(A));
    world.settle();
    let cause = "could not be started: no such file".into();
    assert_eq!(world.phase(1), Phase::BackedOff { crashes: 2, cause });
}

/// A start that is never answered counts as a crash: "If the game server doesn’t have an allocation UUID, Multiplay Hosting
/// restarts the build executable process."
#[test]
fn silence_after_the_start_is_a_crash() {
    let mut world = World::default();
    world.behaviours.insert(configuration(1), Behaviour { answers: false, ..GOOD });
    world.order(1, Intent::Run, configuration(1), None);
    world.settle();
    world.pass(Duration::from_millis(29_999));
    assert_eq!((world.phase(1), world.started.len()), (Phase::Starting { pid: world.pid(1) }, 1));
    world.pass(Duration::from_millis(1));
    assert_eq!((world.phase(1), world.started.len()), (Phase::Starting { pid: world.pid(1) }, 2));
    world.pass(Duration::from_secs(30));
    let cause = "gave no answer to its query within 30 s of its start".into();
    assert_eq!(world.phase(1), Phase::BackedOff { crashes: 2, cause });
}

/// "If the game server has an allocation UUID, Multiplay Hosting won’t restart the game server process": one that never
/// answered is as silent as one that no longer does, so its session is told at once instead of after another grace.
#[test]
fn silence_after_the_start_of_an_allocation_ends_it() {
    let mut world = World::default();
    world.behaviours.insert(configuration(1), Behaviour { answers: false, ..GOOD });
    world.order(1, Intent::Run, configuration(1), Some(A));
    world.settle();
    world.pass(Duration::from_secs(30));
    let cause = "gave no answer to its query within 30 s of its start".into();
    assert_eq!((world.phase(1), world.started.len()), (Phase::PreRecovery { cause }, 1));
    world.behaviours.insert(configuration(1), GOOD);
    world.order(1, Intent::Run, configuration(1), Some(B));
    world.settle();
    assert_eq!(world.running(1), Some((configuration(1), Some(allocation(B)))));

    // The other recovery restarts it with its allocation.
    let mut world = World::default();
    world.behaviours.insert(configuration(4), Behaviour { answers: false, ..GOOD });
    let restarts = Spec { recovery: Recovery::Restart, ..Spec::clone(&spec(configuration(4))) };
    world.tell(Command::TakeSpecs { specs: vec![Arc::new(restarts)] });
    world.order(1, Intent::Run, configuration(4), Some(A));
    world.settle();
    world.pass(Duration::from_secs(30));
    assert_eq!((world.running(1), world.started.len()), (Some((configuration(4), Some(allocation(A)))), 2));
}

/// After a restart of the agent silence counts from the moment it looks again; a game that has answered owes nothing.
#[test]
fn an_agent_that_was_away_does_not_count_its_absence() {
    let mut world = World::default();
    world.behaviours.insert(configuration(1), Behaviour { answers: false, ..GOOD });
    world.order(1, Intent::Run, configuration(1), Some(A));
    world.settle();
    world.now = world.now + Duration::from_secs(3600);
    world.observe(Observation::Forgot);
    assert_eq!(world.state.status(server(1)), None, "no word before a look");
    world.settle();
    world.pass(Duration::from_millis(29_999));
    assert_eq!(world.started.len(), 1);

    let mut world = up(Some(A));
    world.behaviours.insert(configuration(1), Behaviour { answers: false, ..GOOD });
    world.observe(Observation::Forgot);
    world.settle();
    // Past the grace; that it is silent now is for its checks to find.
    world.pass(Duration::from_secs(60));
    assert_eq!(world.started.len(), 1);
    assert!(matches!(world.phase(1), Phase::Online { .. }));
}

/// A changed boot id or a dead holder is the machine's loss, not a crash.
#[test]
fn a_loss_is_no_crash() {
    let mut world = up(Some(A));
    assert!(world.dies(1, None));
    world.settle();
    assert_eq!((world.phase(1), world.running(1)), (Phase::Lost, None));
    assert!(world.state.slot(server(1)).unwrap().strikes.moments().is_empty());
    world.order(1, Intent::Run, configuration(1), Some(B));
    world.settle();
    assert_eq!(world.running(1), Some((configuration(1), Some(allocation(B)))));
}

/// Of two orders the one with the higher generation counts; the same again changes nothing.
#[test]
fn orders_are_fenced() {
    let mut world = up(Some(A));
    world.order(1, Intent::Run, configuration(1), Some(B));
    let old = for_session(order(1, 1, configuration(1), Intent::Run), allocation(A));
    let newest = Generation::from_number(2);
    let answer = world.tell(Command::TakeOrders { orders: vec![old] });
    assert_eq!(answer, Answer::Orders(vec![Verdict::Older { newest }]));
    world.settle();
    assert_eq!(world.told(1), Some(allocation(B)));
    let unknown = order(1, 3, configuration(9), Intent::Run);
    let answer = world.tell(Command::TakeOrders { orders: vec![unknown] });
    assert_eq!(answer, Answer::Orders(vec![Verdict::UnknownConfiguration(configuration(9))]));
}

/// What is seen of an older run is ignored.
#[test]
fn an_older_runs_exit_touches_nothing() {
    let mut world = up(Some(A));
    let run = world.started[0].run;
    world.exits(1, crash());
    let newest = world.started[1].run;
    let answer =
        world.tell(Command::Exited { server: server(1), run, exit: Exit::Code(0), scene: Scene::empty() });
    assert_eq!(answer, Answer::Ignored(Ignored::OtherRun { newest }));
    assert!(matches!(world.phase(1), Phase::Online { .. }));
    let answer = world.tell(Command::Lost { server: server(7), run: RunNumber::NONE });
    assert_eq!(answer, Answer::Ignored(Ignored::UnknownSlot));
}

/// A slot that is no longer assigned ends after its process.
#[test]
fn a_forgotten_slot_outlives_its_process() {
    let mut world = up(None);
    world.tell(Command::ForgetSlots { servers: vec![server(1), server(2)] });
    assert_eq!(world.phase(1), Phase::Stopping { pid: world.pid(1) });
    world.settle();
    assert_eq!((world.running(1), world.state.slot(server(1))), (None, None));
}

/// `mainstay up` stops and comes back: what ran runs again, with the allocation it had.
#[test]
fn what_was_parked_is_resumed() {
    let mut world = up(Some(A));
    world.order(2, Intent::Stop, configuration(1), None);
    world.tell(Command::Park);
    world.settle();
    assert_eq!((world.running(1), world.phase(1)), (None, Phase::Stopping { pid: world.pid(1) }));
    world.tell(Command::Resume);
    world.settle();
    assert_eq!(world.running(1), Some((configuration(1), Some(allocation(A)))));
    assert_eq!(world.running(2), None);
}

/// Killed in the middle of parking, the next start ends the stop and starts again.
#[test]
fn a_half_done_park_is_resumed() {
    for intent in [Intent::Run, Intent::Leave] {
        let mut world = up(None);
        world.order(1, intent, configuration(1), None);
        world.tell(Command::Park);
        world.observe(Observation::Forgot);
        world.tell(Command::Resume);
        world.settle();
        assert_eq!(
            (world.running(1), world.started.len()),
            (Some((configuration(1), None)), 2),
            "{intent:?}"
        );
    }
}

/// "Intentional exits" end the session they belong to: a process that exits with code 0 before it was told of a new
/// allocation ends the earlier one, and the new one gets a process of its own (found by the simulator).
#[test]
fn exit_0_before_it_was_told_leaves_the_new_session() {
    let mut world = up(Some(A));
    world.order(1, Intent::Leave, configuration(1), None);
    world.settle();
    world.order(1, Intent::Run, configuration(1), Some(B));
    world.exits(1, Exit::Code(0));
    world.settle();
    assert_eq!(world.running(1), Some((configuration(1), Some(allocation(B)))));
    assert!(matches!(world.phase(1), Phase::Online { .. }));
}

/// A stream brings each configuration once, before the first order that may name it: whatever it brought stays known
/// (found by the simulator: a slot that went back to a configuration nothing ran any more had to wait for a new stream).
#[test]
fn a_configuration_stays_known_after_its_last_use() {
    let mut world = World::default();
    let taken = Answer::Orders(vec![Verdict::Taken]);
    for (generation, n) in (1..).zip([1, 2, 1, 3, 2]) {
        let order = order(1, generation, configuration(n), Intent::Run);
        assert_eq!(world.tell(Command::TakeOrders { orders: vec![order] }), taken, "order {generation}");
        world.settle();
    }
}

/// An order given before the operator changed its configuration may arrive after: what a stream brings together is known
/// together, older revisions too.
#[test]
fn an_older_revision_that_is_asked_for_is_known() {
    let mut world = World::default();
    let older = configuration(1);
    let newer = ConfigurationRef { revision: older.revision + 1, ..older };
    world.tell(Command::TakeSpecs { specs: vec![spec(older), spec(newer)] });
    let order = order(1, 1, older, Intent::Run);
    let answer = world.tell(Command::TakeOrders { orders: vec![order] });
    assert_eq!(answer, Answer::Orders(vec![Verdict::Taken]));
}
