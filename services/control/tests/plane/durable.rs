//! What was acknowledged is there after a restart, and the end of a plane loses nothing.

use crate::agent::Habit;
use crate::support::{World, allocation, id};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_acknowledged_is_there_after_a_restart() {
    let (world, _agent) = World::with_agent(20, Habit::Obeys).await;
    for n in 1..=20 {
        assert_eq!(world.allocate(id(n)).await.status, 202);
    }
    for n in 1..=5 {
        assert_eq!(world.delete(&allocation(id(n))).await.status, 204);
    }
    let world = World::at(world.shutdown().await).await;
    for n in 1..=20 {
        let known = world.get(&allocation(id(n))).await;
        assert_eq!((known.status, known.body.get("ended").is_some()), (200, n <= 5), "{n}");
    }
    let fleet = world.get("/v1/fleets/arena").await.body;
    assert_eq!(fleet["servers"]["allocated"], 15);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn concurrent_callers_of_one_id_make_one_allocation() {
    let (world, agent) = World::with_agent(10, Habit::Obeys).await;
    let world = std::sync::Arc::new(world);
    let callers: Vec<_> = (0..40)
        .map(|n| {
            let world = std::sync::Arc::clone(&world);
            tokio::spawn(async move { world.allocate(id(n % 4)).await.status })
        })
        .collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap(), 202);
    }
    let fleet = world.get("/v1/fleets/arena").await.body;
    assert_eq!(fleet["servers"]["allocated"], 4);
    let orders = agent.orders.lock().unwrap().clone();
    let mut servers: Vec<_> = orders.iter().map(|order| order.server).collect();
    servers.sort_unstable();
    servers.dedup();
    assert!(servers.len() <= 4, "{servers:?}");
}
