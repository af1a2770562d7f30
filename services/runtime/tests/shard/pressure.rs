//! What happens when more is asked than there is room for.

use mainstay_journal::Limits;
use mainstay_journal::memory::{MemoryStore, Room, Tenancy};
use mainstay_runtime::{Error, Growth};

use crate::support::{Say, World};

#[tokio::test]
async fn a_full_mailbox_is_said_at_once() {
    // A writer that takes one unsynced turn: then the shard leaves its mailbox alone.
    let limits = Limits { unsynced_turns_max: 1, ..Limits::STANDARD };
    let world = World::limited(MemoryStore::new(Tenancy::Exclusive), 4, limits).await;
    world.gate.shut();
    let mut waiting = Vec::new();
    let busy = loop {
        let tally = world.tally.clone();
        let added = tokio::spawn(async move { tally.try_command(Say::Add(1), Growth::Grows).await });
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        if added.is_finished() {
            break added.await.unwrap();
        }
        waiting.push(added);
        assert!(waiting.len() < 10_000, "the mailbox has a limit");
    };
    assert_eq!(busy, Err(Error::Busy { limit: 4 }));
    world.gate.open();
    for added in waiting {
        assert!(added.await.unwrap().unwrap().is_ok(), "what was taken is answered");
    }
}

#[tokio::test]
async fn a_full_disk_refuses_what_grows_and_takes_what_shrinks() {
    let world = World::new().await;
    world.store.set_room(Room::Reserve { left_bytes: 12 * 1024 * 1024 });
    // The append after which the reserve is known to be in use.
    world.add(1).await;
    let grows = world.tally.command(Say::Add(1), Growth::Grows).await;
    assert_eq!(grows, Err(Error::JournalFull));
    assert_eq!(world.tally.command(Say::Add(2), Growth::Shrinks).await, Ok(Ok(3)));
    assert_eq!(world.sum().await, 3);
}

#[tokio::test]
async fn what_waits_for_room_goes_on_by_itself() {
    let world = World::new().await;
    world.store.set_room(Room::Reserve { left_bytes: 0 });
    // What is decided before the journal is found full waits; what is asked after is refused.
    let mut waiting = Vec::new();
    loop {
        let tally = world.tally.clone();
        let added = tokio::spawn(async move { tally.command(Say::Add(1), Growth::Grows).await });
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        if added.is_finished() {
            assert_eq!(added.await.unwrap(), Err(Error::JournalFull));
            break;
        }
        waiting.push(added);
    }
    assert!(!waiting.is_empty());
    world.store.set_room(Room::Ample);
    for added in waiting {
        assert!(added.await.unwrap().unwrap().is_ok());
    }
}
