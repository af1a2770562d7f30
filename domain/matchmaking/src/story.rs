//! The shortest story that rebuilds a queue: what snapshots hold.
//!
//! It lives on its own: what a queue knows of tickets and matches never changes, it is replaced, so a story holds it as it was while the
//! queue goes on. To begin one takes a moment for each hundred thousand tickets; whoever reads it does the rest.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::iter::once;

use mainstay_core::{TicketId, Timestamp};

use crate::backfill::BackfillTicket;
use crate::engine::LookedAt;
use crate::event::Event;
use crate::queue::Queue;
use crate::ticket::{Match, Ticket};

/// A ticket of either kind.
enum Standing {
    Ticket(Arc<Ticket>),
    Backfill(Arc<BackfillTicket>),
}

impl Standing {
    /// What ended comes first, in the order in which it will be forgotten, and what is open in that of giving up.
    fn place(&self) -> (bool, Timestamp, TicketId) {
        let (id, ended, gives_up) = match self {
            Self::Ticket(ticket) => (ticket.id, ticket.stage.ended(), ticket.gives_up()),
            Self::Backfill(ticket) => (ticket.id, ticket.stage.ended(), ticket.gives_up()),
        };
        (ended.is_none(), ended.unwrap_or(gives_up), id)
    }

    fn told(self) -> Event {
        match self {
            Self::Ticket(ticket) => Event::TicketStood(ticket),
            Self::Backfill(ticket) => Event::BackfillStood(ticket),
        }
    }
}

fn in_order(mut tickets: Vec<Standing>) -> impl Iterator<Item = Event> {
    tickets.sort_unstable_by_key(Standing::place);
    tickets.into_iter().map(Standing::told)
}

fn as_formed(mut formed: Vec<Arc<Match>>) -> impl Iterator<Item = Event> {
    formed.sort_unstable_by_key(|formed| (formed.formed, formed.id));
    formed.into_iter().map(Event::MatchStood)
}

impl Queue {
    /// What happened, told as shortly as it can be, of the queue as it is now.
    pub fn told(&self) -> impl Iterator<Item = (Timestamp, Event)> + Send + use<> {
        let configured = self.spec.clone().map(|spec| Event::Configured { spec, form: self.form });
        let paused = self.paused.map(|since| (since, Event::Paused));
        let tickets = self.tickets.values().cloned().map(Standing::Ticket);
        let games = self.backfills.values().cloned().map(Standing::Backfill);
        let tickets: Vec<Standing> = tickets.chain(games).collect();
        let formed: Vec<Arc<Match>> = self.matches.values().cloned().collect();
        let holds: Vec<Event> = self.holds.values().cloned().map(Event::HoldStood).collect();
        let undos = self.undos.iter().map(|(id, of)| Event::UndoStood { id: *id, of: of.clone() });
        let undos: Vec<Event> = undos.collect();
        // What fell behind is told of its own, after that.
        let looked_at = LookedAt { merged: None, ..self.looked_at };
        let stood = Event::Stood { form: self.form, arrivals: self.arrivals, looked_at };
        // They are put in order by whoever reads the story.
        let tickets = once(tickets).flat_map(in_order);
        let formed = once(formed).flat_map(as_formed);
        let rest = tickets.chain(formed).chain(holds).chain(undos).chain(once(stood));
        let at_once = |event| (Timestamp::EPOCH, event);
        let until = self.looked_at.until;
        let round = self.looked_at.round().into_iter().flat_map(move |merged| {
            [Event::Merged(merged.first), Event::Searched(until)].map(|event| (merged.at, event))
        });
        configured.into_iter().map(at_once).chain(paused).chain(rest.map(at_once)).chain(round)
    }
}
