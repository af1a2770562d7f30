//! Nothing is answered or done before it is durable: whatever leaves a process is compared with what that process's disk
//! holds at the moment it leaves.

use mainstay_core::slot::{Fault, Status};
use mainstay_core::{MachineId, ServerId, Timestamp};
use mainstay_fleet::{Errand, Fleet, Life as MachineLife, Owed, Verb};
use mainstay_supervisor::{Life, RunNumber, Supervisor};

use super::oracle::Moves;
use super::{Broken, ensure};
use crate::message::{Said, View, Want};

/// What a caller is told of an allocation is on the plane's disk.
///
/// One whose machine was lost may wait again.
pub(crate) fn answer(
    want: &Want,
    said: &Said,
    disk: &Fleet,
    now: Timestamp,
    moves: Moves,
) -> Result<(), Broken> {
    let (Want::Allocate { id, .. } | Want::Deallocate { id } | Want::Read { id }) = want else {
        return Ok(());
    };
    let Said::Stands(view) = said else { return Ok(()) };
    let durable = disk.allocation(*id, now).map(View::of);
    // The disk may be further on; an allocation that has gone from it ended and was kept for its time.
    let holds = match &durable {
        Some(_) if moves == Moves::Anew => true,
        Some(durable) => {
            durable.rank >= view.rank && (view.server.is_none() || view.server == durable.server)
        }
        None => view.end.is_some(),
    };
    ensure(holds, "nothing is answered before it is durable", || {
        format!("a caller is told {view:?} of {id}, the disk says {durable:?}")
    })
}

/// A machine is told the ids that the plane's disk gives its slots.
pub(crate) fn joined(machine: MachineId, servers: &[ServerId], disk: &Fleet) -> Result<(), Broken> {
    let durable = disk.machine(machine).map(|machine| machine.servers.as_slice()).unwrap_or_default();
    ensure(durable.starts_with(servers), "nobody is told an id that the disk does not hold", || {
        format!("{machine} is told {servers:?}, the disk says {durable:?}")
    })
}

/// An order goes out with a generation, and an allocation, that the plane's disk holds.
pub(crate) fn orders(owed: &Owed, disk: &Fleet) -> Result<(), Broken> {
    for order in &owed.orders {
        let durable = disk.server(order.server).map(|server| server.generation).unwrap_or_default();
        ensure(
            order.generation <= durable,
            "nobody is told a generation that the disk does not hold",
            || format!("{} is ordered {:?}, the disk says {durable:?}", order.server, order.generation),
        )?;
        if order.generation == durable {
            let allocation = disk.server(order.server).and_then(|server| server.allocation());
            let told = order.allocation.as_ref().map(|session| session.allocation);
            ensure(told == allocation, "nobody is told an allocation that the disk does not hold", || {
                format!("{} is ordered {told:?}, the disk says {allocation:?}", order.server)
            })?;
        }
    }
    Ok(())
}

/// A provider is asked for what the plane's disk says: to make a machine whose id is durable, to delete one that is given
/// back there, and on which nobody can be.
pub(crate) fn errand(errand: &Errand, disk: &Fleet) -> Result<(), Broken> {
    let life = disk.machine(errand.machine).map(|machine| machine.life);
    let holds = match (errand.verb, life) {
        (Verb::Create { .. }, Some(_)) => true,
        // One that was made durable, and since then given up, deleted and forgotten.
        (Verb::Create { .. }, None) => disk.machine_was(errand.machine),
        (Verb::Delete | Verb::Revoke, Some(life)) => matches!(life, MachineLife::Removing { .. }),
        (Verb::Delete | Verb::Revoke, None) => disk.machine_was(errand.machine),
    };
    ensure(holds, "no provider is asked for what is not durable", || {
        format!("{errand:?}, and the disk says {life:?}")
    })
}

/// A status goes out with a generation that the agent's disk holds.
pub(crate) fn statuses(statuses: &[Status], disk: &Supervisor) -> Result<(), Broken> {
    for status in statuses {
        let durable = disk.slot(status.server).map(|slot| slot.order.generation).unwrap_or_default();
        ensure(status.generation <= durable, "no generation is reported before it is durable", || {
            format!("{} reports {:?}, the disk says {durable:?}", status.server, status.generation)
        })?;
    }
    Ok(())
}

/// A process is started for a run that the agent's disk holds, and holds for live.
pub(crate) fn start(server: Option<ServerId>, run: RunNumber, disk: &Supervisor) -> Result<(), Broken> {
    let slot = server.and_then(|server| disk.slot(server));
    let newest = slot.and_then(|slot| slot.run()).map_or(RunNumber::NONE, |run| run.number);
    ensure(newest >= run, "no process is started before its run is durable", || {
        format!("{server:?} starts {run:?}, the disk says {newest:?}")
    })?;
    let live = slot.and_then(|slot| slot.live_run()).map(|run| run.number);
    ensure(live == Some(run), "no process is started for a run that is over", || {
        format!("{server:?} starts {run:?}, live is {live:?}")
    })
}

/// The signal of misbehaviour is sent for a misbehaviour that the agent's disk holds (seed 001).
pub(crate) fn misbehaviour(
    server: Option<ServerId>,
    run: RunNumber,
    disk: &Supervisor,
) -> Result<(), Broken> {
    let slot = server.and_then(|server| disk.slot(server));
    let known = slot.and_then(|slot| slot.incident(run));
    let recorded = known.is_some_and(|incident| match incident.fault {
        Fault::Misbehaviour(_) => true,
        Fault::Crash => false,
    });
    ensure(recorded, "misbehaviour is recorded before the signal", || {
        format!("{server:?} gets the signal in {run:?}, the disk knows {known:?}")
    })
}

/// A process is signalled for a stop that the agent's disk holds, unless that has been overtaken.
pub(crate) fn stop(server: Option<ServerId>, run: RunNumber, disk: &Supervisor) -> Result<(), Broken> {
    let life = server.and_then(|server| disk.slot(server)).map(|slot| &slot.life);
    let holds = match life {
        Some(Life::Stopping { run: stopping, .. }) => stopping.number >= run,
        Some(Life::Up { run: up, .. }) => up.number > run,
        Some(Life::Down { .. } | Life::Resting { .. }) => true,
        Some(Life::Fresh) | None => false,
    };
    ensure(holds, "no process is stopped before its stop is durable", || {
        format!("{server:?} stops {run:?}, the disk says {life:?}")
    })
}
