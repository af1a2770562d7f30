//! Who is spoken of: peers by their keys, players by their names, lobby services, epochs.

use alloc::sync::Arc;
use core::fmt;

use base64::display::Base64Display;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// The public key that a peer's process made when it started: one life of one process, as `domain/migration` counts peers.
/// What kind of key it is, the adapters know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerKey(pub [u8; 32]);

/// A player, as whoever let it in vouches for it. Where nobody does, it is as good as its key, and so is a kick.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Player(pub Arc<str>);

/// Counts the hosts of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u32);

/// A lobby service (seed 000: "`<lobby_service_type>` is eCLS_LAN or eCLS_Online").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Games on one network.
    Lan,
    /// Games over the internet.
    Online,
}

impl Service {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Lan, Self::Online];

    /// As paths and files call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lan => "lan",
            Self::Online => "online",
        }
    }
}

impl Epoch {
    /// Nobody has been host yet: of a session whose seats a match has filled and nobody has come to.
    pub const NONE: Self = Self(0);

    /// The one after this; none after 2^32 hosts.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(next) => Some(Self(next)),
            None => None,
        }
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// As games write it: base64url.
impl fmt::Display for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Base64Display::new(&self.0, &BASE64_URL_SAFE_NO_PAD).fmt(f)
    }
}

impl fmt::Debug for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "peer-{:02x}{:02x}{:02x}{:02x}", self.0[0], self.0[1], self.0[2], self.0[3])
    }
}
