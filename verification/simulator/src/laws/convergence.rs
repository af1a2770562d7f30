//! Liveness: once faults and callers have stopped and nothing more happens, reality equals desire.

use mainstay_core::slot::{Intent, Phase, Stopped};
use mainstay_core::{MachineId, ServerId, StateMachine as _, Timestamp};
use mainstay_fleet::{Fleet, Life, Server, Stage, Wish};
use mainstay_supervisor::Supervisor;

use super::{Broken, ensure};
use crate::os::SlotTruth;

pub(crate) fn writer_is_idle(who: &str, idle: bool) -> Result<(), Broken> {
    ensure(idle, "a world at rest has nothing waiting for a sync", || who.to_owned())
}

/// Nothing waits: a waiting allocation was placed, or has timed out.
pub(crate) fn waiting_has_no_server(fleet: &Fleet) -> Result<(), Broken> {
    ensure(fleet.waiting() == 0, "no allocation waits for ever", || format!("{} wait", fleet.waiting()))
}

/// No machine is on its way anywhere, every one that is lost is gone for good, and the minimum available is restored, as far
/// as the fleet may grow.
pub(crate) fn machines_rest(fleet: &Fleet, is_gone: impl Fn(MachineId) -> bool) -> Result<(), Broken> {
    for (id, machine) in fleet.machines() {
        let rests = match machine.life {
            // One that an operator withdrew serves nobody new, and is emptied when the last has gone.
            Life::Serving => {
                machine.takes() || machine.counts().claimed() > 0 || machine.held_until().is_some()
            }
            Life::Emptied { .. } => machine.duty.wish() != Wish::Leave,
            Life::Lost { .. } => is_gone(id),
            Life::Requested { .. } | Life::Draining { .. } | Life::Removing { .. } => false,
        };
        ensure(rests, "a machine at rest serves, or is emptied", || format!("{id} is {:?}", machine.life))?;
    }
    let regions = fleet.spec().into_iter().flat_map(|spec| &spec.regions);
    for region in regions {
        let (short, may_grow) = (fleet.shortfall(region), fleet.may_grow(region));
        ensure(short == 0 || may_grow.is_err(), "minimum available is restored after healing", || {
            format!("{short} servers are missing: {:?}", fleet.pool(region.id))
        })?;
    }
    Ok(())
}

/// One slot: what is ordered, what is obeyed, what runs and what the plane believes are the same.
pub(crate) fn slot(
    fleet: &Fleet,
    agent: &Supervisor,
    id: ServerId,
    truth: &SlotTruth,
    now: Timestamp,
) -> Result<(), Broken> {
    let Some(server) = fleet.server(id) else {
        return Err(Broken::new("every slot has a server", id));
    };
    let owed = fleet.owed(&server.machine);
    ensure(owed.is_empty(), "nothing is owed to a machine at rest", || {
        format!("{}: {owed:?}", server.machine)
    })?;
    let Some(seen) = server.seen() else {
        return Err(Broken::new("every slot is reported", id));
    };
    ensure(seen.generation == server.generation, "the newest order is obeyed", || {
        format!("{id}: {:?} ordered, {:?} reported", server.generation, seen.generation)
    })?;
    if let Some(status) = agent.status(id) {
        let believed = (seen.generation, seen.configuration, &seen.phase);
        let said = (status.generation, status.configuration, &status.phase);
        ensure(believed == said, "the plane believes what the agent says", || {
            format!("{id}: {believed:?} believed, {said:?} said")
        })?;
    }
    let (told, known) = (server.incident(), agent.incidents(id).last());
    // A machine that its provider made anew under the same name begins with an empty journal.
    ensure(
        known.is_none() || told == known,
        "the plane knows of every process that ended as nobody wished",
        || format!("{id}: {told:?} told, {known:?} known"),
    )?;
    process_is_as_reported(id, &seen.phase, truth)?;
    process_is_as_wanted(id, server, &seen.phase, truth)?;
    allocation_is_served(fleet, id, server, now)
}

fn process_is_as_reported(id: ServerId, phase: &Phase, truth: &SlotTruth) -> Result<(), Broken> {
    let holds = match phase {
        Phase::Online { pid } => truth.held.as_ref().is_some_and(|game| game.pid == *pid),
        Phase::Stopped(_) | Phase::BackedOff { .. } | Phase::PreRecovery { .. } | Phase::Lost => {
            truth.held.is_none()
        }
        Phase::Starting { .. } | Phase::Stopping { .. } => false,
    };
    ensure(holds, "a slot at rest is as it is reported", || {
        format!("{id} is reported {phase:?}; there is {:?}", truth.held)
    })
}

fn process_is_as_wanted(
    id: ServerId,
    server: &Server,
    phase: &Phase,
    truth: &SlotTruth,
) -> Result<(), Broken> {
    let allocation = server.allocation();
    let given = truth.file.and_then(|file| file.allocation);
    let holds = match (server.intent, phase) {
        (Intent::Stop, Phase::Stopped(_)) => true,
        (Intent::Stop, _) => false,
        (Intent::Run | Intent::Renew, Phase::Online { .. }) => {
            let runs = truth.held.as_ref().map(|game| game.configuration);
            runs == Some(server.configuration) && given == allocation
        }
        (Intent::Run | Intent::Renew, Phase::BackedOff { .. } | Phase::PreRecovery { .. } | Phase::Lost) => {
            allocation.is_none()
        }
        (Intent::Run | Intent::Renew, Phase::Stopped(Stopped::Completed)) => allocation.is_none(),
        (
            Intent::Run | Intent::Renew,
            Phase::Stopped(_) | Phase::Starting { .. } | Phase::Stopping { .. },
        ) => false,
        (Intent::Leave, Phase::Online { .. }) => given == allocation,
        (Intent::Leave, _) => allocation.is_none(),
    };
    ensure(holds, "after healing, reality equals desire", || {
        format!(
            "{id}: {:?} of {:?} for {allocation:?} is wanted; it is {phase:?}, {:?}, server.json {:?}",
            server.intent, server.configuration, truth.held, truth.file
        )
    })
}

fn allocation_is_served(fleet: &Fleet, id: ServerId, server: &Server, now: Timestamp) -> Result<(), Broken> {
    let Some(allocation) = server.allocation() else { return Ok(()) };
    let stage = fleet.allocation(allocation, now).map(|allocation| &allocation.stage);
    ensure(matches!(stage, Some(Stage::Fulfilled { .. })), "an allocation that has a server plays", || {
        format!("{id}: {allocation} is {stage:?}")
    })
}
