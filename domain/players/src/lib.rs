//! What is kept of players: the objects that they, or their studio, store by name (`SetObjects`, `GetObjects`).
//!
//! Who a player is, is kept nowhere: ids are made of the title and the studio's own ids, so that a login writes nothing. Rules of a
//! queue whose attributes are of source `PlayerEntity` read these objects. An object is a text of JSON here; what is in it, the
//! adapters know.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod command;
mod decide;
mod event;
pub mod laws;
mod players;
mod rejection;

pub use command::{Answer, Becomes, Change, Command, Done};
pub use decide::{NAME_CHARS_MAX, OBJECT_BYTES_MAX, OBJECTS_MAX, STORED_BYTES_MAX};
pub use event::Event;
pub use players::{Owner, Players, Profile};
pub use rejection::Rejection;
