//! What an operator does to machines: draining, undraining, removing; a test a sentence of docs/decisions/0021 and of issue 3
//! point 4 ("a machine with an allocated, reserved or held server is never taken away").

mod common;

use common::{Agent, EUROPE, MINUTE, World, allocation, fleet_spec, ranked};
use mainstay_core::slot::Phase;
use mainstay_core::{MachineId, StateMachine as _};
use mainstay_fleet::{
    Answer, ClaimedBy, Command, Duty, Growth, IdleServers, KeptOut, Life, MachinePolicy, MachineStatus,
    MachineTtl, Outcome, Parting, Provided, Rejection, Verb,
};

fn joined() -> World {
    World::new(fleet_spec(IdleServers::StartOnProvision, Growth::Fixed))
}

fn remove(machine: MachineId) -> Command {
    Command::RemoveMachine { machine, kept_out: KeptOut::ByItsCredential }
}

fn emptied(world: &World, machine: MachineId) -> bool {
    matches!(world.life(machine), Some(Life::Emptied { .. }))
}

/// "Draining takes no new allocations, waits for allocated, reserved and held servers, then the machine is emptied"; and it has
/// no deadline, since it ends nobody's session.
#[test]
fn a_drained_machine_takes_nobody_and_is_emptied_when_the_last_session_is_over() {
    let mut world = joined();
    let agent = world.machine(1, 3);
    let playing = world.place(1, ranked());
    let free = agent.slots.iter().map(|slot| slot.server).find(|server| *server != playing).unwrap();
    world.hold(free, 10 * MINUTE).unwrap();

    assert_eq!(world.must(&Command::DrainMachine(agent.machine)), Answer::Deferred);
    assert!(matches!(world.allocate(2, ranked()), Err(Rejection::NoServer(_))), "it takes nobody");
    let away = |answer| matches!(answer, Err(Rejection::MachineAway { life: "drained", .. }));
    assert!(away(world.hold(free, 20 * MINUTE)), "a hold is not made longer");
    assert!(away(world.run(&Command::RestartServer(free))));
    let machine = world.fleet.machine(agent.machine).unwrap();
    assert_eq!((machine.life, machine.status()), (Life::Serving, MachineStatus::ShuttingDown));

    world.pass(20 * MINUTE);
    assert_eq!(world.life(agent.machine), Some(Life::Serving), "the hold is over, the session is not");
    world.pass(100_000 * MINUTE);
    assert_eq!(world.end(1), None, "draining never ends a session");
    world.must(&Command::Deallocate { id: allocation(1) });
    world.pass(std::time::Duration::ZERO);
    assert!(matches!(world.life(agent.machine), Some(Life::Draining { .. })));
    world.obey(&agent);
    assert!(emptied(&world, agent.machine));

    // Nothing but an operator wakes it, and a restart forgets neither.
    assert!(matches!(world.allocate(3, ranked()), Err(Rejection::NoServer(_))));
    let duty = |fleet: &mainstay_fleet::Fleet| fleet.machine(agent.machine).unwrap().duty;
    assert!(matches!(duty(&world.replayed()), Duty::Drained { .. }));
    assert_eq!(duty(&world.replayed()), duty(&world.fleet));
    assert_eq!(world.must(&Command::DrainMachine(agent.machine)), Answer::Done, "a repeat changes nothing");
    assert_eq!(world.must(&Command::UndrainMachine(agent.machine)), Answer::Done);
    assert_eq!(world.life(agent.machine), Some(Life::Serving));
    world.obey(&agent);
    assert_eq!(world.status(playing), "ONLINE", "start on provision");
    world.place(4, ranked());
}

#[test]
fn a_hold_keeps_a_drained_machine_until_it_runs_out() {
    let mut world = joined();
    let agent = world.machine(1, 2);
    world.hold(agent.slots[0].server, 10 * MINUTE).unwrap();
    world.hold(agent.slots[1].server, 20 * MINUTE).unwrap();
    world.must(&Command::DrainMachine(agent.machine));
    world.pass(20 * MINUTE - std::time::Duration::from_millis(1));
    assert_eq!(world.life(agent.machine), Some(Life::Serving), "the furthest hold counts");
    world.pass(std::time::Duration::from_millis(1));
    assert!(matches!(world.life(agent.machine), Some(Life::Draining { .. })));
}

#[test]
fn a_reservation_keeps_a_drained_machine_until_its_game_releases_it() {
    let mut spec = fleet_spec(IdleServers::StartOnProvision, Growth::Fixed);
    spec.hosting.claimed_by = ClaimedBy::Reservations;
    let mut world = World::new(spec);
    let agent = world.machine(1, 2);
    let (one, other) = (agent.slots[0].server, agent.slots[1].server);
    world.reserve(one, 1).unwrap();
    world.must(&Command::DrainMachine(agent.machine));
    assert!(matches!(world.reserve(other, 2), Err(Rejection::MachineAway { .. })));
    world.pass(60 * MINUTE);
    assert_eq!(world.life(agent.machine), Some(Life::Serving));
    let process = world.process(one);
    world.must(&Command::Unreserve { server: one, process });
    world.pass(std::time::Duration::ZERO);
    world.obey(&agent);
    assert!(emptied(&world, agent.machine));
}

/// What exits by itself while its machine drains does not start again, and does once the machine is back.
#[test]
fn what_ends_on_a_drained_machine_rests_until_it_is_undrained() {
    let mut world = joined();
    let agent = world.machine(1, 2);
    let playing = world.place(1, ranked());
    world.obey(&agent);
    let idle = agent.slots.iter().map(|slot| slot.server).find(|server| *server != playing).unwrap();
    world.must(&Command::DrainMachine(agent.machine));
    world.says(&agent, idle, Phase::Stopped(mainstay_core::slot::Stopped::Completed));
    assert_eq!(world.obey(&agent), vec![], "nobody starts it");
    world.must(&Command::UndrainMachine(agent.machine));
    assert_eq!(world.obey(&agent).len(), 1);
    assert_eq!(world.status(idle), "ONLINE");
}

/// "Remove of a machine with such servers is refused with the way out."
#[test]
fn a_machine_that_somebody_is_on_is_not_removed() {
    let mut world = joined();
    let agent = world.machine(1, 3);
    let playing = world.place(1, ranked());
    let free = agent.slots.iter().map(|slot| slot.server).find(|server| *server != playing).unwrap();
    world.hold(free, MINUTE).unwrap();
    let refused = world.run(&remove(agent.machine)).unwrap_err();
    assert_eq!(
        refused,
        Rejection::MachineInUse { machine: agent.machine, allocated: 1, reserved: 0, held: 1 }
    );
    assert!(refused.mend().contains("machine drain"), "{}", refused.mend());
    assert_eq!(world.fleet.machine(agent.machine).unwrap().duty, Duty::InService, "nothing has changed");
}

/// "A removed static machine's credential is revoked": its servers stop, its credential ends, and only then it is forgotten.
#[test]
fn a_removed_machine_that_had_joined_is_emptied_and_its_credential_ends() {
    let mut world = joined();
    let agent = world.machine(1, 2);
    assert_eq!(world.must(&remove(agent.machine)), Answer::Deferred, "its servers run");
    assert_eq!(world.errands(), vec![]);
    world.obey(&agent);
    world.pass(std::time::Duration::ZERO);
    assert!(matches!(world.life(agent.machine), Some(Life::Removing { why: Parting::ByHand, .. })));
    assert_eq!(world.errands(), vec![(agent.machine, Verb::Revoke)]);
    let restarted = world.replayed();
    assert_eq!(restarted.owed(&agent.machine).errand.map(|errand| errand.verb), Some(Verb::Revoke));
    assert_eq!(world.must(&remove(agent.machine)), Answer::Known);
    let gone = Rejection::MachineGone(agent.machine);
    assert_eq!(world.run(&Command::UndrainMachine(agent.machine)), Err(gone));
    world.outcome(agent.machine, Verb::Revoke, Outcome::Done);
    assert_eq!(world.life(agent.machine), None);
    assert_eq!(world.fleet.servers(None).count(), 0);
    assert_eq!(world.replayed().machines().count(), 0);
}

#[test]
fn a_removal_can_be_taken_back_until_it_is_under_way() {
    let mut world = joined();
    let agent = world.machine(1, 1);
    world.must(&remove(agent.machine));
    world.must(&Command::UndrainMachine(agent.machine));
    world.obey(&agent);
    assert_eq!(world.life(agent.machine), Some(Life::Serving));
    world.place(1, ranked());
}

/// One that is silent is removed once it counts as lost, or was emptied: nobody knows before whether it is only slow.
#[test]
fn a_silent_machine_is_removed_once_it_is_lost() {
    let mut world = joined();
    let agent = world.machine(1, 1);
    world.lose(&agent);
    assert_eq!(world.must(&remove(agent.machine)), Answer::Deferred);
    world.pass(world.fleet.machine_policy().lost_after);
    assert_eq!(world.errands(), vec![(agent.machine, Verb::Revoke)]);
}

/// The control plane's own computer joins without a credential: nothing would keep it out while its agent runs.
#[test]
fn a_machine_that_would_be_back_at_once_is_not_removed() {
    let mut world = joined();
    let agent = world.machine(1, 1);
    let by_nothing = Command::RemoveMachine { machine: agent.machine, kept_out: KeptOut::ByNothing };
    assert_eq!(world.run(&by_nothing), Err(Rejection::MachineComesBack(agent.machine)));
    world.lose(&agent);
    assert_eq!(world.must(&by_nothing), Answer::Deferred);
}

/// A loss changes nothing in what an operator wants: a machine that comes back is drained still.
#[test]
fn a_drained_machine_that_is_lost_comes_back_drained() {
    let mut world = joined();
    let agent = world.machine(1, 1);
    world.place(1, ranked());
    world.must(&Command::DrainMachine(agent.machine));
    world.lose(&agent);
    world.pass(world.fleet.machine_policy().lost_after);
    assert!(matches!(world.life(agent.machine), Some(Life::Lost { .. })));
    let back = world.join(1, 1);
    world.connect(&back);
    assert!(world.allocate(2, ranked()).is_err());
    world.obey(&back);
    world.pass(std::time::Duration::ZERO);
    world.obey(&back);
    assert!(emptied(&world, agent.machine));
}

/// A world whose one machine was made by its provider, which makes so many at most.
fn made(machines_max: u32) -> (World, MachineId, Agent) {
    let (create_timeout, retry) = (10 * MINUTE, std::time::Duration::from_secs(1));
    let provided = Provided { slots: 2, machines_max, create_timeout, retry };
    let mut spec = fleet_spec(IdleServers::StartOnAllocation, Growth::Provided(provided));
    spec.hosting.machines = MachinePolicy { ttl: MachineTtl::Off, ..MachinePolicy::default() };
    spec.regions[0].min_available = 2;
    let mut world = World::new(spec);
    world.pass(std::time::Duration::ZERO);
    let (machine, _) = world.errands()[0];
    let agent = world.come(machine, 2);
    (world, machine, agent)
}

/// What an operator withdrew is not the region's to give: growth replaces it, and a provider takes back what is removed.
#[test]
fn a_made_machine_that_is_removed_is_replaced_and_given_back() {
    let (mut world, first, agent) = made(10);
    world.pass(std::time::Duration::ZERO);
    assert_eq!(world.must(&remove(agent.machine)), Answer::Done, "nothing runs on it");
    world.pass(std::time::Duration::ZERO);
    let errands = world.errands();
    assert!(errands.contains(&(first, Verb::Delete)), "{errands:?}");
    assert!(errands.iter().any(|(machine, verb)| *machine != first && matches!(verb, Verb::Create { .. })));
    assert_eq!(world.fleet.pool(EUROPE).unwrap().available, 0);
}

/// `maxMachines` is for machines in service: what an operator withdrew to replace it keeps no other from coming; what a provider
/// has not deleted yet does, so that one that fails to delete buys no more.
#[test]
fn a_drained_machine_leaves_its_place_to_another() {
    let (mut world, first, agent) = made(1);
    world.place(1, ranked());
    world.pass(std::time::Duration::ZERO);
    assert_eq!(world.fleet.machines().count(), 1, "as many as may be");

    world.must(&Command::DrainMachine(agent.machine));
    world.pass(std::time::Duration::ZERO);
    let comes = world.fleet.machines().find(|(id, _)| *id != first).map(|(id, _)| id).unwrap();
    world.come(comes, 2);
    assert_eq!(world.fleet.pool(EUROPE).unwrap().available, 2);

    world.must(&Command::DrainMachine(comes));
    world.must(&Command::Deallocate { id: allocation(1) });
    world.must(&remove(first));
    world.obey(&agent);
    world.pass(std::time::Duration::ZERO);
    assert!(matches!(world.life(first), Some(Life::Removing { .. })), "{:?}", world.life(first));
    assert_eq!(world.fleet.machines().count(), 2, "what is not deleted yet counts");
    world.outcome(first, Verb::Delete, Outcome::Done);
    world.pass(std::time::Duration::ZERO);
    assert_eq!(world.fleet.machines().count(), 2, "{first} is gone, and another comes");
    assert_eq!(world.fleet.machine(first).map(|machine| machine.life), None);
}

/// Reference 3.4, `disabledDeleteTTL`: a machine that an operator drained is given back so long after it is empty, in the place
/// of the delete TTL; never, where it joined by itself.
#[test]
fn a_drained_machine_of_a_provider_is_given_back_after_the_disabled_delete_ttl() {
    let provided = Provided {
        slots: 1,
        machines_max: 10,
        create_timeout: 10 * MINUTE,
        retry: std::time::Duration::from_secs(1),
    };
    let mut spec = fleet_spec(IdleServers::StartOnAllocation, Growth::Provided(provided));
    let ttl = MachineTtl::Idle { shutdown: MINUTE, delete: 2 * MINUTE };
    spec.hosting.machines = MachinePolicy { ttl, ..MachinePolicy::default() };
    spec.hosting.disabled_delete = Some(30 * MINUTE);
    spec.regions[0].min_available = 1;
    let mut world = World::new(spec);
    world.pass(std::time::Duration::ZERO);
    let (made, _) = world.errands()[0];
    let agent = world.come(made, 1);
    let own = world.machine(7, 1);
    for machine in [agent.machine, own.machine] {
        world.must(&Command::DrainMachine(machine));
        world.pass(std::time::Duration::ZERO);
        assert!(emptied(&world, machine));
    }
    world.pass(30 * MINUTE - std::time::Duration::from_millis(1));
    assert!(emptied(&world, agent.machine), "longer than the delete TTL");
    world.pass(std::time::Duration::from_millis(1));
    assert!(matches!(world.life(agent.machine), Some(Life::Removing { why: Parting::Idle, .. })));
    world.pass(100_000 * MINUTE);
    assert!(emptied(&world, own.machine), "the studio's own stays");
}
