//! More comes due at once than one turn looks at: the rest follows in turns of its own, and a rebuilt queue goes on where the old
//! one was.

use std::time::Duration;

use mainstay_core::{StateMachine, Turn};
use mainstay_matchmaking::spec::{Declared, Expansion, QueueSpec, RuleKind, TeamSpec};
use mainstay_matchmaking::{Amount, Command, Event, Value};

use crate::world::{World, declared, difference, growing, number_value, rule, spec, user};

/// Lets everything due be worked off, turn by turn; says in how many.
fn work(world: &mut World, rebuilds: bool) -> usize {
    let mut turns = 0;
    while world.queue.next_deadline().is_some_and(|(at, _)| at <= world.now) {
        let outcome = Turn::run(world.now, &mut world.queue, &Command::Due);
        turns += 1;
        if outcome.events.is_empty() {
            assert!(
                world.queue.next_deadline().is_none_or(|(at, _)| at > world.now),
                "it says how far it came"
            );
            break;
        }
        world.journal.extend(outcome.events.into_iter().map(|event| (world.now, event)));
        if rebuilds {
            world.queue = if turns % 2 == 1 { world.rebuilt() } else { world.replayed() };
        }
    }
    turns
}

/// Twelve hundred tickets pass a boundary at one moment; the queue is rebuilt between any two turns.
#[test]
fn a_herd_is_looked_at_in_slices_and_a_rebuilt_queue_goes_on() {
    let mut world = World::new(spec(2, 2, vec![difference("skill", growing(0.0, 1.0, 1.0, 10))]));
    for at in 0..1_200 {
        // Two by two within reach of each other once the limit is 1.
        world.solo(&format!("p{at}"), &[number_value(f64::from(at / 2 * 10 + at % 2))]);
    }
    assert!(world.formed().is_empty());
    let mut other = world.clone();
    for (world, rebuilds) in [(&mut world, false), (&mut other, true)] {
        world.now = world.now + Duration::from_secs(10);
        let turns = work(world, rebuilds);
        let slices = world.journal.iter().filter(|(_, event)| matches!(event, Event::Searched(_))).count();
        assert!(turns > 1 && slices == turns - 1, "{turns} turns, {slices} slices");
        assert_eq!(world.formed().len(), 600);
    }
    assert_eq!(world.journal, other.journal);
}

/// Eight teams that hardly any seating makes even, so that a search takes as much as a hundred others.
fn eight_even_teams(allowed: Expansion<Amount>) -> World {
    let even = RuleKind::TeamDifference { attribute: user("skill"), default: Amount::ZERO, allowed };
    let team = |n: u32| TeamSpec { name: format!("t{n}").into(), min: 4, max: 4 };
    let teams = (0..8).map(team).collect();
    World::new(QueueSpec::new(Declared { teams, ..declared(32, 32, vec![rule("even", even)]) }).unwrap())
}

/// The skill of one of many, of whom hardly any eight fours are as strong.
fn uneven(at: u32) -> [Option<Value>; 1] {
    [number_value(f64::from(at * at * 7_919 % 1_000))]
}

/// A turn of all of ninety tickets took so long that calls of their queue waited for seconds.
#[test]
fn a_turn_ends_after_a_few_searches_that_take_long() {
    let mut world = eight_even_teams(growing(0.001, 0.001, 0.002, 10));
    for at in 0..90 {
        world.solo(&format!("p{at}"), &uneven(at));
    }
    let mut other = world.clone();
    for (world, rebuilds) in [(&mut world, false), (&mut other, true)] {
        world.now = world.now + Duration::from_secs(10);
        let turns = work(world, rebuilds);
        assert!((10..=90).contains(&turns), "{turns} turns");
        assert!(world.formed().is_empty());
    }
    assert_eq!(world.journal, other.journal);
}

/// A ticket whose time was up after 300 s was told so after 320, since all searches of moments before came first.
#[test]
fn whose_time_is_up_is_told_so_however_far_behind_searches_are() {
    let mut world = eight_even_teams(growing(0.001, 0.001, 0.3, 1));
    let gives_up = world.waiting_for("hasty", &uneven(90), 10);
    for at in 0..40 {
        world.solo(&format!("p{at}"), &uneven(at));
    }
    world.now = world.now + Duration::from_secs(10);
    world.run(Command::Due).unwrap();
    assert!(world.queue.next_deadline().is_some_and(|(at, _)| at <= world.now), "more is due");
    assert_eq!(world.status(gives_up), "Canceled");
}
