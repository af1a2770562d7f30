//! Query protocols as bytes to values: how one asks a game server whether it lives and how many play on it.
//!
//! Everything here is sans-IO: nothing opens a socket, reads a clock or draws a random number. The hands are elsewhere.
//!
//! **Asking.** A build configuration names a [`Protocol`]; [`Protocol::probe`] gives a [`Probe`], which says what the
//! hand must do: nothing, connect a TCP socket, or carry datagrams for a [`Prober`]. A prober's life is
//! [`Prober::start`], then [`Prober::receive`] for each datagram until a [`Step::Done`]. The rules for the hand:
//!
//! - One *connected* UDP socket (so the kernel checks the source address) and one new source port for each probe: SQP
//!   servers keep one token for each source address and some ignore a second challenge request until the first is spent.
//! - Wait [`ANSWER_TIMEOUT`] for each datagram; then throw the socket away and begin again with `start`.
//! - Never probe one server more often than [`Protocol::interval_min`], and never call one lost answer a failure: stock
//!   Quake 3 servers answered 12 of 60 back-to-back requests, but 20 of 20 at one a second.
//! - [`Step::Refused`] does not end the exchange. Keep it as the reason to report when the time is over.
//!
//! **Answering.** [`sqp::Responder`] and [`a2s::Responder`] are the server's side, used by Mainstay's own games: they
//! turn a datagram into at most one datagram, and tell what they know only to a source address that has proved itself
//! with a token.
//!
//! No library speaks SQP or Teeworlds without owning its sockets, hence this crate; stock clients check it in tests.
#![forbid(unsafe_code)]

pub mod a2s;
mod answer;
mod limits;
mod malformed;
mod prober;
mod protocol;
mod quake3;
mod reader;
pub mod sqp;
mod status;
mod teeworlds;
mod tokens;
mod udp;

pub use answer::Answer;
pub use limits::{
    ANSWER_TIMEOUT, DATAGRAM_BYTES_MAX, RECEIVE_BYTES_MAX, TEXT_BYTES_MAX, TOKEN_LIFETIME, TOKENS_MAX,
    UDP_PATTERN_BYTES_MAX,
};
pub use malformed::Malformed;
pub use prober::{Probe, Prober, Step};
pub use protocol::{Protocol, ProtocolError};
pub use status::{Player, Status};
pub use udp::UdpPattern;
