//! What can be asked of a fleet, what is answered, what is seen, and what it wakes for.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::density::Host;
use mainstay_core::slot::{Incident, Reading, Status};
use mainstay_core::{
    AllocationId, BootId, BuildConfigurationId, Generation, MachineId, MachineKey, RegionId, ReservationId,
    ServerId, Timestamp,
};

use crate::allocation::Request;
use crate::claim::Reservation;
use crate::errand::{Outcome, Verb};
use crate::machine::{Addresses, Ports};
use crate::spec::FleetSpec;

/// One agent's stream to the plane, numbered by the service that accepts it; never reused while a leader lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

/// What is asked.
#[derive(Debug, Clone)]
pub enum Command {
    /// Be this. A lower or equal revision changes nothing.
    Configure(Arc<FleetSpec>),
    /// A machine joins, or comes back: idempotent by its key.
    Join {
        /// What it calls itself.
        key: MachineKey,
        /// Where it is.
        region: RegionId,
        /// Its name.
        name: Arc<str>,
        /// How players reach it.
        addresses: Addresses,
        /// Its slots. A machine that comes back may bring more; fewer or others only where nobody can be on those that it had.
        slots: Vec<Ports>,
        /// The run of its kernel; `None` where its agent does not say.
        boot: Option<BootId>,
        /// What it runs on; `None` where its agent does not say.
        host: Option<Host>,
    },
    /// A machine's provider answered an errand, or failed to.
    TakeOutcome {
        /// Which machine's.
        machine: MachineId,
        /// What had been asked.
        verb: Verb,
        /// What came of it.
        outcome: Outcome,
    },
    /// A region's provider says which machines of this fleet it has.
    TakeListing {
        /// Which region's.
        region: RegionId,
        /// When it was asked: it says nothing of machines that changed after.
        asked: Timestamp,
        /// Those it has.
        machines: Vec<MachineId>,
    },
    /// A machine's agent has a stream, and says how every slot stands.
    Connect {
        /// Which.
        machine: MachineId,
        /// On which stream; from now on the current one.
        stream: StreamId,
        /// Every slot.
        statuses: Vec<Status>,
    },
    /// A machine's agent says how some slots stand.
    Report {
        /// Which.
        machine: MachineId,
        /// On which stream; any but the current is refused.
        stream: StreamId,
        /// Some slots.
        statuses: Vec<Status>,
    },
    /// A machine's agent tells of processes that ended as nobody wished. It tells each until its stream has taken it, and
    /// on every new stream again: what is known already changes nothing.
    TakeIncidents {
        /// Which machine's.
        machine: MachineId,
        /// On which stream; any but the current is refused.
        stream: StreamId,
        /// In any order.
        incidents: Vec<Incident>,
    },
    /// Give me a server. The id is the caller's, and a known one is answered with what it already has.
    Allocate {
        /// The caller's id.
        id: AllocationId,
        /// What is wanted.
        request: Request,
    },
    /// I no longer need it.
    Deallocate {
        /// Which.
        id: AllocationId,
    },
    /// An operator starts a server.
    StartServer(ServerId),
    /// An operator stops a server.
    StopServer(ServerId),
    /// An operator restarts a server.
    RestartServer(ServerId),
    /// An operator changes a server's active build configuration: at once where nobody plays on it, else when it next
    /// starts for nobody.
    SetConfiguration {
        /// Which server.
        server: ServerId,
        /// Which of the fleet's build configurations.
        configuration: BuildConfigurationId,
    },
    /// An operator ends a server's hold or reservation.
    Release(ServerId),
    /// A game asks that its machine be kept; the same again refreshes it (seed 003).
    Hold {
        /// Which server.
        server: ServerId,
        /// Which process asks: the newest order its agent had obeyed. Any but the newest order given is refused, so
        /// that the late wish of a process that is being replaced changes nothing.
        process: Generation,
        /// For how long from the moment this is decided, by this plane's clock: however long it waited for its turn, a second is
        /// a second. A machine's own clock may be wrong.
        time: Duration,
    },
    /// A game no longer needs its hold. Without one, nothing is done.
    ReleaseHold {
        /// Which server.
        server: ServerId,
        /// As in [`Command::Hold`].
        process: Generation,
    },
    /// A game of a reservation fleet takes itself out of the pool. One that is reserved keeps the reservation it has.
    Reserve {
        /// Which server.
        server: ServerId,
        /// As in [`Command::Hold`].
        process: Generation,
        /// The reservation's id, made by who passes this on.
        reservation: ReservationId,
    },
    /// A game is back in the pool. Without a reservation, nothing is done.
    Unreserve {
        /// Which server.
        server: ServerId,
        /// As in [`Command::Hold`].
        process: Generation,
    },
    /// A game takes players now; an allocation it has is `ready` from now on.
    SetReady {
        /// Which server.
        server: ServerId,
        /// As in [`Command::Hold`].
        process: Generation,
    },
    /// A game takes no players now.
    SetUnready {
        /// Which server.
        server: ServerId,
        /// As in [`Command::Hold`].
        process: Generation,
    },
    /// A machine takes nobody any more. Who is on it stays until they go by themselves; then its servers are stopped.
    DrainMachine(MachineId),
    /// A machine serves again.
    UndrainMachine(MachineId),
    /// A machine is to be the fleet's no more. Refused while anybody is on it.
    RemoveMachine {
        /// Which.
        machine: MachineId,
        /// What keeps it from coming back.
        kept_out: KeptOut,
    },
    /// A deadline has come.
    Due,
}

/// What keeps a machine that was removed from joining again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptOut {
    /// It has a credential of its own, which ends; or its provider deletes it.
    ByItsCredential,
    /// It joined with the secret of the control plane's own host: as long as its agent runs, nothing does.
    ByNothing,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Done, or nothing was left to do.
    Done,
    /// The machine's id, and its servers in the order of their slots.
    Joined {
        /// The machine.
        machine: MachineId,
        /// Its servers.
        slots: Vec<JoinedSlot>,
    },
    /// The allocation has this server.
    Placed {
        /// Which.
        server: ServerId,
    },
    /// The allocation waits for a server.
    Waiting {
        /// How long at most.
        until: Timestamp,
    },
    /// The id is known; nothing was done.
    Known,
    /// It will be done when nobody plays on the server any more.
    Deferred,
    /// The server is held.
    Held {
        /// Until when.
        until: Timestamp,
    },
    /// The server has this reservation.
    Reserved(Reservation),
    /// Machines that the provider has and this fleet does not know: they are to be deleted.
    Orphans(Vec<MachineId>),
}

/// A slot that joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinedSlot {
    /// The server's id.
    pub server: ServerId,
    /// Its ports.
    pub ports: Ports,
}

/// What is seen; changes soft state alone.
#[derive(Debug, Clone)]
pub enum Observation {
    /// A machine's agent has a new stream.
    Connected {
        /// Which.
        machine: MachineId,
        /// On which stream.
        stream: StreamId,
    },
    /// A stream broke.
    Disconnected {
        /// Which machine's.
        machine: MachineId,
        /// Which.
        stream: StreamId,
    },
    /// How a slot stands.
    Seen(Status),
    /// What a machine's agent last read of its running processes.
    Read {
        /// Which machine's.
        machine: MachineId,
        /// On which stream; nothing is taken from any but the current.
        stream: StreamId,
        /// What was read of some of its slots.
        readings: Vec<(ServerId, Reading)>,
    },
    /// What was owed has been put on the machine's stream.
    Sent {
        /// Which machine.
        machine: MachineId,
        /// On which stream.
        stream: StreamId,
        /// The configuration revision, where configurations were sent.
        specs: Option<u64>,
        /// The orders.
        orders: Vec<(ServerId, Generation)>,
    },
    /// This leader listens from now on.
    Listening,
    /// A machine was let in. Where it has no stream yet, its silence counts from now.
    Expected(MachineId),
    /// An errand has been taken up: its provider is being asked.
    ErrandTaken(MachineId),
    /// A provider did what it was asked; the machine is to come.
    ErrandDone(MachineId),
    /// A provider failed, and is asked again then.
    ErrandFailed {
        /// About which machine.
        machine: MachineId,
        /// When.
        until: Timestamp,
    },
    /// A provider that failed is to be asked again.
    ErrandAgain(MachineId),
    /// Another machine that a region's provider was to make never came: the next is asked for then.
    ProviderFailed {
        /// Which region's.
        region: RegionId,
        /// When.
        until: Timestamp,
    },
    /// A machine that a region's provider made has joined.
    ProviderWorks(RegionId),
    /// Until when machines that nobody knows yet may join a region by a join token that is open; `None` where there is none.
    Invited {
        /// Which region.
        region: RegionId,
        /// Until when.
        until: Option<Timestamp>,
    },
    /// A machine that nobody knows yet has been let in by a join token, and is on its way: its agent connects at once. That may
    /// have been the token's last use.
    Arriving {
        /// Which region it is to join.
        region: RegionId,
        /// What it calls itself.
        machine: MachineKey,
    },
    /// A provider still has a machine that is lost.
    StillListed(MachineId),
    /// Everything soft is gone. Any moment may bring it; nothing may break.
    Forgotten,
}

/// What a deadline is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// An allocation has waited long enough.
    PlacementTimeout(AllocationId),
    /// A hold has run out.
    HoldTimeout(ServerId),
    /// An allocation has lived long enough.
    AllocationTtl(AllocationId),
    /// A server runs what the operator has replaced.
    Rollout(ServerId),
    /// A machine has been silent long enough to be lost.
    Silence(MachineId),
    /// A machine that was requested, emptied or lost is given up.
    MachineGivenUp(MachineId),
    /// A provider that failed is asked again.
    ProviderRetry(MachineId),
    /// A region is short of servers.
    Growth(RegionId),
    /// A machine has idled long enough, and can be spared.
    MachineIdle(MachineId),
}
