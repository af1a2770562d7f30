//! Seed 002 (game server lifecycle), one example a sentence, each naming its sentence.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{EUROPE, MINUTE, World, allocation, casual, fleet_spec, ranked, reference, reservation};
use mainstay_core::slot::{Intent, Phase, Stopped};
use mainstay_core::{Generation, StateMachine};
use mainstay_fleet::{
    Answer, Claim, ClaimedBy, Command, End, Growth, IdleServers, Rejection, Renewal, Request, ServerStatus,
};

fn single_session() -> World {
    World::new(fleet_spec(IdleServers::StartOnAllocation, Growth::Fixed))
}

fn multi_session() -> World {
    World::new(fleet_spec(IdleServers::StartOnProvision, Growth::Fixed))
}

fn end_of(world: &World, n: u128) -> End {
    let allocation = world.fleet.allocation(allocation(n), world.now).unwrap();
    allocation.end().unwrap().1.clone()
}

/// "When Game Server Hosting provisions and starts a machine, it creates a number of server slots."
/// "The first stage of the server lifecycle involves creating a server slot on a machine."
#[test]
fn a_machine_that_joins_brings_its_slots() {
    let mut world = single_session();
    let agent = world.join(1, 4);
    assert_eq!(world.fleet.servers(None).count(), 4);
    assert!(
        agent.slots.iter().all(|slot| world.status(slot.server) == "UNREACHABLE"),
        "it has not spoken yet"
    );
    world.connect(&agent);
    assert!(agent.slots.iter().all(|slot| world.status(slot.server) == "AVAILABLE"));
    let again = world.join(1, 4);
    assert_eq!(
        (again.machine, again.slots),
        (agent.machine, agent.slots),
        "coming back is idempotent by key"
    );
    assert_eq!(world.fleet.servers(None).count(), 4);
}

/// "It usually starts in response to an allocation request […]"
#[test]
fn an_allocation_starts_a_stopped_server() {
    let mut world = single_session();
    let agent = world.machine(1, 1);
    let server = world.place(1, ranked());
    let orders = world.obey(&agent);
    assert_eq!((orders[0].server, orders[0].intent), (server, Intent::Run));
    assert_eq!(orders[0].allocation.as_ref().map(|session| session.allocation), Some(allocation(1)));
    assert!(world.fleet.allocation(allocation(1), world.now).unwrap().fulfilled().is_some());
}

/// "[…] or when Game Server Hosting provisions a machine (depending on whether you have the start on provision setting
/// enabled for the fleet)." and "When a machine completes the provisioning process, and the start on provision setting
/// is enabled."
#[test]
fn start_on_provision_starts_every_slot_idle() {
    let mut world = multi_session();
    let agent = world.join(1, 3);
    world.connect(&agent);
    let orders = world.obey(&agent);
    assert_eq!(orders.len(), 3);
    assert!(orders.iter().all(|order| order.intent == Intent::Run && order.allocation.is_none()));
    assert!(agent.slots.iter().all(|slot| world.status(slot.server) == "ONLINE"));
}

/// The same sentence, the other way: without the setting nothing starts by itself.
#[test]
fn without_start_on_provision_nothing_starts_by_itself() {
    let mut world = single_session();
    let agent = world.join(1, 3);
    world.connect(&agent);
    assert!(world.fleet.owed(&agent.machine).orders.is_empty());
}

/// "You created an allocation, and Game Server Hosting selects a server slot that's using the wrong build configuration.
/// In this case, Game Server Hosting restarts the build executable with the correct build configuration."
#[test]
fn a_server_with_another_configuration_is_ordered_to_run_the_right_one() {
    let mut world = multi_session();
    let agent = world.machine(1, 1);
    let server = world.place(1, casual());
    let orders = world.obey(&agent);
    assert_eq!(orders[0].configuration, reference(casual()), "{server}");
}

/// "You manually start a server with the API or through the Unity Cloud Dashboard."
#[test]
fn a_server_is_started_stopped_and_restarted_by_hand() {
    let mut world = single_session();
    let agent = world.machine(1, 1);
    let server = agent.slots[0].server;
    for (command, intent, status) in [
        (Command::StartServer(server), Intent::Run, "ONLINE"),
        (Command::RestartServer(server), Intent::Renew, "ONLINE"),
        (Command::StopServer(server), Intent::Stop, "AVAILABLE"),
    ] {
        world.must(&command);
        assert_eq!(world.obey(&agent)[0].intent, intent);
        assert_eq!(world.status(server), status);
    }
}

/// "When Game Server Hosting detects that a build executable exits intentionally, it automatically deallocates the server
/// slot, clearing the allocation ID in the server.json file and readying the server slot for the next allocation."
#[test]
fn exit_0_deallocates_and_readies_the_slot() {
    let mut world = single_session();
    let agent = world.machine(1, 1);
    let server = world.place(1, ranked());
    world.obey(&agent);
    world.says(&agent, server, Phase::Stopped(Stopped::Completed));
    assert_eq!(end_of(&world, 1), End::Completed);
    let orders = world.obey(&agent);
    assert_eq!(
        (orders[0].intent, &orders[0].allocation),
        (Intent::Leave, &None),
        "the id is cleared, nothing starts"
    );
    assert_eq!(world.status(server), "AVAILABLE");
    assert_eq!(world.place(2, ranked()), server);
}

/// "You have the start on provision setting enabled and the build executable process intentionally exited. In this case,
/// Game Server Hosting automatically restarts the server."
#[test]
fn with_start_on_provision_exit_0_is_followed_by_an_idle_start() {
    let mut world = multi_session();
    let agent = world.machine(1, 1);
    let server = world.place(1, ranked());
    world.obey(&agent);
    world.says(&agent, server, Phase::Stopped(Stopped::Completed));
    let orders = world.obey(&agent);
    assert_eq!((orders[0].intent, &orders[0].allocation), (Intent::Run, &None));
    world.says(&agent, server, Phase::Stopped(Stopped::Completed));
    assert_eq!(world.obey(&agent)[0].intent, Intent::Run, "an idle server's intended exit too");
}

/// The same setting where a session ended while its server was being restarted for it: what is left down runs again.
#[test]
fn with_start_on_provision_no_idle_server_is_left_down() {
    let mut world = multi_session();
    let agent = world.machine(1, 1);
    let server = world.place(1, casual());
    world.must(&Command::Deallocate { id: allocation(1) });
    world.says(&agent, server, Phase::Stopped(Stopped::Ordered));
    assert_eq!(world.obey(&agent)[0].intent, Intent::Run);
    world.must(&Command::StopServer(server));
    world.obey(&agent);
    assert!(world.fleet.owed(&agent.machine).orders.is_empty(), "what an operator stopped stays down");
}

/// "When Game Server Hosting detects that a build executable crashed, it attempts to recover the server by restarting it
/// with the same allocation ID." The agent restarts by itself; to the fleet the allocation simply lasts.
#[test]
fn a_crash_that_is_recovered_keeps_the_allocation() {
    let mut world = single_session();
    let agent = world.machine(1, 1);
    let server = world.place(1, ranked());
    world.obey(&agent);
    for phase in [Phase::Starting { pid: None }, Phase::Online { pid: 4712 }] {
        world.says(&agent, server, phase);
        assert_eq!(world.fleet.server(server).unwrap().claim, Claim::Allocated(allocation(1)));
        assert_eq!(world.status(server), "ALLOCATED");
    }
}

/// "However, if the server continues to crash, Game Server Hosting won't keep restarting it."
#[test]
fn a_server_that_backs_off_ends_its_allocation_and_stays_down() {
    for mut world in [single_session(), multi_session()] {
        let agent = world.machine(1, 1);
        let server = world.place(1, ranked());
        world.obey(&agent);
        world.says(&agent, server, Phase::BackedOff { crashes: 2, cause: "signal 11".into() });
        let end = end_of(&world, 1);
        assert!(end.failed() && matches!(end, End::BackedOff { crashes: 2, .. }), "{end:?}");
        assert_eq!(world.obey(&agent)[0].intent, Intent::Leave, "stays down until somebody starts it");
        assert_eq!(world.place(2, ranked()), server, "a new allocation is somebody");
    }
}

/// "Note: If the intention is to manually Stop a currently Allocated server this will not work, instead you should send
/// a Deallocation request."
#[test]
fn an_allocated_server_is_not_stopped_by_hand() {
    let mut world = single_session();
    let agent = world.machine(1, 1);
    let server = world.place(1, ranked());
    for command in [Command::StopServer(server), Command::StartServer(server), Command::RestartServer(server)]
    {
        let refused = Rejection::ServerAllocated { server, allocation: allocation(1) };
        assert_eq!(world.run(&command), Err(refused.clone()));
        assert!(refused.mend().contains("allocation delete"));
    }
    world.obey(&agent);
    assert_eq!(world.status(server), "ALLOCATED");
}

/// "Game Server Hosting restarts (stops, then starts) a build executable process if you create an allocation […]"
/// and `restart` in the allocation asks for it even where the configuration is right.
#[test]
fn an_allocation_may_ask_for_a_fresh_process() {
    let mut world = multi_session();
    let agent = world.machine(1, 1);
    let request = Request { renewal: Renewal::Restart, ..World::request(ranked()) };
    world.must(&Command::Allocate { id: allocation(1), request });
    assert_eq!(world.obey(&agent)[0].intent, Intent::Renew);
}

/// "Changes to values in a build configuration currently in use by a server may not be reflected immediately."
#[test]
fn a_new_revision_reaches_an_allocated_server_at_its_next_allocation() {
    let mut world = single_session();
    let agent = world.machine(1, 1);
    let server = world.place(1, ranked());
    world.obey(&agent);
    let mut changed = fleet_spec(IdleServers::StartOnAllocation, Growth::Fixed);
    changed.revision = 2;
    changed.configurations[0].configuration.revision = 2;
    world.must(&Command::Configure(changed.into()));
    world.pass(MINUTE);
    assert!(world.fleet.owed(&agent.machine).orders.is_empty(), "never under a running session");
    assert!(world.fleet.owed(&agent.machine).specs.is_some(), "its agent learns the new revision");
    world.says(&agent, server, Phase::Stopped(Stopped::Completed));
    world.obey(&agent);
    world.place(2, ranked());
    assert_eq!(world.obey(&agent)[0].configuration.revision, 2);
}

/// Multi-session allocations, steps 1 to 10 as written.
/// "This means game servers are ready for allocations when the machine provisioning completes."
#[test]
fn the_multi_session_pattern_step_by_step() {
    let mut world = multi_session();
    let agent = world.join(1, 1); // 1. Provision machine.
    world.connect(&agent);
    assert_eq!(world.obey(&agent)[0].intent, Intent::Run); // 2. The game server starts immediately.
    let server = world.place(1, ranked()); // 3. You allocate the game server.
    world.obey(&agent);
    let pid = Phase::Online { pid: 4711 };
    for _ in 0..2 {
        // 4 to 8. Sessions begin, end, and are cleaned up: the executable runs on, and nothing changes.
        world.pass(90 * MINUTE);
        world.says(&agent, server, pid.clone());
        assert_eq!(world.status(server), "ALLOCATED");
    }
    world.must(&Command::Deallocate { id: allocation(1) }); // 9. You deallocate the game server.
    assert_eq!(world.obey(&agent)[0].intent, Intent::Leave, "deallocation does not stop the process");
    assert_eq!(world.status(server), "ONLINE"); // 10. The game server becomes idle because it's not allocated.
    assert_eq!(world.fleet.server(server).unwrap().seen().unwrap().phase, pid);
}

/// Single-session allocations, steps 1 to 9 as written.
/// "This means game servers don't start until you allocate them."
#[test]
fn the_single_session_pattern_step_by_step() {
    let mut world = single_session();
    let agent = world.join(1, 1); // 1. Provision machine.
    world.connect(&agent);
    assert!(world.obey(&agent).is_empty()); // 2. Server is idle.
    let server = world.place(1, ranked()); // 3. You allocate the game server.
    assert_eq!(world.obey(&agent)[0].intent, Intent::Run); // 4. The game server starts when it's allocated.
    world.pass(20 * MINUTE); // 5, 6. The game session begins and ends.
    world.says(&agent, server, Phase::Stopped(Stopped::Completed)); // 7. The executable exits with code 0.
    assert_eq!(end_of(&world, 1), End::Completed); // 8. Game Server Hosting deallocates.
    world.obey(&agent);
    assert_eq!(world.status(server), "AVAILABLE"); // 9. Server becomes idle.
}

/// "ALLOCATED, RESERVED, AVAILABLE, ONLINE, READY, HELD": the projection of process and claim, row by row.
/// Shows `server statuses`.
#[test]
fn the_status_table() {
    let rows = [
        (Phase::Stopped(Stopped::Idle), "AVAILABLE"),
        (Phase::Stopped(Stopped::Ordered), "AVAILABLE"),
        (Phase::Starting { pid: None }, "ONLINE"),
        (Phase::Online { pid: 1 }, "ONLINE"),
        (Phase::Stopping { pid: None }, "ONLINE"),
        (Phase::BackedOff { crashes: 2, cause: "exit code 1".into() }, "AVAILABLE"),
        (Phase::Lost, "AVAILABLE"),
    ];
    for (phase, status) in rows {
        let mut world = single_session();
        let agent = world.machine(1, 1);
        let server = agent.slots[0].server;
        world.report(&agent, server, Generation::NONE, Some(reference(ranked())), phase.clone());
        assert_eq!(world.status(server), status, "{phase:?}");
        world.place(1, ranked());
        assert_eq!(world.status(server), "ALLOCATED", "{phase:?}");
    }
    let mut spec = fleet_spec(IdleServers::StartOnProvision, Growth::Fixed);
    spec.hosting.claimed_by = ClaimedBy::Reservations;
    let mut world = World::new(spec);
    let agent = world.machine(1, 1);
    let server = agent.slots[0].server;
    let process = world.process(server);
    for (command, status) in [
        (Command::SetReady { server, process }, "READY"),
        (Command::Hold { server, process, time: MINUTE }, "HELD"),
        (Command::Reserve { server, process, reservation: reservation(1) }, "RESERVED"),
        (Command::Unreserve { server, process }, "ONLINE"),
        (Command::StopServer(server), "AVAILABLE"),
    ] {
        world.must(&command);
        world.obey(&agent);
        assert_eq!(world.status(server), status, "{command:?}");
    }
    let mut six = ServerStatus::ALL.map(|status| status.multiplay().word()).to_vec();
    six.sort_unstable();
    six.dedup();
    assert_eq!(
        six,
        ["ALLOCATED", "AVAILABLE", "HELD", "ONLINE", "READY", "RESERVED"],
        "for Multiplay's clients"
    );
}

/// A lost machine ends the allocation: nobody knows how the process ended, so it is no crash.
#[test]
fn a_lost_process_ends_its_allocation() {
    let mut world = multi_session();
    let agent = world.machine(1, 1);
    let server = world.place(1, ranked());
    world.obey(&agent);
    world.says(&agent, server, Phase::Lost);
    assert_eq!(end_of(&world, 1), End::Lost);
    assert_eq!(
        world.obey(&agent)[0].intent,
        Intent::Run,
        "with start on provision the slot starts again, idle"
    );
    assert!(matches!(world.allocate(2, ranked()), Ok(Answer::Placed { .. })));
    assert_eq!(world.fleet.allocated_in(EUROPE), 1);
}

/// Pre-recovery and exhausted back-off end the allocation as `failed`, readable for the named time; the slot is free, and
/// "a manual start afterwards starts without an allocation" (issue 3, point 2; seed 001, allocation pre-recovery).
#[test]
fn a_failed_allocation_stays_readable_and_frees_its_server() {
    let backed_off = Phase::BackedOff { crashes: 2, cause: "exit code 3".into() };
    for phase in [backed_off, Phase::PreRecovery { cause: "no answer to 3 queries".into() }] {
        let mut world = multi_session();
        let agent = world.machine(1, 1);
        let server = world.place(1, ranked());
        world.obey(&agent);
        world.says(&agent, server, phase.clone());
        assert!(end_of(&world, 1).failed(), "{phase:?}");
        let orders = world.obey(&agent);
        assert_eq!((orders[0].intent, &orders[0].allocation), (Intent::Leave, &None), "its id is cleared");
        assert_eq!(world.status(server), "AVAILABLE", "it stays down until somebody starts it");
        world.must(&Command::StartServer(server));
        let orders = world.obey(&agent);
        assert_eq!((orders[0].intent, &orders[0].allocation), (Intent::Run, &None));
        assert_eq!(world.status(server), "ONLINE");
        world.pass(59 * MINUTE);
        assert!(end_of(&world, 1).failed(), "readable for the named time");
        world.pass(MINUTE);
        assert!(world.fleet.allocation(allocation(1), world.now).is_none());
    }
}
