//! Host migration over real sockets: what a game links so that its session outlives every one of its hosts (seed 000).
//!
//! [`Peer`] is this process: a key, one UDP socket, and a thread of its own that drives the rules of `domain/migration`.
//! [`Seat`] is a place in one session; a peer may have several, and they know nothing of each other. The game reads what
//! happens with [`Seat::next`], on its own thread and at its own pace, and is never called from another. Every call of a peer or a seat may wait
//! a moment for the hands: from a task of tokio's it panics, and belongs into `spawn_blocking`.
//!
//! A session is found and joined without any server, where an address is known ([`Peer::found`], [`Peer::join`]) or on a LAN where
//! none is ([`lan`], [`Peer::found_lan`], [`Peer::join_lan`]), or in a lobby that certifies its hosts ([`OnlineSearch`],
//! [`Peer::found_online`], [`Peer::join_online`]).
//!
//! - [`link`] is what carries packets between two peers; `quic` is the one that stands, `lanes` what waits for it; [`transport`] lets a game
//!   add one of its own;
//! - `socket` is the one UDP socket, `mirror` asks over it how it is seen, `relay` hails what carries where nothing gets through;
//! - `lobby` asks the lobby what the rules want to know;
//! - [`listener`] are the eight callbacks of seed 000; `service` says whose sessions move at all; `code` why one is over;
//! - `reach` knows who is linked and whom to dial, `standing` which links are heard; `hands` is the task that owns it all.
#![forbid(unsafe_code)]

mod book;
mod clock;
mod code;
mod congestion;
mod dials;
mod door;
mod hands;
mod key;
pub mod lan;
mod lanes;
pub mod link;
pub mod listener;
mod lobby;
mod mailbox;
mod mirror;
mod quic;
mod reach;
mod relay;
mod seat;
mod service;
mod socket;
mod standing;
mod stranger;
pub mod transport;
mod udp;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use mainstay_migration::{LISTENERS_MAX, ListenerId, PeerId, SessionId};
use tokio::sync::{mpsc, oneshot};

pub use crate::code::code_of;
use crate::hands::{Command, Entrance, Hands, SeatId, Seated, Under};
pub use crate::hands::{NotCarried, NotSaid};
use crate::key::Key;
use crate::lan::{FoundSession, LanError, Sign, Voice};
use crate::link::ARRIVALS_MAX;
use crate::lobby::Bound;
pub use crate::lobby::{
    AttributeError, Attributes, Authorities, Done, Heeded, Joining, ListedSession, Listing, Lobby,
    LobbyError, NewSession, News, NotListed, Online, OnlineSearch, Searchable, Takeover, Token, Trust,
    TrustError, Wanted,
};
use crate::mailbox::Mailbox;
use crate::mirror::Mirror;
use crate::quic::Quic;
pub use crate::relay::Berth;
pub use crate::seat::{
    Closing, Doors, Event, ListenersError, Over, PlayError, Registered, SayError, Seat, SessionOptions,
    Shown, To,
};
use crate::service::Flags;
pub use crate::service::Service;
use crate::transport::{Inlet, Transport};
pub use mainstay_migration as migration;
pub use mainstay_migration::Support;
pub use mainstay_stun::Reach;
pub use mainstay_wire::peer::GAME_BYTES_MAX;

/// How many commands of the game wait for the hands; behind them the game's thread does.
const COMMANDS_MAX: usize = 256;
/// How many links send what they have before the hands look again at what came and what the game says: sixty-three take 20 ms to send a new host's
/// word, and its game's first state should not wait for the last of them.
const LINKS_AT_ONCE: u32 = 8;

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
#[derive(Debug, thiserror::Error)]
pub enum SeatError {
    /// The hands are gone.
    #[error(transparent)]
    Closing(#[from] Closing),
    /// Its lobby gave none.
    #[error(transparent)]
    Lobby(#[from] LobbyError),
    /// It cannot be announced on the LAN.
    #[error(transparent)]
    Lan(#[from] LanError),
    /// This peer has a place in that session.
    #[error("this peer has a place in session {:032x} that is not over: leave it first", .session.0)]
    Seated {
        /// Which.
        session: SessionId,
    },
    /// Too many.
    #[error(transparent)]
    Listeners(#[from] ListenersError),
}

/// One life of one player's process.
#[derive(Debug)]
pub struct Peer {
    key: Key,
    address: SocketAddr,
    mirror: Mirror,
    /// Its hands go by them.
    flags: Arc<Flags>,
    commands: mpsc::Sender<Command>,
    /// Dropped, the hands end.
    lives: Option<oneshot::Sender<Infallible>>,
    hands: Option<JoinHandle<()>>,
}

impl Peer {
    /// Makes a key, binds one UDP socket and starts its thread.
    ///
    /// # Errors
    /// Where the system refuses one of them.
    pub fn start(bind: SocketAddr) -> Result<Self, StartError> {
        Self::start_as(bind, |_, _| None)
    }

    /// The same with a transport of the game's own beside QUIC, which is told who its peer is and where to put what comes.
    ///
    /// # Errors
    /// As [`Peer::start`].
    pub fn start_with<T: Transport + 'static>(
        bind: SocketAddr,
        transport: impl FnOnce(PeerId, Inlet) -> T,
    ) -> Result<Self, StartError> {
        Self::start_as(bind, |me, inlet| Some(Box::new(transport(me, inlet))))
    }

    fn start_as(
        bind: SocketAddr,
        transport: impl FnOnce(PeerId, Inlet) -> Option<Box<dyn Transport>>,
    ) -> Result<Self, StartError> {
        let key = Key::new()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .event_interval(LINKS_AT_ONCE)
            .build()
            .map_err(StartError::Io)?;
        let (arrivals_in, arrivals) = mpsc::channel(ARRIVALS_MAX);
        let (commands_in, commands) = mpsc::channel(COMMANDS_MAX);
        let quic = {
            let _inside = runtime.enter();
            Quic::bind(bind, &key, arrivals_in.clone())?
        };
        let transport = transport(key.peer, Inlet::new(arrivals_in));
        let address = quic.local_address()?;
        let mirror = quic.mirror().clone();
        let flags = Arc::new(Flags::default());
        let hands = Hands::new(key.clone(), (quic, transport), Arc::clone(&flags), arrivals, commands);
        let (lives, gone) = oneshot::channel();
        let hands = thread::Builder::new()
            .name("mainstay-peer".to_owned())
            .spawn(move || {
                runtime.block_on(hands.run(gone)).wait();
            })
            .map_err(StartError::Io)?;
        let (lives, hands) = (Some(lives), Some(hands));
        Ok(Self { key, address, mirror, flags, commands: commands_in, lives, hands })
    }

    /// Who it is.
    #[must_use]
    pub const fn id(&self) -> PeerId {
        self.key.peer
    }

    /// Where its socket is.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// How others see it, and how strictly its router translates: known some seconds after it entered a session of a lobby that
    /// answers STUN, and as long as it runs.
    #[must_use]
    pub fn reach(&self) -> Reach {
        self.mirror.reach()
    }

    /// Whether sessions of that lobby service move, as this process has it (`GetLobbyServiceFlag`): they do until
    /// [`Peer::set_support`] says otherwise.
    #[must_use]
    pub fn support(&self, service: Service) -> Support {
        self.flags.get(service)
    }

    /// Sets it, also for what is played: where it is not supported, no session moves there whose host this peer is, for that tells its
    /// members so, and it does not go along where another host's moves. What it founds meanwhile is made so that it never does.
    pub fn set_support(&self, service: Service, support: Support) {
        self.flags.set(service, support);
        // Where there are no hands any more nothing is played.
        let _closing = self.commands.blocking_send(Command::Flagged(service));
    }

    const fn bound(&self) -> Bound<'_> {
        Bound { address: self.address, mirror: &self.mirror }
    }

    /// Founds a session: this peer is its first host.
    ///
    /// # Errors
    /// Too many listeners; a place in that session that is not over.
    pub fn found(&self, options: SessionOptions, listeners: Vec<Registered>) -> Result<Seat, SeatError> {
        self.sit(options, listeners, Entrance::Founds(Under::Nobody))
    }

    /// Joins a session that some member of can be reached at these addresses. [`Event::Entered`] says that it is in.
    ///
    /// # Errors
    /// Too many listeners; a place in that session that is not over.
    pub fn join(
        &self,
        options: SessionOptions,
        doors: Doors,
        listeners: Vec<Registered>,
    ) -> Result<Seat, SeatError> {
        self.sit(options, listeners, Entrance::Doors(doors))
    }

    /// Joins a session some members of which this peer's own transport reaches, of whom up to eight are asked. [`Event::Entered`] says that
    /// it is in.
    ///
    /// # Errors
    /// Too many listeners; a place in that session that is not over.
    pub fn join_members(
        &self,
        options: SessionOptions,
        members: Vec<PeerId>,
        listeners: Vec<Registered>,
    ) -> Result<Seat, SeatError> {
        self.sit(options, listeners, Entrance::Members(members))
    }

    /// Founds a session that everybody on this LAN can find ([`lan::search`]), whoever of those who came by [`Peer::join_lan`] is
    /// its host. Where [`Service::Lan`] does not support migration it does not move, whatever `options` say.
    ///
    /// # Errors
    /// Where the system refuses multicast DNS, or the name is too long; as [`Peer::found`].
    pub fn found_lan(
        &self,
        name: &str,
        options: SessionOptions,
        listeners: Vec<Registered>,
    ) -> Result<Seat, SeatError> {
        let migratable = self.support(Service::Lan).of(options.migratable);
        let options = SessionOptions { migratable, ..options };
        let voice = self.voice(name, options.session)?;
        self.sit(options, listeners, Entrance::Founds(Under::Lan(voice)))
    }

    /// Joins a session that was found on this LAN. What it was made with counts, whatever `options` say; where [`Service::Lan`] does not
    /// support migration this peer does not go along where it moves.
    ///
    /// # Errors
    /// As [`Peer::found_lan`].
    pub fn join_lan(
        &self,
        found: &FoundSession,
        options: SessionOptions,
        listeners: Vec<Registered>,
    ) -> Result<Seat, SeatError> {
        let options = SessionOptions { session: found.session, ..options };
        let by = Entrance::Lan(self.voice(&found.name, found.session)?, found.doors.clone());
        self.sit(options, listeners, by)
    }

    fn voice(&self, name: &str, session: SessionId) -> Result<Box<Voice>, LanError> {
        let sign = Sign { session, name: name.to_owned() };
        Ok(Box::new(Voice::new(self.key.peer, self.address, sign)?))
    }

    /// Makes a session in a lobby, and is its first host: [`Seat::session`] is the id that the lobby gave it, whatever
    /// `options` say. Where [`Service::Online`] or the lobby does not support migration it does not move. Waits for the lobby's answers.
    ///
    /// # Errors
    /// Where the lobby does not answer, or refuses; as [`Peer::found`].
    pub fn found_online(
        &self,
        online: &Online,
        new: &NewSession,
        options: SessionOptions,
        listeners: Vec<Registered>,
    ) -> Result<Seat, SeatError> {
        let migratable = self.support(Service::Online).of(options.migratable);
        let without = options.without_majority;
        let entered = lobby::create(online, &self.key, self.bound(), new, migratable, without)?;
        let options = of_lobby(&entered, options);
        self.sit(options, listeners, Entrance::Founds(Under::Lobby(Box::new(entered))))
    }

    /// Joins a session of a lobby. What it was made with counts, whatever `options` say. One that a match has made has no host at first:
    /// whichever of its players the lobby hears first is it, and is told [`Event::Lead`] with an empty state. Waits for the lobby's
    /// answers, up to 15 s where the session is on its way to another host.
    ///
    /// # Errors
    /// Where the lobby does not answer, or refuses; as [`Peer::found`].
    pub fn join_online(
        &self,
        online: &Online,
        session: SessionId,
        options: SessionOptions,
        listeners: Vec<Registered>,
    ) -> Result<Seat, SeatError> {
        // The lobby would take it for the one that is in.
        self.ask(|answer| Command::MaySit { session, answer })?;
        let entry = lobby::join(online, &self.key, self.bound(), session)?;
        let (lobby::Entry::Joins(entered) | lobby::Entry::Founds(entered)) = &entry;
        let options = of_lobby(entered, options);
        let by = match entry {
            lobby::Entry::Joins(entered) => Entrance::Lobby(Box::new(entered)),
            lobby::Entry::Founds(entered) => Entrance::Founds(Under::Lobby(Box::new(entered))),
        };
        self.sit(options, listeners, by)
    }

    fn sit(
        &self,
        options: SessionOptions,
        listeners: Vec<Registered>,
        by: Entrance,
    ) -> Result<Seat, SeatError> {
        if listeners.len() > LISTENERS_MAX {
            return Err(ListenersError::TooMany.into());
        }
        let listeners: BTreeMap<ListenerId, Registered> = (0..).map(ListenerId).zip(listeners).collect();
        let commands = self.commands.clone();
        let mailbox = Arc::new(Mailbox::default());
        let names = listeners.iter().map(|(id, one)| (*id, (one.name.clone(), one.priority))).collect();
        let id = SeatId::new(options.session);
        let seated = Seated { id, mailbox: Arc::clone(&mailbox), listeners: names };
        self.ask(|answer| Command::Sit { options, seated, by, answer })?;
        Ok(Seat::new(id, commands, mailbox, listeners))
    }

    /// Asks the hands for a place, and waits for their answer.
    fn ask(&self, command: impl FnOnce(hands::Answer) -> Command) -> Result<(), SeatError> {
        let (answer, may_sit) = oneshot::channel();
        self.commands.blocking_send(command(answer)).map_err(|_| Closing)?;
        may_sit.blocking_recv().map_err(|_| Closing)?
    }
}

/// What the lobby says of its session counts: it has told everybody the same, and its own flag may stand against what was asked for.
const fn of_lobby(entered: &lobby::Entered, options: SessionOptions) -> SessionOptions {
    SessionOptions {
        session: entered.session,
        size: entered.size,
        migratable: entered.migratable,
        without_majority: entered.without_majority,
        ..options
    }
}

impl Drop for Peer {
    /// It leaves every session that it has a seat in (whoever holds one reads [`Event::Over`] at once, whatever its
    /// listeners were in the middle of), and waits until everybody was told.
    fn drop(&mut self) {
        self.lives = None;
        if let Some(Err(panicked)) = self.hands.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panicked);
        }
    }
}
