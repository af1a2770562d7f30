//! Seed 003 (server hold), one example a sentence, each naming its sentence.

#![expect(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "a test may panic")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{Agent, MINUTE, World, casual, fleet_spec, ranked};
use mainstay_core::slot::{Intent, Phase, Stopped};
use mainstay_core::{ServerId, StateMachine, Timestamp};
use mainstay_fleet::{
    Answer, ClaimedBy, Command, Event, FleetSpec, Growth, HoldEnd, IdleServers, Life, MachinePolicy,
    MachineTtl, Rejection, ReservationEnd, ServerStatus,
};

const TEN_MINUTES: Duration = Duration::from_secs(600);

fn allocations() -> FleetSpec {
    fleet_spec(IdleServers::StartOnProvision, Growth::Fixed)
}

fn reservations() -> FleetSpec {
    let mut spec = allocations();
    spec.hosting.claimed_by = ClaimedBy::Reservations;
    spec
}

/// A fleet whose machines go once they have idled for so long.
fn leaving(mut spec: FleetSpec, idle: Duration) -> FleetSpec {
    let ttl = MachineTtl::Idle { shutdown: idle, delete: idle };
    spec.hosting.machines = MachinePolicy { ttl, ..MachinePolicy::default() };
    spec
}

/// The operator chooses another TTL for machines that run already.
fn choose_ttl(world: &mut World, idle: Duration) {
    let mut spec = leaving(FleetSpec::clone(world.fleet.spec().unwrap()), idle);
    spec.revision += 1;
    world.must(&Command::Configure(Arc::new(spec)));
    world.pass(Duration::ZERO);
}

/// Whether a machine serves until that moment, and is being emptied from then on.
fn stays_until(world: &mut World, agent: &Agent, end: Timestamp) -> bool {
    const TICK: Duration = Duration::from_millis(1);
    world.pass(end.since(world.now) - TICK);
    let before = world.life(agent.machine);
    world.pass(TICK);
    let after = world.life(agent.machine);
    before == Some(Life::Serving) && matches!(after, Some(Life::Draining { .. }))
}

/// A machine of so many running servers, and its first server.
fn running(spec: FleetSpec, slots: u16) -> (World, Agent, ServerId) {
    let mut world = World::new(spec);
    let agent = world.machine(1, slots);
    let server = agent.slots[0].server;
    assert_eq!(world.status(server), "ONLINE");
    (world, agent, server)
}

/// The same, held for ten minutes.
fn held(spec: FleetSpec, slots: u16) -> (World, Agent, ServerId) {
    let (mut world, agent, server) = running(spec, slots);
    world.hold(server, TEN_MINUTES).unwrap();
    assert_eq!(world.status(server), "HELD");
    (world, agent, server)
}

/// What ended the holds so far.
fn ends(world: &World) -> Vec<HoldEnd> {
    let ends = world.journal.iter().filter_map(|(_, event)| match event {
        Event::HoldEnded { end, .. } => Some(*end),
        _ => None,
    });
    ends.collect()
}

/// "Server hold is a management pattern which allows a server to remain capable of receiving an allocation […]", and "Server
/// hold is a server management pattern which allows the server to remain capable of receiving an allocation" (seed 002).
#[test]
fn a_held_server_receives_an_allocation() {
    let (mut world, _, server) = held(allocations(), 1);
    assert_eq!(world.place(1, ranked()), server);
}

/// "Server hold is a management pattern which allows a server to remain capable of […] executing a reservation for a specified
/// period of time."
#[test]
fn a_held_server_executes_a_reservation() {
    let (mut world, _, server) = held(reservations(), 1);
    assert!(matches!(world.reserve(server, 1), Ok(Answer::Reserved(_))));
}

/// "In most cases, initiating a server hold is only functionally applicable for reservation-based fleets, however, the
/// feature is also available to fleets which handle allocations."
#[test]
fn both_kinds_of_fleets_hold() {
    for spec in [allocations(), reservations()] {
        held(spec, 1);
    }
}

/// "With a reservation-based fleet, Game Server Hosting cannot select the best server for an incoming match."
/// Shows `only on reservation fleets`.
#[test]
fn a_reservation_fleet_takes_no_allocations_and_an_allocation_fleet_no_reservations() {
    let (mut world, _, _) = running(reservations(), 1);
    assert_eq!(world.allocate(1, ranked()), Err(Rejection::NotAnAllocationFleet));
    let (mut world, _, server) = running(allocations(), 1);
    assert_eq!(world.reserve(server, 1), Err(Rejection::NotAReservationFleet));
}

/// "Machines that contain no reserved servers are considered for shutdown and deletion based upon pre-configured TTLs."
#[test]
fn a_machine_without_reserved_servers_may_go_after_its_ttl() {
    let (mut world, agent, server) = running(leaving(reservations(), TEN_MINUTES), 2);
    world.reserve(server, 1).unwrap();
    world.pass(600 * MINUTE);
    assert_eq!(world.life(agent.machine), Some(Life::Serving), "a reserved server keeps it for ever");
    world.must(&Command::Unreserve { server, process: world.process(server) });
    let idle = world.now + TEN_MINUTES;
    assert!(stays_until(&mut world, &agent, idle), "idle since the last one left");
}

/// "Holding a server allows the machine the server is running on to be kept alive past its pre-configured TTLs."
#[test]
fn a_hold_keeps_the_machine_past_its_ttl() {
    let (mut world, agent, server) = running(leaving(reservations(), 60 * MINUTE), 2);
    world.pass(59 * MINUTE);
    world.hold(server, TEN_MINUTES).unwrap();
    let held = world.now + TEN_MINUTES;
    choose_ttl(&mut world, MINUTE);
    assert!(stays_until(&mut world, &agent, held), "nine minutes past one TTL, and an hour past the other");
    // A hold that is shorter than the TTL makes nothing shorter.
    let (mut world, agent, server) = running(leaving(reservations(), 60 * MINUTE), 2);
    world.hold(server, TEN_MINUTES).unwrap();
    let idle = world.now + 60 * MINUTE;
    assert!(stays_until(&mut world, &agent, idle));
}

/// The whole way of a server under a TTL: it reserves itself, ends that, is held, and each counts from its own end: "the
/// platform does not move the server back into the HELD state even if the previous timeout would not yet have been
/// exceeded", so the hold of before keeps nothing any more.
#[test]
fn reservations_and_holds_take_turns_to_keep_a_machine() {
    let (mut world, agent, server) = held(leaving(reservations(), 2 * MINUTE), 1);
    world.pass(MINUTE);
    world.reserve(server, 1).unwrap();
    world.pass(5 * MINUTE);
    world.must(&Command::Unreserve { server, process: world.process(server) });
    // Four minutes of the first hold would be left.
    world.pass(MINUTE);
    world.hold(server, 3 * MINUTE).unwrap();
    let end = world.now + 3 * MINUTE;
    assert!(stays_until(&mut world, &agent, end), "until the second hold ends, a minute past the TTL");
    let (mut world, agent, server) = held(leaving(reservations(), 2 * MINUTE), 1);
    world.reserve(server, 1).unwrap();
    world.must(&Command::Unreserve { server, process: world.process(server) });
    let idle = world.now + 2 * MINUTE;
    assert!(stays_until(&mut world, &agent, idle), "the hold of before keeps nothing");
}

/// "The hold timeout can be configured on a per-server basis, however, from a Game Server Hosting perspective, the timeout
/// furthest in the future will be taken into account when making the decision as to whether a machine should be
/// deprovisioned."
#[test]
fn the_furthest_hold_counts_for_the_machine() {
    for release in [false, true] {
        let (mut world, agent, _) = running(leaving(reservations(), MINUTE), 3);
        for (slot, minutes) in [(0, 5), (1, 20), (2, 10)] {
            world.hold(agent.slots[slot].server, minutes * MINUTE).unwrap();
        }
        let end = world.now + 20 * MINUTE;
        world.pass(11 * MINUTE);
        assert_eq!(world.life(agent.machine), Some(Life::Serving), "two of three ran out");
        if release {
            let furthest = agent.slots[1].server;
            world.must(&Command::ReleaseHold { server: furthest, process: world.process(furthest) });
            world.pass(Duration::ZERO);
            assert!(matches!(world.life(agent.machine), Some(Life::Draining { .. })), "nothing keeps it");
        } else {
            assert!(stays_until(&mut world, &agent, end));
        }
    }
}

/// "Note that holding a server does not negatively influence the number of available servers […]"
#[test]
fn a_hold_leaves_the_available_count_as_it_is() {
    let (mut world, agent, server) = running(allocations(), 3);
    let before = world.fleet.counts();
    world.hold(server, TEN_MINUTES).unwrap();
    let after = world.fleet.counts();
    assert_eq!((before.unclaimed(), after.unclaimed()), (3, 3));
    assert_eq!((after.of(ServerStatus::Held), after.of(ServerStatus::Online), after.claimed()), (1, 2, 0));
    for n in 1..=3 {
        world.place(n, ranked());
    }
    world.obey(&agent);
    assert_eq!(world.fleet.counts().unclaimed(), 0, "all three were there to be allocated");
}

/// "Note that holding a server does not negatively influence […] the server hold only influences deprovisioning, not provisioning
/// of new machines."
#[test]
fn a_hold_changes_nothing_for_an_allocation_that_finds_no_server() {
    let spec = fleet_spec(IdleServers::StartOnProvision, Growth::MachinesMayJoin);
    let outcomes = [false, true].map(|hold| {
        let (mut world, agent, _) = running(spec.clone(), 2);
        if hold {
            world.hold(agent.slots[1].server, TEN_MINUTES).unwrap();
        }
        world.place(1, ranked());
        world.place(2, ranked());
        (world.allocate(3, ranked()), world.fleet.counts().unclaimed())
    });
    assert_eq!(outcomes[0], outcomes[1]);
}

/// "A server is held for a period of time based upon one, or a combination of [average match time, demand, …]": the
/// server chooses, up to what the operator allows.
#[test]
fn a_server_chooses_how_long_within_what_the_fleet_allows() {
    let mut spec = allocations();
    spec.hosting.hold_max = 30 * MINUTE;
    let (mut world, _, server) = running(spec, 1);
    assert_eq!(world.hold(server, Duration::ZERO), Err(Rejection::HoldTooShort));
    let long = Rejection::HoldTooLong { asked: 31 * MINUTE, max: 30 * MINUTE };
    assert_eq!(world.hold(server, 31 * MINUTE), Err(long));
    assert_eq!(world.status(server), "ONLINE", "a refusal changes nothing");
    for minutes in [30, 1] {
        let until = world.now + minutes * MINUTE;
        assert_eq!(world.hold(server, minutes * MINUTE), Ok(Answer::Held { until }));
    }
}

/// "The server hold period is periodically checked by the server and refreshed if necessary."
#[test]
fn a_hold_is_read_and_refreshed() {
    let (mut world, _, server) = held(allocations(), 1);
    let first = world.now + TEN_MINUTES;
    assert_eq!(world.fleet.server(server).unwrap().held_until(), Some(first));
    world.pass(9 * MINUTE);
    world.hold(server, TEN_MINUTES).unwrap();
    world.pass(9 * MINUTE);
    assert_eq!(world.status(server), "HELD", "the latest request counts");
    world.pass(MINUTE);
    assert_eq!((world.status(server), ends(&world)), ("ONLINE", vec![HoldEnd::TimedOut]));
}

/// "The server hold is removed if the capacity is no longer required", "A server hold can be created, viewed and removed",
/// and "A server hold can be expired manually by calling the DELETE endpoint".
#[test]
fn a_hold_is_released_by_its_server() {
    let (mut world, _, server) = running(allocations(), 1);
    let process = world.process(server);
    world.must(&Command::SetReady { server, process });
    world.hold(server, TEN_MINUTES).unwrap();
    let release = Command::ReleaseHold { server, process };
    assert_eq!(world.must(&release), Answer::Done);
    assert_eq!((world.status(server), ends(&world)), ("ONLINE", vec![HoldEnd::Released]));
    assert_eq!(world.must(&release), Answer::Done, "a repeat does nothing");
    assert_eq!(ends(&world).len(), 1);
}

/// "Guaranteed game sessions: a server which becomes reserved is guaranteed to be live as long as it has been held some
/// time beforehand": nothing comes between a hold and the reservation that follows it.
#[test]
fn a_held_server_goes_to_reserved_without_a_moment_between() {
    let (mut world, agent, server) = held(leaving(reservations(), MINUTE), 1);
    let orders = world.fleet.server(server).unwrap().generation;
    world.pass(TEN_MINUTES - Duration::from_millis(1));
    world.reserve(server, 1).unwrap();
    world.pass(600 * MINUTE);
    assert_eq!(world.life(agent.machine), Some(Life::Serving));
    assert_eq!(world.fleet.server(server).unwrap().generation, orders, "its process was never touched");
}

/// "By creating a server hold, the server in question transitions into the HELD state."
#[test]
fn a_hold_leads_to_held() {
    let (mut world, _, server) = running(allocations(), 1);
    let until = world.now + TEN_MINUTES;
    assert_eq!(world.hold(server, TEN_MINUTES), Ok(Answer::Held { until }));
    assert_eq!(world.status(server), "HELD");
}

/// "A server cannot transition into this state if it is in any of the ALLOCATED […] states."
#[test]
fn an_allocated_server_is_not_held() {
    let (mut world, agent, server) = running(allocations(), 1);
    world.place(1, ranked());
    world.obey(&agent);
    let refused = Rejection::NotHoldable { server, status: ServerStatus::Allocated };
    assert_eq!(world.hold(server, TEN_MINUTES), Err(refused));
    assert_eq!(world.status(server), "ALLOCATED");
}

/// "A server cannot transition into this state if it is in any of the […] RESERVED states."
#[test]
fn a_reserved_server_is_not_held() {
    let (mut world, _, server) = running(reservations(), 1);
    world.reserve(server, 1).unwrap();
    let refused = Rejection::NotHoldable { server, status: ServerStatus::Reserved };
    assert_eq!(world.hold(server, TEN_MINUTES), Err(refused));
    assert_eq!(world.status(server), "RESERVED");
}

/// "The timeout specified in the latest hold request has been exceeded (the server transitions to the ONLINE state)."
#[test]
fn a_hold_runs_out_to_online() {
    let (mut world, _, server) = held(allocations(), 1);
    let process = world.process(server);
    world.must(&Command::SetReady { server, process });
    world.pass(TEN_MINUTES - Duration::from_millis(1));
    assert_eq!(world.status(server), "HELD", "not a moment early");
    world.pass(Duration::from_millis(1));
    assert_eq!((world.status(server), ends(&world)), ("ONLINE", vec![HoldEnd::TimedOut]));
}

/// The same where no process runs (architecture.md: "a hold that runs out over a stopped process shows AVAILABLE").
#[test]
fn a_hold_over_a_stopped_process_runs_out_to_available() {
    let (mut world, agent, server) = held(fleet_spec(IdleServers::StartOnProvision, Growth::Fixed), 1);
    let mut spec = fleet_spec(IdleServers::StartOnAllocation, Growth::Fixed);
    spec.revision = 2;
    world.must(&Command::Configure(spec.into()));
    world.says(&agent, server, Phase::Stopped(Stopped::Completed));
    assert_eq!(world.status(server), "HELD");
    world.pass(TEN_MINUTES);
    assert_eq!((world.status(server), ends(&world)), ("AVAILABLE", vec![HoldEnd::TimedOut]));
}

/// "The server has been allocated (the server transitions to the ALLOCATED state)."
#[test]
fn an_allocation_ends_a_hold() {
    let (mut world, _, server) = held(allocations(), 1);
    world.place(1, ranked());
    assert_eq!((world.status(server), ends(&world)), ("ALLOCATED", vec![HoldEnd::Allocated]));
}

/// "The server has been reserved (the server transitions to the RESERVED state)."
#[test]
fn a_reservation_ends_a_hold() {
    let (mut world, _, server) = held(reservations(), 1);
    world.reserve(server, 1).unwrap();
    assert_eq!((world.status(server), ends(&world)), ("RESERVED", vec![HoldEnd::Reserved]));
}

/// "The server has been manually stopped (the server transitions to the AVAILABLE state)."
#[test]
fn a_manual_stop_ends_a_hold() {
    let (mut world, agent, server) = held(allocations(), 1);
    world.must(&Command::StopServer(server));
    assert_eq!(world.obey(&agent)[0].intent, Intent::Stop);
    assert_eq!((world.status(server), ends(&world)), ("AVAILABLE", vec![HoldEnd::StoppedByHand]));
}

/// "The server has been manually restarted (the server transitions to the ONLINE state)."
#[test]
fn a_manual_restart_ends_a_hold() {
    let (mut world, agent, server) = held(allocations(), 1);
    world.must(&Command::RestartServer(server));
    assert_eq!(world.obey(&agent)[0].intent, Intent::Renew);
    assert_eq!((world.status(server), ends(&world)), ("ONLINE", vec![HoldEnd::RestartedByHand]));
}

/// "A server hold does not expire automatically under the following conditions: The server exits itself with any return
/// code."
#[test]
fn the_servers_own_exit_leaves_the_hold() {
    let crashed = Phase::BackedOff { crashes: 2, cause: "exit code 3".into() };
    let silent = Phase::PreRecovery { cause: "no answer".into() };
    for phase in
        [Phase::Stopped(Stopped::Completed), Phase::Starting { pid: None }, crashed, silent, Phase::Lost]
    {
        let (mut world, agent, server) = held(allocations(), 1);
        let until = world.now + TEN_MINUTES;
        world.says(&agent, server, phase.clone());
        assert_eq!(world.status(server), "HELD", "{phase:?}");
        assert_eq!(world.fleet.server(server).unwrap().held_until(), Some(until), "{phase:?}");
        assert_eq!(ends(&world), vec![], "{phase:?}");
        // Its next process, which the plane orders, or the agent starts by itself.
        world.obey(&agent);
        world.says(&agent, server, Phase::Online { pid: 4712 });
        assert_eq!(world.fleet.server(server).unwrap().held_until(), Some(until), "{phase:?}");
        world.pass(MINUTE);
        let later = world.now + TEN_MINUTES;
        assert_eq!(world.hold(server, TEN_MINUTES), Ok(Answer::Held { until: later }), "{phase:?}");
        assert_eq!(world.fleet.server(server).unwrap().held_until(), Some(later), "{phase:?}");
        world.must(&Command::ReleaseHold { server, process: world.process(server) });
        assert_eq!((world.status(server), ends(&world)), ("ONLINE", vec![HoldEnd::Released]), "{phase:?}");
    }
}

/// "It is important to note that if a server hold is required after an allocation […] has been removed, the server must
/// create a new hold; the platform does not move the server back into the HELD state even if the previous timeout would
/// not yet have been exceeded."
#[test]
fn a_hold_is_not_restored_after_an_allocation() {
    let (mut world, agent, server) = held(allocations(), 1);
    world.place(1, ranked());
    world.obey(&agent);
    world.must(&Command::Deallocate { id: common::allocation(1) });
    world.obey(&agent);
    assert_eq!(world.status(server), "ONLINE", "the ten minutes are not over");
    world.hold(server, TEN_MINUTES).unwrap();
    assert_eq!(world.status(server), "HELD", "a new hold is");
}

/// The same of a reservation: "the platform does not move the server back into the HELD state even if the previous timeout would
/// not yet have been exceeded" and "the server must create a new hold".
#[test]
fn a_hold_is_not_restored_after_a_reservation() {
    let (mut world, _, server) = held(reservations(), 1);
    world.reserve(server, 1).unwrap();
    world.must(&Command::Unreserve { server, process: world.process(server) });
    assert_eq!(world.status(server), "ONLINE");
}

/// "Improved server lifecycle: the lifecycle of server is more tightly controlled by the game studio": the wish of a
/// process that has been ordered away changes nothing, however late it comes.
#[test]
fn a_late_wish_of_a_replaced_process_changes_nothing() {
    let (mut world, agent, server) = running(reservations(), 1);
    let process = world.process(server);
    world.must(&Command::RestartServer(server));
    let newest = world.process(server);
    let stale = Err(Rejection::StaleProcess { server, asked: process, newest });
    for command in [
        Command::Hold { server, process, time: TEN_MINUTES },
        Command::ReleaseHold { server, process },
        Command::Reserve { server, process, reservation: common::reservation(1) },
        Command::Unreserve { server, process },
        Command::SetReady { server, process },
        Command::SetUnready { server, process },
    ] {
        assert_eq!(world.run(&command), stale, "{command:?}");
    }
    world.obey(&agent);
    assert_eq!(world.status(server), "ONLINE");
    world.hold(server, TEN_MINUTES).unwrap();
}

/// Clocks that jump back, or stand still, end no hold early; one that jumps forward ends only what has run out by it.
#[test]
fn a_clock_that_jumps_ends_no_hold_early() {
    let (mut world, _, server) = held(allocations(), 1);
    let until = world.now + TEN_MINUTES;
    for now in [Timestamp::from_unix_ms(1), world.now, until.back(Duration::from_millis(1))] {
        world.now = now;
        world.must(&Command::Due);
        assert_eq!(world.status(server), "HELD", "at {now:?}");
    }
    world.now = until;
    world.must(&Command::Due);
    assert_eq!(world.status(server), "ONLINE");
}

/// Reservations are made and released by the server itself; a repeat keeps the one there is.
#[test]
fn a_reservation_is_made_and_released_by_its_server() {
    let (mut world, agent, server) = running(reservations(), 2);
    let Ok(Answer::Reserved(made)) = world.reserve(server, 1) else { panic!("not reserved") };
    assert_eq!(made.at, world.now);
    world.pass(MINUTE);
    assert_eq!(world.reserve(server, 2), Ok(Answer::Reserved(made)));
    let counts = world.fleet.counts();
    assert_eq!((counts.of(ServerStatus::Reserved), counts.unclaimed()), (1, 1));
    world.must(&Command::Unreserve { server, process: world.process(server) });
    assert_eq!(world.status(server), "ONLINE");
    assert!(world.fleet.owed(&agent.machine).orders.is_empty(), "its process is left alone");
}

/// A reservation lasts through a crash that is recovered, as an allocation does, and ends with an intended exit.
#[test]
fn a_reservation_goes_as_its_process_does() {
    let backed_off = Phase::BackedOff { crashes: 2, cause: "signal 11".into() };
    for (phase, end) in [
        (Phase::Stopped(Stopped::Completed), ReservationEnd::Completed),
        (backed_off, ReservationEnd::Failed),
        (Phase::PreRecovery { cause: "no answer".into() }, ReservationEnd::Failed),
        (Phase::Lost, ReservationEnd::Lost),
    ] {
        let (mut world, agent, server) = running(reservations(), 1);
        world.reserve(server, 1).unwrap();
        world.says(&agent, server, Phase::Starting { pid: None });
        assert_eq!(world.status(server), "RESERVED");
        world.says(&agent, server, phase);
        let ended = Event::ReservationEnded { server, end };
        assert!(world.journal.iter().any(|(_, event)| *event == ended), "{end:?}");
        assert_ne!(world.status(server), "RESERVED");
    }
}

/// Players are on a reserved server: it is not stopped or restarted by hand, and the way out is to release it.
#[test]
fn a_reserved_server_is_not_stopped_by_hand() {
    let (mut world, _, server) = running(reservations(), 1);
    world.reserve(server, 1).unwrap();
    for command in [Command::StopServer(server), Command::RestartServer(server)] {
        let refused = Rejection::ServerReserved { server, reservation: common::reservation(1) };
        assert_eq!(world.run(&command), Err(refused.clone()));
        assert!(refused.mend().contains("server release"));
    }
    world.must(&Command::Release(server));
    world.must(&Command::StopServer(server));
}

/// An operator may end a hold too; an allocation is ended by deallocating it.
#[test]
fn an_operator_releases_a_hold_but_no_allocation() {
    let (mut world, _, server) = held(allocations(), 1);
    world.must(&Command::Release(server));
    assert_eq!((world.status(server), ends(&world)), ("ONLINE", vec![HoldEnd::Released]));
    world.place(1, casual());
    let allocation = common::allocation(1);
    assert_eq!(world.run(&Command::Release(server)), Err(Rejection::ServerAllocated { server, allocation }));
}
