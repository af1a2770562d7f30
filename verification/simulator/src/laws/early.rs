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
    holds: BTreeMap<(ServerId, Timestamp), (Since, Duration)>,
    allocations: BTreeMap<AllocationId, Since>,
    /// What starts of the plane's process have made up so far of a clock that lagged behind the world.
    made_up: Duration,
}

/// A moment.
#[derive(Debug, Clone, Copy)]
struct Since {
    at: Micros,
    made_up: Duration,
}

impl Begun {
    /// Notes what begins by events that were decided now, which the plane takes for `at`.
    pub(crate) fn note(&mut self, events: &[Event], at: Timestamp, now: Micros) {
        for event in events {
            if let Event::ServerHeld { server, until } = event {
                self.holds.insert((*server, *until), (self.since(now), until.since(at)));
            } else if let Event::AllocationRequested { id, .. } = event {
                self.allocations.insert(*id, self.since(now));
            }
        }
    }

    /// The holds that are about to time out have had their time.
    pub(crate) fn holds_are_over(&self, fleet: &Fleet, at: Timestamp, now: Micros) -> Result<(), Broken> {
        for (id, server) in fleet.servers(None) {
            let due = server.held_until().filter(|until| *until <= at);
            let begun = due.and_then(|until| self.holds.get(&(id, until)));
            if let Some((begun, span)) = begun {
                self.has_passed(*span, *begun, now, &id)?;
            }
        }
        Ok(())
    }

    /// An allocation that ended for its age is that old.
    pub(crate) fn has_aged(&self, id: AllocationId, end: &End, now: Micros) -> Result<(), Broken> {
        let (End::Aged { ttl }, Some(begun)) = (end, self.allocations.get(&id)) else { return Ok(()) };
        self.has_passed(*ttl, *begun, now, &id)
    }

    /// A start made up for so much of what the clock had lagged behind the world.
    pub(crate) fn made_up(&mut self, lag: Duration) {
        self.made_up += lag;
    }

    const fn since(&self, now: Micros) -> Since {
        Since { at: now, made_up: self.made_up }
    }

    fn has_passed(
        &self,
        span: Duration,
        begun: Since,
        now: Micros,
        of: &dyn std::fmt::Debug,
    ) -> Result<(), Broken> {
        let (passed, made_up) = (now - begun.at, self.made_up - begun.made_up);
        // Rules count whole milliseconds, at both ends and at each start, by a clock that is steered by a tenth at most.
        let most = Duration::from_micros(passed) * 11 / 10 + Duration::from_millis(20) + made_up;
        ensure(most >= span, "no hold and no TTL runs out early", || {
            format!("{of:?} ran out after {passed} us of {span:?}")
        })
    }
}
