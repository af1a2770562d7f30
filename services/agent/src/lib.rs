//! Supervises real processes on one machine: the hands of `domain/supervisor`.
//!
//! ```text
//! control plane ◀── uplink ──▶ rules (mainstay-supervisor in a shard of mainstay-runtime, its own SQLite journal)
//!                                │ what a slot is owed, once it is durable         ▲ what was seen
//!                                ▼                                                 │
//!                              one worker a slot ──▶ holder ──▶ game ──────────────┘
//! ```
//!
//! The agent may be killed at any moment. Games play on under their holders ([`mainstay_holder`]), exits wait in the
//! slots' directories, and the next agent finds both: it looks before every act, and an act done twice is done once.
//! While the control plane is away, servers go on by their last orders.
//!
//! [`Service::start`] gives a [`Handle`]; [`Handle::leave`] ends the agent and leaves the games, [`Handle::stop_all`]
//! stops them too.
#![forbid(unsafe_code)]

mod asks;
mod brain;
mod builds;
mod config;
pub mod daemon;
mod disk;
pub mod doctor;
mod error;
mod events;
mod files;
mod hands;
pub mod os;
mod pass;
mod roster;
mod service;
mod slot;
mod statuses;
mod uplink;

pub use config::{
    Addresses, BuildSource, Config, DiskLimits, HolderProgram, MachineOffer, Plane, PortRange, SlotCount,
};
pub use disk::DiskUse;
pub use error::Error;
pub use pass::{Asked, ConnectError, HostSecret, MachinePass, PORT, Pass, PassError, host_and_port};
pub use roster::Ports;
pub use service::{Handle, Service};
