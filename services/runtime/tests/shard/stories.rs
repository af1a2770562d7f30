//! A shard tells its own story to whoever makes its journal short, where it has time for it.

use mainstay_core::{StateMachine as _, Timestamp};
use mainstay_journal::memory::{MemoryStore, Tenancy};
use mainstay_journal::{Compacted, Compactor, Limits, Seq, ShardName, Source, StoredFold};
use mainstay_runtime::{Error, Growth, MAILBOX_MAX};

use crate::support::{Happened, Say, Tally, World};

/// By whose state the tally's journal is made short.
#[derive(Debug, PartialEq, Eq)]
enum By {
    /// Its own, which is told in so many chunks, of everything below.
    Its(Seq, usize),
    /// A second one, of what is stored.
    Another,
}

/// Makes the tally's journal short as upkeep does: on a thread that may wait.
async fn made_short(world: &World) -> (By, Compacted) {
    let (stories, store) = (world.journal.stories(), world.store.clone());
    let compacts = move || {
        let tally = ShardName::new("tally").unwrap();
        let mut by = By::Another;
        let source = || match stories.source(&tally, StoredFold::new(Tally::default())) {
            Source::Living(mut living) => {
                let chunks: Vec<_> = living.chunks.collect();
                by = By::Its(living.below, chunks.len());
                living.chunks = Box::new(chunks.into_iter());
                Source::Living(living)
            }
            stored @ Source::Stored(_) => stored,
        };
        let made = Compactor::new(store.reader(), store.open("node", 1), 1).compact(&tally, source);
        (by, made.unwrap())
    };
    tokio::task::spawn_blocking(compacts).await.unwrap()
}

/// Its sum, which is all there is to tell of it.
fn told(tally: &Tally) -> impl Iterator<Item = (Timestamp, Happened)> + use<> {
    tally.story().collect::<Vec<_>>().into_iter()
}

/// A world whose tally tells its own story.
async fn telling(mailbox_max: usize, limits: Limits) -> World {
    let world = World::limited(MemoryStore::new(Tenancy::Exclusive), mailbox_max, limits).await;
    world.journal.stories().tell(ShardName::new("tally").unwrap(), &world.tally, told);
    world
}

/// Record 0064: what a shard holds is told by itself, and whoever comes after begins with that.
#[tokio::test]
async fn a_shard_that_runs_is_its_own_snapshot() {
    let world = telling(MAILBOX_MAX, Limits::STANDARD).await;
    for n in 1..=10 {
        world.add(n).await;
    }
    let (by, made) = made_short(&world).await;
    assert_eq!(by, By::Its(Seq::FIRST.plus(10), 1));
    assert!(matches!(made, Compacted::Done { chunks: 1, .. }), "{made:?}");
    let again = World::on(world.store.clone(), MAILBOX_MAX).await;
    assert_eq!(again.sum().await, 55);
}

/// One that has no room in its mailbox is made short all the same, by what is stored.
#[tokio::test]
async fn a_shard_that_has_no_time_to_tell_is_made_short_by_what_is_stored() {
    // A writer that takes one unsynced turn: then the shard leaves its mailbox alone.
    let world = telling(4, Limits { unsynced_turns_max: 1, ..Limits::STANDARD }).await;
    world.add(5).await;
    world.gate.shut();
    let mut waiting = Vec::new();
    loop {
        let tally = world.tally.clone();
        let added = tokio::spawn(async move { tally.try_command(Say::Add(1), Growth::Grows).await });
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        if added.is_finished() {
            assert_eq!(added.await.unwrap(), Err(Error::Busy { limit: 4 }));
            break;
        }
        waiting.push(added);
        assert!(waiting.len() < 10_000, "the mailbox has a limit");
    }
    let (by, made) = made_short(&world).await;
    assert_eq!(by, By::Another);
    assert!(matches!(made, Compacted::Done { .. }), "{made:?}");
    world.gate.open();
    let sum = 5 + u64::try_from(waiting.len()).unwrap();
    for added in waiting {
        assert!(added.await.unwrap().unwrap().is_ok(), "what was taken is answered");
    }
    // Once it has room it tells its own again.
    let (by, _) = made_short(&world).await;
    assert!(matches!(by, By::Its(..)), "{by:?}");
    let again = World::on(world.store.clone(), MAILBOX_MAX).await;
    assert_eq!(again.sum().await, sum);
}
