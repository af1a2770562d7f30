//! The shortest story that rebuilds a queue: what snapshots hold.

use core::iter::once;

use mainstay_core::{TicketId, Timestamp};

use crate::engine::LookedAt;
use crate::event::Event;
use crate::queue::Queue;

impl Queue {
    pub(crate) fn told(&self) -> impl Iterator<Item = (Timestamp, Event)> {
        let configured =
            self.spec.iter().map(|spec| Event::Configured { spec: spec.clone(), form: self.form });
        let paused = self.paused.map(|since| (since, Event::Paused));
        // What ended comes in the order in which it will be forgotten, what is open in that of giving up.
        let ended = self.ended.iter().map(|(_, id)| id);
        let tickets = ended.chain(self.give_ups.iter().map(|(_, id)| id)).flat_map(|id| self.ticket_told(id));
        let formed = self.formed.iter().filter_map(|(_, id)| self.matches.get(id));
        let formed = formed.map(|formed| Event::MatchStood(formed.clone()));
        let holds = self.holds.values().map(|hold| Event::HoldStood(hold.clone()));
        let undos = self.undos.iter().map(|(id, of)| Event::UndoStood { id: *id, of: of.clone() });
        // What fell behind is told of its own, after that.
        let looked_at = LookedAt { merged: None, ..self.looked_at };
        let stood = Event::Stood { form: self.form, arrivals: self.arrivals, looked_at };
        let rest = tickets.chain(formed).chain(holds).chain(undos).chain(once(stood));
        let at_once = |event| (Timestamp::EPOCH, event);
        let round = self.looked_at.round().into_iter().flat_map(|merged| {
            [Event::Merged(merged.first), Event::Searched(self.looked_at.until)]
                .map(|event| (merged.at, event))
        });
        configured.map(at_once).chain(paused).chain(rest.map(at_once)).chain(round)
    }

    /// A ticket of either kind: no id is of both.
    fn ticket_told(&self, id: &TicketId) -> impl Iterator<Item = Event> {
        let ticket = self.tickets.get(id).map(|ticket| Event::TicketStood(ticket.clone()));
        let backfill = self.backfills.get(id).map(|ticket| Event::BackfillStood(ticket.clone()));
        ticket.into_iter().chain(backfill)
    }
}
