//! An operator has a queue pause: nobody is matched, and nothing else changes.

use std::sync::Arc;

use mainstay_matchmaking::{Command, Rejection};

use crate::world::{World, difference, fixed, number_value, region, seated, spec};

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
    world.seconds(3600);
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
