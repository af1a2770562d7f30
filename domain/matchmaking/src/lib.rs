//! Matching: tickets of players, backfill tickets of games, the queues they wait in, and the engine that forms matches.
//!
//! [`Queue`] is the state machine of one queue. Tickets and matches are durable: only events change them. The engine that
//! finds matches is soft: it is fed by events, holds handles alone, and is rebuilt from the tickets whenever it is missing. What
//! it finds does not depend on whether that happened (record 0040).
//!
//! Words and semantics are PlayFab's (Matchmaking v2, as its specification and documentation publish them); seed 004 is the
//! specification of backfill. Where those contradict each other, record 0041 decides.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod amount;
mod apply;
mod attribute;
mod backfill;
mod command;
mod decide;
pub mod distance;
mod engine;
mod entity;
mod event;
mod hold;
pub mod laws;
mod live;
mod members;
mod places;
mod playing;
mod queue;
pub mod rehearsal;
mod rejection;
mod shares;
pub mod spec;
mod statistics;
mod story;
mod tally;
mod terms;
mod ticket;
mod view;
pub mod why;

/// The engine without the state machine around it: for benchmarks, which measure the two apart.
pub mod bare {
    pub use crate::attribute::{Facts, Text};
    pub use crate::engine::{Engine, Found, Game, Handle, Look, Newcomer};
}

pub use amount::Amount;
pub use attribute::{AttributeFault, Attributes, LATENCIES_MAX, TEXT_BYTES_MAX, TEXTS_MAX, Value};
pub use backfill::{BackfillStage, BackfillTicket, Port, Protocol, ServerDetails};
pub use command::{Answer, Command, Observation, Target, Why};
pub use decide::GIVE_UP_AFTER_MAX;
pub use engine::{Cursor, Kind, LookedAt, Merged};
pub use entity::{Caller, ENTITY_PART_BYTES_MAX, Entity, NoPlayer};
pub use event::{Event, Filled};
pub use hold::{ASKED_AGAIN_AFTER, Ask, Asked, Hold, Outcome, Owed};
pub use members::{Members, Origin};
pub use places::Places;
pub use queue::{EngineGauges, Gauges, Judged, KEPT, KEPT_MAX, Queue, WAITING_MAX};
pub use rejection::{Rejection, TeamFault};
pub use statistics::{Statistics, TimeToMatch, WAITS_FOR, WAITS_MAX};
pub use tally::{Players, Spreads, Tally, Waits};
pub use terms::{LEASE_SECONDS_MAX, Lease, TakenOut, Terms};
pub use ticket::{Back, Cancellation, LetGo, Match, Member, Searching, Seated, Stage, Ticket};
