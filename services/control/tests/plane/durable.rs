//! What was acknowledged is there after a restart, and the end of a plane loses nothing.

use mainstay_control::doctor::{Verdict, stored};
use mainstay_control::history::empty_fold;
use mainstay_core::{MachineId, Timestamp};
use mainstay_fleet::{Event, Fleet};
use mainstay_journal::sqlite::SqliteJournal;
use mainstay_journal::stored::Stored as _;
use mainstay_journal::{
    Compacted, Compactor, Fold, Journal as _, Reader as _, ShardName, Source, TurnRecord, replay,
};
use serde_json::json;

use crate::agent::Habit;
use crate::support::{ADMIN, World, allocation, basic, id};

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compacted_journal_tells_the_same_story() {
    let (world, _agent) = World::with_agent(3, Habit::Obeys).await;
    let mut watching = world.store().reader().unwrap();
    let mut compactor = Compactor::new(world.store().reader().unwrap(), world.store(), 40);
    let shard = ShardName::new("fleet/1").unwrap();
    // On a thread of its own, as in the product, while calls go on.
    let compacting = std::thread::spawn(move || {
        for _ in 0..2 {
            while let Compacted::NotDue { .. } =
                compactor.compact(&shard, || Source::Stored(empty_fold(&shard).unwrap())).unwrap()
            {
                std::thread::yield_now();
            }
        }
    });
    let mut allocated = 0;
    let fleet = loop {
        allocated += 1;
        assert_eq!(world.allocate(id(allocated)).await.status, 202);
        assert_eq!(world.delete(&allocation(id(allocated))).await.status, 204);
        let heads = watching.heads().unwrap();
        let fleet = heads.into_iter().find(|head| head.shard.as_str() == "fleet/1").unwrap();
        // Compacted more than once, with calls going on and turns after the snapshot.
        if compacting.is_finished() {
            break fleet;
        }
    };
    assert_eq!(world.allocate(id(0)).await.status, 202);
    let before = world.get("/v1/allocations?limit=1000").await.body;
    compacting.join().unwrap();
    assert!(fleet.snapshot.is_some());
    drop(watching);
    let world = World::at(world.shutdown().await).await;
    let after = world.get("/v1/allocations?limit=1000").await.body;
    assert_eq!(before["items"].as_array().unwrap().len(), usize::try_from(allocated).unwrap() + 1);
    let ids = |body: &serde_json::Value| -> Vec<String> {
        body["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| format!("{} {}", it["allocationId"], it["ended"]))
            .collect()
    };
    assert_eq!(ids(&before), ids(&after), "replayed from a snapshot below {}", fleet.oldest);
}

/// A queue is its own snapshot, taken between two of its turns while calls go on: what is stored beside it goes on from exactly there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_lives_is_its_own_snapshot() {
    let world = World::new().await;
    let queue = json!({ "Name": "q", "MinMatchSize": 3, "MaxMatchSize": 3 });
    let set = world.call("PUT", "/v1/queues/q", Some(&basic(ADMIN)), queue.to_string().into_bytes()).await;
    assert_eq!(set.status, 200, "{}", set.text);
    let mut reader = world.store().reader().unwrap();
    let shard = reader.heads().unwrap().into_iter().map(|head| head.shard);
    let shard = shard.into_iter().find(|shard| shard.as_str().starts_with("queue/")).unwrap();
    let stories = world.journal.stories();
    let (mut compactor, name, own) =
        (Compactor::new(world.store().reader().unwrap(), world.store(), 20), shard.clone(), stories.clone());
    let compacting = std::thread::spawn(move || {
        for _ in 0..3 {
            let source = || Source::<Box<dyn Fold>>::Living(own.of(&name).unwrap());
            while let Compacted::NotDue { .. } = compactor.compact(&name, source).unwrap() {
                std::thread::yield_now();
            }
        }
    });
    let mut players = 0;
    while !compacting.is_finished() {
        // Several in one turn, of whom some are matched at once, and one takes it back.
        let mut make = || {
            players += 1;
            let asked =
                json!({ "players": [{ "player": format!("p{players}") }], "giveUpAfterSeconds": 600 });
            let world = &world;
            async move { world.post("/v1/queues/q/tickets", &asked).await }
        };
        let (made, _, _, _) = tokio::join!(make(), make(), make(), make());
        let ticket = format!("/v1/queues/q/tickets/{}", made.body["id"].as_str().unwrap());
        let taken_back = world.delete(&ticket).await.status;
        assert!([204, 409].contains(&taken_back), "{taken_back}");
    }
    compacting.join().unwrap();
    let head = reader.head(&shard).unwrap().unwrap();
    assert!(head.snapshot.is_some());
    let mut stored = empty_fold(&shard).unwrap();
    replay(&mut reader, &head, &mut stored).unwrap();
    let living = tokio::task::block_in_place(|| stories.of(&shard)).unwrap();
    assert_eq!(living.below, head.next);
    assert!(stored.chunks().eq(living.chunks), "what is stored is what lives");
    world.shutdown().await;
    assert!(
        tokio::task::block_in_place(|| stories.of(&shard)).is_none(),
        "it has ended, and whoever could ask it did not keep it"
    );
}

/// Issue 3, point 12: "`mainstay doctor` runs every law against the live system and its journal": a machine that was taken away
/// with a session on it is found although it has come back since, and no state shows it any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_finds_a_turn_that_broke_a_law() {
    let (world, _agent) = World::with_agent(1, Habit::Obeys).await;
    assert_eq!(world.allocate(id(1)).await.status, 202);
    let machine = world.get("/v1/machines").await.body["items"][0]["id"].as_u64().unwrap();
    let machine = MachineId::from_number(machine).unwrap();
    let dir = world.shutdown().await;
    let mut journal = SqliteJournal::open(&dir.path().join("journal")).unwrap();
    let laws_of_the_fleet = |journal: &SqliteJournal| {
        let findings = stored(&mut journal.reader().unwrap());
        findings.into_iter().find(|it| it.check == "laws of fleet/1").unwrap()
    };
    assert_eq!(laws_of_the_fleet(&journal).status, Verdict::Ok);
    let mut head = journal.lead(&ShardName::new("fleet/1").unwrap()).unwrap().head;
    for event in [Event::MachineEmptied { machine }, Event::MachineWoken { machine }] {
        let mut bytes = Vec::new();
        Fleet::store(&[event], &mut bytes);
        let (shard, first, epoch) = (head.shard.clone(), head.next, head.epoch);
        let turn = TurnRecord { shard, first, count: 1, epoch, at: Timestamp::from_unix_ms(1), bytes };
        head.next = turn.next();
        journal.append(&[turn]).unwrap();
    }
    let found = laws_of_the_fleet(&journal);
    assert_eq!((found.status, found.code.as_deref()), (Verdict::Fail, Some(concat!("MS-", "U126"))));
    assert!(found.why.starts_with("Removal: "), "{}", found.why);
}
