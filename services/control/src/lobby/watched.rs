//! Who waits for news of a session, so that nobody has to poll.
//!
//! News is that something has changed; what, whoever watches reads. One that is slow sees the newest alone.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use mainstay_core::SessionId;
use mainstay_lobby::{Lobby, Target};
use mainstay_runtime::{Hands, TakenUp};
use tokio::sync::watch;

/// The most sessions that are watched: each is a few hundred bytes and at least one connection.
const WATCHED_MAX: usize = 50_000;
/// The most who watch one session: its members, and twice as many who wait to come in or look on.
const WATCHERS_MAX: usize = 192;

/// The sessions that somebody watches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watched(Arc<RwLock<HashMap<SessionId, watch::Sender<()>>>>);

/// Somebody who watches a session.
#[derive(Debug)]
pub(crate) struct Watching {
    news: watch::Receiver<()>,
    session: SessionId,
    watched: Watched,
}

impl Watched {
    /// Watches a session from now on; `None` where too many watch.
    pub(crate) fn watch(&self, session: SessionId) -> Option<Watching> {
        let mut watched = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if watched.len() >= WATCHED_MAX && !watched.contains_key(&session) {
            return None;
        }
        let news = watched.entry(session).or_insert_with(|| watch::Sender::new(()));
        if news.receiver_count() >= WATCHERS_MAX {
            return None;
        }
        Some(Watching { news: news.subscribe(), session, watched: self.clone() })
    }
}

impl Watching {
    /// Waits until something has changed since the last time.
    pub(crate) async fn next(&mut self) -> Option<()> {
        // The sender stays as long as anybody watches.
        self.news.changed().await.ok()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut watched = self.watched.0.write().unwrap_or_else(PoisonError::into_inner);
        // This one still counts.
        if watched.get(&self.session).is_some_and(|news| news.receiver_count() <= 1) {
            watched.remove(&self.session);
        }
    }
}

/// Tells those who watch.
#[derive(Debug)]
pub(super) struct LobbyHands(Watched);

impl LobbyHands {
    pub(super) const fn new(watched: Watched) -> Self {
        Self(watched)
    }
}

impl Hands<Lobby> for LobbyHands {
    type Delivery = SessionId;

    fn take_up(&mut self, target: &Target, _lobby: &Lobby) -> Option<TakenUp<Lobby, SessionId>> {
        let Target::Session(session) = target;
        let is_watched = self.0.0.read().unwrap_or_else(PoisonError::into_inner).contains_key(session);
        is_watched.then_some(TakenUp { delivery: *session, noted: None })
    }

    fn deliver(&mut self, sessions: Vec<SessionId>) {
        let watched = self.0.0.read().unwrap_or_else(PoisonError::into_inner);
        for session in sessions {
            if let Some(news) = watched.get(&session) {
                news.send_replace(());
            }
        }
    }
}
