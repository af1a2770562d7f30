//! The lobby's hands: what the rules ask of it, on a thread that may wait for it, and what a game asks.
//!
//! [`Lobby`] is one member's way to its lobby; `member` is the one that stands. The rules repeat what is not answered, so a
//! question that was lost is forgotten here.
//!
//! - `door` is HTTP to a lobby, and `address` where it is; `trust` is whose word counts for it;
//! - `token` is what is shown there, and printed nowhere; `guest` is who comes, `entry` how a session is joined and `making` how it is made, `signed` what the lobby signs about it;
//! - `member` are a member's calls, on a thread of its own: `line`; `listing` is what its host says of a session;
//! - `search` finds sessions, by their `attributes`.

mod address;
mod attributes;
mod door;
mod entry;
mod guest;
mod line;
mod listing;
mod making;
mod member;
mod search;
mod signed;
mod token;
mod trust;

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;

use mainstay_core::Timestamp;
use mainstay_migration::{CanBeHost, Epoch, Pass, PeerId, Question, Ruling};
use mainstay_wire::peer::Card;

use crate::Support;
use crate::mirror::Mirror;
use crate::relay::Berth;

/// The largest session.
const MEMBERS_MAX: u32 = 64;
const _: () = assert!(MEMBERS_MAX as usize == mainstay_migration::MEMBERS_MAX);

pub use self::attributes::{AttributeError, Attributes};
pub(crate) use self::entry::{Entered, Entry, create, join};
pub(crate) use self::line::{Brought, Errand, Line, RULINGS_MAX, Told};
pub use self::listing::{Joining, Listing, NotListed, Searchable, Takeover};
pub use self::search::{ListedSession, OnlineSearch, Wanted};
pub(crate) use self::signed::{is_of_lobby, is_pass, is_receipt};
pub use self::token::Token;
pub use self::trust::{Authorities, Trust, TrustError};

/// Where a lobby is, and as whom this process comes to it.
#[derive(Debug, Clone)]
pub struct Online {
    /// Its address, such as `https://games.example:7700`; `http` is answered to callers on the lobby's own host alone.
    pub url: String,
    /// Who vouches for it, over https.
    pub trust: Trust,
    /// What a login of PlayFab's face gave this player (`EntityToken`): a lobby that other hosts reach asks for it.
    pub entity_token: Option<Token>,
    /// For a session that a match has made: the token of this player's seat in it, which the studio's service reads and hands on. It is
    /// shown instead of the entity token.
    pub seat_token: Option<Token>,
    /// Whose process this is: read by lobbies that ask nobody for credentials. Without it, a name that nobody else has.
    pub player: Option<String>,
    /// How others reach this peer; without any, the address that the lobby's STUN responder sees it at, and the one that it
    /// reaches the lobby from.
    pub addresses: Vec<SocketAddr>,
}

/// The socket that others are to reach this peer at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound<'a> {
    /// As the system has it.
    pub(crate) address: SocketAddr,
    /// As others see it.
    pub(crate) mirror: &'a Mirror,
}

/// A session as it is made in a lobby.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// For people.
    pub name: String,
    /// How many members it has at most.
    pub size: u32,
    /// What it is found by ([`OnlineSearch`]).
    pub attributes: Attributes,
    /// Whether it is found at all; others join it by its id.
    pub searchable: Searchable,
    /// Whether newcomers are let in.
    pub joining: Joining,
    /// When another may take over.
    pub takeover: Takeover,
}

impl Default for NewSession {
    /// Without a name, of the largest size, found by everybody, open, and for a game that is played.
    fn default() -> Self {
        Self {
            name: String::new(),
            size: MEMBERS_MAX,
            attributes: Attributes::default(),
            searchable: Searchable::Yes,
            joining: Joining::Open,
            takeover: Takeover::Fast,
        }
    }
}

impl Online {
    /// Whether that lobby's sessions move: its own flag `eCLSF_SupportHostMigration`, which who runs it sets. Waits for its answer.
    ///
    /// # Errors
    /// Where the lobby does not answer, or refuses.
    pub fn support(&self) -> Result<Support, LobbyError> {
        guest::supports(self)
    }
}

/// What came of something that is owed to the lobby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It is done, or of no use any more.
    Yes,
    /// It did not get there: it is tried again.
    NotYet,
}

/// What came of what a host says: of its session, or that it throws somebody out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heeded {
    /// It is so.
    Yes,
    /// It did not get there: it is said again.
    NotYet,
    /// The lobby will not have it. It is said again for a while, for this host may be one that the lobby is just about to certify.
    Refused {
        /// By which code, such as `MS-G014`.
        code: String,
        /// Why.
        detail: String,
    },
}

/// What comes with a lobby's answers and was not asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// It has let this peer in anew, or has renewed its pass.
    Admitted {
        /// What it shows other members from now on.
        pass: Pass,
        /// What the lobby's clock said then.
        as_of: Timestamp,
    },
    /// What carries for this peer from now on, where anything does.
    Relay(Option<Berth>),
    /// It keeps somebody out, for the host to know.
    Kicked(PeerId),
    /// Whose players are here with other processes, all of them: for hosts, and for whoever is one next.
    Replaced(BTreeSet<PeerId>),
    /// Whether its sessions move to other hosts, as it says with each answer to a beat: its flag may be set while they are played.
    Supports(Support),
    /// Who is a member as the lobby knows it, and where each may be found.
    Members(Vec<Card>),
}

/// One member's way to its lobby. Calls wait for an answer, a few seconds at most.
pub trait Lobby: fmt::Debug + Send {
    /// Asks. `None` where nothing came back that says anything.
    fn ask(&mut self, question: &Question) -> Option<Ruling>;
    /// Renews what this peer shows its lobby and other members, where that is old enough: called twice a second, whether or not
    /// there is anything to ask. What comes of it is news; an answer is what ends the session for this peer.
    fn renew(&mut self) -> Option<Ruling>;
    /// What came with the answers so far; each is given once.
    fn news(&mut self) -> Vec<News>;
    /// Says whether this peer may become host.
    fn introduce(&mut self, can_be_host: CanBeHost) -> Done;
    /// Says that others see this peer there now.
    fn seen_as(&mut self, address: SocketAddr) -> Done;
    /// As host of that epoch: throws somebody out for ever.
    fn kick(&mut self, peer: PeerId, epoch: Epoch) -> Heeded;
    /// As host of that epoch: says what the session is like.
    fn list(&mut self, listing: Listing, epoch: Epoch) -> Heeded;
    /// Leaves.
    fn leave(&mut self);
}

/// Why a lobby gave no place in a session.
#[derive(Debug, thiserror::Error)]
pub enum LobbyError {
    /// Nobody answers there.
    #[error("no lobby answers at {url}")]
    Unreachable {
        /// Where.
        url: String,
        /// Why.
        #[source]
        source: Box<ureq::Error>,
    },
    /// It could not be asked: the address is none, or the token holds what no header does, such as the end of a line.
    #[error("{url} cannot be asked: it is no address of a lobby, or the token is none")]
    Unaskable {
        /// Where.
        url: String,
        /// Why.
        #[source]
        source: Box<ureq::Error>,
    },
    /// Over https, nobody whom this peer trusts vouches for who answers there.
    #[error(
        "what answers at {url} cannot prove that it is the lobby; if its authority is not one of this system's, \
         name that authority's certificate"
    )]
    Untrusted {
        /// Where.
        url: String,
        /// What is wrong.
        #[source]
        why: rustls::Error,
    },
    /// It refused.
    #[error("the lobby refused: {detail} ({code})")]
    Refused {
        /// Its code.
        code: String,
        /// Why.
        detail: String,
    },
    /// It answered what no lobby answers.
    #[error("what answers at {url} is no lobby: {what}")]
    Unreadable {
        /// Where.
        url: String,
        /// What is wrong.
        what: &'static str,
    },
}
