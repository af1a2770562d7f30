//! What a game asks of its hands, and by which way somebody comes into a session.

use std::sync::Arc;

use mainstay_migration::{Input, Priority, SessionId};
use tokio::sync::oneshot;

use crate::lan::Voice;
use crate::link::Way;
use crate::lobby::Entered;
use crate::mailbox::Mailbox;
use crate::seat::{Doors, SessionOptions, Shown, To};

/// What a game asks of its hands.
#[derive(Debug)]
pub(crate) enum Command {
    Found {
        options: SessionOptions,
        seated: Seated,
        under: Under,
    },
    Join {
        options: SessionOptions,
        seated: Seated,
        way: Entrance,
    },
    Give {
        session: SessionId,
        input: Input,
    },
    /// The host's game is so far, and holds so much of what it was told.
    Write {
        session: SessionId,
        applied: u64,
        input: Input,
    },
    Say {
        session: SessionId,
        to: To,
        way: Way,
        bytes: Vec<u8>,
    },
    Look {
        session: SessionId,
        answer: oneshot::Sender<Option<Shown>>,
    },
}

/// Who proves the hosts of a session.
#[derive(Debug)]
pub(crate) enum Under {
    /// Its members.
    Nobody,
    /// Its members, and whoever of them is host says so on the LAN.
    Lan(Box<Voice>),
    /// A lobby that this peer has a place in it from.
    Lobby(Box<Entered>),
}

/// How somebody comes into a session.
#[derive(Debug)]
pub(crate) enum Entrance {
    /// By addresses, at least one of which is a member's.
    Doors(Doors),
    /// As it was announced on the LAN, where it will be announced again.
    Lan(Box<Voice>, Doors),
    /// The lobby has let it in, and names the members.
    Lobby(Box<Entered>),
}

/// What a session's hands know of its game.
#[derive(Debug, Clone)]
pub(crate) struct Seated {
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) listeners: Vec<(String, Priority)>,
}
