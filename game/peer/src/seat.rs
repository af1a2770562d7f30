//! A place in one session, in the hands of the game's own thread.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mainstay_migration::{
    Acting, ActorId, CanBeHost, ChannelId, Closed, End, EntityId, Entry, Forged, GamePhase, Handover,
    Identification, Input, LISTENERS_MAX, Level, ListenerId, Migratable, Moving, NatType, Order, PeerId,
    Piece, Priority, Progress, Report, Said, SessionId, SettingError, Stamp, Standing, State, StateError,
    StateId, Terms, Tick, WithoutMajority,
};
use tokio::sync::{mpsc, oneshot};

use crate::GAME_BYTES_MAX;
use crate::clock::after;
use crate::hands::{Command, NotCarried, NotSaid, SeatId};
use crate::link::Way;
use crate::listener::{Listener, Lists, Migrating, call};
use crate::lobby::{Joining, Listing, NotListed, Searchable};
use crate::mailbox::{Mail, Mailbox};

/// The largest session.
const SIZE_MAX: u32 = 64;
const _: () = assert!(SIZE_MAX as usize == mainstay_migration::MEMBERS_MAX);

/// What a session is, as whoever founds it says. Whoever joins is told all of it by the host and goes by that, whatever its own options say; in a lobby
/// `migratable`, `without_majority` and `size` are the lobby's to say, for it tells everybody. Which counts [`Shown::terms`] says.
///
/// Two fields count of a joiner's own: `session`, and `order` where that is the game's own comparator, for a comparator cannot be sent. A
/// session that has one lets nobody in whose own has another number, or is none ([`mainstay_migration::Closed::OtherOrder`]).
#[derive(Debug, Clone, Copy)]
pub struct SessionOptions {
    /// Which session.
    pub session: SessionId,
    /// By what hosts are chosen.
    pub order: Order,
    /// Whether it goes on with another host.
    pub migratable: Migratable,
    /// What happens where no majority can be had.
    pub without_majority: WithoutMajority,
    /// How much of the game goes along.
    pub level: Level,
    /// How many members it has at most, up to [`mainstay_migration::MEMBERS_MAX`]. A lobby is told its number by
    /// [`crate::NewSession::size`].
    pub size: u32,
}

impl SessionOptions {
    /// As seed 000 describes it: the documented order, migratable, and played on where no majority can be had; and the
    /// state goes along, without anybody waiting for it.
    #[must_use]
    pub const fn new(session: SessionId) -> Self {
        Self {
            session,
            order: Order::Documented,
            migratable: Migratable::Yes,
            without_majority: WithoutMajority::Fork,
            level: Level::Asynchronous,
            size: SIZE_MAX,
        }
    }
}

/// A listener with its name and its place among others.
pub struct Registered {
    /// "just a text string that's used to aid debugging listeners".
    pub name: String,
    /// When it is called among others.
    pub priority: Priority,
    /// The callbacks.
    pub listener: Box<dyn Listener>,
}

impl std::fmt::Debug for Registered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registered").field("name", &self.name).field("priority", &self.priority).finish()
    }
}

/// What a game hears of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It is a member.
    Entered,
    /// It is the host: its game goes on from that state, or from what it has.
    Lead {
        /// What its messages carry from now on.
        stamp: Stamp,
        /// The newest state that anybody held who could be asked; without a part where nobody held any.
        state: State,
    },
    /// It obeys that host.
    Follow {
        /// Whom.
        leader: PeerId,
        /// What its messages carry.
        stamp: Stamp,
    },
    /// Whether the host's game steps on.
    Act(Acting),
    /// As host: a member is with it, and the game binds its actor to that channel (`client_connected`).
    Connected {
        /// Who.
        peer: PeerId,
        /// Its channel.
        channel: ChannelId,
        /// What it plays already, where the game has said so to this host or to one before (`client_connected` with the
        /// existing actor).
        actor: Option<ActorId>,
    },
    /// How a migration goes on: told as each of its stages begins, and every second ([`Listener::on_progress`]).
    Progress(Progress),
    /// A migration is over and this peer is a client, or it was terminated: what it listed in `OnDemoteToClient` is not needed any more,
    /// each once.
    Discard(Vec<EntityId>),
    /// As host: a member is none any more.
    Gone(PeerId),
    /// As host: so far the game is held by it and two others, or as many as can be host after it. Never at [`Level::None`].
    Durable(StateId),
    /// As host: what a peer did, this one included. Each comes once, in its order and without a gap, and the next state has to hold it.
    Apply {
        /// Whose.
        from: PeerId,
        /// Its number among that peer's.
        number: u64,
        /// What [`Seat::play`] was given.
        bytes: Vec<u8>,
    },
    /// As host: what was given as state was not taken, for the game had not read yet what it has to hold. The next snapshot will
    /// be, and a handover has to be asked for again; what only changed since is refused until then.
    Behind,
    /// As host, while players gather ([`Seat::set_phase`]): that one suits better, and the session goes to it. The game steps no further and
    /// answers with its last state ([`Seat::hand_over`] to that one, in the lobby). Where it has not within two seconds, what it held
    /// last goes along, and what it did since is lost.
    SomebodyBetter(PeerId),
    /// As host: the game asked for a better host, and nobody suits better; or whoever did ([`Event::SomebodyBetter`]) does no more, or has
    /// gone. What it gave is held, if it was taken, and it goes on.
    NobodyBetter,
    /// As host: what was given as state is none, and only a snapshot goes on from there.
    NotTaken(StateError),
    /// As host of a session of a lobby: what the game said of it ([`Seat::set_phase`], [`Seat::set_searchable`], [`Seat::set_joining`]) is not
    /// listed so, for the lobby refused it for ten seconds.
    NotListed(NotListed),
    /// As host: something that the game said is told to nobody, for too much waited already. Told a few times a second at most.
    NotSaid(NotSaid),
    /// Something that the game said over [`Way::Stream`] does not come to one peer, for its link has no room or there is none. Told once a second
    /// at most, with how much it was.
    NotCarried(NotCarried),
    /// More than [`mainstay_migration::INPUTS_MAX`] deeds wait for a state that holds them: the oldest is given up.
    InputForgotten {
        /// Which.
        number: u64,
    },
    /// The host tells another past than was heard before: told once, and once more where it goes on so after ten seconds.
    Rewritten {
        /// Who tells it.
        host: PeerId,
        /// What it tells.
        told: StateId,
        /// What was told before.
        known: StateId,
    },
    /// A host that no majority had confirmed is confirmed now.
    Confirmed(Stamp),
    /// As host: what it says carries that stamp from now on. Members that doubted it had it certified anew, its side has grown, or it goes
    /// on without its lobby. What it gave before does not count as held any more, and what waits for that
    /// ([`Seat::say`]) waits for another piece: the game holds one at once. One that gives some with every tick has nothing to do.
    StateWanted(Stamp),
    /// A migration ended.
    Migrated(Report),
    /// A console variable was not set.
    NotSet(SettingError),
    /// The host says something. Whatever a host said that was replaced never gets here; of one that gave the session away by itself, what it
    /// said over [`Way::Stream`] before does, also after [`Event::Follow`] or [`Event::Lead`].
    FromHost {
        /// Of which host.
        stamp: Stamp,
        /// What.
        bytes: Vec<u8>,
    },
    /// A member says something to this host.
    FromMember {
        /// Who.
        peer: PeerId,
        /// What.
        bytes: Vec<u8>,
    },
    /// The session is over for this peer; nothing comes after.
    Over(Over),
}

/// Why a session is over for a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Over {
    /// It was in, and it ended.
    Ended(End),
    /// It was not let in.
    Refused(Closed),
    /// Nobody who can let it in has answered.
    NoAnswer,
    /// Whoever answered speaks another version of what peers say to each other: the player's game is older or newer than theirs.
    OtherProtocol,
    /// It was welcomed by somebody who is no host.
    Forged(Forged),
    /// The game did not read what it was told.
    GameHung,
    /// This peer's own thread panicked, and whatever it had seats in is over for it: a bug of the library, or the game's comparator
    /// ([`Order::Game`]) panicked, which is called on that thread. Dropping the [`crate::Peer`] goes on with that panic.
    Panicked,
}

/// To whom a game speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// To its host.
    Host,
    /// As host, to every member.
    Members,
    /// As host, to one.
    Member(PeerId),
}

/// How things stand, as a game can draw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// What this peer is.
    pub role: Identification,
    /// [`Shown::role`], while `net_show_host_identificiation` is on.
    pub identification: Option<Identification>,
    /// Whom it obeys.
    pub leader: PeerId,
    /// What its messages carry.
    pub stamp: Stamp,
    /// As host: whether a majority, or the lobby, is behind it, as it has heard lately. While it is not, it stands still or goes on as `without_majority` says, and
    /// whoever votes stays a member, for it may live where this host does not hear it.
    pub standing: Option<Standing>,
    /// Who would be host next.
    pub anticipated: Option<PeerId>,
    /// How far this peer has its host's game: as host its own.
    pub holds: Tick,
    /// How many bytes of the game it has sent others to hold so far, mostly as host to its standbys: before they are encrypted, and without headers.
    pub handed_on: u64,
    /// How others reach this peer, as far as it was found out.
    pub nat: NatType,
    /// What the session was made with, and goes by whoever is host.
    pub terms: Terms,
    /// Every member, itself included.
    pub members: Vec<(PeerId, ChannelId)>,
    /// What each of them plays, where the game has said so.
    pub actors: BTreeMap<PeerId, ActorId>,
    /// How many of them have a say in who is host next. Whoever has just come has none for some tenths of a second: if the host is lost
    /// meanwhile, who is left may be no majority. Under a lobby, which says it alone, all members.
    pub voters: usize,
    /// How many of them it has a link to.
    pub linked: usize,
    /// How many of those only through the lobby's relay.
    pub relayed: usize,
    /// The hint list, while `net_show_new_host_hinting` is on.
    pub hints: Vec<(PeerId, Entry)>,
}

impl Shown {
    /// Seed 000's `SetChannelForMigratingPlayer`: "the EntityId which corresponds to the actor being assigned to that channel".
    #[must_use]
    pub fn actor_for_channel(&self, channel: ChannelId) -> Option<ActorId> {
        let (peer, _) = self.members.iter().find(|(_, of)| *of == channel)?;
        self.actors.get(peer).copied()
    }
}

/// The process has no hands any more: its [`crate::Peer`] is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this peer has been shut down")]
pub struct Closing;

/// Why a listener was not registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ListenersError {
    /// There is no room.
    #[error("a session has {LISTENERS_MAX} listeners at most: one has to be removed first")]
    TooMany,
    /// The peer is shut down.
    #[error(transparent)]
    Closing(#[from] Closing),
}

/// Why a game's deed was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlayError {
    /// It is no member of the session yet, or no more, as far as it has read.
    #[error("the game has not read yet that it is in, or has read that it is over")]
    NotIn,
    /// More than [`GAME_BYTES_MAX`].
    #[error("a deed of {length} bytes, at most {GAME_BYTES_MAX}: what is longer is state")]
    TooLong {
        /// How many.
        length: usize,
    },
    /// The peer is shut down.
    #[error(transparent)]
    Closing(#[from] Closing),
}

/// Why what a game says was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SayError {
    /// More than [`GAME_BYTES_MAX`].
    #[error(
        "a message of {length} bytes, at most {GAME_BYTES_MAX}: what is longer is state, or is said in pieces"
    )]
    TooLong {
        /// How many.
        length: usize,
    },
    /// The peer is shut down.
    #[error(transparent)]
    Closing(#[from] Closing),
}

/// A place in one session. Dropped, it leaves. A peer has one in a session at most: the next is taken once this one is over, left
/// or dropped, and a seat that is over and dropped later does nothing to it.
#[derive(Debug)]
pub struct Seat {
    id: SeatId,
    commands: mpsc::Sender<Command>,
    mailbox: Arc<Mailbox>,
    listeners: BTreeMap<ListenerId, Registered>,
    /// The number of the next one.
    next_listener: u32,
    /// How many [`Event::Apply`] and [`Event::Lead`] it has read.
    applied: u64,
    part: Part,
    /// Whether a listener may list entities now.
    lists: Lists,
}

/// Whether its game plays, as far as that has read.
#[derive(Debug, Clone, Copy)]
enum Part {
    Outside,
    Member,
}

impl Seat {
    pub(crate) fn new(
        id: SeatId,
        commands: mpsc::Sender<Command>,
        mailbox: Arc<Mailbox>,
        listeners: BTreeMap<ListenerId, Registered>,
    ) -> Self {
        let next_listener = listeners.last_key_value().map_or(0, |(last, _)| last.0 + 1);
        Self {
            id,
            commands,
            mailbox,
            listeners,
            next_listener,
            applied: 0,
            part: Part::Outside,
            lists: Lists::CountNot,
        }
    }

    /// Which session.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.id.session
    }

    /// What happened next, waiting `patience` for it. Listeners are called in here, on this thread.
    pub fn next(&mut self, patience: Duration) -> Option<Event> {
        let until = after(patience);
        loop {
            match self.mailbox.take(until)? {
                Mail::Event(event) => {
                    self.applied += u64::from(matches!(event, Event::Apply { .. } | Event::Lead { .. }));
                    if event == Event::Entered {
                        self.part = Part::Member;
                    } else if matches!(event, Event::Over(_)) {
                        self.part = Part::Outside;
                    }
                    if let Event::Progress(progress) = &event {
                        self.tell_progress(progress);
                    }
                    return Some(event);
                }
                Mail::Word(Said { from, bytes, .. }) => return Some(Event::FromMember { peer: from, bytes }),
                Mail::Call(called, moving) => {
                    self.lists = self.lists.in_stage(called.stage);
                    let info = self.migrating(moving);
                    let mut state = called.state;
                    // Of one that is registered no more nobody waits for an answer.
                    let Some(registered) = self.listeners.get_mut(&called.listener) else { continue };
                    let answer = call(registered.listener.as_mut(), called.stage, &info, &mut state);
                    let (listener, number) = (called.listener, called.number);
                    // Without hands nobody waits for the answer.
                    let _closing = if info.goes.get() {
                        self.remove_listener(listener).map(drop)
                    } else {
                        self.give(Input::Answered { listener, number, state, answer })
                    };
                }
            }
        }
    }

    fn migrating(&self, of: Moving) -> Migrating {
        Migrating {
            session: self.id.session,
            of,
            lists: self.lists,
            seat: self.id,
            commands: self.commands.clone(),
            goes: Cell::new(false),
        }
    }

    fn tell_progress(&mut self, progress: &Progress) {
        let mut gone = Vec::new();
        let info = self.migrating(progress.of);
        for (id, registered) in &mut self.listeners {
            registered.listener.on_progress(&info, progress);
            if info.goes.replace(false) {
                gone.push(*id);
            }
        }
        for listener in gone {
            // Without hands nobody calls it.
            let _closing = self.remove_listener(listener);
        }
    }

    /// `AddHostMigrationEventListener`: it is called from the next migration on; one that runs goes on without it, for it would have
    /// nothing stored to release. Said before [`Event::Entered`], it counts from then on.
    ///
    /// # Errors
    /// With [`mainstay_migration::LISTENERS_MAX`] registered; once the peer is shut down.
    pub fn add_listener(&mut self, registered: Registered) -> Result<ListenerId, ListenersError> {
        if self.listeners.len() >= LISTENERS_MAX {
            return Err(ListenersError::TooMany);
        }
        let listener = ListenerId(self.next_listener);
        let (name, priority) = (registered.name.clone(), registered.priority);
        let listen = Command::Listen { seat: self.id, listener, name, priority };
        self.commands.blocking_send(listen).map_err(|_| Closing)?;
        // A number is not given twice: answers name it.
        self.next_listener = self.next_listener.wrapping_add(1);
        self.listeners.insert(listener, registered);
        Ok(listener)
    }

    /// `RemoveHostMigrationEventListener`: it is called no more, nobody waits for it (a stage that it has not finished goes on without it),
    /// and it is given back. `None` where there is none of that number. While it is called it uses [`Migrating::unregister`].
    ///
    /// # Errors
    /// Once the peer is shut down: nothing is called any more then.
    pub fn remove_listener(&mut self, listener: ListenerId) -> Result<Option<Registered>, Closing> {
        let unlisten = Command::Unlisten { seat: self.id, listener };
        let registered = self.listeners.remove(&listener);
        if registered.is_some() {
            self.commands.blocking_send(unlisten).map_err(|_| Closing)?;
        }
        Ok(registered)
    }

    /// How far this peer's game is; before it says so it has started. While players gather the host gives the session, by itself, to
    /// whoever suits better: after 10 s in which nobody came or went, at most once in 30 s, and not while `net_automigrate_host` is 0
    /// where it is. Its game is asked for its last state then ([`Event::SomebodyBetter`]). Each peer's game says it, for whoever is host goes by its own; that a game starts is said a few seconds before it does.
    /// In a lobby the session's phase is the host's; one that it refuses comes back as [`Event::NotListed`]. Said before [`Event::Entered`], it
    /// counts from then on.
    ///
    /// # Errors
    /// Once the peer is shut down.
    pub fn set_phase(&self, phase: GamePhase) -> Result<(), Closing> {
        self.give(Input::Phase(phase))
    }

    /// As host of a session of a lobby: whether searches find it. What others say is not heard.
    ///
    /// # Errors
    /// Once the peer is shut down.
    pub fn set_searchable(&self, searchable: Searchable) -> Result<(), Closing> {
        self.list(Listing::Searchable(searchable))
    }

    /// As host: whether newcomers are let in, such as into a game that goes on; they are until it is said. In a lobby only the host is heard,
    /// and what it said stands under the next one. Elsewhere each peer's game says it, for whoever is host goes by its own; who
    /// was a member comes back all the same. Said before [`Event::Entered`], it counts there from then on. It asks strangers to stay away:
    /// without a lobby nothing keeps one out that says it is a member already, on another side.
    ///
    /// # Errors
    /// Once the peer is shut down.
    pub fn set_joining(&self, joining: Joining) -> Result<(), Closing> {
        self.list(Listing::Joining(joining))
    }

    fn list(&self, listing: Listing) -> Result<(), Closing> {
        let list = Command::List { seat: self.id, listing };
        self.commands.blocking_send(list).map_err(|_| Closing)
    }

    /// `SessionSetLocalFlags(… HOST_MIGRATION_CAN_BE_HOST)`, or taken back. Said before [`Event::Entered`], it counts from then on.
    ///
    /// # Errors
    /// Once the peer is shut down; so do all below.
    pub fn set_can_be_host(&self, can_be_host: CanBeHost) -> Result<(), Closing> {
        self.give(Input::Suitable(can_be_host))
    }

    /// What this player can send, in bits a second: [`Order::CryEngine51`] and the game's own comparator go by it ([`Shown::hints`] has it), the
    /// documented order does not. Only the game can know, from its player or a measurement of its own: what a link carries shows when it is
    /// full, and a player's own is not until it is host. 0, as it is until it is said, takes it back. Each change is told to everybody. Said
    /// before [`Event::Entered`], it counts from then on.
    ///
    /// # Errors
    /// Once the peer is shut down.
    pub fn set_upstream(&self, bits_per_second: u32) -> Result<(), Closing> {
        self.give(Input::Upstream(bits_per_second))
    }

    /// Sets a console variable by its name. A wrong name or value comes back as [`Event::NotSet`]. Said before
    /// [`Event::Entered`], it counts from then on.
    ///
    /// # Errors
    /// Once the peer is shut down.
    pub fn set(&self, name: &str, value: &str) -> Result<(), Closing> {
        self.give(Input::Set { name: name.to_owned(), value: value.to_owned() })
    }

    /// This peer's game does something: it goes to the host, whoever that is, until a state holds it, and comes out there as
    /// [`Event::Apply`], once and in its order, after the host's game has given a state ([`Seat::hold`], at whatever
    /// level): a game that gives none is told of no deed.
    ///
    /// # Errors
    /// Before [`Event::Entered`] is read and after [`Event::Over`] is, for there is no player yet or any more; more bytes than
    /// [`GAME_BYTES_MAX`]; once the peer is shut down.
    pub fn play(&self, bytes: Vec<u8>) -> Result<(), PlayError> {
        match self.part {
            Part::Member if bytes.len() <= GAME_BYTES_MAX => Ok(self.give(Input::Play(bytes))?),
            Part::Member => Err(PlayError::TooLong { length: bytes.len() }),
            Part::Outside => Err(PlayError::NotIn),
        }
    }

    /// As host: the game is so far, and holds every [`Event::Apply`] that was read. It goes to the standbys. A delta or an event
    /// follows on the piece given before it; where that was not taken ([`Event::Behind`], [`Event::NotTaken`]), so is no other
    /// until the next snapshot, be the game told before it gives them or after.
    ///
    /// # Errors
    /// Once the peer is shut down.
    pub fn hold(&self, piece: Piece) -> Result<(), Closing> {
        self.write(Input::State(piece))
    }

    /// As host: another shall be it, the best without `to`; in the lobby that is only who suits better than this host, and otherwise, or
    /// where `to` cannot be it any more, the game is told [`Event::NobodyBetter`]. `last` is the game at its last tick.
    ///
    /// # Errors
    /// Once the peer is shut down.
    pub fn hand_over(&self, to: Option<PeerId>, why: Handover, last: Piece) -> Result<(), Closing> {
        self.mailbox.keep_words();
        self.write(Input::HandOver { to, why, last })
    }

    fn write(&self, input: Input) -> Result<(), Closing> {
        let write = Command::Write { seat: self.id, applied: self.applied, input };
        self.commands.blocking_send(write).map_err(|_| Closing)
    }

    /// As host: gives a member its actor. Whoever is host next hears it with [`Event::Connected`] (seed 000's `client_connected` with
    /// the existing actor), and everybody finds it by [`Shown::actor_for_channel`].
    ///
    /// # Errors
    /// Once the peer is shut down.
    pub fn bind_actor(&self, peer: PeerId, actor: ActorId) -> Result<(), Closing> {
        self.give(Input::Plays { peer, actor })
    }

    /// As host: throws somebody out.
    ///
    /// # Errors
    /// Once the peer is shut down.
    pub fn kick(&self, peer: PeerId) -> Result<(), Closing> {
        self.give(Input::Kick(peer))
    }

    /// Leaves. A host that wants no gap hands over first. Its place is free once [`Event::Over`] was told: in the middle of a
    /// migration first its listeners hear that out, for two seconds at most.
    ///
    /// # Errors
    /// Once the peer is shut down.
    pub fn leave(&self) -> Result<(), Closing> {
        self.give(Input::Leave)
    }

    /// Says something of the game's own: at most [`GAME_BYTES_MAX`], more is not sent. What a peer
    /// says to members while it is not their host is not sent either.
    ///
    /// What a host says to members waits as its session's [`Level`] says. At `DurableEvents` what is said over [`Way::Stream`]
    /// after an event was given ([`Seat::hold`] with `Kind::Event`) goes once that event is held by its host and two others
    /// (or as many as can be host after it), and what is said over [`Way::Datagram`], which tells how things stand, at once. At `Synchronous` everything
    /// waits for the newest piece that was given before it, and a new host is heard once its first is held. So a game
    /// gives what it is about to tell, and then tells it; where that piece was not taken, it waits for the next one. What waits when this
    /// peer gives the session away is told, for its successor goes on from that state; when it is replaced, by nobody: whether it happened the next
    /// host's game finds in its state. At most 4,096 messages and 4 MiB wait; more is not sent, and
    /// the game is told so ([`Event::NotSaid`]).
    ///
    /// What is said to the host over [`Way::Stream`] comes to whoever that is by then, once: what is said while there is no host waits for the next
    /// one, and what a host's game has not read when it gives its last state ([`Seat::hand_over`]) is said to its successor. Whoever is the host
    /// hears itself, too, as [`Event::FromMember`]: between its becoming the host and its game's reading that, it cannot know. Of a host that dies nobody knows what it read, and what was under way is lost: what must not be is [`Seat::play`]ed.
    /// [`mainstay_migration::WORDS_MAX`] words of [`mainstay_migration::WORDS_BYTES_MAX`] bytes wait for a host; more is told to nobody
    /// ([`Event::NotCarried`]).
    ///
    /// For each link 1,024 messages and 2 MiB wait besides those under way; what is said over [`Way::Stream`] and is more, or has no link, does not
    /// come to that peer, and the game is told to whom and how much ([`Event::NotCarried`]). What waits for a link that breaks is lost, and it is
    /// not told. Over [`Way::Datagram`] 256 KiB wait, of more the oldest are dropped.
    ///
    /// # Errors
    /// More bytes than [`GAME_BYTES_MAX`]; once the peer is shut down.
    pub fn say(&self, to: To, way: Way, bytes: Vec<u8>) -> Result<(), SayError> {
        if bytes.len() > GAME_BYTES_MAX {
            return Err(SayError::TooLong { length: bytes.len() });
        }
        let say = Command::Say { seat: self.id, to, way, bytes };
        self.commands.blocking_send(say).map_err(|_| Closing.into())
    }

    /// How things stand. `None` while it is no member.
    ///
    /// # Errors
    /// Once the peer is shut down.
    pub fn shown(&self) -> Result<Option<Shown>, Closing> {
        let (answer, shown) = oneshot::channel();
        let look = Command::Look { seat: self.id, answer };
        self.commands.blocking_send(look).map_err(|_| Closing)?;
        shown.blocking_recv().map_err(|_| Closing)
    }

    fn give(&self, input: Input) -> Result<(), Closing> {
        let give = Command::Give { seat: self.id, input };
        self.commands.blocking_send(give).map_err(|_| Closing)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // Nobody is there to answer for them any more. Without hands there is nothing to leave.
        for listener in core::mem::take(&mut self.listeners).into_keys() {
            let _closing = self.commands.blocking_send(Command::Unlisten { seat: self.id, listener });
        }
        let _closing = self.give(Input::Leave);
    }
}

/// Where a session can be joined: at least one address of one member.
pub type Doors = Vec<SocketAddr>;
