//! The C ABI of `game/peer`: host migration for engines that are not written in Rust.
//!
//! `include/mainstay_peer.h` is made from this crate and says what a caller in C has to know: who owns what, which threads may
//! call, and what errors are. Games link the shared library or the static one.
//!
//! - [`status`] are the answers, and the wall that no panic crosses; `memory` reads arguments;
//! - [`peer`] is one process: a key, a socket, and places in sessions;
//! - [`seat`] is one place: what happens comes out, what the game does goes in;
//! - [`lan`] finds sessions on a LAN, and lets them be found;
//! - [`online`] founds and joins them in a lobby, and [`listing`] finds them there;
//! - [`event`] is what happens, as a C structure;
//! - [`listener`] are the eight callbacks of seed 000 behind one function pointer.
#![expect(
    unsafe_code,
    reason = "C hands over raw pointers; each is checked for null and used under the header's rules"
)]

pub mod event;
pub mod lan;
pub mod listener;
pub mod listing;
mod memory;
pub mod online;
pub mod peer;
pub mod seat;
pub mod status;

use mainstay_peer::migration::{PeerId, SessionId};

/// A peer or a session: 16 bytes, compared byte by byte.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MainstayId {
    /// The bytes.
    pub bytes: [u8; 16],
}

impl From<PeerId> for MainstayId {
    fn from(id: PeerId) -> Self {
        Self { bytes: id.0.to_be_bytes() }
    }
}

impl From<SessionId> for MainstayId {
    fn from(id: SessionId) -> Self {
        Self { bytes: id.0.to_be_bytes() }
    }
}

impl MainstayId {
    pub(crate) const fn peer(self) -> PeerId {
        PeerId(u128::from_be_bytes(self.bytes))
    }

    pub(crate) const fn session(self) -> SessionId {
        SessionId(u128::from_be_bytes(self.bytes))
    }
}
