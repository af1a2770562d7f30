//! A ticket of players, from its making to its end, and the match it ends in.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::{MatchId, TicketId, Timestamp};

use crate::attribute::{Attributes, Party, Value};
use crate::entity::Entity;
use crate::members::{Members, Origin};

/// A player in a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Who.
    pub entity: Entity,
    /// With what attributes.
    pub attributes: Attributes,
}

/// A ticket of one player, of a group, or of players that a server brings together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Its id.
    pub id: TicketId,
    /// Who made it, and who was asked to join then.
    pub origin: Origin,
    /// Who has joined, the creator first where that is a player.
    pub members: Members,
    /// When it was made.
    pub created: Timestamp,
    /// How long it waits, from then on; in seconds.
    pub give_up_after: u32,
    /// How often it has changed: a reader of late news drops what is older.
    pub changes: u32,
    /// How it stands.
    pub stage: Stage,
}

/// How a ticket stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// `WaitingForPlayers`: not everyone who was asked has joined.
    Gathering,
    /// `WaitingForMatch`.
    Searching(Searching),
    /// `WaitingForServer`: others were found for it, and their match waits for a server.
    Held {
        /// What they are held as.
        hold: MatchId,
        /// How it searches on if nothing comes of that.
        searching: Searching,
    },
    /// `Matched`.
    Matched {
        /// In which match.
        id: MatchId,
        /// Since when.
        at: Timestamp,
    },
    /// `Canceled`.
    Canceled {
        /// Why.
        reason: Cancellation,
        /// Since when.
        at: Timestamp,
    },
}

/// A ticket that looks for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Searching {
    /// Since when: rules expand from here. PlayFab's `SubmissionTime`.
    pub since: Timestamp,
    /// Its place among all that have begun to search in this queue: the elder has the smaller.
    pub arrival: u64,
    /// How it last came back from waiting for a server, or changed, and was looked at anew.
    pub back: Option<Back>,
}

/// How a ticket came back to those who search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Back {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub why: LetGo,
}

/// Why a ticket waits for a server no longer and was given none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LetGo {
    /// Somebody of its group left or may join a game, or its queue or its game changed.
    Changed,
    /// The time of another of its group was up, and there was no server yet: if it finds nobody else it ends for that too.
    NoServer,
}

/// Why a ticket ended without a match (`CancellationReasonString`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cancellation {
    /// A player asked for it.
    User,
    /// A server or the title asked for it, or the queue was removed.
    Server,
    /// It waited as long as it was to.
    Timeout,
    /// No server could be had for its match.
    ServerAllocationFailed,
    /// By its attributes and the queue's rules it could never match.
    TicketUnmatchable,
    /// The queue changed in a way that its attributes were not read for: a new ticket may match.
    RetryRequired,
    /// A fault of ours: it was taken in, and the queue's rules cannot read it.
    Internal,
}

impl Cancellation {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::User,
        Self::Server,
        Self::Timeout,
        Self::ServerAllocationFailed,
        Self::TicketUnmatchable,
        Self::RetryRequired,
        Self::Internal,
    ];

    /// The word that clients know.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Server => "Server",
            Self::Timeout => "Timeout",
            Self::ServerAllocationFailed => "ServerAllocationFailed",
            Self::TicketUnmatchable => "TicketUnmatchable",
            Self::RetryRequired => "RetryRequired",
            Self::Internal => "Internal",
        }
    }
}

impl Stage {
    /// The word that clients know (`Status`).
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Gathering => "WaitingForPlayers",
            Self::Searching(_) => "WaitingForMatch",
            Self::Held { .. } => "WaitingForServer",
            Self::Matched { .. } => "Matched",
            Self::Canceled { .. } => "Canceled",
        }
    }

    /// What its group is held as, while it waits for a server.
    #[must_use]
    pub const fn hold(&self) -> Option<MatchId> {
        match self {
            Self::Held { hold, .. } => Some(*hold),
            Self::Gathering | Self::Searching(_) | Self::Matched { .. } | Self::Canceled { .. } => None,
        }
    }

    /// Since when it is over, where it is.
    #[must_use]
    pub const fn ended(&self) -> Option<Timestamp> {
        match self {
            Self::Gathering | Self::Searching(_) | Self::Held { .. } => None,
            Self::Matched { at, .. } | Self::Canceled { at, .. } => Some(*at),
        }
    }
}

impl Ticket {
    /// Who made it: a player, a game server or the title.
    #[must_use]
    pub fn creator(&self) -> &Entity {
        self.origin.creator(&self.members)
    }

    /// Who was asked to join when it was made.
    #[must_use]
    pub fn invited(&self) -> &[Entity] {
        self.origin.invited()
    }

    /// When it gives up.
    #[must_use]
    pub fn gives_up(&self) -> Timestamp {
        self.created + Duration::from_secs(self.give_up_after.into())
    }

    /// Whether a player has joined it.
    #[must_use]
    pub fn has(&self, player: &Entity) -> bool {
        self.members.iter().any(|member| member.entity == *player)
    }

    /// The regions its players measured, by the names that count in the queue ([`crate::Places`]).
    pub(crate) fn region_names(&self) -> impl Iterator<Item = Arc<str>> {
        let values = self.members.iter().flat_map(|member| member.attributes.values.iter().flatten());
        let measured = values.filter_map(|value| match value {
            Value::Latencies(measured) => Some(measured),
            Value::Text(_) | Value::Number(_) | Value::Texts(_) | Value::Other(_) => None,
        });
        measured.flat_map(|measured| measured.iter().map(|(region, _)| region.clone()))
    }

    /// Who was asked and has not joined yet.
    pub fn missing(&self) -> impl Iterator<Item = &Entity> {
        self.invited().iter().filter(|invited| !self.has(invited))
    }
}

impl Party for [Member] {
    fn players(&self) -> usize {
        self.len()
    }

    fn attributes(&self, player: usize) -> &Attributes {
        &self[player].attributes
    }

    fn region(&self) -> Option<Option<&str>> {
        None
    }
}

/// A match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Its id.
    pub id: MatchId,
    /// When it was formed.
    pub formed: Timestamp,
    /// Its players: those of a backfill ticket first, then ticket by ticket, the elder first.
    pub members: Vec<Seated>,
    /// The regions it could be played in, the best first, by the names that count in the queue; none where the queue has no such rule.
    pub regions: Arc<[Arc<str>]>,
    /// Where it is played, if a backfill ticket said or it was given a server.
    pub server: Option<Arc<crate::backfill::ServerDetails>>,
}

/// A player and its team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seated {
    /// Who, with what.
    pub member: Member,
    /// The team's name; `None` where the queue has no teams, or a backfill ticket leaves it open.
    pub team: Option<Arc<str>>,
}

impl Match {
    /// Whether a player is in it.
    #[must_use]
    pub fn has(&self, player: &Entity) -> bool {
        self.members.iter().any(|seated| seated.member.entity == *player)
    }
}
