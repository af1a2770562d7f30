//! What happens in a lobby, durably.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{SessionId, Timestamp};

use crate::command::Update;
use crate::id::{Epoch, PeerKey, Player, Service};
use crate::session::{CanBeHost, Ending, Gone, Session};
use crate::settings::{Settings, Support};

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Whether sessions of a service move, from now on.
    Configured {
        /// Which service.
        service: Service,
        /// Whether.
        migration: Support,
    },
    /// A session was made, with seats for players who have not come.
    Opened {
        /// Its id.
        session: SessionId,
        /// Of which service.
        service: Service,
        /// What it was made with.
        settings: Settings,
        /// For whom seats are kept.
        seats: Vec<Player>,
        /// Until when.
        seats_until: Timestamp,
    },
    /// Somebody came in.
    Joined {
        /// Where.
        session: SessionId,
        /// Its key.
        peer: PeerKey,
        /// Whose process it is.
        player: Player,
        /// Whether it may become host.
        can_be_host: CanBeHost,
        /// How others reach it.
        addresses: Vec<Arc<str>>,
    },
    /// A member said of itself what has changed.
    Introduced {
        /// Where.
        session: SessionId,
        /// Who.
        peer: PeerKey,
        /// Whether it may become host.
        can_be_host: CanBeHost,
        /// How others reach it.
        addresses: Vec<Arc<str>>,
    },
    /// A member is one no longer.
    Went {
        /// Out of what.
        session: SessionId,
        /// Who.
        peer: PeerKey,
        /// Why.
        gone: Gone,
    },
    /// A peer is the host of an epoch. No other ever is.
    Granted {
        /// Of what.
        session: SessionId,
        /// Which.
        epoch: Epoch,
        /// Who.
        host: PeerKey,
    },
    /// The session is like this from now on.
    Updated {
        /// Which.
        session: SessionId,
        /// How.
        update: Update,
    },
    /// Players who have not come lose their seats.
    SeatsGivenUp {
        /// Which session's.
        session: SessionId,
    },
    /// The session ended; also one that never was, whose undo came first.
    Ended {
        /// Which.
        session: SessionId,
        /// Why.
        ending: Ending,
    },
    /// Of a snapshot: a session.
    Stood(Arc<Session>),
}
