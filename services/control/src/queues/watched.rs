//! Who waits for news of a ticket, so that nobody has to poll.
//!
//! News is what the ticket is after a durable turn. A watcher that is slow sees the newest of it alone.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use mainstay_core::{MatchId, StateMachine as _, Tenure, TicketId};
use mainstay_matchmaking::{BackfillTicket, Owed, Queue, Target, Ticket};
use mainstay_runtime::{Hands, TakenUp};
use tokio::sync::watch;

use super::changes::Changes;
use super::hosts::Hangs;
use super::passes::Passes;

/// What a ticket has become.
#[derive(Debug, Clone)]
pub(crate) enum News {
    /// A ticket of players.
    Ticket(Arc<Ticket>),
    /// A game's.
    Backfill(Arc<BackfillTicket>),
}

/// The tickets of a queue that somebody watches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watched(Arc<RwLock<HashMap<TicketId, watch::Sender<Option<News>>>>>);

/// Somebody who watches a ticket.
#[derive(Debug)]
pub(crate) struct Watching {
    news: watch::Receiver<Option<News>>,
    ticket: TicketId,
    watched: Watched,
}

/// Most tickets that are watched in one queue: more than there are streams, so that no queue is the first to refuse.
const WATCHED_MAX: usize = 100_000;

/// Most who watch one ticket: twice the players of the largest match, so that each may come again before its old stream is known to be
/// over. So one player does not take up what all watch with.
const WATCHERS_MAX: usize = 200;

impl Watched {
    /// How many may, for whoever is one too many.
    pub(crate) fn limits() -> String {
        format!(
            "as many watch as can: {WATCHED_MAX} tickets of a queue are watched, and one of them {WATCHERS_MAX} times"
        )
    }

    /// Watches a ticket from now on; `None` where too many are watched, or too many watch it.
    pub(crate) fn watch(&self, ticket: TicketId) -> Option<Watching> {
        let mut watched = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if watched.len() >= WATCHED_MAX && !watched.contains_key(&ticket) {
            return None;
        }
        let news = watched.entry(ticket).or_insert_with(|| watch::Sender::new(None));
        if news.receiver_count() >= WATCHERS_MAX {
            return None;
        }
        Some(Watching { news: news.subscribe(), ticket, watched: self.clone() })
    }

    fn is_watched(&self, ticket: &TicketId) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains_key(ticket)
    }
}

impl Watching {
    /// The next news, once there is some.
    pub(crate) async fn next(&mut self) -> Option<News> {
        // The sender stays as long as anybody watches.
        self.news.changed().await.ok()?;
        self.news.borrow_and_update().clone()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut watched = self.watched.0.write().unwrap_or_else(PoisonError::into_inner);
        // This one still counts.
        if watched.get(&self.ticket).is_some_and(|news| news.receiver_count() <= 1) {
            watched.remove(&self.ticket);
        }
    }
}

/// Hands news of watched tickets to those who watch, and what is owed to fleets to whoever asks them.
#[derive(Debug)]
pub(super) struct QueueHands {
    watched: Watched,
    passes: Passes,
    owed: super::placement::News,
    hanging: Changes<Tenure, Hangs>,
}

/// What a queue tells, on its way.
#[derive(Debug)]
pub(super) enum Delivery {
    News(TicketId, News),
    Owed(MatchId, Option<Owed>),
    Hangs(Tenure, Hangs),
}

impl QueueHands {
    pub(super) const fn new(
        watched: Watched,
        passes: Passes,
        owed: super::placement::News,
        hanging: Changes<Tenure, Hangs>,
    ) -> Self {
        Self { watched, passes, owed, hanging }
    }
}

impl Hands<Queue> for QueueHands {
    type Delivery = Delivery;

    fn take_up(&mut self, target: &Target, queue: &Queue) -> Option<TakenUp<Queue, Delivery>> {
        let ticket = match target {
            Target::Ticket(ticket) => ticket,
            Target::Allocation(id) => {
                let delivery = Delivery::Owed(*id, queue.owed(target));
                return Some(TakenUp { delivery, noted: None });
            }
            Target::Tenure(tenure) => {
                let hangs = if queue.hangs_on(tenure) { Hangs::Some } else { Hangs::None };
                return Some(TakenUp { delivery: Delivery::Hangs(*tenure, hangs), noted: None });
            }
        };
        if !self.watched.is_watched(ticket) {
            return None;
        }
        let of_players = queue.changed_ticket(ticket).cloned().map(News::Ticket);
        let news = of_players.or_else(|| queue.changed_backfill(ticket).cloned().map(News::Backfill))?;
        Some(TakenUp { delivery: Delivery::News(*ticket, news), noted: None })
    }

    fn due_took(&mut self, took: Duration) {
        self.passes.took(took);
    }

    fn deliver(&mut self, deliveries: Vec<Delivery>) {
        let watched = self.watched.0.read().unwrap_or_else(PoisonError::into_inner);
        for delivery in deliveries {
            match delivery {
                Delivery::News(ticket, news) => {
                    if let Some(watchers) = watched.get(&ticket) {
                        watchers.send_replace(Some(news));
                    }
                }
                Delivery::Owed(id, owed) => self.owed.put(id, owed),
                Delivery::Hangs(tenure, hangs) => self.hanging.put(tenure, hangs),
            }
        }
    }
}
