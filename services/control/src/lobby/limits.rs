//! How often who may ask a lobby what.

use mainstay_core::{SessionId, Timestamp};
use mainstay_lobby::PeerKey;

use crate::limiter::{Exceeded, Limit};

/// Sessions and seats a player, or a service account for it, asks for a minute: a person who tries another session every two
/// seconds.
const JOINS: u32 = 30;
/// Searches of one caller a minute: one a second.
const SEARCHES: u32 = 60;
/// Signs of life of one member a minute: a host that hears one other beats twice a second, and may be told half as often again.
const BEATS: u32 = 180;
/// Everything else of one member a minute: claims again and again while a lease stands.
const CALLS: u32 = 120;

/// Every limit, and who has used how much of it.
#[derive(Debug)]
pub(crate) struct Limits {
    joins: Limit,
    searches: Limit,
    beats: Limit,
    calls: Limit,
}

impl Limits {
    pub(super) fn new() -> Self {
        Self {
            joins: Limit::new("sessions made and joined by one player", JOINS),
            searches: Limit::new("searches of one caller", SEARCHES),
            beats: Limit::new("signs of life of one member", BEATS),
            calls: Limit::new("calls of one member", CALLS),
        }
    }

    /// A player makes a session, or comes into one.
    pub(crate) fn join(&self, player: &str, now: Timestamp) -> Result<(), Exceeded> {
        self.joins.charge([player], now)
    }

    /// Somebody searches.
    pub(crate) fn search(&self, caller: &str, now: Timestamp) -> Result<(), Exceeded> {
        self.searches.charge([caller], now)
    }

    /// A member lives.
    pub(crate) fn beat(&self, session: SessionId, peer: PeerKey, now: Timestamp) -> Result<(), Exceeded> {
        self.beats.charge([(session, peer)], now)
    }

    /// A member asks anything else.
    pub(crate) fn call(&self, session: SessionId, peer: PeerKey, now: Timestamp) -> Result<(), Exceeded> {
        self.calls.charge([(session, peer)], now)
    }
}
