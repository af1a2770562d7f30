//! Why a command was refused. A refusal is part of the rules: it has a code, numbers, and a way out.

use alloc::string::String;
use core::time::Duration;

use mainstay_core::{
    AllocationId, BuildConfigurationId, Generation, MachineId, RegionId, ReservationId, ServerId,
};

use crate::allocation::Request;
use crate::machine::SLOTS_PER_MACHINE_MAX;
use crate::placement::Losers;
use crate::server::ServerStatus;

/// Why not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The fleet has not been configured.
    #[error("the fleet is not configured yet")]
    NotConfigured,
    /// The fleet has no such region.
    #[error("the fleet has no region {0}")]
    UnknownRegion(RegionId),
    /// The fleet has no such build configuration.
    #[error("the fleet has no build configuration {}", .0.number())]
    UnknownConfiguration(BuildConfigurationId),
    /// The region takes no allocations.
    #[error("region {0} is offline")]
    RegionOffline(RegionId),
    /// As many servers are allocated as the region may have.
    #[error("{allocated} servers are allocated and the region's maxServers is {max}")]
    AtMaximum {
        /// How many are.
        allocated: u32,
        /// How many may be.
        max: u32,
    },
    /// No server is free, and none can come.
    #[error("no server is free and the fleet cannot grow: {0}")]
    NoServer(Losers),
    /// Too many allocations wait already.
    #[error("{waiting} allocations wait for a server already")]
    TooManyWaiting {
        /// How many.
        waiting: usize,
    },
    /// The payload is too large.
    #[error("the payload has {bytes} bytes, {} are allowed", Request::PAYLOAD_MAX)]
    PayloadTooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// No such allocation, or it ended longer ago than the fleet's retention time.
    #[error("there is no allocation {0}")]
    UnknownAllocation(AllocationId),
    /// The id is that of an allocation of the other purpose: a test's, or a session's.
    #[error("{0} is the id of a test allocation and of a session's alike: one of the two is there already")]
    OfAnotherPurpose(AllocationId),
    /// No such server.
    #[error("there is no server {0}")]
    UnknownServer(ServerId),
    /// No such machine.
    #[error("there is no machine {0}")]
    UnknownMachine(MachineId),
    /// A server with an allocation is not started, stopped or restarted by hand (seed 002).
    #[error("server {server} is allocated to {allocation}")]
    ServerAllocated {
        /// The server.
        server: ServerId,
        /// Its allocation.
        allocation: AllocationId,
    },
    /// A server with a reservation is not stopped or restarted by hand: players are on it.
    #[error("server {server} is reserved ({reservation})")]
    ServerReserved {
        /// The server.
        server: ServerId,
        /// Its reservation.
        reservation: ReservationId,
    },
    /// The asking process has been ordered away, or its server has just got another order.
    #[error("the process asks under order {asked}, and server {server} has order {newest}")]
    StaleProcess {
        /// The server.
        server: ServerId,
        /// The order the process runs under.
        asked: Generation,
        /// The newest.
        newest: Generation,
    },
    /// "A server cannot transition into this state if it is in any of the ALLOCATED or RESERVED states" (seed 003).
    #[error("server {server} is {} and cannot be held", .status.word())]
    NotHoldable {
        /// The server.
        server: ServerId,
        /// What it is instead.
        status: ServerStatus,
    },
    /// A hold that would have run out already.
    #[error("the hold would end now or earlier")]
    HoldTooShort,
    /// A hold for longer than the fleet allows.
    #[error("the hold would last {} s, the fleet allows {} s", .asked.as_secs(), .max.as_secs())]
    HoldTooLong {
        /// How long it would last.
        asked: Duration,
        /// How long it may.
        max: Duration,
    },
    /// A game reserved itself in a fleet whose servers are taken by allocations.
    #[error("the fleet's servers are allocated by callers, not reserved by their games")]
    NotAReservationFleet,
    /// A caller allocated in a fleet whose games reserve themselves.
    #[error("the fleet's servers are reserved by their games, not allocated by callers")]
    NotAnAllocationFleet,
    /// The machine has another, newer stream.
    #[error("the stream is not the machine's current one")]
    StaleStream,
    /// A machine came back with fewer or other slots than it had, and somebody may play on those.
    #[error("{0}")]
    SlotsChanged(String),
    /// The machine was given back to its provider, or never was this fleet's.
    #[error("machine {0} was given back to its provider")]
    MachineGone(MachineId),
    /// The server's machine drains, is emptied or lost: nothing begins on it.
    #[error("server {server} is on machine {machine}, which is {life}")]
    MachineAway {
        /// The server.
        server: ServerId,
        /// Its machine.
        machine: MachineId,
        /// How the machine stands.
        life: &'static str,
    },
    /// Somebody is on the machine.
    #[error(
        "machine {machine} is in use: of its servers {allocated} are allocated, {reserved} reserved and {held} held"
    )]
    MachineInUse {
        /// Which.
        machine: MachineId,
        /// How many of its servers are allocated.
        allocated: u32,
        /// How many are reserved.
        reserved: u32,
        /// How many are held.
        held: u32,
    },
    /// The machine would be back at once.
    #[error("machine {0} belongs to the control plane's own host, and its agent runs")]
    MachineComesBack(MachineId),
    /// A machine brings more slots than one may.
    #[error("the machine brings {slots} slots, {SLOTS_PER_MACHINE_MAX} are allowed")]
    TooManySlots {
        /// How many.
        slots: usize,
    },
}

impl Rejection {
    /// Its code, explained by `mainstay explain`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotConfigured => "MS-P001",
            Self::UnknownRegion(_) => "MS-P002",
            Self::UnknownConfiguration(_) => "MS-P003",
            Self::RegionOffline(_) => "MS-P004",
            Self::AtMaximum { .. } => "MS-P005",
            Self::NoServer(_) => "MS-P006",
            Self::TooManyWaiting { .. } => "MS-P007",
            Self::PayloadTooLarge { .. } => "MS-P008",
            Self::UnknownAllocation(_) => "MS-P009",
            Self::OfAnotherPurpose(_) => "MS-P010",
            Self::UnknownServer(_) => "MS-S001",
            Self::UnknownMachine(_) => "MS-S002",
            Self::ServerAllocated { .. } => "MS-S003",
            Self::ServerReserved { .. } => "MS-H001",
            Self::StaleProcess { .. } => "MS-H002",
            Self::NotHoldable { .. } => "MS-H003",
            Self::HoldTooShort => "MS-H004",
            Self::HoldTooLong { .. } => "MS-H005",
            Self::NotAReservationFleet => "MS-H006",
            Self::NotAnAllocationFleet => "MS-H007",
            Self::StaleStream => "MS-S004",
            Self::SlotsChanged(_) => "MS-S005",
            Self::TooManySlots { .. } => "MS-S006",
            Self::MachineGone(_) => "MS-S007",
            Self::MachineAway { .. } => "MS-S008",
            Self::MachineInUse { .. } => "MS-S009",
            Self::MachineComesBack(_) => "MS-S010",
        }
    }

    /// The way out, as a command or an edit.
    #[must_use]
    pub const fn mend(&self) -> &'static str {
        match self {
            Self::NotConfigured => "wait for `mainstay up` to say it is ready",
            Self::UnknownRegion(_) => "list the fleet's regions: mainstay fleet get FLEET",
            Self::UnknownConfiguration(_) => {
                "list the fleet's build configurations: mainstay fleet get FLEET"
            }
            Self::RegionOffline(_) => "set `online: true` for the region, or name another",
            Self::AtMaximum { .. } => "raise maxServers, or deallocate sessions that are over",
            Self::NoServer(_) => {
                "deallocate sessions that are over; or let a machine in, and ask again: mainstay token create"
            }
            Self::TooManyWaiting { .. } => "try again later, or add machines",
            Self::PayloadTooLarge { .. } => "send a reference to the data instead",
            Self::UnknownAllocation(_) => "list them: mainstay allocation list",
            Self::OfAnotherPurpose(_) => "make a random UUID for each allocation",
            Self::UnknownServer(_) => "list them: mainstay server list",
            Self::UnknownMachine(_) => "list them: mainstay machine list",
            Self::ServerAllocated { .. } => "end the session first: mainstay allocation delete ALLOCATION",
            Self::ServerReserved { .. } => "end the reservation first: mainstay server release SERVER",
            Self::StaleProcess { .. } => "ask again: a process that is to stay hears of its new order first",
            Self::NotHoldable { .. } => "hold it once its session is over",
            Self::HoldTooShort => "hold it for a second or longer",
            Self::HoldTooLong { .. } => "hold it for less, refresh it later, or raise the fleet's holdMax",
            Self::NotAReservationFleet => "set the fleet's `allocationType: RESERVATION`, or do not reserve",
            Self::NotAnAllocationFleet => "join one of its servers, or allocate in an allocation fleet",
            Self::StaleStream => "the agent connects again by itself",
            Self::SlotsChanged(_) => {
                "end what is on those slots, or give the machine its old slots and ports back"
            }
            Self::TooManySlots { .. } => "split the host into several machines",
            Self::MachineGone(_) => {
                "the provider deletes it; to join it by hand, give it a new data directory"
            }
            Self::MachineAway { .. } => {
                "a machine that idled is woken by an allocation, where capacity is short, and by: mainstay server start SERVER; a lost \
                 one must come back first, and one that an operator drained serves again with: mainstay machine undrain MACHINE"
            }
            Self::MachineInUse { .. } => {
                "keep new sessions away and wait for these to end, or end them: mainstay machine drain MACHINE"
            }
            Self::MachineComesBack(_) => {
                "drain it instead; or end its agent, or take its region out of the file, and remove it then"
            }
        }
    }
}
