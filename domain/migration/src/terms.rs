//! What a session is made with: its founder's word, which everybody who comes in adopts, and every host after goes on with. Two players
//! whose programs disagree would break the rules otherwise, and nobody would say so.
//!
//! Whoever lets a peer in tells it the terms ([`crate::Welcome`]). A lobby has told it three of them before, and those are the lobby's to
//! say: it goes by them itself. An order that is the game's own comparator cannot be sent: which one it is is told, and who has another is
//! not let in ([`crate::Closed::OtherOrder`]).

use crate::lobby::Arbiter;
use crate::order::OrderName;
use crate::session::{Config, Migratable, WithoutMajority};
use crate::state::Level;
use crate::view::MEMBERS_MAX;

/// What a session is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Terms {
    /// By what hosts are chosen.
    pub order: OrderName,
    /// Whether it goes on with another host.
    pub migratable: Migratable,
    /// What happens where no majority can be had.
    pub without_majority: WithoutMajority,
    /// How much of the game goes along.
    pub level: Level,
    /// How many members it has at most, up to [`MEMBERS_MAX`].
    pub size: u8,
}

/// Whether the lobby service of a session supports host migration on this peer: seed 000's `eCLSF_SupportHostMigration`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Support {
    /// Sessions move, where they were made so.
    #[default]
    Supported,
    /// None of them does, as far as this peer is concerned.
    Unsupported,
}

impl Support {
    /// What becomes of a session's own setting.
    #[must_use]
    pub const fn of(self, migratable: Migratable) -> Migratable {
        match self {
            Self::Supported => migratable,
            Self::Unsupported => Migratable::No,
        }
    }

    /// What two say of one service.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match self {
            Self::Supported => other,
            Self::Unsupported => Self::Unsupported,
        }
    }
}

impl Config {
    /// What it says of the session.
    #[must_use]
    pub fn terms(&self) -> Terms {
        Terms {
            order: self.order.name(),
            migratable: self.migratable,
            without_majority: self.without_majority,
            level: self.level,
            size: u8::try_from(self.size.min(MEMBERS_MAX)).unwrap_or(u8::MAX),
        }
    }

    /// The same with the terms that its host has told; `None` where they are an order that this peer's game does not have.
    pub(crate) fn under(self, told: &Terms) -> Option<Self> {
        let order = self.order.named(told.order)?;
        let config = Self { order, level: told.level, ..self };
        Some(match config.arbiter {
            Arbiter::Lobby => config,
            Arbiter::Majority => Self {
                migratable: told.migratable,
                without_majority: told.without_majority,
                // A session of nobody, or of more than there can be, is a slip of the host's.
                size: usize::from(told.size).clamp(1, MEMBERS_MAX),
                ..config
            },
        })
    }
}
