//! SQP, Unity's server query protocol: a challenge, then a query for any of five chunks. All numbers are big-endian,
//! a text is one length byte and as many bytes.
//!
//! | packet | bytes |
//! |---|---|
//! | challenge request | `00`, four zeros |
//! | challenge | `00`, token u32 |
//! | query | `01`, token u32, version u16, chunks u8 |
//! | answer | `01`, token u32, version u16, this packet u8, last packet u8, payload length u16, then each chunk in the order of its bit: length u32, bytes |
//!
//! An answer does not say which chunks it holds, and known servers leave out what they do not support. So ask for one
//! chunk at a time, unless the server is known to have them all; that is what Unity's own prober does.
//!
//! Source: the wire of Unity's Go SDK 0.5.4 and of go-svrquery 1.7.2, and the latter's fixtures.

mod packet;
mod prober;
mod responder;
mod values;

pub use packet::{Chunks, QueryAnswer, Request, ServerInfo};
pub use responder::Responder;
pub use values::{Kind, Rule, Table, Value};

pub(crate) use prober::Prober;

/// The version that probers ask for, and the one every answer carries.
pub const VERSION: u16 = 1;
/// The version from which our responder, like Unity's, adds metrics.
pub const VERSION_WITH_METRICS: u16 = 2;
