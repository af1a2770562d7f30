//! The shortest story that rebuilds a queue: what snapshots hold.

use alloc::vec::Vec;

use mainstay_core::Timestamp;

use crate::event::Event;
use crate::queue::Queue;

impl Queue {
    pub(crate) fn story(&self) -> Vec<(Timestamp, Event)> {
        let mut story = Vec::new();
        if let Some(spec) = &self.spec {
            story.push((Timestamp::EPOCH, Event::Configured { spec: spec.clone(), form: self.form }));
        }
        story.extend(self.paused.map(|since| (since, Event::Paused)));
        // What ended comes in the order in which it will be forgotten, what is open in that of giving up.
        let ended = self.ended.iter().map(|(_, id)| id);
        for id in ended.chain(self.give_ups.iter().map(|(_, id)| id)) {
            if let Some(ticket) = self.tickets.get(id) {
                story.push((Timestamp::EPOCH, Event::TicketStood(ticket.clone())));
            }
            if let Some(ticket) = self.backfills.get(id) {
                story.push((Timestamp::EPOCH, Event::BackfillStood(ticket.clone())));
            }
        }
        for formed in self.formed.iter().filter_map(|(_, id)| self.matches.get(id)) {
            story.push((Timestamp::EPOCH, Event::MatchStood(formed.clone())));
        }
        story.extend(self.holds.values().map(|hold| (Timestamp::EPOCH, Event::HoldStood(hold.clone()))));
        story.extend(
            self.undos
                .iter()
                .map(|(id, of)| (Timestamp::EPOCH, Event::UndoStood { id: *id, of: of.clone() })),
        );
        let stood = Event::Stood { form: self.form, arrivals: self.arrivals, looked_at: self.looked_at };
        story.push((Timestamp::EPOCH, stood));
        story
    }
}
