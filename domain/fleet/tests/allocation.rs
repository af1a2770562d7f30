//! Allocation: idempotence, placement, waiting, refusals.

mod common;

use std::time::Duration;

use common::{EUROPE, MINUTE, World, allocation, casual, fleet_spec, ranked, reference};
use mainstay_core::slot::{Phase, Stopped};
use mainstay_core::{BuildConfigurationId, Generation, RegionId, StateMachine};
use mainstay_fleet::{
    Answer, Command, End, Growth, IdleServers, Observation, Purpose, RegionOpening, Rejection, Request, Stage,
};

fn fixed() -> World {
    World::new(fleet_spec(IdleServers::StartOnAllocation, Growth::Fixed))
}

fn growing() -> World {
    World::new(fleet_spec(IdleServers::StartOnAllocation, Growth::MachinesMayJoin))
}

#[test]
fn a_known_id_is_answered_and_nothing_is_done() {
    let mut world = fixed();
    world.machine(1, 2);
    let server = world.place(1, ranked());
    let before = world.journal.len();
    assert_eq!(world.allocate(1, casual()), Ok(Answer::Known), "even with other fields");
    assert_eq!(world.journal.len(), before);
    assert_eq!(world.fleet.allocation(allocation(1), world.now).unwrap().placed().unwrap().server, server);
}

#[test]
fn an_ended_allocation_stays_readable_for_the_retention_time_and_is_never_made_anew() {
    let mut world = fixed();
    world.machine(1, 1);
    world.place(1, ranked());
    world.must(&Command::Deallocate { id: allocation(1) });
    world.pass(59 * MINUTE);
    assert_eq!(world.allocate(1, ranked()), Ok(Answer::Known));
    assert_eq!(world.must(&Command::Deallocate { id: allocation(1) }), Answer::Known);
    world.pass(MINUTE);
    assert_eq!(world.fleet.allocation(allocation(1), world.now), None);
    assert_eq!(
        world.run(&Command::Deallocate { id: allocation(1) }),
        Err(Rejection::UnknownAllocation(allocation(1)))
    );
    assert!(matches!(world.allocate(1, ranked()), Ok(Answer::Placed { .. })), "then the id is free again");
}

#[test]
fn the_fullest_machine_is_filled_first() {
    let mut world = fixed();
    let (first, second) = (world.machine(1, 3), world.machine(2, 3));
    let seed = world.place(1, ranked());
    assert_eq!(seed, first.slots[0].server);
    world.place(2, ranked());
    world.place(3, ranked());
    assert_eq!(world.place(4, ranked()), second.slots[0].server, "the first is full");
    world.must(&Command::Deallocate { id: allocation(1) });
    assert_eq!(world.place(5, ranked()), seed, "two of three allocated beats one of three");
}

#[test]
fn candidates_in_the_order_of_what_can_play_soonest() {
    let mut world = fixed();
    let agent = world.machine(1, 6);
    let server = |slot: usize| agent.slots[slot].server;
    let phases = [
        (5, Some(ranked()), Phase::Online { pid: 1 }),
        (4, Some(ranked()), Phase::Starting { pid: None }),
        (3, None, Phase::Stopped(Stopped::Idle)),
        (2, Some(casual()), Phase::Online { pid: 2 }),
        (1, Some(ranked()), Phase::BackedOff { crashes: 2, cause: "exit code 1".into() }),
        (0, Some(ranked()), Phase::Stopping { pid: None }),
    ];
    for (slot, configuration, phase) in phases {
        world.report(&agent, server(slot), Generation::NONE, configuration.map(reference), phase);
    }
    let placed: Vec<_> = (1..=6).map(|n| world.place(n, ranked())).collect();
    assert_eq!(placed, [5, 4, 3, 2, 1, 0].map(server));
}

#[test]
fn a_server_that_was_told_to_stop_is_the_last_choice_even_while_it_still_answers() {
    let mut world = fixed();
    let agent = world.machine(1, 2);
    let (stopping, stopped) = (agent.slots[0].server, agent.slots[1].server);
    world.must(&Command::StartServer(stopping));
    world.obey(&agent);
    world.must(&Command::StopServer(stopping));
    assert_eq!(world.place(1, ranked()), stopped);
    assert_eq!(world.place(2, ranked()), stopping);
}

#[test]
fn a_fleet_that_cannot_grow_refuses_and_says_why_the_others_lost() {
    let mut world = fixed();
    world.machine(1, 2);
    world.place(1, ranked());
    world.place(2, ranked());
    let Err(Rejection::NoServer(losers)) = world.allocate(3, ranked()) else {
        panic!("two slots, three sessions")
    };
    assert_eq!((losers.servers, losers.allocated, losers.silent, losers.unreported), (2, 2, 0, 0));
    assert_eq!(world.fleet.allocation(allocation(3), world.now), None, "a refusal leaves nothing behind");
}

#[test]
fn where_a_machine_may_join_an_allocation_waits_and_the_first_to_come_is_served_first() {
    let mut world = growing();
    for n in 1..=2 {
        assert_eq!(world.allocate(n, ranked()), Ok(Answer::Waiting { until: world.now + MINUTE }));
        world.pass(MINUTE / 60);
    }
    let agent = world.machine(1, 1);
    let stage = |world: &World, n| world.fleet.allocation(allocation(n), world.now).unwrap().stage.clone();
    assert!(matches!(stage(&world, 1), Stage::Placed(_) | Stage::Fulfilled { .. }));
    assert!(matches!(stage(&world, 2), Stage::Waiting { .. }));
    world.obey(&agent);
    world.must(&Command::Deallocate { id: allocation(1) });
    assert!(matches!(stage(&world, 2), Stage::Placed(_)), "a deallocated server serves the next at once");
}

/// Issue 2, section 9: "When no slot is free but the fleet can grow, the allocation is accepted and waits, […] when it cannot
/// grow it is refused at once with a code": while a join token for the region is open, a machine can come.
#[test]
fn while_a_join_token_is_open_an_allocation_waits_for_the_machine() {
    let mut world = fixed();
    let refused = |world: &mut World| matches!(world.allocate(1, ranked()), Err(Rejection::NoServer(_)));
    assert!(refused(&mut world), "nobody can come");
    let until = world.now + 2 * MINUTE;
    let invited = Observation::Invited { region: common::EUROPE, until: Some(until) };
    world.fleet.observe(world.now, invited);
    assert!(matches!(world.allocate(1, ranked()), Ok(Answer::Waiting { .. })));
    world.machine(1, 1);
    assert!(world.fleet.allocation(allocation(1), world.now).unwrap().placed().is_some());

    // An open token that runs out, one that is withdrawn, and a leader that has not been told yet let nobody in.
    let second = |world: &mut World| world.allocate(2, ranked());
    world.now = until;
    assert!(matches!(second(&mut world), Err(Rejection::NoServer(_))), "it has run out");
    let later = Some(until + MINUTE);
    world.fleet.observe(world.now, Observation::Invited { region: common::EUROPE, until: later });
    world.fleet.observe(world.now, Observation::Invited { region: common::EUROPE, until: None });
    assert!(matches!(second(&mut world), Err(Rejection::NoServer(_))), "it was withdrawn");
}

/// The same, where the token's last use has let in a machine that is on its way: for a minute, and until it is here.
#[test]
fn a_machine_that_a_token_has_let_in_is_waited_for_until_it_joins_or_a_minute_is_over() {
    let mut world = fixed();
    let key = |n| mainstay_core::MachineKey(uuid::Uuid::from_u128(n));
    let coming = |n| Observation::Arriving { region: common::EUROPE, machine: key(n) };
    world.fleet.observe(world.now, coming(1));
    assert!(matches!(world.allocate(1, ranked()), Ok(Answer::Waiting { .. })));
    world.machine(1, 1);
    assert!(world.fleet.allocation(allocation(1), world.now).unwrap().placed().is_some());
    assert!(matches!(world.allocate(2, ranked()), Err(Rejection::NoServer(_))), "it is here, and is full");

    world.fleet.observe(world.now, coming(2));
    world.pass(MINUTE - Duration::from_millis(1));
    assert!(matches!(world.allocate(2, ranked()), Ok(Answer::Waiting { .. })));
    world.pass(Duration::from_millis(1));
    assert!(matches!(world.allocate(3, ranked()), Err(Rejection::NoServer(_))), "it never came");
}

#[test]
fn waiting_ends_at_the_placement_timeout_with_the_reason() {
    let mut world = growing();
    world.allocate(1, ranked()).unwrap();
    assert_eq!(world.fleet.next_deadline().unwrap().0, world.now + MINUTE);
    world.pass(MINUTE - std::time::Duration::from_millis(1));
    assert_eq!(world.fleet.allocation(allocation(1), world.now).unwrap().end(), None);
    world.pass(std::time::Duration::from_millis(1));
    let allocation = world.fleet.allocation(allocation(1), world.now).unwrap();
    assert!(matches!(allocation.end(), Some((_, End::PlacementTimedOut(losers))) if losers.servers == 0));
    assert_eq!(world.fleet.next_deadline(), None);
}

#[test]
fn a_silent_machine_may_come_back_so_an_allocation_waits_for_it() {
    let mut world = fixed();
    let agent = world.machine(1, 1);
    world.lose(&agent);
    assert!(matches!(world.allocate(1, ranked()), Ok(Answer::Waiting { .. })));
    world.connect(&agent);
    assert!(world.fleet.allocation(allocation(1), world.now).unwrap().placed().is_some());
}

/// Shows `maxServers`.
#[test]
fn max_servers_bounds_allocated_servers() {
    let mut spec = fleet_spec(IdleServers::StartOnAllocation, Growth::MachinesMayJoin);
    spec.regions[0].max_servers = 1;
    let mut world = World::new(spec);
    world.machine(1, 2);
    world.place(1, ranked());
    assert_eq!(world.allocate(2, ranked()), Err(Rejection::AtMaximum { allocated: 1, max: 1 }));
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let mut spec = fleet_spec(IdleServers::StartOnAllocation, Growth::Fixed);
    let offline = RegionId(uuid::Uuid::from_u128(2));
    let mut region = spec.regions[0].clone();
    (region.id, region.opening) = (offline, RegionOpening::Offline);
    spec.regions.push(region);
    let mut world = World::new(spec);
    world.machine(1, 1);
    let nowhere = RegionId(uuid::Uuid::from_u128(9));
    let nothing = BuildConfigurationId::from_number(99).unwrap();
    let large: std::sync::Arc<str> = "x".repeat(Request::PAYLOAD_MAX + 1).into();
    let ask = |request| Command::Allocate { id: allocation(1), request };
    let asked = World::request(ranked());
    let rows = [
        (ask(Request { region: nowhere, ..asked.clone() }), Rejection::UnknownRegion(nowhere)),
        (ask(Request { region: offline, ..asked.clone() }), Rejection::RegionOffline(offline)),
        (ask(World::request(nothing)), Rejection::UnknownConfiguration(nothing)),
        (
            ask(Request { payload: Some(large), ..asked }),
            Rejection::PayloadTooLarge { bytes: Request::PAYLOAD_MAX + 1 },
        ),
        (Command::Deallocate { id: allocation(8) }, Rejection::UnknownAllocation(allocation(8))),
    ];
    for (command, rejection) in rows {
        assert_eq!(world.run(&command), Err(rejection));
    }
}

/// Reference 1.2: a test allocation's id is none of a session's; "an allocationId that exists causes no action" holds within each.
#[test]
fn an_id_of_the_other_purpose_is_refused() {
    let mut world = fixed();
    world.machine(1, 2);
    let test = Request { purpose: Purpose::Test, ..World::request(ranked()) };
    let ask = |n, request: &Request| Command::Allocate { id: allocation(n), request: request.clone() };
    world.place(1, ranked());
    world.must(&ask(2, &test));
    assert_eq!(world.must(&ask(2, &test)), Answer::Known);
    for command in [ask(1, &test), ask(2, &World::request(ranked()))] {
        assert!(matches!(world.run(&command), Err(Rejection::OfAnotherPurpose(_))));
    }
    let of = |fleet: &mainstay_fleet::Fleet, purpose| {
        fleet.live_allocations(purpose).map(|(id, _)| id).collect::<Vec<_>>()
    };
    for fleet in [&world.fleet, &world.replayed()] {
        assert_eq!(of(fleet, Purpose::Session), [allocation(1)]);
        assert_eq!(of(fleet, Purpose::Test), [allocation(2)]);
    }
    world.must(&Command::Deallocate { id: allocation(2) });
    assert_eq!(of(&world.fleet, Purpose::Test), []);
}

#[test]
fn a_report_on_a_stream_that_is_not_current_is_refused() {
    let mut world = fixed();
    let old = world.machine(1, 1);
    let new = world.join(1, 1);
    world.connect(&new);
    let late = Command::Report { machine: old.machine, stream: old.stream, statuses: vec![] };
    assert_eq!(world.run(&late), Err(Rejection::StaleStream));
    world.lose(&old);
    assert!(
        matches!(world.allocate(1, ranked()), Ok(Answer::Placed { .. })),
        "the old stream's end means nothing"
    );
}

#[test]
fn an_order_is_owed_until_obeyed_and_sent_once_a_stream() {
    let mut world = fixed();
    let agent = world.machine(1, 1);
    let server = world.place(1, ranked());
    let owed = world.fleet.owed(&agent.machine).orders;
    let sent = Observation::Sent {
        machine: agent.machine,
        stream: agent.stream,
        specs: Some(1),
        orders: vec![(server, owed[0].generation)],
    };
    world.fleet.observe(world.now, sent);
    assert!(world.fleet.owed(&agent.machine).is_empty(), "the stream carries it");
    world.connect(&agent);
    assert_eq!(world.fleet.owed(&agent.machine).orders, owed, "a new stream begins from nothing");
    assert!(world.fleet.owed(&agent.machine).specs.is_some());
    world.obey(&agent);
    assert!(world.fleet.owed(&agent.machine).orders.is_empty());
}

#[test]
fn an_agent_that_remembers_more_than_the_journal_is_overtaken() {
    let mut world = fixed();
    let agent = world.machine(1, 1);
    let server = world.place(1, ranked());
    let ahead = Generation::from_number(40);
    world.report(&agent, server, ahead, Some(reference(ranked())), Phase::Online { pid: 1 });
    assert!(world.fleet.server(server).unwrap().generation > ahead);
    world.obey(&agent);
    assert!(world.fleet.allocation(allocation(1), world.now).unwrap().fulfilled().is_some());
    assert_eq!(world.fleet.allocated_in(EUROPE), 1);
}
