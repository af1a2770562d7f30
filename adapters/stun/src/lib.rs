//! STUN as bytes to values: what address others see a peer by, and how strictly its router translates.
//!
//! Everything here is sans-IO: nothing opens a socket, reads a clock or draws a random number. The [`Responder`] is the
//! control plane's side, the [`Classing`] a peer's. Both speak Binding requests of RFC 8489 with the attributes of RFC 5780;
//! requests carry no credentials, as there is nothing to guard but the sender's own address.
//!
//! [`is_stun`] tells STUN from QUIC on one socket (RFC 9443): a peer must ask from the very socket it plays on, or it learns
//! about another mapping.
//!
//! The messages are a library's (`stun-types`); it has no attributes of RFC 5780, which are three.
#![forbid(unsafe_code)]

mod classing;
mod message;
mod responder;

pub use classing::{Classing, GIVE_UP_AFTER, Reach, SENDS};
pub use message::{MESSAGE_BYTES_MAX, is_stun};
pub use responder::{Addresses, Corner, Reply, Responder, Side};
