//! The game server as the real process it is: real sockets, real signals, real exits.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod faults;
mod play;
mod server;
