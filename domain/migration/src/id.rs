//! Who and what is spoken of: peers, sessions, epochs, channels, and the stamp that fences old hosts.

use core::fmt;

/// A session. It may change its name on a platform (seed 000: "the SessionID is changed"), so nothing about a peer
/// depends on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u128);

/// One life of one player's process: the fingerprint of a key that is made when it starts.
///
/// A process that starts again is another peer and has no vote until it is let in again; so nobody votes twice for having
/// forgotten. That is why a peer keeps nothing on disk. It compares without the session (seed 000: "should only use the
/// .m_UID component for comparison purposes").
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u128);

/// Counts the hosts of a session; the founder's is [`Epoch::FIRST`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u32);

impl Epoch {
    /// The founder's.
    pub const FIRST: Self = Self(1);

    /// The one after this. After 2^32 hosts the counter stands still, and no further host is certified.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Seed 000's "unique network channel identifier": never issued twice on one side of a session, for it holds the stamp of the
/// host that issued it. Whoever comes from another side gets a new one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId {
    /// Whose host issued it.
    pub stamp: Stamp,
    /// Its number among that host's.
    pub number: u32,
}

/// What every message carries and every receiver compares: a lower one is refused.
///
/// `fork` 0 is a certified host. A side that goes on without a majority counts its hosts there, below the next certified
/// epoch: whoever is certified afterwards outranks every fork.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// The newest certified epoch that the sender knows.
    pub epoch: Epoch,
    /// The hosts its side has had since without a certificate.
    pub fork: u32,
}

impl Stamp {
    /// Of a peer that obeys nobody yet: it asks to come in.
    pub const NOBODY: Self = Self { epoch: Epoch(0), fork: 0 };

    /// Of a certified host.
    #[must_use]
    pub const fn certified(epoch: Epoch) -> Self {
        Self { epoch, fork: 0 }
    }
}

/// What a member plays, as the game numbers it: CRYENGINE's `EntityId` of an actor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActorId(pub u64);

/// Something in the game's world, as the game numbers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub u64);

/// A moment of the game's own time, as the game counts it; 0 before the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tick(pub u64);

macro_rules! shown {
    ($($name:ident, $form:literal, $prefix:literal;)*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, $form), self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

shown! {
    SessionId, "{:032x}", "ses-";
    PeerId, "{:x}", "peer-";
    Epoch, "{}", "epoch-";
    Tick, "{}", "tick-";
    ActorId, "{}", "actor-";
    EntityId, "{}", "entity-";
}

impl fmt::Debug for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chn-{:?}-{}", self.stamp, self.number)
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch.0, self.fork)
    }
}
