//! What a session is made with.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use crate::limits::{ATTRIBUTE_NAME_MAX, ATTRIBUTE_VALUE_MAX, ATTRIBUTES_MAX, MEMBERS_MAX, NAME_CHARS_MAX};

/// Whether a lobby service's sessions may move (`eCLSF_SupportHostMigration`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Support {
    /// "the default is to support it".
    #[default]
    Supported,
    /// None of them moves.
    Unsupported,
}

/// Whether a session outlives its host (`CRYSESSION_CREATE_FLAG_MIGRATABLE`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Migratable {
    /// It moves to another.
    Yes,
    /// It ends with it.
    No,
}

/// Whether a session is found by whoever does not know its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Searchable {
    /// It is.
    Yes,
    /// Only by whoever was told of it.
    No,
}

/// Whether newcomers are let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joining {
    /// As long as there is room.
    Open,
    /// Only those whose seats a match has filled.
    Closed,
}

/// When the next epoch may be granted while a lease stands (reference, section 5.3 A).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// Once more than half of all members miss the host. For games.
    Fast,
    /// Not before the lease has run out. For what has lasting effects.
    Strict,
}

/// What peers do while nobody can certify a host: the lobby is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutMajority {
    /// Go on unconfirmed.
    Fork,
    /// End.
    End,
    /// Stand still and wait.
    Hold,
}

/// What a session is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// For people: up to 64 characters, none of them control characters.
    pub name: Arc<str>,
    /// How many members it has at most: 1 to 64.
    pub size: u32,
    /// Whether it outlives its host.
    pub migratable: Migratable,
    /// Whether it is found.
    pub searchable: Searchable,
    /// Whether newcomers are let in.
    pub joining: Joining,
    /// When another may take over.
    pub takeover: Takeover,
    /// What happens while nobody can certify a host.
    pub without_majority: WithoutMajority,
    /// What searches are narrowed by: up to 16 values by name.
    pub attributes: BTreeMap<Arc<str>, Arc<str>>,
}

/// Why a session cannot be made so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Its name.
    #[error(
        "the name has {chars} characters, at most {NAME_CHARS_MAX}, and none of them a control character"
    )]
    Name {
        /// How many.
        chars: usize,
    },
    /// Its size.
    #[error("the size is {0}: 1 to {MEMBERS_MAX}")]
    Size(u32),
    /// Too many attributes.
    #[error("{0} attributes, at most {ATTRIBUTES_MAX}")]
    Attributes(usize),
    /// An attribute's name.
    #[error("{0:?} is no attribute's name: 1 to {ATTRIBUTE_NAME_MAX} letters, digits and _ - .")]
    AttributeName(Arc<str>),
    /// An attribute's value.
    #[error("attribute {name} has {bytes} bytes, at most {ATTRIBUTE_VALUE_MAX}, and no control characters")]
    AttributeValue {
        /// Of which.
        name: Arc<str>,
        /// How many.
        bytes: usize,
    },
    /// A peer's addresses.
    #[error(
        "a peer has at most {} addresses of 1 to {} printable characters",
        crate::ADDRESSES_MAX,
        crate::ADDRESS_BYTES_MAX
    )]
    Addresses,
    /// A player's name.
    #[error("a player is 1 to {} bytes without control characters", crate::PLAYER_BYTES_MAX)]
    Player,
    /// As many players as there are seats, each once.
    #[error("{players} players for {size} seats: as many at most, each once, and one at least")]
    Players {
        /// How many players.
        players: usize,
        /// How many seats.
        size: u32,
    },
}

/// # Errors
/// Where a session has no such attribute.
pub fn attribute_fits(name: &str, value: &str) -> Result<(), Unfit> {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    if name.is_empty() || name.len() > ATTRIBUTE_NAME_MAX || !name.chars().all(letter) {
        return Err(Unfit::AttributeName(name.into()));
    }
    if value.len() > ATTRIBUTE_VALUE_MAX || value.chars().any(char::is_control) {
        return Err(Unfit::AttributeValue { name: name.into(), bytes: value.len() });
    }
    Ok(())
}

/// # Errors
/// Where a session has not so many of them.
pub const fn attributes_fit(count: usize) -> Result<(), Unfit> {
    if count > ATTRIBUTES_MAX { Err(Unfit::Attributes(count)) } else { Ok(()) }
}

impl Settings {
    /// Of a session that moves, is found and takes whoever comes.
    #[must_use]
    pub fn of_size(size: u32) -> Self {
        Self {
            name: "".into(),
            size,
            migratable: Migratable::Yes,
            searchable: Searchable::Yes,
            joining: Joining::Open,
            takeover: Takeover::Fast,
            without_majority: WithoutMajority::Fork,
            attributes: BTreeMap::new(),
        }
    }

    /// # Errors
    /// Why no session can be made so.
    pub fn check(&self) -> Result<(), Unfit> {
        let chars = self.name.chars().count();
        if chars > NAME_CHARS_MAX || self.name.chars().any(char::is_control) {
            return Err(Unfit::Name { chars });
        }
        if self.size == 0 || self.size > MEMBERS_MAX {
            return Err(Unfit::Size(self.size));
        }
        attributes_fit(self.attributes.len())?;
        self.attributes.iter().try_for_each(|(name, value)| attribute_fits(name, value))
    }

    /// What it takes, in bytes.
    pub(crate) fn weight(&self) -> usize {
        let attributes: usize =
            self.attributes.iter().map(|(name, value)| name.len() + value.len() + 64).sum();
        self.name.len() + attributes
    }
}
