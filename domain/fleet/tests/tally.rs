//! What servers go through is counted as it happens, and not as it is told again.

mod common;

use common::{MINUTE, World, allocation, fleet_spec, ranked};
use mainstay_core::StateMachine as _;
use mainstay_fleet::{Command, Fleet, Growth, IdleServers, Observation, ServerStatus};

#[test]
fn changes_of_status_are_counted_with_how_long_each_lasted() {
    let mut world = World::new(fleet_spec(IdleServers::StartOnProvision, Growth::Fixed));
    let now = world.now;
    world.fleet.observe(now, Observation::Listening);
    let agent = world.machine(1, 1);
    assert_eq!(world.status(agent.slots[0].server), "ONLINE");
    world.pass(MINUTE);
    world.place(1, ranked());
    world.obey(&agent);
    world.pass(10 * MINUTE);
    world.must(&Command::Deallocate { id: allocation(1) });
    let tally = world.fleet.tally();
    assert_eq!(tally.moves(ServerStatus::Online, ServerStatus::Allocated), 1);
    assert_eq!(tally.moves(ServerStatus::Allocated, ServerStatus::Online), 1);
    assert_eq!(tally.moves(ServerStatus::Online, ServerStatus::Held), 0);
    let allocated = tally.lasted(ServerStatus::Allocated);
    assert_eq!(allocated.sum(), 600_000);
    assert_eq!(allocated.count(), 1);
    assert!(allocated.counts().any(|at| at == (Some(600_000), 1)), "at most 600 s, and longer than 120 s");
    assert_eq!(tally.lasted(ServerStatus::Online).sum(), 60_000);

    let mut again = Fleet::new(0);
    for (at, event) in world.fleet.snapshot() {
        again.apply(at, &event);
    }
    let told = ServerStatus::ALL.into_iter().map(|status| again.tally().lasted(status).sum()).sum::<u64>();
    assert_eq!(told, 0, "what a replay tells again did not happen now");
}
