//! What has changed since it was last asked, by key: between a shard's hands, which never wait, and a task that takes its time.
//!
//! The newest change of a key takes the place of the one before, so this holds no more than the shard has keys, however slow the
//! task is: its limits are the queue's own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

#[derive(Debug)]
pub(super) struct Changes<K, V>(Arc<Inner<K, V>>);

#[derive(Debug)]
struct Inner<K, V> {
    changed: Mutex<BTreeMap<K, V>>,
    news: Notify,
}

impl<K, V> Clone for Changes<K, V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Ord, V> Changes<K, V> {
    pub(super) fn new() -> Self {
        Self(Arc::new(Inner { changed: Mutex::new(BTreeMap::new()), news: Notify::new() }))
    }

    pub(super) fn put(&self, key: K, value: V) {
        self.0.changed.lock().unwrap_or_else(PoisonError::into_inner).insert(key, value);
        self.0.news.notify_one();
    }

    /// What has changed, once something has. One task takes.
    pub(super) async fn take(&self) -> BTreeMap<K, V> {
        loop {
            let news = self.0.news.notified();
            let changed = std::mem::take(&mut *self.0.changed.lock().unwrap_or_else(PoisonError::into_inner));
            if !changed.is_empty() {
                return changed;
            }
            news.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_newest_of_each_key_is_taken_once() {
        let changes = Changes::new();
        for (key, value) in [(1, 'a'), (2, 'b'), (1, 'c')] {
            changes.put(key, value);
        }
        assert_eq!(changes.take().await, BTreeMap::from([(1, 'c'), (2, 'b')]));
        let taker = changes.clone();
        let taken = tokio::spawn(async move { taker.take().await });
        changes.put(3, 'd');
        assert_eq!(taken.await.unwrap(), BTreeMap::from([(3, 'd')]));
    }
}
