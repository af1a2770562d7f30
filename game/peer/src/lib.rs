//! Host migration over real sockets: what a game links so that its session outlives every one of its hosts (seed 000).
//!
//! [`Peer`] is this process: a key, one UDP socket, and a thread of its own that drives the rules of `domain/migration`.
//! [`Seat`] is a place in one session; a peer may have several, and they know nothing of each other. The game reads what
//! happens with [`Seat::next`], on its own thread and at its own pace, and is never called from another.
//!
//! - [`link`] is what carries packets between two peers; `quic` is the one that stands;
//! - [`listener`] are the eight callbacks of seed 000;
//! - `reach` knows who is linked and whom to dial; `hands` is the task that owns it all.
#![forbid(unsafe_code)]

mod hands;
mod key;
pub mod link;
pub mod listener;
mod mailbox;
mod quic;
mod reach;
mod seat;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use mainstay_migration::{LISTENERS_MAX, PeerId};
use tokio::sync::mpsc;

use crate::hands::{Command, Hands, Seated};
use crate::key::Key;
use crate::link::ARRIVALS_MAX;
use crate::mailbox::Mailbox;
use crate::quic::Quic;
pub use crate::seat::{Closing, Doors, Event, Over, Registered, Seat, SessionOptions, Shown, To};
pub use mainstay_migration as migration;

/// How many commands of the game wait for the hands; behind them the game's thread does.
const COMMANDS_MAX: usize = 256;

/// Why a peer could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is taken, or none of this host's.
    #[error("cannot bind UDP {address}")]
    Bind {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The system gives no thread or no socket.
    #[error("the system refuses")]
    Io(#[source] io::Error),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes for a key")]
    NoRandomness,
    /// The key or TLS is refused.
    #[error("TLS refuses the key")]
    Key(#[source] rustls::Error),
    /// TLS has no cipher that QUIC can use.
    #[error("TLS has no cipher for QUIC")]
    NoCipher,
}

/// Why a seat was not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SeatError {
    /// The hands are gone.
    #[error(transparent)]
    Closing(#[from] Closing),
    /// More than [`LISTENERS_MAX`].
    #[error("{count} listeners, a session has {LISTENERS_MAX} at most")]
    Listeners {
        /// How many.
        count: usize,
    },
}

/// One life of one player's process.
#[derive(Debug)]
pub struct Peer {
    id: PeerId,
    address: SocketAddr,
    commands: Option<mpsc::Sender<Command>>,
    hands: Option<JoinHandle<()>>,
}

impl Peer {
    /// Makes a key, binds one UDP socket and starts its thread.
    ///
    /// # Errors
    /// Where the system refuses one of them.
    pub fn start(bind: SocketAddr) -> Result<Self, StartError> {
        let key = Key::new()?;
        let id = key.peer;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Io)?;
        let (arrivals_in, arrivals) = mpsc::channel(ARRIVALS_MAX);
        let (commands_in, commands) = mpsc::channel(COMMANDS_MAX);
        let quic = {
            let _inside = runtime.enter();
            Quic::bind(bind, &key, arrivals_in)?
        };
        let address = quic.local_address()?;
        let hands = Hands::new(key, quic, arrivals, commands);
        let hands = thread::Builder::new()
            .name("mainstay-peer".to_owned())
            .spawn(move || runtime.block_on(hands.run()))
            .map_err(StartError::Io)?;
        Ok(Self { id, address, commands: Some(commands_in), hands: Some(hands) })
    }

    /// Who it is.
    #[must_use]
    pub const fn id(&self) -> PeerId {
        self.id
    }

    /// Where its socket is.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Founds a session: this peer is its first host.
    ///
    /// # Errors
    /// Too many listeners.
    pub fn found(&self, options: SessionOptions, listeners: Vec<Registered>) -> Result<Seat, SeatError> {
        self.sit(options, listeners, |seated| Command::Found { options, seated })
    }

    /// Joins a session that some member of can be reached at these addresses. [`Event::Entered`] says that it is in.
    ///
    /// # Errors
    /// Too many listeners.
    pub fn join(
        &self,
        options: SessionOptions,
        doors: Doors,
        listeners: Vec<Registered>,
    ) -> Result<Seat, SeatError> {
        self.sit(options, listeners, |seated| Command::Join { options, doors, seated })
    }

    fn sit(
        &self,
        options: SessionOptions,
        listeners: Vec<Registered>,
        command: impl FnOnce(Seated) -> Command,
    ) -> Result<Seat, SeatError> {
        if listeners.len() > LISTENERS_MAX {
            return Err(SeatError::Listeners { count: listeners.len() });
        }
        let commands = self.commands.clone().ok_or(Closing)?;
        let mailbox = Arc::new(Mailbox::default());
        let names = listeners.iter().map(|one| (one.name.clone(), one.priority)).collect();
        let seated = Seated { mailbox: Arc::clone(&mailbox), listeners: names };
        commands.blocking_send(command(seated)).map_err(|_| Closing)?;
        Ok(Seat::new(options.session, commands, mailbox, listeners))
    }
}

impl Drop for Peer {
    /// Waits until every seat is dropped and everybody was told.
    fn drop(&mut self) {
        self.commands = None;
        if let Some(Err(panicked)) = self.hands.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panicked);
        }
    }
}
