//! For dedicated game servers in Rust: which session the server is for, and what it wants of its host.
//!
//! ```no_run
//! use mainstay_sdk::{Daemon, Event, HoldPolicy, ServerJson, Sessions};
//!
//! # fn main() -> Result<(), mainstay_sdk::Error> {
//! let home = std::env::var_os("HOME").unwrap_or_default();
//! let server = ServerJson::read(std::path::Path::new(&home))?;
//! let daemon = Daemon::of(&server)?;
//! let sessions = Sessions::follow(std::path::Path::new(&home), &server)?;
//! // In the game's loop, once a tick:
//! while let Some(event) = sessions.next() {
//!     match event {
//!         Event::Allocated(allocation) => daemon.ready(&allocation)?,
//!         Event::Deallocated(_) => break,
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! Everything here blocks, and nothing needs a runtime: a game server's loop is a thread of its own that ticks, not a
//! task that waits. [`Sessions`] listens on a thread of its own and hands events over without waiting; the calls of
//! [`Daemon`] take milliseconds, at most [`CALL_WITHIN`], and are made from whichever thread may wait that long;
//! [`KeptHeld`] makes those that repeat, and [`Backfill`] keeps a session's places filled from who joins and leaves.
//!
//! It depends on no other crate of ours: a game that links it compiles a JSON reader, an HTTP client and a WebSocket, and
//! no control plane.
#![forbid(unsafe_code)]

mod backfill;
mod centrifuge;
mod daemon;
mod error;
mod hold;
mod roster;
mod server_json;
mod sessions;
mod tracker;

pub use backfill::{Backfill, BackfillPolicy};
pub use daemon::{CALL_WITHIN, Daemon, Hold, Reservation};
pub use error::Error;
pub use hold::{HoldPolicy, KeptHeld, Need};
pub use roster::{BackfillSize, Joiner, Stands};
pub use server_json::{News, SERVER_JSON, ServerJson, Watch};
pub use sessions::{Event, Sessions};
