//! Which session a server is for, from two sources that overlap: the file and the event socket.
//!
//! Either may tell the same thing again, and the socket may tell late what the file said already. A session begins once
//! and ends once: ids of sessions are never used again.

use std::collections::VecDeque;

use crate::sessions::Event;

/// Ended sessions that are remembered: what is told late is told within the same second, and a server has one session
/// after another.
const ENDED_MAX: usize = 64;

/// Which session a server is for.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    now: Option<String>,
    ended: VecDeque<String>,
}

impl Tracker {
    /// The socket tells of an allocation.
    pub(crate) fn allocated(&mut self, allocation: &str) -> Vec<Event> {
        self.is(Some(allocation))
    }

    /// The socket tells of a deallocation; of another session than the one that goes on, it says nothing new.
    pub(crate) fn deallocated(&mut self, allocation: &str) -> Vec<Event> {
        if self.now.as_deref() == Some(allocation) { self.is(None) } else { Vec::new() }
    }

    /// The file names this session, or none.
    pub(crate) fn is(&mut self, allocation: Option<&str>) -> Vec<Event> {
        let is_old = |id: &str| self.ended.iter().any(|ended| ended == id);
        if self.now.as_deref() == allocation || allocation.is_some_and(is_old) {
            return Vec::new();
        }
        let mut events = Vec::new();
        if let Some(ended) = self.now.take() {
            if self.ended.len() == ENDED_MAX {
                self.ended.pop_front();
            }
            self.ended.push_back(ended.clone());
            events.push(Event::Deallocated(ended));
        }
        if let Some(begun) = allocation {
            self.now = Some(begun.to_owned());
            events.push(Event::Allocated(begun.to_owned()));
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins(id: &str) -> Event {
        Event::Allocated(id.to_owned())
    }

    fn ends(id: &str) -> Event {
        Event::Deallocated(id.to_owned())
    }

    #[test]
    fn a_session_begins_once_and_ends_once_whoever_tells_it() {
        let mut tracker = Tracker::default();
        assert_eq!(tracker.is(Some("a")), [begins("a")]);
        assert_eq!(tracker.allocated("a"), []);
        assert_eq!(tracker.deallocated("b"), []);
        assert_eq!(tracker.is(None), [ends("a")]);
        assert_eq!(tracker.allocated("a"), [], "told late");
        assert_eq!(tracker.deallocated("a"), []);
        assert_eq!(tracker.allocated("b"), [begins("b")]);
        assert_eq!(tracker.allocated("c"), [ends("b"), begins("c")]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut tracker = Tracker::default();
        for n in 0..10 * ENDED_MAX {
            tracker.allocated(&n.to_string());
        }
        assert_eq!(tracker.ended.len(), ENDED_MAX);
    }
}
