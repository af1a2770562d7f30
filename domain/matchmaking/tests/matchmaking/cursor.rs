//! More comes due at once than one turn looks at: the rest follows in turns of its own, and a rebuilt queue goes on where the old
//! one was.

use mainstay_core::{StateMachine, Turn};
use mainstay_matchmaking::spec::{Declared, QueueSpec, RuleKind, TeamSpec};
use mainstay_matchmaking::{Amount, Command, Event};

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
        world.now = world.now + std::time::Duration::from_secs(10);
        let turns = work(world, rebuilds);
        let slices = world.journal.iter().filter(|(_, event)| matches!(event, Event::Searched(_))).count();
        assert!(turns > 1 && slices == turns - 1, "{turns} turns, {slices} slices");
        assert_eq!(world.formed().len(), 600);
    }
    assert_eq!(world.journal, other.journal);
}

/// Eight teams that hardly any seating makes even: each of ninety searches takes as much as a hundred others. A turn of all of them
/// took so long that calls of their queue waited for seconds.
#[test]
fn a_turn_ends_after_a_few_searches_that_take_long() {
    let attribute = user("skill");
    let even = RuleKind::TeamDifference {
        attribute,
        default: Amount::ZERO,
        allowed: growing(0.001, 0.001, 0.002, 10),
    };
    let team = |n: u32| TeamSpec { name: format!("t{n}").into(), min: 4, max: 4 };
    let teams = (0..8).map(team).collect();
    let mut world =
        World::new(QueueSpec::new(Declared { teams, ..declared(32, 32, vec![rule("even", even)]) }).unwrap());
    for at in 0..90_u32 {
        world.solo(&format!("p{at}"), &[number_value(f64::from(at * at * 7_919 % 1_000))]);
    }
    let mut other = world.clone();
    for (world, rebuilds) in [(&mut world, false), (&mut other, true)] {
        world.now = world.now + std::time::Duration::from_secs(10);
        let turns = work(world, rebuilds);
        assert!((10..=90).contains(&turns), "{turns} turns");
        assert!(world.formed().is_empty());
    }
    assert_eq!(world.journal, other.journal);
}
