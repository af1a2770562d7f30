//! Why a command was refused: by PlayFab's names and numbers, with what is wrong and how to mend it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{MatchId, TicketId};

use crate::attribute::AttributeFault;
use crate::decide::GIVE_UP_AFTER_MAX;
use crate::engine::{Kind, LIST_VALUES_MAX, REGIONS_MAX};
use crate::entity::Entity;
use crate::spec::NoRoom;

/// Why not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// `MatchmakingQueueNotFound`: the queue was never configured, or is removed.
    #[error("there is no such queue")]
    QueueNotFound,
    /// The attributes were read for other rules. Read them again by the form that is told.
    #[error("the queue's rules have changed since the attributes were read; its form is {form} now")]
    OtherForm {
        /// The form to read by.
        form: u32,
    },
    /// `MatchmakingTicketNotFound`.
    #[error("there is no ticket {0}, or it ended some time ago")]
    TicketNotFound(TicketId),
    /// `MatchmakingMatchNotFound`.
    #[error("there is no match {0}, or it was formed some time ago")]
    MatchNotFound(MatchId),
    /// `MatchmakingRequestTypeMismatch`: a backfill call for an ordinary ticket, or the other way round.
    #[error("ticket {0} is of the other kind: backfill tickets have calls of their own")]
    RequestTypeMismatch(TicketId),
    /// The key under which this is asked was used before, for something else.
    #[error("this key has made ticket {ticket}, which was asked for otherwise")]
    KeyReused {
        /// What it made.
        ticket: TicketId,
    },
    /// `MatchmakingUnauthorized`.
    #[error("{who} may not do this: {why}")]
    Unauthorized {
        /// Who asked.
        who: &'static str,
        /// Why not.
        why: &'static str,
    },
    /// `MatchmakingEntityInvalid`: an entity that does not fit here.
    #[error("{entity}: {why}")]
    EntityInvalid {
        /// Which.
        entity: Entity,
        /// Why it does not.
        why: &'static str,
    },
    /// `MatchmakingAttributeInvalid`.
    #[error(transparent)]
    AttributeInvalid(#[from] AttributeFault),
    /// `MatchmakingRateLimitExceeded`: the tickets that wait name as many different list values or regions as a queue holds, and none of them
    /// takes up more than this one would. Nobody's fault who is told it, and over when some of them are matched.
    #[error(
        "the tickets that wait name so many different list values (at most {LIST_VALUES_MAX}) or regions (at most {REGIONS_MAX}) that there is no room for \
         these beside: ask again later"
    )]
    TooManyValues,
    /// `MatchmakingNumberOfPlayersInTicketTooLarge`.
    #[error("{players} players in a ticket, at most {max}")]
    NumberOfPlayersTooLarge {
        /// How many.
        players: usize,
        /// How many may be.
        max: u32,
    },
    /// A game that no match has room for: `MatchmakingNumberOfPlayersInTicketTooLarge` where it is full, else `MatchmakingBadRequest`.
    #[error("nobody can be found for this game: {0}")]
    NoRoom(#[from] NoRoom),
    /// `MatchmakingBadRequest`: what contradicts itself.
    #[error("{0}")]
    BadRequest(&'static str),
    /// `MatchmakingCreateRequestGiveUpAfterInvalid`.
    #[error("GiveUpAfterSeconds {seconds}: 1 to {GIVE_UP_AFTER_MAX}")]
    GiveUpAfterInvalid {
        /// How many seconds.
        seconds: u32,
    },
    /// A team that a game's players cannot be on.
    #[error("team {team}: {fault}")]
    TeamInvalid {
        /// Which.
        team: Arc<str>,
        /// Why not.
        fault: TeamFault,
    },
    /// What a game says of itself breaks a rule, now and after every expansion: nobody can be found for it.
    #[error("by the rules of this queue nobody can join the game as it stands, however long it waits")]
    Unmatchable,
    /// `MatchmakingAlreadyJoinedTicket`.
    #[error("{0} has joined this ticket")]
    AlreadyJoined(Entity),
    /// `MatchmakingPlayerHasNotJoinedTicket`.
    #[error("{0} has not joined this ticket")]
    NotJoined(Entity),
    /// `MatchmakingTicketAlreadyCompleted`.
    #[error("ticket {0} is matched or canceled")]
    AlreadyCompleted(TicketId),
    /// `MatchmakingTicketMembershipLimitExceeded`: "at any time a user may be in only one backfill ticket per queue. This
    /// limit is tracked separately from the regular tickets".
    #[error("User is a member of too many {}.", match .kind { Kind::Backfill => "backfill tickets", Kind::Ordinary => "tickets" })]
    MembershipLimitExceeded {
        /// Tickets of which kind.
        kind: Kind,
        /// Who is in another one.
        users: Vec<Entity>,
    },
    /// Too many tickets wait.
    #[error("{waiting} tickets wait in this queue already")]
    TooManyWaiting {
        /// How many.
        waiting: usize,
    },
}

/// Why nobody, or nobody more, is on a team.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TeamFault {
    /// There are none.
    #[error("the queue has no teams")]
    NoTeams,
    /// It is none of the queue's.
    #[error("the queue has none of that name, but {}", .teams.join(", "))]
    Unknown {
        /// Those it has.
        teams: Vec<Arc<str>>,
    },
    /// More are on it than it holds.
    #[error("more than {max} players are on it")]
    Full {
        /// How many it holds.
        max: u32,
    },
}

impl Rejection {
    /// PlayFab's name and number of it.
    #[must_use]
    pub const fn code(&self) -> (&'static str, u32) {
        match self {
            Self::QueueNotFound => ("MatchmakingQueueNotFound", 2016),
            Self::TicketNotFound(_) => ("MatchmakingTicketNotFound", 2018),
            Self::MatchNotFound(_) => ("MatchmakingMatchNotFound", 2017),
            Self::RequestTypeMismatch(_) => ("MatchmakingRequestTypeMismatch", 2058),
            Self::Unauthorized { .. } => ("MatchmakingUnauthorized", 2056),
            Self::EntityInvalid { .. } => ("MatchmakingEntityInvalid", 2001),
            Self::AttributeInvalid(_) => ("MatchmakingAttributeInvalid", 2046),
            Self::NumberOfPlayersTooLarge { .. } | Self::NoRoom(NoRoom::Full { .. }) => {
                ("MatchmakingNumberOfPlayersInTicketTooLarge", 2044)
            }
            Self::BadRequest(_)
            | Self::NoRoom(NoRoom::TooFew { .. } | NoRoom::Teams { .. })
            | Self::GiveUpAfterInvalid { .. }
            | Self::TeamInvalid { .. }
            | Self::KeyReused { .. }
            | Self::Unmatchable => ("MatchmakingBadRequest", 2059),
            Self::AlreadyJoined(_) => ("MatchmakingAlreadyJoinedTicket", 2028),
            Self::NotJoined(_) => ("MatchmakingPlayerHasNotJoinedTicket", 2053),
            Self::AlreadyCompleted(_) => ("MatchmakingTicketAlreadyCompleted", 2029),
            Self::MembershipLimitExceeded { .. } => ("MatchmakingTicketMembershipLimitExceeded", 2055),
            Self::TooManyValues | Self::TooManyWaiting { .. } => ("MatchmakingRateLimitExceeded", 2054),
            Self::OtherForm { .. } => ("ServiceUnavailable", 1123),
        }
    }
}
