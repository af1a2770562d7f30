//! A ticket of a game that goes on and wants more players (seed 004).

use alloc::sync::Arc;
use core::time::Duration;

use mainstay_core::{MatchId, TicketId, Timestamp};

use crate::attribute::{Attributes, Party};
use crate::entity::Entity;
use crate::terms::Terms;
use crate::ticket::{Cancellation, Searching, Seated};

/// "Backfill tickets are owned by a game server, not a user. Users cannot view or interact with backfill tickets in any
/// way."
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackfillTicket {
    /// Its id.
    pub id: TicketId,
    /// The game server it belongs to; `None`: the title made it, and only the title may touch it.
    pub owner: Option<Entity>,
    /// Who plays already, with the teams that are said.
    pub members: Arc<[Seated]>,
    /// How to reach the game.
    pub server: Arc<ServerDetails>,
    /// How many players are wanted at most; `None`: as many as fit.
    pub places: Option<u32>,
    /// When it was made.
    pub created: Timestamp,
    /// How long it waits, from then on; in seconds.
    pub give_up_after: u32,
    /// On what terms it stands.
    pub terms: Terms,
    /// How it stands.
    pub stage: BackfillStage,
}

/// How a backfill ticket stands: the three words of `GetServerBackfillTicket`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackfillStage {
    /// `WaitingForMatch`.
    Searching(Searching),
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

/// "allows the server to specify any information required to connect to it […] All fields in this structure are
/// optional."
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerDetails {
    /// Its name.
    pub fqdn: Option<Arc<str>>,
    /// "The IPV4Address field is not validated and may be used to supply arbitrary connection string information to
    /// clients."
    pub ipv4_address: Option<Arc<str>>,
    /// Its ports.
    pub ports: Arc<[Port]>,
    /// Where it is.
    pub region: Option<Arc<str>>,
    /// Its id.
    pub server_id: Option<Arc<str>>,
}

impl ServerDetails {
    /// What all of it may take: each player of its matches is told it. An address with a token in it is some hundred bytes.
    pub const BYTES_MAX: usize = 4_096;

    /// What it takes: its texts, and four bytes a port besides its name.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let texts = [&self.fqdn, &self.ipv4_address, &self.region, &self.server_id];
        let ports = self.ports.iter().map(|port| port.name.len() + 4);
        texts.into_iter().flatten().map(|text| text.len()).chain(ports).sum()
    }
}

/// A port of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: Arc<str>,
    /// Its number.
    pub number: u16,
    /// Its protocol.
    pub protocol: Protocol,
}

/// What a port speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Streams.
    Tcp,
    /// Packets.
    Udp,
}

impl BackfillStage {
    /// The word that clients know (`Status`).
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Searching(_) => "WaitingForMatch",
            Self::Matched { .. } => "Matched",
            Self::Canceled { .. } => "Canceled",
        }
    }

    /// Since when it is over, where it is.
    #[must_use]
    pub const fn ended(&self) -> Option<Timestamp> {
        match self {
            Self::Searching(_) => None,
            Self::Matched { at, .. } | Self::Canceled { at, .. } => Some(*at),
        }
    }
}

impl BackfillTicket {
    /// When it gives up.
    #[must_use]
    pub fn gives_up(&self) -> Timestamp {
        self.created + Duration::from_secs(self.give_up_after.into())
    }

    /// Whether a player is in the game it is for.
    #[must_use]
    pub fn has(&self, player: &Entity) -> bool {
        self.members.iter().any(|seated| seated.member.entity == *player)
    }

    /// The most players of a match it may be in, where it says.
    pub(crate) fn room(&self) -> Option<u32> {
        let playing = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        self.places.map(|places| places.saturating_add(playing))
    }

    pub(crate) fn party(&self) -> Game<'_> {
        Game { members: &self.members, server: &self.server }
    }
}

/// The game of a backfill ticket, as rules read it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Game<'a> {
    pub members: &'a [Seated],
    pub server: &'a ServerDetails,
}

impl Party for Game<'_> {
    fn players(&self) -> usize {
        self.members.len()
    }

    fn attributes(&self, player: usize) -> &Attributes {
        &self.members[player].member.attributes
    }

    fn region(&self) -> Option<Option<&str>> {
        Some(self.server.region.as_deref())
    }
}
