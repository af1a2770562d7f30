//! The C ABI of `game/peer`: host migration for engines that are not written in Rust.
//!
//! `include/mainstay_peer.h` is made from this crate and says what a caller in C has to know: who owns what, which threads may
//! call, and what errors are. Games link the shared library or the static one.
//!
//! - [`status`] are the answers, and the wall that no panic crosses; `memory` reads arguments;
//! - [`peer`] is one process: a key, a socket, and places in sessions;
//! - [`seat`] is one place: what happens comes out, what the game does goes in; [`shown`] is how it stands;
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
pub mod shown;
pub mod status;

use mainstay_peer::migration::{ChannelId, Epoch, PeerId, SessionId, Stamp};

/// A peer or a session: 16 bytes, compared byte by byte.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MainstayId {
    /// The bytes.
    pub bytes: [u8; 16],
}

/// The network channel of a member: nobody else's, in whatever session of whatever host.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MainstayChannel {
    /// How many hosts the session had when it was given.
    pub epoch: u32,
    /// How many since then without a majority.
    pub fork: u32,
    /// Which of that host's.
    pub number: u32,
}

impl From<ChannelId> for MainstayChannel {
    fn from(channel: ChannelId) -> Self {
        let ChannelId { stamp: Stamp { epoch, fork }, number } = channel;
        Self { epoch: epoch.0, fork, number }
    }
}

impl MainstayChannel {
    pub(crate) const fn channel(self) -> ChannelId {
        ChannelId { stamp: Stamp { epoch: Epoch(self.epoch), fork: self.fork }, number: self.number }
    }
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
