//! The rules of one machine's slots: start, answer, crash, restart, back-off, stop.
//!
//! A control plane *orders* ([`mainstay_core::slot::Order`]); this state machine decides what follows for the slot's
//! process, and *reports* ([`Supervisor::status`]). The hands (`services/agent`) do what is [owed](Effects) and bring
//! back what they saw. The rules hold one thought above all: **a run is durable before its process exists**. Each start
//! has a [`RunNumber`]; whatever is seen or done afterwards names the run, so that nothing seen of an older process can
//! touch a newer one, and nothing is started twice.
//!
//! Durable: the newest order of each slot, the [`Life`] of its process, its recent crashes, and the configurations they
//! name. Soft: what the slot's directory shows ([`Observation`]). Forgetting all of the soft state is safe at any
//! moment: the hands are then owed a [`Act::Look`] and see it all again.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod apply;
mod command;
mod decide;
pub mod disk;
mod effects;
mod event;
pub mod laws;
mod observe;
mod owed;
mod slot;
mod status;
mod supervisor;
mod words;

pub use command::{Answer, Command, Ignored, Rejection, Verdict};
pub use effects::{Act, Effects, SessionFile};
pub use event::Event;
pub use observe::{Observation, Sight};
pub use slot::{Ending, Failures, Life, Reason, Run, RunNumber, Rung, Slot, Stage};
pub use supervisor::{REST_MIN, SLOTS_MAX, SPECS_MAX, Supervisor, Why};
