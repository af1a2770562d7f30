//! Machines that come back as others than they were: made anew by their provider, with another disk, with other slots.

mod common;

use common::{MINUTE, World, allocation, fleet_spec, ranked};
use mainstay_core::slot::{Exit, Fault, Incident};
use mainstay_core::{BootId, MachineKey, Timestamp};
use mainstay_fleet::{Answer, Command, End, Event, Growth, IdleServers, OnLoss, Rejection};

const KEY: MachineKey = MachineKey(uuid::Uuid::from_u128(1));

fn boot(n: u128) -> Option<BootId> {
    Some(BootId(uuid::Uuid::from_u128(n)))
}

fn world(on_loss: OnLoss) -> World {
    let mut spec = fleet_spec(IdleServers::StartOnProvision, Growth::MachinesMayJoin);
    spec.hosting.machines.on_loss = on_loss;
    World::new(spec)
}

/// A machine that its provider made anew has lost everything: what had been on slots that it no longer has is lost with
/// them, by the policy, and its slots are what it says now.
#[test]
fn a_machine_made_anew_with_fewer_slots_shrinks() {
    for (on_loss, end) in [(OnLoss::Fail, Some(End::MachineLost)), (OnLoss::PlaceAnew, None)] {
        let mut world = world(on_loss);
        let agent = world.join_as(KEY, 3, boot(1));
        world.connect(&agent);
        world.obey(&agent);
        let servers: Vec<_> = (1..=3).map(|n| world.place(n, ranked())).collect();
        world.obey(&agent);
        let of = |server| (1..=3).find(|n| servers[*n as usize - 1] == server).unwrap();
        let (kept, missing) = (of(agent.slots[0].server), of(agent.slots[2].server));
        let anew = world.join_as(KEY, 2, boot(2));
        assert_eq!(anew.machine, agent.machine);
        assert_eq!(anew.slots, agent.slots[..2]);
        assert_eq!((world.end(kept), world.end(missing)), (None, end.clone()));
        assert!(world.fleet.server(agent.slots[2].server).is_none());
        assert_eq!(world.fleet.counts().total(), 2);
        // What waits is placed where there is room again: ids are never given out twice.
        let more = world.machine(2, 1);
        assert!(more.slots[0].server > agent.slots[2].server);
        let placed = world.fleet.allocation(allocation(missing), world.now).unwrap().placed();
        let server = if end.is_none() { more.slots[0].server } else { agent.slots[2].server };
        assert_eq!(placed.map(|placed| placed.server), Some(server));
    }
}

/// One that merely rejoins with fewer slots shrinks at once where nobody is on the others, and is refused where somebody may
/// be: its kernel is the same, or nobody knows.
#[test]
fn a_machine_that_rejoins_with_fewer_slots_is_refused_while_somebody_is_on_the_others() {
    for (before, after) in [(boot(1), boot(1)), (None, boot(2)), (boot(1), None)] {
        let mut world = world(OnLoss::Fail);
        let agent = world.join_as(KEY, 3, before);
        world.connect(&agent);
        world.obey(&agent);
        let last = agent.slots[2].server;
        world.hold(last, MINUTE).unwrap();
        let refused = world.run(&World::joining(KEY, 2, after));
        assert!(matches!(refused, Err(Rejection::SlotsChanged(_))), "{refused:?}");
        assert_eq!(world.fleet.machine(agent.machine).unwrap().servers.len(), 3);
        world.must(&Command::Release(last));
        assert_eq!(world.join_as(KEY, 2, after).slots, agent.slots[..2]);
        assert!(world.fleet.server(last).is_none());
    }
}

/// Other ports for a slot are another slot, and whatever comes behind it.
#[test]
fn a_machine_made_anew_with_other_ports_has_other_servers() {
    let mut world = world(OnLoss::Fail);
    let agent = world.join_as(KEY, 3, boot(1));
    world.connect(&agent);
    world.obey(&agent);
    world.hold(agent.slots[1].server, MINUTE).unwrap();
    let mut command = World::joining(KEY, 3, boot(2));
    let Command::Join { slots, .. } = &mut command else { panic!("{command:?}") };
    slots[1].game = 12_345;
    let brought = slots.clone();
    let Answer::Joined { slots, .. } = world.must(&command) else { panic!("it joins") };
    assert_eq!(slots.iter().map(|slot| slot.ports).collect::<Vec<_>>(), brought);
    assert_eq!(slots[0], agent.slots[0]);
    assert!(slots[1].server > agent.slots[2].server && slots[2].server > slots[1].server);
    assert_eq!(
        world.fleet.machine(agent.machine).unwrap().held_until(),
        None,
        "the hold went with its server"
    );
}

/// A process that a reboot took is news also where the machine was made anew and counts its runs from the beginning.
#[test]
fn a_machine_made_anew_tells_of_its_runs_from_the_beginning() {
    let mut world = world(OnLoss::Fail);
    let agent = world.machine(1, 1);
    let server = agent.slots[0].server;
    let mut tell = |run: u64, at: Timestamp, exit| {
        let configuration = world.fleet.server(server).unwrap().configuration;
        let incident = Incident {
            server,
            run,
            at,
            fault: Fault::Crash,
            cause: "exited with code 3".into(),
            exit,
            configuration,
            allocation: None,
            last_words: "".into(),
            core: None,
        };
        let (machine, stream) = (agent.machine, agent.stream);
        world.must(&Command::TakeIncidents { machine, stream, incidents: vec![incident] });
        let known = world.fleet.server(server).unwrap().incident().unwrap();
        let told = world.journal.iter().filter(|(_, event)| matches!(event, Event::IncidentTold { .. }));
        (known.run, known.at, told.count())
    };
    let [first, second] = [1, 2].map(Timestamp::from_unix_ms);
    let exit = Some(Exit::Code(3));
    assert_eq!(tell(7, first, exit.clone()), (7, first, 1));
    assert_eq!(tell(7, first, exit.clone()), (7, first, 1), "told again");
    assert_eq!(tell(6, first, exit.clone()), (7, first, 1), "an earlier one");
    assert_eq!(tell(1, second, exit.clone()), (1, second, 2));
    assert_eq!(tell(1, second, exit), (1, second, 2), "told again");
}
