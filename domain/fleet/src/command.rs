//! What can be asked of a fleet, what is answered, what is seen, and what it wakes for.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::slot::Status;
use mainstay_core::{AllocationId, Generation, MachineId, MachineKey, RegionId, ServerId, Timestamp};

use crate::allocation::Request;
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
        /// Its slots. A machine that comes back may bring more, never fewer or others.
        slots: Vec<Ports>,
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
    /// A deadline has come.
    Due,
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
    /// Everything soft is gone. Any moment may bring it; nothing may break.
    Forgotten,
}

/// What a deadline is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// An allocation has waited long enough.
    PlacementTimeout(AllocationId),
}
