//! The shards of this process that tell their story themselves, for whoever makes their journal short: a second state of each, replayed
//! for that alone, would weigh as much as the first.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_journal::stored::Stored;
use mainstay_journal::{Living, ShardName, Source};

use crate::shard::{Handle, Runnable};

/// How long a story is waited for: until its shard has room in its mailbox, and what it has decided is durable. On a disk that is full it is
/// not, and whoever makes journals short has other shards.
const PATIENCE: Duration = Duration::from_secs(5);

/// What came of asking.
enum Asked {
    Told(Living),
    /// It has no time for it.
    NotNow,
    /// It has ended.
    Ended,
}

type Teller = Arc<dyn Fn() -> Asked + Send + Sync>;

/// Who tells what. Cheap to clone.
#[derive(Clone, Default)]
pub struct Stories(Arc<Mutex<BTreeMap<ShardName, Teller>>>);

impl fmt::Debug for Stories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stories").finish_non_exhaustive()
    }
}

impl Stories {
    /// A shard tells its own from now on, as long as it runs. `story` is called between two of its turns, which wait for it: it only begins
    /// the story, and reads none of it.
    pub fn tell<S, I>(&self, name: ShardName, shard: &Handle<S>, story: fn(&S) -> I)
    where
        S: Runnable + Stored,
        I: Iterator<Item = (Timestamp, S::Event)> + Send + 'static,
    {
        let shard = shard.downgrade();
        let teller = move || {
            let read = move |state: &S, at, below| (story(state), at, below);
            match shard.read_blocking(read, PATIENCE) {
                Some((story, at, below)) => {
                    Asked::Told(Living { below, at, chunks: Box::new(S::story_chunks(story)) })
                }
                None if shard.has_ended() => Asked::Ended,
                None => Asked::NotNow,
            }
        };
        self.lock().insert(name, Arc::new(teller));
    }

    /// The story of a shard as it is now, once that is durable. `None` where the shard does not run here, tells none, or has no time for it.
    /// Waits for seconds: not for a task.
    #[must_use]
    pub fn of(&self, name: &ShardName) -> Option<Living> {
        let teller = self.lock().get(name).map(Arc::clone)?;
        match teller() {
            Asked::Told(living) => Some(living),
            Asked::NotNow => None,
            Asked::Ended => {
                // Another of the same name may have come.
                let mut tellers = self.lock();
                if tellers.get(name).is_some_and(|known| Arc::ptr_eq(known, &teller)) {
                    tellers.remove(name);
                }
                None
            }
        }
    }

    /// By whose state a shard's journal is made short: its own, where it tells it, and else this empty one, which takes what is stored.
    /// Waits as [`Stories::of`] does.
    #[must_use]
    pub fn source<F>(&self, name: &ShardName, empty: F) -> Source<F> {
        self.of(name).map_or_else(|| Source::Stored(empty), Source::Living)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ShardName, Teller>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
