//! Nothing that runs for a time runs out early, by the world's own time, whatever the wall clock of the plane's host shows while
//! its process runs and when it starts.

use std::collections::BTreeMap;
use std::time::Duration;

use mainstay_core::{AllocationId, ServerId, Timestamp};
use mainstay_fleet::{End, Event, Fleet};

use super::{Broken, ensure};
use crate::agenda::Micros;

/// When what runs for a time began.
#[derive(Debug, Default)]
pub(crate) struct Begun {
    /// Holds, by their server and what they run until, with their length.
    holds: BTreeMap<(ServerId, Timestamp), (Micros, Duration)>,
    allocations: BTreeMap<AllocationId, Micros>,
}

impl Begun {
    /// Notes what begins by events that were decided now, which the plane takes for `at`.
    pub(crate) fn note(&mut self, events: &[Event], at: Timestamp, now: Micros) {
        for event in events {
            if let Event::ServerHeld { server, until } = event {
                self.holds.insert((*server, *until), (now, until.since(at)));
            } else if let Event::AllocationRequested { id, .. } = event {
                self.allocations.insert(*id, now);
            }
        }
    }

    /// The holds that are about to time out have had their time.
    pub(crate) fn holds_are_over(&self, fleet: &Fleet, at: Timestamp, now: Micros) -> Result<(), Broken> {
        for (id, server) in fleet.servers(None) {
            let due = server.held_until().filter(|until| *until <= at);
            let begun = due.and_then(|until| self.holds.get(&(id, until)));
            if let Some((begun, span)) = begun {
                has_passed(*span, now - begun, &id)?;
            }
        }
        Ok(())
    }

    /// An allocation that ended for its age is that old.
    pub(crate) fn has_aged(&self, id: AllocationId, end: &End, now: Micros) -> Result<(), Broken> {
        let (End::Aged { ttl }, Some(begun)) = (end, self.allocations.get(&id)) else { return Ok(()) };
        has_passed(*ttl, now - begun, &id)
    }
}

fn has_passed(span: Duration, passed: Micros, of: &dyn std::fmt::Debug) -> Result<(), Broken> {
    // Rules count whole milliseconds, at both ends and at each start, by a clock that is steered by a tenth at most.
    let most = Duration::from_micros(passed) * 11 / 10 + Duration::from_millis(20);
    ensure(most >= span, "no hold and no TTL runs out early", || {
        format!("{of:?} ran out after {passed} us of {span:?}")
    })
}
