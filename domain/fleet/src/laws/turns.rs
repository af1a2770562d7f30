//! What is judged of a whole turn: by how the fleet stood before it, and by when it is.

use alloc::format;

use mainstay_core::Timestamp;

use super::{Broken, Law, after, ensure};
use crate::event::Event;
use crate::fleet::Fleet;

/// How a fleet stood before a turn; by default, before its first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Before {
    unclaimed: u32,
}

impl Before {
    /// The next turn of this fleet.
    #[must_use]
    pub fn of(fleet: &Fleet) -> Self {
        Self { unclaimed: fleet.counts().unclaimed() }
    }

    /// Judges the turn that led from there to `fleet` by these events.
    ///
    /// # Errors
    /// The first law found broken.
    pub fn judge(self, fleet: &Fleet, events: &[Event]) -> Result<(), Broken> {
        for event in events {
            after(fleet, event)?;
        }
        let holds_alone =
            events.iter().all(|event| matches!(event, Event::ServerHeld { .. } | Event::HoldEnded { .. }));
        let unclaimed = fleet.counts().unclaimed();
        ensure(!holds_alone || unclaimed == self.unclaimed, Law::HoldsCountNothing, || {
            format!("{} servers were in the pool before {events:?}, {unclaimed} after", self.unclaimed)
        })
    }
}

/// No hold is left whose time has come, by the servers themselves and not by the index of holds. Call it after a turn of the
/// deadlines; where turns come late, with a time as far back.
///
/// # Errors
/// The law, where it is broken.
pub fn overdue(fleet: &Fleet, now: Timestamp) -> Result<(), Broken> {
    let late = fleet.servers.iter().find(|(_, server)| server.held_until().is_some_and(|until| until <= now));
    ensure(late.is_none(), Law::HoldsEnd, || {
        format!("{:?} at {now:?}", late.map(|(id, server)| (*id, server.claim)))
    })
}
