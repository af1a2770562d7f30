//! Whether the other end of a link is heard, by what comes back over it.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::link::{Link, Obstacle, Rank, Way};

/// How long what was sent over a link is not answered, beside two round trips, until the link counts as silent: the other end
/// acknowledges within a round trip. A host is missed after 800 ms, and by then both ends have to be heard another way.
const SILENT_AFTER: Duration = Duration::from_millis(150);
/// How many have to be unanswered by then: who beats sends as many in 300 ms, and where little is said one may get lost.
const UNANSWERED_MIN: u32 = 3;

/// A link that stands, and whether its other end is heard.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) link: Arc<dyn Link>,
    /// How many datagrams had come when it was looked at last.
    received: u64,
    /// When more of them were seen last.
    heard: Option<Instant>,
    /// How much was sent since.
    sent: Cell<u32>,
    /// Since when nothing has come in answer to what was sent.
    unanswered: Option<Instant>,
    pub(crate) is_silent: bool,
    /// Whether this peer has to do with who is at its end.
    is_admitted: bool,
}

impl Standing {
    pub(crate) fn new(link: Arc<dyn Link>) -> Self {
        Self {
            link,
            received: 0,
            heard: None,
            sent: Cell::new(0),
            unanswered: None,
            is_silent: false,
            is_admitted: false,
        }
    }

    /// Once is enough.
    pub(crate) fn admit(&mut self) {
        if !std::mem::replace(&mut self.is_admitted, true) {
            self.link.admit();
        }
    }

    pub(crate) const fn is_admitted(&self) -> bool {
        self.is_admitted
    }

    pub(crate) fn send(&self, bytes: Bytes, way: Way, rank: Rank) -> Result<(), Obstacle> {
        self.sent.set(self.sent.get().saturating_add(1));
        self.link.send(bytes, way, rank)
    }

    fn look(&mut self, now: Instant, asleep: Duration) {
        // Of most links of a large session nothing is asked: what has come over them meanwhile shows when something is.
        if self.sent.get() == 0 {
            return;
        }
        let received = self.link.received();
        if received != self.received {
            (self.received, self.heard, self.unanswered) = (received, Some(now), None);
            self.sent.set(0);
        } else {
            self.unanswered = Some(self.unanswered.map_or(now, |since| since + asleep));
        }
        let patience = SILENT_AFTER + 2 * self.link.round_trip();
        let is_overdue = self.unanswered.is_some_and(|since| now >= since + patience);
        self.is_silent = is_overdue && self.sent.get() >= UNANSWERED_MIN;
    }
}

/// Looks which links to a peer are silent. Those to one address share its way: where nothing comes back over one, the others are not tried
/// one after the other.
pub(crate) fn look(links: &mut [Standing], now: Instant, asleep: Duration) {
    links.iter_mut().for_each(|it| it.look(now, asleep));
    let silent = links.iter().filter(|it| it.is_silent);
    let silent: Vec<_> = silent.filter_map(|it| Some((it.link.address()?, it.unanswered?))).collect();
    for it in links {
        it.is_silent |= silent.iter().any(|(address, since)| {
            it.link.address() == Some(*address) && it.heard.is_none_or(|heard| heard < *since)
        });
    }
}

/// The one that goes where there are too many: a silent one, or else the oldest of the kind of which there are more.
pub(crate) fn surplus(links: &[Standing]) -> usize {
    let relayed = links.iter().filter(|it| it.link.is_relayed()).count();
    let goes = links.iter().position(|it| it.is_silent);
    goes.unwrap_or(if 2 * relayed >= links.len() { 0 } else { relayed })
}
