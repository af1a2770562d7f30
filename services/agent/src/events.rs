//! Allocation events, from what stands in `server.json` to the games that listen.
//!
//! What is told is a level too: the session that a server's file names. A game that begins to listen is told the session
//! it has ("replay on subscribe": the Go SDK learns of its session from events alone), and what ended while it was not
//! listening. Nothing is told before the file says it, because clients read the file when an event comes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainstay_core::{AllocationId, ServerId};
use mainstay_supervisor::RunNumber;
use mainstay_wire::daemon::event::{Event, EventKind};
use tokio::sync::{Notify, mpsc};

/// Events that wait for one listener. A session's two events are milliseconds apart at worst, and one that reads nothing
/// meanwhile is cut off and told everything when it comes back.
const EVENTS_WAITING_MAX: usize = 64;

/// Who listens to what, and what they have heard.
#[derive(Debug, Default)]
pub(crate) struct Events {
    channels: Mutex<BTreeMap<ServerId, Channel>>,
}

#[derive(Debug, Default)]
struct Channel {
    told: Option<Told>,
    listeners: Vec<Listener>,
}

/// What the newest run's file says, and what its listeners were told.
#[derive(Debug, Clone, Copy)]
struct Told {
    run: RunNumber,
    allocation: Option<AllocationId>,
    /// The session whose beginning was told and whose end was not.
    heard: Option<AllocationId>,
}

#[derive(Debug, Clone)]
struct Listener {
    id: u64,
    events: mpsc::Sender<Event>,
    slow: Arc<Notify>,
}

/// One socket's ear for any number of channels.
#[derive(Debug)]
pub(crate) struct Ear {
    listener: Listener,
    heard: mpsc::Receiver<Event>,
}

/// What comes to an ear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// An event.
    Event(Event),
    /// It did not read in time; some events are lost, and a new ear is told all.
    Slow,
}

impl Ear {
    /// An ear with a number that no other has.
    pub(crate) fn new(id: u64) -> Self {
        let (events, heard) = mpsc::channel(EVENTS_WAITING_MAX);
        Self { listener: Listener { id, events, slow: Arc::default() }, heard }
    }

    /// The next event.
    pub(crate) async fn next(&mut self) -> Heard {
        tokio::select! {
            biased;
            () = self.listener.slow.notified() => Heard::Slow,
            event = self.heard.recv() => event.map_or(Heard::Slow, Heard::Event),
        }
    }
}

impl Events {
    /// Listens to a server's events from now on, and hears at once what it has missed.
    pub(crate) fn listen(&self, server: ServerId, ear: &Ear) {
        let mut channels = self.lock();
        let channel = channels.entry(server).or_default();
        if let Some(told) = &mut channel.told {
            for event in told.missed(server) {
                ear.listener.tell(event);
            }
        }
        channel.listeners.push(ear.listener.clone());
    }

    /// Listens no longer.
    pub(crate) fn leave(&self, server: ServerId, ear: &Ear) {
        let mut channels = self.lock();
        let Some(channel) = channels.get_mut(&server) else { return };
        channel.listeners.retain(|listener| listener.id != ear.listener.id);
        if channel.listeners.is_empty() && channel.told.is_none() {
            channels.remove(&server);
        }
    }

    /// The file of a run says this now. `before` is what the file of a run that an agent finds running had said: its
    /// process may have been told that by an earlier agent.
    pub(crate) fn wrote(
        &self,
        server: ServerId,
        run: RunNumber,
        allocation: Option<AllocationId>,
        before: Option<AllocationId>,
    ) {
        let mut channels = self.lock();
        let Channel { told, listeners } = channels.entry(server).or_default();
        let heard = match told {
            Some(told) if told.run == run => told.heard,
            // A new process has heard nothing.
            Some(_) | None => before,
        };
        let told = told.insert(Told { run, allocation, heard });
        if listeners.is_empty() {
            return;
        }
        for event in told.news(server) {
            for listener in &*listeners {
                listener.tell(event);
            }
        }
    }

    /// The slot is no longer this agent's.
    pub(crate) fn forget(&self, server: ServerId) {
        self.lock().remove(&server);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ServerId, Channel>> {
        // Nothing under this lock can panic half-way.
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Told {
    /// What those who listen all the time have not heard yet; they have after this.
    fn news(&mut self, server: ServerId) -> Vec<Event> {
        let ended = self.heard.filter(|_| self.heard != self.allocation);
        let begun = self.allocation.filter(|_| self.heard != self.allocation);
        self.heard = self.allocation;
        self.events(server, ended, begun)
    }

    /// What one who begins to listen has missed: the session that goes on, always.
    fn missed(&mut self, server: ServerId) -> Vec<Event> {
        let ended = self.heard.filter(|_| self.heard != self.allocation);
        self.heard = self.allocation;
        self.events(server, ended, self.allocation)
    }

    fn events(
        &self,
        server: ServerId,
        ended: Option<AllocationId>,
        begun: Option<AllocationId>,
    ) -> Vec<Event> {
        let event = |kind| {
            let run = self.run.number();
            move |allocation| Event { kind, run, server, allocation }
        };
        let ended = ended.map(event(EventKind::Deallocated));
        ended.into_iter().chain(begun.map(event(EventKind::Allocated))).collect()
    }
}

impl Listener {
    fn tell(&self, event: Event) {
        if self.events.try_send(event).is_err() {
            self.slow.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::FleetNumber;
    use uuid::Uuid;

    use super::*;

    const A: Option<AllocationId> = Some(AllocationId(Uuid::from_u128(0xa)));
    const B: Option<AllocationId> = Some(AllocationId(Uuid::from_u128(0xb)));
    const FIRST: RunNumber = RunNumber::from_number(1);
    const SECOND: RunNumber = RunNumber::from_number(2);

    fn server() -> ServerId {
        ServerId::of(FleetNumber::new(1).unwrap(), 1)
    }

    fn heard(ear: &mut Ear) -> Vec<(EventKind, Option<AllocationId>)> {
        std::iter::from_fn(|| ear.heard.try_recv().ok()).map(|it| (it.kind, Some(it.allocation))).collect()
    }

    use EventKind::{Allocated, Deallocated};

    #[test]
    fn who_listens_hears_each_session_begin_and_end_once() {
        let events = Events::default();
        let mut ear = Ear::new(1);
        events.listen(server(), &ear);
        for allocation in [None, A, A, None, None, B] {
            events.wrote(server(), FIRST, allocation, None);
        }
        assert_eq!(heard(&mut ear), [(Allocated, A), (Deallocated, A), (Allocated, B)]);
        events.wrote(server(), FIRST, A, None);
        assert_eq!(heard(&mut ear), [(Deallocated, B), (Allocated, A)], "one write, two things to tell");
        events.leave(server(), &ear);
        events.wrote(server(), FIRST, None, None);
        assert_eq!(heard(&mut ear), []);
    }

    /// Reference 2.3: "Replay on subscribe: if the server is already allocated when it subscribes, the real proxy publishes
    /// the allocate event at that moment".
    #[test]
    fn the_session_that_goes_on_is_told_to_whoever_begins_to_listen() {
        let events = Events::default();
        events.wrote(server(), FIRST, A, None);
        for id in 1..=3 {
            let mut ear = Ear::new(id);
            events.listen(server(), &ear);
            assert_eq!(heard(&mut ear), [(Allocated, A)]);
        }
    }

    #[test]
    fn what_ended_while_nobody_listened_is_told_to_the_process_that_knew_of_it_alone() {
        let events = Events::default();
        let mut ear = Ear::new(1);
        events.wrote(server(), FIRST, A, None);
        events.listen(server(), &ear);
        assert_eq!(heard(&mut ear), [(Allocated, A)]);
        events.leave(server(), &ear);
        events.wrote(server(), FIRST, None, None);
        let mut again = Ear::new(2);
        events.listen(server(), &again);
        assert_eq!(heard(&mut again), [(Deallocated, A)]);
        events.leave(server(), &again);
        events.wrote(server(), FIRST, B, None);
        events.wrote(server(), SECOND, None, None);
        let mut fresh = Ear::new(3);
        events.listen(server(), &fresh);
        assert_eq!(heard(&mut fresh), [], "a new process has heard of no session");
    }

    #[test]
    fn an_agent_that_comes_back_tells_a_process_it_finds_what_it_missed() {
        let events = Events::default();
        let mut early = Ear::new(1);
        events.listen(server(), &early);
        assert_eq!(heard(&mut early), [], "a server that is not known yet is listened to all the same");
        events.wrote(server(), FIRST, None, A);
        assert_eq!(heard(&mut early), [(Deallocated, A)]);
        let same = Events::default();
        same.wrote(server(), FIRST, A, A);
        let mut late = Ear::new(2);
        same.listen(server(), &late);
        assert_eq!(heard(&mut late), [(Allocated, A)]);
    }

    #[tokio::test]
    async fn who_does_not_read_is_cut_off() {
        let events = Events::default();
        let mut ear = Ear::new(1);
        events.listen(server(), &ear);
        for n in 0..=EVENTS_WAITING_MAX {
            events.wrote(server(), FIRST, if n % 2 == 0 { A } else { None }, None);
        }
        assert_eq!(ear.next().await, Heard::Slow);
    }
}
