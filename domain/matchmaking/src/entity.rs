//! Who plays, and who asks: PlayFab's entities.

use alloc::sync::Arc;
use alloc::{format, string::String};
use core::fmt;

use mainstay_core::{ServerId, Tenure};

/// What PlayFab calls an entity: its type and id, kept as `type!id`, the form its error details show.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entity(Arc<str>);

/// Longest id or type of an entity, in bytes. PlayFab's are 16 hexadecimal digits; 128 leaves room for a studio's own,
/// and bounds what a list of members weighs.
pub const ENTITY_PART_BYTES_MAX: usize = 128;

/// Entities that are no players.
const NO_PLAYERS: [&str; 4] = ["title", "namespace", "group", Entity::GAME_SERVER];

/// The types that PlayFab has. A studio may have others.
const KNOWN: [&str; 7] = [
    "title",
    "namespace",
    "group",
    Entity::GAME_SERVER,
    Entity::PLAYER,
    "master_player_account",
    "character",
];

/// Why an entity is no player.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPlayer {
    /// It is something else.
    #[error("that is no player")]
    OtherKind,
    /// Its type is this one, written otherwise: it would be a player of its own, beside the one that was meant.
    #[error("a Type is written as it is: {0}")]
    Miswritten(&'static str),
}

impl Entity {
    /// A player of a title.
    pub const PLAYER: &str = "title_player_account";
    /// A game server.
    pub const GAME_SERVER: &str = "game_server";

    /// Of a type and an id; `None` where one is empty, longer than [`ENTITY_PART_BYTES_MAX`], holds a control character,
    /// or the type holds `!`, so that the two could not be told apart again.
    #[must_use]
    pub fn new(kind: &str, id: &str) -> Option<Self> {
        let fits = |part: &str| {
            !part.is_empty() && part.len() <= ENTITY_PART_BYTES_MAX && !part.contains(char::is_control)
        };
        (fits(kind) && fits(id) && !kind.contains('!')).then(|| Self(format!("{kind}!{id}").into()))
    }

    /// A game server that Mainstay hosts.
    #[must_use]
    pub fn hosted(server: ServerId) -> Self {
        Self(format!("{}!{server}", Self::GAME_SERVER).into())
    }

    /// From its text, as a journal kept it: it was checked when it came in.
    #[must_use]
    pub fn kept(text: &str) -> Self {
        Self(text.into())
    }

    /// Its type.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.0.split_once('!').map_or("", |(kind, _)| kind)
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.0.split_once('!').map_or("", |(_, id)| id)
    }

    /// Whether it may be in a ticket.
    ///
    /// # Errors
    /// Why it may not.
    pub fn may_play(&self) -> Result<(), NoPlayer> {
        let kind = self.kind();
        if NO_PLAYERS.contains(&kind) {
            return Err(NoPlayer::OtherKind);
        }
        let meant = KNOWN.iter().find(|known| known.eq_ignore_ascii_case(kind) && **known != kind);
        meant.map_or(Ok(()), |known| Err(NoPlayer::Miswritten(known)))
    }

    /// `type!id`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&Entity> for String {
    fn from(entity: &Entity) -> Self {
        Self::from(entity.as_str())
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A player, for itself.
    Player(Entity),
    /// One game server, for its own tickets.
    Server(Entity),
    /// A process that Mainstay hosts, for its own tickets and the recovery of a player alone.
    Hosted(Tenure),
    /// The title: everything.
    Title,
}

impl Caller {
    /// What its word is told as where it may not do something.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Player(_) => "a player",
            Self::Server(_) => "a server",
            Self::Hosted(_) => "a hosted process",
            Self::Title => "the title",
        }
    }

    /// Whether this is the player itself, a server or the title: who may ask about an ordinary ticket's player.
    #[must_use]
    pub fn speaks_for(&self, player: &Entity) -> bool {
        match self {
            Self::Player(caller) => caller == player,
            Self::Server(_) | Self::Title => true,
            Self::Hosted(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_is_told_from_its_text_again() {
        let entity = Entity::new(Entity::PLAYER, "562D72A5B184F612").unwrap();
        assert_eq!(entity.as_str(), "title_player_account!562D72A5B184F612");
        assert_eq!((entity.kind(), entity.id()), ("title_player_account", "562D72A5B184F612"));
        assert_eq!(Entity::new("a", "b!c").map(|it| it.id().len()), Some(3));
    }

    #[test]
    fn what_could_not_be_told_apart_is_no_entity() {
        for (kind, id) in [("", "a"), ("a", ""), ("a!b", "c"), ("a", "b\n")] {
            assert_eq!(Entity::new(kind, id), None, "{kind} {id}");
        }
        assert_eq!(Entity::new("a", &"x".repeat(129)), None);
    }

    #[test]
    fn who_may_play_is_told_by_the_type() {
        let of = |kind: &str| Entity::new(kind, "1").unwrap().may_play();
        for kind in [Entity::PLAYER, "character", "steam"] {
            assert_eq!(of(kind), Ok(()));
        }
        for kind in ["title", "namespace", "group", Entity::GAME_SERVER] {
            assert_eq!(of(kind), Err(NoPlayer::OtherKind));
        }
        assert_eq!(of("Title_Player_Account"), Err(NoPlayer::Miswritten(Entity::PLAYER)));
    }
}
