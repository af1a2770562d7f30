//! Nothing is answered, read or done before it is durable.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use mainstay_runtime::Growth;

use crate::support::{Saw, Say, World};

/// Lets everything run that can, and says whether a future has its value.
async fn settles<F: Future>(future: &mut std::pin::Pin<&mut F>) -> Option<F::Output> {
    for _ in 0..200 {
        tokio::task::yield_now().await;
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Some(value);
        }
    }
    None
}

#[tokio::test]
async fn an_answer_waits_for_the_sync_of_its_turn() {
    let mut world = World::new().await;
    world.gate.shut();
    let mut added = pin!(world.tally.command(Say::Add(5), Growth::Grows));
    assert!(settles(&mut added).await.is_none());
    world.gate.reached().await;
    assert!(settles(&mut added).await.is_none(), "decided, and before the gate: not durable yet");
    world.gate.open();
    assert_eq!(added.await, Ok(Ok(5)));
    assert_eq!(world.told.recv().await, Some(vec![5]));
}

#[tokio::test]
async fn a_read_waits_for_the_sync_of_what_it_saw() {
    let world = World::new().await;
    world.add(1).await;
    world.gate.shut();
    let mut added = pin!(world.tally.command(Say::Add(2), Growth::Grows));
    assert!(settles(&mut added).await.is_none());
    world.gate.reached().await;
    let mut sum = pin!(world.tally.query(|tally, _| tally.sum));
    assert!(settles(&mut sum).await.is_none(), "it saw 3, and 3 is not durable");
    world.gate.open();
    assert_eq!(sum.await, Ok(3));
    assert_eq!(added.await, Ok(Ok(3)));
}

#[tokio::test]
async fn a_refusal_waits_for_the_sync_of_what_it_was_judged_by() {
    let world = World::new().await;
    world.gate.shut();
    let mut added = pin!(world.tally.command(Say::Add(2), Growth::Grows));
    assert!(settles(&mut added).await.is_none());
    world.gate.reached().await;
    let mut refused = pin!(world.tally.command(Say::Refuse, Growth::Shrinks));
    assert!(settles(&mut refused).await.is_none());
    world.gate.open();
    assert_eq!(refused.await, Ok(Err(2)));
}

#[tokio::test]
async fn an_effect_waits_for_the_sync_and_is_of_that_state() {
    let mut world = World::new().await;
    let tally = world.tally.clone();
    world.gate.shut();
    let mut first = pin!(tally.command(Say::Add(1), Growth::Grows));
    assert!(settles(&mut first).await.is_none());
    world.gate.reached().await;
    assert_eq!(world.told_now(), Vec::<Vec<u64>>::new(), "nothing leaves before the sync");
    // Decided while the first is before the gate: in the next batch.
    let mut second = pin!(tally.command(Say::Add(10), Growth::Grows));
    assert!(settles(&mut second).await.is_none());
    world.gate.open();
    assert_eq!((first.await, second.await), (Ok(Ok(1)), Ok(Ok(11))));
    let mut told = Vec::new();
    while told.last() != Some(&11) {
        told.extend(world.told.recv().await.unwrap());
    }
    assert_eq!(told, [1, 11], "the first delivery is of the first state, which alone was durable then");
}

/// A sync that ends while later messages are being decided: what they owe waits for nothing, and must still not overtake what
/// waited for that sync. Of two levels the newer counts, and whoever got the older one last would keep to it.
#[tokio::test]
async fn what_waits_for_nothing_overtakes_nothing() {
    let mut world = World::new().await;
    let mut tail = world.journal.tail();
    world.gate.shut();
    let mut added = pin!(world.tally.command(Say::Add(1), Growth::Grows));
    assert!(settles(&mut added).await.is_none());
    world.gate.reached().await;
    // Both are in the mailbox before the shard runs again: one chunk, in whose midst the sync ends.
    world.tally.observe(Saw::Glimpse(100)).await.unwrap();
    let gate = world.gate.clone();
    let read = world.tally.query(move |tally, _| {
        gate.open();
        while tail.try_recv().is_err() {
            std::thread::yield_now();
        }
        tally.sum
    });
    assert_eq!(read.await, Ok(1));
    assert_eq!(added.await, Ok(Ok(1)));
    let mut told = Vec::new();
    while told.len() < 2 {
        told.extend(world.told.recv().await.unwrap());
    }
    assert_eq!(told, [1, 101]);
}

#[tokio::test]
async fn what_arrives_during_a_sync_is_one_batch_and_one_delivery() {
    let mut world = World::new().await;
    let tally = world.tally.clone();
    let mut tail = world.journal.tail();
    world.gate.shut();
    let mut first = pin!(tally.command(Say::Add(1), Growth::Grows));
    assert!(settles(&mut first).await.is_none());
    world.gate.reached().await;
    let later: Vec<_> = (0..100)
        .map(|_| {
            let tally = world.tally.clone();
            tokio::spawn(async move { tally.command(Say::Add(1), Growth::Grows).await })
        })
        .collect();
    let mut never = pin!(std::future::pending::<()>());
    assert!(settles(&mut never).await.is_none());
    world.gate.open();
    for added in later {
        assert!(added.await.unwrap().unwrap().is_ok());
    }
    assert_eq!(first.await, Ok(Ok(1)));
    assert_eq!(tail.recv().await.unwrap().len(), 1);
    assert_eq!(tail.recv().await.unwrap().len(), 100, "one sync for all that waited");
    let told: Vec<Vec<u64>> = world.told_now();
    assert!(told.len() <= 2, "at most one delivery a sync: {told:?}");
    let told = told.concat();
    assert_eq!((told.first(), told.last()), (Some(&1), Some(&101)), "{told:?}");
}

#[tokio::test]
async fn a_failed_sync_answers_nothing_as_done_and_says_that_the_process_must_end() {
    let mut world = World::new().await;
    world.add(1).await;
    world.told_now();
    world.store.arm(mainstay_journal::memory::Fault::SyncFails);
    let answer = world.tally.command(Say::Add(2), Growth::Grows).await;
    assert!(matches!(answer, Err(mainstay_runtime::Error::Lost(_))), "{answer:?}");
    assert_eq!(world.journal.failed().await.code(), "MS-J010");
    assert!(world.tally.ended().await.is_some());
    assert_eq!(world.told_now(), Vec::<Vec<u64>>::new());
    let after = world.tally.command(Say::Add(2), Growth::Grows).await;
    assert!(matches!(after, Err(mainstay_runtime::Error::Lost(_))), "{after:?}");
}
