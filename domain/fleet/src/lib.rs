//! The control plane's rules: what a fleet is, where an allocation goes, what becomes of it.
//!
//! [`Fleet`] is the state machine of one fleet with all its regions; [`catalog::Catalog`] that of the things fleets
//! share. A server is two facts. Its *claim* (free, held, reserved by its own game, or allocated to a session) is durable: only events change it. Its
//! *process* is what its agent last said ([`mainstay_core::slot::Status`]): soft, and learned again after a restart.
//! What the plane wants of a slot is an *order* with a generation; orders are durable, and owed to the machine until it
//! reports that generation.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod allocation;
mod apply;
pub mod catalog;
mod cause;
mod choice;
mod claim;
mod command;
mod counts;
mod decide;
mod errand;
mod event;
mod fleet;
mod growth;
pub mod laws;
mod life;
mod machine;
mod owed;
mod placement;
mod policy;
mod pool;
mod rejection;
mod rollout;
mod server;
mod silence;
mod spec;
mod statuses;
mod tally;
mod tenure;
mod ttl;

pub use allocation::{Allocation, End, Placed, Purpose, Renewal, Request, Stage};
pub use cause::{Cause, Fit};
pub use choice::{Choice, Class};
pub use claim::{Claim, HoldEnd, Reservation, ReservationEnd};
pub use command::{Answer, Command, JoinedSlot, KeptOut, Observation, StreamId, Why};
pub use counts::Counts;
pub use errand::{Errand, Outcome, Verb};
pub use event::Event;
pub use fleet::Fleet;
pub use growth::Ungrown;
pub use life::{Absence, Duty, Fate, Life, Origin, Parting, Wish};
pub use machine::{Addresses, Link, Machine, Ports, SLOTS_PER_MACHINE_MAX};
pub use owed::Owed;
pub use placement::{Candidate, Losers};
pub use policy::{MachinePolicy, MachineTtl, OnLoss, Provided};
pub use pool::{Pool, Standing};
pub use rejection::Rejection;
pub use server::{Readiness, Seen, Server, ServerStatus};
pub use spec::{
    AllocationTtl, ClaimedBy, FleetSpec, Growth, Hardware, Hosting, IdleServers, RegionOpening, RegionSpec,
    UsageSetting,
};
pub use statuses::{FleetStatus, MachineStatus, NoStatus};
pub use tally::{Lasted, Tally};
