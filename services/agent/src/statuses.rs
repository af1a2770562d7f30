//! How every slot stands, for whoever asks: the stream to the control plane, and people.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mainstay_core::ServerId;
use mainstay_core::slot::{Incident, Reading, Status};
use tokio::sync::Notify;

/// The newest word on every slot, and what of it the control plane has not heard.
#[derive(Debug, Default)]
pub(crate) struct Statuses {
    book: Mutex<Book>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Book {
    newest: BTreeMap<ServerId, Status>,
    unsaid: BTreeSet<ServerId>,
    incidents: BTreeMap<ServerId, Vec<Incident>>,
    unsaid_incidents: BTreeSet<ServerId>,
    readings: BTreeMap<ServerId, Reading>,
    unsaid_readings: BTreeSet<ServerId>,
}

/// What the control plane has not heard.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) statuses: Vec<Status>,
    pub(crate) incidents: Vec<Incident>,
    pub(crate) readings: Vec<(ServerId, Reading)>,
}

impl Statuses {
    pub(crate) fn set(&self, status: Status) {
        let mut book = self.lock();
        let server = status.server;
        if book.newest.get(&server) != Some(&status) {
            book.newest.insert(server, status);
            book.unsaid.insert(server);
            // The plane forgets what was read of a server that starts, if only to be told of its allocation.
            if book.readings.contains_key(&server) {
                book.unsaid_readings.insert(server);
            }
            self.changed.notify_one();
        }
    }

    /// Notes what is known of a slot's ended processes, and what was read of its running one.
    pub(crate) fn tell(&self, server: ServerId, incidents: Vec<Incident>, reading: Option<Reading>) {
        let mut book = self.lock();
        if book.incidents.get(&server).map_or(&[][..], Vec::as_slice) != incidents {
            book.incidents.insert(server, incidents);
            book.unsaid_incidents.insert(server);
            self.changed.notify_one();
        }
        match reading {
            Some(reading) if book.readings.get(&server) != Some(&reading) => {
                book.readings.insert(server, reading);
                book.unsaid_readings.insert(server);
                self.changed.notify_one();
            }
            Some(_same) => {}
            None => {
                book.readings.remove(&server);
                book.unsaid_readings.remove(&server);
            }
        }
    }

    pub(crate) fn forget(&self, server: ServerId) {
        let mut book = self.lock();
        book.newest.remove(&server);
        book.unsaid.remove(&server);
        book.incidents.remove(&server);
        book.unsaid_incidents.remove(&server);
        book.readings.remove(&server);
        book.unsaid_readings.remove(&server);
    }

    /// How everything known stands, for a stream that begins. Incidents and readings are all unsaid then.
    pub(crate) fn all(&self) -> BTreeMap<ServerId, Status> {
        let mut book = self.lock();
        book.unsaid.clear();
        book.unsaid_incidents = book.incidents.keys().copied().collect();
        book.unsaid_readings = book.readings.keys().copied().collect();
        self.changed.notify_one();
        book.newest.clone()
    }

    /// What has changed since the last word, of at most `max` slots each; waits until there is something.
    pub(crate) async fn next(&self, max: usize) -> News {
        loop {
            let changed = self.changed.notified();
            let news = self.take(max);
            if news != News::default() {
                return news;
            }
            changed.await;
        }
    }

    /// The newest word on one slot.
    pub(crate) fn get(&self, server: ServerId) -> Option<Status> {
        self.lock().newest.get(&server).cloned()
    }

    /// What was last read of one slot's process.
    pub(crate) fn reading(&self, server: ServerId) -> Option<Reading> {
        self.lock().readings.get(&server).copied()
    }

    fn take(&self, max: usize) -> News {
        let mut book = self.lock();
        let Book { newest, unsaid, incidents, unsaid_incidents, readings, unsaid_readings } = &mut *book;
        let mut news = News::default();
        for server in first(unsaid, max) {
            news.statuses.extend(newest.get(&server).cloned());
        }
        for server in first(unsaid_incidents, max) {
            news.incidents.extend(incidents.get(&server).into_iter().flatten().cloned());
        }
        for server in first(unsaid_readings, max) {
            news.readings.extend(readings.get(&server).map(|reading| (server, *reading)));
        }
        news
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        // Nothing under this lock can panic half-way.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn first(unsaid: &mut BTreeSet<ServerId>, max: usize) -> Vec<ServerId> {
    std::iter::from_fn(|| unsaid.pop_first()).take(max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_core::slot::{ConfigurationRef, Fault, Heard, Phase, Stopped};
    use mainstay_core::{BuildConfigurationId, FleetNumber, Generation};

    fn status(n: u32, generation: u64) -> Status {
        Status {
            server: ServerId::of(FleetNumber::new(1).unwrap(), n),
            generation: Generation::from_number(generation),
            configuration: None,
            run: 0,
            phase: Phase::Stopped(Stopped::Idle),
        }
    }

    #[tokio::test]
    async fn only_changes_are_said_and_the_newest_word_counts() {
        let statuses = Statuses::default();
        statuses.set(status(1, 1));
        statuses.set(status(2, 1));
        assert_eq!(statuses.all().len(), 2);
        statuses.set(status(1, 1));
        statuses.set(status(2, 2));
        statuses.set(status(2, 3));
        statuses.set(status(3, 1));
        assert_eq!(statuses.next(1).await.statuses, [status(2, 3)]);
        assert_eq!(statuses.next(9).await.statuses, [status(3, 1)]);
        statuses.set(status(1, 4));
        statuses.forget(status(1, 4).server);
        assert_eq!(statuses.take(9), News::default());
    }

    #[tokio::test]
    async fn incidents_and_readings_are_said_on_every_stream_again() {
        let statuses = Statuses::default();
        let server = status(1, 1).server;
        let reading = Reading { cpu_millis: None, memory_bytes: Some(7), heard: Heard::Unasked };
        let incident = Incident {
            server,
            run: 3,
            at: mainstay_core::Timestamp::EPOCH,
            fault: Fault::Crash,
            cause: "x".into(),
            exit: None,
            configuration: ConfigurationRef {
                id: BuildConfigurationId::from_number(1).unwrap(),
                revision: 1,
            },
            allocation: None,
            last_words: "".into(),
            core: None,
        };
        statuses.tell(server, vec![incident.clone()], Some(reading));
        let news =
            News { statuses: vec![], incidents: vec![incident.clone()], readings: vec![(server, reading)] };
        assert_eq!(statuses.next(9).await, news);
        statuses.tell(server, vec![incident.clone()], Some(reading));
        assert_eq!(statuses.take(9), News::default(), "the same again is no news");
        statuses.all();
        assert_eq!(statuses.take(9), news);
        statuses.set(status(1, 2));
        assert_eq!(
            statuses.take(9),
            News { statuses: vec![status(1, 2)], incidents: vec![], readings: vec![(server, reading)] },
            "a reading that has not changed is said again of a server whose status has"
        );
        statuses.tell(server, vec![incident], None);
        assert_eq!(statuses.reading(server), None);
        statuses.forget(server);
        statuses.all();
        assert_eq!(statuses.take(9), News::default());
    }
}
