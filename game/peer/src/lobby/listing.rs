//! What a host says of its session in a lobby: who finds it, who comes in, how far it is.

use std::time::Duration;

use mainstay_migration::{GamePhase, Newcomers};
use mainstay_wire::native::{JoiningView, PhaseView, SessionUpdate, TakeoverView};

/// How long what is refused is said again: a host that the lobby is about to certify asks it once a second.
pub(super) const REFUSED_FOR: Duration = Duration::from_secs(10);

/// Whether a session is found by whoever does not know its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Searchable {
    /// It is.
    Yes,
    /// Only whoever was told of it comes.
    No,
}

/// Whether newcomers are let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joining {
    /// As long as there is room, in a game that goes on, too.
    Open,
    /// In a lobby only those whose seats a match has filled; elsewhere nobody who was never a member.
    Closed,
}

/// When another may be host while the lobby still hears the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// Once more than half of all members miss it: for games.
    Fast,
    /// Not before its lease has run out: for what has lasting effects.
    Strict,
}

/// One thing of a session that its host may change while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Who finds it.
    Searchable(Searchable),
    /// Who comes in.
    Joining(Joining),
    /// How far it is.
    Phase(GamePhase),
}

/// A lobby will not have what its session's host says of it: it was said for ten seconds, and is not said again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the lobby refused for {} s to list {listing:?}: {detail} ({code})", REFUSED_FOR.as_secs())]
pub struct NotListed {
    /// What was said.
    pub listing: Listing,
    /// By which code, such as `MS-G014`.
    pub code: String,
    /// Why.
    pub detail: String,
}

impl Listing {
    /// As the lobby is asked for it.
    pub(super) fn update(self, epoch: u32) -> SessionUpdate {
        let update = SessionUpdate { epoch: Some(epoch), ..SessionUpdate::default() };
        match self {
            Self::Searchable(searchable) => {
                SessionUpdate { searchable: Some(searchable == Searchable::Yes), ..update }
            }
            Self::Joining(joining) => SessionUpdate { joining: Some(joining.into()), ..update },
            Self::Phase(phase) => SessionUpdate { phase: Some(phase_of(phase)), ..update },
        }
    }

    /// Whether the other is said of the same, and takes its place.
    pub(super) const fn is_of_same(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Searchable(_), Self::Searchable(_))
                | (Self::Joining(_), Self::Joining(_))
                | (Self::Phase(_), Self::Phase(_))
        )
    }
}

const fn phase_of(phase: GamePhase) -> PhaseView {
    match phase {
        GamePhase::Gathering => PhaseView::Gathering,
        GamePhase::Started => PhaseView::Started,
    }
}

impl Joining {
    /// As the rules have it.
    pub(crate) const fn newcomers(self) -> Newcomers {
        match self {
            Self::Open => Newcomers::LetIn,
            Self::Closed => Newcomers::KeptOut,
        }
    }
}

impl From<Newcomers> for Joining {
    fn from(newcomers: Newcomers) -> Self {
        match newcomers {
            Newcomers::LetIn => Self::Open,
            Newcomers::KeptOut => Self::Closed,
        }
    }
}

impl From<JoiningView> for Joining {
    fn from(view: JoiningView) -> Self {
        match view {
            JoiningView::Open => Self::Open,
            JoiningView::Closed => Self::Closed,
        }
    }
}

impl From<Joining> for JoiningView {
    fn from(joining: Joining) -> Self {
        match joining {
            Joining::Open => Self::Open,
            Joining::Closed => Self::Closed,
        }
    }
}

impl From<Takeover> for TakeoverView {
    fn from(takeover: Takeover) -> Self {
        match takeover {
            Takeover::Fast => Self::Fast,
            Takeover::Strict => Self::Strict,
        }
    }
}
