//! Who waits for news of a session, so that nobody has to poll.
//!
//! News is that something has changed; what, whoever watches reads. One that is slow sees the newest alone.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use mainstay_core::SessionId;
use mainstay_lobby::{Lobby, PeerKey, Target};
use mainstay_runtime::{Hands, TakenUp};
use tokio::sync::watch;

/// The most sessions that are watched: each is a few hundred bytes and at least one connection.
const WATCHED_MAX: usize = 50_000;
/// How often one caller watches one session: a studio's service, for a few of its own who ask it; whoever shows nothing is one caller.
const OF_CALLER_MAX: usize = 16;
/// How often all do who are no members: twice as many as a session has members, who wait to come in or look on.
const OF_OTHERS_MAX: usize = 128;
/// How often a member does: its stream, and one that broke a moment ago. Nobody else takes these places.
const OF_MEMBER_MAX: usize = 2;

/// Who watches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Watcher {
    /// A member of the session.
    Member(PeerKey),
    /// Somebody else, by what its calls are counted by.
    Other(String),
}

/// The sessions that somebody watches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watched(Arc<RwLock<HashMap<SessionId, Audience>>>);

/// Who watches one session.
#[derive(Debug)]
struct Audience {
    news: watch::Sender<()>,
    /// How often; nobody that does not.
    watchers: HashMap<Watcher, usize>,
}

impl Audience {
    /// Whether there is a place.
    fn has_room(&self, watcher: &Watcher) -> bool {
        let own = self.watchers.get(watcher).copied().unwrap_or_default();
        match watcher {
            Watcher::Member(_) => own < OF_MEMBER_MAX,
            Watcher::Other(_) => {
                let is_other = |watcher: &Watcher| matches!(watcher, Watcher::Other(_));
                let others = self.watchers.iter().filter(|(watcher, _)| is_other(watcher));
                own < OF_CALLER_MAX && others.map(|(_, times)| times).sum::<usize>() < OF_OTHERS_MAX
            }
        }
    }

    fn goes(&mut self, watcher: &Watcher) {
        if let Some(times) = self.watchers.get_mut(watcher) {
            *times -= 1;
        }
        self.watchers.retain(|_, times| *times > 0);
    }
}

/// Somebody who watches a session.
#[derive(Debug)]
pub(crate) struct Watching {
    news: watch::Receiver<()>,
    session: SessionId,
    watcher: Watcher,
    watched: Watched,
}

impl Watched {
    /// How many may, for whoever is one too many.
    pub(crate) fn limits() -> String {
        format!(
            "as many watch as can: {WATCHED_MAX} sessions are watched, and one of them by {OF_OTHERS_MAX} who are no members, \
             {OF_CALLER_MAX} times by one caller, {OF_MEMBER_MAX} times by a member"
        )
    }

    /// Watches a session from now on; `None` where too many watch.
    pub(crate) fn watch(&self, session: SessionId, watcher: Watcher) -> Option<Watching> {
        let mut watched = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if watched.len() >= WATCHED_MAX && !watched.contains_key(&session) {
            return None;
        }
        let none = || Audience { news: watch::Sender::new(()), watchers: HashMap::new() };
        let audience = watched.entry(session).or_insert_with(none);
        if !audience.has_room(&watcher) {
            return None;
        }
        *audience.watchers.entry(watcher.clone()).or_default() += 1;
        Some(Watching { news: audience.news.subscribe(), session, watcher, watched: self.clone() })
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
        let Some(audience) = watched.get_mut(&self.session) else { return };
        audience.goes(&self.watcher);
        if audience.watchers.is_empty() {
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
            if let Some(audience) = watched.get(&session) {
                audience.news.send_replace(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(number: u8) -> Watcher {
        Watcher::Member(PeerKey([number; 32]))
    }

    fn other(number: usize) -> Watcher {
        Watcher::Other(number.to_string())
    }

    /// One caller took all places once, and the host of the session had none.
    #[test]
    fn nobody_takes_the_places_of_others_and_none_those_of_members() {
        let (watched, session) = (Watched::default(), SessionId::LOWEST);
        let one: Vec<Watching> =
            std::iter::from_fn(|| watched.watch(session, other(0))).take(1_000).collect();
        assert_eq!(one.len(), OF_CALLER_MAX);
        let mut others: Vec<Watching> =
            (1..1_000).filter_map(|at| watched.watch(session, other(at))).collect();
        assert_eq!(one.len() + others.len(), OF_OTHERS_MAX);
        let members: Vec<Watching> = (0..64)
            .flat_map(|at| [member(at), member(at), member(at)])
            .filter_map(|member| watched.watch(session, member))
            .collect();
        assert_eq!(members.len(), 64 * OF_MEMBER_MAX);
        drop(others.pop());
        assert!(watched.watch(session, other(0)).is_none(), "that place is for another caller");
        assert!(watched.watch(session, other(1_000)).is_some());
        drop((one, others, members));
        assert!(watched.0.read().unwrap().is_empty(), "nothing is kept of whom nobody watches");
    }
}
