//! A shard comes back as it was.

use mainstay_journal::memory::{MemoryStore, Tenancy};
use mainstay_journal::{Compacted, Compactor, Reader as _, ShardName, Source, StoredFold};
use mainstay_runtime::{Growth, MAILBOX_MAX};

use crate::support::{BEGAN_MS, Say, Tally, World};

#[tokio::test]
async fn a_restart_replays_what_was_acknowledged_and_owes_it_again() {
    let store = MemoryStore::new(Tenancy::Exclusive);
    let world = World::on(store.clone(), MAILBOX_MAX).await;
    for n in 1..=10 {
        world.add(n).await;
    }
    world.tally.drain().await.unwrap();
    world.journal.stop().await.unwrap();

    let mut again = World::on(store, MAILBOX_MAX).await;
    assert_eq!(again.told.recv().await, Some(vec![55]), "owed until acknowledged, so owed after a restart");
    assert_eq!(again.sum().await, 55);
    assert_eq!(again.add(1).await, 56);
}

/// Record 0064: "what is read may be deleted meanwhile, by whoever makes the journal short".
#[tokio::test]
async fn a_replay_that_meets_a_compaction_begins_anew() {
    let store = MemoryStore::new(Tenancy::Exclusive);
    let world = World::on(store.clone(), MAILBOX_MAX).await;
    for n in 1..=10 {
        world.add(n).await;
    }
    world.tally.drain().await.unwrap();
    world.journal.stop().await.unwrap();

    let disk = store.clone();
    let again = World::meeting(store.clone(), Box::new(move || made_short(&disk))).await;
    assert_eq!(again.sum().await, 55);
    let head = store.reader().head(&ShardName::new("tally").unwrap()).unwrap().unwrap();
    assert!(head.snapshot.is_some(), "it met one");
    assert_eq!(again.add(1).await, 56);
}

/// Has the tally's journal made short, by what is stored.
fn made_short(store: &MemoryStore) {
    let mut compactor = Compactor::new(store.reader(), store.open("node", 1), 1);
    let source = || Source::Stored(StoredFold::new(Tally::default()));
    let made = compactor.compact(&ShardName::new("tally").unwrap(), source).unwrap();
    assert!(matches!(made, Compacted::Done { .. }), "{made:?}");
}

#[tokio::test(start_paused = true)]
async fn time_goes_on_from_the_last_journalled_turn() {
    let store = MemoryStore::new(Tenancy::Exclusive);
    let world = World::on(store.clone(), MAILBOX_MAX).await;
    tokio::time::advance(std::time::Duration::from_secs(3600)).await;
    world.add(1).await;
    let last = world.tally.query(|_, now| now).await.unwrap();
    assert_eq!(last.unix_ms(), BEGAN_MS + 3_600_000);

    // The next world's wall clock is an hour behind.
    let again = World::on(store, MAILBOX_MAX).await;
    let now = again.tally.query(|_, now| now).await.unwrap();
    assert!(now >= last, "{now:?} after {last:?}");
    assert_eq!(again.tally.command(Say::Add(1), Growth::Grows).await, Ok(Ok(2)));
}

/// A shard that ended in a process that goes on: its place is another's, and whoever leads it again there has it as it was.
#[tokio::test]
async fn a_drained_shard_is_led_again_beside_the_one_that_has_its_place() {
    let world = World::new().await;
    assert_eq!(world.add(5).await, 5);
    world.tally.drain().await.unwrap();
    let other = world.shard("other").await;
    let again = world.shard("tally").await;
    for (shard, sum) in [(&other, 1), (&again, 6), (&other, 2), (&again, 7)] {
        assert_eq!(shard.command(Say::Add(1), Growth::Grows).await, Ok(Ok(sum)));
    }
}
