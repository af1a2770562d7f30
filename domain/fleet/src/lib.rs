//! The control plane's rules: what a fleet is, where an allocation goes, what becomes of it.
//!
//! [`Fleet`] is the state machine of one fleet with all its regions; [`catalog::Catalog`] that of the things fleets
//! share. A server is two facts. Its *claim* (free, or allocated to a session) is durable: only events change it. Its
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
mod command;
mod decide;
mod event;
mod fleet;
pub mod laws;
mod machine;
mod owed;
mod placement;
mod rejection;
mod server;
mod spec;

pub use allocation::{Allocation, End, Placed, Renewal, Request, Stage};
pub use command::{Answer, Command, JoinedSlot, Observation, StreamId, Why};
pub use event::Event;
pub use fleet::Fleet;
pub use machine::{Addresses, Link, Machine, Ports, SLOTS_PER_MACHINE_MAX};
pub use owed::Owed;
pub use placement::{Candidate, Losers};
pub use rejection::Rejection;
pub use server::{Claim, Seen, Server, ServerStatus};
pub use spec::{FleetSpec, Growth, IdleServers, RegionOpening, RegionSpec};
