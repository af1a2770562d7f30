//! What is always true of a fleet. Run by tests, by the simulator after every event, and by `mainstay doctor`.
//!
//! [`after`] checks what an event touched, cheaply; [`all`] derives everything anew. A property test shows that whatever
//! [`all`] finds after a turn, [`after`] would have found. [`Before`] judges whole turns, and [`overdue`] what
//! their time should have ended.

mod full;
mod machines;
mod turns;

pub use turns::{Before, overdue};

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use mainstay_core::{AllocationId, Generation, MachineId, ServerId};

use crate::allocation::Stage;
use crate::cause::Cause;
use crate::claim::Claim;
use crate::event::Event;
use crate::fleet::Fleet;
use crate::life::{Life, Origin, Parting};
use crate::machine::Machine;
use crate::pool::Share;
use crate::rollout::Outdated;

/// A law that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The law.
    pub law: Law,
    /// Where, and how.
    pub detail: String,
}

/// The laws of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// A server has at most one allocation, an allocation at most one server, and each names the other.
    OneClaim,
    /// An order names a configuration the fleet can still spell out.
    KnownConfiguration,
    /// A server's order has a generation, once it was wanted to run.
    OrderedByGeneration,
    /// The owed index says what a full derivation says.
    Debts,
    /// The candidate index says what a full derivation says.
    Candidates,
    /// The counts of servers by status, of each machine and region, say what a full derivation says.
    Counts,
    /// Holds by time say what a full derivation says: one that is missing would never run out.
    Holds,
    /// The indices of rollouts say what a full derivation says.
    Rollouts,
    /// Idle clocks run for allocated servers alone.
    IdleClocks,
    /// A machine with an allocated, reserved or held server is not free to be taken away, and never on its way to be.
    Removal,
    /// What each region has, and when machines have to be looked at, says what a full derivation says.
    Pools,
    /// Silence is counted of machines that are expected and not heard, and errands rest only where one is owed.
    Silence,
    /// Nothing begins on a machine that drains, is emptied or lost, or that an operator withdrew.
    InService,
    /// Nothing is placed where a session that was given up may still run.
    Fence,
    /// The orders of allocations by time say what a full derivation says.
    AllocationOrders,
    /// Machines and servers name each other.
    Membership,
    /// "Holding a server does not negatively influence the number of available servers" (seed 003).
    HoldsCountNothing,
    /// A hold never outlives its time.
    HoldsEnd,
}

/// Checks what an event touched.
///
/// # Errors
/// The first law found broken.
pub fn after(fleet: &Fleet, event: &Event) -> Result<(), Broken> {
    match event {
        Event::Configured(_)
        | Event::SpecKept(_)
        | Event::CountersKept { .. }
        | Event::MachineRemoved { .. } => Ok(()),
        Event::MachineJoined { machine, .. }
        | Event::MachineReaddressed { machine, .. }
        | Event::ServersAdded { machine, .. }
        | Event::ServersForgotten { machine, .. }
        | Event::MachineRequested { machine, .. }
        | Event::MachineCame { machine }
        | Event::MachineBooted { machine, .. }
        | Event::MachineDescribed { machine, .. }
        | Event::MachineDraining { machine }
        | Event::MachineEmptied { machine }
        | Event::MachineWoken { machine }
        | Event::MachineLost { machine }
        | Event::MachineReturned { machine, .. }
        | Event::MachineParting { machine, .. }
        | Event::MachineDutySet { machine, .. } => machine_holds(fleet, *machine),
        Event::ServerOrdered { server, .. }
        | Event::ServerAssigned { server, .. }
        | Event::HoldEnded { server, .. }
        | Event::ReservationEnded { server, .. }
        | Event::ServerReadied { server }
        | Event::ServerUnreadied { server } => server_holds(fleet, *server),
        Event::ServerHeld { server, .. } | Event::ServerReserved { server, .. } => {
            begins_in_service(fleet, *server)?;
            server_holds(fleet, *server)
        }
        Event::IncidentTold { incident } | Event::IncidentClosed { incident } => {
            server_holds(fleet, incident.server)
        }
        Event::AllocationRequested { id, .. }
        | Event::AllocationFulfilled { id, .. }
        | Event::AllocationReadied { id }
        | Event::AllocationDisplaced { id, .. } => allocation_holds(fleet, *id),
        Event::AllocationPlaced { id, server, .. } => {
            allocation_holds(fleet, *id)?;
            begins_in_service(fleet, *server)?;
            server_holds(fleet, *server)
        }
        Event::AllocationEnded { id, .. } => {
            allocation_holds(fleet, *id)?;
            match fleet.allocations.get(id).and_then(|allocation| allocation.placed()) {
                Some(placed) => server_holds(fleet, placed.server),
                None => Ok(()),
            }
        }
    }
}

/// Derives everything anew.
#[must_use]
pub fn all(fleet: &Fleet) -> Vec<Broken> {
    let mut broken = Vec::new();
    broken.extend(fleet.servers.keys().filter_map(|id| server_holds(fleet, *id).err()));
    broken.extend(fleet.machines.keys().filter_map(|id| machine_holds(fleet, *id).err()));
    broken.extend(fleet.by_request.iter().filter_map(|(_, id)| allocation_holds(fleet, *id).err()));
    full::check(fleet, &mut broken);
    broken
}

/// A part of the servers that [`some`] has looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// What does not hold.
    pub broken: Vec<Broken>,
    /// How many servers were looked at.
    pub servers: usize,
    /// The last of them, behind which the next part begins; `None` once all have been.
    pub last: Option<ServerId>,
}

/// Looks at `max` servers behind `after`, and at what they are indexed by. For a fleet that is too large to be looked at
/// in one turn; it may change between two parts, since every part holds by itself.
#[must_use]
pub fn some(fleet: &Fleet, after: Option<ServerId>, max: usize) -> Looked {
    let ids: Vec<ServerId> = fleet.servers(after).take(max).map(|(id, _)| id).collect();
    let broken = ids.iter().filter_map(|id| server_holds(fleet, *id).err()).collect();
    Looked { broken, servers: ids.len(), last: ids.last().copied().filter(|_| ids.len() == max) }
}

fn server_holds(fleet: &Fleet, id: ServerId) -> Result<(), Broken> {
    let Some(server) = fleet.servers.get(&id) else { return Ok(()) };
    if let Claim::Allocated(allocation) = server.claim {
        let named = fleet.allocations.get(&allocation).and_then(|known| match &known.stage {
            Stage::Placed(placed) | Stage::Fulfilled { placed, .. } => Some(placed.server),
            Stage::Waiting { .. } | Stage::Ended { .. } => None,
        });
        ensure(named == Some(id), Law::OneClaim, || {
            format!("{id} is claimed by {allocation}, which has {named:?}")
        })?;
        ensure(server.generation > Generation::NONE, Law::OrderedByGeneration, || {
            format!("{id} is allocated without an order")
        })?;
    }
    if let Some(until) = server.held_until() {
        ensure(fleet.holds.contains(&(until, id)), Law::Holds, || {
            format!("{id}'s hold would never run out")
        })?;
    }
    if let Claim::Allocated(_) | Claim::Reserved(_) | Claim::Held { .. } = server.claim {
        let life = fleet.machines.get(&server.machine).map(|machine| machine.life);
        ensure(!life.is_some_and(Life::leaves), Law::Removal, || {
            format!("{id} is {:?}, and its machine {life:?}", server.claim)
        })?;
    }
    if let Claim::Allocated(_) | Claim::Reserved(_) = server.claim {
        ensure(server.cause != Cause::MachineLost, Law::Fence, || {
            format!("{id} is {:?} while it is to stop what was lost", server.claim)
        })?;
    }
    let outdated = fleet.outdated_by(id, server);
    for by in Outdated::ALL {
        let indexed = fleet.outdated.contains(&(by, id));
        ensure((outdated == Some(by)) == indexed, Law::Rollouts, || {
            format!("{id}: outdated {outdated:?}, indexed by {by:?}: {indexed}")
        })?;
    }
    let configuration = server.configuration;
    ensure(fleet.specs.contains_key(&configuration), Law::KnownConfiguration, || {
        format!("{id} is ordered to run {configuration:?}, which is forgotten")
    })?;
    let seen = server.seen.as_ref().map(|seen| seen.generation).unwrap_or_default();
    let owed = server.generation > seen.max(server.sent);
    let indexed = fleet.debts.get(&server.machine).is_some_and(|debts| debts.contains(&id));
    ensure(owed == indexed, Law::Debts, || format!("{id}: owed {owed}, indexed {indexed}"))?;
    let candidate = fleet.candidate(server);
    let machine = fleet.machines.get(&server.machine);
    let shelved = candidate.is_none_or(|candidate| {
        machine.is_some_and(|machine| machine.candidates.get(&candidate).is_some_and(|ids| ids.contains(&id)))
    });
    ensure(shelved, Law::Candidates, || format!("{id} is a candidate as {candidate:?} and not shelved so"))
}

/// Where an allocation, a hold or a reservation begins.
fn begins_in_service(fleet: &Fleet, id: ServerId) -> Result<(), Broken> {
    let machine = fleet.servers.get(&id).and_then(|server| fleet.machines.get(&server.machine));
    ensure(machine.is_none_or(Machine::takes), Law::InService, || {
        format!("{id} is taken, and its machine is {:?}", machine.map(|machine| (machine.life, machine.duty)))
    })
}

fn machine_holds(fleet: &Fleet, id: MachineId) -> Result<(), Broken> {
    let Some(machine) = fleet.machines.get(&id) else { return Ok(()) };
    if machine.life.leaves() {
        let (claimed, held) = (machine.counts.claimed(), machine.held_until());
        ensure(claimed == 0 && held.is_none(), Law::Removal, || {
            format!("{id} is {:?} with {claimed} claimed servers, held until {held:?}", machine.life)
        })?;
    }
    let fits = match (machine.origin, machine.life) {
        (Origin::Made, _) => true,
        (Origin::Joined, Life::Removing { why: Parting::ByHand, .. }) => true,
        (Origin::Joined, Life::Requested { .. } | Life::Removing { .. }) => false,
        (
            Origin::Joined,
            Life::Serving | Life::Draining { .. } | Life::Emptied { .. } | Life::Lost { .. },
        ) => true,
    };
    ensure(fits, Law::Removal, || format!("{id} joined by itself, and is {:?}", machine.life))?;
    let share = Share::of(machine, fleet.times_in(machine.region));
    ensure(machine.share == share, Law::Pools, || format!("{id}: {:?} is not {share:?}", machine.share))
}

fn allocation_holds(fleet: &Fleet, id: AllocationId) -> Result<(), Broken> {
    let Some(allocation) = fleet.allocations.get(&id) else { return Ok(()) };
    match &allocation.stage {
        Stage::Placed(placed) | Stage::Fulfilled { placed, .. } => {
            let claim = fleet.servers.get(&placed.server).map(|server| server.claim);
            ensure(claim == Some(Claim::Allocated(id)), Law::OneClaim, || {
                format!("{id} has {}, which is {claim:?}", placed.server)
            })
        }
        Stage::Waiting { until } => {
            let indexed = fleet.waiting_until.contains(&(*until, id))
                && fleet.waiting.contains(&(allocation.request.region, allocation.requested, id));
            ensure(indexed, Law::AllocationOrders, || format!("{id} waits and is not in the queue"))
        }
        Stage::Ended { at, .. } => {
            let indexed = fleet.ended.contains(&(*at, id));
            ensure(indexed, Law::AllocationOrders, || format!("{id} ended and would never be forgotten"))
        }
    }
}

pub(crate) fn ensure(holds: bool, law: Law, detail: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken { law, detail: detail() }) }
}
