//! A shard ends without losing anything it took.

use mainstay_runtime::{Error, Growth};

use crate::support::{Say, World};

#[tokio::test]
async fn draining_answers_everything_taken_and_takes_nothing_more() {
    let world = World::new().await;
    world.gate.shut();
    let taken: Vec<_> = (0..50)
        .map(|_| {
            let tally = world.tally.clone();
            tokio::spawn(async move { tally.command(Say::Add(1), Growth::Grows).await })
        })
        .collect();
    world.gate.reached().await;
    let draining = tokio::spawn({
        let tally = world.tally.clone();
        async move { tally.drain().await }
    });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!draining.is_finished(), "what is decided is not durable yet");
    world.gate.open();
    assert_eq!(draining.await.unwrap(), Ok(()));
    let mut sums = Vec::new();
    for added in taken {
        sums.push(added.await.unwrap().unwrap().unwrap());
    }
    sums.sort_unstable();
    assert_eq!(sums, (1..=50).collect::<Vec<u64>>());
    assert_eq!(world.tally.command(Say::Add(1), Growth::Grows).await, Err(Error::Stopping));
    assert!(world.journal.stop().await.is_ok());
    let gone = world.journal.work(|_| ()).await;
    assert!(gone.is_err(), "the thread has ended");
}
