//! Keeps journals short: a thread that follows the durable tail and compacts a shard once enough has happened on it.
//! Nothing ticks: it sleeps until turns become durable.

use std::collections::BTreeMap;

use mainstay_journal::{Compacted, Compactor, Fold, Journal, Reader, ShardName};
use tokio::sync::broadcast::error::RecvError;

use crate::journal::{JournalHandle, TailEvent};

/// Starts the thread. `reader` and `journal` are handles of its own on the store behind `followed`; `empty` makes the fold
/// of a shard's first state, or says that the shard is somebody else's. From `events_min` events since its last snapshot
/// on ([`mainstay_journal::COMPACT_EVENTS_MIN`] in the product) a shard is compacted. The thread ends with the journal's.
///
/// # Errors
/// Where the system has no thread to give.
pub fn compact_in_background<R, J, F>(
    followed: &JournalHandle,
    reader: R,
    journal: J,
    events_min: u64,
    empty: fn(&ShardName) -> Option<F>,
) -> std::io::Result<()>
where
    R: Reader + 'static,
    J: Journal + 'static,
    F: Fold + 'static,
{
    let mut tail = followed.tail();
    let mut keeper = Keeper {
        compactor: Compactor::new(reader, journal, events_min),
        events_min,
        empty,
        since: BTreeMap::new(),
    };
    let body = move || {
        loop {
            match tail.blocking_recv() {
                Ok(turns) => keeper.count(&turns),
                // What was missed is counted by the store itself: ask it about every shard known.
                Err(RecvError::Lagged(_)) => keeper.recount(),
                Err(RecvError::Closed) => return,
            }
        }
    };
    std::thread::Builder::new().name("compactor".to_owned()).spawn(body).map(drop)
}

struct Keeper<R, J, F> {
    compactor: Compactor<R, J, F>,
    events_min: u64,
    empty: fn(&ShardName) -> Option<F>,
    /// Events since a shard was last looked at. Bounded by the shards of the journal.
    since: BTreeMap<ShardName, u64>,
}

impl<R: Reader, J: Journal, F: Fold> Keeper<R, J, F> {
    fn count(&mut self, turns: &TailEvent) {
        let mut due: Vec<ShardName> = Vec::new();
        for turn in turns.iter() {
            match self.since.get_mut(&turn.shard) {
                Some(events) => *events += u64::from(turn.count),
                // First seen by this process: the store may hold many events from before it.
                None => {
                    self.since.insert(turn.shard.clone(), self.events_min);
                }
            }
        }
        due.extend(
            self.since.iter().filter(|(_, events)| **events >= self.events_min).map(|(name, _)| name.clone()),
        );
        due.into_iter().for_each(|shard| self.compact(&shard));
    }

    fn recount(&mut self) {
        let known: Vec<ShardName> = self.since.keys().cloned().collect();
        known.into_iter().for_each(|shard| self.compact(&shard));
    }

    fn compact(&mut self, shard: &ShardName) {
        let mut events_left = 0;
        if let Some(fold) = (self.empty)(shard) {
            match self.compactor.compact(shard, || fold) {
                Ok(Compacted::NotDue { events }) => events_left = events,
                Ok(Compacted::Done { covers_below, chunks }) => {
                    tracing::info!(%shard, %covers_below, chunks, "the journal was compacted");
                }
                // The journal is whole, only longer than it could be; the next time begins anew.
                Err(error) => {
                    tracing::error!(%shard, error = &error as &dyn std::error::Error, "the journal was not compacted");
                }
            }
        }
        self.since.insert(shard.clone(), events_left);
    }
}
