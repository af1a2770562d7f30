//! An operator has a queue pause: nobody is matched, and nothing else changes.

use std::sync::Arc;

use mainstay_matchmaking::spec::Expansion;
use mainstay_matchmaking::{Caller, Command, Rejection};

use crate::world::{
    World, difference, fixed, intersection, latencies, number_value, region, seated, selection, spec, texts,
};

#[test]
fn a_queue_that_is_paused_matches_nobody_until_it_goes_on() {
    let mut world = World::new(spec(2, 2, vec![]));
    world.run(Command::Pause).unwrap();
    let since = world.queue.paused();
    assert!(since.is_some());
    let alice = world.solo("alice", &[]);
    world.seconds(1);
    world.solo("bob", &[]);
    world.seconds(5);
    world.run(Command::Pause).unwrap();
    assert_eq!(world.queue.paused(), since, "asked for twice, it is paused since the first time");
    assert_eq!(world.status(alice), "WaitingForMatch");
    world.run(Command::Resume).unwrap();
    assert_eq!(world.matched(), [["alice", "bob"]]);
    world.run(Command::Resume).unwrap();
    assert_eq!(world.queue.paused(), None);
}

#[test]
fn games_get_nobody_either() {
    let mut world = World::new(spec(2, 2, vec![]));
    let game = world.backfill(vec![seated("alice", "", &[])], region("eu"));
    world.run(Command::Pause).unwrap();
    world.solo("bob", &[]);
    assert_eq!(world.backfill_status(game), "WaitingForMatch");
    world.run(Command::Resume).unwrap();
    assert_eq!(world.backfill_status(game), "Matched");
}

#[test]
fn tickets_give_up_and_are_cancelled_meanwhile() {
    let mut world = World::new(spec(2, 2, vec![]));
    world.run(Command::Pause).unwrap();
    let alice = world.solo("alice", &[]);
    world.seconds(600);
    assert_eq!(world.status(alice), "Canceled");
}

/// What a rule allows is asked as of the moment the queue goes on.
#[test]
fn who_may_meet_is_asked_anew() {
    let mut world = World::new(spec(2, 2, vec![difference("skill", fixed(1.0))]));
    world.run(Command::Pause).unwrap();
    world.solo("alice", &[number_value(1.0)]);
    world.solo("bob", &[number_value(5.0)]);
    world.run(Command::Configure(Arc::new(spec(2, 2, vec![difference("skill", fixed(9.0))])))).unwrap();
    assert!(world.queue.paused().is_some(), "other rules do not let it go on");
    assert!(world.matched().is_empty());
    world.run(Command::Resume).unwrap();
    assert_eq!(world.matched(), [["alice", "bob"]]);
}

#[test]
fn a_restart_leaves_it_paused() {
    let mut world = World::new(spec(2, 2, vec![]));
    world.solo("alice", &[]);
    world.run(Command::Pause).unwrap();
    for queue in [world.rebuilt(), world.replayed()] {
        assert_eq!(queue.paused(), world.queue.paused());
    }
    world.queue = world.rebuilt();
    world.solo("bob", &[]);
    assert!(world.matched().is_empty());
    world.run(Command::Resume).unwrap();
    assert_eq!(world.matched(), [["alice", "bob"]]);
}

#[test]
fn a_queue_that_is_removed_is_neither_paused_nor_goes_on() {
    let mut world = World::new(spec(2, 2, vec![]));
    world.run(Command::Pause).unwrap();
    world.run(Command::Close).unwrap();
    assert_eq!(world.run(Command::Pause), Err(Rejection::QueueNotFound));
    assert_eq!(world.run(Command::Resume), Err(Rejection::QueueNotFound));
    assert_eq!(world.queue.paused(), None);
}

/// Issue 4, point 10: "never silently unmatchable". A region beyond the sixty-fourth, or a value beyond the 1,024th, would never be
/// looked at once the queue goes on, so it is refused at the door, and taken once there is room again.
#[test]
fn what_a_queue_has_no_room_for_is_refused_while_it_is_paused_as_while_it_is_not() {
    let rules = vec![selection(Expansion::Fixed(100)), intersection("maps", 1.0, Expansion::Fixed(1))];
    let named = |of: &str, from: u32, count: u32| -> Vec<String> {
        (from..from + count).map(|at| format!("{of}{at}")).collect()
    };
    let bring = |regions: &[String], maps: &[String]| {
        let regions: Vec<_> = regions.iter().map(|region| (region.as_str(), 10)).collect();
        [latencies(&regions), texts(&maps.iter().map(String::as_str).collect::<Vec<_>>())]
    };
    for paused in [false, true] {
        let mut world = World::new(spec(2, 2, rules.clone()));
        if paused {
            world.run(Command::Pause).unwrap();
        }
        let all = world.solo("all", &bring(&named("region", 0, 64), &named("map", 0, 128)));
        for list in 1..8 {
            world.solo(
                &format!("list {list}"),
                &bring(&named("region", 0, 1), &named("map", list * 128, 128)),
            );
        }
        world.queue = world.rebuilt();
        // As much as whoever has the most brings, who gives way to less.
        let others: Vec<String> = named("region", 0, 1).into_iter().chain(named("region", 64, 63)).collect();
        let region = bring(&others, &named("map", 128, 1));
        let map = bring(&named("region", 0, 1), &named("map", 1_024, 128));
        assert_eq!(world.try_ticket("region", &region, &[]), Err(Rejection::TooManyValues), "{paused}");
        assert_eq!(world.try_ticket("map", &map, &[]), Err(Rejection::TooManyValues), "{paused}");
        world.cancel(all, Caller::Title).unwrap();
        world.solo("region", &region);
        world.solo("map", &map);
    }
}
