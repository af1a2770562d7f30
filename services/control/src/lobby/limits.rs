//! How often who may ask a lobby what.

use std::hash::Hash;
use std::time::Duration;

use mainstay_core::{SessionId, Timestamp};
use mainstay_lobby::PeerKey;

use crate::limiter::Limiter;

/// Sessions and seats a player, or a service account for it, asks for a minute: a person who tries another session every two
/// seconds.
const JOINS: u32 = 30;
/// Searches of one caller a minute: one a second.
const SEARCHES: u32 = 60;
/// Signs of life of one member a minute: twice a second while it misses its host.
const BEATS: u32 = 120;
/// Everything else of one member a minute: claims again and again while a lease stands.
const CALLS: u32 = 120;

/// Somebody asked more often than they may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {a_minute} {what} a minute")]
pub(crate) struct Exceeded {
    what: &'static str,
    a_minute: u32,
    /// How long to wait.
    pub(crate) wait: Duration,
}

/// Every limit, and who has used how much of it.
#[derive(Debug)]
pub(crate) struct Limits {
    joins: Limiter,
    searches: Limiter,
    beats: Limiter,
    calls: Limiter,
}

impl Limits {
    pub(super) fn new() -> Self {
        Self {
            joins: Limiter::new(JOINS),
            searches: Limiter::new(SEARCHES),
            beats: Limiter::new(BEATS),
            calls: Limiter::new(CALLS),
        }
    }

    /// A player makes a session, or comes into one.
    pub(crate) fn join(&self, player: &str, now: Timestamp) -> Result<(), Exceeded> {
        charge(&self.joins, "sessions made and joined by one player", player, now)
    }

    /// Somebody searches.
    pub(crate) fn search(&self, caller: &str, now: Timestamp) -> Result<(), Exceeded> {
        charge(&self.searches, "searches of one caller", caller, now)
    }

    /// A member lives.
    pub(crate) fn beat(&self, session: SessionId, peer: PeerKey, now: Timestamp) -> Result<(), Exceeded> {
        charge(&self.beats, "signs of life of one member", (session, peer), now)
    }

    /// A member asks anything else.
    pub(crate) fn call(&self, session: SessionId, peer: PeerKey, now: Timestamp) -> Result<(), Exceeded> {
        charge(&self.calls, "calls of one member", (session, peer), now)
    }
}

fn charge(limiter: &Limiter, what: &'static str, who: impl Hash, now: Timestamp) -> Result<(), Exceeded> {
    limiter.charge([who], now).map_err(|wait| Exceeded { what, a_minute: limiter.a_minute(), wait })
}
