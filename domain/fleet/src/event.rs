//! What happens to a fleet. Each is durable before anyone hears of it, and replaying them rebuilds the fleet.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::density::Host;
use mainstay_core::slot::{ConfigurationRef, Incident, Intent, Spec};
use mainstay_core::{
    AllocationId, BootId, BuildConfigurationId, Generation, MachineId, MachineKey, RegionId, ReservationId,
    ServerId, Timestamp,
};

use crate::allocation::{End, Request};
use crate::cause::Cause;
use crate::claim::{HoldEnd, ReservationEnd};
use crate::life::{Absence, Parting, Wish};
use crate::machine::{Addresses, Ports};
use crate::spec::FleetSpec;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The operator said what the fleet is.
    Configured(Arc<FleetSpec>),
    /// An earlier revision that a server's order still names. Only snapshots tell it.
    SpecKept(Box<Spec>),
    /// A machine joined.
    MachineJoined {
        /// The id it got.
        machine: MachineId,
        /// What it calls itself.
        key: MachineKey,
        /// Where it is.
        region: RegionId,
        /// Its name.
        name: Arc<str>,
        /// How players reach it.
        addresses: Addresses,
    },
    /// A known machine came back under another name or address.
    MachineReaddressed {
        /// Which.
        machine: MachineId,
        /// Its name now.
        name: Arc<str>,
        /// How players reach it now.
        addresses: Addresses,
    },
    /// What a machine's agent says of its host, for the first time or otherwise than before.
    MachineDescribed {
        /// Which.
        machine: MachineId,
        /// What it says.
        host: Host,
    },
    /// A machine brought slots: servers with consecutive ids.
    ServersAdded {
        /// The machine.
        machine: MachineId,
        /// The first server's id.
        first: ServerId,
        /// The ports of each.
        ports: Vec<Ports>,
        /// What they run when they run.
        configuration: ConfigurationRef,
    },
    /// A machine is back without slots that it had: nobody is on them any more.
    ServersForgotten {
        /// The machine.
        machine: MachineId,
        /// The servers, its last ones.
        servers: Vec<ServerId>,
    },
    /// A region's provider is to make a machine.
    MachineRequested {
        /// The id it has.
        machine: MachineId,
        /// What it will call itself.
        key: MachineKey,
        /// Where it will be.
        region: RegionId,
        /// How many slots it will bring.
        slots: u32,
        /// When it is given up.
        until: Timestamp,
    },
    /// A requested machine is here.
    MachineCame {
        /// Which.
        machine: MachineId,
    },
    /// A machine's agent speaks of another run of its kernel than before.
    MachineBooted {
        /// Which machine.
        machine: MachineId,
        /// Which run.
        boot: BootId,
    },
    /// A machine idled long enough: its servers are stopped.
    MachineDraining {
        /// Which.
        machine: MachineId,
    },
    /// None of a draining machine's servers runs any more.
    MachineEmptied {
        /// Which.
        machine: MachineId,
    },
    /// A machine that drained or was emptied is needed.
    MachineWoken {
        /// Which.
        machine: MachineId,
    },
    /// A machine has been silent for too long.
    MachineLost {
        /// Which.
        machine: MachineId,
    },
    /// A lost machine is back.
    MachineReturned {
        /// Which.
        machine: MachineId,
        /// What its return shows.
        absence: Absence,
    },
    /// A machine is given back to its provider.
    MachineParting {
        /// Which.
        machine: MachineId,
        /// Why.
        why: Parting,
    },
    /// An operator wants something else of a machine.
    MachineDutySet {
        /// Which.
        machine: MachineId,
        /// What.
        wish: Wish,
    },
    /// A machine is gone, and its servers with it.
    MachineRemoved {
        /// Which.
        machine: MachineId,
    },
    /// The last counters given out: what is gone never lends its id to another. Only snapshots tell it.
    CountersKept {
        /// Of machines.
        machines: u32,
        /// Of servers.
        servers: u32,
    },
    /// A server without an allocation got an order.
    ServerOrdered {
        /// Which.
        server: ServerId,
        /// Which order.
        generation: Generation,
        /// What it runs when it runs.
        configuration: ConfigurationRef,
        /// What is wanted of its process.
        intent: Intent,
        /// Why.
        cause: Cause,
    },
    /// What it runs for nobody was chosen by an operator.
    ServerAssigned {
        /// Which.
        server: ServerId,
        /// What it runs.
        configuration: BuildConfigurationId,
    },
    /// Its game asked that it be kept, or kept longer or shorter than it had asked before.
    ServerHeld {
        /// Which.
        server: ServerId,
        /// Until when.
        until: Timestamp,
    },
    /// It is no longer held. Where something else claims it, that follows in the same turn.
    HoldEnded {
        /// Which.
        server: ServerId,
        /// Why.
        end: HoldEnd,
    },
    /// Its game took it out of the pool.
    ServerReserved {
        /// Which.
        server: ServerId,
        /// The reservation.
        reservation: ReservationId,
    },
    /// It is no longer reserved.
    ReservationEnded {
        /// Which.
        server: ServerId,
        /// Why.
        end: ReservationEnd,
    },
    /// Its game takes players.
    ServerReadied {
        /// Which.
        server: ServerId,
    },
    /// Its game takes none, or its process is gone.
    ServerUnreadied {
        /// Which.
        server: ServerId,
    },
    /// A caller asked for a server.
    AllocationRequested {
        /// The caller's id.
        id: AllocationId,
        /// What was asked.
        request: Request,
        /// How long it may wait.
        until: Timestamp,
    },
    /// An allocation got a server, and the server an order.
    AllocationPlaced {
        /// Which allocation.
        id: AllocationId,
        /// Its server.
        server: ServerId,
        /// Which order.
        generation: Generation,
        /// What it runs.
        configuration: ConfigurationRef,
        /// What is wanted of its process.
        intent: Intent,
        /// Why: always [`Cause::Allocated`], but for what was stored before causes were.
        cause: Cause,
    },
    /// Its machine is lost, and it waits for another server.
    AllocationDisplaced {
        /// Which.
        id: AllocationId,
        /// How long it may wait.
        until: Timestamp,
    },
    /// Its server plays.
    AllocationFulfilled {
        /// Which.
        id: AllocationId,
        /// Its server; `None` in what was stored before this was told.
        server: Option<ServerId>,
    },
    /// Its game had taken players, on a server that is gone with its machine. Only snapshots tell it.
    AllocationReadied {
        /// Which.
        id: AllocationId,
    },
    /// It is over; its server, if it had one, is free.
    AllocationEnded {
        /// Which.
        id: AllocationId,
        /// The server it had; `None` where it had none, and in what was stored before this was told.
        server: Option<ServerId>,
        /// Why.
        end: End,
    },
    /// A server's process ended as nobody wished.
    IncidentTold {
        /// What its agent knows of it.
        incident: Box<Incident>,
    },
    /// How a process ended whose misbehaviour was told before: the rest of the same incident, not a second one.
    IncidentClosed {
        /// All that its agent knows of it.
        incident: Box<Incident>,
    },
}
