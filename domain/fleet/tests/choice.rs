//! "Placement … says why the others lost" (issue 2, section 3), of an allocation that got its server.
mod common;

use common::{World, allocation, casual, fleet_spec, ranked};
use mainstay_core::StateMachine as _;
use mainstay_fleet::{Choice, Class, Growth, IdleServers, Observation};

fn choice(world: &World, n: u128) -> Option<Choice> {
    let known = world.fleet.allocation(allocation(n), world.now)?;
    world.fleet.choice(allocation(n), known)
}

#[test]
fn a_placement_says_what_it_chose_among() {
    let mut world = World::new(fleet_spec(IdleServers::StartOnAllocation, Growth::Fixed));
    let now = world.now;
    world.fleet.observe(now, Observation::Listening);
    let (first, _second) = (world.machine(1, 2), world.machine(2, 1));
    world.place(1, ranked());
    let chosen = choice(&world, 1).unwrap();
    assert_eq!((chosen.class, chosen.fullness, chosen.claimed), (Class::Stopped, 0, 0));
    assert_eq!(chosen.machines, [0, 0, 2, 0, 0, 0]);
    world.obey(&first);

    // It runs ranked, and is free; one slot beside it is stopped, as is the other machine's.
    world.must(&mainstay_fleet::Command::Deallocate { id: allocation(1) });
    world.obey(&first);
    assert_eq!(choice(&world, 1), None, "it is over");
    world.place(2, ranked());
    let chosen = choice(&world, 2).unwrap();
    assert_eq!((chosen.class, chosen.machines), (Class::Running, [1, 0, 2, 0, 0, 0]));
    let words = chosen.to_string();
    assert!(words.starts_with("one that runs the right build configuration"), "{words}");
    assert!(words.contains("passed over") && words.contains("a stopped one (2)"), "{words}");

    // Density before a fresh machine: the stopped slot of the fuller one.
    world.place(3, casual());
    let chosen = choice(&world, 3).unwrap();
    assert_eq!((chosen.class, chosen.fullness, chosen.claimed), (Class::Stopped, 1, 1));

    // A machine that nobody hears is no candidate.
    let third = world.machine(3, 1);
    world.lose(&third);
    let fourth = world.machine(4, 1);
    world.place(4, ranked());
    assert!(choice(&world, 4).unwrap().to_string().contains("not heard"));
    assert_eq!(fourth.slots.len(), 1);
    assert_eq!(
        world.fleet.choice(allocation(4), world.replayed().allocation(allocation(4), world.now).unwrap()),
        choice(&world, 4)
    );
    let told = world.replayed();
    let known = told.allocation(allocation(4), world.now).unwrap();
    assert_eq!(told.choice(allocation(4), known), None, "a replay does not know what was free then");
}
