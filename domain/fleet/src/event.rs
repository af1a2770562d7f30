//! What happens to a fleet. Each is durable before anyone hears of it, and replaying them rebuilds the fleet.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::slot::{ConfigurationRef, Intent, Spec};
use mainstay_core::{AllocationId, Generation, MachineId, MachineKey, RegionId, ServerId, Timestamp};

use crate::allocation::{End, Request};
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
    },
    /// Its server plays.
    AllocationFulfilled {
        /// Which.
        id: AllocationId,
    },
    /// It is over; its server, if it had one, is free.
    AllocationEnded {
        /// Which.
        id: AllocationId,
        /// Why.
        end: End,
    },
}
