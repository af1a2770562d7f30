//! A deadline gets its turn at its moment, and nobody ticks before.

use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_runtime::Growth;

use crate::support::{BEGAN_MS, Say, World};

#[tokio::test(start_paused = true)]
async fn a_deadline_has_its_turn_exactly_then() {
    let world = World::new().await;
    for after_ms in [1, 20, 999, 86_400_000] {
        let now = world.tally.query(|_, now| now).await.unwrap();
        let at = now + Duration::from_millis(after_ms);
        world.tally.command(Say::RingAt(at), Growth::Grows).await.unwrap().unwrap();
        let rang = loop {
            // Paused time runs on to the next timer while everybody waits: this one, or the shard's.
            tokio::time::sleep(Duration::from_millis(after_ms)).await;
            let rang = world.tally.query(|tally, _| tally.rang.last().copied()).await.unwrap();
            if rang.is_some_and(|rang| rang >= at) {
                break rang;
            }
        };
        assert_eq!(rang, Some(at), "{after_ms} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_has_its_turn_at_once() {
    let world = World::new().await;
    world.tally.command(Say::RingAt(Timestamp::EPOCH), Growth::Grows).await.unwrap().unwrap();
    loop {
        let rang = world.tally.query(|tally, _| tally.rang.clone()).await.unwrap();
        if let [rang] = rang.as_slice() {
            assert_eq!(rang.unix_ms(), BEGAN_MS);
            break;
        }
        tokio::task::yield_now().await;
    }
}
