//! The allocation TTL in both readings, and the idle one's judge: queried players.

#![expect(clippy::unwrap_used, clippy::unwrap_in_result, reason = "a test may panic")]

mod common;

use std::time::Duration;

use common::{Agent, MINUTE, World, allocation, fleet_spec, ranked};
use mainstay_core::slot::{Heard, Intent, Reading};
use mainstay_core::{ServerId, StateMachine};
use mainstay_fleet::{AllocationTtl, Command, End, Growth, IdleServers, Observation};

const HOUR: Duration = Duration::from_secs(3600);

fn playing(ttl: AllocationTtl) -> (World, Agent, ServerId) {
    let mut spec = fleet_spec(IdleServers::StartOnProvision, Growth::Fixed);
    spec.hosting.allocation_ttl = ttl;
    spec.retention = 100 * HOUR;
    let mut world = World::new(spec);
    let agent = world.machine(1, 1);
    let server = world.place(1, ranked());
    world.obey(&agent);
    (world, agent, server)
}

/// The agent reads this now and every minute for so long.
fn read(world: &mut World, agent: &Agent, server: ServerId, players: Option<u32>, minutes: u32) {
    for _ in 0..minutes {
        let readings = vec![(server, common::heard(players))];
        let Agent { machine, stream, .. } = *agent;
        world.fleet.observe(world.now, Observation::Read { machine, stream, readings });
        world.pass(MINUTE);
    }
}

fn end(world: &World) -> Option<End> {
    world.fleet.allocation(allocation(1), world.now).unwrap().end().map(|(_, end)| end.clone())
}

/// The idle reading is the default, with an hour: it "fires when the server has been idle that long".
/// Shows `allocationTTL, idle`.
#[test]
fn an_hour_without_players_ends_an_allocation() {
    let (mut world, agent, server) = playing(AllocationTtl::DEFAULT);
    read(&mut world, &agent, server, Some(3), 120);
    assert_eq!(end(&world), None, "somebody plays");
    read(&mut world, &agent, server, Some(0), 60);
    assert_eq!(end(&world), Some(End::Idle { ttl: HOUR }));
    assert!(!end(&world).unwrap().failed());
    assert_eq!(world.obey(&agent)[0].intent, Intent::Leave, "its process runs on");
    assert_eq!(world.status(server), "ONLINE");
}

/// Not a moment early: a player, or silence, or a lost stream, and the time counts anew.
#[test]
fn what_nobody_knows_ends_no_session() {
    for interruption in [Some(1), None] {
        let (mut world, agent, server) = playing(AllocationTtl::DEFAULT);
        read(&mut world, &agent, server, Some(0), 59);
        read(&mut world, &agent, server, interruption, 1);
        read(&mut world, &agent, server, Some(0), 59);
        assert_eq!(end(&world), None, "{interruption:?}");
    }
    let (mut world, agent, server) = playing(AllocationTtl::DEFAULT);
    read(&mut world, &agent, server, Some(0), 59);
    world.lose(&agent);
    world.pass(HOUR);
    assert_eq!(end(&world), Some(End::MachineLost), "no agent is heard, and the idle clock says nothing");
}

/// What was read before a session says nothing of it.
#[test]
fn each_session_has_an_idle_clock_of_its_own() {
    let (mut world, agent, server) = playing(AllocationTtl::DEFAULT);
    read(&mut world, &agent, server, Some(0), 59);
    world.must(&Command::Deallocate { id: allocation(1) });
    world.obey(&agent);
    read(&mut world, &agent, server, Some(0), 59);
    world.place(2, ranked());
    read(&mut world, &agent, server, Some(0), 59);
    assert!(world.fleet.allocation(allocation(2), world.now).unwrap().end().is_none());
    read(&mut world, &agent, server, Some(0), 2);
    assert!(world.fleet.allocation(allocation(2), world.now).unwrap().end().is_some());
}

/// Without a query nobody tells of players, and the multi-session pattern of seed 002 holds.
#[test]
fn without_a_query_the_idle_reading_ends_nothing() {
    let untold = Heard::Answer { players: None, players_max: None };
    for heard in [Heard::Unasked, untold] {
        let (mut world, agent, server) = playing(AllocationTtl::DEFAULT);
        let Agent { machine, stream, .. } = agent;
        for _ in 0..10 {
            let readings = vec![(server, Reading { cpu_millis: Some(1), memory_bytes: None, heard })];
            world.fleet.observe(world.now, Observation::Read { machine, stream, readings });
            world.pass(5 * HOUR);
        }
        assert_eq!(end(&world), None, "{heard:?}");
    }
}

/// The other reading: "deallocates even with players present".
/// Shows `allocationTTL, hard cap`.
#[test]
fn by_age_an_allocation_ends_whoever_plays() {
    let (mut world, agent, server) = playing(AllocationTtl::Age(HOUR));
    read(&mut world, &agent, server, Some(8), 59);
    assert_eq!(end(&world), None);
    read(&mut world, &agent, server, Some(8), 2);
    assert_eq!(end(&world), Some(End::Aged { ttl: HOUR }));
}

/// Off is off.
#[test]
fn off_ends_nothing() {
    let (mut world, agent, server) = playing(AllocationTtl::Off);
    read(&mut world, &agent, server, Some(0), 180);
    assert_eq!(end(&world), None);
}

/// A clock that jumps back ends nothing.
#[test]
fn a_clock_that_jumps_back_ends_no_allocation() {
    for ttl in [AllocationTtl::DEFAULT, AllocationTtl::Age(HOUR)] {
        let (mut world, agent, server) = playing(ttl);
        read(&mut world, &agent, server, Some(0), 50);
        world.now = world.now.back(40 * HOUR);
        world.must(&Command::Due);
        assert_eq!(end(&world), None, "{ttl:?}");
    }
}
