//! What becomes of a ticket, as server-sent events, so that nobody polls.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::Stream;
use mainstay_core::TicketId;
use mainstay_matchmaking::Caller as Asker;
use mainstay_wire::native::TicketView;

use super::super::super::failure::{Failure, Native};
use super::tickets;
use crate::queues::{News, Running, Watching};

/// How often a stream says that it lives: well within the minute after which proxies give up.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// What is still to be told.
struct Telling<F> {
    queue: String,
    /// Whether whoever watches may still.
    may_look: F,
    watching: Watching,
    /// Told before anything is waited for.
    first: Option<TicketView>,
    /// What was told last.
    told: Option<TicketView>,
}

/// A stream that ends with the ticket, for whoever may look at it, and for as long as it may.
pub(super) async fn stream<F: Fn() -> bool + Send + 'static>(
    queue: &Running,
    name: String,
    ticket: TicketId,
    asker: Asker,
    may_look: F,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>> + use<F>>, Native> {
    // Watched before it is read, so that no change falls in between.
    let watching = queue.watched().watch(ticket).ok_or_else(Failure::too_many_watched)?;
    let first = queue.read(move |queue, now| tickets::view_for(queue, ticket, &asker, now)).await?;
    let first = first.ok_or_else(|| Failure::no_ticket(ticket))?;
    let telling = Telling {
        first: Some(TicketView { queue: name.clone(), ..first }),
        queue: name,
        may_look,
        watching,
        told: None,
    };
    let events = futures_util::stream::unfold(telling, |mut telling| async move {
        let view = telling.next().await?;
        let event = Event::default().event("ticket").json_data(&view).expect("a ticket is plain data");
        telling.told = Some(view);
        Some((Ok(event), telling))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE_EVERY)))
}

impl<F: Fn() -> bool> Telling<F> {
    async fn next(&mut self) -> Option<TicketView> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            if self.told.as_ref().is_some_and(|told| told.ended.is_some()) {
                return None;
            }
            let news = self.watching.next().await?;
            if !(self.may_look)() {
                return None;
            }
            let view = match news {
                News::Ticket(ticket) => TicketView::of(&ticket, &self.queue),
                News::Backfill(game) => TicketView::of_game(&game, &self.queue),
            };
            // News from before the first reading says nothing new.
            if self.told.as_ref() != Some(&view) {
                return Some(view);
            }
        }
    }
}
