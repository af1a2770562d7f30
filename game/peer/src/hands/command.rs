//! What a game asks of its hands, and by which way somebody comes into a session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use mainstay_migration::{Input, ListenerId, PeerId, Priority, SessionId};
use tokio::sync::oneshot;

use crate::SeatError;
use crate::lan::Voice;
use crate::link::Way;
use crate::lobby::{Entered, Listing};
use crate::mailbox::Mailbox;
use crate::seat::{Doors, Over, SessionOptions, Shown, To};
use crate::service::Service;

/// One place in one session: a session that was left and is entered again is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeatId {
    pub(crate) session: SessionId,
    number: u64,
}

impl SeatId {
    /// One that nothing else has.
    pub(crate) fn new(session: SessionId) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        Self { session, number: NUMBERS.fetch_add(1, Ordering::Relaxed) }
    }
}

/// Whether a place in a session may be taken.
pub(crate) type Answer = oneshot::Sender<Result<(), SeatError>>;

/// What a game asks of its hands.
#[derive(Debug)]
pub(crate) enum Command {
    /// Before a lobby is asked to let this peer in.
    MaySit {
        session: SessionId,
        answer: Answer,
    },
    Sit {
        options: SessionOptions,
        seated: Seated,
        by: Entrance,
        answer: Answer,
    },
    Give {
        seat: SeatId,
        input: Input,
    },
    /// The host's game is so far, and holds so much of what it was told.
    Write {
        seat: SeatId,
        applied: u64,
        input: Input,
    },
    /// A listener is registered from now on.
    Listen {
        seat: SeatId,
        listener: ListenerId,
        name: String,
        priority: Priority,
    },
    /// And one is no more.
    Unlisten {
        seat: SeatId,
        listener: ListenerId,
    },
    /// The host says what its session is like, where it is listed.
    List {
        seat: SeatId,
        listing: Listing,
    },
    Say {
        seat: SeatId,
        to: To,
        way: Way,
        bytes: Vec<u8>,
    },
    Look {
        seat: SeatId,
        answer: oneshot::Sender<Option<Shown>>,
    },
    /// The flag of a lobby service was set.
    Flagged(Service),
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
    /// It founds it.
    Founds(Under),
    /// By addresses, at least one of which is a member's.
    Doors(Doors),
    /// By members that the game's own transport reaches.
    Members(Vec<PeerId>),
    /// As it was announced on the LAN, where it will be announced again.
    Lan(Box<Voice>, Doors),
    /// The lobby has let it in, and names the members.
    Lobby(Box<Entered>),
}

/// What a session's hands know of its game.
#[derive(Debug)]
pub(crate) struct Seated {
    pub(crate) id: SeatId,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) listeners: BTreeMap<ListenerId, (String, Priority)>,
}

impl Drop for Seated {
    /// Hands that panic take their sessions along: their games would wait for ever.
    fn drop(&mut self) {
        if thread::panicking() {
            self.mailbox.close(Over::Panicked);
        }
    }
}
