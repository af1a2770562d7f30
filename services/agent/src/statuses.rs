//! How every slot stands, for whoever asks: the stream to the control plane, and people.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mainstay_core::ServerId;
use mainstay_core::slot::Status;
use tokio::sync::Notify;

/// The newest status of every slot, and which of them the control plane has not heard.
#[derive(Debug, Default)]
pub(crate) struct Statuses {
    book: Mutex<Book>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Book {
    newest: BTreeMap<ServerId, Status>,
    unsaid: BTreeSet<ServerId>,
}

impl Statuses {
    pub(crate) fn set(&self, status: Status) {
        let mut book = self.lock();
        let server = status.server;
        if book.newest.get(&server) != Some(&status) {
            book.newest.insert(server, status);
            book.unsaid.insert(server);
            self.changed.notify_one();
        }
    }

    pub(crate) fn forget(&self, server: ServerId) {
        let mut book = self.lock();
        book.newest.remove(&server);
        book.unsaid.remove(&server);
    }

    /// Everything known, for a stream that begins: nothing is left unsaid.
    pub(crate) fn all(&self) -> BTreeMap<ServerId, Status> {
        let mut book = self.lock();
        book.unsaid.clear();
        book.newest.clone()
    }

    /// What has changed since the last word, at most `max`; waits until there is something.
    pub(crate) async fn next(&self, max: usize) -> Vec<Status> {
        loop {
            let changed = self.changed.notified();
            let news = self.take(max);
            if !news.is_empty() {
                return news;
            }
            changed.await;
        }
    }

    /// The newest word on one slot.
    pub(crate) fn get(&self, server: ServerId) -> Option<Status> {
        self.lock().newest.get(&server).cloned()
    }

    fn take(&self, max: usize) -> Vec<Status> {
        let mut book = self.lock();
        let Book { newest, unsaid } = &mut *book;
        let mut news = Vec::new();
        while news.len() < max
            && let Some(server) = unsaid.pop_first()
        {
            news.extend(newest.get(&server).cloned());
        }
        news
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        // Nothing under this lock can panic half-way.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_core::slot::{Phase, Stopped};
    use mainstay_core::{FleetNumber, Generation};

    fn status(n: u32, generation: u64) -> Status {
        Status {
            server: ServerId::of(FleetNumber::new(1).unwrap(), n),
            generation: Generation::from_number(generation),
            configuration: None,
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
        assert_eq!(statuses.next(1).await, [status(2, 3)]);
        assert_eq!(statuses.next(9).await, [status(3, 1)]);
        statuses.set(status(1, 4));
        statuses.forget(status(1, 4).server);
        assert!(statuses.take(9).is_empty());
    }
}
