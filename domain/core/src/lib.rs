//! Words and laws that every room shares: typed ids, time, generations, strike windows, look-up tables, the
//! [`StateMachine`] trait, [`density`]: how many servers a machine holds, and [`slot`]: what a control plane and an agent
//! say to each other about one slot.
//!
//! `no_std`, so that the compiler itself keeps clocks, sockets and randomly seeded maps out of the rules.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod buckets;
mod command_line;
pub mod density;
mod generation;
mod id;
mod machine;
mod nesting;
mod places;
pub mod slot;
mod strikes;
mod table;
mod tenure;
mod time;

pub use buckets::Buckets;
pub use command_line::{CommandLine, Piece, UnclosedQuote};
pub use generation::Generation;
pub use id::{
    AllocationId, BootId, BuildConfigurationId, BuildId, ClaimId, FleetId, FleetNumber, IdError, JoinTokenId,
    MachineId, MachineKey, MatchId, RegionId, ReservationId, ServerId, SessionId, TicketId,
};
pub use machine::{Outcome, StateMachine, Turn};
pub use nesting::{NESTING_MAX, nesting};
pub use places::Places;
pub use strikes::{STRIKES_MAX, Strikes};
pub use table::Table;
pub use tenure::Tenure;
pub use time::Timestamp;
