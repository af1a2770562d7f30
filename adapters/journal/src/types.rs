//! The words of the log: which shard, which event, under which leader.

use std::fmt;
use std::sync::Arc;

use mainstay_core::Timestamp;

/// The longest shard name in bytes: a kind, a slash and an id of 36 characters fit.
pub const SHARD_NAME_BYTES_MAX: usize = 64;

/// The name of a shard: `catalog`, `agent`, `fleet/1`. Lower-case letters, digits, `/`, `-`, `_` and `.`; 1 to
/// [`SHARD_NAME_BYTES_MAX`] bytes. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardName(Arc<str>);

impl ShardName {
    /// Checks and takes a name.
    ///
    /// # Errors
    /// Where the name is empty, too long, or has another character.
    pub fn new(name: &str) -> Result<Self, NameError> {
        if name.is_empty() || name.len() > SHARD_NAME_BYTES_MAX {
            return Err(NameError::Length { bytes: name.len() });
        }
        let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "/-_.".contains(c);
        match name.chars().find(|&c| !known(c)) {
            Some(character) => Err(NameError::Character { character }),
            None => Ok(Self(name.into())),
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ShardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ShardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is no shard name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Empty or too long.
    #[error("shard name has {bytes} bytes; 1 to {SHARD_NAME_BYTES_MAX} are allowed")]
    Length {
        /// How long it was.
        bytes: usize,
    },
    /// A character that shard names do not have.
    #[error("shard name holds {character:?}; use a-z, 0-9, '/', '-', '_' and '.'")]
    Character {
        /// The first such character.
        character: char,
    },
}

/// The number of an event within its shard; the first is [`Seq::FIRST`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

impl Seq {
    /// Before the first event: the durable mark of an empty shard.
    pub const NONE: Self = Self(0);
    /// The first event of a shard.
    pub const FIRST: Self = Self(1);

    /// The number `count` events later.
    #[must_use]
    pub const fn plus(self, count: u64) -> Self {
        Self(self.0.saturating_add(count))
    }

    /// The number before this one; [`Seq::NONE`] stays.
    #[must_use]
    pub const fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Counts the leaders a shard has had. An append under an older epoch is refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

impl Epoch {
    /// Nobody has led yet.
    pub const NONE: Self = Self(0);

    /// The epoch of the next leader.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}

/// One turn of one shard: the events of one command, numbered `first ..= last()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRecord {
    /// Whose turn.
    pub shard: ShardName,
    /// The number of its first event.
    pub first: Seq,
    /// How many events; at least one.
    pub count: u32,
    /// The leader that decided it.
    pub epoch: Epoch,
    /// The turn's time: what `apply` was told, and is told again at replay.
    pub at: Timestamp,
    /// The events in their stored form.
    pub bytes: Vec<u8>,
}

impl TurnRecord {
    /// The number of its last event.
    #[must_use]
    pub const fn last(&self) -> Seq {
        self.next().before()
    }

    /// The number the shard's next turn begins with.
    #[must_use]
    pub const fn next(&self) -> Seq {
        self.first.plus(self.count as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shard_names_are_short_and_plain() {
        for good in ["catalog", "fleet/1", "agent", "lobby/0f", &"a".repeat(64)] {
            assert_eq!(ShardName::new(good).map(|name| name.to_string()), Ok(good.to_owned()));
        }
        for (bad, why) in [
            ("", NameError::Length { bytes: 0 }),
            (&"a".repeat(65), NameError::Length { bytes: 65 }),
            ("Fleet", NameError::Character { character: 'F' }),
            ("a b", NameError::Character { character: ' ' }),
        ] {
            assert_eq!(ShardName::new(bad), Err(why), "{bad:?}");
        }
    }

    #[test]
    fn a_turn_ends_before_the_next_begins() {
        let shard = ShardName::new("fleet/1").unwrap();
        let turn = TurnRecord {
            shard,
            first: Seq(5),
            count: 3,
            epoch: Epoch(1),
            at: Timestamp::EPOCH,
            bytes: vec![],
        };
        assert_eq!((turn.last(), turn.next()), (Seq(7), Seq(8)));
    }
}
