//! What goes into a session and what comes out of it.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::Timestamp;

use crate::hint::{CanBeHost, NatType};
use crate::lobby::{Admission, Arbiter, Question, Ruling};
use crate::message::{Handover, Message};
use crate::seal::Keys;
use crate::settings::SettingError;
use crate::stages::{Answer, Call, Failure, ListenerId, Role, Stage};
use crate::state::{Level, Piece, State, StateError, StateId};
use crate::terms::Support;
use crate::{ActorId, ChannelId, EntityId, Order, PeerId, SessionId, Stamp};

/// What a session is from its creation on, as this peer has it. Of who founds it [`Config::terms`] are the session's, and who comes in adopts
/// them ([`crate::Welcome`]), its own `order` apart where the session has a game's: it has to be the same one.
#[derive(Debug, Clone)]
pub struct Config {
    /// This peer.
    pub me: PeerId,
    /// The session.
    pub session: SessionId,
    /// Who proves who is host.
    pub arbiter: Arbiter,
    /// By what hosts are chosen.
    pub order: Order,
    /// Seed 000: "Sessions need to be created as migratable (or not)".
    pub migratable: Migratable,
    /// What happens where no majority can be had.
    pub without_majority: WithoutMajority,
    /// How much of the game goes along.
    pub level: Level,
    /// How many members it has at most: no more than [`crate::MEMBERS_MAX`] count.
    pub size: usize,
    /// This process's own flag of the session's lobby service, which may be set at any time ([`Input::OwnFlag`]). Off, it does not go along
    /// where the session moves; as host's, nobody does.
    pub support: Support,
    /// Under a lobby: what it gave this peer.
    pub admission: Option<Admission>,
    /// This peer's own keys.
    pub keys: Arc<dyn Keys>,
}

/// Whether a session was created with `CRYSESSION_CREATE_FLAG_MIGRATABLE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Migratable {
    /// It goes on with another host.
    Yes,
    /// It ends with its host.
    No,
}

/// What a side does that has lost its host, or its members, and has no majority: offline nobody can tell a crash from a cut.
/// Under a lobby: whose lobby does not answer, which may be down, or cut off with the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WithoutMajority {
    /// It goes on, marked unconfirmed, and merges when the sides meet: for games played together.
    Fork,
    /// It ends: for ranked games.
    End,
    /// It stands still and waits, within the budget.
    Hold,
}

/// How far a game is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GamePhase {
    /// Its players gather: a host gives the session to whoever suits better.
    Gathering,
    /// They play, or are about to: then it does not.
    Started,
}

/// Whether a host lets in who was never a member. Without a lobby that is a courtesy, and nothing that keeps a liar out: whoever says that
/// it is one already, on another side, is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Newcomers {
    /// As long as there is room, into a game that goes on, too.
    LetIn,
    /// Who was one comes back.
    KeptOut,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Nothing but time.
    Wake,
    /// A message came over the link of that peer: the hands have checked that the other end holds its key.
    Message {
        /// Whose link.
        from: PeerId,
        /// What came.
        message: Message,
    },
    /// A link broke with evidence: a reset, a close, an ICMP error. Silence is no evidence.
    LinkLost(PeerId),
    /// To these others there is a link now, and to nobody else: all of them, whenever that changes. A link that is silent is still one, until
    /// the transport gives it up.
    Linked(BTreeSet<PeerId>),
    /// Somebody of this session was found (on the LAN, in the lobby): two sides that share nobody who lives know of each other
    /// by nothing else.
    Found(PeerId),
    /// A listener answered a [`Output::Call`].
    Answered {
        /// Who.
        listener: ListenerId,
        /// To which call.
        number: u32,
        /// Its state, kept for it.
        state: u32,
        /// What.
        answer: Answer,
    },
    /// The host's game is so far: it goes to the standbys. The game gives it once it has applied every
    /// [`Output::Apply`] that came before; then the hands let it read on ([`crate::Session::read_deeds`]).
    State(Piece),
    /// The hands could not take what the host's game gave: what changed since is of no use before its next snapshot.
    StateMissed,
    /// The game does something: it goes to the host, whoever that is, until a state holds it.
    Play(Vec<u8>),
    /// `SessionSetLocalFlags(… HOST_MIGRATION_CAN_BE_HOST)`, or taken back.
    Suitable(CanBeHost),
    /// How far this peer's game is; until it says so it has started. Only the host's counts, and whoever is host next goes by its own:
    /// CRYENGINE's `SessionStart` is every client's to call, too. A game says that it has started a few seconds before it does.
    Phase(GamePhase),
    /// Whether newcomers are let in; until this peer's game says so they are. Only the host's word counts, and whoever is host next goes by
    /// its own. Under a lobby it is that one's to say, which lets them in.
    Newcomers(Newcomers),
    /// What was found out about this peer's own network.
    Reachable {
        /// How others reach it.
        nat: NatType,
        /// Its mean round trip, in milliseconds.
        ping_ms: u16,
    },
    /// What this peer can send, in bits a second, as its game says; 0 takes it back. Links do not show it: a game that says little fills none.
    Upstream(u32),
    /// The host's game has given a member its actor.
    Plays {
        /// Who.
        peer: PeerId,
        /// What.
        actor: ActorId,
    },
    /// The game lists "entities that will no longer be needed post-migration", while `OnDemoteToClient` runs: at most
    /// [`crate::ENTITIES_MAX`] in one migration.
    NoLongerNeeded(Vec<EntityId>),
    /// A console variable is set.
    Set {
        /// Its name.
        name: String,
        /// Its value as text.
        value: String,
    },
    /// The host gives the session to another.
    HandOver {
        /// To whom; without it, to the best. In the lobby that is only who suits better than this host ([`Output::NobodyBetter`]).
        to: Option<PeerId>,
        /// Why.
        why: Handover,
        /// The game at its last tick: the host steps it no further.
        last: Piece,
    },
    /// The host throws somebody out.
    Kick(PeerId),
    /// The game leaves. A host that wants no gap hands over first.
    Leave,
    /// The lobby has answered an [`Output::AskLobby`].
    Lobby {
        /// When that was asked.
        asked: Timestamp,
        /// What it says.
        ruling: Ruling,
    },
    /// The lobby has let this peer in anew.
    Admitted(Admission),
    /// The lobby tells whose players have come with other processes: those play no more, and whoever was replaced before and is not
    /// named any more may come again. Of more than 256 the rest is passed over.
    Replaced(BTreeSet<PeerId>),
    /// The lobby tells whether its sessions move, which may change while they are played. A host passes it on to its members; others go by
    /// their host's word.
    Supports(Support),
    /// The game has set this process's own flag of the session's lobby service ([`Config::support`]). A host passes it on, too.
    OwnFlag(Support),
}

impl Input {
    /// Whether a session that has ended still takes it: its listeners hear a migration out.
    pub(super) const fn is_of_listeners(&self) -> bool {
        match self {
            Self::Wake | Self::Answered { .. } | Self::NoLongerNeeded(_) => true,
            Self::Message { .. }
            | Self::LinkLost(_)
            | Self::Linked(_)
            | Self::Found(_)
            | Self::State(_)
            | Self::StateMissed
            | Self::Play(_)
            | Self::Suitable(_)
            | Self::Phase(_)
            | Self::Newcomers(_)
            | Self::Reachable { .. }
            | Self::Upstream(_)
            | Self::Plays { .. }
            | Self::Set { .. }
            | Self::HandOver { .. }
            | Self::Kick(_)
            | Self::Leave
            | Self::Lobby { .. }
            | Self::Admitted(_)
            | Self::Replaced(_)
            | Self::Supports(_)
            | Self::OwnFlag(_) => false,
        }
    }
}

/// What the hands must do, or the game must know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send this.
    Send {
        /// To whom.
        to: PeerId,
        /// What.
        message: Message,
    },
    /// Call a listener, telling it that, and bring its answer.
    Call(Call, Moving),
    /// Ask the lobby, and bring its answer as [`Input::Lobby`]. One that does not answer is asked again by the rules alone.
    AskLobby {
        /// When: it goes back with the answer.
        asked: Timestamp,
        /// What.
        question: Question,
    },
    /// This peer is the host: its game goes on from that state, or from what it has. Also where it was host of a side without a majority before,
    /// and somebody has come who holds what a confirmed host wrote after that side had branched off: its game is given up for that.
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
    /// It was host and is so no more: what its members have said and it has not given its game is the next host's.
    HostNoMore {
        /// What it said carried that stamp.
        stamp: Stamp,
        /// By its own will ([`Cause::Lobby`], [`Cause::Controlled`], [`Cause::Merge`]: whoever it named goes on, in the first two from its last
        /// state), or because another has been certified ([`Cause::Fenced`]).
        cause: Cause,
    },
    /// Whether the host's game steps on. A client hears it too, where it was host before.
    Act(Acting),
    /// As host: a member is with it (seed 000's `OnClientConnect`), and the game gives it its actor.
    Connected {
        /// Who.
        peer: PeerId,
        /// Its channel.
        channel: ChannelId,
        /// What it plays already: then no other actor is made for it.
        actor: Option<ActorId>,
    },
    /// How a migration goes on: told as each stage begins, and every second.
    Progress(Progress),
    /// A migration is over for this peer, which is a client, or was terminated: what it listed is not needed any more, each once.
    Discard(Vec<EntityId>),
    /// As host: a member is none any more.
    Gone(PeerId),
    /// As host: so far the game is held by it and two standbys (or as many as there are). Never at [`crate::Level::None`].
    Durable(StateId),
    /// The host's game applies what a member did: each once, in its order, and none is left out that was not forgotten
    /// ([`Output::InputForgotten`]).
    Apply {
        /// Whose: this peer's own, too.
        from: PeerId,
        /// Which.
        number: u64,
        /// What [`Input::Play`] was given.
        bytes: Vec<u8>,
    },
    /// While players gather: that one suits better, and the session goes to it. The host's game steps no further and hands over to it with its
    /// last state ([`Input::HandOver`]); where it has not within two seconds, what it gave last goes along.
    SomebodyBetter(PeerId),
    /// The host's game asked for a better host, and nobody suits better; or whoever did ([`Output::SomebodyBetter`]) does no more, or has
    /// gone: it goes on, from the state that it gave, if that was taken.
    NobodyBetter,
    /// A piece of the host's game was not taken.
    NotTaken(StateError),
    /// More than [`crate::INPUTS_MAX`] inputs wait for a state that holds them: the oldest will not be said again.
    InputForgotten {
        /// Which.
        number: u64,
    },
    /// A host tells another past than was heard before: what the game makes of it is the game's matter. It is told of once, and once more where
    /// the host goes on so after ten seconds.
    Rewritten {
        /// Who tells it.
        host: PeerId,
        /// What it tells.
        told: StateId,
        /// What was told before.
        known: StateId,
    },
    /// A host that no majority confirmed is confirmed now.
    Confirmed(Stamp),
    /// As host, in the middle of its reign: what it says carries that stamp from now on, and what it holds carries another. Nothing of
    /// that counts as held any more ([`crate::Session::waits_for`]) before the game has given another piece: it gives one at once.
    StateWanted(Stamp),
    /// A migration ended.
    Migrated(Report),
    /// A console variable was not set.
    NotSet(SettingError),
    /// The session is over for this peer.
    Ended(End),
}

/// Whether the host's game steps on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Acting {
    /// It does.
    Yes,
    /// It stands still: whether this peer is still host is open, or it is not.
    No,
}

/// Why a migration began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Seed 000: "the current host determines that a client in the lobby is a more suitable candidate".
    Lobby,
    /// Seed 000: "the current host quits the game in a controlled manner". It said that it goes, whether it handed over or not.
    Controlled,
    /// Seed 000: "the current host loses connection to the internet, crashes or suffers a power outage".
    Catastrophic,
    /// This peer was host and another has been certified meanwhile.
    Fenced,
    /// Two sides have met.
    Merge,
}

impl Cause {
    pub(super) const fn of(why: Handover) -> Self {
        match why {
            Handover::Lobby => Self::Lobby,
            Handover::Leaves => Self::Controlled,
            Handover::Merge => Self::Merge,
        }
    }
}

/// What is known of a migration while it runs (seed 000: "a SHostMigrationInfo structure which contains information for this host
/// migration event").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Moving {
    /// Why it began.
    pub cause: Cause,
    /// Under whom the game was played until then.
    pub from: PeerId,
    /// Under whom it goes on: known from [`Stage::DemoteToClient`] or [`Stage::PromoteToServer`] on at the latest, until that one is lost,
    /// too.
    pub to: Option<PeerId>,
    /// How often it was reset.
    pub resets: u32,
}

/// How far one migration is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Which one.
    pub of: Moving,
    /// Which callback runs; without one it waits, for a new host or for its game.
    pub stage: Option<Stage>,
    /// For which listeners, by their names.
    pub waits_for: Vec<String>,
    /// How long it has taken from OnInitiate on, in milliseconds.
    pub took_ms: u64,
    /// How long it may take yet, in milliseconds: what is left of `net_migrate_timeout`.
    pub left_ms: u64,
}

/// What came of one migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Why it began.
    pub cause: Cause,
    /// What came of it.
    pub outcome: Outcome,
    /// How often it was reset.
    pub resets: u32,
    /// How long it took from OnInitiate on, in milliseconds.
    pub took_ms: u64,
}

/// What came of a migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The session goes on.
    Moved {
        /// The new host.
        host: PeerId,
        /// Its stamp.
        stamp: Stamp,
        /// What this peer is.
        role: Role,
    },
    /// It does not, for this peer.
    Terminated(Failure),
}

/// Why a session is over for a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The game left.
    Left,
    /// Its host is gone, and it is not to migrate.
    HostLost,
    /// It migrated, and failed.
    Failed(Failure),
    /// It is not let in, or not any more.
    Refused(crate::Closed),
    /// Its lobby has ended it, or thrown this peer out.
    Closed,
}
